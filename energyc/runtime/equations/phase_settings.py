"""The settings of the phases of a network, with their defaults."""

from __future__ import annotations

from typing import Any

from energyc.runtime.equations.parts import carries

#: The settings that choose what a module is made of.
CHOICES = frozenset(
    {"relax_solver", "relax_auto", "relax_products", "relax_measure", "relax_exit", "relax_patience", "snapshots"}
)


class PhaseSettings:
    """How a network relaxes and is nudged; a generated class overrides what its spec sets."""

    relax_solver = "gradient"
    #: The products with which a relaxation begins, where it has others than the rest; ``products``: its own, where they
    #: are in bfloat16, in which it does not come to its tolerance.
    relax_products: str | None = None
    #: Whether a relaxation chooses its step sizes itself.
    relax_auto = False
    #: The memory and the damping of Anderson acceleration.
    relax_memory = 5
    relax_damping = 1.0
    relax_steps: int
    relax_step: tuple[float, ...]
    relax_tolerance: float | None = None
    relax_measure = "residual"
    relax_patience = 1
    relax_exit = "settled"
    relax_chunk = 25
    relax_max_steps: int | None = None
    relax_explosion: float | None = 1e4
    beta: float | str | None = None
    #: The strength that ``auto`` last chose.
    last_beta: float | None = None
    nudge_steps: int | None = None
    points = 4
    radius: float | str | None = None
    snapshots: int | None = None
    #: The rate of contraction above which a penalty acts; None where there is none, or that on the Jacobian.
    contraction_rate: float | None = None
    #: The share of the nudge that goes to the first half of a dyad.
    alpha = 0.5
    #: Whether two nudged phases are one batch; None: on a GPU.
    nudge_together: bool | None = None
    #: What the operands of products are rounded to in float32: ``float32``, ``tf32``, ``bfloat16``, or ``contrast``,
    #: which is the last but for forces; None: as torch is set.
    products: str | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. Raises ValueError for a choice that a module made when it was compiled."""
        if not carries("recorder", "cuda") and name in CHOICES:
            raise ValueError(f"{name} was chosen when this module was compiled; compile it with another one")
        super().__setattr__(name, value)
