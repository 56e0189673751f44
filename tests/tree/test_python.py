"""The printed tree means what the tree means: Python's own parser is the judge."""

from __future__ import annotations

import ast
import os
import random

import pytest

from energyc.code.tree import expressions as e
from energyc.code.tree import python
from energyc.code.tree import statements as s
from energyc.code.tree.expressions import Name, Number, call, literal
from energyc.code.tree.quotation import quote, quote_body
from tests.tree.random_trees import pair

SEED = int(os.environ.get("ENERGYC_SEED", random.SystemRandom().randrange(10**6)))
x, y, z = Name("x"), Name("y"), Name("z")


def shown(node: ast.expr) -> str:
    """Python's tree without what tells reading from writing."""
    return ast.dump(node).replace(", ctx=Load()", "").replace("ctx=Load()", "")


@pytest.mark.slow
def test_brackets_are_those_that_python_needs():
    for k in range(3000):
        draw = random.Random(f"{SEED}/{k}")
        ours, theirs = pair(draw, draw.randrange(5))
        text = python.expression(ours)
        read = ast.parse(text, mode="eval").body
        assert shown(read) == shown(theirs), f"seed {SEED}, tree {k}: {text}"


@pytest.mark.slow
def test_lines_that_are_broken_mean_the_same():
    for k in range(1000):
        draw = random.Random(f"{SEED}/{k}/lines")
        ours, theirs = pair(draw, draw.randrange(3, 7))
        made = s.Assign(x, ours)
        read = ast.parse("\n".join(python.lines([made], width=draw.randrange(20, 112)))).body[0]
        assert isinstance(read, ast.Assign), f"seed {SEED}, tree {k}"
        assert shown(read.value) == shown(theirs), f"seed {SEED}, tree {k}"


def test_quotation_is_the_inverse_of_printing():
    for k in range(1000):
        draw = random.Random(f"{SEED}/{k}/quote")
        ours, _ = pair(draw, draw.randrange(5))
        text = python.expression(ours)
        assert quote(text.replace("{", "{{").replace("}", "}}")) == ours, f"seed {SEED}, tree {k}: {text}"


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (e.Binary("*", e.Binary("+", x, y), z), "(x + y) * z"),
        (e.Binary("-", x, e.Binary("-", y, z)), "x - (y - z)"),
        (e.Binary("**", e.Unary("-", x), Number(-1.5)), "(-x) ** -1.5"),
        (e.Binary("@", x, e.Binary("@", y, z)), "x @ (y @ z)"),
        (e.Binary("&", e.Comparison("<=", x, y), e.Unary("~", z)), "(x <= y) & ~z"),
        (e.Unary("-", x).attribute("T"), "(-x).T"),
        (Number(2).attribute("real"), "(2).real"),
        (e.Tuple((x,)), "(x,)"),
        (x[e.Slice(), Number(0)], "x[:, 0]"),
        (
            call("torch.full", literal((2, 3)), Number(1.0), dtype=e.name("torch.bool")),
            "torch.full((2, 3), 1.0, dtype=torch.bool)",
        ),
        (e.number(2.0), "2"),
        (e.number(float("-inf")), 'float("-inf")'),
    ],
)
def test_expressions(tree: e.Expr, text: str):
    assert python.expression(tree) == text


def test_a_sum_is_broken_at_its_terms():
    terms = e.Binary("-", e.Binary("+", call("first", x), call("second", y)), call("third", z))
    assert python.lines([s.Assign(x, terms)], width=24) == [
        "x = (",
        "    first(x)",
        "    + second(y)",
        "    - third(z)",
        ")",
    ]


def test_the_longest_bracket_is_broken():
    made = s.Do(e.Binary("*", call("short", x), call("longer", y, z, alpha=Number(2))))
    assert python.lines([made], width=30) == ["short(x) * longer(", "    y,", "    z,", "    alpha=2,", ")"]


def test_classes_and_functions_stand_apart():
    method = s.Function("f", (s.Parameter("self"),), (s.Return(x),), e.name("Tensor"), ("It gives.",))
    made = s.Class("C", (s.Assign(Name("a"), Number(1)), method, method), (Name("B"),), ("A class.",))
    text = "\n".join(python.lines([s.Import("torch"), made]))
    assert text == (
        'import torch\n\n\nclass C(B):\n    """A class."""\n\n    a = 1\n\n'
        '    def f(self) -> Tensor:\n        """It gives."""\n        return x\n\n'
        '    def f(self) -> Tensor:\n        """It gives."""\n        return x'
    )


def test_nothing_ends_a_docstring():
    made = s.Function("f", (), (), doc=('ends """ here \\', "\x07"))
    assert ast.get_docstring(ast.parse("\n".join(python.lines([made]))).body[0]) == "ends ''' here \\\n\\x07"


def test_quoted_statements():
    body = quote_body("for k in range({n}):\n    if not k:\n        x.add_(k)\n    else:\n        x += 1", n=Number(3))
    assert python.lines(body) == [
        "for k in range(3):",
        "    if not k:",
        "        x.add_(k)",
        "    else:",
        "        x += 1",
    ]


def test_what_generated_code_does_not_use_is_refused():
    with pytest.raises(TypeError, match="no Lambda"):
        quote("lambda: 0")
    with pytest.raises(KeyError):
        quote("f({x})")
