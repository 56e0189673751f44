"""The pass: names, then sizes, then declarations, then equations, then settings, then checks of the whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypedDict, Unpack

from energyc.language.diagnostics import Diagnostic, Source, Span, SpecError
from energyc.language.network import Layer, Network, Quantity, Repeat, index_names
from energyc.language.resolve.bindings import Schemas
from energyc.language.resolve.blocks import File, LayerPart, Part
from energyc.language.resolve.checks import check_terms
from energyc.language.resolve.memory import check_memory
from energyc.language.resolve.misplaced import check_blocks, check_repeats
from energyc.language.resolve.references import References, references_of
from energyc.language.resolve.set_checks import check_clamped, check_starts
from energyc.language.resolve.settings import gathered
from energyc.language.resolve.statements import Statements
from energyc.language.resolve.untrained import check_trained
from energyc.language.settings import TrainOptions
from energyc.language.syntax import ast
from energyc.mathematics.ir import BatchStatistic, Graph, walk


@dataclass(frozen=True)
class Resolved:
    """A spec as far as it was resolved, with or without errors in it.

    ``network`` has what could be typed; where there are errors it may lack anything, and its ``blocks``. ``whole`` are
    the parts of the file as they were read, None where there was nothing to read.
    """

    network: Network | None
    diagnostics: tuple[Diagnostic, ...]
    whole: Part | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether there are only warnings."""
        return all(diagnostic.severity != "error" for diagnostic in self.diagnostics)

    @cached_property
    def shapes(self) -> Mapping[Span, tuple[str, ...]]:
        """The dims of each tensor by the place of its declared name."""
        return dict(_shapes(self.whole)) if self.whole is not None else {}

    @cached_property
    def ranges(self) -> Mapping[Span, str]:
        """The dim of each index by the place where it is bound."""
        return dict(_ranges(self.whole)) if self.whole is not None else {}

    @cached_property
    def references(self) -> References:
        """The declaration of each name where it stands."""
        return References() if self.whole is None else references_of(self.whole)


def _parts(part: Part) -> Iterator[Part]:
    """A part of a file and those inside it."""
    yield part
    for block in part.blocks:
        yield from _parts(block)


def _shapes(whole: Part) -> Iterator[tuple[Span, tuple[str, ...]]]:
    for part in _parts(whole):
        for name, tensor in part.equations.tensors.items():
            if tensor is not None and name in part.names.own:
                yield part.names.entries[name].span, tensor.dims


def _ranges(whole: Part) -> Iterator[tuple[Span, str]]:
    for part in _parts(whole):
        for frame in part.equations.frames.values():
            yield from ((index.span, index.dim) for index in frame.introduced if index.dim is not None)


def with_consts_outside(spec: ast.Spec) -> ast.Spec:
    """The same spec with each ``const`` of a block before the block: it is one of the whole file, and set as such."""
    blocks = any(isinstance(statement, ast.Layer | ast.Repeat) for statement in spec.statements)
    return replace(spec, statements=tuple(_outside(spec.statements))) if blocks else spec


def _outside(statements: tuple[ast.Statement, ...]) -> Iterator[ast.Statement]:
    for statement in statements:
        if not isinstance(statement, ast.Layer | ast.Repeat):
            yield statement
            continue
        body = tuple(_outside(statement.body))
        yield from filter(_is_const, body)
        yield replace(statement, body=tuple(own for own in body if not _is_const(own)))


def _is_const(statement: ast.Statement) -> bool:
    return isinstance(statement, ast.Definitions) and statement.word == "const"


class Asked(TypedDict, total=False):
    """What may be asked for beside the spec; ``blocks.File`` says what it means."""

    preset: str | None
    overrides: Mapping[str, object] | None
    schemas: Schemas | None
    rules: Collection[str]
    memory: int


def resolve(spec: ast.Spec, source: Source, **asked: Unpack[Asked]) -> Network:
    """The typed network of a spec. Raises SpecError with every error of the file. Warnings are in the network."""
    resolved = resolve_partly(spec, source, **asked)
    if resolved.network is None or not resolved.ok:
        raise SpecError(source, resolved.diagnostics)
    return resolved.network


