"""The canonical layout: nothing is lost, and formatting again changes nothing."""

from __future__ import annotations

import random
import re

import pytest

from energyc.language.diagnostics import Source
from energyc.language.syntax import format_spec, parse
from energyc.language.syntax.scan import scan
from energyc.resources import folder
from tests.syntax.spec_texts import EVERYTHING, PATHS, same_tree


def formatted(text: str) -> str:
    return format_spec(Source("t", text))


def assert_nothing_is_lost(text: str) -> None:
    result = formatted(text)
    assert same_tree(parse(Source("t", result)), parse(Source("t", text)))
    assert comments(result) == comments(text)
    assert formatted(result) == result


def comments(text: str) -> list[str]:
    return [comment.rstrip() for comment in re.findall(r"#[^\n]*", text)]


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_spec_keeps_tree_and_comments(path) -> None:
    assert_nothing_is_lost(path.read_text())


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("path", sorted(folder("specs").glob("*.energy")), ids=lambda path: path.stem)
def test_the_gallery_is_in_canonical_layout(path) -> None:
    assert formatted(path.read_text()) == path.read_text()


@pytest.mark.slow
def test_any_blanks_and_breaks_lead_to_the_same_tree() -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    for path in [EVERYTHING] * 30 + PATHS:
        assert_nothing_is_lost(scattered(path.read_text(), draw))


def scattered(text: str, draw: random.Random) -> str:
    """The words of a text with other blanks, breaks and a few more comments between them."""
    out = []
    previous = None
    for piece in scan(Source("t", text), comments=True):
        apart = previous is None or text[previous : piece.span.start] != ""
        if apart and draw.random() < 0.3:
            out.append(draw.choice(["\n", "\n\n\n", "   ", " \t ", " # more\n", "\n  # alone\n\n", "\r\n"]))
        elif previous is not None:
            out.append(text[previous : piece.span.start])
        out.append(piece.text)
        if piece.kind == "comment":
            out.append("\n")
        previous = piece.span.end
    return "".join(out) + "\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dim   N=3,M = 4", "dim N = 3, M = 4"),
        ("let a[ n , d ]=-b[n,d]*2 ^ - c", "let a[n,d] = -b[n,d]*2^-c"),
        ("let a = b* c - d /e", "let a = b * c - d / e"),
        ("let a = b[n+1,d]", "let a = b[n + 1, d]"),
        ("let a = f( b,c )", "let a = f(b, c)"),
        ("let a = sum [ m|m!=n ] (b)", "let a = sum[m | m != n](b)"),
        ("state z[N,D]in[0,1]", "state z[N, D] in [0, 1]"),
        ("param W[N,D]~normal( 0.02 )", "param W[N, D] ~ normal(0.02)"),
        ("clamp x[N]:V=text . input".replace(" . ", "."), "clamp x[N] : V = text.input"),
        ("relax{step=1 / 2,rule=centered-ep}", "relax { step = 1/2, rule = centered-ep }"),
        ("nudge { }", "nudge {}"),
        ("let a = 1 let b = 2", "let a = 1\nlet b = 2"),
        ("layer l{\nlet a=1 # one\n\n\n}", "layer l {\n  let a = 1  # one\n}"),
        ("let a = b - c\n\n\n\n# d\nlet e = 1", "let a = b - c\n\n# d\nlet e = 1"),
        ("let a  = 1\nlet bb = 2", "let a  = 1\nlet bb = 2"),
        ("let a   = 1\nlet bb  = 2", "let a  = 1\nlet bb = 2"),
        ("energy e = a\n   - b", "energy e = a\n         - b"),
        ("train { a = 1,\n b = 2 }", "train { a = 1,\n        b = 2 }"),
        ("train {\n a = 1,\nb = 2\n }", "train {\n    a = 1,\n    b = 2\n}"),
    ],
)
def test_layout_of_a_statement(text: str, expected: str) -> None:
    assert formatted(f"network n\n{text}\n") == f"network n\n{expected}\n"


def test_a_long_equation_is_broken_at_its_terms() -> None:
    term = "sum[i,j](weights[i,j] * somewhat_long_name[j])"
    result = formatted(f"network n\nenergy long = {term} - {term} + {term}\n")
    assert result == f"network n\nenergy long = {term}\n            - {term}\n            + {term}\n"
