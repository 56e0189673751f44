"""Inputs of a network: dictionaries of tensors, checked and ordered, and the settings of a call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..tensors.warning import warn_caller
from .equations import Equations
from .records import Fixed, Phase, RuleSettings

#: The shape of each input without the batch, and the size of the dim that an integer input indexes.
Shapes = Mapping[str, tuple[tuple[int, ...], int | None]]


def prepared(net: Equations, clamps: Mapping[str, Tensor]) -> Fixed:
    """The clamps of a user, the noise, and what depends on them. Raises ValueError.

    A noise that is not among the clamps is drawn by torch's generator in training, and 0 otherwise.
    """
    return fixed_by(net, refuse_not_finite(net, tensors_of(net, "clamp", clamps)))


def fixed_by(net: Equations, clamps: Mapping[str, Tensor]) -> Fixed:
    """The same of clamps that may hold any numbers, as those that a network gives to a layer. Raises ValueError."""
    if not net.noise_shapes:
        return net._prepare(*ordered(net, "clamp", clamps, net.clamp_shapes, {}))
    fed = {name: value for name, value in clamps.items() if name not in net.noise_shapes}
    real = ordered(net, "clamp", fed, net.clamp_shapes, {})
    noise = [] if hasattr(net, "layers") else noises(net, clamps, real)
    return net._prepare(*real, *noise)


def noises(net: Equations, clamps: Mapping[str, Tensor], beside: Sequence[Tensor]) -> list[Tensor]:
    """The noises in order, those that are not given drawn or 0. Raises ValueError."""
    given = {name: value for name, value in clamps.items() if name in net.noise_shapes}
    missing = [name for name in net.noise_shapes if name not in given]
    if missing:
        batch = next((len(value) for value in (*beside, *given.values())), 1)
        drawn = net._noise(None, batch) if net.training else [torch.zeros(batch, *s) for s in net.noise_shapes.values()]
        given |= {name: value for name, value in zip(net.noise_shapes, drawn) if name in missing}
    return ordered(net, "noise", given, noise_shapes(net), dict(zip(net.clamp_shapes, beside)))


def noise_shapes(net: Equations) -> dict[str, tuple[tuple[int, ...], None]]:
    """The shape of each noise without the batch, as ``ordered`` takes shapes."""
    return {name: (shape, None) for name, shape in net.noise_shapes.items()}


def named_inputs(net: Equations, clamps: object, named: Mapping[str, object]) -> dict[str, Tensor]:
    """The clamps of a call: a dict, keywords, or the tensor of the only clamp. Raises ValueError."""
    if clamps is None:
        return tensors_of(net, "clamp", named)
    if isinstance(clamps, Mapping):
        twice = [name for name in named if name in clamps]
        if twice:
            raise ValueError(f"the clamp {twice[0]!r} is given twice, in the dict and as a keyword")
        return tensors_of(net, "clamp", {**clamps, **named})
    left = [name for name in net.clamp_shapes if name not in named]
    if len(left) != 1:
        if not left:
            has = f"the clamps {', '.join(net.clamp_shapes)}, each given by name" if net.clamp_shapes else "no clamps"
            raise ValueError(f"{net.name} has {has}; nothing takes what is given without a name")
        shown = ", ".join(net.clamp_shapes)
        raise ValueError(f"{net.name} has the clamps {shown}: give a dict of tensors by name, or keywords")
    return tensors_of(net, "clamp", {left[0]: clamps, **named})


def tensors_of(net: Equations, kind: str, values: object) -> dict[str, Tensor]:
    """Tensors by name, of a dict of tensors, arrays or lists of numbers. Raises ValueError for anything else."""
    if not isinstance(values, Mapping):
        about = "nothing was given" if values is None else f"not {type(values).__name__}"
        names = net.clamp_shapes if kind == "clamp" else net.target_shapes if kind == "target" else net.state_shapes
        shown = ", ".join(f'"{name}": ...' for name in names)
        raise ValueError(f"{kind}s are given as a dict of tensors by name, {{{shown}}}; {about}")
    found = {str(name): as_numbers(str(name), value) for name, value in values.items()}
    if net.device.type == "meta" or any(x.is_meta for x in found.values()):
        what = next((name for name, x in found.items() if x.is_meta), net.name)
        raise ValueError(f"{what} is on the meta device, which holds no numbers to compute with")
    warn_rounded(net, [str(n) for n, x in values.items() if isinstance(x, Tensor) and is_wider(x, net.dtype)])
    return shared_by_all(net, found) if kind == "clamp" else found


def is_wider(x: Tensor, dtype: torch.dtype) -> bool:
    """Return whether a dtype does not hold the digits of real numbers."""
    return x.is_floating_point() and torch.finfo(x.dtype).eps < torch.finfo(dtype).eps


def warn_rounded(net: Equations, names: Sequence[str]) -> None:
    """Warn, once for a network, of tensors that it rounds to its own dtype; arrays and lists are converted alike."""
    if not names or "dtype" in net.warned:
        return
    net.warned.add("dtype")
    own = str(net.dtype).removeprefix("torch.")
    why = f"{net.name} computes in {own}, and rounds what is given of {', '.join(names)} to it"
    warn_caller(f"{why}; net.to(dtype) chooses another one")


def shared_by_all(net: Equations, clamps: dict[str, Tensor]) -> dict[str, Tensor]:
    """The clamps, each with an axis of samples: one without it is shared, where another one says how many there are."""
    shapes = {name: tuple(shape) for name, (shape, _) in net.clamp_shapes.items()}
    count = next((len(x) for name, x in clamps.items() if name in shapes and x.dim() == len(shapes[name]) + 1), None)
    if count is None:
        return clamps
    return {name: x.expand(count, *x.shape) if shapes.get(name) == x.shape else x for name, x in clamps.items()}


def as_numbers(name: str, value: object) -> Tensor:
    """A tensor of a tensor, an array or a list of numbers. Raises ValueError."""
    try:
        tensor = torch.as_tensor(_forward(value))
        if tensor.is_floating_point() and isinstance(value, Sequence):  # Python's numbers are doubles
            tensor = torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{name} is {type(value).__name__}, which makes no tensor of numbers: {why}") from None
    if tensor.layout != torch.strided:
        raise ValueError(f"{name} is a sparse tensor; give {name}.to_dense()")
    return tensor


def _forward(value: Any) -> Any:
    """A copy of an array that is read backwards, which torch does not take; anything else as it is."""
    strides = getattr(value, "strides", ())
    return value.copy() if isinstance(strides, tuple) and any(stride < 0 for stride in strides) else value


def refuse_not_finite(net: Equations, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors. Raises ValueError where one of real numbers holds NaN or infinity in the network's dtype."""
    for name, given in tensors.items():
        if not given.is_floating_point():
            continue
        value = given.detach().to(dtype=net.dtype)
        if math.isfinite(value.sum().item()):  # a sum of finite numbers may overflow, so else each is looked at
            continue
        wrong = ~value.isfinite()
        if bool(wrong.any()):
            sample, *place = wrong.nonzero()[0].tolist() or [0]
            where = f"{float(value[wrong][0])} in sample {sample}" + (f" at {place}" if place else "")
            what = f"{int(wrong.sum())} of {wrong.numel()} numbers that are not finite in {net.dtype}"
            raise ValueError(f"{name} holds {what}; the first is {where}".replace("torch.", ""))
    return tensors


