"""From derived graphs to routines: what is computed once a relaxation, once a step, once an update; in which order."""

from energyc.plan.passes import Passes
from energyc.plan.planner import Plan, PlannedRoutine, plan, reached, statements_for

__all__ = ["Passes", "Plan", "PlannedRoutine", "plan", "reached", "statements_for"]
