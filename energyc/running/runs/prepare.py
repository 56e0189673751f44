"""Prepare a spec or a run for training, evaluation and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from energyc.language.diagnostics import Option, Source, UserError, listed, spoken
from energyc.language.network import Binding, ConstraintSet, Network
from energyc.language.settings import TrainOptions, extremes
from energyc.mathematics.calculus import adjoint
from energyc.mathematics.ir import Input, Node, walk
from energyc.pipeline import Choices, Compiled, instantiate, resolve, training_dtype
from energyc.proofs.conservativeness.edges import steep_edges
from energyc.proofs.verdicts.admission import refuse_biased
from energyc.running.data import Dataset, Schema
from energyc.running.data.registry import SHIPPED
from energyc.running.loggers.chosen import names_of
from energyc.running.loggers.protocol import Logger
from energyc.running.ranks.group import ALONE, Group
from energyc.running.runs.data import feeds_of, opened
from energyc.running.runs.data_arguments import NO_DATA, Data, DataArguments
from energyc.running.runs.resolved import resolved_text
from energyc.running.runs.saved import load_run
from energyc.running.runs.target import compiled_for
from energyc.running.training.division import Division, Part
from energyc.running.training.feeds import Feeds, Field
from energyc.running.training.saturation import Bounds
from energyc.running.training.scores import check_installed
from energyc.running.training.session import Session
from energyc.version import __version__


@dataclass(frozen=True)
class Request:
    """What ``energyc.train`` and ``energyc train`` are asked for; the spec decides what is None or empty."""

    rule: str | None = None
    data: Data = NO_DATA
    steps: int | None = None
    device: str = "cpu"
    seed: int | None = None
    allow_biased: bool = False
    target: str = "auto"

    def options(self, network: Network) -> TrainOptions:
        """Return the settings of the spec's ``train`` block, overridden by the flags. Raises UserError."""
        options = network.train
        if self.rule is not None:
            options = replace(options, rule=self.rule)
        if self.seed is not None:
            options = options.with_seed(self.seed)
        if self.steps is not None:
            options = options.with_steps(self.steps)
        return replace(options, allow_biased=options.allow_biased or self.allow_biased)


