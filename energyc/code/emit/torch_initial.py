"""Starting values of params in PyTorch: drawn in float64 on the CPU, so that neither dtype nor device changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod, sqrt

from energyc.code.emit.code import number
from energyc.code.emit.torch_nodes import TorchWriter
from energyc.code.emit.torch_param_sets import on_sets
from energyc.language.network import Network, Param, StartLaw


def initial_values(network: Network, writer: TorchWriter, attributes: Mapping[str, str]) -> list[str]:
    """A line for each param; copies of one are drawn by the law of a single one."""
    sizes = network.extents
    lines = []
    for name, param in network.params.items():
        shape = tuple(sizes[dim] for dim in param.node.dims)
        copies = 0 if param.each is None else len(shape) - len(param.each.dims)
        value = on_sets(_value(param, shape, shape[copies:], writer), param, drawn=param.law is not None)
        if param.low is not None or param.high is not None:
            bounds = [f"{k}={number(v)}" for k, v in (("min", param.low), ("max", param.high)) if v is not None]
            value = f"{value}.clamp({', '.join(bounds)})"
        lines.append(f"self.{attributes[name]} = self._param({value})")
    return lines


def _value(param: Param, shape: tuple[int, ...], single: tuple[int, ...], writer: TorchWriter) -> str:
    if param.law is not None:
        return drawn(param.law, [str(size) for size in shape], writer, fans(single))
    assert param.start is not None
    text = writer.code(param.start).text
    try:
        return f"torch.full({_tuple(shape)}, {float(text)!r}, dtype=torch.float64)"
    except ValueError:
        return f"({text}).double().expand({_tuple(shape)}).clone()"


def drawn(law: StartLaw, shape: Sequence[str], writer: TorchWriter, fans: tuple[int, int] = (1, 1)) -> str:
    """Draws by a law, of a shape that is written out."""
    fan_in, fan_out = fans
    match law.name, law.arguments:
        case "normal", (deviation,):
            return _normal(shape, deviation, writer)
        case "uniform", (bound,):
            return _uniform(shape, -bound, bound, writer)
        case "uniform", (low, high):
            return _uniform(shape, low, high, writer)
        case "glorot", _:
            bound = sqrt(6 / (fan_in + fan_out))
            return _uniform(shape, -bound, bound, writer)
        case "kaiming", _:
            return _normal(shape, sqrt(2 / fan_in), writer)
        case ("zeros" | "ones") as name, _:
            return f"torch.{name}({_tuple(shape)}, dtype=torch.float64)"
    raise TypeError(f"no torch form of the law {law!r}")


def _normal(shape: Sequence[str], deviation: float, writer: TorchWriter) -> str:
    return f"normal(random, {_tuple(shape)}, {number(deviation)})"


def _uniform(shape: Sequence[str], low: float, high: float, writer: TorchWriter) -> str:
    return f"uniform(random, {_tuple(shape)}, {number(low)}, {number(high)})"


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Fan in and fan out of a weight ``W[out, in, ...]``: what follows the second dim is a kernel, in both."""
    if len(shape) < 2:
        return max(prod(shape), 1), max(prod(shape), 1)
    return prod(shape[1:]), shape[0] * prod(shape[2:])


def _tuple(shape: Sequence[object]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"
