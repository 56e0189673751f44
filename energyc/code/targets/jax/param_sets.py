"""The sets of params: starts on them, and the functions that lead params and gradients back to them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from energyc.code.tree.expressions import Attribute, Constant, Expr, Name, call, integers, number
from energyc.code.tree.quotation import quote_body
from energyc.code.tree.statements import Body
from energyc.language.network import Network, Param, Structure

#: The function of the nearest point of each set; ``unit`` reads no rows.
_NEAREST: Mapping[str, str] = MappingProxyType(
    {
        "symmetric": "symmetric",
        "zero_diagonal": "zero_diagonal",
        "orthogonal": "orthogonal",
        "sphere": "unit",
        "norm": "norm_at_most",
    }
)
#: The part of a gradient along each set, at a param where that matters; inside of a ball it is the whole gradient.
_ALONG: Mapping[str, str] = MappingProxyType({"orthogonal": "along_orthogonal", "sphere": "along_sphere"})

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


def on_sets(value: Expr, param: Param, *, drawn: bool) -> Expr:
    """A value on the sets of its param; what is ``drawn`` symmetric keeps the variance of its law."""
    for part in param.structure:
        nearest = "mirrored" if part.kind == "symmetric" and drawn else _NEAREST[part.kind]
        value = call(nearest, value, *_axes(part), *((number(part.bound),) if part.kind == "norm" else ()))
    if param.low is not None or param.high is not None:
        low, high = (Constant(None) if end is None else number(end) for end in (param.low, param.high))
        value = call("jnp.clip", value, low, high)
    return value


def param_sets(network: Network, fields: Mapping[str, str]) -> Body:
    """``project_params``, and ``project_gradients`` where a set changes gradients; nothing where no param is in one."""
    params = {name: Attribute(Name("params"), fields[name]) for name in network.params}
    back = {name: on_sets(params[name], param, drawn=False) for name, param in network.params.items()}
    along = {name: _along(name, param, params[name], fields) for name, param in network.params.items()}
    made: Body = ()
    if any(back[name] is not params[name] for name in params):
        made += quote_body(_PROJECT_PARAMS, params=call("Params", *back.values()))
    if any(part.kind != "norm" for param in network.params.values() for part in param.structure):
        made += quote_body(_PROJECT_GRADIENTS, gradients=call("Params", *along.values()))
    return made


def _along(name: str, param: Param, value: Expr, fields: Mapping[str, str]) -> Expr:
    gradient: Expr = Attribute(Name("gradients"), fields[name])
    for part in (part for part in param.structure if part.kind != "norm"):
        at = (value,) if part.kind in _ALONG else ()
        gradient = call(_ALONG.get(part.kind, _NEAREST[part.kind]), gradient, *at, *_axes(part))
    return gradient


def _axes(part: Structure) -> tuple[Expr, ...]:
    groups = (part.columns,) if part.kind == "sphere" else (part.rows, part.columns)
    return tuple(integers(*axes) for axes in groups)
