"""Phases of a relaxation: a projected step, the free phase and how it settles, a nudged phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from energyc.runtime.equations import Equations
from energyc.runtime.graphs import repeated
from energyc.runtime.records import Fixed, FreePhase, Phase, Tensors
from energyc.runtime.states import finite, norm, put_, relative_change, subtract, take

#: Called before each step of a free phase: its number, the samples that take it (their rows; None: all), their states.
#: It may give the force there, if it had to compute it.
Observer = Callable[[int, Tensor | None, list[Tensor]], Tensors | None]
#: Called before each step of a solver: its number, the states. It may give the force there.
Seen = Callable[[int, list[Tensor]], Tensors | None]
#: What a nudge subtracts from the force, of states, what is fixed, and targets.
Drive = Callable[[Tensors, Fixed, Tensors], Sequence[Tensor | None]]


def advance_(net: Equations, states: list[Tensor], force: Tensors, step: Sequence[float]) -> None:
    """One step, in place: every state moves by its step times its force, then onto its set."""
    for x, f, h in zip(states, force, step):
        x.add_(f, alpha=h)
    net._project_(states)


def gradient_step(net: Equations, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
    """One step of projected gradient descent, in place."""
    advance_(net, states, net._force(states, fixed), step)


def free_steps(
    net: Equations, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]
) -> None:
    """Steps of a free phase in place, the first of them with the number ``first``."""

    def some(own: list[Tensor], at: Fixed, _: Tensors) -> None:
        for number in range(first, first + count):
            net._step_(own, net._at(at, number), step)

    if net.numbered or count < 2:
        some(states, fixed, ())
    else:
        repeated(net, ("free", count, *step), some, states, fixed)


def change(net: Equations, states: Tensors, force: Tensors, step: Sequence[float]) -> Tensor:
    """The largest relative change of a state in one step: [batch]."""
    moved = [x.clone() for x in states]
    advance_(net, moved, force, step)
    return relative_change(moved, states)


def residual(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """The measure of the next step: [batch]."""

    def look(left: list[Tensor], at: Fixed, own: list[Tensor]) -> None:
        moved = [x.clone() for x in own]
        advance_(net, moved, net._force(own, at), step)
        left[0].copy_(measured(net, own, moved, at, step))

    left = states[0].new_empty(len(states[0]))
    repeated(net, ("residual", *step), look, [left], fixed, states)
    return left


def measured(net: Equations, before: Tensors, after: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """What ``relax_measure`` says of a step: [batch], infinite where it is no finite number.

    The ``residual`` is the largest relative change of a state; the ``gradient`` the length of the gradients that its
    flow names, of other states that of the move by the step size; the ``energy`` its change in either direction.
    """
    if net.relax_measure == "residual":
        return relative_change(after, before)
    if net.relax_measure == "energy":
        value = (energy(net, after, fixed) - energy(net, before, fixed)).abs()
    else:
        rest = [n not in net.sloped and h > 0 for n, h in zip(net.state_names, step)]  # a step of 0 holds a state
        moves = [(a - b) / h for own, a, b, h in zip(rest, after, before, step) if own]
        value = torch.stack([norm(x) for x in (*net._slopes(before, fixed), *moves)]).norm(dim=0)
    return value.nan_to_num(float("inf"), float("inf"))


def energy(net: Equations, states: Tensors, fixed: Fixed) -> Tensor:
    """The sum of the energy terms: [batch]."""
    return sum(net._terms(states, fixed), states[0].new_zeros(len(states[0])))


# -------------------------------------------------------------------- the free phase


class PhaseTrace:
    """Energy, residual or states after each step of a free phase, the start included."""

    def __init__(self, net: Equations, names: Sequence[str]) -> None:
        for name in names:
            if name not in ("energy", "residual", *net.state_names):
                known = ", ".join(net.state_names)
                raise ValueError(f"cannot record {name!r}; there are energy, residual, {known}")
        self.net = net
        self.values: dict[str, list[Tensor]] = {name: [] for name in names}

    def record(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> None:
        """Append what the states are now."""
        for name, values in self.values.items():
            if name == "energy":
                values.append(energy(self.net, states, fixed))
            elif name == "residual":
                values.append(residual(self.net, states, fixed, step))
            else:
                values.append(states[self.net.state_names.index(name)].clone())

    def stacked(self) -> dict[str, Tensor]:
        """[steps + 1, batch, ...] each."""
        return {name: torch.stack(values) for name, values in self.values.items()}


class Pace:
    """The step sizes of a free phase: those that are set. ``evaluations`` of the force went into their choice."""

    def __init__(self, net: Equations, states: Tensors, fixed: Fixed, phase: Phase) -> None:
        self.step = phase.step
        self.evaluations = 0

    def reviewed(self, states: list[Tensor], fixed: Fixed, left: Tensor, rows: Tensor, taken: int) -> Tensor:
        """The residual of all samples after a look at ``rows``, which may be put back, and ``taken`` steps."""
        return left


def walk(
    net: Equations,
    states: list[Tensor],
    fixed: Fixed,
    first: int,
    count: int,
    step: Sequence[float],
    seen: Seen | None = None,
) -> None:
    """Steps of projected gradient descent in place, the first of them with the number ``first``."""
    if seen is None:
        net._steps_(states, fixed, first, count, step)
        return
    for number in range(first, first + count):
        force = seen(number, states)
        if force is None:
            net._step_(states, net._at(fixed, number), step)
        else:
            advance_(net, states, force, step)


def settle(
    net: Equations,
    states: list[Tensor],
    fixed: Fixed,
    phase: Phase,
    trace: PhaseTrace | None = None,
    before: Observer | None = None,
) -> FreePhase:
    """The free phase: at least ``phase.steps``, then chunks for the samples whose residual is above the tolerance.

    With ``relax_exit`` ``early`` there are chunks from the first step on. With ``inference``, outside of training,
    there are at most ``phase.steps`` and a look at each: the residual is then that of the step just made. What the
    choice of the step cost is counted among the steps, and so are rough steps at the start. A look waits once for the
    device, to know which samples go on; the last one does not, where no further steps are left.
    """
    leaves = net.relax_exit == "inference" and phase.tolerance is not None
    if leaves and net.training:
        phase, leaves = phase._replace(tolerance=None), False
    if leaves:
        phase = phase._replace(chunk=1, max_steps=phase.steps or 0)
    early = phase.tolerance is not None and (leaves or net.relax_exit == "early")
    scale = torch.stack([x.abs().max() for x in states]).max().clamp_min(1.0)
    pace = (net._pace if phase.auto else Pace)(net, states, fixed, phase)
    least = 0 if early else phase.steps or 0
    most = least if phase.tolerance is None else phase.max_steps
    goal = float("inf") if phase.tolerance is None else phase.tolerance
    patience = 1 if phase.tolerance is None else net.relax_patience
    rows = torch.arange(len(states[0]), device=net.device)
    seen = watching(states, rows, fixed, pace.step, trace, before) if trace is not None or before is not None else None
    rough = phase._replace(chunk=net.relax_chunk, step=pace.step, max_steps=most - pace.evaluations)
    taken = net._approach_(states, fixed, rough, seen)
    count = torch.full_like(rows, pace.evaluations + taken)
    looks, left = torch.zeros_like(count), torch.full((len(count),), float("inf"), device=net.device, dtype=net.dtype)
    length = phase.chunk if early or phase.auto else least - taken
    length = max(0, min(max(length, phase.chunk if taken else 0), most - pace.evaluations - taken))
    while True:
        everyone = len(rows) == len(count)
        part, part_fixed = (states, fixed) if everyone else (take(states, rows), fixed.rows(rows))
        earlier = [x.clone() for x in part] if leaves else []
        seen = None if trace is None and before is None else watching(states, rows, fixed, pace.step, trace, before)
        net._walk_(part, part_fixed, taken, length, pace.step, seen)
        taken += length
        states = part if everyone else put_(states, rows, part)
        count[rows] += length
        if leaves and length:
            left[rows] = measured(net, earlier, part, part_fixed, pace.step)
        else:
            left[rows] = net._residual(part, part_fixed, pace.step)
        spent = pace.evaluations
        left = pace.reviewed(states, fixed, left, rows, taken)
        count[rows] += pace.evaluations - spent
        looks = torch.where(left <= goal, looks + 1, 0)
        done = pace.evaluations + taken
        if done >= max(least, most):
            break
        moving = left.isfinite() & ((count < least) | ((looks < patience) & (count < most)))
        rows = (moving | (net.coupled & moving.any())).nonzero()[:, 0]
        if len(rows) == 0:
            break
        length = min(phase.chunk, (least if done < least else most) - done)
    if trace is not None:
        trace.record(states, fixed, pace.step)
    stuck = frozen(net, states, fixed, pace.step, scale)
    return FreePhase(states, together(net, states, left.masked_fill(stuck, float("inf"))), count, stuck, pace.step)


def watching(
    states: list[Tensor],
    rows: Tensor,
    fixed: Fixed,
    step: Sequence[float],
    trace: PhaseTrace | None,
    before: Observer | None,
) -> Seen:
    """What looks at some samples before each of their steps, for a trace of all of them and for an observer."""
    everyone = len(rows) == len(states[0])

    def seen(number: int, part: list[Tensor]) -> Tensors | None:
        if trace is not None:
            trace.record(part if everyone else put_(states, rows, part), fixed, step)
        return None if before is None else before(number, None if everyone else rows, part)

    return seen


def together(net: Equations, states: Tensors, residual: Tensor) -> Tensor:
    """The residual; infinite for a whole batch whose samples depend on each other if one of them exploded: [batch]."""
    if not net.coupled or bool(finite([residual, *(x.square() for x in states)]).all()):
        return residual
    return torch.full_like(residual, float("inf"))


def frozen(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float], scale: Tensor) -> Tensor:
    """Samples that exploded until rounding stopped them, which would read as converged: [batch].

    The states are ``relax_explosion`` times as large as at the start and most coordinates move by less than an ulp,
    even when they are displaced a little. At an equilibrium they would be pushed back: there the force is a small
    remainder of larger ones.
    """
    if net.relax_explosion is None:
        return torch.zeros(len(states[0]), dtype=torch.bool, device=net.device)
    largest = torch.stack([x.reshape(len(x), -1).abs().amax(1) for x in states]).amax(0)
    stuck = largest > net.relax_explosion * scale
    if bool(stuck.any()):
        stuck &= immobile(net, states, fixed, step)
    if bool(stuck.any()):
        stuck &= immobile(net, [displaced(x) for x in states], fixed, step)
    return stuck


def immobile(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """Samples most of whose coordinates a step moves by less than an ulp: [batch]."""
    force = net._force(states, fixed)
    ulp = torch.finfo(net.dtype).eps / 2
    still = [((h * f).abs() < ulp * x.abs()).reshape(len(x), -1) for x, f, h in zip(states, force, step)]
    return torch.cat(still, 1).to(net.dtype).mean(1) > 0.5


def displaced(x: Tensor) -> Tensor:
    """The state with its coordinates a little larger and smaller in turn."""
    width = torch.finfo(x.dtype).eps ** 0.25
    turns = torch.arange(x[0].numel(), device=x.device).view(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns.to(x.dtype))


# -------------------------------------------------------------------- a nudged phase


class NudgeMonitor:
    """Counts the steps of a nudged phase; one without a number of steps ends when nothing changes any more."""

    def __init__(self, nudge: Phase, dtype: torch.dtype) -> None:
        self.nudge = nudge
        self.smallest = torch.finfo(dtype).eps / 8
        self.best = float("inf")
        self.stalled = 0

    def steps(self) -> range:
        """The steps to take at most."""
        return range(100_000 if self.nudge.steps is None else self.nudge.steps)

    def strides(self, every: int | None = None) -> Iterator[tuple[int, int]]:
        """The number of a step and how many to take from it on, until there is something to look at.

        That is the change, where the phase runs to convergence, and whatever is looked at ``every`` so many steps.
        """
        last = len(self.steps())
        looks = [every] if every is not None else []
        looks += [self.nudge.chunk] if self.nudge.steps is None else []
        k = 0
        while k < last:
            stop = min([last, *(k + look - k % look for look in looks)])
            yield k, stop - k
            k = stop

    def is_due(self, k: int) -> bool:
        """Whether to measure the change at step k."""
        return self.nudge.steps is None and k % self.nudge.chunk == 0

    def settled(self, change: Tensor) -> bool:
        """Whether the change has reached rounding, or falls no more; samples that diverged have none."""
        now = float(change.masked_fill(~change.isfinite(), 0.0).max())
        self.stalled = 0 if now < self.best else self.stalled + 1
        self.best = min(self.best, now)
        return now <= self.smallest or self.stalled == 20


def nudged(
    net: Equations, free: Tensors, fixed: Fixed, targets: Tensors, beta: float, nudge: Phase, drive: Drive | None = None
) -> list[Tensor]:
    """The states after a nudged phase from the free ones, under F - beta ``drive``, which is dC/dz by default."""
    drive = drive or net._cost_force
    states = [x.clone() for x in free]
    monitor = NudgeMonitor(nudge, net.dtype)
    for k, count in monitor.strides():
        if monitor.is_due(k):
            force = subtract(net._force(states, fixed), drive(states, fixed, targets), beta)
            if monitor.settled(change(net, states, force, nudge.step)):
                break
        net._nudged_steps_(states, fixed, targets, beta, drive, count, nudge.step)
    return states


def nudged_steps(
    net: Equations,
    states: list[Tensor],
    fixed: Fixed,
    targets: Tensors,
    beta: float,
    drive: Drive,
    count: int,
    step: Sequence[float],
    turned: int | None = None,
) -> None:
    """Steps under F - beta ``drive``, in place; from the sample ``turned`` on, beta is negative."""

    def some(own: list[Tensor], at: Fixed, aims: Tensors) -> None:
        strength = beta if turned is None else opposed(beta, turned, own[0])
        for _ in range(count):
            advance_(net, own, subtract(net._force(own, at), drive(own, at, aims), strength), step)

    key = ("nudged", drive == net._nudge, drive == net._cost_force, beta, count, turned, *step)
    repeated(net, key, some, states, fixed, targets)


def opposed(beta: float, turned: int, x: Tensor) -> Tensor:
    """The strength of each sample's nudge: beta, and from the sample ``turned`` on -beta: [batch]."""
    strength = x.new_full((len(x),), beta)
    strength[turned:] = -beta
    return strength


