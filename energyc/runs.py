"""A spec, or the folder of a run, as something to train, evaluate and draw."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from energyc.analysis.admission import refuse_biased
from energyc.data import Dataset, find_adapter
from energyc.diagnostics import Source, UserError
from energyc.pipeline import ALL, Choices, Compiled, emit, for_data, instantiate, parse, read, resolve
from energyc.report.idle import idle_settings
from energyc.report.resolved import resolved_text
from energyc.resolve import Network
from energyc.train.options import TrainOptions
from energyc.version import __version__

if TYPE_CHECKING:
    import torch

    from energyc.train.feeds import Feeds
    from energyc.train.run import SavedRun
    from energyc.train.session import Session


@dataclass(frozen=True)
class Request:
    """What the flags of ``energyc train`` say; None and empty where the spec decides."""

    rule: str | None = None
    data: tuple[str, ...] = ()
    steps: int | None = None
    device: str = "cpu"
    seed: int | None = None
    allow_biased: bool = False


@dataclass(frozen=True)
class Prepared:
    """A spec ready to train: its network, its module, its options, its opened data."""

    source: Source
    choices: Choices
    network: Network
    compiled: Compiled
    options: TrainOptions
    datasets: Mapping[str, Dataset]
    paths: Mapping[str, str]
    device: str

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know before the run begins."""
        rule = self.options.rule or "implicit"
        verdict = self.compiled.classes.rules[rule]
        if verdict.verdict == "unproved":
            return (f"{rule} is unproved on {self.network.name}: it is exact only if {verdict.why} is conservative",)
        return (f"{rule} is biased on {self.network.name}: {verdict.why}",) if verdict.verdict == "biased" else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Settings that do nothing."""
        return tuple(idle_settings(self.network, self.compiled.classes))

    def session(self, out: Path, seed: int | None = None) -> Session:
        """The session of one seed in a folder. Raises UserError for a device that is not there."""
        from energyc.train.feeds import Feeds
        from energyc.train.session import Session

        options = self.options if seed is None else replace(self.options, seed=seed)
        dtype = dtype_of(self.network)
        feeds = Feeds(self.datasets, *_fields(self.network))
        net = instantiate(self.compiled, self.device, dtype, options.seed)
        return Session(net, feeds, options, out, self._files(), self._info(), self.device, dtype, self.paths)

    def _files(self) -> dict[str, str]:
        tree = parse(self.source)
        spec = resolved_text(tree, self.source, self.choices.preset, self.choices.overrides)
        return {"spec.energy": spec, self.compiled.file_name: self.compiled.text}

    def _info(self) -> dict[str, Any]:
        return {
            "energyc": __version__,
            "spec": self.source.name,
            "preset": self.choices.preset,
            "overrides": {key: str(value) for key, value in self.choices.overrides.items()},
            "module": self.compiled.file_name,
            "energies": list(self.network.energies),
            "forces": list(self.network.forces),
            "data": dict(self.paths),
        }


def prepare(source: Source, choices: Choices, request: Request) -> Prepared:
    """Compile a spec for the rule it is to be trained by, and open its data.

    Raises SpecError; UserError for a setting, a rule, a path or data that is not right, and for a rule that is biased
    on this network unless that is allowed.
    """
    network = resolve(source, choices)
    options = _options(network, request)
    rule = options.rule or "implicit"
    compiled = emit(network, [rule, "implicit"], choices)
    if not options.allow_biased:
        refuse_biased(network.name, compiled.classes, rule)
    paths = data_paths(network, request.data)
    return Prepared(
        source, choices, network, compiled, options, open_data(network, paths, options.seed), paths, request.device
    )


def reopen(run: Path, *, steps: int | None = None, data: Sequence[str] = (), device: str | None = None) -> Prepared:
    """A run's own spec, options and data, to go on with it or to look at it. Raises UserError, SpecError."""
    from energyc.train.run import load_run

    saved = load_run(run)
    network = resolve(saved.source)
    options = saved.options if steps is None else saved.options.with_steps(steps)
    compiled = emit(network, [saved.rule, "implicit"])
    paths = _found(saved, data_paths(network, data))
    datasets = open_data(network, paths, options.seed)
    where = device or str(saved.info.get("device", "cpu"))
    return Prepared(saved.source, Choices(), network, compiled, options, datasets, paths, where)


def feeds_of(saved: SavedRun, network: Network) -> Feeds:
    """What feeds the network of a run from the run's own data. Raises UserError where they cannot be opened."""
    from energyc.train.feeds import Feeds

    return Feeds(open_data(network, _found(saved, {}), saved.options.seed), *_fields(network))


def load(
    spec_or_run: str | Path,
    *,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    preset: str | None = None,
    settings: Mapping[str, object] | None = None,
    target: str = "torch",
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
    seed: int = 0,
    rules: Sequence[str] | None = None,
) -> Any:
    """A network as a ``torch.nn.Module``: of a spec (a path or text), or of a run folder with its trained weights.

    ``dims``, ``consts`` and ``settings`` win over ``preset``, which wins over the spec; explicit dims never open data.
    ``rules`` are those the module holds (by default all that this network admits), ``dtype`` torch's default one where
    it is left out. Raises SpecError, UserError.
    """
    choices = Choices.of(preset, dims, consts, settings)
    if is_run(spec_or_run):
        return load_trained(Path(spec_or_run), choices, device=device, dtype=dtype)
    compiled = emit(resolve(spec_beside_runs(spec_or_run), choices), rules or ALL, choices, target)
    return instantiate(compiled, device, dtype, seed)