def given(net: Equations) -> int:
    """Count the tensors that are given: clamps and noises, the first fields of ``Fixed``."""
    return len(net.clamp_shapes) + len(net.noise_shapes)


def ordered_states(net: Equations, states: Mapping[str, Tensor], fixed: Fixed) -> list[Tensor]:
    """The states in order. Raises ValueError."""
    shapes = {name: (shape, None) for name, shape in net.state_shapes.items()}
    return ordered(net, "state", tensors_of(net, "state", states), shapes, named_clamps(net, fixed))


def starting_states(
    net: Equations, states: Mapping[str, Tensor] | None, fixed: Fixed, targets: Sequence[Tensor] = ()
) -> list[Tensor]:
    """The states to start from, the spec's own where there are none, each on its set. Raises ValueError.

    There are as many samples as of ``targets``, which alone say so where nothing is clamped.
    """
    if states is None:
        own = net._start(fixed)
        count = len(targets[0]) if targets else len(own[0])
        start = [x.expand(count, *x.shape[1:]).clone() for x in own]
    else:
        start = [x.clone() for x in ordered_states(net, states, fixed)]
        same_batch({**dict(zip(net.target_shapes, targets)), **dict(zip(net.state_shapes, start))})
    net._project_(start)
    return start


def ordered_targets(net: Equations, targets: Mapping[str, Tensor], fixed: Fixed) -> list[Tensor]:
    """The targets in order. Raises ValueError."""
    given = refuse_not_finite(net, tensors_of(net, "target", targets))
    return ordered(net, "target", given, net.target_shapes, named_clamps(net, fixed))


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
    tensors = {name: checked(net, name, values[name], *shapes[name]) for name in shapes}
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
        alone = "; a batch of one sample has a first axis of size 1" if tuple(value.shape) == tuple(shape) else ""
        raise ValueError(f"{name} has shape {tuple(value.shape)}; it takes [{form}]{alone}")
    if len(value) == 0:
        raise ValueError(f"{name} holds no sample")
    if classes is None:
        if value.is_complex():
            raise ValueError(f"{name} holds real numbers; {value.dtype} does not fit")
        return value.to(net.device, net.dtype)
    if value.is_floating_point() or value.is_complex():
        raise ValueError(f"{name} holds integers; {value.dtype} does not fit: give {name}.long()")
    value = value.to(net.device, torch.int64)
    if value.numel() and (int(value.min()) < 0 or int(value.max()) >= classes):
        reach = f"{int(value.min())} to {int(value.max())}"
        raise ValueError(f"{name} runs from {reach}; its dim has 0 to {classes - 1}")
    return value


