"""Read a run folder, for ``energyc.load("runs/x")``, ``eval``, ``verify`` and ``--resume``.

What ``run.json`` records of the network is compared with the spec beside it before anything of it is used: the params
and their shapes, what feeds each clamp and target, and the names of terms, layers and data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from numpy.typing import NDArray

from energyc.language.diagnostics import Given, Source, UserError, listed, spoken
from energyc.language.network import DataInput
from energyc.language.network import Network as Resolved
from energyc.language.settings import TrainOptions
from energyc.pipeline import Choices, resolve
from energyc.running.data import FieldSchema, Schema
from energyc.running.folder.checkpoints import Checkpoint, load_best, load_last
from energyc.running.folder.fit import refuse, refuse_unfit_params
from energyc.running.folder.formats import RunInfo
from energyc.running.folder.layout import RunFolder, unreadable
from energyc.running.folder.logs import Row, read_rows
from energyc.running.runs.data_arguments import DIRECT, DataArguments
from energyc.running.training.division import Division
from energyc.running.training.network import Network
from energyc.running.training.snapshot import restore

Which = Literal["best", "last"]


@dataclass(frozen=True)
class SavedRun:
    """A run on disk."""

    folder: RunFolder
    info: RunInfo

    @cached_property
    def options(self) -> TrainOptions:
        """The options of the run."""
        return TrainOptions.from_json(self.info.get("options", {}))

    @property
    def division(self) -> Division:
        """How its samples are divided."""
        return Division(self.options.validation, self.options.folds, self.info.get("fold"))

    @property
    def rule(self) -> str:
        """The rule that trains the run."""
        return self.info.get("rule") or self.options.trained_by

    def target_on(self, device: str) -> str:
        """The target of the run; on another device than its own, the usual one in the place of kernels."""
        target = self.info.get("target", "torch")
        return "auto" if target != "torch" and device != self.info.get("device", "cpu") else target

    @cached_property
    def source(self) -> Source:
        """The resolved spec."""
        name = "spec.energy"
        return Source(str(self.folder.path / name), self.text(name))

    def text(self, name: str) -> str:
        """Read a file of the run. Raises UserError E0511 if it is missing."""
        try:
            return (self.folder / name).read_utf8()
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(self.folder / name, error) from None

    def resolved(self, choices: Choices = Choices(), given: DataArguments | None = None) -> Resolved:
        """Return the network; the schemas of data are those that the run was made with.

        Raises SpecError; UserError E0514 if the run was made with another network, unless ``choices`` make it another.
        """
        network = resolve(self.source, choices, (given or DataArguments()).schemas(self._schemas))
        if choices == Choices():
            refuse_other_record(self.info, network)
        return network

    @cached_property
    def _schemas(self) -> dict[str, Schema]:
        """The schemas of adapters that may be unknown here, by their names."""
        return {
            name: Schema(
                {
                    field: FieldSchema(
                        tuple(about["shape"]),
                        about["kind"],
                        about["classes"],
                        tuple(about["image"]) if about["image"] else None,  # type: ignore[arg-type]
                    )
                    for field, about in stored["fields"].items()
                },
                stored["sizes"],
            )
            for name, stored in self.info.get("schemas", {}).items()
        }

    def data(self, given: DataArguments) -> DataArguments:
        """Return the data of the run: what is given now, and the paths that it was made with.

        Raises UserError: E0913 for a missing path, E0934 for data that came from a program and are not given again.
        """
        recorded = {name: path for name, path in self.info.get("data", {}).items() if name not in given.things}
        for name, path in recorded.items():
            self._refuse_moved(name, path)
        if (arrays := self.info.get("arrays")) and DIRECT not in given.things:
            self._refuse_moved(None, arrays)
            recorded[DIRECT] = arrays
        if DIRECT in {**recorded, **given.things} and not given.names:
            given = replace(given, names=self.info.get("map", {}))
        missing = {name: kind for name, kind in self.info.get("given", {}).items() if name not in given.things}
        if missing and DIRECT not in {**recorded, **given.things}:
            shown = listed(f"{name} ({kind})" for name, kind in missing.items())
            message = f"{self.folder.path} was made with data that a program gave, and they are not in the run: {shown}"
            first = next(iter(missing))
            help_text = spoken("give them again: {}", Given(None if first == DIRECT else first, "module:factory"))
            raise UserError(message, code="E0934", help=help_text)
        return replace(given, things={**recorded, **given.things})

    def _refuse_moved(self, name: str | None, path: str) -> None:
        """Raise UserError E0913 where nothing is at the path of a binding, or with None of the arrays of all inputs."""
        if not Path(path).exists():
            of = "" if name is None else f" {name}"
            message = f"{self.folder.path} was made with the data{of} from {path}, and nothing is there now"
            help_text = spoken("give the new path: {}", Given(name, python='"PATH"'))
            raise UserError(message, code="E0913", help=help_text)

    def rows(self) -> list[Row]:
        """Read all rows of metrics.jsonl."""
        return read_rows(self.folder.metrics)

    def checkpoint(self, which: Which = "best", notify: Callable[[str], None] = lambda text: None) -> Checkpoint:
        """Return the best or the newest intact checkpoint. Raises UserError E0512 if there is none."""
        read = load_best if which == "best" else load_last
        return read(self.folder.checkpoints, notify)

    def load_into(
        self, net: Network, which: Which = "best", notify: Callable[[str], None] = lambda text: None
    ) -> Checkpoint:
        """Load the weights into a network of the same spec, and return their checkpoint."""
        checkpoint = self.checkpoint(which, notify)
        restore(net, checkpoint)
        return checkpoint

    def copy_into(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Copy the weights of the best checkpoint into arrays by the names of the spec. Raises UserError E0514."""
        saved = self.checkpoint("best").weights
        refuse_unfit_params({name: torch.as_tensor(array) for name, array in arrays.items()}, saved)
        for name, array in arrays.items():
            array[...] = saved[name].numpy()


