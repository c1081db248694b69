"""The README and the tutorial do what they say."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "tutorial.md",
    *(
        ROOT / "docs" / "how-to" / f"{page}.md"
        for page in ("batches", "build", "compress", "dataloader", "merge")
    ),
    *sorted(ROOT.glob("packages/*/README.md")),
]


def blocks(page: Path) -> list[str]:
    """Blocks marked `python` run; those marked `py` are excerpts that need surroundings."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_blocks_of_a_page_run_one_after_the_other(page, tmp_path):
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page)))
    done = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_page_but_the_cli_readme_shows_python_that_runs():
    assert [page.parent.name for page in PAGES if not blocks(page)] in ([], ["dsrt-cli"])


def test_ci_runs_the_test_command_of_the_readme():
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^\$ (.*)$", readme, re.MULTILINE)
    start = 'python3 -m venv .nox/nox && . .nox/nox/bin/activate && pip install "nox[uv]" && nox'
    assert commands == [f"{start} -s demo", start]
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == commands[1]


def test_readme_is_short_and_its_links_exist():
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") < 150
    targets = [target for target in re.findall(r"\]\(([^)#]+)", text) if "://" not in target]
    assert len(targets) > 15
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_readme_names_every_guide_every_why_and_every_session():
    text = (ROOT / "README.md").read_text()
    pages = [page for part in ("how-to", "reference", "why") for page in (ROOT / "docs" / part).glob("*.md")]
    assert [page.name for page in pages if f"({page.relative_to(ROOT)})" not in text] == []
    sessions = re.findall(r"^@nox\.session.*?^def (\w+)", (ROOT / "noxfile.py").read_text(), re.M | re.S)
    named = re.findall(r"\w+", text.partition("## Working on it")[2])
    assert len(sessions) > 10
    assert [name for name in sessions if name not in named] == []


@pytest.mark.parametrize(
    ("package", "page"),
    [
        ("dsrt_format", "format"),
        ("dsrt_format.reference", "format"),
        ("dsrt_format.conformance", "format"),
        ("dsrt_native", "native"),
        ("dsrt_meta", "meta"),
        ("dsrt_torch", "torch"),
    ],
)
def test_a_function_named_as_its_module_has_its_own_entry_in_the_reference(package, page):
    # The generator takes such a name for the module, and would leave the function out.
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text()
    entries = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    module = importlib.import_module(package)
    hidden = [
        f"{package}.{name}.{name}"
        for name in module.__all__
        if getattr(getattr(module, name), "__module__", None) == f"{package}.{name}"
    ]
    assert package in entries
    assert [entry for entry in hidden if entry not in entries] == []
