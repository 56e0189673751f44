"""The tree of a spec."""

from __future__ import annotations

from fractions import Fraction

import pytest

from energyc.language.diagnostics import Source, SpecError
from energyc.language.syntax import ast, parse, unparse
from energyc.language.syntax.grammar import grammar
from tests.syntax.spec_texts import EVERYTHING, PATHS, same_tree


def tree(text: str) -> ast.Spec:
    return parse(Source("t.energy", text))


def right(text: str) -> ast.Expr:
    statement = tree(f"network n\nlet a = {text}\n").statements[0]
    assert isinstance(statement, ast.Equation)
    return statement.right


def test_the_grammar_has_no_conflict_in_strict_mode() -> None:
    pytest.importorskip("interegular")
    grammar(strict=True)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_spec_parses_and_is_named_as_its_file(path) -> None:
    spec = parse(Source(path.name, path.read_text()))
    assert spec.name.text == path.stem
    assert spec.description


def test_the_kinds_of_statements() -> None:
    spec = tree(EVERYTHING.read_text())
    kinds = {type(statement) for statement in spec.statements}
    assert kinds == {
        ast.Definitions,
        ast.Data,
        ast.Inputs,
        ast.Params,
        ast.Noises,
        ast.States,
        ast.Equation,
        ast.Function,
        ast.Layer,
        ast.Settings,
        ast.Preset,
    }
    words = {statement.word for statement in spec.statements if isinstance(statement, ast.Equation)}
    assert words == {"tie", "start", "let", "energy", "force", "readout", "cost", "metric"}
    assert spec.description == "Every construct of the language once;\nit parses and means nothing."


def test_params_keep_their_own_law_value_and_set() -> None:
    params = next(s for s in tree(EVERYTHING.read_text()).statements if isinstance(s, ast.Params))
    w, u, b, g, h, s, q = params.items
    assert (w.law, w.value) == (None, None)
    assert u.law is not None and u.law.name.text == "glorot" and u.law.arguments == ()
    assert isinstance(b.value, ast.Number) and b.domains == ()
    assert [type(domain) for domain in g.domains] == [ast.Box]
    assert [type(domain) for domain in h.domains] == [ast.NamedSet]
    assert h.law is not None and h.law.arguments[1].keyword is not None
    assert [type(domain) for domain in s.domains] == [ast.NamedSet, ast.NamedSet, ast.Box]
    (orthogonal,) = q.domains
    assert isinstance(orthogonal, ast.NamedSet) and [dim.text for dim in orthogonal.dims] == ["M", "D"]


def test_noises_keep_their_own_laws() -> None:
    noises = next(s for s in tree(EVERYTHING.read_text()).statements if isinstance(s, ast.Noises))
    laws = [None if item.law is None else item.law.name.text for item in noises.items]
    assert laws == [None, "normal", "uniform"]


def test_settings_are_exact() -> None:
    data = next(s for s in tree(EVERYTHING.read_text()).statements if isinstance(s, ast.Data))
    values = {pair.path: pair.value for pair in data.pairs}
    assert isinstance(values["share"], ast.NumberValue) and values["share"].number == Fraction(-1, 2)
    names = values["names"]
    assert isinstance(names, ast.ListValue)
    assert [item.word for item in names.items if isinstance(item, ast.WordValue)] == ["a", "b-c"]
    preset = next(s for s in tree(EVERYTHING.read_text()).statements if isinstance(s, ast.Preset))
    assert [pair.path for pair in preset.pairs] == ["N", "relax.steps"]


def test_a_decimal_is_exact() -> None:
    number = right("0.02")
    assert isinstance(number, ast.Number) and number.value == Fraction(1, 50)


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("-a^2", "-(a^2)"),
        ("a^b^c", "a^(b^c)"),
        ("a^-b", "a^(-b)"),
        ("a - b - c", "(a - b) - c"),
        ("a / b / c", "(a / b) / c"),
        ("a / b * c", "(a / b) * c"),
        ("-a * b", "(-a) * b"),
        ("a + b * c", "a + (b * c)"),
        ("not a and b or c", "((not a) and b) or c"),
        ("not a == b", "not (a == b)"),
        ("a + b < c", "(a + b) < c"),
        ("- -a", "-(-a)"),
    ],
)
def test_precedence(text: str, grouped: str) -> None:
    assert same_tree(right(text), right(grouped))


def test_a_chain_of_comparisons_is_one_node() -> None:
    chain = right("0 <= i < N")
    assert isinstance(chain, ast.Compare)
    assert chain.ops == ("<=", "<") and len(chain.operands) == 3


def test_spans_cover_the_words_of_a_node() -> None:
    source = Source("t", "network n\nlet a = (b + c) * f'[i, j | i < j](d.e[k])\n")
    statement = parse(source).statements[0]
    assert isinstance(statement, ast.Equation) and isinstance(statement.right, ast.Binary)
    assert source.slice(statement.right.left.span) == "(b + c)"
    applied = statement.right.right
    assert isinstance(applied, ast.Apply) and applied.guard is not None and applied.arguments is not None
    assert source.slice(applied.span) == "f'[i, j | i < j](d.e[k])"
    assert source.slice(applied.guard.span) == "i < j"
    field = applied.arguments[0].value
    assert isinstance(field, ast.Field) and source.slice(field.field.span) == "e"


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_unparse_gives_the_same_tree(path) -> None:
    seen = 0
    for expr in expressions(parse(Source(path.name, path.read_text())).statements):
        assert same_tree(right(unparse(expr)), expr), unparse(expr)
        seen += 1
    assert seen > 3


def expressions(statements):
    for statement in statements:
        if isinstance(statement, ast.Equation):
            yield statement.right
        elif isinstance(statement, (ast.Layer, ast.Repeat)):
            yield from expressions(statement.body)


@pytest.mark.parametrize("word", ["class", "lambda", "None", "__import__", "import_", "self", "def"])
def test_words_of_python_are_names_like_any_other(word: str) -> None:
    assert tree(f"network n\ndim {word} = 3\n").statements


@pytest.mark.parametrize("word", ["dimN = 3", "letx = 3", "param3 ~ a", "statez"])
def test_a_reserved_word_ends_where_a_word_ends(word: str) -> None:
    with pytest.raises(SpecError):
        tree(f"network n\n{word}\n")
