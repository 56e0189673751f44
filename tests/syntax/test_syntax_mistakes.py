"""Messages on a spec that does not parse."""

from __future__ import annotations

import random

import pytest

from energyc.language.diagnostics import Diagnostic, Source, SpecError, render_text
from energyc.language.syntax import parse
from energyc.language.syntax.grammar import grammar
from energyc.language.syntax.mistakes import Mistake, explain, failure_of_example, mistakes
from energyc.language.syntax.scan import scan
from tests.syntax.spec_texts import PATHS


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecError) as caught:
        parse(Source("t.energy", text))
    return caught.value.diagnostics


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in diagnostics(text)]


@pytest.mark.parametrize("mistake", mistakes(), ids=lambda mistake: f"{mistake.code}-{mistake.message[:30]}")
def test_each_example_is_answered_with_its_entry(mistake: Mistake) -> None:
    for example in mistake.examples:
        failure = failure_of_example(example)
        assert explain(failure) == mistake.of(failure), example


@pytest.mark.parametrize(
    ("statement", "code", "message"),
    [
        ("let a = sum[d](W[d] x[d])", "E0103", "a product is written with `*`"),
        ("let a = |x|", "E0104", "an absolute value is written `abs(x)`"),
        ("let a = sum d (x[d])", "E0105", "`sum` names the indices it runs over in square brackets"),
        ("let a == 2", "E0106", "an equation has one `=`"),
        ("let a = x ** 2", "E0107", "a power is written with `^`"),
        ("let a = (x + 1", "E0108", "this bracket is never closed"),
        ("let a = (x]", "E0108", "mismatched brackets: `(` is closed with `]`"),
        ("let a = x)", "E0108", "unmatched `)`"),
        ("}", "E0108", "unmatched `}`"),
        ("layer a { let b = 1", "E0108", "this bracket is never closed"),
        ("state energy[N]", "E0109", "`energy` is a reserved word and cannot be a name"),
        ("let a = in", "E0109", "`in` is a reserved word and cannot be a name"),
        ("let a = x +", "E0113", "expected an expression after `+`"),
        ("let a =", "E0113", "expected an expression after `=`"),
        ("let a = 2x", "E0114", "`2x` is not a number"),
        ("let a = 1.2.3", "E0114", "`1.2.3` is not a number"),
        ("let a = 1e999999999", "E0114", "this number is too long or outside the range of floating point"),
        ("enrgy a = 2", "E0116", "no statement starts with `enrgy`"),
        ("x[i] = 2", "E0116", "no statement starts with `x`"),
        ("dim N = 3 M = 4", "E0119", "the items of a `dim` statement are separated by commas"),
        ("let a = x[i j]", "E0119", "the indices in a bracket are separated by commas"),
        ("network m", "E0102", "a spec has one network"),
        ("let γ = 1", "E0101", "unexpected character `γ`"),
        ("let a = x − 1", "E0101", "unexpected character `−`"),
        ("let a = x; let b = 1", "E0101", "unexpected character `;`"),
        ("let a = einsum('i,i->', x, y)", "E0127", "there is no function `einsum`"),
        ("let a = np.sum(x)", "E0127", "functions have no module before them, as in `np.`"),
        ("let a = torch.sum(x, y)", "E0127", "functions have no module before them, as in `torch.`"),
        ("let a = x.pow(2).sum()", "E0127", "there are no methods such as `.pow(...)`"),
        ("let a = one_hot(label, K)[k]", "E0127", "the value of a call takes no index"),
        ("let a = softmax[k](y[k])[k]", "E0127", "the value of a call takes no index"),
        ("let a = softmax(y, dim=-1)", "E0127", "an axis is not given by `dim =`"),
        ("let a = sum(x[j]^2 for j in J)", "E0127", "a sum names its index in a bracket, not with `for`"),
        ("let a = sum[i,j if i < j](x[i])", "E0127", "a guard follows a bar, not `if`"),
        ("let a = x[0:5]", "E0127", "there are no slices"),
        ("let a = x[:, 0]", "E0127", "there are no slices"),
        ("dim J = I // 2", "E0127", "there is no operator `//`"),
        ("energy a += x", "E0127", "there is no `+=`"),
        ("ds/dt = -s[j]", "E0127", "a motion is not written as a time derivative"),
        ("let a = sum[j=0..31](x[j])", "E0127", "an index runs over a dim, not a range"),
        ("let a = sum[j in 32](x[j])", "E0127", "an index runs over a dim, not a number"),
        ("let a = sum_{j} x[j]", "E0127", "indices are in square brackets"),
        ("let a = sum{j}(x[j])", "E0127", "indices are in square brackets"),
        ("let a = W[i][j]", "E0127", "the indices of an element share one bracket"),
        ("let a = sum[j] s[j]^2", "E0127", "the argument of `sum` is in parentheses"),
        ("let a = sum[j]s[j]", "E0127", "the argument of `sum` is in parentheses"),
        ("let a = sum_j s_j", "E0127", "a sum has its indices and its terms in brackets"),
        ("let a = x[0] if y[0] > 0 else 0", "E0127", "there is no conditional expression `a if c else b`"),
        ("let f = lambda u: u^2", "E0127", "a function is declared with `fn`"),
        ("let a = torch.nn.functional.relu(x)", "E0127", "functions have no module before them, as in `torch.`"),
        ("let a = 1/2 ||s||^2", "E0104", "an absolute value is written `abs(x)`"),
        ("let a = relu(W x)", "E0103", "a product is written with `*`"),
        ("param V[J] in [0, 1] ~ normal(1)", "E0126", "the set of a param follows its law or value"),
        ("param V[J] in nonnegative = 0", "E0126", "the set of a param follows its law or value"),
        ("let a, b = 1", "E0126", "an equation defines one quantity"),
        ("state s[J] in [0 1]", "E0119", "the bounds of a box are separated by a comma"),
        ("state s[J] in [-1 1]", "E0119", "the bounds of a box are separated by a comma"),
        ("state s[J] : [0, 1]", "E0124", "`:` gives the values of an integer clamp or target, and a state is real"),
        ("train { rule = ep, lr: 0.005 }", "E0115", "a setting is written `key = value`"),
        ("weight W[I, J] ~ glorot", "E0116", "no statement starts with `weight`"),
        ("def phi(u): return u*u", "E0116", "no statement starts with `def`"),
        ("fn phi(u): u*u", "E0126", "a function is defined with `=`"),
    ],
)
def test_a_mistake_and_what_is_said(statement: str, code: str, message: str) -> None:
    first = diagnostics(f"network n\n{statement}\n")[0]
    assert (first.code, first.message) == (code, message)


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("network little-net", "a name contains letters, digits and `_`: `little_net`"),
        ("network little {", "the file is the network: write `network little` alone"),
        ("network n\nlet a = sum(x[j]^2 for j in J)", "write `sum[j in J](x[j]^2)`"),
        ("network n\nlet a = sum[i,j if i < j](x[i])", "write `sum[i,j | ...]`"),
        ("network n\nlet a = W[i][j]", "write `[i,j]`"),
        ("network n\nlet a = sum[i, j] W[i,j]", "write `sum[i, j](...)`"),
        ("network n\nlet a = sum_j s_j", "write `sum[j](...)`"),
        ("network n\nlet a = sum(x[j] for j in range(J))", "write `sum[j in J](x[j])`"),
        ("network n\nlet a = logsumexp(x, dim=0)", "write the index in a bracket: `logsumexp[k](...)`"),
        ("network n\nlet a = np.sum(x)", "write `sum[j](...)`"),
        ("network n\nlet a = x.pow(2)", "write `x[j]^2`"),
        ("network n\nlet a = x.tanh()", "write `tanh(x[j])`"),
        ("network n\nlet a = layernorm(s)[j]", "the index belongs to the function: `layernorm[j](...)`"),
        (
            'network n\ndata d = digits("x")',
            "give the place of the data where it is trained: `--data d=PATH`, or `data=` in Python",
        ),
        ("network n\nlet a = one_hot(label, K)[k]", "write `where(k == label, 1, 0)`"),
        ("network n\nlet a = sum_{j} x[j]", "write `sum[j](...)`"),
        ("network n\nstate s[J] in [-1 1]", "write `in [-1, 1]`"),
        ("network n\nlet a = sum[j in 32](x[j])", "declare `dim N = 32` and write `j in N`"),
        ("network n\nloss mse = x", "write `cost`"),
        ("network n\nhidden h[J]", "write `state`"),
        ("network n\nlet a = （x)", "write `(`"),
    ],
)
def test_an_idiom_and_its_remedy(text: str, help: str) -> None:
    assert diagnostics(text)[0].help == help


