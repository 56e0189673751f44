"""``init``: starting values of params, each drawn by a key of its own."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import sqrt

from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.jax.param_sets import on_sets
from energyc.code.targets.torch.initial import fans
from energyc.code.tree.expressions import Dict, Expr, Name, Number, String, Tuple, call, literal, number
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Body
from energyc.language.network import Network, Param, StartLaw

_INIT = '''
def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params, by the laws of the spec."""
    keys = jax.random.split(key, {count})
    return {params}
'''
_INIT_PLAIN = '''
def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params; none is drawn."""
    return {params}
'''


def init(network: Network, writer: ArrayWriter, fields: Mapping[str, str]) -> Body:
    """The function that makes the first params."""
    numbers, values = itertools.count(), dict[str, Expr]()
    for name, param in network.params.items():
        value = _value(param, writer, numbers)
        values[fields[name]] = on_sets(value, param, drawn=param.law is not None)
    drawn, params = next(numbers), call("Params", **values)
    if not drawn:
        return quote_body(_INIT_PLAIN, params=params)
    return quote_body(_INIT, count=Number(drawn), params=params)


_NOISE = '''
def noise(key: Array, count: int, dtype: DTypeLike = float) -> dict[str, Array]:
    """Noise for ``count`` samples, by the fields of ``Clamps``; where none is given it is zero."""
    keys = jax.random.split(key, {number})
    return {draws}
'''


def noise(noises: Mapping[str, tuple[StartLaw, Sequence[int]]]) -> Body:
    """The function that draws noises, by the fields of these: a law, and the sizes behind the samples."""
    numbers, count = itertools.count(), Name("count")
    draws = {
        field: _drawn(law, Tuple((count, *map(literal, sizes))), fans(tuple(sizes)), numbers)
        for field, (law, sizes) in noises.items()
    }
    made = Dict(tuple((String(field), code) for field, code in draws.items()))
    return quote_body(_NOISE, number=Number(len(noises)), draws=made) if noises else ()


def _value(param: Param, writer: ArrayWriter, numbers: itertools.count[int]) -> Expr:
    """Copies of one param are drawn by the law of a single one."""
    sizes = tuple(writer.sizes[dim] for dim in param.node.dims)
    copies = 0 if param.each is None else len(sizes) - len(param.each.dims)
    shape = literal(sizes)
    if param.law is not None:
        return _drawn(param.law, shape, fans(sizes[copies:]), numbers)
    assert param.start is not None
    known = writer.constant_value(param.start)
    if known is not None:
        return quote("jnp.full({shape}, {value}, dtype)", shape=shape, value=number(known))
    start = writer.code(param.start).expr
    return quote("jnp.broadcast_to({start}, {shape}).astype(dtype)", start=start, shape=shape)


def _drawn(law: StartLaw, shape: Expr, fan: tuple[int, int], numbers: itertools.count[int]) -> Expr:
    """Draws by a law."""
    fan_in, fan_out = fan
    match law.name, law.arguments:
        case "normal", (deviation,):
            return _normal(shape, deviation, numbers)
        case "uniform", (bound,):
            return _uniform(shape, -bound, bound, numbers)
        case "uniform", (low, high):
            return _uniform(shape, low, high, numbers)
        case "glorot", _:
            bound = sqrt(6 / (fan_in + fan_out))
            return _uniform(shape, -bound, bound, numbers)
        case "kaiming", _:
            return _normal(shape, sqrt(2 / fan_in), numbers)
        case ("zeros" | "ones") as name, _:
            return call(f"jnp.{name}", shape, Name("dtype"))
    raise TypeError(f"no form of the law {law!r}")


def _key(numbers: itertools.count[int]) -> Expr:
    return Name("keys")[Number(next(numbers))]


def _normal(shape: Expr, deviation: float, numbers: itertools.count[int]) -> Expr:
    drawn = quote("jax.random.normal({key}, {shape}, dtype)", key=_key(numbers), shape=shape)
    return drawn if deviation == 1 else quote("{deviation} * {drawn}", deviation=number(deviation), drawn=drawn)


def _uniform(shape: Expr, low: float, high: float, numbers: itertools.count[int]) -> Expr:
    form = "jax.random.uniform({key}, {shape}, dtype, {low}, {high})"
    return quote(form, key=_key(numbers), shape=shape, low=number(low), high=number(high))
