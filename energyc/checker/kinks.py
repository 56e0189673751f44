"""The convex kinks of an energy by which steps move proximally: docs/language.md, proximal steps."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from energyc.checker.bounds import Bounds, names_in, set_of
from energyc.checker.formulas import items_of, name_of
from energyc.checker.syntax import Left, NotCovered, expression

Scope = Mapping[str, str]


class Kink(NamedTuple):
    """A kink of entries of a ``state``: where one passes a number, which may be 0 or not, or a ``norm`` at 0."""

    state: str
    norm: bool
    at_0: bool


class Kinks:
    """Finds the kinks in a part of an energy."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.spec = bounds, bounds.spec

    def taken_off(self, tree: Any, scope: Scope, found: list[Kink]) -> ast.expr:
        """An expression with 0 times each of its kinks in their places; they are convex, and added to ``found``.

        Raises NotCovered for one of another form.
        """
        match tree:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return ast.BinOp(self.taken_off(left, scope, found), ast.Add(), self.taken_off(right, scope, found))
            case ast.BinOp(left=left, op=ast.Sub(), right=right) if self.is_smooth(right, scope):
                return ast.BinOp(self.taken_off(left, scope, found), ast.Sub(), right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right) if self.is_weight(left, scope):
                return ast.BinOp(left, ast.Mult(), self.taken_off(right, scope, found))
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as sign, right=right) if self.is_weight(
                right, scope, below=isinstance(sign, ast.Div)
            ):
                return ast.BinOp(self.taken_off(left, scope, found), sign, right)
            case ast.Call(func=ast.Subscript() as head, args=[body], keywords=[]):
                name, indices, guard = self.bounds.formulas.heading(head, body, scope)
                if name == "sum" and guard is None:
                    return ast.Call(head, [self.taken_off(body, {**scope, **indices}, found)], [])
        if self.is_smooth(tree, scope):
            return tree
        if (let := self.let_at(tree, scope)) is not None:
            return self.taken_off(expression(let.body), scope, found)
        found.append(self.alone(tree, scope))
        return ast.BinOp(ast.Constant("0"), ast.Mult(), tree)

    def let_at(self, tree: Any, scope: Scope) -> Left | None:
        """The let that an expression is, at its own indices, which are all that there are."""
        plain = not isinstance(tree, ast.Subscript)
        let = self.spec["lets"].get(name_of(tree if plain else tree.value))
        own = let is not None and self.bounds.scope(let) == scope and name_of(tree) not in scope
        return let if own and ([] if plain else [*map(name_of, items_of(tree))]) == [*scope] else None

    def is_smooth(self, tree: Any, scope: Scope) -> bool:
        """Whether an expression has a continuous slope."""
        known = self.bounds.of(tree, scope)
        return bool(known.continuous and known.smooth)

    def alone(self, tree: Any, scope: Scope) -> Kink:
        """The kink of a function. Raises NotCovered for one of another form."""
        match tree:
            case ast.Call(func=ast.Name(id="p0_abs" | "p0_relu"), args=[inner], keywords=[]):
                return self.corner(inner, scope)
            case ast.Call(func=ast.Name(id="p0_max"), args=[one, other], keywords=[]):
                inner, level = (other, one) if self.bounds.is_number(one, scope) else (one, other)
                if self.bounds.is_number(level, scope):
                    return self.corner(inner, scope)._replace(at_0=False)
            case ast.Call(func=ast.Name(id="p0_sqrt"), args=[inner], keywords=[]):
                return Kink(self.squared(inner, scope), True, True)
        raise NotCovered("a kink of another form")

    def corner(self, tree: Any, scope: Scope) -> Kink:
        """Of a function with a kink at 0, by what it is of: numbers times one entry of a state, plus numbers."""
        match tree:
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return self.corner(inner, scope)
            case ast.BinOp(left=inner, op=ast.Mult() | ast.Div(), right=other) if self.bounds.is_factor(other, scope):
                return self.corner(inner, scope)
            case ast.BinOp(left=other, op=ast.Mult(), right=inner) if self.bounds.is_factor(other, scope):
                return self.corner(inner, scope)
            case ast.BinOp(left=inner, op=ast.Add() | ast.Sub(), right=other) if self.bounds.is_number(other, scope):
                return self.corner(inner, scope)._replace(at_0=False)
            case ast.BinOp(left=other, op=ast.Add() | ast.Sub(), right=inner) if self.bounds.is_number(other, scope):
                return self.corner(inner, scope)._replace(at_0=False)
        return Kink(self.entry(tree, scope)[0], False, True)

    def squared(self, tree: Any, scope: Scope) -> str:
        """The state of a sum of squares of entries along some of its dims."""
        match tree:
            case ast.Call(func=ast.Subscript() as head, args=[ast.BinOp(op=ast.Pow()) as body], keywords=[]):
                name, indices, guard = self.bounds.formulas.heading(head, body, scope)
                two = isinstance(body.right, ast.Constant) and body.right.value == "2"
                state, places = self.entry(body.left, {**scope, **indices})
                if name == "sum" and guard is None and two and {*indices} <= {*places}:
                    return state
        raise NotCovered("a kink of another form")

    def entry(self, tree: Any, scope: Scope) -> tuple[str, tuple[str, ...]]:
        """The state of an entry, and its places: plain indices, each of which runs over the dim that it is at."""
        plain = not isinstance(tree, ast.Subscript)
        name, places = name_of(tree if plain else tree.value), () if plain else tuple(map(name_of, items_of(tree)))
        own = name in self.spec["states"] and name not in scope and len({*places}) == len(places)
        if not own or tuple(map(scope.get, places)) != self.bounds.formulas.signature(name):
            raise NotCovered("a kink of what is no entry of a state")
        return name, places

    def is_weight(self, tree: Any, scope: Scope, below: bool = False) -> bool:
        """Whether it reads consts and params alone, and is a product of what is nowhere negative by its form.

        One ``below`` a fraction is nowhere 0.
        """
        if below and self.bounds.of(tree, scope).zero:
            return False
        names = names_in(tree) - scope.keys() - self.spec["consts"].keys()
        if any(name not in self.spec["tensors"] or self.spec["tensors"][name].word != "param" for name in names):
            return False
        match tree:
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as sign, right=right):
                return self.is_weight(left, scope) and self.is_weight(right, scope, below=isinstance(sign, ast.Div))
            case ast.Call(func=ast.Name(id="p0_exp")):
                return "exp" not in self.spec["functions"]
            case ast.Constant() | ast.Name() | ast.Attribute() | ast.Subscript():
                param = self.spec["tensors"].get(name_of(tree.value if isinstance(tree, ast.Subscript) else tree))
                signed = param is not None and set_of(param)[0] not in ("box", "nonnegative")
                return name_of(tree) not in scope and not signed and self.bounds.of(tree, scope).low >= 0
        return False


def move_proximally(kinks: Sequence[Kink], states: Mapping[str, Left]) -> bool:
    """Whether all kinks of each state have a proximal operator that is known, together and with its set."""
    for name in {kink.state for kink in kinks}:
        own, kind = [kink for kink in kinks if kink.state == name], set_of(states[name])[0]
        norms = sum(kink.norm for kink in own)
        plain = kind in ("", "nonnegative") and norms == 1 and all(kink.at_0 for kink in own)
        if kind not in ("", "box", "nonnegative") or (norms and not plain):
            return False
    return True
