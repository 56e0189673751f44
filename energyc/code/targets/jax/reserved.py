"""Names reserved by the module; no name of a spec takes one."""

from __future__ import annotations

from energyc.code.module.head import JAX, STANDARD
from energyc.code.targets.jax.forms import RULES
from energyc.runtime import RULES as DECLARED

#: The records of a network, or of a layer, which has them under longer names.
RECORDS = ("Params", "Clamps", "Targets", "States", "Fixed", "Readouts", "Lets")
_OWN = (
    "init noise prepare start terms force readouts cost metrics energy_contrast nudge weights named_gradients lets_at "
    "forces_without_energy nonconservative_force project project_params project_gradients"
).split()
_ARGUMENTS = "params clamps states fixed pace targets plus minus lets keys key count dtype".split()
_BOUND = "relax step residual energy answer MODEL ej".split()
_AROUND = "Values values blocks visit own".split()
#: What functions read: no variable of theirs is called so.
CALLED = frozenset({*RECORDS, *_ARGUMENTS, *_AROUND, *JAX, *STANDARD, "ej", "lets_at"})
#: What is taken at the top of a module.
RESERVED = frozenset({*CALLED, *_OWN, *_BOUND, *(DECLARED[rule].function for rule in RULES)})
