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
    """The free phase (rules.md, section 1); ``step_of`` has the steps of single states."""

    word: ClassVar[str] = "relax"
    misfit: ClassVar[str] = "E0542"

    step: float | None = setting(
        1.0,
        StepSize(),
        "how far a step goes along the force; `auto`: each relaxation chooses it by the curvature at its start; "
        "`certified`: the step by which steps are [proved](claims.md#steps-that-are-certified) to converge fastest",
        owner="state",
        single="step_of",
        each=POSITIVE,
    )
    steps: int = setting(100, Integer(1), "the length of the free phase", unit="steps")
    tolerance: float | None = setting(
        None,
        Number(above=0, word="none"),
        "the residual at which a sample has settled, up to which steps are added; `none`: exactly `steps`",
    )
    measure: str = setting(
        "residual",
        Word(("residual", "gradient", "energy")),
        "what of a step is compared with `tolerance`: its relative change, the gradient that it follows, the change of "
        "energy",
    )
    patience: int = setting(1, Integer(1), "a sample has settled after so many looks in a row", unit="looks")
    exit: str = setting(
        "settled",
        Word(("settled", "early", "inference")),
        "`early`: a sample stops once it has settled, looked at every `chunk` from the start on, also before `steps`; "
        "`inference`: outside of training a sample stops once it has settled, at the latest after `steps`; in training "
        "exactly `steps` are made",
    )
    chunk: int | None = setting(
        None,
        Integer(1),
        "after so many the residual is looked at again",
        unit="steps",
        otherwise=f"`{CHUNK}`; `{SWEEPS}` sweeps of `blocks`",
    )
    max_steps: int | None = setting(
        None, Integer(1), "the longest free phase where there is a `tolerance`", unit="steps", otherwise="10 x `steps`"
    )
    proximal: str = setting(
        "auto",
        Word(("auto", "off")),
        "`auto`: convex kinks of single entries, as `abs(z[n])`, move by [proximal steps](#proximal-steps); `off`: all "
        "of an energy by its gradient",
    )
    step_of: Mapping[str, float] = field(default_factory=dict)
    certified: bool = False
    solver: str = setting("gradient", SOLVER, "how a step is found")
    memory: int = 5
    damping: float = 1.0
    products: str | None = setting(
        None,
        Word(("tf32", "bfloat16")),
        "the free phase begins with products of operands rounded to this, and ends without",
    )
    explosion: float | None = setting(
        1e4,
        Number(above=0, word="none"),
        "a state so many times as large as its start is suspected of being frozen by rounding; `none`: never",
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
    """The nudged phases (rules.md, section 2); a ``beta`` of None is ``auto``."""

    word: ClassVar[str] = "nudge"
    misfit: ClassVar[str] = "E0542"

    beta: float | None = setting(
        None, Number(above=0, word="auto"), "the strength of the nudge", otherwise="`auto`, from z, dC/dz and the dtype"
    )
    steps: int = setting(10, Integer(1), "the length of a nudged phase, and of `tbptt`", unit="steps")
    snapshots: int | None = setting(
        None, Integer(1), "after so many the contrast is looked at; the most settled one is used", unit="steps"
    )
    tolerance: float | None = setting(
        None,
        POSITIVE,
        "nudged phases go on, `snapshots` steps at a time, until these change the contrast by this share at most",
    )
    max_steps: int | None = setting(
        None,
        Integer(1),
        "the most steps of a nudged phase that goes on to its tolerance",
        otherwise="eight times `steps`",
        unit="steps",
    )
    together: bool | None = setting(
        None, Flag(), "whether the two nudged phases of `centered-ep` and `vf` are one batch", otherwise="on a GPU"
    )
    points: int = setting(4, Integer(1), "points on the circle of a holomorphic rule")
    radius: float | None = setting(None, POSITIVE, "radius of the circle of a holomorphic rule", otherwise="`beta`")
    alpha: float = setting(0.5, Number(0, 1), "the share of the nudge on the first half of a dyad")

    @property
    def longest(self) -> int:
        """The most steps of a nudged phase."""
        if self.tolerance is None or self.snapshots is None:
            return self.steps
        return max(self.steps, LONGER * self.steps if self.max_steps is None else self.max_steps)
