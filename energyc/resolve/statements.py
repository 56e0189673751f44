"""What equations are for: energies, forces, starts, answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from energyc.diagnostics import Label
from energyc.ir import Input, Node, walk
from energyc.resolve.context import Context, Tensor
from energyc.resolve.equations import Equations, frame_span
from energyc.resolve.network import ConstraintSet, Quantity, State, Term
from energyc.resolve.reporter import did_you_mean
from energyc.syntax import ast


@dataclass
class Statements:
    """Reads the equations of a file in their order."""

    context: Context
    equations: Equations
    spec: ast.Spec
    declared: Mapping[str, tuple[Tensor, ConstraintSet | None]]

    def _of(self, *words: str) -> list[ast.Equation]:
        return [s for s in self.spec.statements if isinstance(s, ast.Equation) and s.word in words]

    def _first(self, tree: ast.Equation, name: str) -> bool:
        """Whether this statement is the one that declares the name (a second one was reported)."""
        entry = self.context.names.get(name)
        return entry is not None and entry.tree is tree

    # ------------------------------------------------------------ energies and forces

    def terms(self) -> dict[str, Term]:
        """The energies and forces."""
        found: dict[str, Term] = {}
        for tree in self._of("energy", "force"):
            term = self._energy(tree) if tree.word == "energy" else self._force(tree)
            if term is not None:
                found[term.name] = term
        return found

    def _energy(self, tree: ast.Equation) -> Term | None:
        name = tree.left.name.text
        quantity = self.equations.quantity(tree, name) if self._first(tree, name) else None
        if quantity is None or not self._without(name, quantity.node, "target", "an energy", "E0432"):
            return None
        total = self.context.graph.sum(quantity.node, range(len(quantity.node.dims)))
        return Term(name, "energy", total, None, quantity.node, quantity.indices, tree)

    def _force(self, tree: ast.Equation) -> Term | None:
        assert tree.term is not None
        state = self._state(tree)
        if state is None or not self._first(tree, tree.term.text):
            return None
        made = self.equations.of_state(tree, state, tree.term.text)
        if made is None or not self._without(tree.term.text, made[0], "target", "a force", "E0432"):
            return None
        return Term(tree.term.text, "force", made[0], state.name, made[0], made[1], tree)

    def _state(self, tree: ast.Equation) -> Tensor | None:
        name = tree.left.name
        entry = self.context.names.get(name.text)
        if entry is None or entry.kind != "state":
            states = [e.name for e in self.context.names.of_kind("state")]
            said = f"`{name.text}` is {entry.spoken}, not a state" if entry else f"there is no state `{name.text}`"
            self.context.reporter.error("E0435", said, name.span, help=did_you_mean(name.text, states))
            return None
        return self.equations.tensor(name.text)

    def _without(self, name: str, node: Node, kind: str, what: str, code: str) -> bool:
        """Whether a right side reads no input of a kind that it may not read."""
        found = [n.name for n in walk([node]) if isinstance(n, Input) and n.kind == kind]
        for read in found:
            entry = self.context.names.entries[read]
            frame = self.equations.frames[name]
            through = frame_span(frame, [read, *self._lets_over(read)])
            self.context.reporter.error(
                code,
                f"{what} may not read {entry.spoken}, and `{name}` reads `{read}`",
                through,
                labels=[Label(entry.span, "declared here")],
                help="what may be read while the network relaxes is a clamp" if kind == "target" else None,
            )
        return not found

    def _lets_over(self, read: str) -> list[str]:
        """The lets whose nodes read an input."""
        return [
            name
            for name, quantity in self.equations.quantities.items()
            if any(isinstance(n, Input) and n.name == read for n in walk([quantity.node]))
        ]

    # ------------------------------------------------------------ states

    def states(self) -> dict[str, State]:
        """The states with their starts."""
        starts: dict[str, Node] = {}
        seen: dict[str, ast.Equation] = {}
        for tree in self._of("start"):
            state = self._state(tree)
            if state is None:
                continue
            if state.name in seen:
                self._report_second(tree, seen[state.name])
                continue
            seen[state.name] = tree
            made = self.equations.of_state(tree, state, f"start {state.name}")
            if made is not None and self._may_start(tree, f"start {state.name}", made[0]):
                starts[state.name] = made[0]
        return {
            name: State(cast(Input, tensor.node), constraint, starts.get(name), self.context.names.entries[name].span)
            for name, (tensor, constraint) in self.declared.items()
        }

    def _report_second(self, tree: ast.Equation, first: ast.Equation) -> None:
        self.context.reporter.error(
            "E0433",
            f"state `{tree.left.name.text}` starts twice",
            tree.left.span,
            labels=[Label(first.left.span, "it starts here already")],
        )

    def _may_start(self, tree: ast.Equation, name: str, node: Node) -> bool:
        what = f"the start of `{tree.left.name.text}`"
        checked = [self._without(name, node, kind, what, "E0434") for kind in ("state", "target")]
        return all(checked)

    # ------------------------------------------------------------ lets and answers

    def lets(self) -> dict[str, Quantity]:
        """The named quantities, in the order of the file."""
        return self._quantities("let")

    def answers(self) -> dict[str, dict[str, Quantity]]:
        """The readouts, costs and metrics by their word."""
        found = {word: self._quantities(word) for word in ("readout", "cost", "metric")}
        for name, quantity in list(found["readout"].items()):
            if not self._without(name, quantity.node, "target", "a readout", "E0432"):
                del found["readout"][name]
        for quantity in [*found["cost"].values(), *found["metric"].values()]:
            self._check_scalar(quantity)
        costs = self._of("cost")
        for tree in costs[1:]:
            self.context.reporter.error(
                "E0436",
                "a network has one cost",
                tree.left.span,
                labels=[Label(costs[0].left.span, "the first is here")],
                help="add them up in one, or report the other as a `metric`",
            )
        return found

    def _quantities(self, word: str) -> dict[str, Quantity]:
        found = ((tree.left.name.text, tree) for tree in self._of(word))
        made = {
            name: self.equations.quantity(tree, name)
            for name, tree in found
            if self._first(tree, name) and self._defined(name)
        }
        return {name: quantity for name, quantity in made.items() if quantity is not None}

    def _defined(self, name: str) -> bool:
        return self.equations.tensor(name) is not None

    def _check_scalar(self, quantity: Quantity) -> None:
        if quantity.indices:
            shown = ", ".join(quantity.indices)
            self.context.reporter.error(
                "E0431",
                f"{quantity.tree.word} `{quantity.name}` is one number for each sample, and has the indices {shown}",
                quantity.tree.left.span,
                help=f"write `{quantity.tree.word} {quantity.name} = mean[{','.join(quantity.indices)}](...)`",
            )
