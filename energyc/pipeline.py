"""The compiler: every pass, a function of what the pass before it gave.

| pass     | room | takes -> gives | `show --stage` |
|---|---|---|---|
| read     | `language/syntax` | a path, or `-` -> source text | |
| parse    | `language/syntax` | text -> tree with spans | `tree` |
| resolve  | `language/resolve` | tree -> typed network on one graph of tensors, or all diagnostics | `network`, `ir` |
| classify | `proofs` | network -> classes with evidence, claims, admissible rules | `energyc check` |
| derive   | `derivation/derive` | network, classes -> forces, Jacobian products, updates | `forces`, `jacobian` |
| plan     | `code/plan` | network, classes, rules -> statements: once a relaxation, a step, an update | `plan` |
| lower    | `code/loops`, `code/targets` | plan -> matrix products and loop nests on a tile of samples | `kernels` |
| emit     | `code/targets` | plan, loop nests -> the text of a module | each target: `torch`, ... |

What follows builds on these: `running` trains a module, `studies` measures it, `surfaces` show what comes of it.
Nothing here prints: every function returns an object or text. Torch is imported only by what runs a network.

Imports: ``claims``, ``data``, ``derive``, ``diagnostics``, ``extras``, ``kept``, ``loops``, ``module``, ``network``,
``plan``, ``resolve``, ``runtime``, ``syntax``, ``targets``, ``verdicts``, ``version``; libraries:
``torch``.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from energyc.code.module.printed import Printed
from energyc.code.targets import TARGETS, find_target
from energyc.extras import install_extra
from energyc.kept import known, told_apart
from energyc.language.diagnostics import Option, Source, UserError, arithmetic, spoken, stage
from energyc.version import __version__

if TYPE_CHECKING:
    import torch

    from energyc.code.module.context import Options
    from energyc.code.plan import ModulePlan
    from energyc.code.targets.kernels import Relaxing
    from energyc.derivation.derive import Derivation
    from energyc.language.network import Network
    from energyc.language.resolve.bindings import Schema, Schemas
    from energyc.language.syntax import ast
    from energyc.proofs.claims.classes import Classes

#: Stands for every rule that a network admits.
ALL = ("all",)


@dataclass(frozen=True)
class Choices:
    """The choices beside the spec: a preset, and values of dims, consts and dotted settings, which win over it."""

    preset: str | None = None
    overrides: Mapping[str, object] = field(default_factory=dict)

    @staticmethod
    def of(
        preset: str | None = None,
        dims: Mapping[str, int] | None = None,
        consts: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> Choices:
        """Return the choices of the arguments of ``load``; a text is read as in a spec: ``"anderson(memory = 5)"``.

        Raises UserError for a preset that is no name, and for values that are not in a dict by name.
        """
        if preset is not None and not isinstance(preset, str):
            raise wrong_argument("preset", preset, 'the name of a preset of the spec, as preset="small"')
        overrides: dict[str, object] = {}
        examples = (("dims", dims, '{"J": 64}'), ("consts", consts, '{"gamma": 1}'))
        for name, values, example in (*examples, ("settings", settings, '{"relax.step": 0.1}')):
            if values is not None and not (isinstance(values, Mapping) and all(isinstance(key, str) for key in values)):
                raise wrong_argument(name, values, f"a dict by name, as {name}={example}")
            overrides |= {name: _as_written(value) for name, value in (values or {}).items()}
        return Choices(preset, overrides)

    def __str__(self) -> str:
        parts = [f"preset {self.preset}"] if self.preset else []
        return ", ".join([*parts, *(f"{key} = {value}" for key, value in self.overrides.items())])


def _as_written(value: object) -> object:
    """A value of a setting; a text that is no value of a spec stays what it is, for the passes that judge it."""
    if not isinstance(value, str) or value.replace("-", "").isidentifier():
        return value
    from energyc.language.diagnostics import SpecError
    from energyc.language.resolve.values import read_pairs

    try:
        pairs = read_pairs(f"value = {value}")
    except (SpecError, ValueError):
        return value
    return pairs["value"] if len(pairs) == 1 else value


@dataclass(frozen=True)
class Written:
    """What a target wrote, with the name of the class that users call."""

    printed: Printed
    class_name: str


@dataclass(frozen=True)
class Compiled:
    """A generated module: what a target wrote, the name of its file and of its class."""

    network: Network
    classes: Classes
    target: str
    printed: Printed
    file_name: str
    class_name: str

    @property
    def text(self) -> str:
        """The text of the module."""
        return self.printed.text

    @property
    def fallback(self) -> str | None:
        """Why the module runs as torch operations where another target was asked for; None where it does not."""
        return self.printed.fallback

    @property
    def learns(self) -> bool:
        """Whether what it makes is a module of torch, which is trained, or else one of arrays on the CPU."""
        return self.fallback is not None or find_target(self.target).learns


# ------------------------------------------------------------------ the passes


def is_text(spec: object) -> TypeGuard[str]:
    """Whether a spec is given as its text, which has more than one line, rather than by its path."""
    return isinstance(spec, str) and "\n" in spec


def read(spec: str | Path) -> Source:
    """The source of a spec: a path, the name of one that ships, ``-`` for standard input, or the text itself.

    A text has more than one line.

    Raises UserError: a file that cannot be read, or one that is not text.
    """
    from energyc.language.syntax import decode, located, read_source

    if not isinstance(spec, str | os.PathLike):
        raise wrong_argument("the spec", spec, "the path of a .energy file, or the text of a spec")
    if is_text(spec):
        return decode(spec.encode(errors="surrogatepass"), "<text>")
    with stage("read", str(spec)):
        return read_source(located(spec))


def parse(source: Source) -> ast.Spec:
    """The tree. Raises SpecError."""
    from energyc.language.syntax import parse as parse_source

    with stage("parse", source.name):
        return parse_source(source)


def resolve(source: Source, choices: Choices = Choices(), schemas: Schemas | None = None) -> Network:
    """The typed network. Raises SpecError with every error of the file.

    ``schemas`` gives the schema of an adapter for some options; by default it is that of the registry.
    """
    from energyc.language.resolve import resolve as resolve_tree
    from energyc.running.data import find_adapter, read_schema
    from energyc.runtime import RULES

    tree, found = parse(source), list[object]()

    def schema(adapter: str, options: Mapping[str, Any]) -> Schema:
        own = schemas(adapter, options) if schemas else read_schema(find_adapter(adapter), options)
        found.extend((adapter, options, own))
        return own

    with stage("resolve", source.name):
        network = resolve_tree(
            tree, source, preset=choices.preset, overrides=choices.overrides, schemas=schema, rules=RULES
        )
    network = _certified(network)
    return network.identified(told_apart(Path(source.name).name, source.text, choices, found))


def _certified(network: Network) -> Network:
    """The network with the steps that are proved, where it asks for them. Raises SpecError, for blocks too."""
    source = network.source
    parts = (network, *(layer.network for layer in network.layers.values()))
    for part in (part for part in parts if part.relax.solver == "blocks"):
        from energyc.derivation.derive import check_blocks

        with stage("derive", source.name):
            check_blocks(part)
    if not any(part.relax.certified for part in parts):
        return network
    from energyc.proofs.claims.certified import with_certified_steps

    with stage("certify", source.name):
        return with_certified_steps(network)


def classify(network: Network) -> Classes:
    """The class of each term with its evidence, and the rules that are admissible; they are kept."""
    from energyc.proofs.claims.classes import Classes

    def made() -> Classes:
        from energyc.proofs.verdicts.in_notation import classes_of

        with stage("classify", network.source.name):
            return classes_of(network)

    classes = known(Classes, [network.identity], made)
    if classes.certify is not dict:
        return classes
    return replace(classes, certify=lambda: made().certificates)  # found, and their proofs are to be written anew


def derive(network: Network, classes: Classes | None = None) -> Derivation:
    """Forces and gradients, each computed on demand; J_nc is that of the terms that ``classes`` does not prove."""
    from energyc.derivation.derive import derive as derive_network

    with stage("derive", network.source.name):
        return (
            derive_network(network) if classes is None else derive_network(network, classes.unproved, classes.descends)
        )


def plan(network: Network, classes: Classes, rules: Sequence[str] | None = None) -> ModulePlan:
    """The statements of a module for some rules, in order; by default for the spec's ``train.rule``.

    Raises UserError as ``emit``.
    """
    from energyc.code.plan import Passes, plan_module

    chosen = rules_of(network, classes, rules)
    with stage("plan", network.source.name):
        return plan_module(network, chosen, Passes(), classes.unproved, classes.descends)


def lower(planned: ModulePlan, options: Options) -> list[Relaxing]:
    """The loop nests of the phases that run in C++ kernels: those of a network, or of each of its layers.

    Raises NotLowered where there are none.
    """
    from energyc.code.loops import NotLowered
    from energyc.code.targets.kernels import kernels_of

    with stage("lower", planned.network.source.name, NotLowered):
        return kernels_of(planned, options)


def emit(
    network: Network,
    rules: Sequence[str] | None = None,
    choices: Choices = Choices(),
    target: str = "torch",
) -> Compiled:
    """A module for some rules and ``implicit``, where that is admissible; with ``("all",)`` for all there are.

    By default the rule is the spec's ``train.rule``. The module holds the network's equations and imports the runtime.
    The same input gives the same bytes. Raises UserError for an unknown target or rule, and for a rule that is
    inadmissible on this network.
    """
    if not isinstance(target, str) or target not in TARGETS:
        raise UserError(f"there is no target {target}", help=f"the targets are {', '.join(TARGETS)}")
    classes = classify(network)
    names = rules_of(network, classes, rules)

    def made() -> Written:
        from energyc.code.module.names import class_name

        planned, options = plan(network, classes, names), _options(network, classes, names, choices)
        with stage("emit", network.source.name):
            return Written(find_target(target).module(planned, options), class_name(network.name))

    asked = told_apart(classes, target, names, choices)
    written = known(Written, [network.identity, asked], made)
    return Compiled(network, classes, target, written.printed, f"{network.name}_{target}.py", written.class_name)


def _options(network: Network, classes: Classes, rules: Sequence[str] | None, choices: Choices) -> Options:
    """The options that a module is made with. Raises UserError as ``emit``."""
    from energyc.code.module.context import Options
    from energyc.proofs.verdicts.admission import biased

    names = rules_of(network, classes, rules)
    return Options(
        rules=names,
        label=Path(network.source.name).name,
        version=__version__,
        biased=biased(classes, names),
        unproved=classes.unproved,
        descends=classes.descends,
        settings=str(choices),
    )


def kernels(network: Network, rules: Sequence[str] | None = None, choices: Choices = Choices()) -> str:
    """The kernels of a network: what runs together, and the C++ of it; or why it has none.

    Raises UserError as ``emit``.
    """
    from energyc.code.loops import NotLowered, kernel_text
    from energyc.code.targets.cpp.source import own_source
    from energyc.code.targets.kernels import all_kernels

    classes = classify(network)
    planned, options = plan(network, classes, rules), _options(network, classes, rules, choices)
    try:
        relaxing = lower(planned, options)
    except NotLowered as reason:
        return f"no kernels: {reason}\n"
    without = [f"no kernels of {r.context.network.name}: {r.reason}\n" for r in relaxing if r.reason]
    found = all_kernels(relaxing)
    return "\n".join([*map(kernel_text, found), *without, own_source(found)])


def rules_of(network: Network, classes: Classes, rules: Sequence[str] | None) -> tuple[str, ...]:
    """The rules that a module is to hold, of all of them the spec's first. Raises UserError as ``emit``."""
    from energyc.proofs.verdicts.admission import available, check_rules

    if isinstance(rules, str):
        rules = [rules]
    if rules is not None and not (isinstance(rules, Sequence) and all(isinstance(rule, str) for rule in rules)):
        raise wrong_argument("rules", rules, 'a list of names, as rules=["centered-ep"]')
    if rules is not None and tuple(rules) == ALL:
        return tuple(sorted(available(classes), key=lambda rule: rule != network.train.rule))
    names = list(rules) if rules is not None else [network.train.trained_by]
    check_rules(network.name, classes, names)
    return tuple(dict.fromkeys(names))


