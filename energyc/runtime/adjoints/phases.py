"""Autograd by the phases of a learning rule: a network nudged alone, by what is handed back at its rest."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from energyc.runtime.adjoints.autograd import settled_alone
from energyc.runtime.adjoints.unrolled import spread
from energyc.runtime.equations.gradients import restricted
from energyc.runtime.equations.inputs import rule_settings
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Estimate
from energyc.runtime.equations.rule import Estimator
from energyc.runtime.tensors.warning import warn_caller


@part("differentiation", "phases")
class ByPhases:
    """Autograd by the phases of a learning rule under the linear cost <g, z>, with g = dC/dz at the rest, held fixed.

    The equations are those of a network whose targets are g. With the adjoint a that the rule finds, the slope by an
    input x is <a, dF/dx>. ``found`` holds the estimate of each way back, and which samples took part in it; with
    ``warns`` a warning tells of others.
    """

    at_rest = True

    def __init__(self, rule: str, estimate: Estimator, warns: bool = False, **nudge: Any) -> None:
        self.rule, self.estimate, self.warns, self.nudge = rule, estimate, warns, nudge
        self.found: list[Estimate] = []

    settle = staticmethod(settled_alone)

    def slopes(self, ctx: Any, cotangents: list[Tensor]) -> list[dict[str, Tensor]]:
        """Slopes by params and clamps of cotangents ``cotangents`` of the equilibrium."""
        net, fixed, at_rest = ctx.net, ctx.fixed, ctx.phase._replace(steps=0, tolerance=None, auto=False)
        settings = rule_settings(net, at_rest, **self.nudge)
        found = self.estimate(net, [x.clone() for x in ctx.states], fixed, cotangents, settings)
        self.found.append(found)
        kept, rows = found.kept, None if bool(found.kept.all()) else found.kept.nonzero()[:, 0]
        if rows is not None and self.warns:
            count = f"{len(kept) - len(rows)} of {len(kept)} samples"
            why = f"{net.name}: the phases of {self.rule} diverged for {count}, which take no part in its slopes"
            warn_caller(why)
        at, (states,) = restricted(kept, fixed, found.free.states)
        assert found.adjoint is not None
        clamps = net._clamp_gradient(states, at, found.adjoint)
        return [*found.slopes, spread(clamps, rows, len(kept))]
