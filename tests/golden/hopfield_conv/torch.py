"""hopfield_conv: Deep convolutional Hopfield network: two convolutions with max pooling and a linear output
(Laborieux et al. 2021).

Made by energyc 0.1.0 from hopfield_conv.energy
SHA-256 of the spec: 3a5d2817f263df2477977cb2b728244816083cfd3a0a5d0e174b56f580391a66
Rules: centered-ep, implicit
Passes: hoist, share, inplace
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

Tensors = Sequence[Tensor]


class Relaxed(NamedTuple):
    """Where a relaxation ended.

    States by name, residual [batch], steps taken [batch], and what was recorded: [steps + 1, batch, ...] each.
    """

    states: dict[str, Tensor]
    residual: Tensor
    steps: Tensor
    trace: dict[str, Tensor]


class Gradients(NamedTuple):
    """Gradients of the cost averaged over the batch, and the free phase they belong to.

    ``kept`` [batch] says which samples took part: those whose nudged phases did not diverge. ``health`` [batch] holds
    what was seen on the way: ``frozen`` (exploded until rounding held it still), and where they are asked for
    ``penalty`` (|J_nc w|^2 / dim), ``defence`` (|step F|^2 / |z|^2), ``snapshot`` (the nudged step whose contrast was
    taken), ``leakage`` (of a circle of nudges).
    """

    params: dict[str, Tensor]
    cost: Tensor
    states: dict[str, Tensor]
    residual: Tensor
    steps: Tensor
    beta: float | None
    kept: Tensor
    owners: dict[str, nn.Parameter]
    health: dict[str, Tensor]

    def assign(self) -> None:
        """Write the gradients into the params' ``grad``."""
        for name, gradient in self.params.items():
            self.owners[name].grad = gradient


class Phase(NamedTuple):
    """How a phase runs: its steps, the step of each state, and when it may stop; ``steps`` None: to convergence."""

    steps: int | None
    step: tuple[float, ...]
    tolerance: float | None
    chunk: int
    max_steps: int


class How(NamedTuple):
    """The settings of a rule: both phases, the nudging strength, the points of a circle, two weights of health.

    ``penalty`` weighs |J_nc w|^2 / dim at z*, ``defence`` weighs |step F|^2 / |z|^2 at the end of the free phase.
    """

    free: Phase
    nudge: Phase
    beta: float | str | None
    points: int
    penalty: float
    defence: float


class Free(NamedTuple):
    """The end of a free phase; the residual of a sample that is ``frozen`` by rounding is infinite."""

    states: list[Tensor]
    residual: Tensor
    steps: Tensor
    frozen: Tensor


#: Of a trajectory: the samples that took a step (their rows; None: all), and their states before it.
Path = list[tuple[Tensor | None, list[Tensor]]]


class Back(NamedTuple):
    """A step in reverse: its samples with their states and ``fixed``, step P^T seeds, and what it gives.

    ``slopes`` are <step P^T seeds, dF/dtheta>, ``seeds`` those of all samples on the states before the step.
    """

    rows: Tensor | None
    states: list[Tensor]
    fixed: Fixed
    pushed: list[Tensor]
    slopes: dict[str, Tensor]
    seeds: list[Tensor]


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    x_part: Tensor
    drive: Tensor
    drive_2: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(
            x=self.x[rows],
            x_part=self.x_part[rows],
            drive=self.drive[rows],
            drive_2=self.drive_2[rows],
        )


def normal(random: torch.Generator, shape: tuple[int, ...], deviation: float) -> Tensor:
    """Normal draws of mean 0 in float64."""
    return deviation * torch.randn(shape, generator=random, dtype=torch.float64)


def positions(size: int, axis: int, rank: int, device: torch.device) -> Tensor:
    """``0 ... size - 1`` along one of ``rank`` axes."""
    return torch.arange(size, device=device).view([size if k == axis else 1 for k in range(rank)])


def first_largest(x: Tensor, axes: int | tuple[int, ...]) -> Tensor:
    """1 at the first largest entry along the axes, else 0; 0 where every entry is -inf."""
    axes = (axes,) if isinstance(axes, int) else axes
    kept = [k for k in range(x.dim()) if k not in axes]
    flat = x.permute(*kept, *axes).flatten(len(kept))
    best = flat.max(-1, keepdim=True)
    hot = torch.zeros_like(flat).scatter_(-1, best.indices, 1.0) * (best.values > float("-inf"))
    shape = [x.shape[k] for k in (*kept, *axes)]
    order = [(*kept, *axes).index(k) for k in range(x.dim())]
    return hot.view(shape).permute(order)


def windows(
    x: Tensor, axis: int, offset: int, counts: tuple[int, ...], strides: tuple[int, ...]
) -> Tensor:
    """``x[..., offset + sum(stride * i), ...]`` as a view with an axis for each i; 0 outside x."""
    reach = [s * (n - 1) for s, n in zip(strides, counts)]
    low = offset + sum(min(0, r) for r in reach)
    high = offset + sum(max(0, r) for r in reach)
    if low < 0 or high >= x.shape[axis]:
        before, after = max(0, -low), max(0, high + 1 - x.shape[axis])
        x = F.pad(x, [0, 0] * (x.dim() - axis - 1) + [before, after])
        offset += before
    first = offset + sum(min(0, r) for r in reach)
    shape = (*x.shape[:axis], *counts, *x.shape[axis + 1 :])
    steps = (*x.stride()[:axis], *(abs(s) * x.stride(axis) for s in strides), *x.stride()[axis + 1 :])
    view = x.as_strided(shape, steps, x.storage_offset() + first * x.stride(axis))
    backward = [axis + k for k, s in enumerate(strides) if s < 0]
    return view.flip(backward) if backward else view


def overlap_add(t: Tensor, size: int, offset: int, strides: tuple[int, ...]) -> Tensor:
    """The adjoint of :func:`windows`: the window axes come last, one axis of ``size`` takes their place."""
    k = len(strides)
    counts = t.shape[t.dim() - k :]
    reach = [s * (n - 1) for s, n in zip(strides, counts)]
    before = max(0, -offset - sum(min(0, r) for r in reach))
    after = max(0, offset + sum(max(0, r) for r in reach) + 1 - size)
    total = t.new_zeros((*t.shape[: t.dim() - k], before + size + after))
    along = max(range(k), key=lambda j: counts[j])
    others = [j for j in range(k) if j != along]
    for others_at in itertools.product(*(range(counts[j]) for j in others)):
        start = before + offset + sum(strides[j] * i for j, i in zip(others, others_at))
        entry = t.permute(*(t.dim() - k + j for j in others), *range(t.dim() - k), t.dim() - k + along)[others_at]
        first = start + min(0, reach[along])
        place = slice(first, first + abs(reach[along]) + 1, abs(strides[along]))
        total[..., place] += entry.flip(-1) if strides[along] < 0 else entry
    return total[..., before : before + size]


def _norm(x: Tensor) -> Tensor:
    """The Euclidean norm of each sample: [batch]."""
    return x.reshape(len(x), -1).norm(dim=1)


def _like(mask: Tensor, x: Tensor) -> Tensor:
    """A mask [batch] viewed so that it broadcasts to x."""
    return mask.view(-1, *[1] * (x.dim() - 1))


