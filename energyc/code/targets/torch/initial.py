"""Starting values of params in PyTorch: drawn in float64 on the CPU, so that neither dtype nor device changes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from operator import add, mul, sub, truediv
from types import MappingProxyType

from energyc.code.module.runtime import runtime
from energyc.code.module.symbols import Symbols
from energyc.code.targets.arrays.sets import on_sets
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.tree.expressions import Attribute, Binary, Expr, Name, Number, Tuple, Unary, call, literal, number
from energyc.code.tree.expressions import name as dotted
from energyc.code.tree.quotation import quote
from energyc.code.tree.statements import Assign
from energyc.language.network import Network, Param, StartLaw
from energyc.language.syntax import ast

#: The operators that are written as they are, and what they compute.
_OPERATORS = {"+": add, "-": sub, "*": mul, "/": truediv}
#: A value, and how it is written; a fraction is written when something else reads it.
Written = tuple[Fraction | float, Expr | None]
#: Values that every dtype holds exactly, and how torch makes them.
EXACT = MappingProxyType({0.0: "torch.zeros", 1.0: "torch.ones"})


def initial_values(network: Network, writer: TorchWriter, attributes: Mapping[str, str]) -> list[Assign]:
    """An assignment for each param; copies of one are drawn by the law of a single one."""
    sizes = writer.sizes
    made = []
    for name, param in network.params.items():
        shape = tuple(sizes[dim] for dim in param.node.dims)
        copies = 0 if param.each is None else len(shape) - len(param.each.dims)
        value = on_sets(_value(param, shape, shape[copies:], writer), param, runtime, drawn=param.law is not None)
        if param.low is not None or param.high is not None:
            ends = {"min": param.low, "max": param.high}
            value = value.method("clamp", **{key: number(end) for key, end in ends.items() if end is not None})
        made.append(Assign(Attribute(Name("self"), attributes[name]), Name("self").method("_param", value)))
    return made


def _value(param: Param, shape: tuple[int, ...], single: tuple[int, ...], writer: TorchWriter) -> Expr:
    if param.law is not None:
        return drawn(param.law, tuple(map(literal, shape)), writer.symbols, len(shape) - len(single))
    assert param.start is not None
    if (known := writer.constant_value(param.start)) is not None:
        if float(known) in EXACT:
            return call(EXACT[float(known)], literal(shape))
        value = Number(float(known))
        return quote("torch.full({shape}, {value}, dtype=torch.float64)", shape=literal(shape), value=value)
    start = writer.code(param.start).expr
    return quote("{start}.double().expand({shape}).clone()", start=start, shape=literal(shape))


def drawn(law: StartLaw, shape: tuple[Expr, ...], symbols: Symbols, copies: int = 0) -> Expr:
    """Draws by a law; so many first axes number copies."""
    formulas = law.formulas if len(law.formulas) == len(law.arguments) else (None,) * len(law.arguments)
    numbers = [scalar(value, formula, symbols) for value, formula in zip(law.arguments, formulas, strict=True)]
    match law.name, numbers:
        case "normal", (deviation,):
            return call(runtime("normal"), Name("random"), Tuple(shape), deviation)
        case "uniform", (bound,):
            return call(runtime("uniform"), Name("random"), Tuple(shape), Unary("-", bound), bound)
        case "uniform", (low, high):
            return call(runtime("uniform"), Name("random"), Tuple(shape), low, high)
        case ("glorot" | "kaiming") as name, _:
            of_copies = (Number(copies),) if copies else ()
            return call(runtime(name), Name("random"), Tuple(shape), *of_copies)
        case ("zeros" | "ones") as name, _:
            return call(f"torch.{name}", Tuple(shape), dtype=dotted("torch.float64"))
    raise TypeError(f"no torch form of the law {law!r}")


def scalar(value: float, formula: ast.Expr | None, symbols: Symbols) -> Expr:
    """Return a number by its formula, where that gives the very same number; else the number."""
    found = None if formula is None else _written(formula, symbols)
    return number(value) if found is None or found[1] is None or found[0] != value else found[1]


def _written(formula: ast.Expr, symbols: Symbols) -> Written | None:
    match formula:
        case ast.Number(value=value):
            return value, None
        case ast.Binary(op=op, left=left, right=right) if op in _OPERATORS:
            return _operation(op, _written(left, symbols), _written(right, symbols))
        case ast.Apply(slots=None, arguments=None, prime=False, name=ast.Name(text=name)) if name in symbols.sizes:
            return float(symbols.sizes[name]), Name(symbols.name(name))
        case ast.Apply(slots=None, arguments=(argument,), prime=False, name=ast.Name(text="sqrt")):
            inner = _written(argument.value, symbols)
            return None if inner is None or inner[0] < 0 else (math.sqrt(inner[0]), call("math.sqrt", _text(inner)))
    return None


def _operation(op: str, left: Written | None, right: Written | None) -> Written | None:
    if left is None or right is None or (op == "/" and right[0] == 0):
        return None
    value = _OPERATORS[op](left[0], right[0])
    return value, None if isinstance(value, Fraction) else Binary(op, _text(left), _text(right))


def _text(written: Written) -> Expr:
    value, expr = written
    return number(float(value)) if expr is None else expr