def load_run(path: Path | str) -> SavedRun:
    """Open a run folder. Raises UserError E0511 if ``path`` is none, or the folder of several seeds."""
    folder = RunFolder(Path(path))
    if folder.of_several:
        names = ", ".join(map(str, folder.runs))
        raise UserError(
            f"{path} holds the runs of several {folder.runs[0].name.partition('-')[0] if folder.runs else 'seed'}s",
            code="E0511",
            help=f"give one of them: {names}",
        )
    return SavedRun(folder, folder.read_info())


# ------------------------------------------------------------------ run.json beside the spec


def refuse_other_record(info: RunInfo, network: Resolved) -> None:
    """Raise UserError E0514, with the first thing that is wrong, if ``run.json`` is not of this network.

    Only what it records is compared: a run of an older version may have recorded less.
    """
    refuse(_wrong(info, network), "run.json")


def _wrong(info: RunInfo, network: Resolved) -> Iterator[str]:
    name = info.get("network", network.name)
    if name != network.name:
        yield f"it is of the network {name}"
    if "params" in info:
        yield from _wrong_params(info["params"], network)
    if "bindings" in info:
        fed = info["bindings"]
        yield from _wrong_bindings("clamps", fed.get("clamps", {}), network.clamps)
        yield from _wrong_bindings("targets", fed.get("targets", {}), network.targets)
    for kind, names in (("energies", network.energies), ("forces", network.forces), ("layers", network.layers)):
        if kind in info:
            yield from _other_names(kind, info[kind], names)  # type: ignore[literal-required]
    yield from _unknown_data(info, network)


def _wrong_params(saved: Mapping[str, Sequence[int]], network: Resolved) -> Iterator[str]:
    yield from _other_names("params", saved, network.params)
    for name, param in network.params.items():
        shape = [network.extents[dim] for dim in param.node.dims]
        if list(saved[name]) != shape:
            yield f"{name} {list(saved[name])} instead of {shape}"


def _wrong_bindings(kind: str, saved: Mapping[str, Sequence[str]], inputs: Mapping[str, DataInput]) -> Iterator[str]:
    """Data that a program gave by the names of inputs may feed any of them."""
    yield from _other_names(kind, saved, inputs)
    for name, item in inputs.items():
        if saved[name][0] != DIRECT and tuple(saved[name]) != item.source:
            fed = "nothing" if item.source is None else ".".join(item.source)
            yield f"{name} is fed by {'.'.join(saved[name])} instead of {fed}"


def _unknown_data(info: RunInfo, network: Resolved) -> Iterator[str]:
    known = {*network.bindings, DIRECT}
    for kind in ("data", "given"):
        unknown = sorted(info.get(kind, {}).keys() - known)  # type: ignore[attr-defined]
        if unknown:
            yield f"there are no data {', '.join(unknown)}"


def _other_names(kind: str, saved: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    differing = sorted(set(saved) ^ set(names))
    if differing:
        yield f"its {kind} differ in {', '.join(differing)}"