@dataclass(frozen=True)
class Prepared:
    """A spec ready to train: its network, its module, its options, its opened data.

    ``origin`` records the origin of the spec in ``run.json``, also if the run is resumed from its own copy. ``fold`` is
    that of a run of a cross-validation, ``target_note`` says what the phases run as, ``group`` are the ranks that train
    it together, ``loggers`` are told how it goes. ``given`` is what was given as data, and ``direct`` the fields of
    what feeds inputs by their names.
    """

    source: Source
    choices: Choices
    network: Network
    compiled: Compiled
    options: TrainOptions
    datasets: Mapping[str, Dataset]
    given: DataArguments
    direct: Mapping[str, Field]
    device: str
    origin: Mapping[str, Any]
    fold: int | None = None
    target_note: str | None = None
    group: Group = ALONE
    loggers: tuple[Logger, ...] = ()

    def feeds(self, fold: int | None = None) -> Feeds:
        """Return the data as they are divided for a run, or for a fold. Raises UserError."""
        division = Division(self.options.validation, self.options.folds, self.fold if fold is None else fold)
        return feeds_of(self.network, self.datasets, division, self.direct)

    def session(self, out: Path, seed: int | None = None, fold: int | None = None) -> Session:
        """Return the session of a seed or a fold in a folder. Raises UserError for an unknown device."""
        options = self.options if seed is None else replace(self.options, seed=seed)
        dtype = training_dtype(self.network)
        feeds = self.feeds(fold)
        net = instantiate(self.compiled, self.device, dtype, options.seed)
        files, info, steep = self._files(), self._info(), self._steep()
        extreme = extremes(self.network.relax, self.network.nudge, options)
        return Session(
            net,
            feeds,
            options,
            out,
            files,
            info,
            self.device,
            dtype,
            self.given.paths,
            steep,
            extreme,
            self.group,
            self.loggers,
            state_bounds(self.network),
        )

    def shared_by(self, group: Group) -> Prepared:
        """Return the same for the ranks of a group. Raises UserError if they cannot share its batches."""
        refuse_unshared(self.network, self.options, group)
        return replace(self, group=group)

    def _steep(self) -> dict[str, str]:
        return {steep.owner: str(steep) for steep in steep_edges(self.network)}

    def _files(self) -> dict[str, str]:
        spec = resolved_text(self.source, self.choices, self.direct)
        return {"spec.energy": spec, self.compiled.file_name: self.compiled.text}

    def _info(self) -> dict[str, Any]:
        return {
            "energyc": __version__,
            **self.origin,
            "module": self.compiled.file_name,
            "target": self.compiled.target,
            "energies": list(self.network.energies),
            "forces": list(self.network.forces),
            **({"layers": list(self.network.layers)} if self.network.layers else {}),
            "data": dict(self.given.paths),
            **({"arrays": self.given.arrays} if self.given.arrays else {}),
            **({"map": dict(self.given.names)} if self.given.names else {}),
            **({"given": self.given.origins} if self.given.origins else {}),
            **({"schemas": schemas} if (schemas := self._schemas()) else {}),
            **({"loggers": names} if (names := names_of(self.loggers)) else {}),
        }

    def _schemas(self) -> dict[str, Any]:
        """The schemas that a spec does not tell, by the adapters' names: of adapters of others, of other sizes."""
        inputs = (*self.network.clamps.values(), *self.network.targets.values())
        resized = {item.source[0] for item in inputs if item.source is not None and not item.fits}
        told = {*self.given.providers, *resized}
        return {
            binding.adapter: asdict(self._schema(name, binding))
            for name, binding in self.network.bindings.items()
            if name in self.datasets and (name in told or binding.adapter not in SHIPPED)
        }

    def _schema(self, name: str, binding: Binding) -> Schema:
        """The schema of opened data; with the sizes of the binding, which the spec may read, where they have none."""
        found = self.datasets[name].schema
        if found.sizes:
            return found
        return replace(found, sizes=self.given.schemas()(binding.adapter, binding.options).sizes)


def prepare(source: Source, choices: Choices, request: Request) -> Prepared:
    """Open the data of a spec or of the request, and compile it for the rule that trains it.

    What the data lack, a file or a library, is said before anything is compiled.
    Raises SpecError; UserError for a missing cost, for a wrong setting, rule, path or data, and for a rule that is
    biased on this network unless that is allowed.
    """
    given = request.data.read(source)
    network = resolve(source, choices, given.schemas())
    options = request.options(network)
    rule = options.trained_by
    if network.cost is None:
        message = f"{network.name} has no cost, so there is nothing to train for"
        raise UserError(message, code="E0516", help="add a line such as: cost mse = 1/2 * sum[k]((y[k] - t[k])^2)")
    check_installed(options.scores)
    datasets, direct = opened(network, given, options.seed)
    compiled, note, _ = compiled_for(request.target, request.device, network, [rule], choices)
    if not options.allow_biased:
        refuse_biased(network.name, compiled.classes, rule)
    origin = _origin(source, choices)
    return Prepared(
        source, choices, network, compiled, options, datasets, given, direct, request.device, origin, target_note=note
    )


def _origin(source: Source, choices: Choices) -> dict[str, Any]:
    """Return the path of the spec, its preset and its overrides, for ``run.json``."""
    overrides = {key: str(value) for key, value in choices.overrides.items()}
    return {"spec": source.name, "preset": choices.preset, "overrides": overrides}


