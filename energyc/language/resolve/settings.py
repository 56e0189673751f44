"""Settings as written: presets and overrides laid over the spec's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from energyc.language.diagnostics import Remedy, Span, did_you_mean, listed, writing
from energyc.language.network.equations import Term
from energyc.language.resolve.bindings import Bindings
from energyc.language.resolve.names import Names
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.sizes import Real, Sizes, settable
from energyc.language.settings import Fault, Nudge, Relax, TrainOptions, read, written
from energyc.language.settings.table import CONTRADICTION, table
from energyc.language.settings.train import read_train
from energyc.language.syntax import ast
from energyc.mathematics.ir import Input

BLOCKS = ("relax", "nudge", "train")
#: The settings of each block as written, by their names.
Layers = dict[str, dict[str, "Placed"]]


@dataclass(frozen=True)
class Placed:
    """A value and where it was written, None where it came from outside the file.

    ``names`` is its key from the setting on, ``of`` the place of the value.
    """

    value: object
    span: Span | None
    names: tuple[ast.Name, ...] = ()
    of: Span | None = None


@dataclass(frozen=True)
class Outside:
    """The dims, consts, settings and options of data that a preset and, over it, ``overrides`` set in a spec."""

    spec: ast.Spec
    reporter: Reporter
    preset: str | None
    overrides: Mapping[str, object]

    @cached_property
    def _pairs(self) -> tuple[ast.Pair, ...]:
        """The settings of the preset; an unknown one is reported."""
        presets = {s.name.text: s for s in self.spec.statements if isinstance(s, ast.Preset)}
        if self.preset is None or self.preset in presets:
            return () if self.preset is None else presets[self.preset].pairs
        there = f"the spec has {listed(presets)}" if presets else "the spec has no presets"
        help = did_you_mean(self.preset, presets, there)
        self.reporter.error("E0217", f"there is no preset `{self.preset}`", None, help=help)
        return ()

    def symbols(self, names: Names) -> dict[str, tuple[Real, Span | None]]:
        """The dims and consts that are set."""
        given: list[tuple[str, object, Span | None]] = [
            (pair.path, _number(pair.value), pair.span) for pair in self._pairs if len(pair.key) == 1
        ]
        given += ((key, plain(value), None) for key, value in self.overrides.items() if "." not in key)
        symbols: dict[str, tuple[Real, Span | None]] = {}
        for key, value, span in given:
            if (number := self._symbol(names, key, value, span)) is not None:
                symbols[key] = (number, span)
        return symbols

    def _symbol(
        self, names: Names, key: str, value: object, span: Span | None, place: Span | None = None
    ) -> Real | None:
        """The value of a dim or const; reported and None where there is none, or where it is not a number."""
        entry, known = names.get(key), settable(names)
        if entry is not None and entry.kind in ("dim", "const"):
            if isinstance(value, Fraction | float):
                return value
            message = f"{entry.with_article} is a number, and `{key}` is set to `{written(value)}`"
            self.reporter.error("E0216", message, span)
            return None
        said = (
            f"`{key}` is {entry.with_article} and cannot be set"
            if entry
            else f"there is no dim or const `{key}` to set"
        )
        own = [f"{block.word}.{key}" for block in (Relax, Nudge, TrainOptions) if key in table(block)]
        help = did_you_mean(key, known, f"these can be set: {listed(known)}" if known else None, place)
        if own:
            help = f"as a setting it is {listed([f'`{path}`' for path in own], 'or')}"
        self.reporter.error("E0215", said, span, help=help)
        return None

    def options(self) -> dict[str, dict[str, object]]:
        """The options of data that the preset (values as written) and the overrides set, by binding."""
        outer: dict[str, dict[str, object]] = {s.name.text: {} for s in self.spec.statements if isinstance(s, ast.Data)}
        pairs: list[tuple[str, object]] = [(pair.path, pair.value) for pair in self._pairs]
        for path, value in (*pairs, *((key, plain(given)) for key, given in self.overrides.items())):
            binding, separator, option = path.partition(".")
            if separator and binding in outer and "." not in option:
                outer[binding][option] = value
        return outer

    def settings(self, bindings: Bindings) -> dict[str, Placed]:
        """The settings that are set, by their paths; one from outside that no block has is reported."""
        outer = {
            pair.path: Placed(bindings.option(pair.value), pair.span, pair.key, pair.value.span)
            for pair in self._pairs
            if len(pair.key) > 1
        }
        for key, given in self.overrides.items():
            if "." in key:
                outer[key] = Placed(plain(given), None)
                self._check_path(key, None)
        return outer

    def check_presets(self, names: Names) -> None:
        """Report what a preset sets that is not there, whether or not it is chosen."""
        for preset in (s for s in self.spec.statements if isinstance(s, ast.Preset)):
            for pair in preset.pairs:
                if len(pair.key) == 1:
                    self._symbol(names, pair.path, _number(pair.value), pair.span, pair.key[0].span)
                else:
                    self._check_path(pair.path, pair.span, pair.key)

    def _check_path(self, path: str, span: Span | None, names: Sequence[ast.Name] = ()) -> None:
        """Report the path of a setting that no block of the file has; ``names`` are its parts where they stand."""
        first, second = (*(name.span for name in names[:2]), None, None)[:2]
        layers = [layer.name.text for layer in layers_of(self.spec.statements)]
        block, _, key = path.partition(".")
        if block in layers:
            inner = key.partition(".")[0]
            if inner not in BLOCKS[:2]:
                help = did_you_mean(inner, BLOCKS[:2], f"a layer has the settings {listed(BLOCKS[:2])}", second)
                self.reporter.error("E0541", f"layer `{block}` has no settings `{inner}`", span, help=help)
        elif block not in BLOCKS:
            data = {s.name.text: s.adapter.text for s in self.spec.statements if isinstance(s, ast.Data)}
            known = (*BLOCKS, *layers, *data)
            if block not in data:
                help = did_you_mean(block, known, f"the settings are {listed(known)}", first)
                self.reporter.error("E0541", f"there are no settings `{block}`", span, help=help)
            elif "." in key:
                help = f"an option of data is set as `{block}.OPTION`"
                self.reporter.error("E0541", f"{data[block]} has no option `{key}`", span, help=help)
        elif layers and block != "train":
            report_whole(self.reporter, block, key, layers, span)


def _number(value: ast.Value) -> Fraction | None:
    return value.number if isinstance(value, ast.NumberValue) else None


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


def report_whole(reporter: Reporter, block: str, key: str, layers: Sequence[str], span: Span | None) -> None:
    """Report a setting of phases for a file with layers, which alone relax."""
    paths = [f"`{layer}.{block}.{key}`" for layer in layers]
    help = (
        f"set {listed(paths, 'or')}" if key else f"write `{block}` in {listed([f'layer `{n}`' for n in layers], 'or')}"
    )
    reporter.error("E0541", f"only the layers relax, so there are no settings `{block}` of the whole", span, help=help)


def layers_of(statements: Iterable[ast.Statement]) -> list[ast.Layer]:
    """The layers among some statements, those of repeats too."""
    layers: list[ast.Layer] = []
    for statement in statements:
        if isinstance(statement, ast.Layer):
            layers.append(statement)
        elif isinstance(statement, ast.Repeat):
            layers += layers_of(statement.body)
    return layers


def gathered(
    statements: Iterable[ast.Statement],
    bindings: Bindings,
    reporter: Reporter,
    outer: Mapping[str, Placed],
    owner: str = "",
) -> Layers:
    """The settings of each block among statements, and over them those of ``outer`` whose path ``owner`` begins."""
    layers: Layers = {block: {} for block in BLOCKS}
    for statement in statements:
        if isinstance(statement, ast.Settings):
            for pair in statement.pairs:
                value = bindings.option(pair.value)
                layers[statement.word][pair.path] = Placed(value, pair.span, pair.key, pair.value.span)
    for path, setting in outer.items():
        block, _, key = path.removeprefix(owner).partition(".")
        if path.startswith(owner) and block in BLOCKS:
            layers[block][key] = replace(setting, names=setting.names[2 if owner else 1 :])
    return layers


def check_settings(
    layers: Layers,
    names: Mapping[str, Collection[str]],
    rules: Collection[str],
    reporter: Reporter,
) -> tuple[Relax, Nudge, TrainOptions]:
    """The settings of each block, typed; what is wrong is reported and left at its default.

    ``names`` are those of states, params, metrics, readouts and targets, ``rules`` those of the learning rules (empty:
    not known).
    """
    given = {block: {key: each.value for key, each in placed.items()} for block, placed in layers.items()}
    relax, relax_faults = read(Relax, given["relax"], names)
    nudge, nudge_faults = read(Nudge, given["nudge"], names)
    train, train_faults = read_train(given["train"], names, rules)
    for block, faults in (("relax", relax_faults), ("nudge", nudge_faults), ("train", train_faults)):
        for fault in faults:
            placed = layers[block][fault.key]
            reporter.error(fault.code, fault.message, placed.span, help=_remedy(fault, placed))
    return relax, nudge, train


def _remedy(fault: Fault, placed: Placed) -> str | None:
    """The help of a fault, with the fix that writes what it says in place of the part that is wrong."""
    names = placed.names
    place = placed.of if fault.part == "value" or not names else names[0 if fault.part == "setting" else -1].span
    if not fault.instead or fault.help is None or place is None:
        return fault.help
    return Remedy(fault.help, writing(fault.instead, place))


def numbered(relax: Relax, step: Input, layers: Layers, sizes: Sizes, reporter: Reporter) -> Relax:
    """The settings of ``relax t in T``: T steps and no more; other numbers of steps are reported."""
    size = sizes.size(step.over or "")
    if size is None:
        return relax
    for key in ("steps", "max_steps"):
        placed = layers["relax"].get(key)
        if placed is not None and getattr(relax, key) not in (None, size):
            message = (
                f"`relax {step.name} in {step.over}` makes {size} steps, and `relax.{key}` is {getattr(relax, key)}"
            )
            reporter.error(CONTRADICTION, message, placed.span, help=f"leave `{key}` out, or change {step.over}")
    return replace(relax, steps=size, max_steps=size)


def check_solver(relax: Relax, numbered: bool, layers: Layers, reporter: Reporter) -> None:
    """Report a way to find rest where nothing rests, or that another setting leaves nothing to do."""
    given = layers["relax"]
    key = relax.seeks_rest
    value = {"step": "auto", "solver": relax.solver}.get(key, relax.products)
    if numbered and relax.irreversible:
        message = f"`relax.{key} = {value}` looks for rest, and the force changes from step to step"
        reporter.error(CONTRADICTION, message, given[key].span, help="leave it out, with a number as the step")
    elif relax.solver == "anderson" and relax.exit == "inference" and relax.tolerance is not None:
        message = "`relax.exit = inference` looks at each step, after which `relax.solver = anderson` forgets its past"
        help = "write `exit = early`, which looks every `chunk` steps"
        reporter.error(CONTRADICTION, message, given["exit"].span, help=help)
    elif relax.solver == "blocks" and relax.step is None:
        message = "`relax.step = auto` chooses one step for all, and `relax.solver = blocks` moves states without one"
        reporter.error(CONTRADICTION, message, given["step"].span, help="give a number, which the other states take")
    elif relax.solver == "newton" and relax.products:
        message = "`relax.solver = newton` solves in full precision, and leaves `relax.products` nothing to round"
        reporter.error(CONTRADICTION, message, given["products"].span, help="leave one of them out")


def with_next_values(
    relax: Relax, states: Iterable[str], terms: Mapping[str, Term], layers: Layers, reporter: Reporter
) -> Relax:
    """The settings with a step of 1 for each ``next`` value; a ``relax.step`` that no state takes is reported."""
    whole = [name for name, term in terms.items() if term.word == "next"]
    steps = {**dict.fromkeys(whole, 1.0), **relax.step_of}
    placed = layers["relax"].get("step")
    if placed is not None and whole and relax.step not in (None, 1) and set(states) <= steps.keys():
        message = f"`relax.step` moves no state: {whole[0]} goes to its `next` value whole"
        help = f"for damping write `step.{whole[0]} = {relax.step:g}`"
        reporter.error(CONTRADICTION, message, placed.span, help=help)
    return replace(relax, step_of=steps)


def check_measure(
    relax: Relax, has_energy: bool, layers: Layers, reporter: Reporter, called: str = "this network"
) -> None:
    """Report a measure of the energy in a network, or a layer that is ``called`` so, without one."""
    if relax.measure == "energy" and not has_energy:
        message = f"`relax.measure` is the energy, and {called} has none"
        reporter.error(CONTRADICTION, message, layers["relax"]["measure"].span, help="write `measure = gradient`")