def free_phase(net: Equations, steps: int | None, step: float | None, tolerance: float | None) -> Phase:
    """The spec's free phase, or what a call says instead. Raises ValueError.

    Steps without a tolerance are exactly that many.
    """
    steps = None if steps is None else whole_number("steps", steps, 0)
    step = None if step is None else real_number("step", step)
    if step is not None and not 0 < step < float("inf"):
        raise ValueError(f"step is a number above 0, not {step!r}")
    tolerance = None if tolerance is None else real_number("tolerance", tolerance)
    exact = steps is not None and tolerance is None
    count = net.relax_steps if steps is None else steps
    if net.numbered and count > net.relax_steps:
        raise ValueError(f"{net.name} numbers its steps: there are {net.relax_steps}, not {count}")
    limit = net.relax_max_steps if steps is None and net.relax_max_steps else 10 * count
    each = net.relax_step if step is None else (step,) * len(net.state_shapes)
    goal = None if exact else (net.relax_tolerance if tolerance is None else tolerance)
    longest = limit if net.relax_exit == "early" and goal is not None else max(count, limit)
    return Phase(count, each, goal, net.relax_chunk, longest, net.relax_auto and step is None)


def whole_number(name: str, value: object, least: int) -> int:
    """A whole number from ``least`` on. Raises ValueError."""
    try:
        number = int(value.__index__())  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise ValueError(f"{name} is {least} or more, a whole number, not {value!r}")
    return number


def real_number(name: str, value: object) -> float:
    """A number, which may be infinite. Raises ValueError."""
    try:
        number = float("nan") if isinstance(value, str | bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):
        number = float("nan")
    if number != number:
        raise ValueError(f"{name} is a number, not {value!r}")
    return number


