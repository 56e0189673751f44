"""The settings of the two phases: ``relax { ... }`` and ``nudge { ... }``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from energyc.language.settings.kinds import Flag, Integer, Number, Spread, Word
from energyc.language.settings.table import setting

POSITIVE = Number(above=0)
#: After how many steps, or sweeps, the residual is looked at again.
CHUNK, SWEEPS = 25, 2
#: How many times as long a nudged phase may be that goes on to its tolerance.
LONGER = 8
#: What solvers of their own are called in sentences.
SOLVERS = MappingProxyType(
    {"newton": "Newton's method", "anderson": "Anderson acceleration", "blocks": "block descent"}
)


#: The solvers, and the options of ``anderson``.
SOLVER = Spread(
    {
        "gradient": {},
        "newton": {},
        "anderson": {"memory": Integer(1), "damping": Number(high=1, above=0)},
        "blocks": {},
    },
    "anderson(memory = 5)",
)


@dataclass(frozen=True)
class StepSize(Number):
    """A number, ``auto`` (None), or ``certified``, for which the pipeline puts the number that is proved best."""

    above: float = 0
    word: str = "auto"

    @property
    def wanted(self) -> str:
        return "a positive number, auto or certified"

    def fields(self, name: str, value: object) -> dict[str, object]:
        certified = value == "certified"
        return {name: 1.0 if certified else self.read(value), "certified": certified}


@dataclass(frozen=True)
class Relax:
    """The free phase (docs/rules.md); ``step_of`` has the steps of single states."""

    word: ClassVar[str] = "relax"
    misfit: ClassVar[str] = "E0542"

    step: float | None = setting(
        1.0,
        StepSize(),
        "step size; `auto`: [from the curvature](#fewer-steps); `certified`: "
        "[proved](claims.md#steps-that-are-certified) to converge fastest",
        owner="state",
        single="step_of",
        each=POSITIVE,
    )
    steps: int = setting(100, Integer(1), "length of the free phase", unit="steps")
    tolerance: float | None = setting(
        None,
        Number(above=0, word="none"),
        "a sample has settled when its `measure` is at most this; `none`: exactly `steps`",
    )
    measure: str = setting(
        "residual",
        Word(("residual", "gradient", "energy")),
        "compared with `tolerance`: relative change of a state, norm of the gradient, change of the energy",
    )
    patience: int = setting(1, Integer(1), "consecutive checks within `tolerance` that settle a sample", unit="checks")
    exit: str = setting(
        "settled",
        Word(("settled", "early", "inference")),
        "a sample stops at a check within `tolerance`: after `steps` (`settled`), from the start (`early`), or outside "
        "of training only (`inference`)",
    )
    chunk: int | None = setting(
        None,
        Integer(1),
        "steps between two checks",
        unit="steps",
        otherwise=f"`{CHUNK}`; `{SWEEPS}` sweeps of `blocks`",
    )
    max_steps: int | None = setting(
        None, Integer(1), "limit of the free phase if there is a `tolerance`", unit="steps", otherwise="10 x `steps`"
    )
    proximal: str = setting(
        "auto",
        Word(("auto", "off")),
        "`auto`: convex kinks move by [proximal steps](#proximal-steps); `off`: by the gradient",
    )
    step_of: Mapping[str, float] = field(default_factory=dict)
    certified: bool = False
    solver: str = setting(
        "gradient", SOLVER, "gradient steps, [Newton or Anderson](#fewer-steps), or [block descent](#blocks-of-states)"
    )
    memory: int = 5
    damping: float = 1.0
    products: str | None = setting(
        None,
        Word(("tf32", "bfloat16")),
        "number format of matrix products at the start of the free phase",
    )
    explosion: float | None = setting(
        1e4,
        Number(above=0, word="none"),
        "growth of a state from which it is [tested](rules.md#dropped-samples) for being frozen by rounding",
    )

    def step_for(self, state: str) -> float:
        """The step of a state; 1 where it is chosen in each relaxation."""
        return float(self.step_of.get(state, 1.0 if self.step is None else self.step))

    @property
    def stride(self) -> int:
        """After how many steps, or sweeps, the residual is looked at again."""
        return self.chunk or (SWEEPS if self.solver == "blocks" else CHUNK)

    @property
    def longest(self) -> int:
        """The most steps of a free phase that has a tolerance."""
        return 10 * self.steps if self.max_steps is None else self.max_steps

    @property
    def irreversible(self) -> str:
        """Why the steps cannot be taken back one by one; nothing where they can."""
        if self.solver != "gradient":
            return f"the states relax by {SOLVERS[self.solver]}, whose steps are not taken back"
        if self.step is None:
            return "each relaxation chooses its step, which is not differentiated"
        return f"the states relax in {self.products} at first, which is not differentiated" if self.products else ""

    @property
    def seeks_rest(self) -> str:
        """The setting that has a meaning only where something is at rest, by its name; nothing where there is none."""
        settings = {"solver": self.solver != "gradient", "step": self.step is None, "products": bool(self.products)}
        return next((name for name, given in settings.items() if given), "")


@dataclass(frozen=True)
class Nudge:
    """The nudged phases (docs/rules.md); a ``beta`` of None is ``auto``."""

    word: ClassVar[str] = "nudge"
    misfit: ClassVar[str] = "E0542"

    beta: float | None = setting(
        None, Number(above=0, word="auto"), "strength of the nudge ([beta](rules.md#beta))", otherwise="`auto`"
    )
    steps: int = setting(10, Integer(1), "length of a nudged phase; steps that `tbptt` differentiates", unit="steps")
    snapshots: int | None = setting(
        None,
        Integer(1),
        "steps between recordings of the contrast; samples use the most settled one",
        unit="steps",
    )
    tolerance: float | None = setting(
        None,
        POSITIVE,
        "nudged phases continue until `snapshots` steps change the contrast by at most this share",
    )
    max_steps: int | None = setting(
        None,
        Integer(1),
        "limit of a nudged phase if there is a `tolerance`",
        otherwise="8 x `steps`",
        unit="steps",
    )
    together: bool | None = setting(
        None, Flag(), "run the two nudged phases of `centered-ep` and `vf` as one batch", otherwise="on a GPU"
    )
    points: int = setting(4, Integer(1), "points on the circle of a holomorphic rule")
    radius: float | None = setting(None, POSITIVE, "radius of the circle of a holomorphic rule", otherwise="`beta`")
    alpha: float = setting(0.5, Number(0, 1), "share of the nudge on the first half of a dyad")

    @property
    def longest(self) -> int:
        """The most steps of a nudged phase."""
        if self.tolerance is None or self.snapshots is None:
            return self.steps
        return max(self.steps, LONGER * self.steps if self.max_steps is None else self.max_steps)
