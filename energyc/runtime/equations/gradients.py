"""From what a learning rule measured to the gradients that a user gets, with the penalties that keep it healthy."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.func import jvp
from torch.nn.functional import normalize

from ..tensors.states import Tensors, filled, flatten, norm, per_sample, unflatten
from .by_autograd import pulled_back
from .equations import Equations
from .records import Estimate, Fixed, FreePhase, Gradients, RuleSettings, Slopes, restricted, summed

#: What was measured, its name first: [batch]; and the slope by param of its weight times it, summed over the batch.
Penalty = tuple[str, Tensor, Slopes]
#: Steps of the power iteration that turn the last step into the slowest mode.
ITERATIONS = 2


def averaged(net: Equations, found: Estimate, fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Gradients:
    """A rule's slopes averaged over the samples that it kept, those of penalty and defence over all.

    The memory of the slopes is used up. A param that nothing reads gets zeros.
    """
    free, kept = found.free, found.kept
    regularization, measured = penalised(net, free, fixed, settings)
    owners = net._owners()
    count, params = max(1, int(kept.sum())), {}
    for name, owner in owners.items():
        means = [mean_slope(found.slopes, name, count), mean_slope(regularization, name, len(kept))]
        params[name] = added([mean for mean in means if mean is not None], owner)
    cost = net._cost(free.states, fixed, targets)[0]
    states, health = dict(zip(net.state_names, free.states)), {**measured, **found.health}
    return Gradients(params, cost, states, free.residual, free.steps, found.beta, kept, owners, health, free.step)


def mean_slope(slopes: Sequence[Slopes], name: str, count: int) -> Tensor | None:
    """The sum of all slopes of a param, divided by a number of samples; None where it has none."""
    total = summed(slopes, name)
    return None if total is None else total.div_(count)


def added(means: Sequence[Tensor], owner: Tensor) -> Tensor:
    """Fresh tensors added up, zeros where there is none."""
    if not means:
        return torch.zeros_like(owner, requires_grad=False)
    return means[0] if len(means) == 1 else means[0].add_(means[1])


def penalised(
    net: Equations, free: FreePhase, fixed: Fixed, settings: RuleSettings
) -> tuple[list[Slopes], dict[str, Tensor]]:
    """Slopes of what keeps training healthy, states held fixed, and what was measured: [batch] each."""
    found = [residual_defence(net, free, fixed, settings)] if settings.defence else []
    if settings.penalty:
        penalty = contraction_penalty if net.contraction_rate else jacobian_penalty
        found.append(penalty(net, free, fixed, settings))
    return [slope for _, _, slope in found], {"frozen": free.frozen, **{name: value for name, value, _ in found}}


def residual_defence(net: Equations, free: FreePhase, fixed: Fixed, settings: RuleSettings) -> Penalty:
    """|step F|^2 / |z|^2 of each sample, and the slope of ``settings.defence`` times it.

    Raises ValueError where a kink moves by a proximal step, which the force does not tell of.
    """
    if net.kinked:
        raise ValueError(f"a residual defence reads the whole force, and {net.name} has kinks that move proximally")
    force, step = net._force(free.states, fixed), free.step
    sizes = [norm(x).square() + 1e-12 for x in free.states]
    value = sum((h * norm(f)).square() / s for f, h, s in zip(force, step, sizes))
    cotangents = [2 * settings.defence * h * h * f / per_sample(s, f) for f, h, s in zip(force, step, sizes)]
    return "defence", torch.as_tensor(value), net._force_vjp(free.states, fixed, cotangents)[1]


def jacobian_penalty(net: Equations, free: FreePhase, fixed: Fixed, settings: RuleSettings) -> Penalty:
    """|J_nc w|^2 / dim for one w a sample (Hutchinson 1989), and the slope of ``settings.penalty`` times it."""
    along = settings.directions or [torch.randn_like(x) for x in free.states]
    weight, size = settings.penalty, sum(x[0].numel() for x in free.states)

    def pushed(net: Equations, _: Tensors, fixed: Fixed) -> tuple[Tensor, ...]:
        """J_nc w for each state."""

        def force(*states: Tensor) -> tuple[Tensor, ...]:
            return tuple(filled(net._nonconservative_force(states, fixed), states))

        found: tuple[Tensor, ...] = jvp(force, tuple(free.states), tuple(along))[1]
        return found

    ahead = pushed(net, free.states, fixed)
    square = sum(norm(x).square() for x in ahead)
    slopes = pulled_back(net, pushed, fixed, [2 * weight / size * x for x in ahead])[1]
    return "penalty", torch.as_tensor(square) / size, slopes


def contraction_penalty(net: Equations, free: FreePhase, fixed: Fixed, settings: RuleSettings) -> Penalty:
    """The factor rho of a step along its slowest mode, and the slope of ``settings.penalty`` max(0, rho - rate)^2.

    The step is z <- P(z + h F(z)), whose derivative M multiplies an error close to the equilibrium. The last step lies
    mostly along the mode that decays slowest; ``ITERATIONS`` products with M sharpen it into a unit vector w, and
    rho = |M w|. A sample that no longer moves has rho = 0.

    Raises ValueError where a kink moves by a proximal step, which the force does not tell of.
    """
    if net.kinked:
        raise ValueError(f"train.penalty reads the whole force, and {net.name} has kinks that move proximally")
    states, step = free.states, free.step
    move = [h * f for h, f in zip(step, net._force(states, fixed))]
    moved = [x + m for x, m in zip(states, move)]

    def stepped(mode: Tensor) -> Tensor:
        """M times a vector of each sample; the derivative of a projection is symmetric."""
        w = unflatten(mode, states)
        pushed = net._force_jvp(states, fixed, w)
        return flatten(net._project_adjoint(moved, [x + h * p for x, h, p in zip(w, step, pushed)]))

    mode = normalize(flatten(net._project_adjoint(moved, move)))
    for _ in range(ITERATIONS):
        mode = normalize(stepped(mode))
    ahead = stepped(mode)
    rho = norm(ahead)
    excess = (rho - (net.contraction_rate or 0.0)).clamp_min(0)
    slow = excess > 0
    if not bool(slow.any()):
        return "contraction", rho, {}
    pull = 2 * settings.penalty * excess[:, None] * normalize(ahead)
    _, (states, moved, w, pulled) = restricted(
        slow, fixed, states, moved, unflatten(mode, states), unflatten(pull, states)
    )
    cotangents = [h * x for h, x in zip(step, net._project_adjoint(moved, pulled))]

    def pushed(net: Equations, _: Tensors, fixed: Fixed) -> Tensors:
        """J w of the samples that are slow."""
        return net._force_jvp(states, restricted(slow, fixed)[0], w)

    return "contraction", rho, pulled_back(net, pushed, fixed, cotangents)[1]
