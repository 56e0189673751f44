"""Texts from the table of functions in other files: helpers by formulas, the table of the language page."""

from __future__ import annotations

from pathlib import Path

import pytest

from energyc.language.resolve.words import SCALAR
from energyc.mathematics.functions import definitions
from energyc.surfaces.lsp.words import functions

ROOT = Path(__file__).resolve().parents[2]


def _page() -> str:
    """A row for each function of one number."""
    entries = functions()
    rows = "".join(f"| `{entries[name].form}` | {entries[name].says} |\n" for name in SCALAR)
    return f"| function | is |\n|---|---|\n{rows}"


def _python(target: str) -> str:
    return "".join(f"\n\n{text}" for text in definitions(target)) + "\n\n"


#: A file, the lines between which the text stands, and what belongs there.
BLOCKS = {
    "torch": ("energyc/runtime/tensors/functions.py", "#", lambda: _python("torch")),
    "triton": ("energyc/runtime/kernels/triton_functions.py", "#", lambda: _python("triton")),
    "cpp": ("codegen/cpp/kernels.h", "//", lambda: "".join(definitions("cpp"))),
}
MARK = "By their formulas."


@pytest.mark.parametrize("target", BLOCKS)
def test_helpers_are_those_of_the_formulas(target: str, update_golden: bool) -> None:
    """With ``--update-golden`` they are written."""
    name, sign, made = BLOCKS[target]
    _compare(ROOT / name, f"{sign} {MARK}\n", f"{sign} end\n", made(), update_golden)


def test_the_language_page_has_every_function(update_golden: bool) -> None:
    page = ROOT / "docs" / "language.md"
    _compare(page, "<!-- functions of one number -->\n", "<!-- end -->\n", _page(), update_golden)


def _compare(path: Path, start: str, end: str, wanted: str, update: bool) -> None:
    before, found, rest = path.read_text(encoding="utf-8").partition(start)
    shown, closed, after = rest.partition(end)
    assert found and closed
    if update:
        shown = wanted
        path.write_text(before + start + shown + end + after, encoding="utf-8")
    assert shown == wanted, f"{path.name}: make golden"
