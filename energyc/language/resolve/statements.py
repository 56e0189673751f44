"""Equations by their statement: energies, forces, starts, lets, answers and ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from energyc.language.diagnostics import Edit, Fix, Label, Remedy, Span
from energyc.language.network import ConstraintSet, Quantity, State, Term, Tie
from energyc.language.resolve.context import Context, InContext, Tensor
from energyc.language.resolve.equations import Equations, first_read
from energyc.language.resolve.names import noun
from energyc.language.syntax import ast
from energyc.mathematics.calculus import substitute
from energyc.mathematics.ir import ONE, Add, Einsum, Graph, Input, Node, Operand, walk

#: What may read an input instead, by its kind.
_WHERE_ELSE: Mapping[str, str] = MappingProxyType(
    {
        "target": "only clamps may be read while the network relaxes",
        "param": "a clamped value comes with the sample: it may read targets, clamps and consts",
        "step": "only a `flow`, a `next` or a `force` may read it: `flow z[d] = -rate[t] * grad(E, z[d])`",
    }
)


@dataclass(frozen=True)
class Values:
    """Equations that give each state one value: what they may not read, and what is said of mistakes in them."""

    word: str
    reader: str
    barred: tuple[str, ...]
    code: str
    repeated: str
    twice: str
    already: str


STARTS = Values(
    "start",
    "the start of `{}`",
    ("state", "target", "step"),
    "E0434",
    "E0433",
    "starts twice",
    "it starts here already",
)
CLAMPED = Values(
    "clamped",
    "what `{}` is clamped to",
    ("state", "param", "step"),
    "E0453",
    "E0452",
    "is clamped twice",
    "it is clamped here already",
)


def flow_frame(state: str) -> str:
    """The name of the frame of a state's flow; no declared name holds a blank."""
    return f"flow {state}"


def opened(graph: Graph, written: Node, values: Mapping[Node, Node]) -> Node:
    """A flow with the values of its gradients; where it is a multiple of a sum of them, term by term."""
    node = substitute(graph, written, values)
    match node:
        case Einsum(operands=(Operand(node=Add(terms=terms), axes=axes),), coefficient=factor) if axes == node.out:
            return graph.add([(factor * coefficient, term) for coefficient, term in terms], node.dims)
    return node


