"""Formulas of a spec as polynomials, and their differentials."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from energyc.checker import algebra as al
from energyc.checker.algebra import Atom, Poly, function, lone, moved, new_index, number, summed, times, within
from energyc.checker.functions import FUNCTIONS, is_whole
from energyc.checker.syntax import Left, NotCovered, Spec, expression, items

#: Functions and reductions by others: of u, v and w, along the indices I where G.
DEFINED = {
    "relu": "u * (1 + sign(u)) / 2", "above": "(sign(u) + sign(u)^2) / 2", "abs": "u * sign(u)", "sqrt": "u^(1/2)",
    "sigmoid": "(1 + tanh(u/2)) / 2", "softplus": "u/2 + lcosh(u)", "logsigmoid": "u/2 - lcosh(u)",
    "silu": "u * (1 + tanh(u/2)) / 2", "gelu": "u * (1 + erf(u * 2^(-1/2))) / 2", "softsign": "u / (1 + u * sign(u))",
    "gelu_tanh": "u * (1 + tanh((2/pi)^(1/2) * (u + 0.044715 * u^3))) / 2", "max": "v + relu(u - v)",
    "min": "u - relu(u - v)", "clip": "min(max(u, v), w)", "leaky_relu": "v * u + (1 - v) * relu(u)",
    "where": "w + G * (v - w)", "mean[]": "sum[I](u) / sum[I](1)", "min[]": "-max[I | G](-u)",
    "mean where[]": "sum[I | G](u) / max(sum[I | G](1), 1)", "logsumexp[]": "log(sum[I | G](exp(u)))",
    "variance[]": "mean[I | G](u^2) - mean[I | G](u)^2", "softmax[]": "where(G, exp(u) / sum[I | G](exp(u)), 0)",
    "layernorm[]": "(u - mean[I](u)) / sqrt(variance[I](u) + eps)", "rmsnorm[]": "u / sqrt(mean[I](u^2) + eps)",
    "cross_entropy[]": "logsumexp[I](u) - sum[I | G](u)", "correct[]": "sum[I | G](argmax[I](u))",
    "standardize[]": "layernorm[I](u, eps = eps)", "gauss": "exp(-u^2/2) * 2^(-1/2) * pi^(-1/2)",
}  # fmt: skip
#: Reductions of values and the label of one of them.
SCORES = ("cross_entropy", "correct")
#: The slopes of the functions that are left.
SLOPES = {
    "sign": "0", "tanh": "1 - tanh(u)^2", "log": "1 / u", "sin": "cos(u)", "cos": "-sin(u)", "lcosh": "tanh(u/2) / 2",
    "erf": "2 * pi^(-1/2) * exp(-u^2)", "exp": "exp(u)", "power": "1",
}  # fmt: skip
#: The slopes of those that have one at a kink, where u may rest.
AT_KINKS = {"relu": "above(u)", "leaky_relu": "0.01 + 0.99 * above(u)"}
#: What these tables read, and a spec may not declare anew.
TAKEN = {"sum", "argmax", "detach", "frozen", "silu_integral", *(name.rstrip("[]") for name in DEFINED), *SLOPES}
_OPERATIONS: dict[Any, Callable[[Poly, Poly], Poly]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: lambda a, b: _power(a, b),
}
_PI, _ONE = lone(Atom("pi", "")), number(1)
Scope = Mapping[str, Any]


class Formulas:
    """The formulas of a spec, of whose lets those that are not ``written`` in a proof are multiplied out.

    The tensors and lets in ``along`` move; ``exchange`` gives the directions that may be read, and their names;
    ``used`` are the left sides that were read. Functions may be kept ``whole``, with atoms for their slopes. Gradients
    by z are directions w.z, and listed in ``slopes``, if that is a list. Nothing may be frozen or detached, unless it
    is ``held``. But for ``on_edges``, > and >= of numbers that differ off edges are the same.
    """

    def __init__(
        self, spec: Spec, along: Collection[str], written: Collection[str], whole: bool = False, on_edges: bool = False
    ) -> None:
        self.spec, self.along, self.written, self.whole, self.on_edges = spec, along, written, whole, on_edges or whole
        self.exchange: dict[str, str] = {}
        self.used: set[str] = set()
        self.slopes: list[tuple[list[str], str]] | None = None
        self.held = False
        #: Whether signs change by impulses where they jump.
        self.across = False
        self.kept: dict[Any, Any] = {}
        self.dims: dict[str, tuple[str, ...]] = {}
        #: The dims of vectors that belong to no tensor.
        self.vectors: dict[str, tuple[str, ...]] = {}
        if spec["functions"].keys() & TAKEN:
            raise NotCovered("a function of the language that is declared anew")
        if any(name[:2] in ("u.", "w.") for name in spec["tensors"]):
            raise NotCovered("a layer with the name of a direction")

    def equation(self, left: Left) -> tuple[tuple[Atom, ...], Poly]:
        """The indices of a left side, and the right side."""
        if left not in self.kept:
            self.used.add(left.key)
            indices = {name: new_index(dim) for (name, _), dim in zip(left.indices, self.dims_of(left), strict=True)}
            self.kept[left] = tuple(indices.values()), self.value(expression(left.body), indices)
        return self.kept[left]

    def dims_of(self, left: Left) -> tuple[str, ...]:
        """The dims of a declaration, or those that the indices of an equation run over."""
        if left.word in ("force", "flow", "next"):
            return self.signature(left.on)
        if left.word not in ("let", "tie", "energy"):
            return tuple(name for name, _ in left.indices)
        if left.key not in self.dims:
            self.dims[left.key] = tuple(dim or self.range_of(n, expression(left.body)) for n, dim in left.indices)
        return self.dims[left.key]

    def declared(self, name: str) -> Left | None:
        """The left side of a tensor or a let, or of what a direction is of."""
        base = name[2:] if name[:2] in ("u.", "w.") else name
        return self.spec["tensors"].get(base) or self.spec["lets"].get(base)

    def signature(self, name: str) -> tuple[str, ...]:
        """The dims of a tensor, a direction or a let. Raises NotCovered for any other name."""
        left = self.declared(name)
        if left is None:
            raise NotCovered(f"the name {name}")
        return self.vectors.get(name) or self.dims_of(left)

    def range_of(self, index: str, *trees: ast.AST) -> str:
        """The dim over which an index runs, by where it stands alone. Raises NotCovered."""
        for part in (part for tree in trees for part in ast.walk(tree)):
            match part:
                case ast.Subscript(value=owner) if self.declared(name_of(owner)):
                    for place, dim in zip(items_of(part), self.signature(name_of(owner)), strict=False):
                        if name_of(place) == index:
                            return dim
                case ast.Compare(left=a, ops=[ast.Eq()], comparators=[b]) if index in (name_of(a), name_of(b)):
                    for side in (side for side in (a, b) if isinstance(side, ast.Subscript)):
                        tensor = self.spec["tensors"].get(name_of(side.value))
                        if tensor is not None and tensor.below:
                            return tensor.below
        raise NotCovered(f"the range of the index {index}")

    def value(self, tree: Any, scope: Scope) -> Poly:
        """An expression, a condition as 1 or 0; ``scope`` gives indices and parameters. Raises NotCovered."""
        match tree:
            case ast.Constant(value=str(digits)):
                return number(Fraction(digits))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand, scope)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return _ONE - self.value(operand, scope)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self.value(left, scope) * self.inverse(right, scope)
            case ast.BinOp(left=left, op=sign, right=right):
                return _OPERATIONS[type(sign)](self.value(left, scope), self.value(right, scope))
            case ast.BoolOp(op=ast.And(), values=parts):
                return times(self.value(part, scope) for part in parts)
            case ast.BoolOp(op=ast.Or(), values=parts):
                return _ONE - times(_ONE - self.value(part, scope) for part in parts)
            case ast.Compare(left=left, ops=signs, comparators=others):
                pairs = pairwise([self.value(side, scope) for side in (left, *others)])
                return times(self.compared(sign, a, b) for sign, (a, b) in zip(signs, pairs, strict=True))
            case ast.Call(func=ast.Subscript() as head, args=[_, *_] as bodies, keywords=options):
                return self.reduced(head, bodies, options, scope)
            case ast.Call(func=ast.Name(id="p0_grad"), args=[energies, at], keywords=[]):
                return self.gradient(energies, at, scope)
            case ast.Call(func=ast.Name() as head, args=arguments, keywords=[]):
                return self.function(
                    name_of(head), primes_of(head), [self.value(each, scope) for each in arguments], {}
                )
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.named(tree, scope)
        raise NotCovered("an expression of another kind")

    def inverse(self, tree: ast.expr, scope: Scope) -> Poly:
        """1 over an expression, factor by factor."""
        match tree:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.inverse(left, scope) * self.inverse(right, scope)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return _power(self.value(left, scope), -self.value(right, scope))
        return self.value(tree, scope) ** -1

    def compared(self, sign: ast.cmpop, a: Poly, b: Poly) -> Poly:
        """1 where a comparison holds, else 0."""
        if isinstance(sign, ast.Eq | ast.NotEq):
            equal = function("eq", a - b)
            return equal if isinstance(sign, ast.Eq) else _ONE - equal
        above = a - b if isinstance(sign, ast.Gt | ast.GtE) else b - a
        strict = isinstance(sign, ast.Lt | ast.Gt)
        if above.is_whole():
            return function("le", number(int(strict)) - above)
        known = above if strict else -above
        holds = function("above", known) if self.on_edges else self.template("above", u=known)
        return holds if strict else _ONE - holds

    def template(self, name: str, **scope: Any) -> Poly:
        """A definition of the tables."""
        return self.value(expression(DEFINED.get(name) or SLOPES[name]), {"pi": _PI, **scope})

    def named(self, tree: Any, scope: Scope) -> Poly:
        """An index as a number, a parameter, a const, the size of a dim, or an element."""
        plain = not isinstance(tree, ast.Subscript)
        name, const = name_of(tree if plain else tree.value), self.spec["consts"].get(name_of(tree))
        if plain and name in scope:
            return lone(scope[name]) if isinstance(scope[name], Atom) else scope[name]
        if plain and const is None and name not in self.spec["tensors"] and name in ("pi", "training"):
            return _PI if name == "pi" else lone(Atom("function", name))
        if const is not None:
            return self.const(const)
        places = () if plain else tuple(self.value(place, scope) for place in items_of(tree))
        dims, name = self.signature(name), self.exchange[name] if name[:2] in ("u.", "w.") else name
        if len(dims) != len(places):
            raise NotCovered(f"the name {name}")
        inside, let = times(map(within, places, dims)), self.spec["lets"].get(name)
        self.used |= {let.key} if let is not None else set()
        if let is None or name in self.along or (name in self.written and let.word == "let"):
            return inside * self.element(name, places)
        indices, body = self.equation(let)
        return inside * moved(body, dict(zip(indices, places, strict=True)))

    def const(self, const: Left) -> Poly:
        """A const, by its value if that is a rational number, or the size of a dim."""
        if const.word == "dim":
            return lone(Atom("size", const.name))
        exact = self.exact(const)
        return lone(Atom("element", const.key)) if exact is None else number(exact)

    def exact(self, const: Left) -> Any:
        """The value of a const that is a rational number; None of any other."""
        return self.value(expression(const.body[1:]), {}).constant()

    def element(self, name: str, places: tuple[Poly, ...]) -> Poly:
        """An element; of a symmetric param the mean of the two that are equal."""
        left = self.spec["tensors"].get(name)
        element = lone(Atom("element", name, places, (left and left.below) or ""))
        found = re.search(r"\bsymmetric\b(?:\[(.*?)\])?", left.body.rpartition(" in ")[2]) if left is not None else None
        if found is None or left is None or left.word != "param":
            return element
        dims = [name for name, _ in left.indices]
        turned, twice = [*places], items(found[1] or "") or [dim for dim in {*dims} if dims.count(dim) == 2]
        for dim in twice if found[1] or len(twice) == 1 else [""]:
            if dims.count(dim) != 2:
                raise NotCovered("a set symmetric of other axes")
            first, second = (k for k, each in enumerate(dims) if each == dim)
            turned[first], turned[second] = turned[second], turned[first]
        return (element + lone(Atom("element", name, tuple(turned)))).scaled(Fraction(1, 2))

    def function(self, name: str, primes: int, values: list[Poly], indices: Scope) -> Poly:
        """A function of the spec or of the language, or a derivative of one."""
        own = self.spec["functions"].get(name)
        self.used |= {own.key} if own is not None else set()
        if primes > (own.primes if own is not None else 0):
            if len(values) != 1 or indices:
                raise NotCovered("the derivative of a function of several values")
            if own is None and name in AT_KINKS and primes == 1 and not self.whole:
                return self.value(expression(AT_KINKS[name]), {"u": values[0]})
            place = new_index("")
            slope = self.differential(self.function(name, primes - 1, [lone(place)], {}), place)
            return moved(slope, {place: values[0]})
        if own is not None and primes == own.primes:
            return self.value(expression(own.body), {**dict(zip(own.parameters, values, strict=True)), **indices})
        if len(values) == 1 and (own is not None or name in SLOPES):
            return function(f"integral {name}" if own is not None else name, values[0])
        if name == "silu_integral" and len(values) == 1:
            return function("integral silu", values[0])
        if name in ("detach", "frozen") and len(values) == 1 and self.held:
            return function("held", values[0])
        if name in ("max", "min") and len(values) > 2:
            values = [self.function(name, 0, values[:-1], {}), values[-1]]
        if self.whole and is_whole(name) and len(values) == 1:
            return function(name, values[0])
        if name not in DEFINED:
            raise NotCovered(f"the function {name}")
        rest = [number(Fraction(1, 100))] if name == "leaky_relu" else []
        return self.template(name, G=values[0], **dict(zip("uvw", values + rest, strict=False)))

    def gradient(self, energies: ast.expr, at: Any, scope: Scope) -> Poly:
        """``grad(E1 + E2, z[i])``: the slope of energies by an element of a tensor or a let."""
        name, places = name_of(at if isinstance(at, ast.Name) else at.value), []
        if not isinstance(at, ast.Name):
            places = [self.value(place, scope) for place in items_of(at)]
        terms = [self.spec["terms"].get(each) for each in sum_of_names(energies)]
        if self.declared(name) is None or not all(term is not None and term.word == "energy" for term in terms):
            raise NotCovered("a gradient of another kind")
        if self.slopes is not None:
            self.slopes.append((sum_of_names(energies), name))
            return times(map(within, places, self.signature(name))) * self.element(f"w.{name}", tuple(places))
        inner = Formulas(self.spec, [name], self.written, self.whole)
        inner.held = self.held
        parts = [inner.differential(summed(*inner.equation(term))) for term in terms if term is not None]
        self.used |= inner.used
        slope = self.at(al.total(parts), name, places)
        let = self.spec["lets"].get(name)
        if let is not None and name not in self.along and name not in self.written:
            slope = al.unfolded(slope, name, *self.equation(let))
        return al.released(slope)

    @staticmethod
    def at(change: Poly, name: str, places: Sequence[Poly]) -> Poly:
        """What stands before an element of the direction of a tensor in a change."""
        return al.total(
            summed(bound, times(_chosen(factor, f"w.{name}", places) for factor in factors).scaled(value))
            for bound, factors, value in al.opened(change)
        )

    def heading(self, head: Any, body: ast.expr, scope: Scope) -> tuple[str, dict[str, str], ast.expr | None]:
        """The name of a reduction, its indices, each with its dim unless it is in ``scope``, and its guard."""
        items = items_of(head)
        guard = items[-1] if len(items) > 1 and name_of(items[-2]) == "guard" else None
        indices: dict[str, str] = {}
        for item in items if guard is None else items[:-2]:
            index, *dims = (
                [name_of(item)] if isinstance(item, ast.Name) else map(name_of, (item.left, *item.comparators))
            )
            known = dims or ([""] if index in scope or index == "batch" else None)
            indices[index] = known[0] if known else self.range_of(index, body, *([] if guard is None else [guard]))
        if "batch" in indices and name_of(head.value) not in ("mean", "median"):
            raise NotCovered("a sum over the batch")
        return name_of(head.value), indices, guard

    def reduced(self, head: Any, bodies: list[ast.expr], options: list[ast.keyword], scope: Scope) -> Poly:
        """A reduction along indices; one that is in scope keeps its name. Raises NotCovered."""
        (name, indices, guard), inner = self.heading(head, bodies[0], scope), dict(scope)
        if "batch" in indices and name in ("mean", "median"):
            return function(f"{name} of a batch", self.value(bodies[0], scope))
        inner |= {index: new_index(dim) for index, dim in indices.items() if index not in scope}
        places = (inner[index] for index in indices)
        along = tuple(atom for place in places for atom in ([place] if isinstance(place, Atom) else place))
        test, values = _ONE if guard is None else self.value(guard, inner), [self.value(each, inner) for each in bodies]
        own = self.spec["functions"].get(name)
        if own is not None and guard is not None:
            raise NotCovered("a function of the spec under a guard")
        if own is not None:
            names = [index for index, _ in own.indices]
            return self.function(name, primes_of(head.value), values, dict(zip(names, along, strict=True)))
        if name in SCORES and len(values) == 2:
            test = function("eq", lone(along[0]) - values.pop())
        if len(values) > 1:
            raise NotCovered(f"the reduction {name} of several values")
        (value,) = values
        if name == "sum":
            return summed(along, test * value)
        if name in ("max", "argmax"):
            shared = al.without(along, value) if test == _ONE else number(0)
            most = shared + function("max", summed(along, test * function("entry", value - shared)))
            return most if name == "max" else test * function("first", value - most)
        name = "mean where" if name == "mean" and test != _ONE else name
        if f"{name}[]" not in DEFINED:
            raise NotCovered(f"the reduction {name}")
        eps = self.value(options[0].value, scope) if options else number(Fraction(1, 100_000))
        return self.template(f"{name}[]", u=value, G=test, I=along, eps=eps)

    def dot(self, indices: Iterable[Atom], value: Poly, name: str) -> Poly:
        """A value times the element of a tensor or of a direction at indices, summed over these."""
        places = tuple(indices)
        return summed(places, value * self.element(name, tuple(map(lone, places))))

    def work(self, term: Left, direction: str = "w") -> Poly:
        """The force of a term times a direction; ``next z = G`` is the force G - z, an energy has minus its change.

        What is held has no part in the change of an energy; a force is judged with all that it reads.
        """
        indices, value = self.equation(term)
        if term.word == "energy":
            form = -al.released(self.differential(summed(indices, value)))
            for name in self.along if direction != "w" else ():
                at = tuple(map(new_index, self.signature(name)))
                form = al.unfolded(form, f"w.{name}", at, self.element(f"{direction}.{name}", tuple(map(lone, at))))
            return form
        before = self.element(term.on, tuple(map(lone, indices))) if term.word == "next" else number(0)
        return self.dot(indices, al.released(value) - before, f"{direction}.{term.on}")

    def differential(self, poly: Poly, by: Atom | None = None, most: Poly | None = None) -> Poly:
        """The change along the directions ``w`` of what moves, or by a number; of a maximum's entries, that of it."""
        parts = []
        for bound, factors, value in al.opened(poly):
            for atom, exponent in factors:
                if change := self.change(atom, by, most):
                    rest = al.product((), [*factors, (atom, -1)], value * exponent)
                    parts.append(summed(bound, rest * change))
        return al.total(parts)

    def moves(self, name: str) -> bool:
        """Whether a tensor, a let or a function may read what moves."""
        left = self.spec["lets"].get(name) or self.spec["functions"].get(name)
        return name in self.along or (left is not None and any(map(self.moves, re.findall(r"\w+", left.body))))

    def change(self, atom: Atom, by: Atom | None, most: Poly | None) -> Poly:
        """The differential of an atom."""
        name = atom.name
        if atom.kind == "element" and by is None and name in self.along:
            return self.element(f"w.{name}", atom.args)
        if atom.kind == "element" and by is None and name in self.spec["lets"] and self.moves(name):
            indices, body = self.equation(self.spec["lets"][name])
            if ("slope", name) not in self.kept:
                self.kept["slope", name] = self.differential(body)
            return moved(self.kept["slope", name], dict(zip(indices, atom.args, strict=True)))
        if atom.kind != "function" or not atom.args:
            return number(int(atom == by))
        if name == "max":
            return self.differential(atom.args[0], by, lone(atom))
        change = self.differential(atom.args[0], by) if name != "held" else number(0)
        if change and self.across and name == "sign":
            if al.is_kinked(atom.args[0]):
                raise NotCovered("a jump at a kink")
            return change * function("impulse", atom.args[0]).scaled(2)
        if name == "entry" and most is not None:
            return change * function("first", atom.args[0] - most)
        if name.startswith("integral "):
            primes = int(name[9:] in self.spec["functions"])
            return change and change * self.function(name[9:], primes, [atom.args[0]], {})
        if change and self.whole and (is_whole(name) or "'" in name):
            slope = FUNCTIONS[name].slope
            if not slope:
                raise NotCovered(f"the slope of the function {name}")
            own = (
                lone(atom._replace(name=slope)) if "'" in slope else self.value(expression(slope), {"u": atom.args[0]})
            )
            return change * own
        return (change and name in SLOPES and change * self.template(name, u=atom.args[0])) or number(0)