def compile_spec(
    spec: str | Path,
    choices: Choices = Choices(),
    *,
    targets: Sequence[str] = ("torch",),
    rules: Sequence[str] | None = None,
) -> list[Compiled]:
    """The generated modules of a spec, one for each target. Raises SpecError, UserError."""
    network = resolve(read(spec), choices)
    return [emit(network, rules, choices, target) for target in targets]


def instantiate(compiled: Compiled, device: Any, dtype: Any, seed: int) -> Any:
    """A generated module as a living network.

    Raises UserError for a device, dtype or seed that cannot be used, and where a library that it is for is missing.
    """
    from energyc.code.module.instantiate import instantiate as instantiate_text

    check_device(str(device))
    kind = torch_dtype(dtype)
    if not compiled.learns:
        _check_alone(compiled, device, kind)
    check_seed(seed)
    with stage("load", compiled.network.source.name), arithmetic("drawing the first weights"):
        net = instantiate_text(compiled.text, compiled.class_name, device=device, dtype=kind, seed=int(seed))
    net.readout_shapes = compiled.network.readout_shapes
    net.force_class = compiled.classes.verdict
    rules = compiled.classes.rules.items()
    net.undefined = {name: rule.why or "" for name, rule in rules if rule.verdict == "inadmissible"}
    net.target = "torch" if compiled.fallback is not None else compiled.target
    return net