def _put(states: Tensors, rows: Tensor, part: Tensors) -> list[Tensor]:
    """The states with the given rows replaced, in place."""
    for x, p in zip(states, part):
        x[rows] = p
    return list(states)


def _filled(parts: Sequence[Tensor | None], states: Tensors) -> list[Tensor]:
    """One tensor for each state, zeros where there is none."""
    return [torch.zeros_like(x) if part is None else part for part, x in zip(parts, states)]


def _relative_change(moved: Tensors, states: Tensors) -> Tensor:
    """The largest of |moved - x| / (|x| + 1e-12) over the states: [batch]."""
    ratios = [_norm(m - x) / (_norm(x) + 1e-12) for m, x in zip(moved, states)]
    return torch.stack(ratios).amax(0)


def _displaced(x: Tensor) -> Tensor:
    """The state with its coordinates a little larger and smaller in turn."""
    width = torch.finfo(x.dtype).eps ** 0.25
    turns = torch.arange(x[0].numel(), device=x.device).view(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns.to(x.dtype))


def _flat(states: Tensors) -> Tensor:
    """All states of a sample in a row: [batch, entries]."""
    return torch.cat([x.reshape(len(x), -1) for x in states], 1)


def _shaped(flat: Tensor, states: Tensors) -> list[Tensor]:
    """The opposite of :func:`_flat`."""
    parts = flat.split([x[0].numel() for x in states], 1)
    return [part.reshape(x.shape) for part, x in zip(parts, states)]


def gmres(
    operator: Callable[[Tensor], Tensor], rhs: Tensor, tolerance: float, restart: int, cycles: int
) -> tuple[Tensor, Tensor]:
    """Solve ``operator(x) = rhs`` for each row by restarted GMRES (Saad and Schultz 1986).

    Returns x [batch, entries] and the relative residual of each row [batch], infinite where a product is not finite.
    """
    x = torch.zeros_like(rhs)
    scale = rhs.norm(dim=1).clamp_min(torch.finfo(rhs.dtype).tiny)
    residual = rhs
    for _ in range(cycles):
        size = residual.norm(dim=1)
        if bool((size <= tolerance * scale).all()):
            break
        basis = [residual / size.clamp_min(torch.finfo(rhs.dtype).tiny)[:, None]]
        columns = []
        for _ in range(min(restart, rhs.shape[1])):
            w = operator(basis[-1])
            heights = []
            for _ in range(2):  # twice is enough (Kahan, in Parlett 1980)
                h = torch.stack([(w * v).sum(1) for v in basis], 1)
                w = w - torch.stack([h[:, k, None] * v for k, v in enumerate(basis)]).sum(0)
                heights.append(h)
            height = w.norm(dim=1)
            columns.append(torch.cat([sum(heights[1:], heights[0]), height[:, None]], 1))
            basis.append(w / torch.where(height > 1e-14 * size, height, torch.inf)[:, None])
            if bool((height <= 1e-14 * size).all()):
                break
        n = len(columns)
        hessenberg = torch.stack([F.pad(column, (0, n + 1 - column.shape[1])) for column in columns], 2)
        if not bool(hessenberg.isfinite().all()):
            return x, torch.full_like(size, torch.inf)
        target = F.pad(size[:, None], (0, n))
        weights = torch.linalg.pinv(hessenberg) @ target[:, :, None]
        x = x + torch.stack([weights[:, k] * v for k, v in enumerate(basis[:n])]).sum(0)
        residual = rhs - operator(x)
    return x, residual.norm(dim=1) / scale


class _Watch:
    """Counts the steps of a nudged phase; without a number of steps it tells when nothing changes any more."""

    def __init__(self, nudge: Phase, dtype: torch.dtype) -> None:
        self.nudge = nudge
        self.smallest = torch.finfo(dtype).eps / 8
        self.best = float("inf")
        self.stalled = 0

    def steps(self) -> range:
        """The steps to be taken at most."""
        return range(100_000 if self.nudge.steps is None else self.nudge.steps)

    def looks(self, k: int) -> bool:
        """Whether the change is to be measured at step k."""
        return self.nudge.steps is None and k % self.nudge.chunk == 0

    def settled(self, change: Tensor) -> bool:
        """Whether the change has reached rounding, or falls no more."""
        now = float(change.max())
        self.stalled = 0 if now < self.best else self.stalled + 1
        self.best = min(self.best, now)
        return not now > self.smallest or self.stalled == 20


def _finite(parts: Tensors) -> Tensor:
    """The samples all of whose parts are finite: [batch]."""
    return torch.stack([torch.isfinite(x.reshape(len(x), -1)).all(1) for x in parts]).all(0)


def _less(force: Tensors, parts: Sequence[Tensor | None], factor: float) -> list[Tensor]:
    """force - factor * parts, where there is a part."""
    return [f if p is None else f - factor * p for f, p in zip(force, parts)]


