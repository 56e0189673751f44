"""Whether a checkpoint is of this network, this optimizer and these options, whatever it says of itself.

A checkpoint whose hashes are right may still have been written by anyone. It is compared with the network before
anything of it is used: names, shapes, dtypes, finite numbers, and the state of the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from inspect import signature

import torch
from torch import Tensor

from energyc.language.diagnostics import UserError
from energyc.language.settings import TrainOptions
from energyc.running.folder.checkpoints import Checkpoint

#: What a run needs of its state to go on.
_NEEDED = ("samples", "best", "evaluated", "idle", "partial", "controller")


def refuse_unfit(
    params: Mapping[str, Tensor],
    buffers: Mapping[str, object],
    checkpoint: Checkpoint,
    optimizer: torch.optim.Optimizer | None = None,
) -> None:
    """Raise UserError E0514, with the first thing that is wrong, if the tensors are not of this network."""
    refuse_unfit_params(params, checkpoint.params)
    if checkpoint.average:
        refuse_unfit_params(params, checkpoint.average)
    refuse(_wrong_buffers(buffers, checkpoint.buffers))
    if optimizer is not None:
        refuse(_wrong_optimizer(optimizer, checkpoint.optimizer))


def refuse_unfit_params(params: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> None:
    """Raise UserError E0514 if saved params are not those of a network, by their names."""
    refuse(_wrong_params(params, saved))


def refuse_unfit_state(checkpoint: Checkpoint, options: TrainOptions) -> None:
    """Raise UserError E0514 if a run with these options cannot go on from the state of a checkpoint."""
    refuse(_wrong_state(checkpoint, options))


def refuse(wrong: Iterator[str], what: str = "the checkpoint") -> None:
    """Raise UserError E0514 with the first thing that is wrong, if anything is."""
    for first in wrong:
        message = f"{what} does not fit the network: {first}"
        raise UserError(message, code="E0514", help="use the spec, dims and settings that the run was made with")


def _wrong_params(params: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> Iterator[str]:
    differing = sorted(params.keys() ^ saved.keys())
    if differing:
        yield ", ".join(differing)
    for name, param in params.items():
        yield from _wrong_tensor(name, saved[name], param)


def _wrong_buffers(buffers: Mapping[str, object], saved: Mapping[str, Tensor]) -> Iterator[str]:
    """Buffers that this module has not are left out: another rule or target has others."""
    for name, tensor in saved.items():
        mine = buffers.get(name)
        if isinstance(mine, Tensor):
            if tensor.is_floating_point() != mine.is_floating_point():
                yield f"{name} is {_dtype(tensor)} instead of {_dtype(mine)}"
            yield from _wrong_tensor(name, tensor, mine)


def _wrong_tensor(name: str, tensor: Tensor, like: Tensor) -> Iterator[str]:
    if tensor.shape != like.shape:
        yield f"{name} {list(tensor.shape)} instead of {list(like.shape)}"
    if like.is_floating_point() and not tensor.is_floating_point():
        yield f"{name} is {_dtype(tensor)} instead of {_dtype(like)}"
    if not bool(torch.isfinite(tensor).all()):
        yield f"{name} has entries that are not finite"


def _wrong_optimizer(optimizer: torch.optim.Optimizer, saved: Mapping[str, Tensor]) -> Iterator[str]:
    params = {group["name"]: group["params"][0] for group in optimizer.param_groups}
    kept: dict[str, set[str]] = {name: set() for name in params}
    state = _state_of(optimizer)
    for name, tensor in saved.items():
        owner, _, key = name.rpartition(".")
        if owner not in params or key not in state:
            yield f"the optimizer {type(optimizer).__name__} has no {name}"
            return
        kept[owner].add(key)
        if tensor.ndim or not state[key]:
            yield from _wrong_tensor(f"the optimizer's {name}", tensor, params[owner])
        elif not bool(torch.isfinite(tensor)):
            yield f"the optimizer's {name} is not finite"
    for name, keys in kept.items():
        if keys and keys != set(state):
            missing = ", ".join(sorted(state.keys() - keys))
            yield f"the optimizer {type(optimizer).__name__} needs {missing} of {name} too"


def _state_of(optimizer: torch.optim.Optimizer) -> dict[str, bool]:
    """The state that an optimizer keeps of a param it has moved once, and whether each is a single number."""
    param = torch.zeros(2, 2, requires_grad=True)
    param.grad = torch.ones(2, 2)
    taken = signature(type(optimizer)).parameters  # the defaults of a class that inherits hold more
    tried = type(optimizer)([param], **{name: value for name, value in optimizer.defaults.items() if name in taken})
    tried.step()
    return {key: torch.as_tensor(value).ndim == 0 for key, value in tried.state[param].items() if value is not None}


def _wrong_state(checkpoint: Checkpoint, options: TrainOptions) -> Iterator[str]:
    state = checkpoint.state
    for name in _NEEDED:
        if name not in state:
            yield f"state.json has no {name}"
            return
    for name in ("best", "evaluated"):
        if state[name] is not None and state[name]["step"] > checkpoint.step:
            yield f"{name} is of step {state[name]['step']}, after the checkpoint's own"
    if state["best"] is not None and not math.isfinite(state["best"]["value"]):
        yield "the best value is not finite"
    if bool(checkpoint.average) != (options.ema is not None):
        yield "there is an average, and no train.ema" if checkpoint.average else "train.ema lacks its average"
    controller = state["controller"]
    penalty = options.controlled
    if (controller is None) != (penalty is None):
        yield "there is a controller of the penalty, and no penalty" if controller else "the penalty has no controller"
    if controller is not None and penalty is not None:
        if not penalty.floor <= controller["weight"] <= penalty.ceiling:
            yield f"the penalty's weight {controller['weight']:g} is outside of its bounds"
        if controller["average"] is not None and not math.isfinite(controller["average"]):
            yield "the penalty's average is not finite"


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
