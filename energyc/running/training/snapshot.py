"""Convert between a checkpoint and a live network with its optimiser."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from energyc.language.diagnostics import UserError, is_out_of_memory
from energyc.running.folder.checkpoints import Checkpoint
from energyc.running.folder.fit import refuse_unfit
from energyc.running.training.network import Network, Tensors, assign, learnable
from energyc.running.training.optimizers import pack, unpack

_EXTRA = "_extra_state"  # torch's own name for the result of get_extra_state


def take(
    net: Network,
    optimizer: torch.optim.Optimizer,
    step: int,
    state: Mapping[str, Any],
    average: Mapping[str, Tensor] = MappingProxyType({}),
) -> Checkpoint:
    """Return the checkpoint after update ``step``; warm starts and averages are buffers, choices are extra state."""
    module_state = _non_parameter_state(net)
    buffers = {name: value for name, value in module_state.items() if isinstance(value, Tensor)}
    extra = {name: value for name, value in module_state.items() if not isinstance(value, Tensor)}
    complete_state = {**state, "beta": _number(net.last_beta), "extra": extra}
    return Checkpoint(step, learnable(net), buffers, pack(optimizer), complete_state, average)


def restore(net: Network, checkpoint: Checkpoint, optimizer: torch.optim.Optimizer | None = None) -> None:
    """Load a checkpoint into a network of the same shapes: its weights, or with an optimiser the params it moves.

    Raises UserError E0514 if it does not fit.
    """
    params = learnable(net)
    refuse_unfit(params, net.state_dict(), checkpoint, optimizer)
    assign(params, checkpoint.weights if optimizer is None else checkpoint.params)
    if checkpoint.buffers or checkpoint.state.get("extra"):
        _load_rest(net, {**checkpoint.buffers, **checkpoint.state.get("extra", {})})
    if checkpoint.state.get("beta") is not None:
        net.last_beta = checkpoint.state["beta"]
    if optimizer is not None:
        unpack(optimizer, checkpoint.optimizer)


def _load_rest(net: Network, saved: Mapping[str, Any]) -> None:
    """Load buffers, and the extra state of modules, each of which reads its own."""
    try:
        net.load_state_dict(saved, strict=False)
    except (RuntimeError, TypeError, ValueError, KeyError, AttributeError) as error:
        if is_out_of_memory(error):
            raise
        message = f"the checkpoint does not fit the network: {str(error).splitlines()[0]}"
        raise UserError(message, code="E0514", help="use the spec and the dims that the run was made with") from None


def _non_parameter_state(net: Network) -> dict[str, Any]:
    """Return the state of the module that is not in parameters."""
    parameters = {name for name, _ in net.named_parameters()}
    return {
        name: value for name, value in net.state_dict().items() if name not in parameters and not _is_empty(name, value)
    }


def _is_empty(name: str, value: Any) -> bool:
    return name.endswith(_EXTRA) and not isinstance(value, Tensor) and not value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


__all__ = ["Tensors", "restore", "take"]
