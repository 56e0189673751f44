"""Random graphs, each operation done twice: by the graph, which simplifies, and at once by torch, which does not.

Every torch value has the batch axis, and every input is a leaf with a value for each sample, so that a gradient by a
param is the gradient of each sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.mathematics.ir import ONE, TRUTHS, Coefficient, Function, Graph, Guard, IndexExpr, Indicator, Input, Node
from energyc.mathematics.ir.indexing import axis, integer

BATCH = 3
SIZES = {"N": 3, "D": 2, "K": 4}
CONSTS = {"gamma": 0.7}
SMOOTH: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "logsigmoid": F.logsigmoid,
    "softplus": lambda u: torch.logaddexp(u, torch.zeros_like(u)),
    "silu": lambda u: u * torch.sigmoid(u),
    "gelu": lambda u: 0.5 * u * (1 + torch.erf(u / 2**0.5)),
    "gelu_tanh": lambda u: 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3))),
    "gauss": lambda u: torch.exp(-0.5 * u * u) / (2 * torch.pi) ** 0.5,
    "erf": torch.erf,
    "sin": torch.sin,
    "cos": torch.cos,
    "exp": torch.exp,
}
KINKED: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "abs": torch.abs,
    "step": lambda u: (u > 0).to(u.dtype),
    "sign": torch.sign,
}
POWERS = [Fraction(p) for p in ("2", "3", "4", "5", "-1", "1/2", "-3/2")]


class RandomGraph:
    """A graph under construction, with the torch value of every usable node. ``frozen`` as in the calculus."""

    def __init__(self, seed: int, *, frozen: bool = True) -> None:
        self.random = np.random.default_rng(seed)
        self.frozen = frozen
        self.graph = Graph()
        self.values: dict[Node, Tensor] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.leaves = [
            self.leaf("z", "state", "N", "D"),
            self.leaf("y", "state", "D"),
            self.leaf("x", "clamp", "N"),
            self.leaf("W", "param", "D", "D"),
            self.leaf("A", "param", "N", "N", "D"),
            self.leaf("U", "param", "K", "D"),
            self.leaf("c", "param"),
        ]
        self.index = self.integers("idx", ("N",), "K", SIZES["K"])
        self.relation = self.integers("adj", ("N", "N"), TRUTHS, 2)
        self.indicators: list[Indicator] = []

    # ------------------------------------------------------------ inputs

    def leaf(self, name: str, kind: str, *dims: str) -> Input:
        node = self.graph.input(name, kind, dims)
        shape = [SIZES[dim] for dim in dims]
        self.arrays[name] = self.random.normal(size=[BATCH, *shape] if node.batched else shape)
        full = np.broadcast_to(self.arrays[name], [BATCH, *shape]).copy()
        self.values[node] = torch.tensor(full, requires_grad=True)
        return node

    def integers(self, name: str, dims: tuple[str, ...], over: str, size: int) -> Input:
        self.arrays[name] = self.random.integers(0, size, size=[BATCH, *(SIZES[dim] for dim in dims)])
        return self.graph.input(name, "clamp", dims, over)

    def keep(self, node: Node, value: Tensor) -> None:
        """Take a node up for further use where its value is tame; a zero or a copy is as good as any."""
        if node not in self.values and len(node.dims) <= 3 and bool((value.abs() < 30).all()):
            self.values[node] = value

    def pick(self, *dims: str) -> Node | None:
        fitting = [node for node in self.values if not dims or node.dims == dims]
        return fitting[self.random.integers(len(fitting))] if fitting else None

    def choice(self, items: Sequence) -> object:
        return items[self.random.integers(len(items))]

    def coefficient(self) -> Coefficient:
        return self.choice(
            [
                ONE,
                ONE,
                -ONE,
                Coefficient(Fraction(1, 2)),
                Coefficient(Fraction(0)) if self.random.random() < 0.2 else ONE,
                Coefficient.symbol("D", Fraction(-1, 2)),
                Coefficient.symbol("gamma"),
                Coefficient.symbol("N", -1).scaled(Fraction(-2, 3)),
            ]
        )

    # ------------------------------------------------------------ operations

    def grow(self, steps: int) -> None:
        operations = [self.einsum] * 4 + [self.add] * 2 + [self.smooth, self.kinked, self.power, self.reduction]
        operations += [self.indicator, self.position, self.stop, self.pair, self.potential, self.constant]
        for _ in range(steps):
            self.choice(operations)()

    def einsum(self) -> None:
        labels = {10 * k + 3: self.choice(list(SIZES)) for k in range(self.random.integers(1, 6))}
        factors = []
        for _ in range(self.random.integers(0, 4)):
            node = self.pick()
            places = [[label for label, dim in labels.items() if dim == d] for d in node.dims]
            if all(places):
                factors.append((node, [self.choice(place) for place in places]))
        self.product(self.coefficient(), factors, labels)

    def product(self, coefficient: Coefficient, factors: list, labels: dict[int, str]) -> None:
        out = [int(k) for k in self.random.permutation(list(labels))[: self.random.integers(0, 4)]]
        node = self.graph.einsum(coefficient, factors, labels, out)
        number = {label: k + 1 for k, label in enumerate(labels)}
        parts: list = []
        for factor, axes in factors:
            parts += [self.values[factor], [0, *(number[a] for a in axes)]]
        for label, dim in labels.items():
            parts += [torch.ones(SIZES[dim], dtype=torch.float64), [number[label]]]
        parts += [torch.ones(BATCH, dtype=torch.float64), [0]]
        value = torch.einsum(*parts, [0, *(number[k] for k in out)])
        self.keep(node, value * coefficient.number(SIZES | CONSTS))

    def add(self) -> None:
        first = self.pick()
        nodes = [first, *(self.pick(*first.dims) or first for _ in range(self.random.integers(0, 4)))]
        terms = [(self.coefficient(), node) for node in nodes if node.dims == first.dims]
        value = sum(c.number(SIZES | CONSTS) * self.values[n] for c, n in terms)
        self.keep(self.graph.add(terms, first.dims), value)

    def smooth(self) -> None:
        node = self.pick()
        name = self.choice(list(SMOOTH))
        self.keep(self.graph.map(name, node), SMOOTH[name](self.values[node]))

    def kinked(self) -> None:
        node = self.pick()
        if bool((self.values[node].abs() > 1e-6).all()):
            name = self.choice(list(KINKED))
            self.keep(self.graph.map(name, node), KINKED[name](self.values[node]))

    def power(self) -> None:
        """Of ``softplus(u) + 1``, and its logarithm and root."""
        node = self.pick()
        base = self.graph.plus(self.graph.map("softplus", node), self.graph.constant(1, node.dims))
        value = SMOOTH["softplus"](self.values[node]) + 1
        exponent = self.choice(POWERS)
        self.keep(self.graph.power(base, exponent), value ** float(exponent))
        name = self.choice(["log", "sqrt"])
        self.keep(self.graph.map(name, base), getattr(torch, name)(value))

    def potential(self) -> None:
        """``phi'(u) = 3 u^2 + gamma cos(u)``, with its closed form."""
        g, node = self.graph, self.pick()
        u, gamma = g.input("u", "argument"), Coefficient.symbol("gamma")
        slope = g.add([(ONE.scaled(3), g.power(u, 2)), (gamma, g.map("cos", u))], ())
        primitive = g.add([(ONE, g.power(u, 3)), (gamma, g.map("sin", u)), (ONE, g.constant(1))], ())
        value = self.values[node] ** 3 + CONSTS["gamma"] * torch.sin(self.values[node]) + 1
        self.keep(g.map(Function("phi", None, slope, primitive), node), value)

    def constant(self) -> None:
        dims = tuple(self.random.permutation(list(SIZES))[: self.random.integers(0, 3)])
        coefficient = self.coefficient()
        ones = torch.ones([BATCH, *(SIZES[dim] for dim in dims)], dtype=torch.float64)
        self.keep(self.graph.constant(coefficient, dims), ones * coefficient.number(SIZES | CONSTS))

    def stop(self) -> None:
        node, mode = self.pick(), self.choice(["frozen", "detach"])
        cut = mode == "detach" or not self.frozen
        self.keep(self.graph.stop(node, mode), self.values[node].detach() if cut else self.values[node])

    def pair(self) -> None:
        """Nodes that the graph simplifies: relu times step, an indicator with itself, a softmax with its own guard."""
        node = self.pick()
        if node.dims and bool((self.values[node].abs() > 1e-6).all()):
            names = [self.choice(["relu", "step", "relu", "step", "abs"]) for _ in range(3)]
            maps = [self.graph.map(name, node) for name in names]
            for made, name in zip(maps, names, strict=True):
                self.keep(made, KINKED[name](self.values[node]))
            self.aligned_product([(made, range(len(node.dims))) for made in maps], node.dims)
        if node.dims:
            self.guarded_pair(node)

    def guarded_pair(self, node: Node) -> None:
        """A reduction under two guards, the softmax of the first times both."""
        rank = range(len(node.dims))
        axes = (int(self.random.integers(len(rank))),)
        guards = [guard for guard in (self.guard(node), self.guard(node)) if guard is not None]
        reduced = [self.reduced(str(self.choice(["softmax", "argmax"])), node, axes, guard) for guard in guards]
        if guards and reduced[0] is not None:
            factors = [(guard.indicator, guard.axes) for guard in (*guards, guards[0])]
            self.aligned_product([*factors, (reduced[0], rank)], node.dims)

    def aligned_product(self, factors: list, dims: Sequence[str]) -> None:
        """Factors over parts of the same axes, one of them at times along others of the same dims, in any order."""
        labels = dict(enumerate([*dims, *dims]))
        same = [int(self.choice([k for k, other in labels.items() if other == dim])) for dim in dims]
        aligned = []
        for node, axes in factors:
            own = [same[a] for a in axes]
            if self.random.random() < 0.3:
                own = [int(self.choice([k for k, dim in labels.items() if dim == labels[a]])) for a in own]
            aligned.append((node, own))
        order = self.random.permutation(len(aligned))
        used = {a for _, axes in aligned for a in axes}
        self.usable_product([aligned[k] for k in order], {k: dim for k, dim in labels.items() if k in used})

    def usable_product(self, factors: list, labels: dict[int, str]) -> None:
        if all(node in self.values for node, _ in factors):
            self.product(self.coefficient(), [(n, list(axes)) for n, axes in factors], labels)

    # ------------------------------------------------------------ indices and reductions

    def condition(self, dims: Sequence[str]) -> tuple[IndexExpr, np.ndarray]:
        """A random condition on the axes, and its truth values ``[batch, *dims]``."""
        grid = np.indices([SIZES[dim] for dim in dims])
        i, j = self.random.integers(len(dims), size=2)
        a, b = axis(int(i)), axis(int(j))
        shift = int(self.random.integers(-1, 2))
        shifted = IndexExpr("+", (b, integer(shift)))
        comparisons = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater}
        op = str(self.choice(list(comparisons)))
        truth = comparisons[op](grid[i], grid[j] + shift)
        expr = IndexExpr(op, (a, shifted))
        truth = np.broadcast_to(truth, (BATCH, *truth.shape))
        extra = self.random.integers(5)
        if extra == 0 and dims[i] == "N":
            found = self.arrays["idx"][:, grid[i]]
            expr, truth = (
                IndexExpr("or", (expr, IndexExpr(">=", (IndexExpr("read", (self.index, a)), integer(2))))),
                truth | (found >= 2),
            )
        elif extra == 1 and dims[i] == dims[j] == "N":
            expr = IndexExpr("and", (IndexExpr("related", (self.relation, a, b)), IndexExpr("not", (expr,))))
            truth = (self.arrays["adj"][:, grid[i], grid[j]] != 0) & ~truth
        elif extra == 2:
            odd = IndexExpr("==", (IndexExpr("mod", (IndexExpr("*", (integer(3), a)), integer(2))), integer(1)))
            expr, truth = IndexExpr("and", (expr, odd, IndexExpr("true", ()))), truth & (grid[i] % 2 == 1)
        return expr, truth

    def indicator(self) -> None:
        dims = [str(self.choice(list(SIZES))) for _ in range(self.random.integers(1, 4))]
        expr, truth = self.condition(dims)
        node = self.graph.indicator(dims, expr)
        self.keep(node, torch.tensor(truth.astype(float)))
        self.indicators.append(node)

    def position(self) -> None:
        dim = str(self.choice(list(SIZES)))
        i, j = np.indices((SIZES[dim], SIZES[dim]))
        expr = IndexExpr("-", (IndexExpr("abs", (IndexExpr("-", (axis(0), axis(1))),)), IndexExpr("size", ("D",))))
        value = torch.tensor(np.abs(i - j) - 2.0).expand(BATCH, -1, -1)
        self.keep(self.graph.position((dim, dim), expr), value)

    def guard(self, node: Node) -> Guard | None:
        if not node.dims or self.random.random() < 0.3:
            return None
        count = int(self.random.integers(1, len(node.dims) + 1))
        axes = tuple(int(a) for a in self.random.permutation(len(node.dims))[:count])
        expr, truth = self.condition([node.dims[a] for a in axes])
        indicator = self.graph.indicator([node.dims[a] for a in axes], expr)
        self.keep(indicator, torch.tensor(truth.astype(float)))
        return Guard(indicator, axes)

    def reduction(self) -> None:
        node = self.pick()
        if node.dims:
            axes = tuple(k for k in range(len(node.dims)) if self.random.random() < 0.6) or (0,)
            name = str(self.choice(["softmax", "logsumexp", "max", "argmax"]))
            self.reduced(name, node, axes, self.guard(node))

    def reduced(self, name: str, node: Node, axes: tuple[int, ...], guard: Guard | None) -> Node | None:
        made = getattr(self.graph, name)(node, axes, guard)
        if guard is not None and guard.indicator not in self.values:
            return None
        mask = self.mask(node, guard)
        kept = [k for k in range(len(node.dims)) if k not in axes]
        order = [0, *(k + 1 for k in kept), *(a + 1 for a in axes)]
        flat = self.values[node].permute(order).flatten(1 + len(kept))
        mask = mask.permute(order).flatten(1 + len(kept))
        value = _reduced(name, flat, mask)
        if value is None:
            return None
        if name in ("softmax", "argmax"):
            shape = [BATCH, *(SIZES[node.dims[k]] for k in (*kept, *axes))]
            value = value.reshape(shape).permute([order.index(k) for k in range(len(order))])
        self.keep(made, value)
        return made

    def mask(self, node: Node, guard: Guard | None) -> Tensor:
        full = torch.ones([BATCH, *(SIZES[dim] for dim in node.dims)], dtype=torch.bool)
        if guard is None:
            return full
        labels, every = [0, *(a + 1 for a in guard.axes)], list(range(full.ndim))
        return torch.einsum(self.values[guard.indicator], labels, full.to(torch.float64), every, every) > 0


def _reduced(name: str, flat: Tensor, mask: Tensor) -> Tensor | None:
    """Along the last axis, row by row in the plainest way; None where a tie decides."""
    rows = []
    for row, kept in zip(flat.reshape(-1, flat.shape[-1]), mask.reshape(-1, mask.shape[-1]), strict=True):
        chosen = row[kept]
        if name in ("max", "argmax") and len(chosen) > 1:
            top = chosen.detach().sort().values
            if top[-1] - top[-2] < 1e-6:
                return None
        rows.append(_row(name, row, kept, chosen))
    stacked = torch.stack(rows)
    return stacked.reshape(flat.shape if name in ("softmax", "argmax") else flat.shape[:-1])


def _row(name: str, row: Tensor, kept: Tensor, chosen: Tensor) -> Tensor:
    empty = len(chosen) == 0
    if name == "logsumexp":
        return (row * 0).sum() if empty else torch.logsumexp(chosen, 0)
    if name == "max":
        return (row * 0).sum() if empty else chosen.max()
    result = torch.zeros_like(row)
    if name == "softmax":
        return result if empty else result.masked_scatter(kept, torch.softmax(chosen, 0))
    if not empty:
        result[kept.nonzero()[chosen.argmax()]] = 1.0
    return result