def no_rule(value: object) -> str:
    """A value that was given in the place of a rule, in a word; a tensor there was meant for a second clamp."""
    if isinstance(value, str | int):
        return str(value)
    return f"{type(value).__name__}; of several clamps each is given by name"


def admitted(net: Any, name: str | None, allow_biased: bool) -> str:
    """The name of a rule that a network holds, by default its first one. Raises ValueError."""
    name = name or net.rules[0]
    if net.undefined and name in net.undefined:
        raise ValueError(f"{name} is not defined on {net.name}: {net.undefined[name]}")
    if name not in net.rules:
        raise ValueError(f"this module holds no rule {name!r}; it holds {', '.join(net.rules)}")
    if net.biased and name in net.biased and not allow_biased:
        raise ValueError(f"{name} is biased on {net.name}: {net.biased[name]}; allow_biased=True insists")
    return name


def rule_settings(
    net: Equations,
    free: Phase,
    beta: float | str | None = None,
    nudge_steps: int | str | None = "spec",
    points: int | None = None,
    radius: float | str | None = None,
) -> RuleSettings:
    """The settings of a gradient by a rule, those that are not given from the spec. Raises ValueError.

    A ``strength`` of None is the spec's own, which each rule looks up.
    """
    strength = checked_strength(beta if radius is None else radius)
    count = net.points if points is None else whole_number("points", points, 1)
    nudge = free._replace(steps=checked_nudge_steps(net, nudge_steps), tolerance=None, max_steps=net.nudge_max_steps)
    if nudge_steps == "spec":
        nudge = nudge._replace(tolerance=net.nudge_tolerance)
    return RuleSettings(free, nudge, strength, count)


def checked_nudge_steps(net: Equations, steps: int | str | None) -> int | None:
    """The steps of a nudged phase: a number, None (to convergence), or the spec's. Raises ValueError."""
    if steps == "spec":
        return net.nudge_steps
    if steps is None:
        return None
    if isinstance(steps, str):
        raise ValueError(f"nudge_steps is 1 or more, None (to convergence) or 'spec', not {steps!r}")
    return whole_number("nudge_steps", steps, 1)


def checked_strength(strength: float | str | None) -> float | str | None:
    """A finite number other than 0, ``auto``, or None. Raises ValueError."""
    if strength is None or strength == "auto":
        return strength
    number = float("nan") if isinstance(strength, str) else real_number("the strength of a nudge", strength)
    if 0 < abs(number) < float("inf"):
        return number
    raise ValueError(f"the strength of a nudge is a finite number other than 0, or 'auto', not {strength!r}")


class LayerNoise(NamedTuple):
    """The noises of layers that are given: ``block.eps`` [batch, copies, ...], without the copies where none are."""

    copies: Mapping[str, int]
    given: Mapping[str, Tensor]

    def of(self, layer: Any, number: int) -> dict[str, Tensor]:
        """Return those of a copy of a layer, by its own names."""
        own = {name: f"{layer.name}.{name}" for name in layer.noise_shapes}
        given = {name: self.given[whole] for name, whole in own.items() if whole in self.given}
        return {name: x[:, number] for name, x in given.items()} if layer.name in self.copies else given

    def rows(self, rows: Tensor) -> LayerNoise:
        """The same for some of the samples."""
        return self._replace(given={name: value[rows] for name, value in self.given.items()})


def layer_noise(net: Any, clamps: Mapping[str, Tensor], fixed: Fixed) -> LayerNoise | None:
    """The noises of layers among the clamps that are given; None where they have none. Raises ValueError."""
    if not net.noise_shapes:
        return None
    given = {name: as_numbers(name, clamps[name]) for name in net.noise_shapes if name in clamps}
    shapes = {name: shape for name, shape in noise_shapes(net).items() if name in given}
    tensors = ordered(net, "noise", given, shapes, named_clamps(net, fixed))
    return LayerNoise(net.copies, dict(zip(shapes, tensors)))
