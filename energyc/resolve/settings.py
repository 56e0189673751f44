"""Settings: presets and overrides laid over the spec's own, then typed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from energyc.diagnostics import Span
from energyc.resolve.bindings import Bindings
from energyc.resolve.names import Names
from energyc.resolve.network import Call, Nudge, Relax
from energyc.resolve.reporter import Reporter, did_you_mean, listed
from energyc.resolve.sizes import Real, settable
from energyc.resolve.written import written
from energyc.syntax import ast

BLOCKS = ("relax", "nudge", "train")
RELAX = ("step", "steps", "tolerance", "chunk", "max_steps", "solver", "measure", "patience", "exit")
NUDGE = ("beta", "steps", "snapshots", "points", "radius", "tolerance")
SOLVERS: Mapping[str, tuple[str, ...]] = {
    "gradient": (),
    "newton": ("damping",),
    "anderson": ("memory", "mixing", "regularisation", "start"),
}


@dataclass(frozen=True)
class Setting:
    """A value and where it was written, None where it came from outside the file."""

    value: object
    span: Span | None


@dataclass
class Layers:
    """What was set for dims and consts, and for the settings, after preset and overrides."""

    symbols: dict[str, tuple[Real, Span | None]] = field(default_factory=dict)
    settings: dict[str, dict[str, Setting]] = field(default_factory=lambda: {block: {} for block in BLOCKS})


def layer_symbols(
    spec: ast.Spec, names: Names, reporter: Reporter, preset: str | None, overrides: Mapping[str, object]
) -> dict[str, tuple[Real, Span | None]]:
    """The dims and consts that the preset and the overrides set."""
    found: dict[str, tuple[Real, Span | None]] = {}
    for pair in preset_pairs(spec, reporter, preset):
        if len(pair.key) == 1:
            value = pair.value.number if isinstance(pair.value, ast.NumberValue) else None
            _set_symbol(found, names, reporter, pair.path, value, pair.span)
    for key, given in overrides.items():
        if "." not in key:
            _set_symbol(found, names, reporter, key, plain(given), None)
    return found


def _set_symbol(
    found: dict[str, tuple[Real, Span | None]],
    names: Names,
    reporter: Reporter,
    key: str,
    value: object,
    span: Span | None,
) -> None:
    entry = names.get(key)
    known = settable(names)
    if entry is None or entry.kind not in ("dim", "const"):
        said = f"`{key}` is {entry.spoken} and cannot be set" if entry else f"there is no dim or const `{key}` to set"
        reporter.error(
            "E0215", said, span, help=did_you_mean(key, known, f"these can be set: {listed(known)}" if known else None)
        )
    elif isinstance(value, Fraction | float):
        found[key] = (value, span)
    else:
        reporter.error("E0216", f"{entry.spoken} is a number, and `{key}` is set to `{written(value)}`", span)


def plain(given: object) -> object:
    """A value from outside: numbers exact where they are, words as they are."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, int):
        return Fraction(given)
    if isinstance(given, float):
        return Fraction(repr(given)) if given == given and abs(given) != float("inf") else given
    if isinstance(given, str):
        try:
            return Fraction(given)
        except (ValueError, ZeroDivisionError):
            return given
    return given


def check_presets(spec: ast.Spec, names: Names, reporter: Reporter) -> None:
    """Report what a preset sets that is not there, whether or not it is chosen."""
    for preset in (s for s in spec.statements if isinstance(s, ast.Preset)):
        for pair in preset.pairs:
            if len(pair.key) == 1:
                value = pair.value.number if isinstance(pair.value, ast.NumberValue) else None
                _set_symbol({}, names, reporter, pair.path, value, pair.span)
            elif pair.key[0].text not in BLOCKS:
                _report_block(reporter, pair.key[0].text, pair.span)


def _report_block(reporter: Reporter, block: str, span: Span | None) -> None:
    help = did_you_mean(block, BLOCKS, f"the settings are {listed(BLOCKS)}")
    reporter.error("E0541", f"there are no settings `{block}`", span, help=help)


