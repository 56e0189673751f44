"""From derived graphs to routines: what is computed once a relaxation, once a step, once an update; in which order.

It knows statements and their order, not the language they are printed in.

Imports: ``calculus``, ``derive``, ``ir``.
"""

from energyc.plan.passes import Passes
from energyc.plan.planner import Plan, PlannedRoutine, plan, reached, statements_for

__all__ = ["Passes", "Plan", "PlannedRoutine", "plan", "reached", "statements_for"]