def to_evaluate(run: Path, split: Part, *, data: Data = NO_DATA, device: str | None = None) -> Session:
    """Return the session of a run whose ``split`` is to be evaluated. Raises UserError, SpecError."""
    prepared = reopen(run, data=data, device=device)
    if split == "validation" and not prepared.feeds().has_validation:
        message = f"{run} has no validation part"
        help_text = spoken("train with train.validation, or give {}", Option("split", "test"))
        raise UserError(message, code="E0520", help=help_text)
    return prepared.session(run)


def reopen(
    run: Path,
    *,
    steps: int | None = None,
    data: Data = NO_DATA,
    device: str | None = None,
) -> Prepared:
    """Prepare a run from its own spec, options and data, to resume or inspect it.

    Data that came from a program are given again. Raises UserError, SpecError.
    """
    saved = load_run(run)
    given = saved.data(data.read(saved.source))
    network = saved.resolved(given=given)
    options = saved.options if steps is None else saved.options.with_steps(steps)
    run_device = device or saved.info.get("device", "cpu")
    datasets, direct = opened(network, given, options.seed)
    compiled, note, _ = compiled_for(saved.target_on(run_device), run_device, network, [saved.rule], resumes=True)
    origin = {key: value for key, value in saved.info.items() if key in ("spec", "preset", "overrides")}
    fold = saved.info.get("fold")
    return Prepared(
        saved.source, Choices(), network, compiled, options, datasets, given, direct, run_device, origin, fold, note
    )


# ------------------------------------------------------------------ ranks


def refuse_unshared(network: Network, options: TrainOptions, group: Group) -> None:
    """Raise UserError for a batch that does not divide, and for samples that depend on the others of their batch."""
    if group.size == 1:
        return
    batch, size = options.batch, group.size
    if batch % size:
        message = f"train.batch = {batch} is the batch of all {size} ranks together, and {size} does not divide it"
        raise UserError(message, code="E0502", help=f"train.batch = {size * max(1, round(batch / size))}")
    parts = [network, *(layer.network for layer in network.layers.values())]
    for part in parts:
        coupled = listed(part.batch_mates) or ("relax.step = auto" if part.relax.step is None else "")
        if coupled:
            message = f"{size} ranks cannot share a batch of {part.name}, where samples depend on each other: {coupled}"
            raise UserError(message, code="E0519", help="train it in one process")


# ------------------------------------------------------------------ bounds of states


def state_bounds(network: Network) -> dict[str, Bounds]:
    """Return the bounds of the states that have such, those of a layer by ``LAYER.STATE``."""
    return {
        name: Bounds(low, high, _is_compared(network, read))
        for name, bounded, read in _constrained(network)
        for low, high in _ends(bounded)
    }


def _constrained(network: Network) -> Iterator[tuple[str, ConstraintSet, Node | None]]:
    """Yield each state with a set, and the node by which the network around it reads its units as they are."""
    for name, state in network.states.items():
        if state.constraint is not None:
            yield name, state.constraint, state.node
    for layer in network.layers.values():
        read = {quantity.node: layer.outputs.get(name) for name, quantity in layer.network.readouts.items()}
        for name, state in layer.network.states.items():
            if state.constraint is not None:
                yield f"{layer.name}.{name}", state.constraint, read.get(state.node)


def _ends(bounded: ConstraintSet) -> Iterator[tuple[float | None, float | None]]:
    """Yield the bounds of a set; nothing for a set without bounds."""
    if bounded.kind == "box":
        yield bounded.low, bounded.high
    elif bounded.kind in ("nonnegative", "simplex"):
        yield 0.0, None


def _is_compared(network: Network, units: Node | None) -> bool:
    """Whether the cost compares units with a target: its slope by them reads no param that would mix them."""
    if units is None or network.cost is None:
        return False
    slopes = adjoint(network.graph, {network.cost.node: network.graph.constant(1)}, [units], strict=False)
    read = walk(list(slopes.values()))
    return bool(slopes) and not any(isinstance(node, Input) and node.kind == "param" for node in read)
