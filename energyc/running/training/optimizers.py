"""Torch's optimisers over the params of a spec, with a named group and a rate for each param; and the moving average.

The exponential moving average of the params is evaluated and kept beside them (Polyak and Juditsky 1992). After update
n, ``average <- d average + (1 - d) params`` with ``d = min(train.ema, (1 + n) / (10 + n))``: the decay is smaller in
the first updates, so that a short run is not an average of where it began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from energyc.language.diagnostics import UserError, did_you_mean, listed
from energyc.language.settings.train import OPTIMIZERS, TrainOptions
from energyc.running.training.network import Network, assign, copied, learnable, params_kept

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
#: Those that torch makes in one pass over a param and its state, and the devices on which it does.
_IN_ONE_PASS = frozenset({"sgd", "adam", "adamw", "adagrad"})
_DEVICES = frozenset({"cpu", "cuda"})


def make_optimizer(options: TrainOptions, params: Mapping[str, Tensor]) -> torch.optim.Optimizer:
    """Return the optimiser of the options.

    Raises UserError for ``lr.NAME``, ``weight_decay.NAME`` and ``momentum.NAME``: E0501 (no such param), E0502 (rates).
    """
    single = {"lr": options.rates, "weight_decay": options.decays, "momentum": options.momenta}
    for setting, given in single.items():
        for name in given:
            if name not in params:
                help_text = did_you_mean(name, params, f"the params are {listed(params)}")
                raise UserError(f"train.{setting}.{name} names no learnable param", code="E0501", help=help_text)
    _, keys = OPTIMIZERS[options.optimizer]
    settings = {name: getattr(options, name) for name in keys if getattr(options, name) is not None}
    if _in_one_pass(options, params):
        settings["fused"] = True
    groups = [{"params": [tensor], "name": name, **_own(options, name, tensor)} for name, tensor in params.items()]
    return _CLASSES[options.optimizer](groups, lr=options.base_rate, **settings)


def _own(options: TrainOptions, name: str, param: Tensor) -> dict[str, Any]:
    """The settings of a param's group that are its own."""
    decay = {"weight_decay": options.decays[name]} if name in options.decays else {}
    momentum = {"momentum": options.momenta[name]} if name in options.momenta else {}
    return {**_peak(options, name, param), **decay, **momentum}


def _in_one_pass(options: TrainOptions, params: Mapping[str, Tensor]) -> bool:
    """Whether torch makes a step in one pass; it takes each param to be contiguous."""
    fit = all(param.device.type in _DEVICES and param.is_contiguous() for param in params.values())
    return fit and options.optimizer in _IN_ONE_PASS


def set_rates(optimizer: torch.optim.Optimizer, factor: float) -> None:
    """Set the rate of every group to its peak rate times ``factor``."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * factor


def _peak(options: TrainOptions, name: str, param: Tensor) -> dict[str, Any]:
    """The ``peak`` rate of a param, its highest; and the ``shares`` of it along the first dim, None for a single one.

    Raises UserError E0502 unless there is a rate for each index.
    """
    rate = options.rate(name, count=len(param) if param.ndim else 0)
    if not isinstance(rate, tuple):
        return {"lr": rate, "peak": rate, "shares": None}
    if param.ndim == 0 or len(rate) != len(param):
        has = f"{len(param)} along its first dim" if param.ndim else "no dim"
        message = f"train.lr.{name} gives {len(rate)} rates, and {name} has {has}"
        raise UserError(message, code="E0502", help="give one rate, or one for each index of the first dim")
    peak = max(rate)
    shares = torch.tensor([each / peak if peak > 0 else 1.0 for each in rate], dtype=param.dtype, device=param.device)
    return {"lr": peak, "peak": peak, "shares": shares.reshape(-1, *[1] * (param.ndim - 1))}


@torch.no_grad()
def take_step(optimizer: torch.optim.Optimizer) -> None:
    """Make a step of the optimiser, and of a param with several rates take back what is beyond each one's share.

    The step of each of torch's optimisers is proportional to the rate, for each element by itself.
    """
    for group in optimizer.param_groups:
        for param in group["params"]:
            if param.grad is not None:  # a step in one pass reads it as if it lay in memory as its param does
                param.grad = param.grad.contiguous()
    several = [group for group in optimizer.param_groups if group["shares"] is not None]
    before = [group["params"][0].clone() for group in several]
    optimizer.step()
    for group, start in zip(several, before, strict=True):
        param = group["params"][0]
        param.copy_(torch.lerp(start, param, group["shares"].expand_as(param)))


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


# ------------------------------------------------------------------ the moving average


class Average:
    """The average of a network's params, on their sets: ``values`` by their names."""

    def __init__(self, net: Network, decay: float) -> None:
        self.net, self.decay = net, decay
        self.values = copied(learnable(net))

    @torch.no_grad()
    def follow(self, update: int) -> None:
        """Take the params after update ``update``, counted from 1, into the average."""
        decay = min(self.decay, (1 + update) / (10 + update))
        for name, param in learnable(self.net).items():
            self.values[name].lerp_(param, 1 - decay)
        with self.in_place():
            self.net.project_params()
            self.values = copied(learnable(self.net))

    def take(self, values: Mapping[str, Tensor]) -> None:
        """Go on from the average of a checkpoint."""
        assign(self.values, values)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Give the network its average within this context."""
        params = learnable(self.net)
        with params_kept(params):
            assign(params, self.values)
            yield
