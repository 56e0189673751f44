"""The methods that lead params and gradients back to the sets of params in PyTorch."""

from __future__ import annotations

from dataclasses import replace

from energyc.code.module.context import Context
from energyc.code.module.runtime import runtime
from energyc.code.targets.arrays.sets import along_sets, bends_gradients, on_sets
from energyc.code.tree.expressions import Attribute, Comparison, Expr, Name, String
from energyc.code.tree.quotation import quote_body
from energyc.code.tree.statements import Assign, Body, Do, Function, If
from energyc.language.network import Param


def param_sets(context: Context) -> Body:
    """``project_params`` of a network that has params with structure; ``project_gradients`` where one changes them."""
    structured = {name: param for name, param in context.network.params.items() if param.structure}
    if not structured:
        return ()
    params, gradients = quote_body(_METHODS)
    assert isinstance(params, Function) and isinstance(gradients, Function)
    own = {name: Attribute(Name("self"), context.params[name]) for name in structured}
    put_back = [
        Do(own[name].method("copy_", on_sets(own[name], param, runtime, drawn=False)))
        for name, param in structured.items()
    ]
    along = [_along(name, own[name], param) for name, param in structured.items() if bends_gradients(param)]
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


def _along(name: str, attribute: Expr, param: Param) -> If:
    """The part of a gradient along the sets of its param, if there is one."""
    place = Name("along")[String(name)]
    moved = Assign(place, along_sets(place, param, attribute, runtime))
    return If(Comparison("in", String(name), Name("along")), (moved,))
