"""The pass: names, then sizes, then declarations, then equations, then settings, then what is true of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from energyc.diagnostics import Diagnostic, Source, SpecError
from energyc.ir import Graph, Node
from energyc.resolve.bindings import Bindings, Schemas
from energyc.resolve.checks import check_network
from energyc.resolve.context import Context, Tensor
from energyc.resolve.declarations import Declarations
from energyc.resolve.equations import Equations
from energyc.resolve.lower import Lowering
from energyc.resolve.memory import BUDGET, check_memory
from energyc.resolve.names import collect
from energyc.resolve.network import ConstraintSet, DataInput, Network, Param, Tie
from energyc.resolve.read import read_real
from energyc.resolve.reporter import Reporter
from energyc.resolve.settings import check_presets, layer_settings, layer_symbols
from energyc.resolve.sizes import Sizes
from energyc.resolve.statements import Statements
from energyc.resolve.ties import read_tie
from energyc.resolve.typed_settings import TrainFaults, type_nudge, type_relax, type_train
from energyc.syntax import ast


def resolve(
    spec: ast.Spec,
    source: Source,
    *,
    preset: str | None = None,
    overrides: Mapping[str, object] | None = None,
    schemas: Schemas | None = None,
    train_faults: TrainFaults | None = None,
    memory: int = BUDGET,
) -> Network:
    """The typed network of a spec.

    ``overrides`` maps dims, consts and dotted settings (``relax.step``) to values; the order is spec < preset <
    overrides. ``schemas`` gives the schema of a data adapter by its name and options; without it fields are not
    checked and no dim can be a size of data. ``train_faults`` judges the values of ``train``. A network that needs
    more than ``memory`` bytes is refused.

    Raises SpecError with every error of the file. Warnings are in the network.
    """
    resolution = _Resolution(spec, Reporter(source), preset, dict(overrides or {}), schemas, train_faults, memory)
    try:
        return resolution.network()
    except RecursionError:
        raise SpecError(source, [TOO_LONG]) from None


TOO_LONG = Diagnostic(
    "E0802",
    "definitions lead to one another in a chain that is too long to follow",
    help="write each dim, const and let after those that it is made of",
)


@dataclass
class _Declared:
    """What the declarations gave."""

    clamps: dict[str, DataInput]
    targets: dict[str, DataInput]
    params: dict[str, Param]
    ties: dict[str, Tie]
    states: dict[str, tuple[Tensor, ConstraintSet | None]]


class _Resolution:
    """One file while it is resolved."""

    def __init__(
        self,
        spec: ast.Spec,
        reporter: Reporter,
        preset: str | None,
        overrides: Mapping[str, object],
        schemas: Schemas | None,
        train_faults: TrainFaults | None,
        memory: int,
    ) -> None:
        self.spec, self.reporter, self.preset, self.overrides, self.memory = spec, reporter, preset, overrides, memory
        self.train_faults = train_faults
        self.names = collect(spec, reporter)
        self.bindings = Bindings(self.names, reporter, schemas)
        symbols = layer_symbols(spec, self.names, reporter, preset, overrides)
        self.sizes = Sizes(self.names, reporter, symbols, self.bindings.size)
        self.bindings.sizes = self.sizes
        self.graph = Graph()
        self.context = Context(self.names, reporter, self.graph, self.sizes, None, read_real)  # type: ignore[arg-type]
        self.equations = Equations(self.context, Lowering(self.graph))
        self.context.definitions = self.equations

    def network(self) -> Network:
        """The network, or SpecError."""
        check_presets(self.spec, self.names, self.reporter)
        self.sizes.compute()
        self.bindings.compute()
        network = self._typed(self._declarations())
        if self._whole(network):
            check_network(self.context, self.equations, self.bindings, network)
            check_memory(self.context, network, self.memory)
        if self.reporter.failed:
            raise SpecError(self.reporter.source, self.reporter.in_order())
        return replace(network, warnings=self.reporter.in_order("warning"))

    def _typed(self, declared: _Declared) -> Network:
        """The network of what could be read."""
        statements = Statements(self.context, self.equations, self.spec, declared.states)
        lets, terms, answers, states = statements.lets(), statements.terms(), statements.answers(), statements.states()
        settings = layer_settings(self.spec, self.names, self.bindings, self.reporter, self.preset, self.overrides)
        relax = type_relax(settings["relax"], [state.name for state in self.names.of_kind("state")], self.reporter)
        nudge = type_nudge(settings["nudge"], self.reporter)
        params = [param.name for param in self.names.of_kind("param")]
        train = type_train(settings["train"], params, answers["metric"], self.train_faults, self.reporter)
        return Network(
            name=self.spec.name.text,
            description=self.spec.description,
            source=self.reporter.source,
            tree=self.spec,
            graph=self.graph,
            sizes=self.sizes.dims,
            consts=self.sizes.consts,
            bindings=self.bindings.made,
            clamps=declared.clamps,
            targets=declared.targets,
            params=declared.params,
            ties=declared.ties,
            states=states,
            lets=lets,
            terms=terms,
            readouts=answers["readout"],
            cost=next(iter(answers["cost"].values()), None),
            metrics=answers["metric"],
            relax=relax,
            nudge=nudge,
            train=train,
            presets=tuple(s.name.text for s in self.spec.statements if isinstance(s, ast.Preset)),
            index_names=_index_names(lets, answers["readout"]),
            warnings=(),
        )

    def _whole(self, network: Network) -> bool:
        """Whether every equation and declaration gave what it declares, so that the whole can be judged."""
        given = [
            network.terms,
            network.lets,
            network.readouts,
            network.metrics,
            network.params,
            network.ties,
            network.states,
        ]
        made = {name for group in given for name in group} | ({network.cost.name} if network.cost else set())
        wanted = self.names.of_kind("energy", "force", "let", "readout", "cost", "metric", "param", "tie", "state")
        unfinished = any(entry.name not in made for entry in wanted)
        return not unfinished and not any(d.code == "E0190" for d in self.reporter.found)

    def _declarations(self) -> _Declared:
        declarations = Declarations(self.context, self.equations, self.bindings)
        found = _Declared({}, {}, {}, {}, {})
        for statement in self.spec.statements:
            match statement:
                case ast.Inputs(word=word, items=items):
                    for item in items:
                        data = declarations.input(item, word)
                        if data is not None:
                            (found.clamps if word == "clamp" else found.targets).setdefault(item.name.text, data)
                case ast.Params():
                    for param in declarations.params(statement):
                        found.params.setdefault(param.node.name, param)
                case ast.States(items=states):
                    for state in states:
                        entered = declarations.state(state)
                        if entered is not None:
                            found.states.setdefault(state.name.text, entered)
        for statement in self.spec.statements:
            if isinstance(statement, ast.Equation) and statement.word == "tie":
                tie = read_tie(self.context, self.equations, statement)
                if tie is not None:
                    found.ties[tie.name] = tie
        return found


def _index_names(*groups: Mapping[str, object]) -> dict[Node, tuple[str, ...]]:
    """The names by which the spec speaks of the axes of its named quantities."""
    found: dict[Node, tuple[str, ...]] = {}
    for group in groups:
        for quantity in group.values():
            found.setdefault(quantity.node, quantity.indices)  # type: ignore[attr-defined]
    return found
