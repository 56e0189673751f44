"""The names that a module has for itself, of which nothing of a spec takes one; and where its parts are."""

from __future__ import annotations

from pathlib import Path

from energyc.code.targets.arrays.parts import Parts
from energyc.code.targets.arrays.pure import ROUTINES, function_name
from energyc.code.targets.jax.part import PUBLIC
from energyc.code.targets.jax.printed import IMPORTS

PARTS = Parts(Path(__file__).parent / "parts")
#: The records of a network, or of a layer, which has them under longer names.
RECORDS = ("Params", "Clamps", "Targets", "States", "Fixed", "Readouts", "Lets")
_SETTINGS = (
    "STEP STEPS CHUNK MAX_STEPS TOLERANCE PATIENCE UNNAMED BETA NUDGE_STEPS SNAPSHOTS EXPLOSION FORCE_PARAMS SUMS "
    "BLOCKS COST_SLOPES"
).split()
_OWN = (
    "init prepare lets_at params clamps states fixed pace targets cotangents directions plus minus lets at gradients"
).split()
_AROUND = "block Layer Values values blocks visit own self".split()
_KINKS = "proximal proximal_vjp smooth_vjp kink_slopes kinks points".split()
#: What is taken at the top of a module.
RESERVED = frozenset({*RECORDS, *_SETTINGS, *_OWN, *_AROUND, *_KINKS, *PUBLIC, *IMPORTS, *map(function_name, ROUTINES)})
#: What functions read: no variable of theirs is called so.
CALLED = frozenset({*RECORDS, *_OWN, *_AROUND, *_KINKS, *IMPORTS})
