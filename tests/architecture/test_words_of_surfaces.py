"""A text names an option by ``Option``, ``Given`` or ``Spoken``: each surface then says it in its own words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "energyc"

FLAG = re.compile(r"(?<![\w-])--[a-z]")
#: Surfaces that only the command line has, and the definitions of the words themselves.
OWN_WORDS = (
    "surfaces/cli/",
    "surfaces/doctor/",
    "surfaces/lsp/",
    "surfaces/notebook/",
    "language/diagnostics/spoken.py",
)
#: Texts that are not read by a program's user, by the file that they are in.
OTHERWISE = {
    "extras.py": "an argument of uv",
    "code/targets/cpp/target.py": "an argument of the compiler",
    "code/module/standalone.py": "what only compile writes",
    "jax/model.py": "the command that makes a module again",
    "language/syntax/idioms.py": "the help of a spec, which every surface shows, in both words",
    "language/settings/train.py": "the table of settings in the docs",
    "running/loggers/chosen.py": "what only the command line takes",
    "running/loggers/tensorboard_log.py": "an argument of pip",
    "running/ranks/launch.py": "torchrun, which starts the command line",
    "running/runs/data.py": "beside the words of a program, of which one is taken",
    "running/runs/data_arguments.py": "an argument of the command line, as it was given",
    "running/runs/sample.py": "the command that says more",
    "surfaces/charts/canvas.py": "colours of the style of a page",
    "surfaces/report/view.py": "the command that trained a run",
    "surfaces/report/verify_text.py": "a report of the command line",
    "surfaces/report/evidence.py": "the command that says more",
}


def _docstrings(tree: ast.Module) -> set[ast.AST]:
    return {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }


def _spoken(tree: ast.Module) -> set[ast.AST]:
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
    return {part for call in calls if call.func.id == "Spoken" for part in ast.walk(call)}  # type: ignore[attr-defined]


def flags(text: str) -> Iterator[str]:
    """The strings of a module that name an option of the command line, other than docstrings and ``Spoken``."""
    tree = ast.parse(text)
    # a string that stands alone documents the line above it
    apart = _docstrings(tree) | _spoken(tree) | {n.value for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in apart
        if is_text and FLAG.search(node.value):
            yield node.value


@pytest.mark.slow
def test_no_text_that_a_program_may_read_has_words_of_the_command_line() -> None:
    named: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(OWN_WORDS) and (found := [*flags(path.read_text(encoding="utf-8"))]):
            named[name] = found
    assert {name: named[name] for name in named if name not in OTHERWISE} == {}
    assert set(OTHERWISE) == set(named), "an exception that is needed no longer"


def test_flags_are_found() -> None:
    text = '"""--a"""\nx = f"give --data {x}"\ny = Spoken("use --b", "c=")\nz = "a -- b"\n'
    assert [*flags(text)] == ["give --data "]
