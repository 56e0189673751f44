"""The holomorphic extension of a network: the same equations, written for complex tensors.

Torch's softmax, softplus, silu, gelu and its like take no complex input, so each has an explicit form; a variance is
never conjugated. What has no extension (relu, abs, max) does not get here: the verdict on the rule refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from energyc.code.module.context import Context
from energyc.code.module.symbols import Symbols
from energyc.code.plan.statics import MOVING_KINDS, Statics
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.torch.methods import MethodWriter
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Constant, Name, Number, call, integers
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Assign, Body, Class, Do, Function, Parameter, Statement
from energyc.mathematics.ir import ArgMax, Indicator, LogSumExp, Map, Max, Softmax
from energyc.mathematics.ir.nodes import Reduction
from energyc.mathematics.sparse import Segment

_DTYPE = quote("self.dtype")
#: Routines of the extension; those of a network that descends its energies in a metric are more.
ROUTINES, IN_A_METRIC = ("_force", "_cost_force", "_energy_gradient"), ("_nudge", "_descent_gradient")

NO_ENERGY = '''def _energy_gradient(self, states: rt.Tensors, fixed: Fixed) -> dict[str, Tensor]:
    """dE/dtheta: no param is in an energy."""
    return {{}}'''

#: What is real though it may change from step to step, or from sample to sample.
REAL_KINDS = frozenset({"step", "target"})


class ComplexWriter(TorchWriter):
    """Writes nodes for complex tensors; what depends on no state is real, and of that anything can be taken."""

    def __init__(self, symbols: Symbols, letters: Mapping[str, str]) -> None:
        super().__init__(symbols, letters)
        self._statics = Statics(MOVING_KINDS - REAL_KINDS)

    def _max(self, node: Max) -> Code:
        return super()._max(node).method("to", _DTYPE)

    def _argmax(self, node: ArgMax) -> Code:
        return super()._argmax(node).method("to", _DTYPE)

    def _masked(self, node: Reduction) -> Code:
        if self._statics.moving(node):
            raise NotImplementedError("max has no holomorphic extension")
        return super()._masked(node)

    def _segment(self, node: Segment) -> Code:
        if issubclass(node.kind, Max | ArgMax) and self._statics.moving(node):
            raise NotImplementedError("max has no holomorphic extension")
        return super()._segment(node)

    def argument(self, node: Reduction) -> Code:
        code = super().argument(node)
        return code.attribute("real") if isinstance(node, Max | ArgMax) else code

    def _map(self, node: Map) -> Code:
        form = node.function.entry.form("torch")
        if form.extends:
            return super()._map(node)
        if form.complex is not None:
            return self.kind.formed(form.complex, self.tensor(node.argument))
        if not self._statics.static(node):
            raise NotImplementedError(f"{node.function.name} has no holomorphic extension in torch")
        argument = self.tensor(node.argument).attribute("real")
        return self.kind.formed(form.text, argument).method("to", _DTYPE)

    def _shifted(self, node: Reduction, name: str) -> Code:
        mask = None if node.guard is None else self._guard(node.guard, node.argument)
        return self.kind.called(name, self.argument(node), mask, tuple(self._axes(node)))

    def _softmax(self, node: Softmax) -> Code:
        return self._shifted(node, "complex_softmax")

    def _logsumexp(self, node: LogSumExp) -> Code:
        return self._shifted(node, "complex_logsumexp")


def extension(context: Context) -> Class:
    """The class of the holomorphic extension."""
    writer = ComplexWriter.of(context)
    methods = MethodWriter(context, writer)
    equations: list[Statement] = [methods.prepare(context.fields)]
    routines = ROUTINES + (IN_A_METRIC if context.options.descends else ())
    for prepared, planned in zip(context.prepared, context.plan.routines, strict=True):
        if prepared.signature.name in routines:
            equations.append(methods.method(prepared, planned))
    if not context.derivation.energy_gradient:
        equations += quote_body(NO_ENERGY)
    equations.append(_projection(context))
    doc = ("The holomorphic extension of the network: its equations on complex states.",)
    return Class(context.class_names.holomorphic, (_init(context, tuple(equations)), *equations), doc=doc)


def _init(context: Context, equations: Body) -> Function:
    """The constructor: what the equations read of the network, as complex tensors."""
    body = list(quote_body(_MADE_OF))
    if context.network.training is not None:
        body += quote_body("self.training = net.training")
    body += [_taken(name, "{x}.detach().to(self.dtype)") for name in context.params.values()]
    read = facts.attributes("self", *equations)
    for node, name in context.constants.items():
        if name in read:
            body.append(_taken(name, "{x}" if isinstance(node, Indicator) else "{x}.to(self.dtype)"))
    parameters = (Parameter("self"), Parameter("net", Name(context.class_names.own)))
    return Function("__init__", parameters, tuple(body), Constant(None))


_MADE_OF = """
self.device = net.device
self.dtype = torch.complex128 if net.dtype == torch.float64 else torch.complex64
"""


def _taken(name: str, form: str) -> Assign:
    return Assign(Attribute(Name("self"), name), quote(form, x=Attribute(Name("net"), name)))


def _projection(context: Context) -> Function:
    body = []
    for k, state in enumerate(context.network.states.values()):
        if state.constraint is not None and state.constraint.kind in ("standardized", "sphere"):
            axes = integers(*(axis + 1 for axis in state.constraint.axes))
            body.append(Do(call(f"rt.ops.complex_{state.constraint.kind}_", Name("states")[Number(k)], axes)))
    (method,) = quote_body(_PROJECT)
    assert isinstance(method, Function)
    return replace(method, body=tuple(body))


_PROJECT = '''
def _project_(self, states: list[Tensor]) -> None:
    """Each state onto the extension of its set, in place."""
'''