class _Snapshots:
    """Every few steps the contrast of both phases is looked at; for each sample the most settled one is returned.

    A sample whose contrast changes ten times as fast at the end as at first is ``diverging``.
    """

    def __init__(self, every: int | None) -> None:
        self.every = every
        self.last: Tensors | None = None
        self.first: Tensor | None = None
        self.smallest: Tensor | None = None
        self.diverging: Tensor | None = None
        self.taken: Tensor | None = None
        self.pair: tuple[list[Tensor], list[Tensor]] = ([], [])

    def offer(self, step: int, plus: Tensors, minus: Tensors) -> None:
        """Look at both phases after a step."""
        if self.every is None or step % self.every:
            return
        contrast = [p - m for p, m in zip(plus, minus)]
        if self.last is not None:
            change = torch.stack([_norm(c - b) for c, b in zip(contrast, self.last)]).amax(0)
            if self.first is None or self.smallest is None:
                self.first, self.smallest = change, change
                self.taken = torch.full_like(change, step, dtype=torch.int64)
                self.pair = ([p.clone() for p in plus], [m.clone() for m in minus])
            self.diverging = ~(change <= 10 * self.first)
            better = (change < self.smallest).nonzero()[:, 0]
            self.smallest = torch.minimum(change, self.smallest)
            self.taken[better] = step
            for kept, now in zip((*self.pair[0], *self.pair[1]), (*plus, *minus)):
                kept[better] = now[better]
        self.last = contrast

    def best(self, plus: list[Tensor], minus: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The most settled pair, or the last one where no two were looked at."""
        return self.pair if self.smallest is not None else (plus, minus)


class HopfieldConv(nn.Module):
    """States s1[C1, S1, S1], s2[C2, S2, S2], y[K].

    Sizes: C = 3, S = 32, P = 3, R = 2, C1 = 64, U = 30, S1 = 15, C2 = 128, V = 12, Q = 4, S2 = 6, K = 10.

    let a1[o, u in U, v in U] = sum[c,p,q](W1[o,c,p,q] * x[c, u + p, v + q]) + b1[o]
    let a2[o, u in V, v in V] = sum[c,p,q](W2[o,c,p,q] * s1[c, u + p, v + q]) + b2[o]

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "hopfield_conv"
    rules = ("centered-ep", "implicit")
    state_names = ("s1", "s2", "y")
    state_shapes = {"s1": (64, 15, 15), "s2": (128, 6, 6), "y": (10,)}
    clamp_shapes = {"x": ((3, 32, 32), None)}
    target_shapes = {"label": ((), 10)}
    param_attributes = {"W1": "W1", "b1": "b1", "W2": "W2", "b2": "b2", "W3": "W3", "b3": "b3"}
    param_bounds = {}
    term_names = ("leak", "conv1", "conv2", "full")
    readout_names = ("scores",)
    metric_names = ("accuracy",)
    relax_steps = 40
    relax_step = (0.5, 0.5, 0.5)
    relax_tolerance = 0.0001
    relax_chunk = 25
    relax_max_steps = None
    relax_explosion = 10000.0
    biased = {}
    beta = "auto"
    last_beta = None
    nudge_steps = 12
    points = 4
    snapshots = None
    _rule_methods = {"centered-ep": "_centered_ep", "implicit": "_implicit"}

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__()
        dtype = dtype or torch.get_default_dtype()
        self.register_buffer("_anchor", torch.zeros((), device=device, dtype=dtype), persistent=False)
        random = torch.Generator().manual_seed(seed)
        self.W1 = nn.Parameter(normal(random, (64, 3, 3, 3), 0.2721655269759087).to(device, dtype))
        self.b1 = nn.Parameter(torch.full((64,), 0.0, dtype=torch.float64).to(device, dtype))
        self.W2 = nn.Parameter(normal(random, (128, 64, 4, 4), 0.0078125).to(device, dtype))
        self.b2 = nn.Parameter(torch.full((128,), 0.0, dtype=torch.float64).to(device, dtype))
        self.W3 = nn.Parameter(normal(random, (10, 128, 6, 6), 0.007365695637359871).to(device, dtype))
        self.b3 = nn.Parameter(torch.full((10,), 0.5, dtype=torch.float64).to(device, dtype))

    def _prepare(self, x: Tensor) -> Fixed:
        """What depends on clamps and params alone."""
        x_part = windows(windows(x, 2, 0, (30, 3), (1, 1)), 4, 0, (30, 3), (1, 1))
        drive = windows(
            windows(
                torch.einsum("Bcupaq,ocpq->Buao", x_part, self.W1).permute(0, 3, 1, 2) + self.b1[:, None, None],
                2,
                0,
                (15, 2),
                (2, 1),
            ),
            4,
            0,
            (15, 2),
            (2, 1),
        ).amax((3, 5))
        drive_2 = first_largest(
            windows(
                windows(
                    torch.einsum("Bcupaq,ocpq->Buao", x_part, self.W1).permute(0, 3, 1, 2) + self.b1[:, None, None],
                    2,
                    0,
                    (15, 2),
                    (2, 1),
                ),
                4,
                0,
                (15, 2),
                (2, 1),
            ),
            (3, 5),
        )
        return Fixed(x, x_part, drive, drive_2)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        return [
            torch.full((len(fixed[0]), 64, 15, 15), 0, device=self.device, dtype=self.dtype),
            torch.full((len(fixed[0]), 128, 6, 6), 0, device=self.device, dtype=self.dtype),
            torch.full((len(fixed[0]), 10), 0, device=self.device, dtype=self.dtype),
        ]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy leak  = 1/2 * sum[o,i,j](s1[o,i,j]^2) + 1/2 * sum[o,i,j](s2[o,i,j]^2) + 1/2 * sum[k](y[k]^2)
        energy conv1 = -sum[o,i,j](s1[o,i,j] * max[e in R, f in R](a1[o, R*i + e, R*j + f]))
        energy conv2 = -sum[o,i,j](s2[o,i,j] * max[e in R, f in R](a2[o, R*i + e, R*j + f]))
        energy full  = -sum[k](y[k] * (sum[o,i,j](W3[k,o,i,j] * s2[o,i,j]) + b3[k]))
        """
        s1, s2, y = states
        energy_leak = 0.5 * (s1 * s1).sum((1, 2, 3)) + 0.5 * (s2 * s2).sum((1, 2, 3)) + 0.5 * (y * y).sum(1)
        energy_conv1 = -(s1 * fixed.drive).sum((1, 2, 3))
        part = F.conv2d(s1, self.W2)
        a2 = part + self.b2[:, None, None]
        part_2 = windows(windows(a2, 2, 0, (6, 2), (2, 1)), 4, 0, (6, 2), (2, 1)).amax((3, 5))
        energy_conv2 = -(s2 * part_2).sum((1, 2, 3))
        total = torch.einsum("Boij,koij->Bk", s2, self.W3)
        total += self.b3
        energy_full = -(y * total).sum(1)
        return [energy_leak, energy_conv1, energy_conv2, energy_full]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_s1[o,i,j] = max[r in R, r2 in R](a1[o, R*i + r, R*j + r2]) - s1[o,i,j] + sum[c2, p, q, u in V, v in V | i ==
            u + p and j == v + q](W2[c2,o,p,q] * sum[s22, r in R, s23, r2 in R | u == R*s22 + r and v == R*s23 +
            r2](s2[c2,s22,s23] * argmax[r in R, r2 in R](a2[c2, R*s22 + r, R*s23 + r2])))
        F_s2[o,i,j] = max[r in R, r2 in R](a2[o, R*i + r, R*j + r2]) - s2[o,i,j] + sum[k](W3[k,o,i,j] * y[k])
        F_y[k] = b3[k] - y[k] + sum[o,i,j](W3[k,o,i,j] * s2[o,i,j])
        """
        s1, s2, y = states
        part = F.conv2d(s1, self.W2)
        a2 = part + self.b2[:, None, None]
        product = windows(windows(a2, 2, 0, (6, 2), (2, 1)), 4, 0, (6, 2), (2, 1))
        part_2 = first_largest(product, (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (part_2 * s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                12,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            12,
            0,
            (2, 1),
        )
        force_s1 = F.conv_transpose2d(pull_a2, self.W2)
        force_s1 += fixed.drive
        force_s1 -= s1
        part_3 = product.amax((3, 5))
        force_s2 = torch.einsum("Bk,koij->Boij", y, self.W3)
        force_s2 += part_3
        force_s2 -= s2
        force_y = torch.einsum("Boij,koij->Bk", s2, self.W3)
        force_y -= y
        force_y += self.b3
        return [force_s1, force_s2, force_y]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The answers.

        readout scores[k] = y[k]
        """
        _, _, y = states
        return [y]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost    mse       = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
        """
        _, _, y = states
        (label,) = targets
        hit = (positions(10, 0, 1, self.device) == label[:, None]).to(self.dtype)
        total = y - hit
        cost = 0.5 * (total * total).sum(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What is only reported.

        metric  accuracy  = correct[k](y[k], label)
        """
        _, _, y = states
        (label,) = targets
        part = first_largest(y, 1)
        accuracy = part.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]

    def _cost_force(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor | None]:
        """dC/dz of each sample; None where the cost does not read a state.

        dC/dy[k] = y[k] - where(k == label, 1, 0)
        """
        _, _, y = states
        (label,) = targets
        hit = (positions(10, 0, 1, self.device) == label[:, None]).to(self.dtype)
        slope_y = y - hit
        return [None, None, slope_y]

    def _cost_gradient(self, states: Tensors, fixed: Fixed, targets: Tensors) -> dict[str, Tensor]:
        """The direct dC/dtheta, summed over the batch."""
        return {}

    def _force_adjoint(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> list[Tensor | None]:
        """J^T seeds, J = dF/dz."""
        s1, _, _ = states
        seed_s1, seed_s2, seed_y = seeds
        part = F.conv2d(s1, self.W2)
        a2 = part + self.b2[:, None, None]
        part_2 = first_largest(windows(windows(a2, 2, 0, (6, 2), (2, 1)), 4, 0, (6, 2), (2, 1)), (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (part_2 * seed_s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                12,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            12,
            0,
            (2, 1),
        )
        back_s1 = F.conv_transpose2d(pull_a2, self.W2)
        back_s1 -= seed_s1
        product = F.conv2d(seed_s1, self.W2).permute(0, 2, 3, 1)
        back_s2 = torch.einsum("Bk,koij->Boij", seed_y, self.W3)
        back_s2 += (
            part_2 * windows(windows(product, 1, 0, (6, 2), (2, 1)), 3, 0, (6, 2), (2, 1)).permute(0, 5, 1, 2, 3, 4)
        ).sum((3, 5))
        back_s2 -= seed_s2
        back_y = torch.einsum("Boij,koij->Bk", seed_s2, self.W3)
        back_y -= seed_y
        return [back_s1, back_s2, back_y]

    def _force_pullback(
        self,
        states: Tensors,
        fixed: Fixed,
        seeds: Tensors,
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, and <seeds, dF/dtheta> summed over the batch."""
        s1, s2, y = states
        seed_s1, seed_s2, seed_y = seeds
        product = windows(windows(s1, 2, 0, (12, 4), (1, 1)), 4, 0, (12, 4), (1, 1))
        a2 = torch.einsum("Bcvpaq,ocpq->Bvao", product, self.W2).permute(0, 3, 1, 2) + self.b2[:, None, None]
        part = first_largest(windows(windows(a2, 2, 0, (6, 2), (2, 1)), 4, 0, (6, 2), (2, 1)), (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (part * seed_s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                12,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            12,
            0,
            (2, 1),
        )
        back_s1 = F.conv_transpose2d(pull_a2, self.W2)
        back_s1 -= seed_s1
        product_2 = windows(windows(seed_s1, 2, 0, (12, 4), (1, 1)), 4, 0, (12, 4), (1, 1))
        product_3 = windows(
            windows(torch.einsum("Bcvpaq,ocpq->Bvao", product_2, self.W2), 1, 0, (6, 2), (2, 1)),
            3,
            0,
            (6, 2),
            (2, 1),
        )
        back_s2 = torch.einsum("Bk,koij->Boij", seed_y, self.W3)
        back_s2 += (part * product_3.permute(0, 5, 1, 2, 3, 4)).sum((3, 5))
        back_s2 -= seed_s2
        back_y = torch.einsum("Boij,koij->Bk", seed_s2, self.W3)
        back_y -= seed_y
        pull_a1 = overlap_add(
            overlap_add(
                (fixed.drive_2 * seed_s1[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                30,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            30,
            0,
            (2, 1),
        )
        pull_a2_2 = overlap_add(
            overlap_add(
                (part * s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                12,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            12,
            0,
            (2, 1),
        )
        return [back_s1, back_s2, back_y], {
            "W1": torch.einsum("Bcupaq,Boua->ocpq", fixed.x_part, pull_a1),
            "b1": pull_a1.sum((0, 2, 3)),
            "W2": (
                torch.einsum("Bcvpaq,Bova->ocpq", product_2, pull_a2_2)
                + torch.einsum("Bcvpaq,Bova->ocpq", product, pull_a2)
            ),
            "b2": pull_a2.sum((0, 2, 3)),
            "W3": torch.einsum("Boij,Bk->koij", s2, seed_y) + torch.einsum("Boij,Bk->koij", seed_s2, y),
            "b3": seed_y.sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dx> for each real clamp."""
        seed_s1, _, _ = seeds
        pull_a1 = overlap_add(
            overlap_add(
                (fixed.drive_2 * seed_s1[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                30,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            30,
            0,
            (2, 1),
        )
        grad_x = F.conv_transpose2d(pull_a1, self.W1)
        return {"x": grad_x}

    def _start_gradient(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start/dtheta>, summed over the batch."""
        return {}

    def _start_clamp_gradient(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start/dx> for each real clamp."""
        return {}

    def _readout_adjoint(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> list[Tensor | None]:
        """<seeds, d readouts/dz>."""
        (seed_scores,) = seeds
        return [None, None, seed_scores]

    def _readout_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d readouts/dtheta>, summed over the batch."""
        return {}

    def _readout_clamp_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d readouts/dx> for each real clamp."""
        return {}

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch.

        dE/dW1[o,c,p,q] = -sum[u in U, v in U](x[c, u + p, v + q] * sum[i, r in R, j, r2 in R | u == R*i + r and v ==
            R*j + r2](s1[o,i,j] * argmax[r in R, r2 in R](a1[o, R*i + r, R*j + r2])))
        dE/db1[o] = -sum[u in U, v in U](sum[i, r in R, j, r2 in R | u == R*i + r and v == R*j + r2](s1[o,i,j] *
            argmax[r in R, r2 in R](a1[o, R*i + r, R*j + r2])))
        dE/dW2[o,c,p,q] = -sum[u in V, v in V](s1[c, u + p, v + q] * sum[i, r in R, j, r2 in R | u == R*i + r and v ==
            R*j + r2](s2[o,i,j] * argmax[r in R, r2 in R](a2[o, R*i + r, R*j + r2])))
        dE/db2[o] = -sum[u in V, v in V](sum[i, r in R, j, r2 in R | u == R*i + r and v == R*j + r2](s2[o,i,j] *
            argmax[r in R, r2 in R](a2[o, R*i + r, R*j + r2])))
        dE/dW3[k,o,i,j] = -s2[o,i,j] * y[k]
        dE/db3[k] = -y[k]
        """
        s1, s2, y = states
        product = overlap_add(
            overlap_add(
                (fixed.drive_2 * s1[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                30,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            30,
            0,
            (2, 1),
        )
        product_2 = windows(windows(s1, 2, 0, (12, 4), (1, 1)), 4, 0, (12, 4), (1, 1))
        a2 = torch.einsum("Bcvpaq,ocpq->Bvao", product_2, self.W2).permute(0, 3, 1, 2) + self.b2[:, None, None]
        part = first_largest(windows(windows(a2, 2, 0, (6, 2), (2, 1)), 4, 0, (6, 2), (2, 1)), (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (part * s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                12,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            12,
            0,
            (2, 1),
        )
        return {
            "W1": -torch.einsum("Bcupaq,Boua->ocpq", fixed.x_part, product),
            "b1": -product.sum((0, 2, 3)),
            "W2": -torch.einsum("Bcvpaq,Bova->ocpq", product_2, pull_a2),
            "b2": -pull_a2.sum((0, 2, 3)),
            "W3": -torch.einsum("Boij,Bk->koij", s2, y),
            "b3": -y.sum(0),
        }

    def _user_force_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dtheta> of the terms that are no energy, summed over the batch."""
        return {}

    def _ties(self) -> dict[str, Tensor]:
        """The tied names, each a view of its source."""
        return {}

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        states[0].clamp_(min=0, max=1)
        states[1].clamp_(min=0, max=1)
        states[2].clamp_(min=0, max=1)

    def _project_adjoint(self, at: Tensors, seeds: Tensors) -> list[Tensor]:
        """P^T seeds, P the derivative of the projection at a point."""
        return [
            seeds[0] * ((at[0] >= 0) & (at[0] <= 1)),
            seeds[1] * ((at[1] >= 0) & (at[1] <= 1)),
            seeds[2] * ((at[2] >= 0) & (at[2] <= 1)),
        ]

    # ---------------------------------------------------------------- what a user calls

    @property
    def device(self) -> torch.device:
        """Where the network lives."""
        return self._anchor.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of params and states."""
        return self._anchor.dtype

    @property
    def params(self) -> dict[str, Tensor]:
        """Untied params by the spec's names; a tie's name gives a read-only view of its source."""
        own: dict[str, Tensor] = {name: getattr(self, attribute) for name, attribute in self.param_attributes.items()}
        return own | self._ties()

    @torch.no_grad()
    def terms(self, states: dict[str, Tensor], clamps: dict[str, Tensor]) -> dict[str, Tensor]:
        """Each energy term of each sample: [batch]."""
        fixed = self._fixed(clamps)
        return dict(zip(self.term_names, self._terms(self._listed(states, fixed), fixed)))

    @torch.no_grad()
    def energy(self, states: dict[str, Tensor], clamps: dict[str, Tensor]) -> Tensor:
        """The energy of each sample: [batch]."""
        fixed = self._fixed(clamps)
        return self._energy(self._listed(states, fixed), fixed)

    @torch.no_grad()
    def force(self, states: dict[str, Tensor], clamps: dict[str, Tensor]) -> dict[str, Tensor]:
        """The force on each state, of energies and forces together, before any projection."""
        fixed = self._fixed(clamps)
        return self._named(self._force(self._listed(states, fixed), fixed))

    @torch.no_grad()
    def readout(self, states: dict[str, Tensor], clamps: dict[str, Tensor]) -> dict[str, Tensor]:
        """The answers at these states."""
        fixed = self._fixed(clamps)
        return dict(zip(self.readout_names, self._readouts(self._listed(states, fixed), fixed)))

    @torch.no_grad()
    def cost(self, states: dict[str, Tensor], clamps: dict[str, Tensor], targets: dict[str, Tensor]) -> Tensor:
        """The cost of each sample: [batch]."""
        fixed = self._fixed(clamps)
        return self._cost(self._listed(states, fixed), fixed, self._aims(targets, fixed))[0]

    @torch.no_grad()
    def metrics(
        self, states: dict[str, Tensor], clamps: dict[str, Tensor], targets: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """What is reported and not trained on: [batch] each."""
        fixed = self._fixed(clamps)
        values = self._metrics(self._listed(states, fixed), fixed, self._aims(targets, fixed))
        return dict(zip(self.metric_names, values))

    def first_bad_term(self, states: dict[str, Tensor], clamps: dict[str, Tensor]) -> str | None:
        """The first energy term that is not finite, or None."""
        values = self.terms(states, clamps)
        return next((name for name, value in values.items() if not bool(torch.isfinite(value).all())), None)

    @torch.no_grad()
    def project_params(self) -> None:
        """Put bounded params back between their bounds."""
        for name, (low, high) in self.param_bounds.items():
            self.params[name].clamp_(low, high)

    @torch.no_grad()
    def start(self, clamps: dict[str, Tensor]) -> dict[str, Tensor]:
        """Where the states start, projected on their sets."""
        return self._named(self._begin(None, self._fixed(clamps)))

    @torch.no_grad()
    def relax(
        self,
        clamps: dict[str, Tensor],
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        states: dict[str, Tensor] | None = None,
        record: tuple[str, ...] = (),
    ) -> Relaxed:
        """Let the states relax. Steps given without a tolerance are exactly that many.

        ``record`` names what is kept after each step, the start included: ``energy``, ``residual``, or a state.
        """
        fixed = self._fixed(clamps)
        phase = self._phase(steps, step, tolerance)
        begin = self._begin(states, fixed)
        kept: dict[str, list[Tensor]] = {name: [] for name in record}
        free = self._settle(begin, fixed, phase, kept)
        trace = {name: torch.stack(values) for name, values in kept.items()}
        return Relaxed(self._named(free.states), free.residual, free.steps, trace)

    def gradients(
        self,
        clamps: dict[str, Tensor],
        targets: dict[str, Tensor],
        rule: str | None = None,
        *,
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        beta: float | str | None = None,
        nudge_steps: int | str | None = "spec",
        points: int | None = None,
        radius: float | str | None = None,
        states: dict[str, Tensor] | None = None,
        allow_biased: bool = False,
        penalty: float = 0.0,
        residual_defence: float = 0.0,
        contrast: bool = True,
    ) -> Gradients:
        """The gradient of the cost averaged over the batch, by a rule of this module.

        ``nudge_steps`` None runs nudged phases to convergence; ``states`` is a warm start; ``points`` and ``radius``
        are the circle of holomorphic rules. A rule that is biased for this network needs ``allow_biased``.
        ``penalty`` and ``residual_defence`` are weights of what keeps training healthy, whose slopes are added; without
        ``contrast`` they are all there is, as for samples that did not settle.
        """
        rule = rule or self.rules[0]
        self._admit(rule, allow_biased)
        with torch.no_grad():
            phase = self._phase(steps, step, tolerance)
            nudge = phase._replace(steps=self._nudge_steps(nudge_steps))
            fixed = self._fixed(clamps)
            aims = self._aims(targets, fixed)
            begin = self._begin(states, fixed)
            strength = self._strength(next((b for b in (radius, beta) if b is not None), self.beta))
            how = How(phase, nudge, strength, points or self.points, penalty, residual_defence)
            if not contrast:
                return self._gradients([], self._settle(begin, fixed, how.free), fixed, aims, how)
            return getattr(self, self._rule_methods[rule])(begin, fixed, aims, how)

    def _admit(self, rule: str, allow_biased: bool) -> None:
        if rule not in self._rule_methods:
            raise ValueError(f"this module holds no rule {rule!r}; it holds {', '.join(self._rule_methods)}")
        if rule in self.biased and not allow_biased:
            raise ValueError(f"{rule} is biased on {self.name}: {self.biased[rule]}; allow_biased=True insists")

    # ---------------------------------------------------------------- between dictionaries and lists

    def _named(self, states: Tensors) -> dict[str, Tensor]:
        return dict(zip(self.state_names, states))

    def _listed(self, states: dict[str, Tensor], fixed: Fixed) -> list[Tensor]:
        return self._read("state", states, {name: (shape, None) for name, shape in self.state_shapes.items()}, fixed)

    def _fixed(self, clamps: dict[str, Tensor]) -> Fixed:
        return self._prepare(*self._read("clamp", clamps, self.clamp_shapes, None))

    def _aims(self, targets: dict[str, Tensor], fixed: Fixed | None = None) -> list[Tensor]:
        return self._read("target", targets, self.target_shapes, fixed)

    def _read(
        self, kind: str, given: dict[str, Tensor], wanted: dict[str, tuple], fixed: Fixed | None
    ) -> list[Tensor]:
        """The tensors of a kind in order. Raises ValueError where one is missing, unknown, or does not fit."""
        amiss = [f"no value for {kind} {name!r}" for name in wanted if name not in given]
        amiss += [f"there is no {kind} {name!r}" for name in given if name not in wanted]
        if amiss:
            raise ValueError(f"{amiss[0]}; the {kind}s are {', '.join(wanted) or 'none'}")
        read = [self._checked(name, torch.as_tensor(given[name]), *wanted[name]) for name in wanted]
        beside = [*zip(self.clamp_shapes, () if fixed is None else fixed), *zip(wanted, read)]
        for name, value in beside:
            if len(value) != len(beside[0][1]):
                counts = f"{len(value)} in {name}, {len(beside[0][1])} in {beside[0][0]}"
                raise ValueError(f"the inputs differ in their number of samples: {counts}")
        return read

    def _checked(self, name: str, value: Tensor, shape: tuple[int, ...], classes: int | None) -> Tensor:
        if value.dim() == 0 or tuple(value.shape[1:]) != shape:
            form = ", ".join(["batch", *map(str, shape)])
            raise ValueError(f"{name} has shape {tuple(value.shape)}; it takes [{form}]")
        if len(value) == 0:
            raise ValueError(f"{name} holds no sample")
        if classes is None:
            return value.to(self.device, self.dtype)
        if value.is_floating_point() or value.is_complex():
            raise ValueError(f"{name} holds integers; {value.dtype} does not fit")
        value = value.to(self.device, torch.int64)
        if value.numel() and (int(value.min()) < 0 or int(value.max()) >= classes):
            seen = f"{int(value.min())} to {int(value.max())}"
            raise ValueError(f"{name} runs from {seen}; its dim has 0 to {classes - 1}")
        return value

    def _nudge_steps(self, steps: int | str | None) -> int | None:
        if steps == "spec":
            return self.nudge_steps
        if steps is None or (not isinstance(steps, str) and steps >= 1):
            return steps
        raise ValueError(f"nudge_steps is 1 or more, None (to convergence) or 'spec', not {steps!r}")

    def _strength(self, beta: float | str | None) -> float | str | None:
        if beta is None or beta == "auto" or (not isinstance(beta, str) and 0 < abs(beta) < float("inf")):
            return beta
        raise ValueError(f"the strength of a nudge is a finite number other than 0, or 'auto', not {beta!r}")

    # ---------------------------------------------------------------- the free phase

    def _phase(self, steps: int | None, step: float | None, tolerance: float | None) -> Phase:
        if steps is not None and steps < 0:
            raise ValueError(f"steps is 0 or more, not {steps!r}")
        if step is not None and not 0 < step < float("inf"):
            raise ValueError(f"step is a number above 0, not {step!r}")
        exact = steps is not None and tolerance is None
        count = self.relax_steps if steps is None else steps
        limit = self.relax_max_steps if steps is None and self.relax_max_steps else 10 * count
        each = self.relax_step if step is None else (step,) * len(self.state_names)
        goal = None if exact else (self.relax_tolerance if tolerance is None else tolerance)
        return Phase(count, each, goal, self.relax_chunk, max(count, limit))

    def _begin(self, states: dict[str, Tensor] | None, fixed: Fixed) -> list[Tensor]:
        begin = self._start(fixed) if states is None else self._listed(states, fixed)
        begin = [x.clone() for x in begin]
        self._project_(begin)
        return begin

    def _advance_(self, states: list[Tensor], force: Tensors, step: Sequence[float]) -> None:
        """One step, in place: every state moves by its step times its force, then onto its set."""
        for x, f, h in zip(states, force, step):
            x.add_(f, alpha=h)
        self._project_(states)

    def _change(self, states: Tensors, force: Tensors, step: Sequence[float]) -> Tensor:
        """The largest relative change of a state in one step: [batch]."""
        moved = [x.clone() for x in states]
        self._advance_(moved, force, step)
        return _relative_change(moved, states)

    def _residual(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
        return self._change(states, self._force(states, fixed), step)

    def _absorbed(self, states: Tensors, fixed: Fixed, step: Sequence[float], scale: float) -> Tensor:
        """Samples that exploded until rounding froze them, which would read as converged: [batch].

        The states are ``relax_explosion`` times as large as at the start and most coordinates move by less than an
        ulp, even where they are displaced a little. At an equilibrium they would be pushed back: there the force is a
        small rest of larger ones.
        """
        huge = torch.stack([x.reshape(len(x), -1).abs().amax(1) for x in states]).amax(0) > self.relax_explosion * scale
        frozen = huge & self._still(states, fixed, step) if bool(huge.any()) else huge
        if not bool(frozen.any()):
            return frozen
        return frozen & self._still([_displaced(x) for x in states], fixed, step)

    def _still(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
        """Samples most of whose coordinates a step moves by less than an ulp: [batch]."""
        force = self._force(states, fixed)
        ulp = torch.finfo(self.dtype).eps / 2
        still = [((h * f).abs() < ulp * x.abs()).reshape(len(x), -1) for x, f, h in zip(states, force, step)]
        return torch.cat(still, 1).to(self.dtype).mean(1) > 0.5

    def _energy(self, states: Tensors, fixed: Fixed) -> Tensor:
        return sum(self._terms(states, fixed), states[0].new_zeros(len(states[0])))

    def _record(
        self, kept: dict[str, list[Tensor]], states: Tensors, fixed: Fixed, step: Sequence[float]
    ) -> None:
        for name, values in kept.items():
            if name == "energy":
                values.append(self._energy(states, fixed))
            elif name == "residual":
                values.append(self._residual(states, fixed, step))
            elif name in self.state_names:
                values.append(states[self.state_names.index(name)].clone())
            else:
                raise ValueError(f"cannot record {name!r}; there are energy, residual, {', '.join(self.state_names)}")

    def _settle(
        self,
        states: list[Tensor],
        fixed: Fixed,
        phase: Phase,
        kept: dict[str, list[Tensor]] | None = None,
        before: Callable[[Tensor | None, list[Tensor]], None] | None = None,
    ) -> Free:
        """The free phase: at least ``steps``, then chunks for the samples whose residual is above the tolerance.

        ``before`` sees each step's samples (their rows; None: all) and their states before it.
        """
        kept = kept or {}
        self._record(kept, states, fixed, phase.step)
        scale = max(1.0, *(float(x.abs().max()) for x in states))
        count = torch.zeros(len(states[0]), dtype=torch.int64, device=self.device)
        rows = torch.arange(len(count), device=self.device)
        length = phase.steps or 0
        while True:
            every = len(rows) == len(count)
            part, rest = (states, fixed) if every else ([x[rows] for x in states], fixed.rows(rows))
            for _ in range(length):
                if before is not None:
                    before(None if every else rows, part)
                self._step_(part, rest, phase.step)
                if kept:
                    states = part if every else _put(states, rows, part)
                    self._record(kept, states, fixed, phase.step)
            states = part if every else _put(states, rows, part)
            count[rows] += length
            residual = self._residual(states, fixed, phase.step)
            goal = float("inf") if phase.tolerance is None else phase.tolerance
            rows = ((residual > goal) & (count < phase.max_steps)).nonzero()[:, 0]
            if len(rows) == 0:
                frozen = self._absorbed(states, fixed, phase.step, scale)
                return Free(states, residual.masked_fill(frozen, float("inf")), count, frozen)
            length = min(phase.chunk, phase.max_steps - int(count.max()))

    def _step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """One step of projected gradient descent, in place."""
        self._advance_(states, self._force(states, fixed), step)

    # ---------------------------------------------------------------- what all rules share

    def _gradients(
        self,
        sums: Sequence[dict[str, Tensor]],
        free: Free,
        fixed: Fixed,
        targets: Tensors,
        how: How,
        beta: float | None = None,
        kept: Tensor | None = None,
        seen: dict[str, Tensor] | None = None,
    ) -> Gradients:
        """Per-param sums added up and averaged, of a rule over the samples ``kept``, of what keeps healthy over all.

        A param that nothing reads gets zeros.
        """
        kept = torch.ones_like(free.frozen) if kept is None else kept
        steadying, health = self._health(free, fixed, how)
        params, owners = {}, {}
        for name, attribute in self.param_attributes.items():
            owners[name] = getattr(self, attribute)
            zero = torch.zeros_like(owners[name], requires_grad=False)
            params[name] = sum((part[name] for part in sums if name in part), zero) / max(1, int(kept.sum()))
            params[name] += sum((part[name] for part in steadying if name in part), zero) / len(kept)
        cost = self._cost(free.states, fixed, targets)[0]
        states, health = self._named(free.states), {**health, **(seen or {})}
        return Gradients(params, cost, states, free.residual, free.steps, beta, kept, owners, health)

    def _health(self, free: Free, fixed: Fixed, how: How) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        """Slopes of the penalty and of the residual defence, states held fixed; and what they are: [batch] each."""
        sums, seen = [], {"frozen": free.frozen}
        if how.defence:
            force, step = self._force(free.states, fixed), how.free.step
            sizes = [_norm(x).square() + 1e-12 for x in free.states]
            seen["defence"] = sum((h * _norm(f)).square() / s for f, h, s in zip(force, step, sizes))
            seeds = [2 * how.defence * h * h * f / _like(s, f) for f, h, s in zip(force, step, sizes)]
            sums.append(self._force_pullback(free.states, fixed, seeds)[1])
        if how.penalty:
            seen["penalty"], slopes = self._penalised(free.states, fixed, how.penalty)
            sums.append(slopes)
        return sums, seen

    def _penalised(self, states: Tensors, fixed: Fixed, weight: float) -> tuple[Tensor, dict[str, Tensor]]:
        raise ValueError(f"there is no Jacobian penalty in this module: {self.name} was compiled without one")

    # ---------------------------------------------------------------- equilibrium propagation

    def _nudged(self, free: Tensors, fixed: Fixed, targets: Tensors, beta: float, nudge: Phase) -> list[Tensor]:
        """The states after a nudged phase from the free ones, under F - beta dC/dz."""
        states = [x.clone() for x in free]
        watch = _Watch(nudge, self.dtype)
        for k in watch.steps():
            force = _less(self._force(states, fixed), self._cost_force(states, fixed, targets), beta)
            if watch.looks(k) and watch.settled(self._change(states, force, nudge.step)):
                break
            self._advance_(states, force, nudge.step)
        return states

    def _pair(
        self,
        free: Free,
        fixed: Fixed,
        targets: Tensors,
        how: How,
    ) -> Gradients:
        """Nudged phases at +beta and -beta in lockstep, and their contrast."""
        beta, nudge = self._beta(free, fixed, targets, how.nudge, how.beta), how.nudge
        plus, minus = [x.clone() for x in free.states], [x.clone() for x in free.states]
        watch, shots = _Watch(nudge, self.dtype), _Snapshots(self.snapshots)
        for k in watch.steps():
            up = _less(self._force(plus, fixed), self._cost_force(plus, fixed, targets), beta)
            down = _less(self._force(minus, fixed), self._cost_force(minus, fixed, targets), -beta)
            if watch.looks(k):
                change = torch.maximum(self._change(plus, up, nudge.step), self._change(minus, down, nudge.step))
                if watch.settled(change):
                    break
            self._advance_(plus, up, nudge.step)
            self._advance_(minus, down, nudge.step)
            shots.offer(k + 1, plus, minus)
        plus, minus = shots.best(plus, minus)
        return self._contrast(free, plus, minus, fixed, targets, 2 * beta, beta, how, shots)

    def _beta(
        self, free: Free, fixed: Fixed, targets: Tensors, nudge: Phase, beta: float | str | None, order: int = 2
    ) -> float:
        """The nudging strength; ``auto`` balances rounding (eps / displacement) and bias (displacement ^ order).

        The relative displacement of each state is measured under a trial nudge; with the largest r and the
        smallest s for a unit beta, ``eps / (s beta) = (r beta)^n`` gives ``beta^(n + 1) = eps / (s r^n)``, rounded
        to a power of two.
        """
        if beta is not None and beta != "auto":
            return float(beta)
        eps = torch.finfo(self.dtype).eps
        slopes = [c for c in self._cost_force(free.states, fixed, targets) if c is not None]
        drive = max((float(c.square().mean()) for c in slopes), default=0.0) ** 0.5
        if drive == 0.0:
            return 1.0
        size = max(float(x.square().mean()) for x in free.states) ** 0.5
        trial = eps ** (1 / 3) * (size or 1.0) / (drive * max(nudge.step) * min(nudge.steps or 20, 20))
        moved = self._nudged(free.states, fixed, targets, trial, nudge._replace(steps=nudge.steps or 20))
        ratios = []
        for m, x in zip(moved, free.states):
            scale = float(x.square().mean()) ** 0.5 or size or 1.0
            ratios.append(float((m - x).square().mean()) ** 0.5 / (trial * scale))
        ratios = [r for r in ratios if r > 0 and math.isfinite(r)]
        if not ratios:
            return 1.0
        best = (eps / (min(ratios) * max(ratios) ** order)) ** (1 / (order + 1))
        self.last_beta = 2.0 ** round(math.log2(best))
        return self.last_beta

    def _contrast(
        self,
        free: Free,
        plus: Tensors,
        minus: Tensors,
        fixed: Fixed,
        targets: Tensors,
        width: float,
        beta: float,
        how: How,
        shots: _Snapshots | None = None,
    ) -> Gradients:
        """Each param reads only the terms it is in; forces without an energy take <a, dF/dtheta> at z*.

        Samples whose nudged phases diverged take no part.
        """
        kept = _finite([*plus, *minus])
        if shots is not None and shots.diverging is not None:
            kept &= ~shots.diverging
        seen, fixed_seen, targets_seen = free.states, fixed, targets
        if not bool(kept.all()):
            rows = kept.nonzero()[:, 0]
            seen, plus, minus, targets_seen = ([x[rows] for x in part] for part in (seen, plus, minus, targets))
            fixed_seen = fixed.rows(rows)
        upper, lower = self._energy_gradient(plus, fixed_seen), self._energy_gradient(minus, fixed_seen)
        energy = {name: (upper[name] - lower[name]) / width for name in upper}
        a = [(m - p) / width for m, p in zip(minus, plus)]
        forces = self._user_force_gradient(seen, fixed_seen, a)
        direct = self._cost_gradient(seen, fixed_seen, targets_seen)
        shot = {} if shots is None or shots.taken is None else {"snapshot": shots.taken}
        return self._gradients([energy, forces, direct], free, fixed, targets, how, beta, kept, shot)

    def _centered_ep(self, begin: list[Tensor], fixed: Fixed, targets: Tensors, how: How) -> Gradients:
        """(dE/dtheta(z(+beta)) - dE/dtheta(z(-beta))) / (2 beta): bias O(beta^2)."""
        return self._pair(self._settle(begin, fixed, how.free), fixed, targets, how)

    # ---------------------------------------------------------------- the path of a free phase, and back

    def _walked(self, states: list[Tensor], fixed: Fixed, phase: Phase) -> tuple[Free, Path]:
        """The free phase with the path that it took."""
        path: Path = []

        def keep(rows: Tensor | None, part: list[Tensor]) -> None:
            path.append((rows, [x.clone() for x in part]))

        return self._settle(states, fixed, phase, before=keep), path

    def _steps_back(self, path: Path, seeds: list[Tensor], fixed: Fixed, phase: Phase) -> Iterator[Back]:
        """The steps in reverse; what they give is valid until the next one."""
        seeds = [s.clone() for s in seeds]
        last, rest = None, fixed
        for rows, states in reversed(path):
            if rows is not last:
                last, rest = rows, fixed if rows is None else fixed.rows(rows)
            part = seeds if rows is None else [s[rows] for s in seeds]
            through, pushed = self._pulled(states, rest, part, phase.step)
            back, slopes = self._force_pullback(states, rest, pushed)
            part = [u if b is None else u + b for u, b in zip(through, back)]
            seeds = part if rows is None else _put(seeds, rows, part)
            yield Back(rows, states, rest, pushed, slopes, seeds)

    def _pulled(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, step: Sequence[float]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """P^T seeds and step P^T seeds, P the derivative of the projection at z + step F(z)."""
        moved = [x + h * f for x, f, h in zip(states, self._force(states, fixed), step)]
        seeds = self._project_adjoint(moved, seeds)
        return list(seeds), [h * u for u, h in zip(seeds, step)]

    # ---------------------------------------------------------------- the implicit gradient

    def _implicit(self, begin: list[Tensor], fixed: Fixed, targets: Tensors, how: How) -> Gradients:
        """lambda = dC/dz + (I + step J)^T P^T lambda, then <step P^T lambda, dF/dtheta>."""
        free = self._settle(begin, fixed, how.free)
        seeds = _filled(self._cost_force(free.states, fixed, targets), free.states)
        pushed = self._solved(free.states, fixed, seeds, how.free.step)
        _, sums = self._force_pullback(free.states, fixed, pushed)
        return self._gradients([sums, self._cost_gradient(free.states, fixed, targets)], free, fixed, targets, how)

    def _solved(self, states: Tensors, fixed: Fixed, seeds: Tensors, step: Sequence[float]) -> list[Tensor]:
        """step P^T lambda, by GMRES. Raises RuntimeError where the system is singular or the solve stalls."""

        def operator(flat: Tensor) -> Tensor:
            through, pushed = self._pulled(states, fixed, _shaped(flat, states), step)
            back = self._force_adjoint(states, fixed, pushed)
            return flat - _flat([u if b is None else u + b for u, b in zip(through, back)])

        goal = 1e-12 if self.dtype == torch.float64 else 1e-5
        flat, residual = gmres(operator, _flat(seeds), tolerance=goal, restart=60, cycles=40)
        worst = float(residual.max())
        if not worst <= 1e3 * goal:
            finite = worst < float("inf")
            why = "there may be no isolated equilibrium here" if finite else "a derivative here is not finite"
            raise RuntimeError(f"the implicit solve stopped at a relative residual of {worst:.1e}; {why}")
        return self._pulled(states, fixed, _shaped(flat, states), step)[1]

    # ---------------------------------------------------------------- inside a host network

    def forward(self, clamps: dict[str, Tensor], rule: str = "implicit") -> dict[str, Tensor]:
        """Readouts at equilibrium, differentiable in params and real clamps (no double backward).

        ``rule`` is ``implicit``, or ``bptt`` for the gradient through all steps.
        """
        if rule not in ("implicit", "bptt"):
            raise ValueError(f"a network inside another is differentiated by implicit or bptt, not {rule}")
        names = [name for name, (_, classes) in self.clamp_shapes.items() if classes is None]
        owners = [getattr(self, attribute) for attribute in self.param_attributes.values()]
        values = _Equilibrium.apply(self, clamps, rule, names, *(clamps[name] for name in names), *owners)
        return dict(zip(self.readout_names, values))


class _Equilibrium(torch.autograd.Function):
    """Readouts at equilibrium as one operation of autograd."""

    @staticmethod
    def forward(ctx, net, clamps, rule, names, *tensors):
        """Relax and read out."""
        fixed = net._fixed(clamps)
        phase = net._phase(None, None, None)
        begin = net._begin(None, fixed)
        free, path = net._walked(begin, fixed, phase) if rule == "bptt" else (net._settle(begin, fixed, phase), None)
        ctx.net, ctx.names, ctx.path = net, names, path
        ctx.fixed, ctx.phase, ctx.states = fixed, phase, free.states
        return tuple(net._readouts(free.states, fixed))

    @staticmethod
    @once_differentiable
    def backward(ctx, *seeds):
        """The adjoint: the readouts' own slopes, then the equilibrium's or the steps'."""
        net, fixed, states = ctx.net, ctx.fixed, ctx.states
        params = [net._readout_gradient(states, fixed, seeds)]
        clamps = [net._readout_clamp_gradient(states, fixed, seeds)]
        back = _filled(net._readout_adjoint(states, fixed, seeds), states)
        if ctx.path is None:
            pushed = net._solved(states, fixed, back, ctx.phase.step)
            params.append(net._force_pullback(states, fixed, pushed)[1])
            clamps.append(net._clamp_gradient(states, fixed, pushed))
        else:
            begin = back
            for step in net._steps_back(ctx.path, back, fixed, ctx.phase):
                begin = step.seeds
                params.append(step.slopes)
                part = net._clamp_gradient(step.states, step.fixed, step.pushed)
                clamps.append(_spread(part, step.rows, len(back[0])))
            begin = net._project_adjoint(net._start(fixed), begin)
            params.append(net._start_gradient(fixed, begin))
            clamps.append(net._start_clamp_gradient(fixed, begin))
        return (None, None, None, None, *_totals(clamps, ctx.names), *_totals(params, net.param_attributes))


def _spread(parts: dict[str, Tensor], rows: Tensor | None, batch: int) -> dict[str, Tensor]:
    """What belongs to some samples as what belongs to all, zeros for the others."""
    if rows is None:
        return parts
    return {name: part.new_zeros((batch, *part.shape[1:])).index_copy_(0, rows, part) for name, part in parts.items()}


def _totals(parts: list[dict[str, Tensor]], names: Iterable[str]) -> list[Tensor | None]:
    """For each name the sum of the parts that have it, or None."""
    found = ([part[name] for part in parts if name in part] for name in names)
    return [sum(values[1:], values[0]) if values else None for values in found]