def tracking_steps(
    net: Equations,
    plus: list[Tensor],
    minus: list[Tensor],
    fixed: Fixed,
    targets: Tensors,
    beta: float,
    count: int,
    step: Sequence[float],
) -> None:
    """Steps of two nudged phases, in place: F -+ beta dC/dz -+ (J_nc - J_nc^T)(m) v.

    m is their midpoint and v half of what separates them.
    """
    pairs = len(plus)

    def some(own: list[Tensor], at: Fixed, aims: Tensors) -> None:
        tracked(net, own[:pairs], own[pairs:], at, aims, beta, count, step)

    repeated(net, ("tracking", beta, count, *step), some, [*plus, *minus], fixed, targets)


def tracked(
    net: Equations,
    plus: list[Tensor],
    minus: list[Tensor],
    fixed: Fixed,
    targets: Tensors,
    beta: float,
    count: int,
    step: Sequence[float],
) -> None:
    """The steps of ``tracking_steps`` one by one."""
    for _ in range(count):
        middle = [(p + m) / 2 for p, m in zip(plus, minus)]
        half = [(p - m) / 2 for p, m in zip(plus, minus)]
        turn = net._correction(middle, fixed, half)
        up = subtract(net._force(plus, fixed), net._cost_force(plus, fixed, targets), beta)
        down = subtract(net._force(minus, fixed), net._cost_force(minus, fixed, targets), -beta)
        advance_(net, plus, subtract(up, turn), step)
        advance_(net, minus, subtract(down, turn, -1.0), step)
