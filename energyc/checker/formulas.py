"""Formulas of a spec as polynomials, and their differentials."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from energyc.checker import algebra as al
from energyc.checker.algebra import Atom, Index, Poly
from energyc.checker.syntax import Left, NotCovered, Spec, expression

#: Functions and reductions by others: of u, v and w, along the indices I where G.
DEFINED = {
    "relu": "u * (1 + sign(u)) / 2", "above": "(1 + sign(u)) / 2", "abs": "u * sign(u)", "sqrt": "u^(1/2)",
    "sigmoid": "(1 + tanh(u/2)) / 2", "softplus": "u/2 + lcosh(u)", "logsigmoid": "u/2 - lcosh(u)",
    "silu": "u * (1 + tanh(u/2)) / 2", "gelu": "u * (1 + erf(u * 2^(-1/2))) / 2", "softsign": "u / (1 + u * sign(u))",
    "gelu_tanh": "u * (1 + tanh((2/pi)^(1/2) * (u + 0.044715 * u^3))) / 2", "max": "v + relu(u - v)",
    "min": "u - relu(u - v)", "clip": "min(max(u, v), w)", "leaky_relu": "v * u + (1 - v) * relu(u)",
    "where": "w + G * (v - w)", "mean[]": "sum[I](u) / sum[I](1)", "min[]": "-max[I | G](-u)",
    "mean where[]": "sum[I | G](u) / max(sum[I | G](1), 1)",
    "variance[]": "mean[I | G](u^2) - mean[I | G](u)^2", "softmax[]": "where(G, exp(u - logsumexp[I | G](u)), 0)",
    "layernorm[]": "(u - mean[I](u)) / sqrt(variance[I](u) + eps)", "rmsnorm[]": "u / sqrt(mean[I](u^2) + eps)",
    "standardize[]": "layernorm[I](u, eps = eps)", "argmax[]": "where(G, largest[I | G](u), 0)",
}  # fmt: skip
#: The slopes of the functions that are left.
SLOPES = {
    "sign": "0", "tanh": "1 - tanh(u)^2", "log": "1 / u", "sin": "cos(u)", "cos": "-sin(u)", "lcosh": "tanh(u/2) / 2",
    "erf": "2 * pi^(-1/2) * exp(-u^2)", "exp": "exp(u)",
}  # fmt: skip
#: What these tables read, and a spec may not declare anew.
TAKEN = {"sum", "logsumexp", "largest", *DEFINED, *SLOPES}
_OPERATIONS: dict[Any, Callable[[Poly, Poly], Poly]] = {
    ast.Add: al.add,
    ast.Sub: lambda a, b: al.add(a, al.scaled(b, -1)),
    ast.Mult: al.multiply,
    ast.Div: lambda a, b: al.multiply(a, al.raised(b, -1)),
    ast.Pow: lambda a, b: _power(a, b),
}
_PI = al.made(Atom("el", "pi "))
Scope = Mapping[str, Any]


class Formulas:
    """The formulas of a spec, of whose lets only those in ``unfold`` are multiplied out.

    The tensors and lets in ``along`` move; ``exchange`` gives the directions that may be read, and their names;
    ``used`` are the left sides that were read.
    """

    def __init__(self, spec: Spec, along: Collection[str], unfold: Collection[str]) -> None:
        self.spec, self.along, self.unfold = spec, along, unfold
        self.exchange: dict[str, str] = {}
        self.used: set[str] = set()
        self.kept: dict[Any, Any] = {}
        if spec["functions"].keys() & TAKEN:
            raise NotCovered("a function of the language that is declared anew")

    def equation(self, left: Left) -> tuple[tuple[Index, ...], Poly]:
        """The indices of a left side, and the right side."""
        self.used.add(left.key)
        names, dims = [name for name, _ in left.indices], self.dims_of(left)
        indices = tuple(al.new_names(map(Index, names, dims)).values())
        return indices, self.value(expression(left.body), dict(zip(names, indices, strict=True)))

    def let(self, name: str) -> tuple[tuple[Index, ...], Poly]:
        """The indices and the value of a let."""
        if name not in self.kept:
            self.kept[name] = self.equation(self.spec["lets"][name])
        return self.kept[name]

    def dims_of(self, left: Left) -> tuple[str, ...]:
        """The dims of a declaration, or those that the indices of an equation run over."""
        if left.word in ("force", "flow", "next"):
            return self.signature(left.on)
        if left.word not in ("let", "tie", "energy"):
            return tuple(name for name, _ in left.indices)
        return tuple(dim or self.range_of(name, expression(left.body)) for name, dim in left.indices)

    def signature(self, name: str) -> tuple[str, ...]:
        """The dims of a tensor, a direction or a let. Raises NotCovered for any other name."""
        base = name[2:] if name[:2] in ("u.", "w.") else name
        left = self.spec["tensors"].get(base) or self.spec["lets"].get(base)
        if left is None:
            raise NotCovered(f"the name {name}")
        if left not in self.kept:
            self.kept[left] = self.dims_of(left)
        return self.kept[left]

    def range_of(self, index: str, *trees: ast.AST) -> str:
        """The dim over which an index runs, by where it stands alone. Raises NotCovered."""
        tensors = self.spec["tensors"]
        for part in (part for tree in trees for part in ast.walk(tree)):
            match part:
                case ast.Subscript(value=owner) if _name(owner) in tensors or _name(owner) in self.spec["lets"]:
                    for place, dim in zip(_items(part), self.signature(_name(owner)), strict=False):
                        if _name(place) == index:
                            return dim
                case ast.Compare(left=a, ops=[ast.Eq()], comparators=[b]) if index in (_name(a), _name(b)):
                    for tensor in (tensors.get(_name(s.value)) for s in (a, b) if isinstance(s, ast.Subscript)):
                        if tensor is not None and tensor.below:
                            return tensor.below
        raise NotCovered(f"the range of the index {index}")

    def value(self, tree: Any, scope: Scope) -> Poly:
        """An expression, a condition as 1 or 0; ``scope`` gives indices and parameters. Raises NotCovered."""
        match tree:
            case ast.Constant(value=str(digits)):
                return al.number(Fraction(digits))
            case ast.UnaryOp(op=ast.USub() | ast.Not() as sign, operand=operand):
                return al.add(al.number(int(isinstance(sign, ast.Not))), al.scaled(self.value(operand, scope), -1))
            case ast.BinOp(left=left, op=sign, right=right):
                return _OPERATIONS[type(sign)](self.value(left, scope), self.value(right, scope))
            case ast.BoolOp(op=sign, values=parts):
                values = [self.value(part, scope) for part in parts]
                return al.multiply(*values) if isinstance(sign, ast.And) else _not(al.multiply(*map(_not, values)))
            case ast.Compare(left=left, ops=signs, comparators=others):
                pairs = pairwise([self.value(side, scope) for side in (left, *others)])
                return al.multiply(*(self.compared(sign, a, b) for sign, (a, b) in zip(signs, pairs, strict=True)))
            case ast.Call(func=ast.Subscript() as head, args=[body], keywords=options):
                return self.reduced(head, body, options, scope)
            case ast.Call(func=head, args=arguments, keywords=[]):
                return self.function(_name(head), _primes(head), [self.value(each, scope) for each in arguments], {})
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.named(tree, scope)
        raise NotCovered("an expression of another kind")

    def compared(self, sign: ast.cmpop, a: Poly, b: Poly) -> Poly:
        """1 where a comparison holds, else 0."""
        if isinstance(sign, ast.Eq | ast.NotEq):
            equal = al.made(Atom("eq", "", (al.add(a, al.scaled(b, -1)),)))
            return equal if isinstance(sign, ast.Eq) else _not(equal)
        above = al.add(a, al.scaled(b, -1)) if isinstance(sign, ast.Gt | ast.GtE) else al.add(b, al.scaled(a, -1))
        if al.is_whole(above):
            least = al.number(int(isinstance(sign, ast.Lt | ast.Gt)))
            return al.made(Atom("le", "", (al.add(least, al.scaled(above, -1)),)))
        return self.template("above", u=above)

    def template(self, name: str, **scope: Any) -> Poly:
        """A definition of the tables."""
        return self.value(expression(DEFINED.get(name) or SLOPES[name]), {"pi": _PI, **scope})

    def named(self, tree: Any, scope: Scope) -> Poly:
        """An index as a number, a parameter, a const, the size of a dim, or an element."""
        plain = not isinstance(tree, ast.Subscript)
        name, const = _name(tree if plain else tree.value), self.spec["consts"].get(_name(tree))
        if plain and name in scope:
            return al.value_of(scope[name])
        if plain and name in ("pi", "training") and const is None and name not in self.spec["tensors"]:
            return al.made(Atom("el", f"{name} "))
        if const is not None and const.word == "relax":
            return al.value_of(Index(name, str(const.below)))
        if const is not None:
            exact = self.exact(name)
            symbol = al.size_of(name) if const.word == "dim" else al.made(Atom("el", f"const {name}"))
            return symbol if exact is None else al.number(exact)
        places = () if plain else tuple(self.value(place, scope) for place in _items(tree))
        dims, name = self.signature(name), self.exchange[name] if name[:2] in ("u.", "w.") else name
        if len(dims) != len(places):
            raise NotCovered(f"the name {name}")
        let = self.spec["lets"].get(name)
        if let is not None and name not in self.along and (name in self.unfold or let.word == "tie"):
            indices, body = self.let(name)
            return al.moved(body, dict(zip(indices, places, strict=True)))
        return self.element(name, places)

    def exact(self, name: str) -> Any:
        """The value of a const that is a rational number; None of any other."""
        const = self.spec["consts"][name]
        return al.constant(self.value(expression(const.body[1:]), {})) if const.word == "const" else None

    def element(self, name: str, places: tuple[Any, ...]) -> Poly:
        """An element; of a symmetric param the mean of the two that are equal."""
        left, dims = self.spec["tensors"].get(name), self.signature(name)
        label = f"{name} below {left.below}" if left is not None and left.below else name
        element = al.made(Atom("el", label, places, dims=dims))
        if left is None or left.word != "param" or "symmetric" not in left.body.rpartition(" in ")[2]:
            return element
        twice = [k for k, dim in enumerate(dims) if dims.count(dim) == 2]
        if len(twice) != 2 or "symmetric[" in left.body:
            raise NotCovered("a set symmetric with several pairs of axes")
        turned = tuple(places[sum(twice) - k] if k in twice else place for k, place in enumerate(places))
        return al.scaled(al.add(element, al.made(Atom("el", label, turned, dims=dims))), Fraction(1, 2))

    def function(self, name: str, primes: int, values: list[Poly], indices: Scope) -> Poly:
        """A function of the spec or of the language, or a derivative of one."""
        own = self.spec["functions"].get(name)
        self.used |= {own.key} if own is not None else set()
        if primes > (own.primes if own is not None else 0):
            if len(values) != 1 or indices:
                raise NotCovered("the derivative of a function of several values")
            (place,) = al.new_names([Index("u", "number")]).values()
            slope = self.differential(self.function(name, primes - 1, [al.value_of(place)], {}), place)
            return al.moved(slope, {place: values[0]})
        if own is not None and primes == own.primes:
            return self.value(expression(own.body), {**dict(zip(own.parameters, values, strict=True)), **indices})
        if len(values) == 1 and (own is not None or name in SLOPES):
            return _function(f"integral {name}" if own is not None else name, values[0])
        if name in ("max", "min") and len(values) > 2:
            values = [self.function(name, 0, values[:-1], {}), values[-1]]
        if name not in DEFINED:
            raise NotCovered(f"the function {name}")
        rest = [al.number(Fraction(1, 100))] if name == "leaky_relu" else []
        return self.template(name, G=values[0], **dict(zip("uvw", values + rest, strict=False)))

    def reduced(self, head: Any, body: ast.expr, options: list[ast.keyword], scope: Scope) -> Poly:
        """A reduction along indices; one that is in scope keeps its name. Raises NotCovered."""
        name, items, inner = _name(head.value), _items(head), dict(scope)
        guarded = len(items) > 1 and _name(items[-2]) == "guard"
        guard, bound = items[-1] if guarded else ast.Constant("1"), list[Index]()
        for item in items[:-2] if guarded else items:
            index, *dims = [_name(item)] if isinstance(item, ast.Name) else map(_name, (item.left, *item.comparators))
            if index == "batch" and name in ("mean", "median"):
                return al.made(Atom("red", f"{name} of a batch", inner=(self.value(body, scope),)))
            if index not in scope:
                dim = dims[0] if dims else self.range_of(index, body, guard)
                (inner[index],) = al.new_names([Index(index, dim)]).values()
            bound += [inner[index]] if isinstance(inner[index], Index) else inner[index]
        test, value, along = self.value(guard, inner), self.value(body, inner), tuple(bound)
        if name in self.spec["functions"]:
            names = [index for index, _ in self.spec["functions"][name].indices]
            return self.function(name, _primes(head.value), [value], dict(zip(names, along, strict=True)))
        if name == "sum":
            return al.bind(al.multiply(test, value), along)
        if name in ("logsumexp", "max", "largest"):
            return al.made(Atom("red", name, along if name == "largest" else (), along, (test, value)))
        name = "mean where" if name == "mean" and test != al.number(1) else name
        if f"{name}[]" not in DEFINED:
            raise NotCovered(f"the reduction {name}")
        eps = self.value(options[0].value, scope) if options else al.number(Fraction(1, 100_000))
        return self.template(f"{name}[]", u=value, G=test, I=along, eps=eps)

    def differential(self, poly: Poly, by: Index | None = None) -> Poly:
        """The change along the directions ``w`` of what moves, or the derivative by a number."""
        parts = []
        for form, value in poly:
            bound, inside = al.opened(form)
            for (_, factors), sign in inside:
                for atom, exponent in factors:
                    change = self.change(atom, by)
                    rest = al.product((), [*((a, e) for a, e in factors if a != atom), (atom, exponent - 1)])
                    parts.append(al.bind(al.scaled(al.multiply(rest, change), value * sign * exponent), bound))
        return al.add(*parts)

    def change(self, atom: Atom, by: Index | None) -> Poly:
        """The differential of an atom."""
        name = atom.name
        if atom.kind == "ix":
            return al.number(int(atom.outer[0] == by))
        if atom.kind == "el" and by is None and name in self.along:
            return self.element(f"w.{name}", atom.outer)
        if atom.kind == "el" and by is None and name in self.spec["lets"]:
            indices, body = self.let(name)
            if ("slope", name) not in self.kept:
                self.kept["slope", name] = self.differential(body)
            return al.moved(self.kept["slope", name], dict(zip(indices, atom.outer, strict=True)))
        if atom.kind in ("base", "fn") and (change := self.differential(atom.outer[0], by)):
            own = name.startswith("integral ")
            slope = self.function(name[9:], 1, [atom.outer[0]], {}) if own else al.number(1)
            return al.multiply(self.template(name, u=atom.outer[0]) if name in SLOPES else slope, change)
        if name in ("logsumexp", "max") and atom.kind == "red":
            new = al.new_names(atom.bound)
            (test, body), along = (al.moved(poly, new) for poly in atom.inner), tuple(new.values())
            weight = self.template("softmax[]" if name == "logsumexp" else "argmax[]", u=body, G=test, I=along)
            return al.bind(al.multiply(weight, self.differential(body, by)), along)
        return al.number(0)


def _power(a: Poly, b: Poly) -> Poly:
    exponent = al.constant(b)
    if exponent is not None and abs(exponent) > al.EXPONENT:
        raise NotCovered("a very large exponent")
    return al.raised(a, exponent) if exponent is not None else _function("exp", al.multiply(b, _function("log", a)))


def _not(condition: Poly) -> Poly:
    return al.add(al.number(1), al.scaled(condition, -1))


def _function(name: str, argument: Poly) -> Poly:
    return al.made(Atom("fn", name, (argument,)))


def _name(tree: Any) -> str:
    """The name that an expression consists of, without its primes; else nothing."""
    if isinstance(tree, ast.Attribute):
        return f"{_name(tree.value)}.{tree.attr[3:]}"
    return (tree.id[3:] or tree.id) if isinstance(tree, ast.Name) and tree.id != "guard" else getattr(tree, "id", "")


def _items(tree: Any) -> list[Any]:
    return list(tree.slice.elts) if isinstance(tree.slice, ast.Tuple) else [tree.slice]


def _primes(tree: Any) -> int:
    return int(tree.id[1])
