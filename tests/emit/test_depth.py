"""How deep a spec nests is not how deep the compiler recurses."""

from __future__ import annotations

import pytest

from benchmarks.terms import spec
from energyc import pipeline
from energyc.code.tree import cpp, facts, python
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.language.diagnostics import Source, SpecError
from tests.quick import few

#: As many lets, each of which reads the one before, as once ended in a RecursionError: there were more than a hundred.
LETS = 200
#: More terms than Python recurses to.
TERMS = 3000


@pytest.mark.slow
@pytest.mark.parametrize("target", few(["torch", "cpp", "triton"], ["torch"]))
def test_lets_may_chain(target: str) -> None:
    compiled = pipeline.emit(pipeline.resolve(Source("deep.energy", spec("lets", LETS))), target=target)
    assert compiled.fallback is None


def test_sums_may_be_long() -> None:
    total: e.Expr = e.Name("x0")
    for k in range(1, TERMS):
        total = e.Binary("-" if k % 2 else "+", total, e.Binary("*", e.Number(k), e.Name(f"x{k}")))
    written = " ".join(["x0", *(f"{'-' if k % 2 else '+'} {k} * x{k}" for k in range(1, TERMS))])
    assert python.expression(total) == cpp.expression(total) == written
    assert facts.reads(total) == {f"x{k}" for k in range(TERMS)}
    assert facts.free_names(s.Assign(e.Name("y"), total)) == facts.reads(total)
    assert sum(1 for _ in total.walk()) == 4 * TERMS - 3


@pytest.mark.parametrize("printer", [python, cpp])
def test_brackets_on_the_left_stay(printer: object) -> None:
    product = e.Binary("*", e.Binary("-", e.Name("a"), e.Name("b")), e.Name("c"))
    right = e.Binary("-", product, e.Binary("+", e.Name("d"), e.Name("e")))
    assert printer.expression(right) == "(a - b) * c - (d + e)"  # type: ignore[attr-defined]


def test_functions_nest_to_a_limit_that_has_a_place() -> None:
    functions = "\n".join(["fn f0(u) = tanh(u)", *(f"fn f{k}(u) = tanh(f{k - 1}(u))" for k in range(1, 500))])
    text = f"network deep\nstate z\n{functions}\nenergy e = f499(z)\n"
    with pytest.raises(SpecError) as caught:
        pipeline.resolve(Source("deep.energy", text))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E0802" and diagnostic.span is not None and diagnostic.help is not None
