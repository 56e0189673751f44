"""The pass: names, then sizes, then declarations, then equations, then settings, then checks of the whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from energyc.language.diagnostics import Diagnostic, Source, Span, SpecError
from energyc.language.network import Layer, Network, Repeat, index_names
from energyc.language.resolve.bindings import Bindings, Schemas
from energyc.language.resolve.blocks import File, LayerPart, Part
from energyc.language.resolve.checks import check_terms
from energyc.language.resolve.clamped import check_clamped
from energyc.language.resolve.constant_starts import check_starts
from energyc.language.resolve.consts_of_blocks import with_consts_outside
from energyc.language.resolve.memory import BUDGET, check_memory
from energyc.language.resolve.misplaced import check_blocks
from energyc.language.resolve.names import collect
from energyc.language.resolve.repeats import check_repeats
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.resolved import Resolved
from energyc.language.resolve.settings import (
    Placed,
    check_measure,
    check_presets,
    check_settings,
    check_solver,
    gathered,
    layer_symbols,
    numbered,
    outer_options,
    outer_settings,
    with_next_values,
)
from energyc.language.resolve.sizes import Sizes
from energyc.language.resolve.statements import Statements
from energyc.language.resolve.untrained import check_trained
from energyc.language.settings import TrainOptions
from energyc.language.syntax import ast
from energyc.mathematics.ir import BatchStatistic, Graph, walk


def resolve(
    spec: ast.Spec,
    source: Source,
    *,
    preset: str | None = None,
    overrides: Mapping[str, object] | None = None,
    schemas: Schemas | None = None,
    rules: Collection[str] = (),
    memory: int = BUDGET,
) -> Network:
    """The typed network of a spec.

    ``overrides`` maps dims, consts and dotted settings (``relax.step``) to values; the order is spec < preset <
    overrides. ``schemas`` gives the schema of a data adapter by its name and options; without it fields are not
    checked and no dim can be a size of data. ``rules`` are the names that ``train.rule`` may have. A network that needs
    more than ``memory`` bytes is refused.

    Raises SpecError with every error of the file. Warnings are in the network.
    """
    resolved = resolve_partly(
        spec, source, preset=preset, overrides=overrides, schemas=schemas, rules=rules, memory=memory
    )
    if resolved.network is None or not resolved.ok:
        raise SpecError(source, resolved.diagnostics)
    return resolved.network


def resolve_partly(
    spec: ast.Spec,
    source: Source,
    *,
    preset: str | None = None,
    overrides: Mapping[str, object] | None = None,
    schemas: Schemas | None = None,
    rules: Collection[str] = (),
    memory: int = BUDGET,
) -> Resolved:
    """Resolve a spec as far as it goes, with all its errors; the arguments are those of ``resolve``."""
    reporter, set_outside = Reporter(source), dict(overrides or {})
    resolution = _Resolution(with_consts_outside(spec), reporter, preset, set_outside, schemas, rules, memory)
    try:
        resolution.read()
    except RecursionError:
        return Resolved(None, (CHAIN_TOO_LONG,), resolution)
    return Resolved(resolution.network, reporter.in_order(), resolution)


CHAIN_TOO_LONG = Diagnostic(
    "E0802",
    "a chain of definitions is too long to follow",
    help="write each dim, const and let after those it is made of",
)


class _Resolution(Part):
    """One file while it is resolved."""

    def __init__(
        self,
        spec: ast.Spec,
        reporter: Reporter,
        preset: str | None,
        overrides: Mapping[str, object],
        schemas: Schemas | None,
        rules: Collection[str],
        memory: int,
    ) -> None:
        self.spec, self.reporter, self.preset, self.overrides, self.memory = spec, reporter, preset, overrides, memory
        self.rules = rules
        names = collect(spec.statements, reporter)
        if spec.name.text:
            names.references.declare(spec.name, "network", Span(spec.name.span.start, spec.name.span.start), spec)
        self.bindings = Bindings(names, reporter, schemas)
        self.bindings.outer = outer_options(spec, reporter.source, preset, overrides)
        symbols = layer_symbols(spec, names, reporter, preset, overrides)
        sizes = self.bindings.sizes = Sizes(names, reporter, symbols, self.bindings.size)
        super().__init__(File(spec, reporter, sizes, self.bindings, memory), spec.statements, names, Graph())
        self.network: Network | None = None

    def read(self) -> None:
        """Read the file: the network is there, whole where nothing was reported."""
        check_repeats(self.spec, self.reporter)
        check_blocks(self.spec, self.reporter)
        check_presets(self.spec, self.names, self.reporter)
        self.file.sizes.compute()
        self.bindings.compute()
        self.file.outer = outer_settings(self.spec, self.bindings, self.reporter, self.preset, self.overrides)
        self.declare()
        self.network = network = self._typed()
        unsupported = any(diagnostic.code == "E0190" for diagnostic in self.reporter.diagnostics)
        if not unsupported and self.is_read():
            if not self.blocks:
                check_terms(self.context, network)
            self.check()
            check_memory(self.context, network, self.memory)
            check_clamped(network, self.reporter)
        self.report_clashes()
        if self.reporter.failed:
            return
        network = replace(network, blocks=self._blocks(), real_selections=self.real_selections())
        check_trained(network, self.reporter)
        check_starts(network, self.reporter)
        self.network = replace(network, warnings=self.reporter.in_order("warning"))

    def _typed(self) -> Network:
        """The network of what could be read."""
        declared, sizes = self.declared, self.file.sizes
        self.resolve_blocks()
        statements = Statements(self.context, self.equations, self.statements, declared.states)
        lets, terms = statements.quantities("let"), statements.terms()
        readouts, costs, metrics = statements.readouts(), statements.scalars("cost"), statements.scalars("metric")
        states = statements.states()
        params, ties = dict(declared.params), dict(declared.ties)
        for block in self.blocks:
            params |= block.params()
            ties |= block.ties()
        settings = gathered(self.statements, self.bindings, self.reporter, self.file.outer)
        kinds = ("state", "metric", "readout", "target")
        names = {kind: [entry.name for entry in self.names.of_kind(kind)] for kind in kinds}
        names["param"] = self.param_names()
        names["metric"] += costs if len(costs) > 1 else ()
        relax, nudge, train = check_settings(settings, names, self.rules, self.reporter)
        relax = with_next_values(relax, states, terms, settings, self.reporter)
        check_measure(relax, any(term.kind == "energy" for term in terms.values()), settings, self.reporter)
        check_solver(relax, declared.step is not None, settings, self.reporter)
        if declared.step is not None:
            relax = numbered(relax, declared.step, settings, sizes, self.reporter)
        if train.best in costs and train.best_mode == "auto":
            train = replace(train, best_mode="min")
        if self.blocks:
            train = self._through_layers(train, settings["train"])
        lets = {**{name: let for repeat in self.repeats for name, let in repeat.lets.items()}, **lets}
        return Network(
            name=self.spec.name.text,
            description=self.spec.description,
            source=self.reporter.source,
            tree=self.spec,
            graph=self.graph,
            sizes=sizes.dims,
            consts=sizes.consts,
            bindings=self.bindings.bindings,
            clamps=declared.clamps,
            targets=declared.targets,
            params=params,
            ties=ties,
            states=states,
            lets=lets,
            terms=terms,
            readouts=readouts,
            cost=statements.cost(costs),
            costs=costs,
            metrics=metrics,
            relax=relax,
            nudge=nudge,
            train=train,
            presets=tuple(s.name.text for s in self.spec.statements if isinstance(s, ast.Preset)),
            index_names=index_names(lets, readouts),
            warnings=(),
            noises=declared.noises,
            step=declared.step,
        )

    def _through_layers(self, train: TrainOptions, given: Mapping[str, Placed]) -> TrainOptions:
        """How a network of layers is trained: by default through all steps; regularization has no layers yet."""
        unsupported = {"penalty": train.penalty, "residual_defence": train.residual_defence or None}
        for key, value in {**unsupported, "products": train.products}.items():
            if value is not None:
                said = f"`train.{key}` of a network with layers is not yet supported"
                self.reporter.unsupported(said, given[key].span if key in given else None)
        rests = any(part.network is not None and part.network.relax.irreversible for part in self._all_layers())
        self._refuse_batch_statistics()
        return train if train.rule is not None else replace(train, rule="implicit" if rests else "bptt")

    def _refuse_batch_statistics(self) -> None:
        """Report the lets around layers that read a statistic of the batch, which autograd would go through."""
        for part in (self, *self.repeats):
            for name, let in part.equations.quantities.items():
                if any(isinstance(node, BatchStatistic) for node in walk([let.node])):
                    message = f"a statistic of the batch around layers is not yet supported, and `{name}` reads one"
                    self.reporter.unsupported(message, let.tree.left.span, help="write it in a layer")

    def _all_layers(self) -> list[LayerPart]:
        return [layer for part in (self, *self.repeats) for layer in part.layers.values()]

    def _blocks(self) -> tuple[Layer | Repeat, ...]:
        """The blocks in an order in which they can be computed."""
        found = (block.layer if isinstance(block, LayerPart) else block.repeat for block in self.order)
        return tuple(block for block in found if block is not None)

    def read_names(self) -> set[str]:
        network = self.network
        if network is None:
            return set()
        groups: tuple[Mapping[str, object], ...] = (
            network.terms,
            network.lets,
            network.readouts,
            network.metrics,
            network.costs,
            network.params,
            network.ties,
            network.states,
            network.noises,
            *(repeat.declared.states for repeat in self.repeats),
        )
        return {name for group in groups for name in group}
