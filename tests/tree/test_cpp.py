"""The tree as C++: brackets by its own precedence, statements with braces."""

from __future__ import annotations

import pytest

from energyc.code.tree import cpp
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.code.tree.expressions import Name, Number, call

x, y, z = Name("x"), Name("y"), Name("z")


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (e.Binary("*", e.Binary("+", x, y), z), "(x + y) * z"),
        (e.Binary("or", e.Binary("and", x, e.Comparison("<", y, z)), e.Unary("not", x)), "(x && y < z) || !x"),
        (e.Unary("-", Number(-2.0)), "-(-2.0)"),
        (e.Conditional(e.Comparison("==", x, Number(0)), y, e.Conditional(x, y, z)), "x == 0 ? y : x ? y : z"),
        (e.Binary("+", e.Conditional(x, y, z), Number(1)), "(x ? y : z) + 1"),
        (call("T", e.Constant(True)), "T(true)"),
        (e.Unary("*", e.Cast("const T*", Name("given")[Number(0)])), "*(const T*)given[0]"),
        (e.Call(Name("std::min"), (x, y)), "std::min(x, y)"),
        (e.Template("of::exp({u})", (("u", e.Binary("+", x, y)),)), "of::exp(x + y)"),
        (e.Template("T(0.5) * {u}", (("u", e.Binary("+", x, y)),), "product"), "T(0.5) * (x + y)"),
    ],
)
def test_expressions(tree: e.Expr, text: str):
    assert cpp.expression(tree) == text


def test_what_cpp_has_not_is_refused():
    with pytest.raises(TypeError, match="operator @"):
        cpp.expression(e.Binary("@", x, y))
    with pytest.raises(TypeError, match="keywords"):
        cpp.expression(call("f", key=x))


def test_statements():
    body = (
        s.Declare("const Int", "sizes", e.SetOf((Number(2), Number(3))), Number(2)),
        s.Loop("Int", "k", Number(0), Name("n"), (s.Augment("+", x[Name("k")], y),)),
        s.Do(e.Call(Name("share"), (Name("n"), s.Lambda((s.Parameter("k", Name("Int")),), (s.Do(call("f", x)),))))),
    )
    step = s.Function("step", (s.Parameter("n", Name("Int")),), body, doc=("One step.",), after="const")
    made = s.Class("Free", (s.Declare("T*", "memory"), s.Blank(), step), before=(Name("template <class T>"),))
    assert cpp.lines([made]) == [
        "template <class T>",
        "struct Free {",
        "    T* memory;",
        "",
        "    // One step.",
        "    void step(Int n) const {",
        "        const Int sizes[2] = {2, 3};",
        "        for (Int k = 0; k < n; ++k) x[k] += y;",
        "        share(n, [=](Int k) {",
        "            f(x);",
        "        });",
        "    }",
        "};",
    ]


def test_nothing_ends_a_comment():
    assert cpp.lines([s.Comment("a \\\n b ??/ c")]) == ["// a b / c"]