@dataclass
class Statements(InContext):
    """Reads the equations of a part of a file in their order."""

    equations: Equations
    statements: Sequence[ast.Statement]
    declared: Mapping[str, tuple[Tensor, ConstraintSet | None]]

    def _equations(self, *words: str) -> list[ast.Equation]:
        return [s for s in self.statements if isinstance(s, ast.Equation) and s.word in words]

    def _declares(self, tree: ast.Equation, name: str) -> bool:
        """Whether this statement declares the name; a second one that does was reported."""
        entry = self.context.names.get(name)
        return entry is not None and entry.tree is tree

    # ------------------------------------------------------------ energies and forces

    def terms(self) -> dict[str, Term]:
        """The energies, forces and flows."""
        readers = {"energy": self._energy, "force": self._force, "flow": self._flow, "next": self._flow}
        self._check_one_mover()
        terms: dict[str, Term] = {}
        for tree in self._equations(*readers):
            term = readers[tree.word](tree)
            if term is not None:
                terms[term.name] = term
        return terms

    def _check_one_mover(self) -> None:
        """Report each second flow of a state, and each force on a state that has one."""
        flows: dict[str, ast.Equation] = {}
        for tree in self._equations("flow", "next"):
            name = tree.left.name.text
            if flows.setdefault(name, tree) is not tree:
                first = flows[name]
                help = "`next z = G` is `flow z = G - z` with a step of 1: keep one of them"
                self._report_mover(tree, first, f"state `{name}` has a `{first.word}` already", help)
        for tree in self._equations("force"):
            name = tree.left.name.text
            if name in flows:
                message = f"a force acts on `{name}`, and its `{flows[name].word}` alone says how it moves"
                self._report_mover(tree, flows[name], message, f"add the force to the `{flows[name].word}`")

    def _report_mover(self, tree: ast.Equation, flow: ast.Equation, message: str, help: str) -> None:
        labels = [Label(flow.left.span, "it moves by this")]
        self.reporter.error("E0437", message, tree.left.span, labels=labels, help=help)

    def _energy(self, tree: ast.Equation) -> Term | None:
        name = tree.left.name.text
        quantity = self.equations.quantity(tree, name) if self._declares(tree, name) else None
        if quantity is None or not self._reads_neither(name, quantity.node, "an energy"):
            return None
        total = self.equations.energy(name)
        assert total is not None
        return Term(name, "energy", total, None, quantity.node, quantity.indices, tree)

    def _force(self, tree: ast.Equation) -> Term | None:
        assert tree.term is not None
        name, state = tree.term.text, self._state(tree)
        if state is None or not self._declares(tree, name):
            return None
        right = self.equations.of_state(tree, state, name)
        if right is None or not self._reads_no(name, right[0], "target", "a force", "E0432"):
            return None
        node, indices = right
        return Term(name, "force", node, state.name, node, indices, tree)

    def nexts(self) -> dict[str, tuple[Node, ast.Equation]]:
        """The next value of each state as it is written, for states that go from copy to copy."""
        self._check_one_mover()
        read = ((tree, self._motion(tree)) for tree in self._equations("next"))
        return {motion[0].name: (motion[1], tree) for tree, motion in read if motion is not None}

    def _flow(self, tree: ast.Equation) -> Term | None:
        """A flow, or a ``next`` value as the way there; a second one of a state was reported."""
        motion = self._motion(tree)
        if motion is None:
            return None
        state, written, indices = motion
        if tree.word == "next":
            written = self.context.graph.minus(written, state.node)
        slopes = tuple((self.equations.frames[flow_frame(state.name)].slopes or {}).values())
        node = opened(self.context.graph, written, {slope.stand_in: slope.node for slope in slopes})
        return Term(state.name, "flow", node, state.name, written, indices, tree, slopes)

    def _motion(self, tree: ast.Equation) -> tuple[Tensor, Node, tuple[str, ...]] | None:
        """The state of a flow or ``next``, and its right side."""
        state = self._state(tree)
        if state is None:
            return None
        frame = flow_frame(state.name)
        right = None if frame in self.equations.frames else self.equations.of_state(tree, state, frame)
        if right is None:
            return None
        if not self._reads_no(frame, right[0], "target", f"a `{tree.word}`", "E0432", f"{tree.word} {state.name}"):
            self.equations.wrong.add(frame)
            return None
        return state, *right

    def _state(self, tree: ast.Equation) -> Tensor | None:
        name = tree.left.name
        entry = self.context.names.find(name, ("state",), self.reporter, "E0435", self._start_of_param(name.text))
        if entry is None:
            self.equations.wrong.add(f"{tree.word} {name.text}")
            return None
        return self.equations.tensor(entry.name)

    def _start_of_param(self, name: str) -> str | None:
        tensor = self.equations.tensors.get(name)
        if tensor is None or tensor.kind != "param":
            return None
        declared = f"{name}[{', '.join(tensor.dims)}]" if tensor.dims else name
        return f"a param starts where it is declared: `param {declared} = 0`"

    def _reads_neither(self, name: str, node: Node, reader: str) -> bool:
        """Whether a right side that is also read at rest reads no target and no number of a step."""
        reads_no_target = self._reads_no(name, node, "target", reader, "E0432")
        return self._reads_no(name, node, "step", reader, "E0432") and reads_no_target

    def _reads_no(self, name: str, node: Node, kind: str, reader: str, code: str, shown: str = "") -> bool:
        """Whether a right side, ``shown`` by its name, reads no input of a kind; each that it reads is reported."""
        reads = [n.name for n in walk([node]) if isinstance(n, Input) and n.kind == kind]
        for read in reads:
            entry = self.context.names.entries[read]
            self.reporter.error(
                code,
                f"{reader} may not read a {noun(kind)}, and `{shown or name}` reads `{read}`",
                first_read(self.equations.frames[name], [read, *self._lets_over(read)]),
                labels=[entry.label()],
                help=_WHERE_ELSE.get(kind),
            )
        return not reads

    def _lets_over(self, read: str) -> list[str]:
        """The quantities whose nodes read an input."""
        return [
            name
            for name, quantity in self.equations.quantities.items()
            if any(isinstance(n, Input) and n.name == read for n in walk([quantity.node]))
        ]

    # ------------------------------------------------------------ states

    def states(self) -> dict[str, State]:
        """The states with their starts."""
        starts, clamped = self._values(STARTS), self._values(CLAMPED)
        return {
            name: State(
                cast(Input, tensor.node),
                constraint,
                starts.get(name),
                self.context.names.entries[name].span,
                clamped.get(name),
            )
            for name, (tensor, constraint) in self.declared.items()
        }

    def _values(self, values: Values) -> dict[str, Node]:
        """The values that a kind of equations gives to states."""
        found: dict[str, Node] = {}
        first: dict[str, ast.Equation] = {}
        for tree in self._equations(values.word):
            state = self._state(tree)
            if state is None:
                continue
            if first.setdefault(state.name, tree) is not tree:
                label = Label(first[state.name].left.span, values.already)
                message = f"state `{state.name}` {values.twice}"
                self.reporter.error(values.repeated, message, tree.left.span, labels=[label])
                continue
            name, reader = f"{values.word} {state.name}", values.reader.format(state.name)
            right = self.equations.of_state(tree, state, name)
            if right is None:
                continue
            allowed = [self._reads_no(name, right[0], kind, reader, values.code) for kind in values.barred]
            if all(allowed):
                found[state.name] = right[0]
        return found

    # ------------------------------------------------------------ lets and answers

    def quantities(self, word: str) -> dict[str, Quantity]:
        """The quantities that statements of a word define, in the order of the file."""
        quantities = {
            name: self.equations.quantity(tree, name)
            for tree in self._equations(word)
            if self._declares(tree, name := tree.left.name.text) and self.equations.tensor(name) is not None
        }
        return {name: quantity for name, quantity in quantities.items() if quantity is not None}

    def readouts(self) -> dict[str, Quantity]:
        """The readouts."""
        return {
            name: quantity
            for name, quantity in self.quantities("readout").items()
            if self._reads_neither(name, quantity.node, "a readout")
        }

    def scalars(self, word: str) -> dict[str, Quantity]:
        """The costs or metrics; each must be one number."""
        quantities = self.quantities(word)
        for quantity in quantities.values():
            self._reads_no(quantity.name, quantity.node, "step", f"a {word}", "E0432")
            if quantity.indices:
                self._report_indices(quantity)
        return quantities

    def cost(self, costs: Mapping[str, Quantity]) -> Quantity | None:
        """The objective of training: the sum of the costs."""
        numbers = [cost for cost in costs.values() if not cost.indices]
        if len(numbers) < 2:
            return next(iter(costs.values()), None)
        total = self.context.graph.plus(*(cost.node for cost in numbers))
        return Quantity(" + ".join(cost.name for cost in numbers), total, (), numbers[0].tree)

    def _report_indices(self, quantity: Quantity) -> None:
        word, name = quantity.tree.word, quantity.name
        mean = f"mean[{','.join(quantity.indices)}]"
        self.reporter.error(
            "E0431",
            f"{word} `{name}` is one number for each sample, and has the indices {', '.join(quantity.indices)}",
            quantity.tree.left.span,
            help=Remedy(f"write `{word} {name} = {mean}(...)`", _averaged(quantity, mean)),
        )


