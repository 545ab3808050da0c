"""What `pip install .` calls (PEP 517): builds the module with CMake for the interpreter that runs pip, and packs it as a wheel.

Needs what the module needs (a compiler, cmake, ninja-build, libtbb-dev, libxsimd-dev, pybind11-dev, python3-dev) and no Python package.
--config-settings=build-dir=FOLDER builds there, or takes what a build folder for this interpreter has; else in a scratch folder.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = (config_settings or {}).get("build-dir")
    if folder:
        return _pack(_build(pathlib.Path(folder).resolve()), pathlib.Path(wheel_directory))
    with tempfile.TemporaryDirectory() as scratch:
        return _pack(_build(pathlib.Path(scratch)), pathlib.Path(wheel_directory))


def _build(folder):
    """The package, built in this folder: its files."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # pip's isolation is not for CMake
    if not (folder / "CMakeCache.txt").exists():
        parts = [f"-DRAPT_BUILD_{part}=OFF" for part in ("TOOLS", "TESTS", "BENCHMARKS")]
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DRAPT_BUILD_PYTHON=ON",
                        f"-DRAPT_PYTHON={sys.executable}", *parts], check=True, env=environment)
    subprocess.run(["cmake", "--build", folder, "--parallel", str(os.cpu_count()), "--target", "rapt_python_package"], check=True,
                   env=environment)
    package = folder / "python" / "rapt"
    module = package / ("_rapt" + sysconfig.get_config_var("EXT_SUFFIX"))
    if not module.exists():
        raise RuntimeError(f"{folder} was configured for another interpreter than {sys.executable}: it has no {module.name}")
    return [module, *sorted(path for path in package.iterdir() if path.suffix in (".py", ".pyi", ".typed"))]


def _version():
    header = (ROOT / "include" / "rapt" / "version.hpp").read_text()
    return ".".join(re.findall(r"define RAPT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


def _pack(files, directory):
    version = _version()
    python = "cp{}{}".format(*sys.version_info[:2])
    tag = f"{python}-{python}-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"rapt-{version}.dist-info"
    contents = {f"rapt/{path.name}": path.read_bytes() for path in files}
    contents[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: rapt\nVersion: {version}\nSummary: Exact and fast attention on CPUs\n"
        "Requires-Python: >=3.9\nRequires-Dist: numpy\n").encode()
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: rapt\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in contents.items()]
    contents[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()

    wheel = f"rapt-{version}-{tag}.whl"
    with zipfile.ZipFile(directory / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return wheel


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