def resolve_partly(spec: ast.Spec, source: Source, **asked: Unpack[Asked]) -> Resolved:
    """Resolve a spec as far as it goes, with all its errors."""
    whole = Whole(File(with_consts_outside(spec), source, **asked))
    try:
        whole.read()
    except RecursionError:
        return Resolved(None, (CHAIN_TOO_LONG,), whole)
    return Resolved(whole.network, whole.file.reporter.in_order(), whole)


CHAIN_TOO_LONG = Diagnostic(
    "E0802",
    "a chain of definitions is too long to follow",
    help="write each dim, const and let after those it is made of",
)


class Whole(Part):
    """A whole file while it is resolved."""

    def __init__(self, file: File) -> None:
        super().__init__(file, file.spec.statements, file.names, Graph())
        self.name = file.spec.name.text

    def read(self) -> None:
        """Read the file: the network is there, whole where nothing was reported."""
        file, spec, reporter = self.file, self.file.spec, self.file.reporter
        check_repeats(spec, reporter)
        check_blocks(spec, reporter)
        file.outside.check_presets(self.names)
        file.sizes.compute()
        file.bindings.compute()
        file.outer = file.outside.settings(file.bindings)
        self.declare()
        self.network = network = self.typed()
        unsupported = any(diagnostic.code == "E0190" for diagnostic in reporter.diagnostics)
        if not unsupported and self.is_read():
            if not self.blocks:
                check_terms(self.context, network)
            self.check()
            check_memory(self.context, network, file.memory)
            check_clamped(network, reporter)
        self.report_clashes()
        if reporter.failed:
            return
        network = replace(network, blocks=self._blocks(), real_selections=self.real_selections())
        check_trained(network, reporter)
        check_starts(network, reporter)
        self.network = replace(network, warnings=reporter.in_order("warning"))

    def typed(self) -> Network:
        """The network of what could be read, with what its blocks declare."""
        self.resolve_blocks()
        network, spec = super().typed(), self.file.spec
        params, ties, train = dict(network.params), dict(network.ties), network.train
        for block in self.blocks:
            params |= block.params()
            ties |= block.ties()
        if train.best in network.costs and train.best_mode == "auto":
            train = replace(train, best_mode="min")
        if self.blocks:
            train = self._through_layers(train)
        lets = {**{name: let for repeat in self.repeats for name, let in repeat.lets.items()}, **network.lets}
        return replace(
            network,
            description=spec.description,
            bindings=self.file.bindings.bindings,
            params=params,
            ties=ties,
            lets=lets,
            train=train,
            presets=tuple(s.name.text for s in spec.statements if isinstance(s, ast.Preset)),
            index_names=index_names(lets, network.readouts),
        )

    def answers(self, statements: Statements) -> tuple[dict[str, Quantity], dict[str, Quantity], dict[str, Quantity]]:
        """The readouts, costs and metrics."""
        return statements.readouts(), statements.scalars("cost"), statements.scalars("metric")

    def _through_layers(self, train: TrainOptions) -> TrainOptions:
        """How a network of layers is trained: by default through all steps; regularization has no layers yet."""
        unsupported = {"penalty": train.penalty, "residual_defence": train.residual_defence or None}
        given = gathered(self.statements, self.file.bindings, self.file.reporter, self.file.outer)["train"]
        for key, value in {**unsupported, "products": train.products}.items():
            if value is not None:
                said = f"`train.{key}` of a network with layers is not yet supported"
                self.file.reporter.unsupported(said, given[key].span if key in given else None)
        rests = any(part.network is not None and part.network.relax.irreversible for part in self._all_layers())
        self._refuse_batch_statistics()
        return train if train.rule is not None else replace(train, rule="implicit" if rests else "bptt")

    def _refuse_batch_statistics(self) -> None:
        """Report the lets around layers that read a statistic of the batch, which autograd would go through."""
        for part in (self, *self.repeats):
            for name, let in part.equations.quantities.items():
                if any(isinstance(node, BatchStatistic) for node in walk([let.node])):
                    message = f"a statistic of the batch around layers is not yet supported, and `{name}` reads one"
                    self.file.reporter.unsupported(message, let.tree.left.span, help="write it in a layer")

    def _all_layers(self) -> list[LayerPart]:
        return [layer for part in (self, *self.repeats) for layer in part.layers.values()]

    def _blocks(self) -> tuple[Layer | Repeat, ...]:
        """The blocks in an order in which they can be computed."""
        found = (block.layer if isinstance(block, LayerPart) else block.repeat for block in self.order)
        return tuple(block for block in found if block is not None)
