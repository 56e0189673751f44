"""Params: their starting values, each drawn by a key of its own, and the sets that lead them and gradients back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.arrays.sets import along_sets, bends_gradients, on_sets
from energyc.code.targets.jax.sets import exported
from energyc.code.tree.expressions import (
    Attribute,
    Binary,
    Call,
    Constant,
    Dict,
    Expr,
    Name,
    Number,
    String,
    Tuple,
    call,
    integers,
    literal,
    number,
)
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Body
from energyc.language.network import Network, Param, StartLaw

_INIT = '''
def init(key: Array, dtype: ej.DTypeLike = float) -> Params:
    """Draw params by the initializers of the spec."""
    keys = jax.random.split(key, {count})
    return {params}
'''
_INIT_PLAIN = '''
def init(key: Array, dtype: ej.DTypeLike = float) -> Params:
    """The first params; none is drawn."""
    return {params}
'''
_NOISE = '''
def noise(key: Array, count: int, dtype: ej.DTypeLike = float) -> dict[str, Array]:
    """Noise for ``count`` samples, by the fields of ``Clamps``; where none is given it is zero."""
    keys = jax.random.split(key, {number})
    return {draws}
'''
_PROJECT_PARAMS = '''
def project_params(params: Params) -> Params:
    """Each param put back on its set, as after an update."""
    return {params}
'''
_PROJECT_GRADIENTS = '''
def project_gradients(params: Params, gradients: Params) -> Params:
    """The parts of gradients along the sets of their params."""
    return {gradients}
'''

# ---------------------------------------------------------------------- starting values


def init(network: Network, writer: ArrayWriter, fields: Mapping[str, str]) -> Body:
    """The function that makes the first params."""
    numbers, values = itertools.count(), dict[str, Expr]()
    for name, param in network.params.items():
        value = _value(param, writer, numbers)
        values[fields[name]] = _on_sets(value, param, drawn=param.law is not None)
    drawn, params = next(numbers), call("Params", **values)
    if not drawn:
        return quote_body(_INIT_PLAIN, params=params)
    return quote_body(_INIT, count=Number(drawn), params=params)


def noise(noises: Mapping[str, tuple[StartLaw, Sequence[int]]]) -> Body:
    """The function that draws noises, by the fields of these: a law, and the sizes behind the samples."""
    numbers, count = itertools.count(), Name("count")
    draws = {
        field: _drawn(law, Tuple((count, *map(literal, sizes))), sizes, 1, numbers)
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
        return _drawn(param.law, shape, sizes[copies:], copies, numbers)
    assert param.start is not None
    known = writer.constant_value(param.start)
    if known is not None:
        return quote("jnp.full({shape}, {value}, dtype)", shape=shape, value=number(known))
    start = writer.code(param.start).expr
    return quote("jnp.broadcast_to({start}, {shape}).astype(dtype)", start=start, shape=shape)


def _drawn(law: StartLaw, shape: Expr, one: Sequence[int], copies: int, numbers: itertools.count[int]) -> Expr:
    """Draws by a law; the first axes count copies of ``one``."""
    size, dtype = max(math.prod(one), 1), Name("dtype")
    match law.name, law.arguments:
        case ("zeros" | "ones") as name, _:
            return call(f"jnp.{name}", shape, dtype)
        case "normal", (deviation,):
            return _normal(deviation, shape, numbers)
        case "uniform", bounds:
            return _uniform((-bounds[0], *bounds)[-2:], shape, numbers)
        case "glorot", _ if len(one) < 2:
            return _uniform((-math.sqrt(3 / size), math.sqrt(3 / size)), shape, numbers)
        case "kaiming", _ if len(one) < 2:
            return _normal(math.sqrt(2 / size), shape, numbers)
        case ("glorot" | "kaiming") as name, _:
            return Call(_initializer(name, copies), (_key(numbers), shape, dtype))
    raise TypeError(f"no form of the law {law!r}")


def _normal(deviation: float, shape: Expr, numbers: itertools.count[int]) -> Expr:
    drawn = call("jax.random.normal", _key(numbers), shape, Name("dtype"))
    return drawn if deviation == 1 else Binary("*", number(deviation), drawn)


def _uniform(bounds: Sequence[float], shape: Expr, numbers: itertools.count[int]) -> Expr:
    return call("jax.random.uniform", _key(numbers), shape, Name("dtype"), *map(number, bounds))


def _initializer(name: str, copies: int) -> Expr:
    """The initializer of a weight ``W[out, in, ...]`` behind so many axes of copies."""
    axes: dict[str, Expr] = {"in_axis": Number(copies + 1), "out_axis": Number(copies)}
    axes |= {"batch_axis": integers(*range(copies))} if copies else {}
    if name == "glorot":
        return call("jax.nn.initializers.glorot_uniform", **axes)
    return call("jax.nn.initializers.variance_scaling", Number(2), String("fan_in"), String("normal"), **axes)


def _key(numbers: itertools.count[int]) -> Expr:
    return Name("keys")[Number(next(numbers))]


# ---------------------------------------------------------------------- sets


def _on_sets(value: Expr, param: Param, *, drawn: bool) -> Expr:
    """A value on the sets of its param; what is ``drawn`` symmetric keeps the variance of its law."""
    value = on_sets(value, param, exported, drawn=drawn)
    if param.low is not None or param.high is not None:
        low, high = (Constant(None) if end is None else number(end) for end in (param.low, param.high))
        value = call("jnp.clip", value, low, high)
    return value


def param_sets(network: Network, fields: Mapping[str, str]) -> Body:
    """``project_params``, and ``project_gradients`` where a set changes gradients; nothing where no param is in one."""
    params = {name: Attribute(Name("params"), fields[name]) for name in network.params}
    back = {name: _on_sets(params[name], param, drawn=False) for name, param in network.params.items()}
    along = {
        name: along_sets(Attribute(Name("gradients"), fields[name]), param, params[name], exported)
        for name, param in network.params.items()
    }
    made: Body = ()
    if any(back[name] is not params[name] for name in params):
        made += quote_body(_PROJECT_PARAMS, params=call("Params", *back.values()))
    if any(map(bends_gradients, network.params.values())):
        made += quote_body(_PROJECT_GRADIENTS, gradients=call("Params", *along.values()))
    return made
