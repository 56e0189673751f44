"""A network in a few lines: what ``repr`` shows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor


def described(net: Any) -> str:
    """The name, shapes, params, rules, class, dtype and device of a network, a line each."""
    lines = [f"{head}: {', '.join(items)}" for head, items in facts(net) if items]
    about = [net.force_class, net.target, str(net.dtype).removeprefix("torch."), f"on {net.device}"]
    lines.append(", ".join(part for part in about if part))
    wrapped = [part for line in lines for part in textwrap.wrap(line, 110, subsequent_indent="  ")]
    return "\n".join([f"{type(net).__name__}(", *(f"  {line}" for line in wrapped), ")"])


def facts(net: Any) -> Iterator[tuple[str, list[str]]]:
    """The parts of a network, by kind."""
    yield "states", [shaped(name, shape) for name, shape in net.state_shapes.items()]
    for kind, shapes in (("clamps", net.clamp_shapes), ("targets", net.target_shapes)):
        yield kind, [shaped(name, *about) for name, about in shapes.items()]
    yield "noise", [shaped(name, shape) for name, shape in net.noise_shapes.items()]
    params = held_params(net)
    count = sum(param.numel() for param in params.values())
    yield f"params ({count:,})", [shaped(name, param.shape) for name, param in params.items()]
    yield "readouts", list(net.readout_names)
    layers, copies = getattr(net, "layers", {}), getattr(net, "copies", {})
    yield "layers", [f"{name} x {copies[name]}" if name in copies else name for name in layers]
    yield "rules", list(getattr(net, "rules", ()))


def held_params(net: Any) -> Mapping[str, Tensor]:
    """The params of a network; none of a layer that is not given those of a copy."""
    try:
        return dict(net._owners())
    except AttributeError:
        return {}


def shaped(name: str, shape: Sequence[int], classes: int | None = None) -> str:
    """``W [784, 512]``, ``label in 10``."""
    sizes = f" {list(shape)}" if len(shape) else ""
    return f"{name}{sizes}" + (f" in {classes}" if classes is not None else "")


def ranged(values: Tensor) -> str:
    """The smallest and the largest of some values, or the only one."""
    if not len(values):
        return "none"
    low, high = float(values.min()), float(values.max())
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
