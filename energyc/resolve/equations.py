"""Equations: each is read once, when it is first asked for, and becomes a node with its indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from energyc.diagnostics import Label, Span
from energyc.ir import Function, Input, Node, walk
from energyc.resolve.context import Context, Scope, Tensor, introduce, run_over
from energyc.resolve.leaks import check_leaks
from energyc.resolve.lower import Lowering
from energyc.resolve.network import Quantity
from energyc.resolve.potentials import make_potential
from energyc.resolve.ranges import check_windows
from energyc.resolve.reporter import listed
from energyc.resolve.terms import Bad, Element, Frame, Index, Term
from energyc.syntax import ast


@dataclass
class Equations:
    """The equations of a file, and the tensors that they and the declarations define."""

    context: Context
    lowering: Lowering
    tensors: dict[str, Tensor | None] = field(default_factory=dict)
    quantities: dict[str, Quantity] = field(default_factory=dict)
    frames: dict[str, Frame] = field(default_factory=dict)
    _functions: dict[str, Function | None] = field(default_factory=dict)
    _bodies: dict[str, Node | None] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)

    # ------------------------------------------------------------ definitions, when asked for

    def tensor(self, name: str) -> Tensor | None:
        """A tensor by name; None where its definition is wrong."""
        if name not in self.tensors:
            self.tensors[name] = self._defined(name)
        return self.tensors[name]

    def _defined(self, name: str) -> Tensor | None:
        entry = self.context.names.entries[name]
        tree = entry.tree
        if not isinstance(tree, ast.Equation) or entry.kind not in ("let", "readout", "cost", "metric"):
            return None
        if name in self._open:
            path = " from ".join([*self._open[self._open.index(name) :], name])
            self.context.reporter.error("E0207", f"`{name}` is defined by itself: {path}", entry.span)
            return None
        self._open.append(name)
        quantity = self.quantity(tree, name)
        self._open.pop()
        if quantity is None:
            return None
        return Tensor(name, entry.kind, quantity.node, tuple(binder.span for binder in tree.left.indices or ()))

    def quantity(self, tree: ast.Equation, name: str) -> Quantity | None:
        """A let, readout, cost, metric or energy as a node with its own indices."""
        if name not in self.quantities:
            frame = self.frames[name] = Frame(name, tree.span)
            scope = Scope(frame)
            indices = self.left(scope, tree.left)
            node = self.node(scope.bound(indices), tree, indices)
            if node is None:
                return None
            self.quantities[name] = Quantity(name, node, tuple(index.name for index in indices), tree)
        return self.quantities[name]

    def left(self, scope: Scope, left: ast.Left) -> list[Index]:
        """The indices of a left side."""
        found: dict[str, Index] = {}
        for binder in left.indices or ():
            if binder.name.text in found:
                self.context.reporter.error("E0306", f"`{binder.name.text}` is bound twice", binder.span)
                continue
            found[binder.name.text] = introduce(self.context, scope, binder.name, binder.dim)
        return list(found.values())

    def of_state(self, tree: ast.Equation, state: Tensor, name: str) -> tuple[Node, tuple[str, ...]] | None:
        """The right side of a ``start`` or ``force``, whose indices run over the dims of its state."""
        frame = self.frames[name] = Frame(name, tree.span)
        scope = Scope(frame)
        indices = self.left(scope, tree.left)
        if len(indices) != len(state.dims):
            self._report_left(tree, state)
            return None
        for index, dim, place in zip(indices, state.dims, state.places, strict=True):
            run_over(self.context, index, dim, index.span, place)
        node = self.node(scope.bound(indices), tree, indices)
        return None if node is None else (node, tuple(index.name for index in indices))

    def _report_left(self, tree: ast.Equation, state: Tensor) -> None:
        example = f"{state.name}[{', '.join(d.lower() for d in state.dims)}]" if state.dims else state.name
        self.context.reporter.error(
            "E0304",
            f"state `{state.name}` has {len(state.dims)} indices, the left side {len(tree.left.indices or ())}",
            tree.left.span,
            labels=[Label(self.context.names.entries[state.name].span, "declared here")],
            help=f"write `{example}`",
        )

    def node(self, scope: Scope, tree: ast.Equation, indices: Sequence[Index]) -> Node | None:
        """The right side as a node whose axes are the indices; None where something in it is wrong."""
        term = self.context.real(scope, tree.right)
        if not self._settled(scope.frame, tree, isinstance(term, Bad)):
            return None
        check_leaks(self.context, scope.frame, term)
        return self.lowering.node(term, indices)

    # ------------------------------------------------------------ when an equation was read whole

    def _settled(self, frame: Frame, tree: ast.Equation | ast.Function, bad: bool) -> bool:
        """Whether every index is bound and has a dim, and every window lies in its dim.

        Where something was wrong already an index may have no dim for that reason alone.
        """
        if frame.unbound:
            self._report_unbound(frame, tree)
        if frame.unbound or bad:
            return False
        unknown = [index for index in frame.introduced if index.dim is None and not index.poisoned]
        for index in unknown:
            self._report_unknown(index)
        if unknown or any(index.poisoned for index in frame.introduced):
            return False
        return check_windows(self.context, frame)

    def _report_unbound(self, frame: Frame, tree: ast.Equation | ast.Function) -> None:
        names = list(frame.unbound)
        first, *others = frame.unbound.values()
        right = self.context.reporter.source.slice(
            tree.right.span if isinstance(tree, ast.Equation) else tree.body.span
        )
        shown = right if len(right) <= 60 and "\n" not in right else "..."
        said = f"index `{names[0]}` is" if len(names) == 1 else f"indices {listed(f'`{n}`' for n in names)} are"
        self.context.reporter.error(
            "E0303",
            f"{said} not bound: sums are written out, there is no summation by repeated indices",
            first.span,
            "what does it run over?",
            labels=[Label(index.span, "nor is this one") for index in others],
            help=self._unbound_help(tree, names, shown),
        )

    def _unbound_help(self, tree: ast.Equation | ast.Function, names: list[str], shown: str) -> str:
        summed = f"`sum[{','.join(names)}]({shown})`"
        if isinstance(tree, ast.Function) or tree.word in ("energy", "cost", "metric", "start", "force"):
            return f"write {summed}"
        left = f"{tree.left.name.text}[{', '.join([*(b.name.text for b in tree.left.indices or ()), *names])}]"
        return f"write {summed}, or `{left}` on the left side"

    def _report_unknown(self, index: Index) -> None:
        dims = [entry.name for entry in self.context.names.of_kind("dim")]
        example = next((d for d in dims if d.lower() == index.name), dims[0] if dims else "D")
        self.context.reporter.error(
            "E0302",
            f"nothing says which dim index `{index.name}` runs over",
            index.span,
            help=f"write it where the index is bound: `{index.name} in {example}`",
        )

    # ------------------------------------------------------------ functions

    def potential(self, name: str) -> Function | None:
        """A function given by its slope."""
        if name not in self._functions:
            self._functions[name] = None
            body = self.body(name)
            tree = self.context.names.entries[name].tree
            assert isinstance(tree, ast.Function)
            if body is not None:
                self._functions[name] = make_potential(self.context, self.lowering, tree, body)
        return self._functions[name]

    def body(self, name: str) -> Node | None:
        """The right side of a function of one number, as a node over its argument."""
        if name not in self._bodies:
            tree = self.context.names.entries[name].tree
            assert isinstance(tree, ast.Function)
            self._bodies[name] = self._read_body(tree)
        return self._bodies[name]

    def _read_body(self, tree: ast.Function) -> Node | None:
        if len(tree.arguments) != 1 or tree.indices:
            self.context.reporter.error(
                "E0409", f"`{tree.name.text}'` is given by its slope, a function of one number", tree.name.span
            )
            return None
        frame = self.frames[tree.name.text] = Frame(tree.name.text, tree.span)
        argument: Term = Element(tree.arguments[0].span, self.lowering.argument, ())
        scope = Scope(frame, arguments={tree.arguments[0].text: argument}, calls=(tree.name.text,))
        term = self.context.real(scope, tree.body)
        if not self._settled(frame, tree, isinstance(term, Bad)):
            return None
        node = self.lowering.node(term, ())
        return node if not tree.prime or self._closed(tree, node) else None

    def _closed(self, tree: ast.Function, node: Node) -> bool:
        inputs = [n.name for n in walk([node]) if isinstance(n, Input) and n.kind != "argument"]
        for name in inputs:
            entry = self.context.names.entries[name]
            self.context.reporter.error(
                "E0409",
                f"the slope `{tree.name.text}'` reads {entry.spoken}, `{name}`; it may read its argument and consts",
                self.frames[tree.name.text].reads.get(name, tree.body.span),
            )
        return not inputs


def frame_span(frame: Frame, names: Sequence[str]) -> Span:
    """The first place of an equation where one of these names is read."""
    return next((frame.reads[name] for name in names if name in frame.reads), frame.span)
