"""Arithmetic on lists of states, one tensor [batch, ...] a state."""

from __future__ import annotations

import cmath
from collections.abc import Sequence

import torch
from torch import Tensor

#: What is pulled back through a routine: cotangents of the states, None where it does not read one; slopes by params.
Pullback = tuple[list[Tensor | None], dict[str, Tensor]]
#: One tensor a state, [batch, ...] each.
Tensors = Sequence[Tensor]
#: A step of a state, or one for each entry.
Rate = float | Tensor


def norm(x: Tensor) -> Tensor:
    """The Euclidean norm of each sample, also where its square overflows: [batch]."""
    plain = plain_norm(x)
    if at_hand(x) and bool(plain.isfinite().all()):
        return plain
    flat = x[..., None].flatten(1)
    largest = flat.abs().amax(1)
    return torch.where(plain.isfinite(), plain, largest * (flat / largest[:, None]).norm(dim=1))


def at_hand(x: Tensor) -> bool:
    """Return whether a look at values costs nothing; on a GPU it waits until all that was asked for before is done."""
    return x.device.type == "cpu"


def plain_norm(x: Tensor) -> Tensor:
    """The Euclidean norm of each sample, infinite where its square overflows: [batch]."""
    return x[..., None].flatten(1).norm(dim=1)


def largest_magnitude(states: Tensors) -> Tensor:
    """The largest magnitude of an entry of a sample over the states: [batch]."""
    largest = [x.reshape(len(x), -1).abs().amax(1) for x in states]
    return largest[0] if len(largest) == 1 else torch.stack(largest).amax(0)


def per_sample(values: Tensor, x: Tensor) -> Tensor:
    """Values [batch] viewed so that they broadcast to x."""
    return values.view(-1, *[1] * (x.dim() - 1))


def take(states: Tensors, rows: Tensor) -> list[Tensor]:
    """The states of some of the samples."""
    return [x[rows] for x in states]


def put_(states: Tensors, rows: Tensor, part: Tensors) -> list[Tensor]:
    """The states with the given rows replaced, in place."""
    for x, p in zip(states, part):
        x[rows] = p
    return list(states)


def filled(parts: Sequence[Tensor | None], states: Tensors) -> list[Tensor]:
    """One tensor a state, zeros where there is none."""
    return [torch.zeros_like(x) if part is None else part for part, x in zip(parts, states)]


def unshared(force: Tensors, states: Tensors) -> list[Tensor]:
    """The force, where it is entries of a state as they are in memory of its own, before that state moves in place."""
    held = {x.untyped_storage().data_ptr() for x in states}
    return [f.clone() if f.untyped_storage().data_ptr() in held else f for f in force]


def subtract(force: Tensors, parts: Sequence[Tensor | None], factor: complex | Tensor = 1.0) -> list[Tensor]:
    """``force - factor * parts``, where there is a part; the factor may be one for each sample: [batch]."""
    if isinstance(factor, Tensor):
        return [f if p is None else f - per_sample(factor, f) * p for f, p in zip(force, parts)]
    return [f if p is None else f - factor * p for f, p in zip(force, parts)]


def relative_change(moved: Tensors, states: Tensors) -> Tensor:
    """The largest of |moved - x| / (|x| + 1e-12) over the states: [batch], infinite where it is not finite."""
    changes = [m - x for m, x in zip(moved, states)]
    norms = torch.stack([plain_norm(x) for x in (*changes, *states)])
    overflow = not (at_hand(norms) and bool(norms.isfinite().all()))
    if overflow:
        norms = torch.stack([norm(x) for x in (*changes, *states)])
    change, size = norms.chunk(2)
    ratios = (change / (size + 1e-12)).amax(0)
    return torch.where(norms.isfinite().all(0), ratios, torch.inf) if overflow else ratios


def finite(parts: Tensors) -> Tensor:
    """The samples all of whose parts are finite: [batch]."""
    total = sum([x.sum() for x in parts[1:]], parts[0].sum())
    if cmath.isfinite(total.item()):  # a sum of finite numbers may overflow, one with any other is not finite
        return torch.ones(len(parts[0]), dtype=torch.bool, device=parts[0].device)
    return torch.stack([torch.isfinite(x.reshape(len(x), -1)).all(1) for x in parts]).all(0)


def flatten(states: Tensors) -> Tensor:
    """All states of a sample in a row: [batch, entries]."""
    return torch.cat([x.reshape(len(x), -1) for x in states], 1)


def unflatten(flat: Tensor, states: Tensors) -> list[Tensor]:
    """The inverse of :func:`flatten`."""
    parts = flat.split([x[0].numel() for x in states], 1)
    return [part.reshape(x.shape) for part, x in zip(parts, states)]
