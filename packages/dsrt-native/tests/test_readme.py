"""The README's code runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path


def test_the_code_in_the_readme_runs(tmp_path):
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    first, second, third = done.stdout.splitlines()
    assert first == "number 3 [1 1] [0 1 2 3]"
    assert second.startswith("(16, 8, 8, 3) (16, ")
    assert third == "16 32"
