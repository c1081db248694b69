"""The tables of docs/spec/vectors.md, from the words of the vectors themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from dsrt_format.conformance.made import RECIPES
from tests.vectors.shipped import FOLDER

PAGE = Path(__file__).parents[2] / "docs" / "spec" / "vectors.md"
RULES = PAGE.with_name("rules.md")
BEGIN, END = "<!-- made by python -m tests.vectors -->\n", "<!-- end of what is made -->\n"


def abouts() -> dict[str, str]:
    """What each vector is, by its name."""
    shipped = {
        f"{path.parent.parent.name}/{path.parent.name}": json.loads(path.read_text("utf-8"))["about"]
        for path in FOLDER.glob("*/*/expected.json")
    }
    made = {name: f"{about} *Made when needed.*" for name, (about, _) in RECIPES.items()}
    return dict(sorted((shipped | made).items()))


def tables() -> str:
    """One table of the good vectors and one for each rule."""
    words = abouts()
    parts = ["### Good caches", "", *_table(words, "good/")]
    for rule, text in re.findall(r"^\| (R\d{3}) \| (.*?) \|", RULES.read_text(), re.MULTILINE):
        if rows := _table(words, f"bad/{rule}-"):
            parts += ["", f"### {rule}: {text}", "", *rows]
    return "\n".join(parts) + "\n"


def _table(words: dict[str, str], begin: str) -> Iterable[str]:
    rows = [
        f"| {name.removeprefix(begin)} | {_cell(about)} |"
        for name, about in words.items()
        if name.startswith(begin)
    ]
    return [f"| `{begin}…` | what it is |", "|---|---|", *rows] if rows else []


def _cell(text: str) -> str:
    """Text that Markdown shows as it is."""
    for letter in "\\*_<|`[":
        text = text.replace(letter, f"\\{letter}") if letter != "*" or "Made when" not in text else text
    return text.replace("\n", " ")


def filled(page: str) -> str:
    """The page with its tables made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"
