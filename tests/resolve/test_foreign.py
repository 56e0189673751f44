"""Words and notations of other libraries are answered with the way to write them here, and that way is right."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from energyc.language.diagnostics import Source
from energyc.language.resolve.words import LANGUAGE_FUNCTIONS, LAWS, SETS
from energyc.language.syntax import ast, parse
from energyc.resources import resource
from tests.resolve.helpers import findings, inputs, network, value

TABLES = tomllib.loads(resource("grammar", "foreign.toml").read_text(encoding="utf-8"))
DEFINITION = re.compile(r"`(fn \w+\(u\) = [^`]+)`")
DEFINITIONS = {m[1] for help in TABLES["functions"].values() for m in DEFINITION.finditer(help)}
F = torch.nn.functional
REFERENCES: dict[str, Callable[[Any], Any]] = {
    "elu": F.elu,
    "selu": F.selu,
    "celu": F.celu,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "mish": F.mish,
    "tanhshrink": F.tanhshrink,
    "softshrink": F.softshrink,
    "cosh": torch.cosh,
    "sinh": torch.sinh,
    "logcosh": lambda u: torch.log(torch.cosh(u)),
    "tan": torch.tan,
    "log2": lambda u: torch.log2(u.abs()),
    "log10": lambda u: torch.log10(u.abs()),
    "log1p": lambda u: torch.log1p(u.abs()),
    "expm1": torch.expm1,
    "exp2": torch.exp2,
    "rsqrt": lambda u: torch.rsqrt(u.abs()),
    "sinc": torch.sinc,
}
POSITIVE = {"log2", "log10", "log1p", "rsqrt"}


@pytest.mark.parametrize("definition", sorted(DEFINITIONS))
def test_a_recommended_function_is_the_one_it_stands_for(definition: str) -> None:
    name = definition.removeprefix("fn ").partition("(")[0]
    argument = "abs(z[d])" if name in POSITIVE else "3 * z[d]"
    net = network(f"dim D = 200\nstate z[D]\n{definition}\nlet out[d] = {name}({argument})\nenergy e = sum[d](out[d])")
    values = inputs(net, seed=3)
    z = torch.tensor(values["z"])
    expected = REFERENCES[name](z if name in POSITIVE else 3 * z)
    np.testing.assert_allclose(value(net, net.lets["out"].node, values), expected, rtol=1e-9, atol=1e-9)


def _code(table: str) -> list[str]:
    return [code for help in TABLES[table].values() for code in re.findall(r"`([^`]+)`", help)]


@pytest.mark.parametrize("code", sorted({code for code in _code("functions") if code[:3] not in ("fn ", "ene", "ein")}))
def test_a_recommended_expression_is_made_of_functions_of_the_language(code: str) -> None:
    statement = code if code.startswith(("param", "state")) else f"let a = {code}"
    tree = parse(Source("t", f"network n\n{statement}"))
    called = {t.name.text for s in tree.statements for t in ast.walk(s) if isinstance(t, ast.Apply) and t.arguments}
    assert called <= LANGUAGE_FUNCTIONS


def test_no_word_of_the_language_is_called_foreign() -> None:
    assert not (TABLES["functions"].keys() | set(TABLES["absent"]["functions"])) & LANGUAGE_FUNCTIONS
    assert not TABLES["laws"].keys() & set(LAWS)
    assert not TABLES["sets"].keys() & set(SETS)


BASE = """
dim I = 4, J = 3, K = 2
const eta = 1/2
clamp x[I]
target label : K
param W[I, J] ~ normal(1), b[J] = 0
state s[J], y[K]
"""


def answer(statement: str) -> list[tuple[str, str | None]]:
    """The codes and helps of the errors that a statement causes."""
    return [(d.code, d.help) for d in findings(BASE + statement) if d.severity == "error"]


FUNCTIONS = [
    ("norm(s)", "write `sqrt(sum[d](z[d]^2))`"),
    ("log_softmax(y)", "write `z[k] - logsumexp[l](z[l])`"),
    ("swish(s[0])", "write `silu(u)`"),
    ("accuracy(y, label)", "write `correct[k](y[k], label)`"),
    ("symmetric(W)", "write the symmetric part: `1/2 * (W[i,j] + W[j,i])`"),
    ("sum_j(s[0])", "write `sum[j](...)`"),
    ("sum_ij(s[0])", "write `sum[i,j](...)`"),
    ("Tanhshrink(s[0])", "write it as a function: `fn tanhshrink(u) = u - tanh(u)`"),
    ("Softsign(s[0])", "did you mean `softsign`?"),
    ("sigmiod(s[0])", "did you mean `sigmoid`?"),
]


@pytest.mark.parametrize(("call", "help"), FUNCTIONS)
def test_a_function_of_another_library(call: str, help: str) -> None:
    assert answer(f"energy e = {call}") == [("E0206", help)]


@pytest.mark.parametrize("name", ["atan", "atanh", "erfc", "glu", "batch_norm", "arcsin"])
def test_nothing_spelt_alike_is_offered_for_another_function(name: str) -> None:
    ((code, help),) = answer(f"energy e = {name}(s[0])")
    assert code == "E0206" and help is not None and help.startswith("the functions of one number are exp, log")


CALLS = [
    ("sum(s^2)", "write `sum[j](s[j]^2)`"),
    ("sum(s[j]^2)", "write `sum[j](s[j]^2)`"),
    ("sum(W * b)", "write `sum[i,j](W[i, j] * b[j])`"),
    ("sum[i](x[i] * max(W))", "write `max[j](W[i, j])`"),
    ("mean(y)", "write `mean[k](y[k])`"),
    ("logsumexp(y)", "write `logsumexp[k](y[k])`"),
    ("sum(s[0], y[0])", "of two numbers a and b write `a + b`; `sum[k](...)` works along an index"),
    ("softmax(y, axis = -1)", "write `softmax[k](y[k])`"),
    ("cross_entropy(y, label)", "write `cross_entropy[k](y[k], label)`"),
    ("softmax(s)", "write `softmax[j](s[j])`"),
]


@pytest.mark.parametrize(("call", "help"), CALLS)
def test_a_call_without_its_index_is_shown_with_it(call: str, help: str) -> None:
    assert answer(f"energy e = {call}") == [("E0405", help)]


UNBOUND = [
    ("1/2 * s[j]^2 + 1/2 * sum[k](y[k]^2)", "write `sum[j](1/2 * s[j]^2) + 1/2 * sum[k](y[k]^2)`"),
    ("-s[j]^2", "write `-sum[j](s[j]^2)`"),
    ("exp(s[j])", "write `sum[j](exp(s[j]))`"),
    ("y[0] - s[j]*b[j] + 3", "write `y[0] - sum[j](s[j]*b[j]) + 3`"),
    ("s[0] * sum[i](W[i,j] * x[i])", "write `s[0] * sum[i,j](W[i,j] * x[i])`"),
    ("sum[j](b[j] * s[m])", "write `j` for `m` or `sum[j,m](b[j] * s[m])`"),
    ("y[0] * sum[j](s[m])", "write `j` for `m` or `y[0] * sum[j,m](s[m])`"),
    ("s[j] + y[k]", "write `sum[j](s[j]) + sum[k](y[k])`"),
]


@pytest.mark.parametrize(("right", "help"), UNBOUND)
def test_a_free_index_is_summed_around_its_own_term(right: str, help: str) -> None:
    used = "\nenergy other = sum[m,k](b[m] * s[m] + y[k])"
    assert answer(f"energy e = {right}{used}") == [("E0303", help)]


def test_the_recommended_sum_of_one_term_leaves_the_others_as_they_are() -> None:
    """By value: the repaired energy is the sum of its terms, each counted once."""
    ((_, help),) = answer("energy e = 1/2 * s[j]^2 + 3 * sum[k](y[k]^2)")
    assert help is not None
    net = network("dim J = 3, K = 2\nstate s[J], y[K]\nenergy e = " + help.split("`")[1])
    values = inputs(net, seed=1)
    expected = 0.5 * (values["s"] ** 2).sum(1) + 3 * (values["y"] ** 2).sum(1)
    np.testing.assert_allclose(value(net, net.terms["e"].node, values), expected, rtol=1e-12)


STATEMENTS = [
    ("energy e = W.T[j,i]", "E0127", "a transpose is another order of the indices: `W[i,j]`"),
    ("energy e = W'[j,i]", "E0127", "write the indices in the other order: `W[i,j]`"),
    ("metric accuracy = accuracy(y, label)", "E0205", "write `correct[k](y[k], label)`"),
    ("energy e = s[0] * np.pi", "E0127", "write `pi`"),
    ("energy e = sum[j](s_j)", "E0201", "indices are in square brackets: `s[j]`"),
    ("energy e = sum[j](s(j))", "E0205", "indices are in square brackets: `s[j]`"),
    ("energy e = s[0] * (2)(3)", "E0103", "write `*` between the factors"),
    ("start W[i,j] = 0", "E0435", "a param starts where it is declared: `param W[I, J] = 0`"),
    ("energy e = exp(1000) * s[0]^2", "E0704", None),
    (
        "energy e = s[0] * (1 < 2)",
        "E0401",
        "write `where(1 < 2, 1, 0)` for a number, or a guard, `[... | 1 < 2]`, to leave terms out",
    ),
    ("energy e = s[0] * (s[0] > 0)", "E0401", "write `where(s[0] > 0, 1, 0)` for a number"),
    ("energy e = s' * W * s", "E0127", "write each element with its indices: `sum[j](W[i,j] * s[j])`"),
    ("param V[J] ~ N(0, 1)", "E0421", "write `normal(std)`"),
    ("const c = 1 / np.pi", "E0602", "write `pi`"),
    ("energy e = s[q-1] * s[q]", "E0303", "write `sum[q](s[q-1] * s[q])`"),
    ("energy e = sum[k](y[k] * where(k == labell, 1, 0))", "E0201", "did you mean `label`?"),
    ("param V[J] = glorot", "E0424", "write `V ~ glorot`"),
    ("param V[J] ~ gaussian(0.1)", "E0421", "write `normal(std)`"),
    ("param V[J] ~ xavier", "E0421", "write `glorot`"),
    ("param V[J] ~ normal(0, 1)", "E0422", "`normal(std)` has mean 0"),
    ("state z[J] in R", "E0425", "leave `in` out: a state is real"),
    ("state z[eta]", "E0210", "a size is declared with `dim`: `dim N = 64`"),
    ("clamp q[B]", "E0210", "if B counts the samples of a batch, leave it out: a spec describes one sample"),
    ("energy e = y[-1]", "E0308", "the last position is `K - 1`"),
    ("energy e = sum[j | s[j] > 0](s[j])", "E0404", "select by it: `sum[k](where(s[j] > 0, ..., 0))`"),
]


@pytest.mark.parametrize(("statement", "code", "help"), STATEMENTS)
def test_an_idiom_in_a_statement(statement: str, code: str, help: str | None) -> None:
    assert (code, help) in answer(statement)