def spec_beside_runs(spec: str | Path) -> Source:
    """The source of a spec where a run could stand too. Raises UserError, which names both."""
    try:
        return read(spec)
    except UserError as error:
        if error.code == "E0901" and "\n" not in str(spec) and not os.path.exists(spec):
            help_text = "give the path of a .energy file, `-` for standard input, or the folder of a run"
            raise UserError(f"there is no file or folder {spec}", code=error.code, help=help_text) from None
        raise


def is_run(path: str | Path) -> bool:
    """Whether a path is a run folder."""
    return "\n" not in str(path) and os.path.isdir(path)


def load_trained(run: Path, choices: Choices, *, device: Any = "cpu", dtype: torch.dtype | None = None) -> Any:
    """The network of a run with the weights of its best checkpoint. Raises UserError, SpecError."""
    from energyc.train.run import load_run

    saved = load_run(run)
    network = resolve(saved.source, choices)
    compiled = emit(network, ALL, choices)
    net = instantiate(compiled, device, dtype or dtype_of(network), saved.options.seed)
    saved.load_into(net)
    return net


def dtype_of(network: Network) -> torch.dtype:
    """What a network is trained in: ``train.dtype``."""
    import torch

    return torch.float64 if network.train.get("dtype") == "float64" else torch.float32


def _options(network: Network, request: Request) -> TrainOptions:
    options = TrainOptions.from_settings(for_data(network.train))
    if request.rule is not None:
        options = replace(options, rule=request.rule)
    if request.seed is not None:
        options = options.with_seed(request.seed)
    if request.steps is not None:
        options = options.with_steps(request.steps)
    return replace(options, allow_biased=options.allow_biased or request.allow_biased)


# ------------------------------------------------------------------ data


def data_paths(network: Network, given: Sequence[str]) -> dict[str, str]:
    """The path for each binding from ``--data``: a path where the spec has one binding, else ``binding=path``.

    Raises UserError where it is not clear which binding a path is for, or where there is no path.
    """
    paths: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (equals and name in network.bindings):
            name, path = _only_binding(network, text), text
        if not path:
            raise UserError(f"--data {text or repr(text)} gives no path", code="E0903", help=_data_help(network))
        paths[name] = str(Path(path).absolute())
    return paths


def _only_binding(network: Network, text: str) -> str:
    """The binding that a bare path is for; ``foo=PATH`` is a misspelt binding unless there is such a file."""
    name, equals, _ = text.partition("=")
    misspelt = equals and name.isidentifier() and not Path(text).exists()
    if misspelt or len(network.bindings) != 1:
        raise UserError(f"--data {text} names no data of this spec", code="E0903", help=_data_help(network))
    return next(iter(network.bindings))


def _found(saved: SavedRun, given: Mapping[str, str]) -> dict[str, str]:
    """The paths of a run's data, those given now first. Raises UserError for one that is gone."""
    recorded = {str(name): str(path) for name, path in dict(saved.info.get("data", {})).items()}
    for name, path in recorded.items():
        if name not in given and not Path(path).exists():
            message = f"{saved.folder.path} was made with the data {name} from {path}, and nothing is there now"
            raise UserError(message, code="E0913", help=f"say where they lie now: --data {name}=PATH")
    return {**recorded, **given}


def _data_help(network: Network) -> str:
    if not network.bindings:
        return "the spec has no data line"
    return "write " + " or ".join(f"--data {name}=PATH" for name in network.bindings)


def open_data(network: Network, paths: Mapping[str, str], seed: int) -> dict[str, Dataset]:
    """Every binding opened, at its path or at the data that ship with it. Raises UserError."""
    return {
        name: find_adapter(binding.adapter).open(for_data(binding.options), paths.get(name), seed=seed)
        for name, binding in network.bindings.items()
    }


Fields = dict[str, tuple[str, str]]


def _fields(network: Network) -> tuple[Fields, Fields]:
    """Which field feeds each clamp and target. Raises UserError where nothing does, or data of another size."""
    for kind, inputs in (("clamp", network.clamps), ("target", network.targets)):
        for name, item in inputs.items():
            if item.source is None:
                help_text = f"bind it: {kind} {name} = BINDING.FIELD"
                raise UserError(f"nothing feeds the {kind} {name}", code="E0904", help=help_text)
            if not item.fits:
                message = f"the sizes that were set do not fit {'.'.join(item.source)}, which feeds the {kind} {name}"
                raise UserError(message, code="E0603", help="set the options of the data too, or leave the sizes")
    clamps = {name: item.source for name, item in network.clamps.items() if item.source is not None}
    targets = {name: item.source for name, item in network.targets.items() if item.source is not None}
    return clamps, targets
