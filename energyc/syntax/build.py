"""From Lark's parse tree to the tree of ``energyc.syntax.ast``, without recursion."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from lark import Token, Transformer_NonRecursive, Tree, v_args
from lark.tree import Meta

from energyc.diagnostics import Diagnostic, Source, Span, escaped
from energyc.syntax import ast

LONGEST_NUMBER = 64
LARGEST_EXPONENT = 308

_T = TypeVar("_T")


def build(tree: Tree[Token], source: Source) -> tuple[ast.Spec, list[Diagnostic]]:
    """The spec of a parse tree, with what is wrong with its numbers."""
    builder = _Builder(source)
    spec = builder.transform(tree)
    return spec, builder.diagnostics


def token_span(token: Token) -> Span:
    """The characters of a token."""
    assert token.start_pos is not None and token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


def _span(meta: Meta) -> Span:
    return Span(0, 0) if meta.empty else Span(meta.start_pos, meta.end_pos)


def _name(token: Token) -> ast.Name:
    span = token_span(token)
    if token.type == "FIELD":  # the dot belongs to the token, so that no line is taken for a field's name
        return ast.Name(Span(span.start + 1, span.end), token[1:])
    return ast.Name(span, str(token))


def _name_or_none(token: Token | None) -> ast.Name | None:
    return None if token is None else _name(token)


def _or_empty(items: tuple[_T, ...] | None) -> tuple[_T, ...]:
    return items or ()


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, Any]):
    """One method for each rule of grammar/energy.lark, under the rule's name."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.text = source.text
        self.diagnostics: list[Diagnostic] = []

    # -------------------------------------------------------------- the file

    def start(self, meta: Meta, children: list[Any]) -> ast.Spec:
        name, *statements = children
        name = name or ast.Name(Span(0, 0), "")
        description = _comment_above(self.text, 0 if meta.empty else meta.start_pos)
        return ast.Spec(_span(meta), name, description, tuple(statements))

    def network(self, meta: Meta, children: list[Any]) -> ast.Name:
        return _name(children[0])

    # -------------------------------------------------------------- declarations

    def definitions(self, meta: Meta, children: list[Any]) -> ast.Definitions:
        word, *items = children
        return ast.Definitions(_span(meta), str(word), tuple(items))

    def definition(self, meta: Meta, children: list[Any]) -> ast.Definition:
        name, value = children
        return ast.Definition(_span(meta), _name(name), value)

    def data(self, meta: Meta, children: list[Any]) -> ast.Data:
        name, adapter, pairs = children
        return ast.Data(_span(meta), _name(name), _name(adapter), _or_empty(pairs))

    def inputs(self, meta: Meta, children: list[Any]) -> ast.Inputs:
        word, *items = children
        return ast.Inputs(_span(meta), str(word), tuple(items))

    def input(self, meta: Meta, children: list[Any]) -> ast.InputItem:
        name, dims, kind, source = children
        return ast.InputItem(_span(meta), _name(name), _or_empty(dims), _name_or_none(kind), source)

    def source(self, meta: Meta, children: list[Any]) -> ast.Field:
        owner, field = children
        return ast.Field(_span(meta), _name(owner), _name(field), None)

    def params(self, meta: Meta, children: list[Any]) -> ast.Params:
        return ast.Params(_span(meta), tuple(children))

    def param(self, meta: Meta, children: list[Any]) -> ast.ParamItem:
        name, dims, start, domain = children
        law = start if isinstance(start, ast.Law) else None
        value = start if isinstance(start, ast.Expr) else None
        return ast.ParamItem(_span(meta), _name(name), _or_empty(dims), law, value, domain)

    def law_of(self, meta: Meta, children: list[Any]) -> ast.Law:
        law: ast.Law = children[0]
        return law

    def value_of(self, meta: Meta, children: list[Any]) -> ast.Expr:
        value: ast.Expr = children[0]
        return value

    def law(self, meta: Meta, children: list[Any]) -> ast.Law:
        name, arguments = children
        return ast.Law(_span(meta), _name(name), _or_empty(arguments))

    def box(self, meta: Meta, children: list[Any]) -> ast.Box:
        low, high = children
        return ast.Box(_span(meta), low, high)

    def named_set(self, meta: Meta, children: list[Any]) -> ast.NamedSet:
        name, dims = children
        return ast.NamedSet(_span(meta), _name(name), _or_empty(dims))

    def dims(self, meta: Meta, children: list[Any]) -> tuple[ast.Name, ...]:
        return tuple(_name(token) for token in children)

    def noise(self, meta: Meta, children: list[Any]) -> ast.Noise:
        name, dims, law = children
        return ast.Noise(_span(meta), _name(name), _or_empty(dims), law)

    def states(self, meta: Meta, children: list[Any]) -> ast.States:
        return ast.States(_span(meta), tuple(children))

    def state(self, meta: Meta, children: list[Any]) -> ast.StateItem:
        name, dims, domain, lifetime = children
        return ast.StateItem(_span(meta), _name(name), _or_empty(dims), domain, _name_or_none(lifetime))

    # -------------------------------------------------------------- equations

    def equation(self, meta: Meta, children: list[Any]) -> ast.Equation:
        word, left, right = children
        return ast.Equation(_span(meta), str(word), left, right)

    def force(self, meta: Meta, children: list[Any]) -> ast.Equation:
        term, left, right = children
        return ast.Equation(_span(meta), "force", left, right, _name(term))

    def function(self, meta: Meta, children: list[Any]) -> ast.Function:
        name, prime, indices, arguments, body = children
        return ast.Function(_span(meta), _name(name), prime is not None, indices, arguments, body)

    def left(self, meta: Meta, children: list[Any]) -> ast.Left:
        name, binders = children
        return ast.Left(_span(meta), _name(name), binders)

    def binders(self, meta: Meta, children: list[Any]) -> tuple[ast.IndexBinder, ...]:
        return tuple(children)

    def binder(self, meta: Meta, children: list[Any]) -> ast.IndexBinder:
        name, dim = children
        return ast.IndexBinder(_span(meta), _name(name), _name_or_none(dim))

    def parameters(self, meta: Meta, children: list[Any]) -> tuple[ast.Name, ...]:
        return tuple(children)

    def parameter(self, meta: Meta, children: list[Any]) -> ast.Name:
        return _name(children[0])

    # -------------------------------------------------------------- blocks and settings

    def layer(self, meta: Meta, children: list[Any]) -> ast.Layer:
        name, *body = children
        return ast.Layer(_span(meta), _name(name), tuple(body))

    def repeat(self, meta: Meta, children: list[Any]) -> ast.Repeat:
        index, count, *body = children
        return ast.Repeat(_span(meta), _name_or_none(index), _name(count), tuple(body))

    def counter(self, meta: Meta, children: list[Any]) -> tuple[ast.Name, ast.Name]:
        index, dim = children
        return _name(index), _name(dim)

    def relax(self, meta: Meta, children: list[Any]) -> ast.Settings:
        counter, pairs = children
        index, dim = counter or (None, None)
        return ast.Settings(_span(meta), "relax", index, dim, _or_empty(pairs))

    def settings(self, meta: Meta, children: list[Any]) -> ast.Settings:
        word, pairs = children
        return ast.Settings(_span(meta), str(word), None, None, _or_empty(pairs))

    def preset(self, meta: Meta, children: list[Any]) -> ast.Preset:
        name, pairs = children
        return ast.Preset(_span(meta), _name(name), _or_empty(pairs))

    def pairs(self, meta: Meta, children: list[Any]) -> tuple[ast.Pair, ...]:
        return tuple(child for child in children if child is not None)

    def pair(self, meta: Meta, children: list[Any]) -> ast.Pair:
        key, value = children
        return ast.Pair(_span(meta), key, value)

    def key(self, meta: Meta, children: list[Any]) -> tuple[ast.Name, ...]:
        return tuple(_name(token) for token in children)

    def number_value(self, meta: Meta, children: list[Any]) -> ast.NumberValue:
        minus, numerator, denominator = children
        number = self._exact(numerator)
        if denominator is not None:
            number = self._quotient(number, denominator)
        return ast.NumberValue(_span(meta), number if minus is None else -number)

    def word_value(self, meta: Meta, children: list[Any]) -> ast.WordValue:
        return ast.WordValue(_span(meta), str(children[0]))

    def call_value(self, meta: Meta, children: list[Any]) -> ast.CallValue:
        word, pairs = children
        return ast.CallValue(_span(meta), str(word), _or_empty(pairs))

    def list_value(self, meta: Meta, children: list[Any]) -> ast.ListValue:
        return ast.ListValue(_span(meta), tuple(children))

    # -------------------------------------------------------------- expressions

    def number(self, meta: Meta, children: list[Any]) -> ast.Number:
        return ast.Number(_span(meta), self._exact(children[0]), str(children[0]))

    def group(self, meta: Meta, children: list[Any]) -> ast.Expr:
        inner: ast.Expr = children[0]
        return replace(inner, span=_span(meta))

    def unary(self, meta: Meta, children: list[Any]) -> ast.Unary:
        op, operand = children
        return ast.Unary(_span(meta), str(op), operand)

    def binary(self, meta: Meta, children: list[Any]) -> ast.Binary:
        left, op, right = children
        return ast.Binary(_span(meta), str(op), left, right)

    def compare(self, meta: Meta, children: list[Any]) -> ast.Compare:
        return ast.Compare(_span(meta), tuple(str(op) for op in children[1::2]), tuple(children[::2]))

    def field(self, meta: Meta, children: list[Any]) -> ast.Field:
        owner, field, slots = children
        return ast.Field(_span(meta), _name(owner), _name(field), slots)

    def apply(self, meta: Meta, children: list[Any]) -> ast.Apply:
        name, prime, bracket, arguments = children
        slots, guard = bracket or (None, None)
        return ast.Apply(_span(meta), _name(name), prime is not None, slots, guard, arguments)

    def slots(self, meta: Meta, children: list[Any]) -> tuple[ast.Slot, ...]:
        return tuple(children)

    def bracket(self, meta: Meta, children: list[Any]) -> tuple[tuple[ast.Slot, ...], ast.Expr | None]:
        *slots, guard = children
        return tuple(slots), guard

    def slot(self, meta: Meta, children: list[Any]) -> ast.Slot:
        expr, dim = children
        return ast.Slot(_span(meta), expr, _name_or_none(dim))

    def call(self, meta: Meta, children: list[Any]) -> tuple[ast.Argument, ...]:
        arguments: tuple[ast.Argument, ...] = children[0]
        return arguments

    def arguments(self, meta: Meta, children: list[Any]) -> tuple[ast.Argument, ...]:
        return tuple(children)

    def argument(self, meta: Meta, children: list[Any]) -> ast.Argument:
        *keyword, value = children
        return ast.Argument(_span(meta), _name(keyword[0]) if keyword else None, value)

    # -------------------------------------------------------------- numbers

    def _exact(self, token: Token) -> Fraction:
        _, _, exponent = token.lower().partition("e")
        if len(token) <= LONGEST_NUMBER and abs(int(exponent or "0")) <= LARGEST_EXPONENT:
            return Fraction(str(token))
        self.diagnostics.append(_out_of_range(token))
        return Fraction(1)

    def _quotient(self, number: Fraction, denominator: Token) -> Fraction:
        divisor = self._exact(denominator)
        if divisor:
            return number / divisor
        self.diagnostics.append(
            Diagnostic("E0114", "a fraction has 0 for its denominator", token_span(denominator), text="this is 0")
        )
        return number


def _out_of_range(token: Token) -> Diagnostic:
    return Diagnostic(
        "E0114",
        "this number is too long or outside the range of floating point",
        token_span(token),
        help=f"write at most {LONGEST_NUMBER} characters and an exponent of at most {LARGEST_EXPONENT}",
    )


def _comment_above(text: str, offset: int) -> str:
    """The comment lines directly above the line of ``offset``, without their signs, control characters escaped."""
    lines: list[str] = []
    for line in reversed(text[:offset].split("\n")[:-1]):
        if not line.lstrip().startswith("#"):
            break
        lines.append(line.lstrip().removeprefix("#").strip())
    return escaped("\n".join(reversed(lines)).strip())
