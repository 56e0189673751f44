"""The holomorphic extension of a network: the same equations, written for complex tensors.

Torch's softmax, softplus, silu, gelu and its like take no complex input, so each has an explicit form; a variance is
never conjugated. What has no extension (relu, abs, max) does not get here: the verdict on the rule refuses it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

from energyc.code.emit import torch_functions as functions
from energyc.code.emit.code import ATOM, Code
from energyc.code.emit.context import Context
from energyc.code.emit.torch_methods import MethodWriter
from energyc.code.emit.torch_nodes import TorchWriter
from energyc.code.plan.statics import Statics
from energyc.mathematics.ir import ArgMax, Indicator, LogSumExp, Map, Max, Softmax
from energyc.mathematics.ir.nodes import Reduction
from energyc.mathematics.sparse import Segment

#: Routines of the extension.
ROUTINES = ("_force", "_cost_force", "_energy_gradient")

NO_ENERGY = '''def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
    """dE/dtheta: no param is in an energy."""
    return {}'''


class ComplexWriter(TorchWriter):
    """Writes nodes for complex tensors; what depends on no state is real, and of that anything can be taken."""

    def __init__(self, sizes: Mapping[str, int], values: Mapping[str, float], letters: Mapping[str, str]) -> None:
        super().__init__(sizes, values, letters)
        self._statics = Statics()

    def _max(self, node: Max) -> Code:
        return super()._max(node).method("to(self.dtype)")

    def _argmax(self, node: ArgMax) -> Code:
        return super()._argmax(node).method("to(self.dtype)")

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
        return Code(f"{code.at(ATOM)}.real") if isinstance(node, Max | ArgMax) else code

    def _map(self, node: Map) -> Code:
        form = node.function.entry.form("torch")
        if form.extends:
            return super()._map(node)
        if form.complex is not None:
            return functions.apply(form.complex, self.tensor(node.argument))
        if not self._statics.static(node):
            raise NotImplementedError(f"{node.function.name} has no holomorphic extension in torch")
        argument = Code(f"{self.tensor(node.argument).at(ATOM)}.real")
        return functions.apply(form.text, argument, form.binds).method("to(self.dtype)")

    def _shifted(self, node: Reduction, name: str) -> Code:
        axes = self._axes(node)
        listed = f"({', '.join(map(str, axes))},)" if len(axes) == 1 else f"({', '.join(map(str, axes))})"
        mask = "None" if node.guard is None else self._guard(node.guard, node.argument).text
        return Code(f"{name}({self.argument(node).text}, {mask}, {listed})", 4, True)

    def _softmax(self, node: Softmax) -> Code:
        return self._shifted(node, "complex_softmax")

    def _logsumexp(self, node: LogSumExp) -> Code:
        return self._shifted(node, "complex_logsumexp")


def extension(context: Context) -> str:
    """The class ``Holomorphic``."""
    writer = ComplexWriter(context.network.extents, context.network.values, context.letters)
    methods = MethodWriter(context, writer)
    equations = [methods.prepare(context.fields)]
    for prepared, planned in zip(context.prepared, context.plan.routines, strict=True):
        if prepared.signature.name in ROUTINES:
            equations.append(methods.method(prepared, planned))
    if not context.derivation.energy_gradient:
        equations.append(NO_ENERGY)
    equations.append(_projection(context, writer))
    lines = [
        "class Holomorphic:",
        '    """The holomorphic extension of the network: its equations on complex states."""',
        "",
        f"    def __init__(self, net: {context.called.equations}) -> None:",
        "        self.device = net.device",
        "        self.dtype = torch.complex128 if net.dtype == torch.float64 else torch.complex64",
    ]
    if context.network.training is not None:
        lines.append("        self.training = net.training")
    lines += [f"        self.{name} = net.{name}.detach().to(self.dtype)" for name in context.params.values()]
    text = textwrap.indent("\n\n".join(equations), "    ")
    for node, name in context.constants.items():
        if re.search(rf"self\.{name}\b", text):
            cast = "" if isinstance(node, Indicator) else ".to(self.dtype)"
            lines.append(f"        self.{name} = net.{name}{cast}")
    return "\n".join(lines) + "\n\n" + text


def _projection(context: Context, writer: ComplexWriter) -> str:
    lines = [
        "def _project_(self, states: list[Tensor]) -> None:",
        '    """Each state onto the extension of its set, in place."""',
    ]
    for k, state in enumerate(context.network.states.values()):
        if state.constraint is not None and state.constraint.kind in ("standardized", "sphere"):
            axes = ", ".join(str(axis + 1) for axis in state.constraint.axes)
            name = f"complex_{state.constraint.kind}_"
            lines.append(f"    {name}(states[{k}], ({axes},))")
    return "\n".join(lines)
