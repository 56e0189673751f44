"""The text that a diagnostic offers puts its mistake right: each fix of each error page is carried out."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from energyc.language.diagnostics import Diagnostic, Fix, Remedy, Source, Span, did_you_mean
from energyc.language.resolve import resolve_partly
from energyc.language.syntax import parse_partly
from energyc.pipeline import Choices, resolve
from tests.pages.page import NAME, Example, examples, said_of

PAGES = sorted((Path(__file__).parents[2] / "docs" / "errors").glob("[EW]*.md"))
#: Codes whose pages show a mistake with a fix.
FIXED = set(
    "E0101 E0102 E0103 E0105 E0106 E0107 E0108 E0114 E0116 E0118 E0119 E0122 E0127 E0201 E0206 E0210 E0301 E0303 E0304 "
    "E0401 E0405 E0423 E0425 E0426 E0431 E0501 E0502 E0541 E0542 E0601 E0602 E0603".split()
)


def fixes_of(page: Path) -> Iterator[tuple[Example, Diagnostic, Fix]]:
    for example in examples(page.read_text(encoding="utf-8")):
        if not example.options:
            yield from ((example, diagnostic, fix) for diagnostic in said_of(example) for fix in diagnostic.fixes)


def start_after(fix: Fix, offset: int) -> int:
    """Where a character is once a fix is carried out."""
    edits = [edit for edit in fix.edits if edit.span.end <= offset and edit.span.start < offset]
    return offset + sum(len(edit.text) - (edit.span.end - edit.span.start) for edit in edits)


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_fix_puts_its_mistake_right(page: Path) -> None:
    found = list(fixes_of(page))
    for example, diagnostic, fix in found:
        assert diagnostic.span is not None
        mended = Example(fix.applied(example.spec), {}, None, (0, 0))
        places = {diagnostic.span.start, start_after(fix, diagnostic.span.start)}
        after = [each for each in said_of(mended) if each.span is not None and each.span.start in places]
        assert (diagnostic.code, diagnostic.message) not in [(each.code, each.message) for each in after], fix.title
    assert {diagnostic.code for _, diagnostic, _ in found} >= {page.stem} & FIXED


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("let a = 2 z[0]", "let a = 2 * z[0]"),
        ("let a = sum[n](z[n] z[n])", "let a = sum[n](z[n] * z[n])"),
        ("let a = |z[0]| + 1", "let a = abs(z[0]) + 1"),
        ("let a == 1", "let a = 1"),
        ("let a = z[0]**2", "let a = z[0]^2"),
        ("let a = sum n (z[n])", "let a = sum[n](z[n])"),
        ("let f(u) = u", "fn f(u) = u"),
        ("let a = z{0}", "let a = z[0]"),
        ("let a = 2x", "let a = 2 * x"),
        ("let a = 1 // why", "let a = 1 / why"),
        ("let a = 1\n// why", "let a = 1\n# why"),
        ("relax { step: 1 }", "relax { step = 1 }"),
        ("relax { step = 1 steps = 2 }", "relax { step = 1, steps = 2 }"),
        ("dim A = 1 B = 2", "dim A = 1, B = 2"),
        ("let a = W[0][1]", "let a = W[0,1]"),
        ("param W[N N] ~ glorot", "param W[N, N] ~ glorot"),
        ("let a = λ", "let a = lambda"),
        ("energie a = 1", "energy a = 1"),
        ("let a = (1 + 2", "let a = (1 + 2)"),
        ("state y[N] in [0 1]", "state y[N] in [0, 1]"),
    ],
)
def test_broken_syntax_is_written_right(wrong: str, right: str) -> None:
    text = f"network n\ndim N = 2\nstate z[N]\n{wrong}"
    (first, *_) = parse_partly(Source(NAME, text)).diagnostics
    mended = first.fixes[0].applied(text).removeprefix("network n\ndim N = 2\nstate z[N]\n")
    assert mended.replace(",", ", ").split() == right.replace(",", ", ").split()


def test_a_mistake_in_settings_is_replaced_where_it_stands() -> None:
    text = (
        "network n\ndim N = 2\nparam gain[N] = 1\nstate act[N]\nenergy e = sum[n](gain[n] * act[n]^2)\n"
        "cost c = act[0]\nrelax { patienc = 1, step.actt = 1, steps = 2.5 }\n"
        "train { optimizer = adan, lr.gian = 1 }\npreset p { relx.steps = 2, relax.stps = 3 }\n"
    )
    source = Source(NAME, text)
    parsed = parse_partly(source)
    assert parsed.spec is not None
    said = resolve_partly(parsed.spec, source, preset="p").diagnostics
    for fix in sorted((fix for d in said for fix in d.fixes), key=lambda fix: fix.edits[0].span, reverse=True):
        text = fix.applied(text)
    assert "relax { patience = 1, step.act = 1, steps = 2 }" in text
    assert "optimizer = adam, lr.gain = 1" in text
    assert "relax.steps = 2, relax.steps = 3" in text


def test_a_remedy_is_a_help_that_survives_another_process() -> None:
    help = did_you_mean("relau", ["relu", "tanh"], at=Span(3, 8))
    assert isinstance(help, Remedy) and help == "did you mean `relu`?"
    again = pickle.loads(pickle.dumps(help))
    assert again == help and again.fixes == help.fixes
    assert did_you_mean("relau", ["relu"]) == help and did_you_mean("x", ["relu"], "none") == "none"


# ---------------------------------------------------------------- what is read of a broken text


def test_the_statements_around_a_broken_one_are_read() -> None:
    text = "network n\ndim N = 2\nlet a = (\nstate z[N]\nenergy e = sum[n](z[n"
    parsed = parse_partly(Source(NAME, text))
    assert len(parsed.diagnostics) == 2 and parsed.spec is not None
    assert [type(statement).__name__ for statement in parsed.spec.statements] == ["Definitions", "States"]


def test_an_open_block_at_the_end_is_read() -> None:
    parsed = parse_partly(Source(NAME, "network n\nlayer a {\n  state z\n  energy e = z^"))
    assert parsed.spec is not None and len(parsed.diagnostics) == 1
    (layer,) = parsed.spec.statements
    assert len(layer.body) == 1  # type: ignore[attr-defined]


def test_what_can_be_typed_is_typed_beside_errors() -> None:
    text = "network n\ndim N = 2\nstate z[N]\nlet a[n] = 2 * z[n]\nlet b[n] = y[n]\nenergy e = sum[n](a[n]^2)\n"
    source = Source(NAME, text)
    spec = parse_partly(source).spec
    assert spec is not None
    found = resolve_partly(spec, source)
    assert not found.ok and found.network is not None
    assert [d.code for d in found.diagnostics] == ["E0201"]
    assert set(found.network.lets) == {"a"} and set(found.network.terms) == {"e"}
    named = {source.slice(span): dims for span, dims in found.shapes.items()}
    assert named == {"z": ("N",), "a": ("N",)}
    assert set(found.ranges.values()) == {"N"}
    good = Source(NAME, text.replace("let b[n] = y[n]\n", ""))
    assert resolve(good, Choices()).lets.keys() == {"a"}
