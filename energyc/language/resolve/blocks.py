"""The parts of a file: the file itself and its blocks, ``layer`` and ``repeat``, each with names of its own.

A layer has a graph of its own, in which what it reads from outside is a clamp, or a param where it is the same for all
samples. A repeat shares the graph around it. Each is resolved when something first reads it, so that the blocks get
into an order in which they can be computed, and a block that reads itself is a cycle like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from energyc.language.diagnostics import Source, Span, did_you_mean, listed
from energyc.language.network import (
    ConstraintSet,
    DataInput,
    Layer,
    Network,
    Noise,
    Param,
    Quantity,
    RealSelection,
    Repeat,
    Stream,
    Tie,
    index_names,
)
from energyc.language.resolve.bindings import Bindings, Schemas
from energyc.language.resolve.checks import check_part, check_terms, used_names
from energyc.language.resolve.context import Context, Tensor
from energyc.language.resolve.declarations import Declarations
from energyc.language.resolve.equations import Equations, Pending
from energyc.language.resolve.lower import Lowering
from energyc.language.resolve.memory import BUDGET, check_memory
from energyc.language.resolve.names import Names, collect
from energyc.language.resolve.params import Params
from energyc.language.resolve.read import read_real
from energyc.language.resolve.read.slopes import differentiated
from energyc.language.resolve.real_selections import real_selections
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.settings import (
    Outside,
    Placed,
    check_measure,
    check_settings,
    check_solver,
    gathered,
    numbered,
    with_next_values,
)
from energyc.language.resolve.sizes import Sizes
from energyc.language.resolve.statements import Statements, read_tie
from energyc.language.syntax import ast
from energyc.mathematics.ir import ONE, Graph, Input, Node, walk


@dataclass
class Declared:
    """The definitions of a part of a file."""

    clamps: dict[str, DataInput] = field(default_factory=dict)
    targets: dict[str, DataInput] = field(default_factory=dict)
    params: dict[str, Param] = field(default_factory=dict)
    ties: dict[str, Tie] = field(default_factory=dict)
    states: dict[str, tuple[Tensor, ConstraintSet | None]] = field(default_factory=dict)
    noises: dict[str, Noise] = field(default_factory=dict)
    step: Input | None = None


class File:
    """Shared by all parts of a file; ``outer`` are the settings from presets and from outside, by their paths.

    ``overrides`` maps dims, consts and dotted settings (``relax.step``) to values; the order is spec < preset <
    overrides. ``schemas`` gives the schema of a data adapter by its name and options; without it fields are not
    checked and no dim can be a size of data. ``rules`` are the names that ``train.rule`` may have. A part that needs
    more than ``memory`` bytes is refused.
    """

    def __init__(
        self,
        spec: ast.Spec,
        source: Source,
        *,
        preset: str | None = None,
        overrides: Mapping[str, object] | None = None,
        schemas: Schemas | None = None,
        rules: Collection[str] = (),
        memory: int = BUDGET,
    ) -> None:
        self.spec, self.reporter, self.rules, self.memory = spec, Reporter(source), rules, memory
        self.outside, self.pending = Outside(spec, self.reporter, preset, overrides or {}), Pending()
        self.names = collect(spec.statements, self.reporter)
        self.bindings = Bindings(self.names, self.reporter, schemas)
        self.bindings.outer, symbols = self.outside.options(), self.outside.symbols(self.names)
        self.sizes = self.bindings.sizes = Sizes(self.names, self.reporter, symbols, self.bindings.size)
        self.outer: Mapping[str, Placed] = {}


class Part:
    """A part of a file with names of its own: the file itself, a repeat, a layer.

    ``blocks`` are those directly inside it in the order of the file, ``layers`` the layers among them by name, and
    ``order`` has those that are resolved, each after those it reads.
    """

    def __init__(self, file: File, statements: tuple[ast.Statement, ...], names: Names, graph: Graph, owner: str = ""):
        self.file, self.statements, self.names, self.graph, self.owner = file, statements, names, graph, owner
        self.name, self.called = owner.removesuffix("."), f"layer `{owner[:-1]}`" if owner else "this network"
        self.network: Network | None = None
        self.context = Context(names, file.reporter, graph, file.sizes, read_real, differentiated(statements))
        self.equations = Equations(self.context, Lowering(graph), file.pending, self, owner)
        self.context.definitions = self.equations
        self.blocks: list[LayerPart | RepeatPart] = []
        self.layers: dict[str, LayerPart] = {}
        self.order: list[LayerPart | RepeatPart] = []
        self.declared = Declared()
        for statement in statements:
            match statement:
                case ast.Layer():
                    self.blocks.append(LayerPart(self, statement))
                case ast.Repeat():
                    self.blocks.append(RepeatPart(self, statement))
        for block in self.blocks:
            if isinstance(block, LayerPart):
                self.layers.setdefault(block.name, block)

    @property
    def repeats(self) -> list[RepeatPart]:
        """The repeats directly inside."""
        return [block for block in self.blocks if isinstance(block, RepeatPart)]

    def declare(self) -> Declared:
        """Read the declarations, those of the blocks inside too."""
        declarations = Declarations(self.context, self.equations, self.file.bindings)
        params, declared = Params(declarations), self.declared
        for statement in self.statements:
            match statement:
                case ast.Inputs(word=word, items=items):
                    inputs = declared.clamps if word == "clamp" else declared.targets
                    inputs |= {i.name.text: data for i in items if (data := declarations.input(i, word)) is not None}
                case ast.Params():
                    declared.params.update((param.node.name, param) for param in params.read(statement))
                case ast.Noises():
                    declared.noises.update((noise.node.name, noise) for noise in params.noises(statement))
                case ast.Settings(index=ast.Name()):
                    declared.step = declared.step or declarations.step(statement)
                case ast.States(items=states):
                    read = {item.name.text: declarations.state(item) for item in states}
                    declared.states.update((name, state) for name, state in read.items() if state is not None)
        for statement in self.statements:
            if isinstance(statement, ast.Equation) and statement.word == "tie":
                tie = read_tie(self.context, self.equations, statement)
                if tie is not None:
                    declared.ties[tie.name] = tie
        for block in self.blocks:
            block.declare()
        return declared

    def resolve_blocks(self) -> None:
        """Every block, those too that nothing reads; in the order of the file, so that long chains are not nested."""
        for block in self.blocks:
            block.resolve()

    def real_selections(self) -> tuple[RealSelection, ...]:
        """Where the selections by real values may jump; none where an error leaves dims unknown."""
        if self.file.reporter.failed:
            return ()
        return real_selections(self.context, self.equations.lowering, self.file.reporter.source)

    # ------------------------------------------------------------ what no equation of the part defines

    def tensor(self, name: str) -> Tensor | None:
        """A state of a repeat, at its end; for a block also what is declared around it."""
        for repeat in self.repeats:
            if name in repeat.declared.states:
                return repeat.end(name)
        return None if name in self.names.own else self.around_it(name)

    def around_it(self, name: str) -> Tensor | None:
        """The declarations around a block, as it reads them; there are none around the file."""
        return None

    def output(self, layer: str, name: ast.Name) -> Tensor | None:
        """``layer.x``: a state or let of a layer at its rest."""
        return self.layers[layer].read(name) if layer in self.layers else None

    # ------------------------------------------------------------ its network

    def typed(self) -> Network:
        """The network of what could be read of its own declarations, equations and settings."""
        declared, reporter, train_rules = self.declared, self.file.reporter, () if self.owner else self.file.rules
        statements = Statements(self.context, self.equations, self.statements, declared.states)
        lets, terms = statements.quantities("let"), statements.terms()
        readouts, costs, metrics = self.answers(statements)
        states = statements.states()
        given = gathered(self.statements, self.file.bindings, reporter, self.file.outer, self.owner)
        kinds = ("state", "metric", "readout", "target")
        names = {kind: [entry.name for entry in self.names.own_of_kind(kind)] for kind in kinds}
        names["param"] = [name.removeprefix(self.owner) for name in self.param_names()]
        names["metric"] += costs if len(costs) > 1 else ()
        relax, nudge, train = check_settings(given, names, train_rules, reporter)
        relax = with_next_values(relax, states, terms, given, reporter)
        check_measure(relax, any(term.kind == "energy" for term in terms.values()), given, reporter, self.called)
        check_solver(relax, declared.step is not None, given, reporter)
        if declared.step is not None:
            relax = numbered(relax, declared.step, given, self.file.sizes, reporter)
        return Network(
            name=self.name,
            description="",
            source=reporter.source,
            tree=self.file.spec,
            graph=self.graph,
            sizes=self.file.sizes.dims,
            consts=self.file.sizes.consts,
            bindings={},
            clamps=declared.clamps,
            targets=declared.targets,
            params=declared.params,
            ties=declared.ties,
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
            presets=(),
            index_names=index_names(lets, readouts),
            noises=declared.noises,
            step=declared.step,
        )

    def answers(self, statements: Statements) -> tuple[dict[str, Quantity], dict[str, Quantity], dict[str, Quantity]]:
        """The readouts, costs and metrics, which a file has and a block has not."""
        return {}, {}, {}

    # ------------------------------------------------------------ the whole

    def used(self) -> set[str]:
        """The names that are read in the part or in a block of it."""
        read = set[str]().union(*(block.used() for block in self.blocks))
        return read | used_names(self.context, self.equations, read)

    def is_read(self) -> bool:
        """Whether every declaration and equation was read, so that the whole can be judged."""
        kinds = ("energy", "force", "let", "readout", "cost", "metric", "param", "tie", "state", "noise")
        own = self.names.own_of_kind(*kinds)
        read = not self.equations.wrong and {entry.name for entry in own} <= self.read_names()
        return read and all(block.is_read() for block in self.blocks)

    def read_names(self) -> set[str]:
        """The names whose declaration or equation could be read."""
        if self.network is None:
            return set()
        net, streams = self.network, [repeat.declared.states for repeat in self.repeats]
        answers = (net.readouts, net.metrics, net.costs)
        return {*net.terms, *net.lets, *net.params, *net.ties, *net.states, *net.noises}.union(*answers, *streams)

    def param_names(self) -> list[str]:
        """The params that are declared in it, by their names in the whole."""
        own = [f"{self.owner}{entry.name}" for entry in self.names.own_of_kind("param")]
        return own + [name for block in self.blocks for name in block.param_names()]

    def report_clashes(self) -> None:
        """Report the indices that run over two dims, in the blocks too."""
        self.context.uses.report(self.file.reporter, self.file.sizes)
        for block in self.blocks:
            block.report_clashes()

    def check(self) -> None:
        """Report what is declared and never used."""
        check_part(self.context, self.used(), self.file.bindings)
        for block in self.blocks:
            block.check()


class RepeatPart(Part):
    """``repeat L { ... }`` while it is resolved."""

    def __init__(self, around: Part, tree: ast.Repeat) -> None:
        self.around, self.tree, self.dim = around, tree, tree.count.text
        names = collect(tree.body, around.file.reporter, around.names)
        names.unsupported |= {tree.index.text} if tree.index is not None else set()
        self.repeat: Repeat | None = None
        self._is_counted = False
        #: The lets of a copy.
        self.lets: dict[str, Quantity] = {}
        super().__init__(around.file, tree.body, names, around.graph)

    def declare(self) -> Declared:
        """Read the declarations: a param is what one copy has of it."""
        self._is_counted = self.context.dim(self.tree.count) is not None
        return super().declare()

    def is_read(self) -> bool:
        """Whether the number of its copies is known too, which is a dim of its params."""
        return self._is_counted and super().is_read()

    def around_it(self, name: str) -> Tensor | None:
        """The declarations around it, as they are."""
        return self.around.equations.tensor(name)

    def output(self, layer: str, name: ast.Name) -> Tensor | None:
        """A quantity of a layer in it or around it."""
        return super().output(layer, name) if layer in self.layers else self.around.equations.output(layer, name)

    def end(self, name: str) -> Tensor | None:
        """A stream after the last copy; None where it is defined in terms of itself."""
        inside, _ = self.declared.states[name]
        return None if not self.resolve() else replace(inside, node=self._end(inside))

    def _end(self, inside: Tensor) -> Input:
        return self.graph.input(inside.name, "value", inside.dims)

    def resolve(self) -> bool:
        """Read everything in it; False inside of its own reading, where that is reported."""
        if self.repeat is not None:
            return True
        with self.file.pending.following(self, "", f"repeat {self.dim}") as way_back:
            if way_back is not None:
                self.file.reporter.cycle(way_back, self.tree.count.span)
                return False
            self.resolve_blocks()
            statements = Statements(self.context, self.equations, self.statements, self.declared.states)
            self.lets = statements.quantities("let")
            starts = {name: state.start for name, state in statements.states().items()}
            nexts = statements.nexts()
        streams = {}
        for name, (tensor, _) in self.declared.states.items():
            start = starts[name] or self.graph.zero(tensor.dims)
            self._check_start(name, start)
            if name in nexts:
                streams[name] = Stream(name, cast(Input, tensor.node), start, *nexts[name], self._end(tensor))
            else:
                self._check_next(name)
        layers = tuple(block.layer for block in self.order if isinstance(block, LayerPart))
        self.repeat = Repeat(self.dim, streams, layers)
        self.around.order.append(self)
        return True

    def _check_start(self, name: str, start: Node) -> None:
        """Report a start that reads what only a copy has."""
        inside: dict[Node, str] = {param.node: n for n, param in self.declared.params.items()}
        for layer in self.layers.values():
            inside |= {node: f"{layer.name}.{read}" for read, node in layer.outputs.items()}
        for node in walk([start]):
            if node in inside:
                message = f"the start of `{name}` is made before the first copy, and reads `{inside[node]}` of a copy"
                frame = self.equations.frames[f"start {name}"]
                self.file.reporter.error("E0434", message, frame.reads.get(inside[node], frame.span))

    def _check_next(self, name: str) -> None:
        """Report a state without a ``next``; one whose ``next`` is wrong was reported."""
        equations = (s for s in self.statements if isinstance(s, ast.Equation) and s.word == "next")
        if all(equation.left.name.text != name for equation in equations):
            state = self.declared.states[name][0]
            message, text = f"nothing moves state `{name}`", f"it goes through `repeat {self.dim}` as it is"
            help = f"say what the next copy gets: `next {state.with_indices()} = ...`"
            self.file.reporter.error("E0442", message, self.names.entries[name].span, text, help=help)

    def params(self) -> dict[str, Param]:
        """The params with the copies as their first dim, those of the layers too."""
        own = {**self.declared.params, **{n: p for layer in self.layers.values() for n, p in layer.params().items()}}
        return {name: self._copied(name, param) for name, param in own.items()}

    def _copied(self, name: str, param: Param) -> Param:
        node = self.graph.input(name, "param", (self.dim, *param.node.dims))
        structure = tuple(part.at(range(1, len(node.dims))) for part in param.structure)
        return replace(param, node=node, each=param.node, structure=structure)

    def ties(self) -> dict[str, Tie]:
        """The ties with the copies as their first dim, those of the layers too."""
        own = {**self.declared.ties, **{n: t for layer in self.layers.values() for n, t in layer.ties().items()}}
        return {name: self._copied_tie(name, tie) for name, tie in own.items()}

    def _copied_tie(self, name: str, tie: Tie) -> Tie:
        axes = (0, *(axis + 1 for axis in tie.axes))
        return tied(self.graph, replace(tie, name=name, axes=axes), self.params()[tie.source])

    def read_names(self) -> set[str]:
        streams = {} if self.repeat is None else self.repeat.streams
        return {*self.lets, *self.declared.params, *self.declared.ties, *streams}


class LayerPart(Part):
    """``layer NAME { ... }`` while it is resolved."""

    def __init__(self, around: Part, tree: ast.Layer) -> None:
        self.around, self.tree = around, tree
        names = collect(tree.body, around.file.reporter, around.names)
        self.outputs: dict[str, Input] = {}
        self._imports: dict[str, tuple[Tensor, Node]] = {}
        super().__init__(around.file, tree.body, names, Graph(), f"{tree.name.text}.")

    # ------------------------------------------------------------ what it reads from outside

    def around_it(self, name: str) -> Tensor | None:
        """The declarations around it as clamps, or as params where they are the same for all samples."""
        return self._imported(name, self.around.equations.tensor(name))

    def output(self, layer: str, name: ast.Name) -> Tensor | None:
        """A quantity of another layer, as a clamp."""
        return self._imported(f"{layer}.{name.text}", self.around.equations.output(layer, name))

    def _imported(self, name: str, outer: Tensor | None) -> Tensor | None:
        if outer is None:
            return None
        if name not in self._imports:
            node = self.graph.input(name, _kind_inside(outer.node), outer.dims, outer.over)
            self._imports[name] = replace(outer, name=name, kind=node.kind, node=node), outer.node
        return self._imports[name][0]

    def _outside(self, kind: str) -> dict[str, tuple[Input, Node]]:
        """The quantities that it reads as clamps or as params: each with its node here and outside."""
        nodes = {name: (cast(Input, tensor.node), outer) for name, (tensor, outer) in self._imports.items()}
        return {name: pair for name, pair in nodes.items() if pair[0].kind == kind}

    # ------------------------------------------------------------ what is read of it

    def read(self, name: ast.Name) -> Tensor | None:
        """``NAME.x`` outside; reported and None where there is no such state or let, or where it is a cycle."""
        entry = self.names.get(name.text) if name.text in self.names.own else None
        known = [e.name for e in self.names.own_of_kind("state", "let")]
        if entry is None or entry.name not in known:
            said = f"has no `{name.text}`" if entry is None else f"shows no {entry.noun} such as `{entry.name}` outside"
            there = [f"`{self.name}.{each}`" for each in known]
            help = did_you_mean(name.text, known, f"read {listed(there, 'or')}" if there else None, name.span)
            label = self.around.names.entries[self.name].label()
            self.file.reporter.error("E0451", f"layer `{self.name}` {said}", name.span, labels=[label], help=help)
            return None
        if not self.resolve():
            return None
        tensor = self.equations.tensors.get(name.text)
        if tensor is None:
            return None
        dotted = f"{self.name}.{name.text}"
        node = self.outputs.setdefault(name.text, self.around.graph.input(dotted, "value", tensor.dims))
        return replace(tensor, name=dotted, kind="output", node=node)

    def resolve(self) -> bool:
        """Read everything in it; False inside of its own reading, where that is reported."""
        if self.network is not None:
            return True
        with self.file.pending.following(self, "", self.name) as way_back:
            if way_back is not None:
                self.file.reporter.cycle(way_back, self.tree.name.span)
                return False
            self.network = self.typed()
        self.around.order.append(self)
        return True

    def typed(self) -> Network:
        """Its network, with what it reads from outside; its tree has the dims of the file."""
        network, spec = super().typed(), self.file.spec
        spans = {name: self.names.entries[name].span for name in self._imports}
        clamps = {name: DataInput(node, None, spans[name]) for name, (node, _) in self._outside("clamp").items()}
        shared = {name: self._shared(name, node, spans[name]) for name, (node, _) in self._outside("param").items()}
        sized = (*(s for s in spec.statements if isinstance(s, ast.Definitions)), *self.statements)
        tree = replace(spec, statements=sized)
        return replace(network, tree=tree, clamps=clamps, targets={}, params={**network.params, **shared})

    def _shared(self, name: str, node: Input, span: Span) -> Param:
        """The params that it shares with the network around it: one that stays on a set there does here too."""
        part: Part | None = self.around
        while part is not None:
            tie = part.declared.ties.get(name)
            source = part.declared.params.get(name if tie is None else tie.source)
            if source is not None:
                axes = range(len(node.dims)) if tie is None else tie.axes
                structure = tuple(s.at([list(axes).index(k) for k in range(len(axes))]) for s in source.structure)
                return Param(node, None, None, source.low, source.high, span, structure=structure)
            part = part.around if isinstance(part, LayerPart | RepeatPart) else None
        return Param(node, None, None, None, None, span)

    @property
    def layer(self) -> Layer:
        """The layer, once everything around it is read: its readouts are what is read of it."""
        assert self.network is not None
        clamps = {name: outer for name, (_, outer) in self._outside("clamp").items()}
        params = {name: outer for name, (_, outer) in self._outside("param").items()}
        params |= {name: self._own(param).node for name, param in self.declared.params.items()}
        readouts = {name: self._readout(name) for name in self.outputs}
        network = replace(self.network, readouts=readouts, real_selections=self.real_selections())
        params = {name: params[name] for name in network.params}
        return Layer(self.name, network, clamps, params, dict(self.outputs))

    def _readout(self, name: str) -> Quantity:
        assert self.network is not None
        if name in self.network.lets:
            return self.network.lets[name]
        state = self.network.states[name]
        indices = tuple(dim.lower() for dim in state.node.dims)
        written = ast.Name(state.span, name)
        right = ast.Apply(state.span, written, False, None, None, None)
        tree = ast.Equation(state.span, "readout", ast.Left(state.span, written, None), right)
        return Quantity(name, state.node, indices, tree)

    def _own(self, param: Param) -> Param:
        """A param of its own as the graph around it calls it."""
        return replace(param, node=self.around.graph.input(f"{self.name}.{param.node.name}", "param", param.node.dims))

    def params(self) -> dict[str, Param]:
        """Its own params by their names outside."""
        return {f"{self.name}.{name}": self._own(param) for name, param in self.declared.params.items()}

    def ties(self) -> dict[str, Tie]:
        """Its ties by their names outside."""
        params = self.params()
        return {
            f"{self.name}.{name}": tied(
                self.around.graph,
                replace(tie, name=f"{self.name}.{name}", source=f"{self.name}.{tie.source}"),
                params[f"{self.name}.{tie.source}"],
            )
            for name, tie in self.declared.ties.items()
        }

    def check(self) -> None:
        """Report what moves nothing or does not move, and what is never used."""
        assert self.network is not None
        check_terms(self.context, self.network, self.called, self.tree.name.span)
        check_memory(self.context, self.network, self.file.memory)
        super().check()

    def used(self) -> set[str]:
        return used_names(self.context, self.equations, self.outputs)


def tied(graph: Graph, tie: Tie, source: Param) -> Tie:
    """A tie with its view of the source, whose axes it names."""
    dims = source.node.dims
    return replace(tie, node=graph.einsum(ONE, [(source.node, range(len(dims)))], dict(enumerate(dims)), tie.axes))


def _kind_inside(outer: Node) -> str:
    """The role of an outer quantity in a layer: a clamp; a target where it depends on one; a param without a batch."""
    if any(isinstance(node, Input) and node.kind == "target" for node in walk([outer])):
        return "target"
    return "clamp" if outer.batched else "param"
