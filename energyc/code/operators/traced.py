"""The methods that a network gets: as they were, and by an operator where something traces or transforms them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from energyc.code.operators import registered
from energyc.code.operators.known import Handle, exported, introduce
from energyc.runtime import Relaxed

#: The attribute of a network that holds its handle; it is not copied with the rest.
HANDLE = "_operators_"


def give(net: Any, module: str) -> None:
    """Give a network that the module of this name made its operators."""
    kind = type(net)
    if "forward" not in vars(kind):
        kind.forward = _call(kind.forward)
        kind.relax = _relax(kind.relax)
    net.__dict__[HANDLE] = introduce(net, f"{module}.{kind.__name__}")


def is_traced() -> bool:
    """Whether a call is looked at rather than made: by torch.compile, torch.export or a transform of torch.func."""
    return torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is not None


def _call(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def call(self: Any, clamps: Any = None, rule: str | None = None, **given: Any) -> Any:
        if given.pop("_relaxes_", False):  # by an operator, on params of its own
            return self.relax(clamps, **given)
        if not is_traced():
            _refuse_jit(self)
            return forward(self, clamps, rule, **given)
        _refuse_transforms(self)
        relaxed = given.pop("relaxed", False)
        settings = {name: given.pop(name, None) for name in ("steps", "step", "tolerance", "states")}
        settings["allow_biased"] = hasattr(self, "layers") and given.pop("allow_biased", False)
        named = _without_asking_noise(self, _named(self, clamps, given))
        values = _operated(self, torch.ops.energyc.call, named, _rule(self, rule), settings)
        count = len(self.readout_names)
        readouts = dict(zip(self.readout_names, values[:count], strict=True))
        return (readouts, _rest(self, values[count:])) if relaxed else readouts

    return call


def _relax(relax: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(relax)
    def call(
        self: Any,
        clamps: Any,
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        states: Any = None,
        record: Any = (),
    ) -> Any:
        if not is_traced():
            _refuse_jit(self)
            return relax(self, clamps, steps, step, tolerance, states, record)
        if record:
            raise ValueError(f"{self.name} records no steps where torch traces it")
        settings = {"steps": steps, "step": step, "tolerance": tolerance, "states": states}
        with torch.no_grad():
            return _rest(self, _operated(self, torch.ops.energyc.relax, _named(self, clamps, {}), "", settings))

    return call


def _refuse_jit(net: Any) -> None:
    if torch._C._get_tracing_state() is not None:
        raise RuntimeError(
            f"torch.jit.trace keeps the steps of one input, not a relaxation of {net.name}: use torch.export.export"
        )


def _refuse_transforms(net: Any) -> None:
    """Raise RuntimeError where torch.func differentiates, which goes through no network."""
    if torch.compiler.is_compiling():
        return
    kinds, levels = torch._C._functorch.TransformType, torch._C._functorch.get_interpreter_stack() or ()
    if any(level.key() in (kinds.Grad, kinds.Jvp) for level in levels):
        raise RuntimeError(
            f"torch.func differentiates no equilibrium: take {net.name} through torch.autograd.grad or backward(), or "
            "its own gradients(...)"
        )


def _named(net: Any, clamps: Any, named: Mapping[str, Any]) -> dict[str, Tensor]:
    """The clamps of a call by name; what does not fit is an error. Raises ValueError."""
    if clamps is None:
        found = dict(named)
    elif isinstance(clamps, Mapping):
        found = {**clamps, **named}
    else:
        left = [name for name in net.clamp_shapes if name not in named]
        if len(left) != 1:
            raise ValueError(f"{net.name} has the clamps {', '.join(net.clamp_shapes)}: give a dict of tensors by name")
        found = {left[0]: clamps, **named}
    for name, value in found.items():
        if name not in net.clamp_shapes and name not in net.noise_shapes:
            raise ValueError(f"there is no clamp {name!r}; the clamps are {', '.join(net.clamp_shapes) or 'none'}")
        if not isinstance(value, Tensor):
            raise ValueError(f"{name} is {type(value).__name__}: where torch traces {net.name} it takes tensors alone")
    counted = [x for name, x in found.items() if x.dim() == len(_shape(net, name)) + 1]
    for name, value in found.items():
        shape = _shape(net, name)
        if counted and name in net.clamp_shapes and value.dim() == len(shape):  # shared by all samples
            found[name] = value = value.expand(counted[0].shape[0], *value.shape)
        if value.dim() == 0 or tuple(value.shape[1:]) != tuple(shape):
            takes = ", ".join(["batch", *map(str, shape)])
            raise ValueError(f"{name} has shape {tuple(value.shape)}; it takes [{takes}]")
    missing = [name for name in net.clamp_shapes if name not in found]
    if missing:
        raise ValueError(f"no value for clamp {missing[0]!r}; the clamps are {', '.join(net.clamp_shapes)}")
    return found


def _without_asking_noise(net: Any, named: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same clamps and noises. Raises ValueError for noise that asks for a gradient."""
    for name in net.noise_shapes:
        if name in named and named[name].requires_grad:
            raise ValueError(f"the noise {name} of {net.name} has no gradient: declare it a clamp, or detach it")
    return named


def _shape(net: Any, name: str) -> tuple[int, ...]:
    return tuple(net.clamp_shapes[name][0] if name in net.clamp_shapes else net.noise_shapes[name])


def _rule(net: Any, rule: str | None) -> str:
    """The rule of a call, by default the one that a call takes by itself. Raises ValueError."""
    if rule is not None:
        return rule
    if hasattr(net, "layers"):
        return next((own for own in net.rules if own not in net.biased), net.rules[0])
    return "bptt" if net.numbered or net.rules[:1] == ("bptt",) else "implicit"


def _operated(net: Any, operator: Any, clamps: Mapping[str, Tensor], rule: str, settings: Mapping[str, Any]) -> Any:
    """The results of an operator."""
    states = settings["states"]
    start = [] if states is None else [states[name] for name in net.state_shapes]
    missing = [name for name in net.noise_shapes if name not in clamps] if net.training else []
    if missing:
        clamps = {**clamps, **_drawn(net, missing, next((len(x) for x in clamps.values()), 1))}
    names = (*net.clamp_shapes, *net.noise_shapes)
    return operator(
        *_handle(net),
        [name in clamps for name in names],
        rule,
        settings.get("allow_biased", False),
        settings["steps"],
        settings["step"],
        settings["tolerance"],
        net.training,
        [clamps[name] for name in names if name in clamps],
        [param for _, param in net.named_parameters()],
        start,
    )


def _handle(net: Any) -> Handle:
    """The stand-in for a network in the graph that is made."""
    handle: Handle = getattr(net, HANDLE)
    return exported(handle, net) if torch.compiler.is_exporting() else handle


def _drawn(net: Any, missing: list[str], batch: int) -> dict[str, Tensor]:
    """Noise by torch's generator, drawn outside of the operator, which gives the same for the same inputs."""
    drawn = dict(zip(net.noise_shapes, net._noise(None, batch), strict=True))
    return {name: drawn[name].to(net.device, net.dtype) for name in missing}


def _rest(net: Any, values: list[Tensor]) -> Any:
    """The record of a relaxation, as the network's own module has it."""
    *ends, residual, steps = (x.detach() for x in values)  # readouts alone are differentiable
    states = dict(zip(net.state_shapes, ends, strict=True))
    return Relaxed(states, residual, steps, {})


_ = registered  # whose import registers the operators