def _power(a: Poly, b: Poly) -> Poly:
    exponent = b.constant()
    if exponent is not None and (abs(exponent) > al.EXPONENT or exponent.denominator > al.EXPONENT):
        raise NotCovered("a very large exponent")
    return a**exponent if exponent is not None else function("exp", b * function("log", a))


def _chosen(factor: tuple[Atom, Any], direction: str, places: Sequence[Poly]) -> Poly:
    """A power of an atom; of a direction 1 at ``places`` and 0 elsewhere."""
    atom, exponent = factor
    if atom.name != direction:
        return lone(atom, exponent)
    return times(function("eq", argument - place) for argument, place in zip(atom.args, places, strict=True))


def sum_of_names(tree: Any) -> list[str]:
    """The names in a sum of names. Raises NotCovered for any other expression."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        return sum_of_names(tree.left) + sum_of_names(tree.right)
    if not isinstance(tree, ast.Name):
        raise NotCovered("a gradient of another kind")
    return [name_of(tree)]


def name_of(tree: Any) -> str:
    """The name that an expression consists of, without its primes; else nothing."""
    if isinstance(tree, ast.Attribute):
        return f"{name_of(tree.value)}.{tree.attr[3:]}"
    return (tree.id[3:] or tree.id) if isinstance(tree, ast.Name) and tree.id != "guard" else getattr(tree, "id", "")


def items_of(tree: Any) -> list[Any]:
    """What stands in the brackets of an expression."""
    return list(tree.slice.elts) if isinstance(tree.slice, ast.Tuple) else [tree.slice]


def primes_of(tree: Any) -> int:
    """The number of primes of a name."""
    return int(tree.id[1])