def _check_alone(compiled: Compiled, device: Any, dtype: torch.dtype | None) -> None:
    """Raise UserError where a module that is not one of torch cannot run: it is on the CPU, in a library of its own."""
    target = find_target(compiled.target)
    if str(device) not in ("None", "cpu"):
        message = f"modules in {target.title} run on the cpu, not on {device}"
        raise UserError(message, code="E0902", help=spoken("use {}", Option("device", "cpu")))
    extra = target.needs.extra
    if extra is not None and importlib.util.find_spec(extra) is None:
        message = f"{extra} is not installed, which modules in {target.title} need"
        raise UserError(message, help=install_extra(extra))
    short = str(dtype).removeprefix("torch.")
    if reason := target.ready(compiled.printed, "cpu", short).reason:
        message = f"a module in {target.title} cannot be used in {short}: {reason}"
        raise UserError(message, code="E0902", help=spoken("call that first, or use {}", Option("dtype", "float32")))


def training_dtype(network: Network) -> torch.dtype:
    """The dtype that a network trains in: ``train.dtype``."""
    import torch

    return torch.float64 if network.train.dtype == "float64" else torch.float32


def wrong_argument(name: str, value: object, expected: str) -> UserError:
    """The error for an argument of a Python function that is not what it takes."""
    shown = repr(value) if isinstance(value, str | int | float | bytes | None) else type(value).__name__
    return UserError(f"{name} is {shown}", code="E0930", help=f"give {expected}")


