"""Dictionaries of tensors from a user, checked and put in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from energyc.runtime.equations import Equations
from energyc.runtime.records import Fixed, Phase

#: The shape of each input without the batch, and the size of the dim that an integer input indexes.
Shapes = Mapping[str, tuple[tuple[int, ...], int | None]]


def prepared(net: Equations, clamps: Mapping[str, Tensor]) -> Fixed:
    """The clamps, the noise, and what depends on them. Raises ValueError.

    A noise that is not among the clamps is drawn by torch's generator in training, and 0 otherwise.
    """
    fed = {name: value for name, value in clamps.items() if name not in net.noise_shapes}
    real = ordered(net, "clamp", fed, net.clamp_shapes, {})
    return net._prepare(*real, *noises(net, clamps, real))


def noises(net: Equations, clamps: Mapping[str, Tensor], beside: Sequence[Tensor]) -> list[Tensor]:
    """The noises in order, those that are not given drawn or 0. Raises ValueError."""
    given = {name: value for name, value in clamps.items() if name in net.noise_shapes}
    missing = [name for name in net.noise_shapes if name not in given]
    if missing:
        batch = next((len(value) for value in (*beside, *given.values())), 1)
        drawn = net._noise(None, batch) if net.training else [torch.zeros(batch, *s) for s in net.noise_shapes.values()]
        given |= {name: value for name, value in zip(net.noise_shapes, drawn) if name in missing}
    return ordered(
        net,
        "noise",
        given,
        {name: (shape, None) for name, shape in net.noise_shapes.items()},
        dict(zip(net.clamp_shapes, beside)),
    )


def given(net: Equations) -> int:
    """How many tensors are given: clamps and noises, which come first in what is fixed."""
    return len(net.clamp_shapes) + len(net.noise_shapes)


def ordered_states(net: Equations, states: Mapping[str, Tensor], fixed: Fixed) -> list[Tensor]:
    """The states in order. Raises ValueError."""
    shapes = {name: (shape, None) for name, shape in net.state_shapes.items()}
    return ordered(net, "state", states, shapes, named_clamps(net, fixed))


def starting_states(net: Equations, states: Mapping[str, Tensor] | None, fixed: Fixed) -> list[Tensor]:
    """The states to start from, the spec's own where there are none, each on its set. Raises ValueError."""
    start = [x.clone() for x in (net._start(fixed) if states is None else ordered_states(net, states, fixed))]
    net._project_(start)
    return start


def ordered_targets(net: Equations, targets: Mapping[str, Tensor], fixed: Fixed) -> list[Tensor]:
    """The targets in order. Raises ValueError."""
    return ordered(net, "target", targets, net.target_shapes, named_clamps(net, fixed))


def named_clamps(net: Equations, fixed: Fixed) -> dict[str, Tensor]:
    """The clamps by name."""
    return dict(zip(net.clamp_shapes, fixed[: len(net.clamp_shapes)]))


def ordered(
    net: Equations, kind: str, values: Mapping[str, Tensor], shapes: Shapes, beside: Mapping[str, Tensor]
) -> list[Tensor]:
    """The tensors of a kind in order, as many samples of each as of what is ``beside`` them.

    Raises ValueError where one is missing, unknown, or does not fit.
    """
    problems = [f"no value for {kind} {name!r}" for name in shapes if name not in values]
    problems += [f"there is no {kind} {name!r}" for name in values if name not in shapes]
    if problems:
        raise ValueError(f"{problems[0]}; the {kind}s are {', '.join(shapes) or 'none'}")
    tensors = {name: checked(net, name, torch.as_tensor(values[name]), *shapes[name]) for name in shapes}
    same_batch({**beside, **tensors})
    return list(tensors.values())


def same_batch(tensors: Mapping[str, Tensor]) -> None:
    """Raise ValueError where the inputs differ in their number of samples."""
    first = next(iter(tensors), "")
    for name, value in tensors.items():
        if len(value) != len(tensors[first]):
            counts = f"{len(value)} in {name}, {len(tensors[first])} in {first}"
            raise ValueError(f"the inputs differ in their number of samples: {counts}")


def checked(net: Equations, name: str, value: Tensor, shape: Sequence[int], classes: int | None) -> Tensor:
    """An input on the network's device and in its dtype. Raises ValueError where it does not fit."""
    if value.dim() == 0 or tuple(value.shape[1:]) != tuple(shape):
        form = ", ".join(["batch", *map(str, shape)])
        raise ValueError(f"{name} has shape {tuple(value.shape)}; it takes [{form}]")
    if len(value) == 0:
        raise ValueError(f"{name} holds no sample")
    if classes is None:
        return value.to(net.device, net.dtype)
    if value.is_floating_point() or value.is_complex():
        raise ValueError(f"{name} holds integers; {value.dtype} does not fit")
    value = value.to(net.device, torch.int64)
    if value.numel() and (int(value.min()) < 0 or int(value.max()) >= classes):
        reach = f"{int(value.min())} to {int(value.max())}"
        raise ValueError(f"{name} runs from {reach}; its dim has 0 to {classes - 1}")
    return value


def free_phase(net: Equations, steps: int | None, step: float | None, tolerance: float | None) -> Phase:
    """The spec's free phase, or what a call says instead. Raises ValueError.

    Steps without a tolerance are exactly that many.
    """
    if steps is not None and steps < 0:
        raise ValueError(f"steps is 0 or more, not {steps!r}")
    if step is not None and not 0 < step < float("inf"):
        raise ValueError(f"step is a number above 0, not {step!r}")
    exact = steps is not None and tolerance is None
    count = net.relax_steps if steps is None else steps
    if net.numbered and count > net.relax_steps:
        raise ValueError(f"{net.name} numbers its steps: there are {net.relax_steps}, not {count}")
    limit = net.relax_max_steps if steps is None and net.relax_max_steps else 10 * count
    each = net.relax_step if step is None else (step,) * len(net.state_shapes)
    goal = None if exact else (net.relax_tolerance if tolerance is None else tolerance)
    longest = limit if net.relax_exit == "early" and goal is not None else max(count, limit)
    return Phase(count, each, goal, net.relax_chunk, longest, net.relax_auto and step is None)


def checked_nudge_steps(net: Equations, steps: int | str | None) -> int | None:
    """The steps of a nudged phase: a number, None (to convergence), or the spec's. Raises ValueError."""
    if steps == "spec":
        return net.nudge_steps
    if steps is None or (not isinstance(steps, str) and steps >= 1):
        return steps
    raise ValueError(f"nudge_steps is 1 or more, None (to convergence) or 'spec', not {steps!r}")


def checked_strength(strength: float | str | None) -> float | str | None:
    """A finite number other than 0, ``auto``, or None. Raises ValueError."""
    if strength is None or strength == "auto":
        return strength
    if not isinstance(strength, str) and 0 < abs(strength) < float("inf"):
        return strength
    raise ValueError(f"the strength of a nudge is a finite number other than 0, or 'auto', not {strength!r}")
