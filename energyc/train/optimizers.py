"""Torch's optimisers over the params of a spec, with a named group and a rate for each param."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from energyc.diagnostics import UserError, did_you_mean, listed
from energyc.settings.train import OPTIMIZERS, TrainOptions

_CLASSES: Mapping[str, Callable[..., torch.optim.Optimizer]] = MappingProxyType(
    {
        "sgd": torch.optim.SGD,
        "adam": torch.optim.Adam,
        "adamw": torch.optim.AdamW,
        "nadam": torch.optim.NAdam,
        "radam": torch.optim.RAdam,
        "adamax": torch.optim.Adamax,
        "rmsprop": torch.optim.RMSprop,
        "adagrad": torch.optim.Adagrad,
        "adadelta": torch.optim.Adadelta,
    }
)


def make_optimizer(options: TrainOptions, params: Mapping[str, Tensor]) -> torch.optim.Optimizer:
    """Return the optimiser of the options. Raises UserError E0501 for ``lr.NAME`` of an unknown param."""
    for name in options.rates:
        if name not in params:
            help_text = did_you_mean(name, params, f"the params are {listed(params)}")
            raise UserError(f"train.lr.{name} names no learnable param", code="E0501", help=help_text)
    _, keys = OPTIMIZERS[options.optimizer]
    settings = {name: getattr(options, name) for name in keys if getattr(options, name) is not None}
    groups = [{"params": [tensor], "lr": options.rate(name), "name": name} for name, tensor in params.items()]
    return _CLASSES[options.optimizer](groups, lr=options.base_rate, **settings)


def set_rates(optimizer: torch.optim.Optimizer, options: TrainOptions, factor: float) -> None:
    """Set the rate of every group to its peak rate times ``factor``."""
    for group in optimizer.param_groups:
        group["lr"] = options.rate(group["name"]) * factor


def pack(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimiser's tensors as ``PARAM.KEY`` (``W1.exp_avg``); plain numbers become tensors of one element."""
    packed: dict[str, Tensor] = {}
    for group in optimizer.param_groups:
        for key, value in optimizer.state.get(group["params"][0], {}).items():
            if value is not None:
                packed[f"{group['name']}.{key}"] = value if isinstance(value, Tensor) else torch.tensor(value)
    return packed


def unpack(optimizer: torch.optim.Optimizer, packed: Mapping[str, Tensor]) -> None:
    """Restore the tensors of ``pack``.

    They are written into the state directly, since torch's ``load_state_dict`` casts some to the param's dtype, which
    would make a resumed run differ from an uninterrupted one.
    """
    params = {group["name"]: group["params"][0] for group in optimizer.param_groups}
    for name, tensor in packed.items():
        owner, _, key = name.rpartition(".")
        param = params[owner]
        optimizer.state[param][key] = tensor.clone() if tensor.ndim == 0 else tensor.to(param.device, copy=True)