def test_a_missing_operand_is_reported_where_it_is_missing() -> None:
    source = Source("t", "network n\nenergy a = b +   # a sum\nlet c = 2\n")
    with pytest.raises(SpecError) as caught:
        parse(source)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    place = source.position(diagnostic.span.start)
    assert (place.line, place.column) == (2, 15)


def test_all_errors_of_a_file_come_in_one_run_and_in_order() -> None:
    text = """network n
dim N = = 3
let a[n] = W[n] x
layer l {
  let b = (c
  energy d = 2 +
}
state z[3]
relax { step = 1 + 1 }
let fine = 1
let e = )
"""
    found = diagnostics(text)
    assert [d.code for d in found] == ["E0126", "E0103", "E0108", "E0113", "E0120", "E0115", "E0108"]
    lines = [Source("t", text).position(d.span.start).line for d in found if d.span]
    assert lines == [2, 3, 5, 6, 8, 9, 11]


def test_a_mistake_in_the_head_of_a_block_leaves_its_body_to_be_judged() -> None:
    assert codes("network n\nlayer a b {\n let c = d e\n}\nlet f = 1\n") == ["E0118", "E0103"]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "\t\r\n"])
def test_an_empty_file(text: str) -> None:
    (diagnostic,) = diagnostics(text)
    assert (diagnostic.code, diagnostic.message) == ("E0102", "this spec is empty")


