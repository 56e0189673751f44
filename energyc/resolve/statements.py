"""Equations by their statement: energies, forces, starts, lets and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from energyc.diagnostics import Label
from energyc.ir import Input, Node, walk
from energyc.resolve.context import Context, Tensor
from energyc.resolve.equations import Equations, first_read
from energyc.resolve.network import ConstraintSet, Quantity, State, Term
from energyc.resolve.reporter import Reporter
from energyc.syntax import ast


@dataclass
class Statements:
    """Reads the equations of a file in their order."""

    context: Context
    equations: Equations
    spec: ast.Spec
    declared: Mapping[str, tuple[Tensor, ConstraintSet | None]]

    @property
    def reporter(self) -> Reporter:
        """Where mistakes are reported."""
        return self.context.reporter

    def _equations(self, *words: str) -> list[ast.Equation]:
        return [s for s in self.spec.statements if isinstance(s, ast.Equation) and s.word in words]

    def _declares(self, tree: ast.Equation, name: str) -> bool:
        """Whether this statement declares the name; a second one that does was reported."""
        entry = self.context.names.get(name)
        return entry is not None and entry.tree is tree

    # ------------------------------------------------------------ energies and forces

    def terms(self) -> dict[str, Term]:
        """The energies and forces."""
        terms: dict[str, Term] = {}
        for tree in self._equations("energy", "force"):
            term = self._energy(tree) if tree.word == "energy" else self._force(tree)
            if term is not None:
                terms[term.name] = term
        return terms

    def _energy(self, tree: ast.Equation) -> Term | None:
        name = tree.left.name.text
        quantity = self.equations.quantity(tree, name) if self._declares(tree, name) else None
        if quantity is None or not self._reads_no(name, quantity.node, "target", "an energy", "E0432"):
            return None
        total = self.context.graph.sum(quantity.node, range(len(quantity.node.dims)))
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

    def _state(self, tree: ast.Equation) -> Tensor | None:
        name = tree.left.name
        entry = self.context.names.find(name, ("state",), self.reporter, "E0435", self._start_of_param(name.text))
        return None if entry is None else self.equations.tensor(entry.name)

    def _start_of_param(self, name: str) -> str | None:
        tensor = self.equations.tensors.get(name)
        if tensor is None or tensor.kind != "param":
            return None
        declared = f"{name}[{', '.join(tensor.dims)}]" if tensor.dims else name
        return f"a param starts where it is declared: `param {declared} = 0`"

    def _reads_no(self, name: str, node: Node, kind: str, reader: str, code: str) -> bool:
        """Whether a right side reads no input of a kind; each that it reads is reported."""
        reads = [n.name for n in walk([node]) if isinstance(n, Input) and n.kind == kind]
        for read in reads:
            entry = self.context.names.entries[read]
            self.reporter.error(
                code,
                f"{reader} may not read {entry.with_article}, and `{name}` reads `{read}`",
                first_read(self.equations.frames[name], [read, *self._lets_over(read)]),
                labels=[entry.label()],
                help="only clamps may be read while the network relaxes" if kind == "target" else None,
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
        starts = self._starts()
        return {
            name: State(cast(Input, tensor.node), constraint, starts.get(name), self.context.names.entries[name].span)
            for name, (tensor, constraint) in self.declared.items()
        }

    def _starts(self) -> dict[str, Node]:
        starts: dict[str, Node] = {}
        first: dict[str, ast.Equation] = {}
        for tree in self._equations("start"):
            state = self._state(tree)
            if state is None:
                continue
            if first.setdefault(state.name, tree) is not tree:
                self._report_second_start(tree, first[state.name])
                continue
            name, reader = f"start {state.name}", f"the start of `{state.name}`"
            right = self.equations.of_state(tree, state, name)
            if right is None:
                continue
            allowed = [self._reads_no(name, right[0], kind, reader, "E0434") for kind in ("state", "target")]
            if all(allowed):
                starts[state.name] = right[0]
        return starts

    def _report_second_start(self, tree: ast.Equation, first: ast.Equation) -> None:
        label = Label(first.left.span, "it starts here already")
        self.reporter.error("E0433", f"state `{tree.left.name.text}` starts twice", tree.left.span, labels=[label])

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
            if self._reads_no(name, quantity.node, "target", "a readout", "E0432")
        }

    def scalars(self, word: str) -> dict[str, Quantity]:
        """The costs or metrics; each must be one number."""
        quantities = self.quantities(word)
        for quantity in quantities.values():
            if quantity.indices:
                self._report_indices(quantity)
        return quantities

    def cost(self) -> Quantity | None:
        """The one cost."""
        costs = self._equations("cost")
        for tree in costs[1:]:
            self.reporter.error(
                "E0436",
                "a network has one cost",
                tree.left.span,
                labels=[Label(costs[0].left.span, "the first is here")],
                help="add them up in one, or report the other as a `metric`",
            )
        return next(iter(self.scalars("cost").values()), None)

    def _report_indices(self, quantity: Quantity) -> None:
        word, name = quantity.tree.word, quantity.name
        self.reporter.error(
            "E0431",
            f"{word} `{name}` is one number for each sample, and has the indices {', '.join(quantity.indices)}",
            quantity.tree.left.span,
            help=f"write `{word} {name} = mean[{','.join(quantity.indices)}](...)`",
        )
