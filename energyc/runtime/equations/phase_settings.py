"""The settings of the phases of a network, with their defaults."""

from __future__ import annotations

from typing import Any, ClassVar


class PhaseSettings:
    """How a network relaxes and is nudged; a generated class overrides what its spec sets.

    It declares that as ``relaxation = rt.Relax(steps=20)`` and ``nudging = rt.Nudge(steps=8)``, which become the
    attributes ``relax_steps`` and ``nudge_steps``. A network may be given others.
    """

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
    #: Nudged phases go on to this share of change of their contrast, for so many steps at most.
    nudge_tolerance: float | None = None
    nudge_max_steps: int = 0
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


class Declaration:
    """Settings that a class declares at once: each becomes an attribute of the class. Raises TypeError for others."""

    prefix: ClassVar[str]

    def __init__(self, **values: Any) -> None:
        self.attributes = {self.attribute(name): value for name, value in values.items()}

    def attribute(self, name: str) -> str:
        """The attribute that a setting is: with the prefix, or else by its own name."""
        known = {*vars(PhaseSettings), *PhaseSettings.__annotations__}
        for attribute in (f"{self.prefix}_{name}", name):
            if attribute in known:
                return attribute
        raise TypeError(f"{type(self).__name__} has no setting {name!r}")

    def __set_name__(self, owner: type, name: str) -> None:
        """Give the class its attributes."""
        for attribute, value in self.attributes.items():
            setattr(owner, attribute, value)


class Relax(Declaration):
    """The settings of relaxations."""

    prefix = "relax"


class Nudge(Declaration):
    """The settings of nudged phases."""

    prefix = "nudge"