def test_a_file_without_a_network() -> None:
    assert codes("dim N = 3\n") == ["E0102"]


@pytest.mark.slow
def test_no_name_of_the_grammar_reaches_a_user() -> None:
    """Random damage to every spec: each answer comes, in words, with few consequences of one mistake."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    texts = [path.read_text() for path in PATHS]
    terminals = {terminal.name for terminal in grammar().terminals if len(terminal.name) > 3} - {"WORD", "NAME"}
    for _ in range(300):
        text = damaged(draw.choice(texts), draw)
        try:
            parse(Source("t", text))
        except SpecError as error:
            assert 1 <= len(error.diagnostics) <= 5, text
            assert_readable(error, terminals)


def assert_readable(error: SpecError, terminals: set[str]) -> None:
    for diagnostic in error.diagnostics:
        said = f"{diagnostic.message} {diagnostic.text} {diagnostic.help}"
        assert not terminals & set(said.replace("`", " ").split()), said
        assert "{" not in said.replace("`{`", "").replace("{ ", "") or "`layer" in said, said
        assert diagnostic.span is not None and 0 <= diagnostic.span.start <= len(error.source.text)
    assert render_text(error.diagnostics, error.source)


SIGNS = "( ) [ ] { } = + * ^ | ~ , ' let network in x 3 γ **".split()


def damaged(text: str, draw: random.Random) -> str:
    piece = draw.choice(scan(Source("t", text)))
    start, end = piece.span.start, piece.span.end
    sign = draw.choice(SIGNS)
    return draw.choice(
        [
            text[:start] + text[end:],
            text[:start] + sign + " " + text[start:],
            text[:start] + sign + text[end:],
            text[:start],
        ]
    )
