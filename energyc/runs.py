"""A spec, or the folder of a run, as something to train, evaluate and draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from energyc.data import Dataset, find_adapter
from energyc.diagnostics import Source, UserError
from energyc.pipeline import Choices, Compiled, all_rules, biased, emit, instantiate, parse, resolve, rules_of
from energyc.report.resolved import resolved_text
from energyc.resolve import Network
from energyc.train.options import TrainOptions
from energyc.version import __version__

if TYPE_CHECKING:
    import torch

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

    def session(self, out: Path, seed: int | None = None) -> Session:
        """The session of one seed in a folder. Raises UserError for a device that is not there."""
        from energyc.train.feeds import Feeds
        from energyc.train.session import Session

        options = self.options if seed is None else replace(self.options, seed=seed)
        dtype = dtype_of(self.network)
        feeds = Feeds(self.datasets, *_fields(self.network))
        net = instantiate(self.compiled, self.device, dtype, options.seed)
        return Session(net, feeds, options, out, self._files(), self._info(), self.device, dtype)

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
    _refuse_biased(network, rule, options.allow_biased)
    compiled = emit(network, rules_of(network, [rule, "implicit"]), choices)
    paths = data_paths(network, request.data)
    return Prepared(
        source, choices, network, compiled, options, open_data(network, paths, options.seed), paths, request.device
    )


def reopen(run: Path, *, steps: int | None = None, data: Sequence[str] = (), device: str | None = None) -> Prepared:
    """A run's own spec, options and data, to go on with it or to look at it. Raises UserError, SpecError."""
    from energyc.train.run import load_run

    saved = load_run(run)
    source = Source(str(run / "spec.energy"), saved.spec)
    network = resolve(source)
    options = saved.options if steps is None else saved.options.with_steps(steps)
    rule = str(saved.info.get("rule", options.rule or "implicit"))
    compiled = emit(network, rules_of(network, [rule, "implicit"]))
    paths = data_paths(network, data) or {str(k): str(v) for k, v in dict(saved.info.get("data", {})).items()}
    datasets = open_data(network, paths, options.seed)
    where = device or str(saved.info.get("device", "cpu"))
    return Prepared(source, Choices(), network, compiled, options, datasets, paths, where)


def load_trained(run: Path, choices: Choices, *, device: Any = "cpu", dtype: torch.dtype | None = None) -> Any:
    """The network of a run with the weights of its best checkpoint. Raises UserError, SpecError."""
    from energyc.train.run import load_run

    saved = load_run(run)
    network = resolve(Source(str(run / "spec.energy"), saved.spec), choices)
    compiled = emit(network, all_rules(network), choices)
    net = instantiate(compiled, device, dtype or dtype_of(network), saved.options.seed)
    saved.load_into(net)
    return net


def dtype_of(network: Network) -> torch.dtype:
    """What a network computes in: ``train.dtype``, or float32. Raises UserError for one that there is not."""
    import torch

    known = {"float32": torch.float32, "float64": torch.float64}
    word = str(network.train.get("dtype", "float32"))
    if word not in known:
        raise UserError(f"train.dtype = {word} does not fit", code="E0502", help=f"write one of {', '.join(known)}")
    return known[word]


def _options(network: Network, request: Request) -> TrainOptions:
    settings = {key: value for key, value in network.train.items() if key != "dtype"}
    options = TrainOptions.from_settings(settings)
    if request.rule is not None:
        options = replace(options, rule=request.rule)
    if request.seed is not None:
        options = replace(options, seed=request.seed)
    if request.steps is not None:
        options = options.with_steps(request.steps)
    return replace(options, allow_biased=options.allow_biased or request.allow_biased)


def _refuse_biased(network: Network, rule: str, allowed: bool) -> None:
    reasons = biased(network, [rule])
    if rule in reasons and not allowed:
        raise UserError(
            f"{rule} is biased on {network.name}: {reasons[rule]}",
            code="E0912",
            help="choose an exact rule (energyc check lists them), or insist with --allow-biased",
        )


# ------------------------------------------------------------------ data


def data_paths(network: Network, given: Sequence[str]) -> dict[str, str]:
    """The path for each binding from ``--data``: a path where the spec has one binding, else ``binding=path``.

    Raises UserError where it is not clear which binding a path is for.
    """
    paths: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if equals and name in network.bindings:
            paths[name] = path
        elif len(network.bindings) == 1:
            paths[next(iter(network.bindings))] = text
        else:
            raise UserError(f"--data {text} names no data of this spec", code="E0903", help=_data_help(network))
    return paths


def _data_help(network: Network) -> str:
    if not network.bindings:
        return "the spec has no data line"
    return "write " + " or ".join(f"--data {name}=PATH" for name in network.bindings)


def open_data(network: Network, paths: Mapping[str, str], seed: int) -> dict[str, Dataset]:
    """Every binding opened, at its path or at the data that ship with it. Raises UserError."""
    return {
        name: find_adapter(binding.adapter).open(binding.options, paths.get(name), seed=seed)  # type: ignore[arg-type]
        for name, binding in network.bindings.items()
    }


Fields = dict[str, tuple[str, str]]


def _fields(network: Network) -> tuple[Fields, Fields]:
    """Which field feeds each clamp and target. Raises UserError for one that nothing feeds."""
    for kind, inputs in (("clamp", network.clamps), ("target", network.targets)):
        for name, item in inputs.items():
            if item.source is None:
                help_text = f"bind it: {kind} {name} = BINDING.FIELD"
                raise UserError(f"nothing feeds the {kind} {name}", code="E0904", help=help_text)
    clamps = {name: item.source for name, item in network.clamps.items() if item.source is not None}
    targets = {name: item.source for name, item in network.targets.items() if item.source is not None}
    return clamps, targets
