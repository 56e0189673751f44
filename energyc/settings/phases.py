"""The settings of the two phases: ``relax { ... }`` and ``nudge { ... }``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from energyc.settings.kinds import Integer, NotYet, Number, Word
from energyc.settings.table import setting
from energyc.settings.values import Call

POSITIVE = Number(above=0)


class Solver(Word):
    """A solver; ``anderson`` and options of solvers are planned."""

    def read(self, value: object) -> str:
        if value == "anderson" or (isinstance(value, Call) and value.name == "anderson"):
            raise NotYet("the solver `anderson`")
        if isinstance(value, Call) and value.name in self.choices:
            raise NotYet(f"a solver with options, as `{value.name}(...)`,")
        return super().read(value)


@dataclass(frozen=True)
class Relax:
    """The free phase (rules.md, section 1); ``step_of`` has the steps of single states."""

    word: ClassVar[str] = "relax"
    misfit: ClassVar[str] = "E0542"
    planned: ClassVar[tuple[str, ...]] = ()

    step: float = setting(1.0, POSITIVE, "how far a step goes along the force", owner="state", single="step_of")
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
        Word(("settled", "inference")),
        "`inference`: outside of training a sample stops once it has settled, at the latest after `steps`; in training "
        "exactly `steps` are made",
    )
    chunk: int = setting(25, Integer(1), "after so many the residual is looked at again", unit="steps")
    max_steps: int | None = setting(
        None, Integer(1), "the longest free phase where there is a `tolerance`", unit="steps", otherwise="10 x `steps`"
    )
    step_of: Mapping[str, float] = field(default_factory=dict)
    solver: str = setting("gradient", Solver(("gradient", "newton")), "how a step is found")
    explosion: float | None = setting(
        1e4,
        Number(above=0, word="none"),
        "a state so many times as large as its start is suspected of being frozen by rounding; `none`: never",
    )


@dataclass(frozen=True)
class Nudge:
    """The nudged phases (rules.md, section 2); a ``beta`` of None is ``auto``."""

    word: ClassVar[str] = "nudge"
    misfit: ClassVar[str] = "E0542"
    planned: ClassVar[tuple[str, ...]] = ("tolerance",)

    beta: float | None = setting(
        None, Number(above=0, word="auto"), "the strength of the nudge", otherwise="`auto`, from z, dC/dz and the dtype"
    )
    steps: int = setting(10, Integer(1), "the length of a nudged phase, and of `tbptt`", unit="steps")
    snapshots: int | None = setting(
        None, Integer(1), "after so many the contrast is looked at; the most settled one is used", unit="steps"
    )
    points: int = setting(4, Integer(1), "points on the circle of a holomorphic rule")
    radius: float | None = setting(None, POSITIVE, "radius of the circle of a holomorphic rule", otherwise="`beta`")
