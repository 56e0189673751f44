"""Networks of layers beside transcriptions in plain torch, whose gradients are autograd's through every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

import energyc

Tensors = dict[str, Tensor]
#: The costs of the samples, from params, clamps and targets.
Transcription = Callable[[Tensors, Tensors, Tensors], Tensor]


def loaded(text: str, **settings: object) -> Any:
    """The network of a text in float64, with params at random."""
    net = energyc.load("network test\n" + text, dtype=torch.float64, settings=settings)
    randomised(net)
    return net


def randomised(net: Any, scale: float = 0.4) -> None:
    """Generic params, no two entries alike."""
    random = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for param in net.parameters():
            param.copy_(scale * torch.randn(param.shape, generator=random, dtype=param.dtype))


def drawn(net: Any, batch: int = 3, seed: int = 11) -> tuple[Tensors, Tensors]:
    """Random clamps and targets."""
    print(f"seed {seed}")
    random = torch.Generator().manual_seed(seed)

    def draw(shape: tuple[int, ...], classes: int | None) -> Tensor:
        if classes is not None:
            return torch.randint(classes, (batch, *shape), generator=random)
        return torch.randn((batch, *shape), generator=random, dtype=torch.float64)

    clamps = {name: draw(*form) for name, form in net.clamp_shapes.items()}
    return clamps, {name: draw(*form) for name, form in net.target_shapes.items()}


def by_autograd(net: Any, transcription: Transcription, clamps: Tensors, targets: Tensors) -> tuple[Tensor, Tensors]:
    """The costs, and the gradient of their mean by every param."""
    params = {name: param.detach().clone().requires_grad_() for name, param in net._owners().items()}
    costs = transcription(params, clamps, targets)
    slopes = torch.autograd.grad(costs.mean(), list(params.values()), allow_unused=True, materialize_grads=True)
    return costs.detach(), dict(zip(params, slopes, strict=False))


def agree(net: Any, transcription: Transcription, rules: tuple[str, ...] = ("bptt",), tolerance: float = 1e-9) -> None:
    """The costs and the gradients by the rules are those of the transcription."""
    clamps, targets = drawn(net)
    costs, expected = by_autograd(net, transcription, clamps, targets)
    torch.testing.assert_close(net.cost(net.relax(clamps).states, clamps, targets), costs, rtol=0, atol=tolerance)
    for rule in rules:
        found = net.gradients(clamps, targets, rule=rule)
        assert bool(found.kept.all())
        torch.testing.assert_close(found.cost, costs, rtol=0, atol=tolerance)
        close(found.params, expected, tolerance)


def close(found: Mapping[str, Tensor], expected: Mapping[str, Tensor], tolerance: float) -> None:
    """Every tensor within a tolerance relative to the largest entry of any."""
    assert found.keys() == expected.keys()
    largest = max(float(value.abs().max()) for value in expected.values())
    for name, value in expected.items():
        worst = float((found[name] - value).abs().max())
        assert worst <= tolerance * largest, f"{name} is off by {worst:.2e}, the largest slope is {largest:.2e}"


def descended(energy: Callable[[Tensor], Tensor], start: Tensor, step: float, steps: int) -> Tensor:
    """Steps down an energy of [batch], through which autograd goes."""
    z = start.clone() if start.requires_grad else start.clone().requires_grad_()  # never what the energy reads itself
    for _ in range(steps):
        (slope,) = torch.autograd.grad(energy(z).sum(), z, create_graph=True)
        z = z - step * slope
    return z
