"""A plain torch network trained on characters as ``energyc train`` trains a spec.

It sees the same batches in the same order (a function of seed and update) with the same optimiser, rates, clipping and
moving average of the params, and is evaluated on the same windows.
"""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from energyc.language.settings import TrainOptions
from energyc.running.data.schema import Dataset
from energyc.running.training.optimizers import make_optimizer, set_rates
from energyc.running.training.order import Order, evenly_spread
from energyc.running.training.schedule import rate_factor


def trained(
    net: nn.Module, options: TrainOptions, dataset: Dataset, seed: int, *, evaluations: int = 1
) -> dict[str, float]:
    """Make ``options.steps`` updates of ``net``, from characters [batch, T] to logits [batch, T, V].

    The result has the held-out cross-entropy at the end (``final``) and the least of ``evaluations`` (``best``), those
    of the average under ``options.ema``, the seconds and the number of params.
    """
    train, test = dataset.split("train"), dataset.split("test")
    params, steps = dict(net.named_parameters()), options.steps or 0
    optimizer, order = make_optimizer(options, params), Order(seed, len(train), options.batch)
    average = None if options.ema is None else averaged(net, options.ema)
    device = next(iter(params.values())).device
    begin, held_out = time.monotonic(), []
    for step in range(steps):
        set_rates(optimizer, rate_factor(options, step, steps))
        optimizer.zero_grad(set_to_none=True)
        cost(net, train.batch(order.indices(step)), device).backward()
        if options.clip is not None:
            nn.utils.clip_grad_norm_(params.values(), options.clip)
        optimizer.step()
        if average is not None:
            average.update_parameters(net)
        if (step + 1) % max(1, steps // evaluations) == 0 or step + 1 == steps:
            held_out.append(evaluated(average or net, test, options, device))
    seconds, count = time.monotonic() - begin, sum(param.numel() for param in params.values())
    return {"final": held_out[-1], "best": min(held_out), "seconds": seconds, "params": count}


def averaged(net: nn.Module, decay: float) -> AveragedModel:
    """The moving average of ``train.ema``, whose decay is smaller in the first updates."""

    def follow(average: Tensor, param: Tensor, count: Tensor | int) -> Tensor:
        return torch.lerp(param, average, min(decay, (1 + float(count)) / (10 + float(count))))

    return AveragedModel(net, avg_fn=follow)


def cost(net: nn.Module, batch: dict[str, Any], device: torch.device) -> Tensor:
    """Cross-entropy, the mean over batch and positions."""
    text, label = (torch.as_tensor(batch[name]).to(device) for name in ("input", "target"))
    return F.cross_entropy(net(text).transpose(1, 2), label)


@torch.no_grad()
def evaluated(net: nn.Module, test: Any, options: TrainOptions, device: torch.device) -> float:
    """The cost on the windows that ``energyc train`` evaluates."""
    indices = evenly_spread(len(test), options.eval_samples or len(test))
    parts = [indices[first : first + options.batch] for first in range(0, len(indices), options.batch)]
    return sum(len(part) * float(cost(net, test.batch(part), device)) for part in parts) / len(indices)
