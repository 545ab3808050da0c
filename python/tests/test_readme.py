"""The Python example of README.md runs as it stands."""

import pathlib
import re

README = pathlib.Path(__file__).parents[2] / "README.md"


def test_the_example_runs():
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(examples) == 1
    exec(compile(examples[0], "README.md", "exec"), {})
