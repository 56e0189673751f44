"""The sets of params in PyTorch: starts on them, and the methods that lead params and gradients back to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from energyc.code.module.context import Context
from energyc.code.module.runtime import runtime
from energyc.code.tree.expressions import Attribute, Comparison, Expr, Name, Number, String, call, integers
from energyc.code.tree.quotation import quote_body
from energyc.code.tree.statements import Assign, Body, Do, Function, If
from energyc.language.network import Param, Structure

#: What each set does to a param, and what it leaves of a gradient; ``unit`` reads no rows.
_NEAREST: Mapping[str, str] = {
    "symmetric": "symmetric",
    "zero_diagonal": "zero_diagonal",
    "orthogonal": "orthogonal",
    "sphere": "unit",
    "norm": "norm_at_most",
}
#: The part of a gradient along each set; inside of a ball of matrices it is the whole gradient.
_ALONG: Mapping[str, str] = {"orthogonal": "along_orthogonal", "sphere": "along_sphere"}
_WHOLE = ("norm",)


def on_sets(value: Expr, param: Param, *, drawn: bool) -> Expr:
    """A starting value on the sets of its param; what is ``drawn`` symmetric keeps the variance of its law."""
    for part in param.structure:
        nearest = "mirrored" if part.kind == "symmetric" and drawn else _NEAREST[part.kind]
        value = call(runtime(nearest), value, *_axes(part))
    return value


def param_sets(context: Context) -> Body:
    """``project_params`` of a network that has params with structure; ``project_gradients`` where one changes them."""
    structured = {name: param for name, param in context.network.params.items() if param.structure}
    if not structured:
        return ()
    params, gradients = quote_body(_METHODS)
    assert isinstance(params, Function) and isinstance(gradients, Function)
    put_back = [_put_back(_attribute(context, name), param) for name, param in structured.items()]
    along = [
        _along(name, _attribute(context, name), param)
        for name, param in structured.items()
        if any(part.kind not in _WHOLE for part in param.structure)
    ]
    first, last = gradients.body
    methods = (replace(params, body=(*put_back, *params.body)),)
    return (*methods, replace(gradients, body=(first, *along, last))) if along else methods


_METHODS = '''
@torch.no_grad()
def project_params(self) -> None:
    """Put params back on their sets."""
    super().project_params()

@torch.no_grad()
def project_gradients(self, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parts of gradients along the sets of their params."""
    along = dict(gradients)
    return along
'''


def _attribute(context: Context, name: str) -> Expr:
    return Attribute(Name("self"), context.params[name])


def _put_back(attribute: Expr, param: Param) -> Do:
    return Do(attribute.method("copy_", on_sets(attribute, param, drawn=False)))


def _along(name: str, attribute: Expr, param: Param) -> If:
    """The part of a gradient along each set of its param, if there is one."""
    place = Name("along")[String(name)]
    body = []
    for part in (part for part in param.structure if part.kind not in _WHOLE):
        at = (attribute,) if part.kind in _ALONG else ()
        body.append(Assign(place, call(runtime(_ALONG.get(part.kind, part.kind)), place, *at, *_axes(part))))
    return If(Comparison("in", String(name), Name("along")), tuple(body))


def _axes(part: Structure) -> tuple[Expr, ...]:
    groups = (part.columns,) if part.kind == "sphere" else (part.rows, part.columns)
    bound = (Number(part.bound),) if part.kind == "norm" else ()
    return *(integers(*axes) for axes in groups), *bound
