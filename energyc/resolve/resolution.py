"""The pass: names, then sizes, then declarations, then equations, then settings, then checks of the whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from energyc.diagnostics import Diagnostic, Source, SpecError
from energyc.ir import Graph, Input, Node
from energyc.resolve.bindings import Bindings, Schemas
from energyc.resolve.checks import check_network
from energyc.resolve.context import Context, Tensor
from energyc.resolve.declarations import Declarations
from energyc.resolve.equations import Equations
from energyc.resolve.lower import Lowering
from energyc.resolve.memory import BUDGET, check_memory
from energyc.resolve.names import collect
from energyc.resolve.network import ConstraintSet, DataInput, Network, Noise, Param, Quantity, Tie
from energyc.resolve.params import Params
from energyc.resolve.read import read_real
from energyc.resolve.read.slopes import differentiated
from energyc.resolve.repeats import check_repeats
from energyc.resolve.reporter import Reporter
from energyc.resolve.settings import (
    check_measure,
    check_presets,
    check_settings,
    layer_settings,
    layer_symbols,
    numbered,
)
from energyc.resolve.sizes import Sizes
from energyc.resolve.statements import Statements
from energyc.resolve.ties import read_tie
from energyc.syntax import ast


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
    resolution = _Resolution(spec, Reporter(source), preset, dict(overrides or {}), schemas, rules, memory)
    try:
        return resolution.network()
    except RecursionError:
        raise SpecError(source, [CHAIN_TOO_LONG]) from None


CHAIN_TOO_LONG = Diagnostic(
    "E0802",
    "a chain of definitions is too long to follow",
    help="write each dim, const and let after those it is made of",
)


@dataclass
class _Declared:
    """What the declarations define."""

    clamps: dict[str, DataInput]
    targets: dict[str, DataInput]
    params: dict[str, Param]
    ties: dict[str, Tie]
    states: dict[str, tuple[Tensor, ConstraintSet | None]]
    noises: dict[str, Noise]
    step: Input | None = None


class _Resolution:
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
        self.names = collect(spec, reporter)
        self.bindings = Bindings(self.names, reporter, schemas)
        symbols = layer_symbols(spec, self.names, reporter, preset, overrides)
        self.sizes = Sizes(self.names, reporter, symbols, self.bindings.size)
        self.bindings.sizes = self.sizes
        self.graph = Graph()
        self.context = Context(self.names, reporter, self.graph, self.sizes, read_real, differentiated(spec))
        self.equations = Equations(self.context, Lowering(self.graph))
        self.context.definitions = self.equations

    def network(self) -> Network:
        """The network, or SpecError."""
        check_repeats(self.spec, self.reporter)
        check_presets(self.spec, self.names, self.reporter)
        self.sizes.compute()
        self.bindings.compute()
        network = self._typed(self._declarations())
        if self._is_complete(network):
            check_network(self.context, self.equations, self.bindings, network)
            check_memory(self.context, network, self.memory)
        self.context.uses.report(self.reporter, self.sizes)
        if self.reporter.failed:
            raise SpecError(self.reporter.source, self.reporter.in_order())
        return replace(network, warnings=self.reporter.in_order("warning"))

    def _declarations(self) -> _Declared:
        declarations = Declarations(self.context, self.equations, self.bindings)
        params = Params(declarations)
        declared = _Declared({}, {}, {}, {}, {}, {})
        for statement in self.spec.statements:
            match statement:
                case ast.Inputs(word=word, items=items):
                    inputs = declared.clamps if word == "clamp" else declared.targets
                    inputs |= {i.name.text: data for i in items if (data := declarations.input(i, word)) is not None}
                case ast.Params():
                    declared.params.update((param.node.name, param) for param in params.read(statement))
                case ast.Noise(name=name) if (noise := params.noise(statement)) is not None:
                    declared.noises[name.text] = noise
                case ast.Settings(index=ast.Name()):
                    declared.step = declared.step or declarations.step(statement)
                case ast.States(items=states):
                    read = {item.name.text: declarations.state(item) for item in states}
                    declared.states.update((name, state) for name, state in read.items() if state is not None)
        for statement in self.spec.statements:
            if isinstance(statement, ast.Equation) and statement.word == "tie":
                tie = read_tie(self.context, self.equations, statement)
                if tie is not None:
                    declared.ties[tie.name] = tie
        return declared

    def _typed(self, declared: _Declared) -> Network:
        """The network of what could be read."""
        statements = Statements(self.context, self.equations, self.spec, declared.states)
        lets, terms = statements.quantities("let"), statements.terms()
        readouts, cost, metrics = statements.readouts(), statements.cost(), statements.scalars("metric")
        states = statements.states()
        settings = layer_settings(self.spec, self.names, self.bindings, self.reporter, self.preset, self.overrides)
        kinds = ("state", "param", "metric", "readout", "target")
        names = {kind: [entry.name for entry in self.names.of_kind(kind)] for kind in kinds}
        relax, nudge, train = check_settings(settings, names, self.rules, self.reporter)
        unit = {term.name: 1.0 for term in terms.values() if term.word == "next"}
        relax = replace(relax, step_of={**unit, **relax.step_of})
        check_measure(relax, any(term.kind == "energy" for term in terms.values()), settings, self.reporter)
        if declared.step is not None:
            relax = numbered(relax, declared.step, settings, self.sizes, self.reporter)
        return Network(
            name=self.spec.name.text,
            description=self.spec.description,
            source=self.reporter.source,
            tree=self.spec,
            graph=self.graph,
            sizes=self.sizes.dims,
            consts=self.sizes.consts,
            bindings=self.bindings.bindings,
            clamps=declared.clamps,
            targets=declared.targets,
            params=declared.params,
            ties=declared.ties,
            states=states,
            lets=lets,
            terms=terms,
            readouts=readouts,
            cost=cost,
            metrics=metrics,
            relax=relax,
            nudge=nudge,
            train=train,
            presets=tuple(s.name.text for s in self.spec.statements if isinstance(s, ast.Preset)),
            index_names=_index_names(lets, readouts),
            warnings=(),
            noises=declared.noises,
            step=declared.step,
        )

    def _is_complete(self, network: Network) -> bool:
        """Whether every declaration and equation was read, so that the whole can be judged."""
        groups = (
            network.terms,
            network.lets,
            network.readouts,
            network.metrics,
            network.params,
            network.ties,
            network.states,
            network.noises,
        )
        read = {name for group in groups for name in group} | ({network.cost.name} if network.cost else set())
        declared = self.names.of_kind(
            "energy", "force", "let", "readout", "cost", "metric", "param", "tie", "state", "noise"
        )
        unsupported = any(diagnostic.code == "E0190" for diagnostic in self.reporter.diagnostics)
        flows = [s for s in self.spec.statements if isinstance(s, ast.Equation) and s.word in ("flow", "next")]
        moved = all(flow.left.name.text in network.flows for flow in flows)
        return not unsupported and moved and all(entry.name in read for entry in declared)


def _index_names(*groups: Mapping[str, Quantity]) -> dict[Node, tuple[str, ...]]:
    """The names by which the spec refers to the axes of its named quantities; the first where several share a node."""
    names: dict[Node, tuple[str, ...]] = {}
    for group in groups:
        for quantity in group.values():
            names.setdefault(quantity.node, quantity.indices)
    return names
