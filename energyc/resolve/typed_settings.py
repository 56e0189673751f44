"""Settings typed: what each block may say, and the relaxation, the nudge and the training that it then describes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from energyc.resolve.network import Call, Nudge, Relax
from energyc.resolve.reporter import Reporter, did_you_mean, listed
from energyc.resolve.settings import Setting
from energyc.resolve.written import written

RELAX = ("step", "steps", "tolerance", "chunk", "max_steps", "solver", "explosion", "measure", "patience", "exit")
NUDGE = ("beta", "steps", "snapshots", "points", "radius", "tolerance")
SOLVERS = ("gradient", "newton")
#: What the language has room for and the compiler cannot do yet.
LATER = {"relax": ("measure", "patience", "exit"), "nudge": ("tolerance",)}


@dataclass
class Typed:
    """Reads the values of one block; what is wrong is reported and left at its default."""

    block: str
    given: dict[str, Setting]
    reporter: Reporter

    def real(self, key: str, default: float | None, *, words: Mapping[str, float | None] = {}) -> float | None:
        """A positive number."""
        setting = self.given.get(key)
        if setting is None or setting.value is None:
            return default
        if isinstance(setting.value, str) and setting.value in words:
            return words[setting.value]
        if isinstance(setting.value, Fraction | float) and setting.value > 0:
            return float(setting.value)
        self._wrong(key, setting, "a positive number" + "".join(f" or {word}" for word in words))
        return default

    def whole(self, key: str, default: int | None) -> int | None:
        """A positive whole number."""
        setting = self.given.get(key)
        if setting is None or setting.value is None:
            return default
        if isinstance(setting.value, int) and setting.value > 0:
            return setting.value
        if isinstance(setting.value, Fraction) and setting.value.denominator == 1 and setting.value > 0:
            return int(setting.value)
        self._wrong(key, setting, "a positive whole number")
        return default

    def _wrong(self, key: str, setting: Setting, wanted: str) -> None:
        self.reporter.error("E0542", f"`{self.block}.{key}` is {wanted}, not `{written(setting.value)}`", setting.span)

    def refuse_later(self) -> None:
        """Report what cannot be set yet."""
        for key in LATER[self.block]:
            if key in self.given:
                self.reporter.unsupported(f"`{self.block}.{key}` is not yet supported", self.given[key].span)

    def check(self, known: Iterable[str], dotted: str = "") -> None:
        """Report the keys that are not known; ``dotted`` is the one that may be of a single state or param."""
        names = list(known)
        for key, setting in self.given.items():
            head, dot, _ = key.partition(".")
            if head not in names or (dot and head != dotted):
                help = did_you_mean(key, names, f"it has {listed(names)}")
                self.reporter.error("E0541", f"`{self.block}` has no setting `{key}`", setting.span, help=help)


def type_relax(given: dict[str, Setting], states: Iterable[str], reporter: Reporter) -> Relax:
    """The free phase."""
    typed = Typed("relax", given, reporter)
    typed.check(RELAX, dotted="step")
    names = list(states)
    step_of: dict[str, float] = {}
    for key, setting in given.items():
        head, _, state = key.partition(".")
        if head == "step" and state:
            if state not in names:
                help = did_you_mean(state, names, f"the states are {listed(names)}")
                reporter.error("E0543", f"there is no state `{state}`", setting.span, help=help)
                continue
            step_of[state] = typed.real(key, 1.0) or 1.0
    typed.refuse_later()
    return Relax(
        step=typed.real("step", 1.0) or 1.0,
        steps=typed.whole("steps", 100) or 100,
        tolerance=typed.real("tolerance", None, words={"none": None}),
        chunk=typed.whole("chunk", 25) or 25,
        max_steps=typed.whole("max_steps", None),
        step_of=step_of,
        solver=_solver(given.get("solver"), reporter),
        explosion=typed.real("explosion", 1e4, words={"none": None}),
    )


def _solver(setting: Setting | None, reporter: Reporter) -> str:
    if setting is None:
        return "gradient"
    word = setting.value.word if isinstance(setting.value, Call) else setting.value
    if word == "anderson":
        reporter.unsupported("the solver `anderson` is not yet supported", setting.span)
    elif not isinstance(word, str) or word not in SOLVERS:
        help = did_you_mean(written(word), SOLVERS, f"the solvers are {listed(SOLVERS)}")
        reporter.error("E0542", f"there is no solver `{written(word)}`", setting.span, help=help)
    elif isinstance(setting.value, Call):
        message = f"options of the solver `{word}` are not yet supported"
        reporter.unsupported(message, setting.span, help=f"write solver = {word}")
    else:
        return word
    return "gradient"


def type_nudge(given: dict[str, Setting], reporter: Reporter) -> Nudge:
    """The nudged phase."""
    typed = Typed("nudge", given, reporter)
    typed.check(NUDGE)
    options: dict[str, object] = {}
    for key in ("snapshots", "points"):
        if key in given and not _taken_back(given[key]):
            options[key] = typed.whole(key, None)
    typed.refuse_later()
    if "radius" in given:
        options["radius"] = typed.real("radius", None)
    return Nudge(typed.real("beta", None, words={"auto": None}), typed.whole("steps", 10) or 10, options)


class Fault(Protocol):
    """What is wrong with a setting of ``train``."""

    @property
    def key(self) -> str:
        """The setting."""
        ...

    @property
    def code(self) -> str:
        """The diagnostic's code."""
        ...

    @property
    def message(self) -> str:
        """What is wrong."""
        ...

    @property
    def help(self) -> str:
        """What to write instead."""
        ...


#: Judges the settings of ``train`` on a network with such metrics; what they mean is known further down the pipeline.
TrainFaults = Callable[[Mapping[str, object], Collection[str]], Sequence[Fault]]


def type_train(
    given: dict[str, Setting],
    params: Collection[str],
    metrics: Collection[str],
    faults: TrainFaults | None,
    reporter: Reporter,
) -> dict[str, object]:
    """How to train: passed on as written, once names and values are known to fit; ``none`` takes a setting back."""
    for key, setting in given.items():
        head, _, param = key.partition(".")
        if head == "lr" and param and param not in params:
            there = f"the params are {listed(params)}" if params else "the spec has no params"
            help = did_you_mean(param, params, there)
            reporter.error("E0543", f"there is no param `{param}`", setting.span, help=help)
    chosen = {key: setting.value for key, setting in given.items() if not _taken_back(setting)}
    for fault in [] if faults is None else faults(chosen, metrics):
        reporter.error(fault.code, fault.message, given[fault.key].span, help=fault.help)
    return chosen


def _taken_back(setting: Setting) -> bool:
    """Whether a setting is as if it had never been written: ``--set train.penalty=none``."""
    return setting.value == "none"
