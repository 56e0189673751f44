"""The names that a module has for itself: nothing of a spec takes one."""

from __future__ import annotations

from energyc.code.targets.jax.equations import ROUTINES, function_name
from energyc.code.targets.jax.part import PUBLIC
from energyc.code.targets.jax.printed import IMPORTS

#: The records of a network, or of a layer, which has them under longer names.
RECORDS = ("Params", "Clamps", "Targets", "States", "Fixed", "Readouts", "Lets")
_SETTINGS = "STEP STEPS CHUNK MAX_STEPS TOLERANCE BETA NUDGE_STEPS SNAPSHOTS EXPLOSION FORCE_PARAMS".split()
_OWN = (
    "init prepare lets_at params clamps states fixed targets cotangents directions plus minus lets at gradients".split()
)
_AROUND = "Layer Values values blocks visit own self".split()
_KINKS = "proximal proximal_vjp smooth_vjp kink_slopes kinks points".split()
#: What is taken at the top of a module.
RESERVED = frozenset({*RECORDS, *_SETTINGS, *_OWN, *_AROUND, *_KINKS, *PUBLIC, *IMPORTS, *map(function_name, ROUTINES)})
#: What functions read: no variable of theirs is called so.
CALLED = frozenset({*RECORDS, *_OWN, *_AROUND, *_KINKS, *IMPORTS})
