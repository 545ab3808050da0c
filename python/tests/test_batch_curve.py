"""python3 -m rapt.batch_curve: its CSV, its figure, its knee."""

import csv
import io
import subprocess
import sys

import pytest
from rapt import batch_curve


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "rapt.batch_curve", *arguments], capture_output=True, text=True, timeout=300)


def test_the_csv_holds_every_sample():
    finished = run()
    assert finished.returncode == 0, finished.stderr
    rows = list(csv.reader(io.StringIO(finished.stdout)))
    assert rows[0] == ["experiment", "path", "batch_size", "sequence_length", "sample", "elapsed_ms"]
    samples = {tuple(row[1:5]) for row in rows[1:]}
    assert len(rows) - 1 == len(samples) == 2 * 4 * 30
    assert {row[2] for row in rows[1:]} == {"1", "2", "4", "8"} and {row[3] for row in rows[1:]} == {"128"}
    assert all(float(row[5]) > 0 for row in rows[1:])
    assert "knee" in finished.stderr and "P95" in finished.stderr


def test_the_csv_goes_to_a_file(tmp_path):
    target = tmp_path / "curve.csv"
    finished = run("--csv", str(target))
    assert finished.returncode == 0 and finished.stdout == ""
    assert len(target.read_text().splitlines()) == 241
    assert run("--csv", "/dev/full").returncode == 1


def test_the_knee_is_the_first_gain_under_ten_percent():
    def curve(*rates):
        return [(batch, 0.0, 0.0, rate) for batch, rate in zip(batch_curve.BATCHES, rates)]

    assert batch_curve.knee(curve(100, 150, 160, 400)) == 4
    assert batch_curve.knee(curve(100, 90, 200, 400)) == 2
    assert batch_curve.knee(curve(100, 200, 300, 400)) is None
    assert batch_curve.knee(curve(100, 110, 121, 131)) == 8


@pytest.mark.parametrize("arguments", (("--plot", "curve.xyz"), ("--plot", "/no/such/folder/curve.png"), ("--csv", "")))
def test_refused_before_anything_is_measured(arguments):
    finished = run(*arguments)
    assert finished.returncode == 2 and finished.stdout == "" and "argument " + arguments[0] in finished.stderr


def test_the_figure(tmp_path):
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        finished = run("--plot", str(tmp_path / "curve.svg"))
        assert finished.returncode == 2 and "python3-matplotlib" in finished.stderr and finished.stdout == ""
        pytest.skip("needs python3-matplotlib")
    finished = run("--csv", str(tmp_path / "curve.csv"), "--plot", str(tmp_path / "curve.svg"))
    assert finished.returncode == 0, finished.stderr
    assert "<svg" in (tmp_path / "curve.svg").read_text()