def _averaged(quantity: Quantity, mean: str) -> Fix:
    """The fix that makes one number of a family: its mean."""
    left, right = quantity.tree.left, quantity.tree.right
    ends = (Edit(Span(right.span.start, right.span.start), f"{mean}("), Edit(Span(right.span.end, right.span.end), ")"))
    return Fix(f"write `{mean}(...)`", (Edit(left.span, left.name.text), *ends))


def read_tie(context: Context, equations: Equations, tree: ast.Equation) -> Tie | None:
    """``tie W2[d,f] = W1[f,d]``; anything but a permutation of a param is reported."""
    name = tree.left.name.text
    equations.tensors[name] = None
    source = _source(context, equations, tree)
    if source is None:
        return None
    left = [binder.name.text for binder in tree.left.indices or ()]
    right = _indices(tree.right)
    if right is None or len(set(left)) != len(left) or sorted(left) != sorted(right) or len(right) != len(source.dims):
        _report_indices(context, tree, source)
        return None
    axes = tuple(right.index(index) for index in left)
    node = context.graph.einsum(ONE, [(source.node, range(len(axes)))], dict(enumerate(source.dims)), axes)
    equations.tensors[name] = Tensor(name, "tie", node, tuple(binder.span for binder in tree.left.indices or ()))
    return Tie(name, source.name, axes, node, tree.span)


def _source(context: Context, equations: Equations, tree: ast.Equation) -> Tensor | None:
    right = tree.right
    entry = context.names.get(right.name.text) if isinstance(right, ast.Apply) and right.arguments is None else None
    if entry is None or entry.kind != "param":
        help = f"write `tie {tree.left.name.text}[d,f] = W[f,d]`"
        context.reporter.error("E0427", "only a param can be tied", right.span, help=help)
        return None
    if entry.name not in context.names.own:
        help = f"write the tie beside `{entry.name}`, outside of the block: it can be read there and in the block"
        message = f"a tie stands where its param is declared, and `{entry.name}` is declared around this block"
        context.reporter.error("E0427", message, right.span, labels=[entry.label()], help=help)
        return None
    return equations.tensor(entry.name)


def _indices(right: ast.Expr) -> list[str] | None:
    """The indices of an element; None where one of its places is anything else."""
    assert isinstance(right, ast.Apply)
    names = [ast.plain_name(slot.expr) for slot in right.slots or () if slot.dim is None]
    indices = [name.text for name in names if name is not None]
    return indices if right.guard is None and len(indices) == len(right.slots or ()) else None


def _report_indices(context: Context, tree: ast.Equation, source: Tensor) -> None:
    declared = f"`{source.name}[{', '.join(source.dims)}]` is declared here"
    context.reporter.error(
        "E0427",
        "a tie names the same indices on both sides, each once, in any order",
        tree.span,
        labels=[Label(context.names.entries[source.name].span, declared)],
        help="windows, fixed positions and diagonals cannot be tied",
    )
