"""From derived graphs to routines: what is computed per relaxation, per step and per update, and in which order.

It knows statements and their order, not the language they are printed in.

Imports: ``calculus``, ``conservativeness``, ``derive``, ``diagnostics``, ``enclosures``, ``fields``, ``ir``,
``network``, ``runtime``, ``settings``, ``sparse``.
"""

from energyc.code.plan.module import ModulePlan, features_of, plan_module
from energyc.code.plan.planner import Passes, Plan, PlannedRoutine, force_flops, plan, reached, statements_for

__all__ = [
    "ModulePlan",
    "Passes",
    "Plan",
    "PlannedRoutine",
    "features_of",
    "force_flops",
    "plan",
    "plan_module",
    "reached",
    "statements_for",
]
