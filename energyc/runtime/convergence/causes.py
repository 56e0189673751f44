"""Why samples do not settle, in words: each cause with its reason and its remedy.

Trials on a network (``non_convergence``), its spectrum (``verify``) and the rows of a run (``train``) find causes, and
each is told in the words of this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

DAMPED = "a lower gain, or more damping in the energy"
#: The number of epsilons below which a tolerance is within rounding.
ROUNDINGS = 8


class NonConvergence(NamedTuple):
    """Why samples do not settle, and what helps; either is empty where nothing is known of it.

    ``cause`` is ``jump``, ``no floor``, ``step``, ``slow`` or ``unknown`` where it was found by trials on the network:
    the remedy of ``step`` and ``slow`` was tried on these samples, and all settled. ``settings``, ``rounding``,
    ``explosion``, ``unstable`` and ``gain`` are found otherwise. ``seen`` is a fact that another cause explains.
    """

    cause: str
    why: str = ""
    helps: str = ""

    def __str__(self) -> str:
        return f"{self.why}; what helps: {self.helps}" if self.helps else self.why


# -------------------------------------------------------------------- the force


def force_jumps(state: str) -> NonConvergence:
    """The force on a state jumps where the state would settle."""
    why = (
        f"state {state} goes back and forth where its force jumps, as that of abs(u) does at u = 0; a smaller step"
        " makes the way shorter, and neither that nor more steps ends it"
    )
    smooth = "sqrt(u^2 + w^2) for abs(u) and tanh(u/w) for sign(u), with relax.step below 2w over their factor"
    signs = "for an l1 norm, two states `in nonnegative` with their sum for abs(u) and their difference for u"
    return NonConvergence("jump", why, f"a force without a jump: {smooth}; or {signs}")


def no_floor(sizes: Sequence[float], energies: Sequence[float], falls: bool) -> NonConvergence:
    """States grow along a path on which the energy ``falls``, or which no energy explains."""
    grow = f"the states grow from {sizes[0]:.2g} to {sizes[-1]:.2g} and do not slow down"
    floor = f"the energy has no floor: it falls from {energies[0]:.3g} to {energies[-1]:.3g} as"
    box = "a box or another set for them, as `state z[D] in [-1, 1]`"
    why = f"{floor if falls else 'nothing holds the states:'} {grow}"
    return NonConvergence("no floor", why, f"{box}, or a term that grows faster than what falls")


def no_fixed_point(residual: float, steps: int) -> NonConvergence:
    """No sample settled in the limit, at any size of the step."""
    where = f"the residual is {residual:.1e} after {steps} steps" if math.isfinite(residual) else "the states exploded"
    return NonConvergence("seen", f"no fixed point was found: {where}, and smaller steps found none either")


def unstable(real_part: float, therefore: str, helps: str = "") -> NonConvergence:
    """An eigenvalue of the Jacobian moves states away, ``therefore`` ..."""
    return NonConvergence(
        "unstable", f"the Jacobian has an eigenvalue with real part {real_part:.3g} > 0: {therefore}", helps
    )


def unstable_on_sets(sets: Sequence[str], radius: float) -> NonConvergence:
    """States are held on the border of their sets, where a step multiplies errors by ``radius``."""
    where = f"where it ended, on the sets of {', '.join(sets)},"
    return NonConvergence("unstable", f"{where} a step multiplies errors by {radius:.4g}")


def long_way(stability: str) -> NonConvergence:
    """Nothing moves the states away where the phase ended."""
    why = f"where it ended {stability}: the way is long, or it circles"
    return NonConvergence("slow", why, "more steps: a higher relax.max_steps")


def lower_gain(factor: float | None) -> NonConvergence:
    """The network settles with ``factor`` times its weights; None: with none that were tried."""
    if factor is None:
        return NonConvergence("gain", "", DAMPED)
    settles = f"it settles with {factor:g} times these weights (start smaller, or raise the penalty)"
    return NonConvergence("gain", "", f"a lower gain: {settles}")


def some_unsettled(count: int, samples: int) -> NonConvergence:
    """Some samples do not settle, others do."""
    return NonConvergence("seen", f"{count} of {samples} samples do not settle")


def exploded(dtype: str, frozen: bool) -> NonConvergence:
    """States grew without bound in a dtype, perhaps until rounding froze them."""
    grew = f"the states grew until rounding in {dtype} froze them: an explosion, not convergence"
    why = f"the residual is set to infinity: {grew}" if frozen else f"the states are no longer finite in {dtype}"
    return NonConvergence("explosion", why, "a lower gain, a smaller step, or train.dtype = float64")


# -------------------------------------------------------------------- the step


def step_leaves(radius: float, move: str) -> NonConvergence:
    """A step or a sweep from near the fixed point leads away from it."""
    why = f"a {move} multiplies errors at the fixed point by {radius:.4g}: it cannot stay there"
    return NonConvergence("seen", why)


def no_stable_sweep() -> NonConvergence:
    """The fixed point is a saddle of block descent, which has no step that could be smaller."""
    return NonConvergence("gain", "sweeps have no step size", "a lower gain")


def stable_below(limits: Sequence[float], stability: str, estimated: bool) -> NonConvergence:
    """The fixed point is stable for steps below ``limits``; ``stability`` is what is known of the real parts."""
    sizes = " and ".join(f"{limit:.3g}" for limit in limits)
    why = f"{stability}: the step is too large" if stability else "the step is too large"
    return NonConvergence("step", why, f"a smaller step: it is stable below {'about ' if estimated else ''}{sizes}")


def no_stable_step(stability: str) -> NonConvergence:
    """No smaller step was found to be stable."""
    why = f"{stability}, and no smaller step was found to be stable"
    return NonConvergence("step", why, "a smaller step, or a lower gain")


def settle_with(step: float, count: int) -> NonConvergence:
    """Some of the samples settle with a smaller step."""
    why = f"with steps of {step:.3g} {count} of these settle: the step is too large"
    return NonConvergence("step", why, f"a smaller step: relax.step = {step:.3g}")


def large_step(factor: float, steps: int, settings: str) -> NonConvergence:
    """With ``factor`` of the step all samples settled in some steps; ``settings`` are those that do it."""
    why = f"relax.step is too large for the curvature there: with {factor:g} of it they settle in {steps} steps"
    return NonConvergence("step", why, settings)


def curvature_steps(step: float, steps: int, settings: str) -> NonConvergence:
    """With steps that follow the curvature, down to ``step``, all samples settled; ``settings`` choose them."""
    why = f"relax.step is too large for the curvature there, of up to about {1 / step:.2g}"
    return NonConvergence(
        "step", f"{why}: with steps of {step:.2g} by the curvature they settle in {steps} steps", settings
    )


def settles_slowly(steps: int, settings: str) -> NonConvergence:
    """All samples settled in more steps; ``settings`` allow them."""
    return NonConvergence("slow", f"it settles slowly: in {steps} steps", settings)


def in_vain(longer: int, samples: int) -> NonConvergence:
    """Neither more steps nor smaller ones were enough."""
    tried = f"{longer} times as many steps and steps of 1/4 to 1/64 were tried on {samples} of them in vain"
    return NonConvergence("unknown", tried, "a lower gain (smaller weights), or more damping in the energy")


def above_tolerance(residual: float, steps: int, tolerance: float) -> NonConvergence:
    """The phase ended above its tolerance."""
    return NonConvergence(
        "seen", f"the residual is {residual:.1e} after {steps} steps, above the tolerance {tolerance:.1e}"
    )


def remaining(total: int | None, more: float) -> NonConvergence:
    """The phase would take ``total`` steps, ``more`` beyond those made; None where that is too many or unknown."""
    if total is not None:
        return NonConvergence("slow", "it settles slowly", f"more steps: relax.max_steps = {total}")
    if math.isfinite(more):
        return NonConvergence("slow", f"it would take about {more:.1g} steps more", DAMPED)
    return NonConvergence("slow", "it settles slowly", "more steps: a higher relax.max_steps")


# -------------------------------------------------------------------- the settings


def fixed_steps(steps: int, chosen: bool = False) -> NonConvergence:
    """The free phase has no tolerance, as configured or as ``chosen`` for one call."""
    helps = "relax.tolerance with relax.max_steps, more relax.steps, a smaller relax.step"
    return NonConvergence("settings", without_tolerance(steps, chosen), helps)


def without_tolerance(steps: int, chosen: bool) -> str:
    """Why samples are not settled where no tolerance says that they should be."""
    made = f"exactly {steps} steps are made"
    return made if chosen else f"relax has no tolerance, so {made}"


def steps_are_the_network(rule: str, steps: int, numbered: bool, found: NonConvergence | None) -> str:
    """Why samples need not settle by a ``rule`` whose gradient is that of the steps, and what would bring them to rest.

    ``numbered`` steps differ, so that there is no rest; otherwise ``found`` is what trials showed, None without any.
    """
    each = f"its {steps} steps differ, so there is no rest" if numbered else f"exactly {steps} steps are made"
    why = f"{each}, and the gradient by {rule} is that of these steps, settled or not"
    if numbered:
        return why
    cause = found or fixed_steps(steps)
    tried = f" ({found.why})" if found and found.why else ""
    return f"{why}; what helps if they are to settle{tried}: {cause.helps}"


def not_reached(tolerance: float, steps: float, max_steps: int, chosen: bool = False) -> NonConvergence:
    """The free phase ended above its tolerance, which is configured or ``chosen`` for one call."""
    more = f"more steps (relax.max_steps, now {max_steps}), or a smaller relax.step"
    return NonConvergence("settings", tolerance_missed(tolerance, steps, chosen), more)


def tolerance_missed(tolerance: float, steps: float, chosen: bool) -> str:
    """Why samples are not settled where a tolerance says that they should be."""
    name = "the tolerance" if chosen else "relax.tolerance"
    return f"{name} = {tolerance:g} is not reached in {steps:.0f} steps"


def rounds_away(tolerance: float, epsilon: float) -> bool:
    """Return whether a tolerance is less than rounding leaves in a dtype with this epsilon."""
    return tolerance < ROUNDINGS * epsilon


def within_rounding(tolerance: float) -> NonConvergence:
    """The tolerance asks for more than the dtype has."""
    why = f"relax.tolerance = {tolerance:g} is within rounding"
    return NonConvergence("rounding", why, "a higher relax.tolerance, or train.dtype = float64")


# -------------------------------------------------------------------- the way


def drifting(share: float) -> NonConvergence:
    """A one-sided contrast reads the way that the free phase had yet to go, ``share`` of that of the nudge."""
    why = f"as configured the free phase still moves {share:.1g} times as far as the nudge, which a one-sided contrast"
    return NonConvergence("slow", f"{why} reads", "a tighter relax.tolerance, a larger nudge.beta, or centered-ep")
