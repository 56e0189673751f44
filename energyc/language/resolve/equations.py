"""Equations: each is read once, when it is first needed, and becomes a node with its indices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from energyc.language.diagnostics import Edit, Fix, Label, Remedy, Span, listed, quoted, remedied, writing
from energyc.language.network import Quantity
from energyc.language.resolve.context import InContext, Scope, Tensor, Tensors, introduce, run_over
from energyc.language.resolve.leaks import check_leaks
from energyc.language.resolve.lower import Lowering
from energyc.language.resolve.ranges import check_windows
from energyc.language.resolve.read.exact import numbers_fit
from energyc.language.resolve.rewrite import edited, with_sums
from energyc.language.resolve.terms import Bad, Element, Frame, Index, Term, Unbound, indices_of
from energyc.language.syntax import ast
from energyc.mathematics.calculus import integral
from energyc.mathematics.ir import Function, Input, Node, walk


@dataclass
class Pending:
    """The definitions that are being followed, over all parts of a file: one that is met again is a cycle."""

    _keys: list[tuple[int, str]] = field(default_factory=list)
    _shown: list[str] = field(default_factory=list)

    @contextmanager
    def following(self, part: object, name: str, shown: str) -> Iterator[list[str] | None]:
        """The way from a name of a part back to itself, or None where it is followed for the first time."""
        key = (id(part), name)
        if key in self._keys:
            yield [*self._shown[self._keys.index(key) :], shown]
            return
        self._keys.append(key)
        self._shown.append(shown)
        try:
            yield None
        finally:
            self._keys.pop()
            self._shown.pop()


@dataclass
class Equations(InContext):
    """The equations of a part of a file, and the tensors that they and the declarations define.

    Implements ``context.Definitions``; ``beyond`` looks up what no equation of the part defines: what is declared
    around it, or comes out of its blocks. ``owner`` stands before its names in messages about several parts.
    """

    lowering: Lowering
    pending: Pending = field(default_factory=Pending)
    beyond: Tensors | None = None
    owner: str = ""
    tensors: dict[str, Tensor | None] = field(default_factory=dict)
    quantities: dict[str, Quantity] = field(default_factory=dict)
    frames: dict[str, Frame] = field(default_factory=dict)
    #: The starts, forces and motions of states that are wrong, by the names of their frames.
    wrong: set[str] = field(default_factory=set)
    _potentials: dict[str, Function | None] = field(default_factory=dict)
    _bodies: dict[str, Node | None] = field(default_factory=dict)

    # ------------------------------------------------------------ quantities

    def tensor(self, name: str) -> Tensor | None:
        """A tensor by name; None where its definition is wrong."""
        if name not in self.tensors:
            self.tensors[name] = self._define(name)
        return self.tensors[name]

    def _define(self, name: str) -> Tensor | None:
        entry = self.context.names.entries[name]
        tree = entry.tree
        own = isinstance(tree, ast.Equation) and entry.kind in ("let", "readout", "cost", "metric")
        if not own or name not in self.context.names.own:
            return None if self.beyond is None else self.beyond.tensor(name)
        assert isinstance(tree, ast.Equation)
        with self.pending.following(self, name, self.owner + name) as way_back:
            if way_back is not None:
                self.reporter.cycle(way_back, entry.span)
                return None
            quantity = self.quantity(tree, name)
        if quantity is None:
            return None
        return Tensor(name, entry.kind, quantity.node, tuple(binder.span for binder in tree.left.indices or ()))

    def output(self, layer: str, name: ast.Name) -> Tensor | None:
        """``layer.x``: a state or let of a layer at its rest."""
        return None if self.beyond is None else self.beyond.output(layer, name)

    def quantity(self, tree: ast.Equation, name: str) -> Quantity | None:
        """A let, readout, cost, metric or energy as a node with its own indices."""
        if name not in self.quantities:
            scope, indices = self._open(tree, name)
            node = self._node(scope, tree, indices)
            if node is None:
                return None
            if name in self.context.differentiated:
                node = self.context.graph.stop(node, "barrier")
            self.quantities[name] = Quantity(name, node, tuple(index.name for index in indices), tree)
        return self.quantities[name]

    def energy(self, name: str) -> Node | None:
        """An energy term, its family added up; None where it is wrong."""
        tree = self.context.names.entries[name].tree
        assert isinstance(tree, ast.Equation)
        quantity = self.quantity(tree, name)
        return None if quantity is None else self.context.graph.sum(quantity.node, range(len(quantity.node.dims)))

    def of_state(self, tree: ast.Equation, state: Tensor, name: str) -> tuple[Node, tuple[str, ...]] | None:
        """The right side of a ``start``, ``force``, ``flow`` or ``next``, with the indices of its state."""
        scope, indices = self._open(tree, name)
        self.wrong.add(name)
        if len(indices) != len(state.dims):
            self._report_index_count(tree, state)
            return None
        for index, dim, place in zip(indices, state.dims, state.places, strict=True):
            run_over(self.context, index, dim, index.span, place)
        node = self._node(scope, tree, indices)
        if node is None:
            return None
        self.wrong.discard(name)
        return node, tuple(index.name for index in indices)

    def _open(self, tree: ast.Equation, name: str) -> tuple[Scope, list[Index]]:
        """The scope of a right side, and the indices of the left side."""
        frame = self.frames[name] = Frame(name, tree.span, {} if tree.word in ("flow", "next") else None)
        scope = Scope(self.context, frame)
        indices: dict[str, Index] = {}
        for binder in tree.left.indices or ():
            if binder.name.text in indices:
                self.reporter.error("E0306", f"`{binder.name.text}` is bound twice", binder.span)
                continue
            indices[binder.name.text] = introduce(scope, binder.name, binder.dim)
        return scope.binding(list(indices.values())), list(indices.values())

    def _report_index_count(self, tree: ast.Equation, state: Tensor) -> None:
        self.reporter.error(
            "E0304",
            f"state `{state.name}` has {_count(len(state.dims))}, the left side {_count(len(tree.left.indices or ()))}",
            tree.left.span,
            labels=[self.context.names.entries[state.name].label()],
            help=remedied(f"write `{state.with_indices()}`", tree.left.span),
        )

    def _node(self, scope: Scope, tree: ast.Equation, indices: Sequence[Index]) -> Node | None:
        """The right side as a node whose axes are the indices; None where something in it is wrong."""
        term = scope.real(tree.right)
        if not self._check_indices(scope.frame, tree, term):
            return None
        check_leaks(self.context, scope.frame, term)
        node = self.lowering.node(term, indices)
        return node if self._check_numbers(node, tree.right) else None

    def _check_numbers(self, node: Node, right: ast.Expr) -> bool:
        """Whether all numbers in a right side fit floating point."""
        fitting = numbers_fit(self.context, node)
        if not fitting:
            message = "numbers multiply to one outside the range of floating point"
            self.reporter.error("E0704", message, right.span)
        return fitting

    # ------------------------------------------------------------ the indices of a whole equation

    def _check_indices(self, frame: Frame, tree: ast.Equation | ast.Function, term: Term) -> bool:
        """Whether every index is bound and has a dim, and every window lies in its dim.

        After another mistake an index may lack a dim for that reason alone, which is not reported.
        """
        unbound = {k: v for k, v in frame.unbound.items() if k not in self.context.names.unsupported}
        if unbound:
            self._report_unbound(unbound, tree)
        if frame.unbound or isinstance(term, Bad):
            return False
        without_dim = [index for index in frame.introduced if index.dim is None and not index.poisoned]
        if without_dim:
            self._report_without_dim(frame, tree, without_dim)
        if without_dim or any(index.poisoned for index in frame.introduced):
            return False
        return check_windows(self.context, frame)

    def _report_unbound(self, found: Mapping[str, Unbound], tree: ast.Equation | ast.Function) -> None:
        names = list(found)
        first, *others = (unbound.index for unbound in found.values())
        self.reporter.error(
            "E0303",
            f"index {quoted(names)} is not bound" if not others else f"indices {quoted(names)} are not bound",
            first.span,
            labels=[Label(index.span, "not bound either") for index in others],
            help=self._unbound_help(found, tree),
        )

    def _unbound_help(self, found: Mapping[str, Unbound], tree: ast.Equation | ast.Function) -> str:
        """The index that was probably meant, the indices on the left side, or the sums that bind them."""
        right = tree.right if isinstance(tree, ast.Equation) else tree.body
        uses = {name: unbound.uses for name, unbound in found.items()}
        insertions = with_sums(right, uses)
        if not insertions:
            return "the body of a function reads its own indices: pass what holds others as an argument"
        summed = edited(self.reporter.source, right.span, insertions)
        choices = [f"`{summed}`" if summed != "..." else f"a sum, `sum[{','.join(uses)}](...)`"]
        fixes = [Fix(f"sum over {listed(uses)}", tuple(Edit(Span(at, at), text) for at, text in insertions))]
        if isinstance(tree, ast.Equation) and tree.word in ("let", "readout"):
            left = [*(binder.name.text for binder in tree.left.indices or ()), *uses]
            element = f"{tree.left.name.text}[{','.join(left)}]"
            choices.insert(0, f"`{element}` on the left side")
            fixes.insert(0, writing(element, tree.left.span))
        replacements = [f"`{u.probable.name}` for `{name}`" for name, u in found.items() if u.probable is not None]
        meant = [
            Fix(f"write `{u.probable.name}` for `{name}`", tuple(Edit(use, u.probable.name) for use in u.uses))
            for name, u in found.items()
            if u.probable is not None
        ]
        return Remedy(f"write {listed(replacements + choices, 'or')}", *meant, *fixes)

    def _report_without_dim(self, frame: Frame, tree: ast.Equation | ast.Function, indices: Sequence[Index]) -> None:
        """Report the indices of an equation whose dims nothing determines, as one mistake."""
        first, *others = indices
        dims = [self._dim_meant(index, frame, tree) for index in indices]
        bound = ", ".join(f"{index.name} in {dim or 'DIM'}" for index, dim in zip(indices, dims, strict=True))
        what, where = f"dim of index `{first.name}`", "its dim where the index is bound"
        if others:
            what = f"dims of indices {quoted([index.name for index in indices])}"
            where = "them where the indices are bound"
        help: str | Remedy = f"write {where}, `{bound}`"
        if all(dims):
            edits = (_binding(index, dim) for index, dim in zip(indices, dims, strict=True))
            help = Remedy(help, Fix(f"write `{bound}`", tuple(edits)))
        elif frame.windows:
            help = f"{help}; for a window of P entries in N that is a dim of size N - P + 1"
        labels = [Label(index.span, "nor can that of this one") for index in others]
        self.reporter.error("E0302", f"the {what} cannot be inferred", first.span, labels=labels, help=help)

    def _dim_meant(self, index: Index, frame: Frame, tree: ast.Equation | ast.Function) -> str | None:
        """The only dim that an index is compared with, as in ``n == N - 1``, or else moved along under a condition.

        None where there is no such one.
        """
        compared: set[str] = set()
        for condition in (part for part in ast.walk(tree) if isinstance(part, ast.Compare)):
            names = {name.text for part in ast.walk(condition) if (name := _plain(part)) is not None}
            if index.name in names:
                compared |= {name for name in names if (entry := self.context.names.get(name)) and entry.kind == "dim"}
        moved = {window.dim for window in frame.windows if window.conditions and indices_of(window.place) == [index]}
        found = compared or moved
        return found.pop() if len(found) == 1 else None

    # ------------------------------------------------------------ functions

    def potential(self, name: str) -> Function | None:
        """A function given by its slope; None where its definition is wrong."""
        if name not in self._potentials:
            self._potentials[name] = None
            body = self.body(name)
            if body is not None:
                self._potentials[name] = self._integrated(self._function(name), body)
        return self._potentials[name]

    def _integrated(self, tree: ast.Function, slope: Node) -> Function | None:
        """The function with a slope; one without a known closed form is reported."""
        primitive = integral(self.context.graph, slope)
        if primitive is None:
            name, argument = tree.name.text, tree.arguments[0].text
            message = f"no closed form was found for the integral of `{name}'`"
            help = f"write the function itself, `fn {name}({argument}) = ...`; its slope follows from it"
            self.reporter.error("E0703", message, tree.body.span, help=help)
            return None
        return Function(tree.name.text, None, slope, primitive)

    def body(self, name: str) -> Node | None:
        """The right side of a function of one number, as a node over its argument; None where it is wrong."""
        if name not in self._bodies:
            self._bodies[name] = self._read_body(self._function(name))
        return self._bodies[name]

    def _function(self, name: str) -> ast.Function:
        tree = self.context.names.entries[name].tree
        assert isinstance(tree, ast.Function)
        return tree

    def _read_body(self, tree: ast.Function) -> Node | None:
        name = tree.name.text
        if len(tree.arguments) != 1 or tree.indices:
            message = f"`{name}'` gives a slope, and only a function of one number has one"
            self.reporter.error("E0409", message, tree.name.span)
            return None
        frame = self.frames[name] = Frame(name, tree.span)
        argument: Term = Element(tree.arguments[0].span, self.lowering.argument, ())
        scope = Scope(self.context, frame, arguments={tree.arguments[0].text: argument}, calls=(name,))
        term = scope.real(tree.body)
        if not self._check_indices(frame, tree, term):
            return None
        node = self.lowering.node(term, ())
        wrong = not self._check_numbers(node, tree.body) or (tree.prime and self._reads_tensors(tree, node))
        return None if wrong else node

    def _reads_tensors(self, tree: ast.Function, node: Node) -> bool:
        """Whether a slope reads anything but its argument and consts, which is reported."""
        inputs = [n.name for n in walk([node]) if isinstance(n, Input) and n.kind != "argument"]
        for name in inputs:
            kind = self.context.names.entries[name].with_article
            message = f"the slope `{tree.name.text}'` reads {kind}, `{name}`; it may read its argument and consts"
            self.reporter.error("E0409", message, self.frames[tree.name.text].reads.get(name, tree.body.span))
        return bool(inputs)


def _plain(part: ast.Tree) -> ast.Name | None:
    return ast.plain_name(part) if isinstance(part, ast.Expr) else None


def _binding(index: Index, dim: str | None) -> Edit:
    """What writes the dim of an index where it is bound."""
    return Edit(Span(index.span.end, index.span.end), f" in {dim}")


def _count(count: int) -> str:
    return {0: "none", 1: "one index"}.get(count, f"{count} indices")


def first_read(frame: Frame, names: Sequence[str]) -> Span:
    """The first place of an equation where one of these names is read."""
    return next((frame.reads[name] for name in names if name in frame.reads), frame.span)