def preset_pairs(spec: ast.Spec, reporter: Reporter, preset: str | None) -> tuple[ast.Pair, ...]:
    """What a preset sets; an unknown one is reported."""
    if preset is None:
        return ()
    presets = {s.name.text: s for s in spec.statements if isinstance(s, ast.Preset)}
    if preset in presets:
        return presets[preset].pairs
    there = f"the spec has {listed(presets)}" if presets else "the spec has no presets"
    reporter.error("E0217", f"there is no preset `{preset}`", None, help=did_you_mean(preset, presets, there))
    return ()


def layer_settings(
    spec: ast.Spec,
    names: Names,
    bindings: Bindings,
    reporter: Reporter,
    preset: str | None,
    overrides: Mapping[str, object],
) -> dict[str, dict[str, Setting]]:
    """The settings of each block, spec < preset < overrides."""
    found: dict[str, dict[str, Setting]] = {block: {} for block in BLOCKS}
    for statement in spec.statements:
        if isinstance(statement, ast.Settings):
            if statement.index is not None:
                reporter.error(
                    "E0190", "numbered steps of `relax` are not yet supported", statement.index.span, "not yet"
                )
            for pair in statement.pairs:
                found[statement.word][pair.path] = Setting(bindings.option(pair.value), pair.span)
    for path, setting in _outer(spec, bindings, reporter, preset, overrides):
        block, _, key = path.partition(".")
        if block in BLOCKS:
            found[block][key] = setting
        else:
            _report_block(reporter, block, setting.span)
    return found


def _outer(
    spec: ast.Spec, bindings: Bindings, reporter: Reporter, preset: str | None, overrides: Mapping[str, object]
) -> Iterable[tuple[str, Setting]]:
    quiet = Reporter(reporter.source)
    for pair in preset_pairs(spec, quiet, preset):
        if len(pair.key) > 1:
            yield pair.path, Setting(bindings.option(pair.value), pair.span)
    for key, given in overrides.items():
        if "." in key:
            yield key, Setting(plain(given), None)


# ---------------------------------------------------------------- typing


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
    for key in ("measure", "patience", "exit"):
        if key in given:
            reporter.error("E0190", f"`relax.{key}` is not yet supported", given[key].span, "not yet")
    solver, options = _solver(given.get("solver"), reporter)
    return Relax(
        step=typed.real("step", 1.0) or 1.0,
        steps=typed.whole("steps", 100) or 100,
        tolerance=typed.real("tolerance", None, words={"none": None}),
        chunk=typed.whole("chunk", 25) or 25,
        max_steps=typed.whole("max_steps", None),
        step_of=step_of,
        solver=solver,
        solver_options=options,
    )


def _solver(setting: Setting | None, reporter: Reporter) -> tuple[str, dict[str, float]]:
    if setting is None:
        return "gradient", {}
    word = setting.value.word if isinstance(setting.value, Call) else setting.value
    if not isinstance(word, str) or word not in SOLVERS:
        reporter.error(
            "E0542",
            f"there is no solver `{written(word)}`",
            setting.span,
            help=did_you_mean(written(word), SOLVERS, f"the solvers are {listed(SOLVERS)}"),
        )
        return "gradient", {}
    options: dict[str, float] = {}
    for key, value in (setting.value.options if isinstance(setting.value, Call) else {}).items():
        if key not in SOLVERS[word] or not isinstance(value, Fraction | float | int):
            known = SOLVERS[word]
            help = did_you_mean(key, known, f"it has {listed(known)}" if known else "it has none")
            reporter.error("E0541", f"solver `{word}` has no option `{key}` of that kind", setting.span, help=help)
        else:
            options[key] = float(value)
    return word, options


def type_nudge(given: dict[str, Setting], reporter: Reporter) -> Nudge:
    """The nudged phase."""
    typed = Typed("nudge", given, reporter)
    typed.check(NUDGE)
    options: dict[str, object] = {}
    for key in ("snapshots", "points"):
        if key in given and not _taken_back(given[key]):
            options[key] = typed.whole(key, None)
    for key in ("radius", "tolerance"):
        if key in given:
            options[key] = typed.real(key, None)
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