def check_device(device: str) -> None:
    """Raise UserError for a device that torch does not see, or that holds no numbers, as ``meta``."""
    import torch

    try:
        made, reason = torch.zeros(1, device=device), None
        if made.is_meta:
            reason = "it holds no numbers"
        else:
            made.item()  # which waits for what was asked of the device
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0]
    if reason is not None:
        raise UserError(
            f"the device {device} cannot be used: {reason}",
            code="E0902",
            help=spoken("use {}", Option("device", "cpu")),
        )


def torch_dtype(dtype: Any) -> torch.dtype | None:
    """A floating-point dtype of torch: itself, its name, or NumPy's dtype of that name; None is torch's default one.

    Raises UserError for anything else.
    """
    import torch

    if dtype is None:
        return None
    names = (
        [dtype] if isinstance(dtype, str) else [getattr(dtype, attribute, None) for attribute in ("name", "__name__")]
    )
    named = {"float": torch.float64, "double": torch.float64}
    for name in names:
        if isinstance(name, str):
            short = name.removeprefix("torch.")
            dtype = named.get(short, getattr(torch, short, dtype))
    if isinstance(dtype, torch.dtype) and dtype.is_floating_point:
        return dtype
    message = f"the dtype {dtype!r} cannot be used: states and params are real floating-point tensors"
    raise UserError(message, code="E0902", help='give dtype="float32", "float64" or "bfloat16", or torch.float64')


def check_seed(seed: Any) -> None:
    """Raise UserError for what torch takes for no seed."""
    if not isinstance(seed, Integral) or isinstance(seed, bool) or not -(2**63) <= int(seed) < 2**63:
        raise UserError(f"the seed {seed!r} cannot be used", help="give a whole number below 2^63, as seed=0")
