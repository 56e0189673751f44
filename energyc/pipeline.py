"""The compiler, a line for each pass; below, the passes in that order.

| pass     | package               | takes -> gives |
|---|---|---|
| read     | `syntax`              | a path, or `-` -> source text |
| parse    | `syntax`              | text -> tree with spans |
| resolve  | `resolve`, on `ir`    | tree -> typed network (tensors are nodes of one graph), or all diagnostics |
| derive   | `derive`              | energies -> forces; forces -> Jv, J^T v; energies and cost -> gradients |
| classify | `analysis`            | forces -> classes with evidence; admissible rules |
| plan     | `plan`                | graphs -> ordered statements: once a relaxation, once a step, once an update |
| fuse     | `loops`               | the plan of a step -> matrix products and loop nests on a tile of samples |
| emit     | `emit`, codegen/      | plan, loop nests -> the text of a module |
| run      | `train`, `runs`       | module -> trained network; run folder -> its network, its text samples |
| measure  | `verify`, `bench`, `inspection` | module -> gradients' fidelity; time of a step; what goes on inside |
| export   | `hardware`, `symbolic` | network, weights -> circuit, Ising problem; few bits; formulas in SymPy |
| report   | `report`              | any of these -> what people and programs read |

The passes from read to emit are functions of this module; the packages of the last four rows build on them.
Beside the rows: `functions` holds what is known of each scalar function, `calculus` differentiates nodes, `sparse`
keeps tables over edges by their entries, `notation` writes nodes as the spec does, `html` makes pages and cards.
Nothing here prints: every function returns an object or text. Torch is imported only by what runs a network.

Imports: ``claims``, ``data``, ``derive``, ``diagnostics``, ``emit``, ``loops``, ``network``, ``resolve``, ``rules``,
``syntax``, ``verdicts``, ``version``; libraries: ``torch``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from energyc.language.diagnostics import Source, UserError, arithmetic, stage
from energyc.version import __version__

if TYPE_CHECKING:
    import torch

    from energyc.code.emit import Options, Runtime
    from energyc.derivation.derive import Derivation
    from energyc.language.network import Network
    from energyc.language.resolve.bindings import Schemas
    from energyc.language.syntax import ast
    from energyc.proofs.claims.classes import Classes

#: What a module may be written for.
TARGETS = ("torch", "cpp", "triton")
#: Stands for every rule that a network admits.
ALL = ("all",)


@dataclass(frozen=True)
class Choices:
    """What is set beside the spec: a preset, and values of dims, consts and dotted settings, which win over it."""

    preset: str | None = None
    overrides: Mapping[str, object] = field(default_factory=dict)

    @staticmethod
    def of(
        preset: str | None = None,
        dims: Mapping[str, int] | None = None,
        consts: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> Choices:
        """From the arguments of ``load``. Raises UserError for what is no name or no dict by name."""
        if preset is not None and not isinstance(preset, str):
            raise wrong_argument("preset", preset, 'the name of a preset of the spec, as preset="small"')
        overrides: dict[str, object] = {}
        examples = (("dims", dims, '{"J": 64}'), ("consts", consts, '{"gamma": 1}'))
        for name, values, example in (*examples, ("settings", settings, '{"relax.step": 0.1}')):
            if values is not None and not (isinstance(values, Mapping) and all(isinstance(key, str) for key in values)):
                raise wrong_argument(name, values, f"a dict by name, as {name}={example}")
            overrides |= values or {}
        return Choices(preset, overrides)

    def __str__(self) -> str:
        parts = [f"preset {self.preset}"] if self.preset else []
        return ", ".join([*parts, *(f"{key} = {value}" for key, value in self.overrides.items())])


@dataclass(frozen=True)
class Compiled:
    """A generated module: its text, the name of its file and of its class."""

    network: Network
    classes: Classes
    target: str
    text: str
    file_name: str
    class_name: str

    @property
    def fallback(self) -> str | None:
        """Why a module for kernels has none, so that it runs as torch operations; None where it has them."""
        found = re.search(r"^Kernels: none: (.*)$", self.text, re.MULTILINE)
        return found[1] if found else None


# ------------------------------------------------------------------ the passes


def read(spec: str | Path) -> Source:
    """The source of a spec: a path, ``-`` for standard input, or the text itself (which has more than one line).

    Raises UserError: a file that cannot be read, what is no text.
    """
    from energyc.language.syntax import decode, read_source

    if not isinstance(spec, str | os.PathLike):
        raise wrong_argument("the spec", spec, "the path of a .energy file, or the text of a spec")
    if isinstance(spec, str) and "\n" in spec:
        return decode(spec.encode(errors="surrogatepass"), "<text>")
    with stage("read", str(spec)):
        return read_source(spec)


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
    from energyc.runtime.rules import RULES

    tree = parse(source)
    with stage("resolve", source.name):
        return resolve_tree(
            tree,
            source,
            preset=choices.preset,
            overrides=choices.overrides,
            schemas=schemas or (lambda adapter, options: read_schema(find_adapter(adapter), options)),
            rules=RULES,
        )


def derive(network: Network, classes: Classes | None = None) -> Derivation:
    """Forces and gradients, each computed on demand; J_nc is that of the terms that ``classes`` does not prove."""
    from energyc.derivation.derive import derive as derive_network

    with stage("derive", network.source.name):
        return (
            derive_network(network) if classes is None else derive_network(network, classes.unproved, classes.descends)
        )


def classify(network: Network) -> Classes:
    """What is conservative, with the evidence, and which rules are admissible."""
    from energyc.proofs.verdicts.in_notation import classes_of

    with stage("classify", network.source.name):
        return classes_of(network)


def emit(
    network: Network,
    rules: Sequence[str] | None = None,
    choices: Choices = Choices(),
    target: str = "torch",
    runtime: Runtime = "copy",
) -> Compiled:
    """A module for some rules and ``implicit``, where that is admissible; with ``("all",)`` for all there are.

    By default the rule is the spec's ``train.rule``.

    It carries a ``copy`` of the runtime that it uses, so that it needs torch alone, or will ``import`` it from energyc.
    The same input gives the same bytes. Raises UserError for an unknown target or rule, and for a rule that
    is inadmissible on this network.
    """
    from energyc.code.emit import PRINTERS, class_name

    if not isinstance(target, str) or target not in PRINTERS:
        raise UserError(f"there is no target {target}", help=f"the targets are {', '.join(PRINTERS)}")
    classes = classify(network)
    options = _options(network, classes, rules, choices, runtime)
    with stage("emit", network.source.name):
        text = PRINTERS[target](network, options)
    return Compiled(network, classes, target, text, f"{network.name}_{target}.py", class_name(network.name))


def _options(
    network: Network, classes: Classes, rules: Sequence[str] | None, choices: Choices, runtime: Runtime
) -> Options:
    """What a module is made with. Raises UserError as ``emit``."""
    from energyc.code.emit import Options
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
        runtime=runtime,
    )


def kernels(network: Network, rules: Sequence[str] | None = None, choices: Choices = Choices()) -> str:
    """The kernels of a network: what runs together, and the C++ of it; or why it has none.

    Raises UserError as ``emit``.
    """
    from energyc.code.emit import kernels_of, own_source
    from energyc.code.loops import NotLowered, kernel_text

    options = _options(network, classify(network), rules, choices, "import")
    with stage("emit", network.source.name):
        try:
            relaxing = kernels_of(network, options)
        except NotLowered as reason:
            return f"no kernels: {reason}\n"
        without = [f"no kernels of {r.context.network.name}: {r.reason}\n" for r in relaxing if r.reason]
        made = [kernel_text(kernel) for r in relaxing for kernel in r.kernels]
        return "\n".join([*made, *without, own_source(relaxing)])


def rules_of(network: Network, classes: Classes, rules: Sequence[str] | None) -> tuple[str, ...]:
    """The rules that a module is to hold. Raises UserError as ``emit``."""
    from energyc.proofs.verdicts.admission import available, check_rules

    if isinstance(rules, str):
        rules = [rules]
    if rules is not None and not (isinstance(rules, Sequence) and all(isinstance(rule, str) for rule in rules)):
        raise wrong_argument("rules", rules, 'a list of names, as rules=["centered-ep"]')
    if rules is not None and tuple(rules) == ALL:
        return available(classes)
    names = list(rules) if rules is not None else [network.train.trained_by]
    check_rules(network.name, classes, names)
    return tuple(dict.fromkeys(names))


def compile_spec(
    spec: str | Path,
    choices: Choices = Choices(),
    *,
    targets: Sequence[str] = ("torch",),
    rules: Sequence[str] | None = None,
    runtime: Runtime = "copy",
) -> list[Compiled]:
    """The generated modules of a spec, one for each target. Raises SpecError, UserError."""
    network = resolve(read(spec), choices)
    return [emit(network, rules, choices, target, runtime) for target in targets]


def instantiate(compiled: Compiled, device: Any, dtype: Any, seed: int) -> Any:
    """A generated module as a living network. Raises UserError for a device, dtype or seed that cannot be used."""
    from energyc.code.emit import instantiate as instantiate_text

    check_device(str(device))
    check_seed(seed)
    kind = torch_dtype(dtype)
    with stage("load", compiled.network.source.name), arithmetic("drawing the first weights"):
        net = instantiate_text(compiled.text, compiled.class_name, device=device, dtype=kind, seed=int(seed))
    net.force_class = compiled.classes.verdict
    net.target = "torch" if compiled.fallback is not None else compiled.target
    return net


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
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"the device {device} cannot be used: {reason}", code="E0902", help="use --device cpu"
        ) from None


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
