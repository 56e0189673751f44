"""The holomorphic extension of a network: the same equations, written for complex tensors.

Torch's softmax, softplus, silu, gelu and its like take no complex input, so each has an explicit form; a variance is
never conjugated. What has no extension (relu, abs, max) does not get here: the verdict on the rule refuses it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from types import MappingProxyType

from energyc.emit import torch_functions as functions
from energyc.emit.code import ATOM, Code
from energyc.emit.context import Context
from energyc.emit.torch_methods import MethodWriter
from energyc.emit.torch_nodes import TorchWriter
from energyc.ir import ArgMax, Indicator, LogSumExp, Map, Max, Softmax
from energyc.ir.nodes import Reduction
from energyc.plan.statics import Statics

#: Routines of the extension.
ROUTINES = ("_force", "_cost_force", "_energy_gradient")

EXPLICIT: Mapping[str, str] = MappingProxyType(
    {
        "sigmoid": "complex_sigmoid({u})",
        "softplus": "complex_softplus({u})",
        "logsigmoid": "-complex_softplus(-({u}))",
        "silu": "complex_silu({u})",
        "silu_slope": "complex_silu_slope({u})",
        "gelu_tanh": "complex_gelu_tanh({u})",
        "gelu_tanh_slope": "complex_gelu_tanh_slope({u})",
        "gauss": "gauss({u})",
    }
)
CLOSED = frozenset({"exp", "log", "sqrt", "sin", "cos", "tanh", "gelu_tanh_core", "gelu_tanh_scale", "power"})


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

    def argument(self, node: Reduction) -> Code:
        code = super().argument(node)
        return Code(f"{code.at(ATOM)}.real") if isinstance(node, Max | ArgMax) else code

    def _map(self, node: Map) -> Code:
        name = node.function.name
        if name in CLOSED:
            return super()._map(node)
        if name not in EXPLICIT and self._statics.static(node):
            argument = Code(f"{self.tensor(node.argument).at(ATOM)}.real")
            self.needed.update({name} & functions.HELPERS.keys())
            return functions.apply(name, argument).method("to(self.dtype)")
        if name not in EXPLICIT:
            raise NotImplementedError(f"{name} has no holomorphic extension in torch")
        form = EXPLICIT[name]
        self.needed.add(form.lstrip("-").split("(")[0])
        return Code(form.format(u=self.tensor(node.argument).text), 4, True)

    def _shifted(self, node: Reduction, name: str) -> Code:
        self.needed.add(name)
        axes = self._axes(node)
        listed = f"({', '.join(map(str, axes))},)" if len(axes) == 1 else f"({', '.join(map(str, axes))})"
        mask = "None" if node.guard is None else self._guard(node.guard, node.argument).text
        return Code(f"{name}({self.argument(node).text}, {mask}, {listed})", 4, True)

    def _softmax(self, node: Softmax) -> Code:
        return self._shifted(node, "complex_softmax")

    def _logsumexp(self, node: LogSumExp) -> Code:
        return self._shifted(node, "complex_logsumexp")


def extension(context: Context) -> tuple[str, set[str]]:
    """The class ``Holomorphic``, and the helper functions it needs."""
    writer = ComplexWriter(context.network.extents, context.network.values, context.letters)
    methods = MethodWriter(context, writer)
    equations = [methods.prepare(context.fields)]
    for prepared, planned in zip(context.prepared, context.plan.routines, strict=True):
        if prepared.signature.name in ROUTINES:
            equations.append(methods.method(prepared, planned))
    equations.append(_projection(context, writer))
    lines = [
        "class Holomorphic:",
        '    """The holomorphic extension of the network: its equations on complex states."""',
        "",
        f"    def __init__(self, net: {context.class_name}) -> None:",
        "        self.device = net.device",
        "        self.dtype = torch.complex128 if net.dtype == torch.float64 else torch.complex64",
    ]
    lines += [f"        self.{name} = net.{name}.detach().to(self.dtype)" for name in context.params.values()]
    text = textwrap.indent("\n\n".join(equations), "    ")
    for node, name in context.constants.items():
        if re.search(rf"self\.{name}\b", text):
            cast = "" if isinstance(node, Indicator) else ".to(self.dtype)"
            lines.append(f"        self.{name} = net.{name}{cast}")
    return "\n".join(lines) + "\n\n" + text, writer.needed


def _projection(context: Context, writer: ComplexWriter) -> str:
    lines = [
        "def _project_(self, states: list[Tensor]) -> None:",
        '    """Each state onto the extension of its set, in place."""',
    ]
    for k, state in enumerate(context.network.states.values()):
        if state.constraint is not None and state.constraint.kind in ("standardized", "sphere"):
            axes = ", ".join(str(axis + 1) for axis in state.constraint.axes)
            name = f"complex_{state.constraint.kind}_"
            writer.needed.add(name)
            lines.append(f"    {name}(states[{k}], ({axes},))")
    return "\n".join(lines)


HELPERS: Mapping[str, str] = {
    "complex_sigmoid": '''def complex_sigmoid(u: Tensor) -> Tensor:
    """``1 / (1 + exp(-u))`` without overflow."""
    falling = torch.exp(torch.where(u.real > 0, -u, u))
    return torch.where(u.real > 0, torch.ones_like(u), falling) / (1 + falling)''',
    "complex_softplus": '''def complex_softplus(u: Tensor) -> Tensor:
    """``log(1 + exp(u))`` without overflow."""
    positive = u.real > 0
    return torch.where(positive, u, torch.zeros_like(u)) + torch.log(1 + torch.exp(torch.where(positive, -u, u)))''',
    "complex_silu": '''def complex_silu(u: Tensor) -> Tensor:
    """``u sigmoid(u)``."""
    return u * complex_sigmoid(u)''',
    "complex_silu_slope": '''def complex_silu_slope(u: Tensor) -> Tensor:
    """``s + u s (1 - s)`` with s the sigmoid of u."""
    s = complex_sigmoid(u)
    return s + u * s * (1 - s)''',
    "complex_gelu_tanh": '''def complex_gelu_tanh(u: Tensor) -> Tensor:
    """``u/2 (1 + tanh(sqrt(2 / pi) (u + 0.044715 u^3)))``."""
    return u / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))''',
    "complex_gelu_tanh_slope": '''def complex_gelu_tanh_slope(u: Tensor) -> Tensor:
    """The slope of gelu in its tanh form."""
    t = torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))
    inner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * u.square())
    return (1 + t) / 2 + u * (1 - t.square()) * inner / 2''',
    "complex_softmax": '''def complex_softmax(x: Tensor, mask: Tensor | None, axes: tuple[int, ...]) -> Tensor:
    """A ratio of exponentials, shifted by the largest real part; 0 where the mask is false."""
    real = x.real if mask is None else x.real.masked_fill(~mask, float("-inf"))
    top = real.amax(axes, keepdim=True)
    weights = torch.exp(x - top.masked_fill(top == float("-inf"), 0.0))
    if mask is not None:
        weights = weights * mask
    total = weights.sum(axes, keepdim=True)
    return weights / torch.where(total == 0, 1.0, total)''',
    "complex_logsumexp": '''def complex_logsumexp(x: Tensor, mask: Tensor | None, axes: tuple[int, ...]) -> Tensor:
    """The log of a sum of exponentials, shifted by the largest real part; 0 where the mask is nowhere true."""
    real = x.real if mask is None else x.real.masked_fill(~mask, float("-inf"))
    top = real.amax(axes, keepdim=True)
    top = top.masked_fill(top == float("-inf"), 0.0)
    weights = torch.exp(x - top)
    total = (weights if mask is None else weights * mask).sum(axes)
    return torch.where(total == 0, 0.0, torch.log(torch.where(total == 0, 1.0, total)) + top.squeeze(axes))''',
    "complex_standardized_": '''def complex_standardized_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To mean 0 and mean square 1 along the axes, in place, nothing conjugated."""
    centred = x - x.mean(axes, keepdim=True)
    x.copy_(centred / centred.square().mean(axes, keepdim=True).sqrt())''',
    "complex_sphere_": '''def complex_sphere_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To a sum of squares of 1 along the axes, in place, nothing conjugated."""
    x.div_(x.square().sum(axes, keepdim=True).sqrt())''',
}
REQUIRES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"complex_silu": ("complex_sigmoid",), "complex_silu_slope": ("complex_sigmoid",)}
)
