"""From Lark's parse tree to the tree of ``energyc.language.syntax.ast``, without recursion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from typing import Any

from lark import Token, Transformer_NonRecursive, Tree, v_args
from lark.tree import Meta

from energyc.language.diagnostics import Diagnostic, Source, Span, escaped
from energyc.language.syntax import ast

LONGEST_NUMBER = 64
LARGEST_EXPONENT = 308


def build(tree: Tree[Token], source: Source) -> tuple[ast.Spec, list[Diagnostic]]:
    """The spec of a parse tree, and a diagnostic for each malformed number in it."""
    builder = _Builder(source)
    spec = builder.transform(tree)
    return spec, builder.diagnostics


def _token_span(token: Token) -> Span:
    assert token.start_pos is not None and token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


def _with_span(rule: Callable[..., Any], _name: str, children: list[Any], meta: Meta) -> Any:
    """Call a rule's method, or the class of its tree, with the rule's span and its children."""
    span, kind = Span(0, 0) if meta.empty else Span(meta.start_pos, meta.end_pos), getattr(rule, "base_func", rule)
    return kind(span, *_by_fields(kind, children)) if isinstance(kind, type) else rule(span, *children)


def _by_fields(kind: Any, children: list[Any]) -> list[Any]:
    """The children as the fields of a tree: a missing tuple is empty, and the last tuple holds all that are left."""
    tuples = _tuples(kind)
    last = len(tuples) - 1
    if tuples[last] and (len(children) <= last or not isinstance(children[last], tuple | None)):
        children = [*children[:last], tuple(children[last:])]
    return [() if child is None and is_tuple else child for child, is_tuple in zip(children, tuples, strict=False)]


@cache
def _tuples(kind: Any) -> list[bool]:
    """Whether each field of a tree behind its span is a tuple."""
    return [str(field.type).startswith("tuple") and str(field.type).endswith("]") for field in fields(kind)[1:]]


def _items(_span: Span, *children: Any) -> tuple[Any, ...]:
    return tuple(child for child in children if child is not None)


def _only_child(_span: Span, child: Any) -> Any:
    return child


@v_args(wrapper=_with_span)
class _Builder(Transformer_NonRecursive[Token, Any]):
    """A method or class for each rule and each terminal of grammar/energy.lark, under its name.

    Optional parts that are missing are None.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.text = source.text
        self.diagnostics: list[Diagnostic] = []

    # -------------------------------------------------------------- terminals

    def NAME(self, token: Token) -> ast.Name:
        return ast.Name(_token_span(token), str(token))

    def KEY(self, token: Token) -> ast.Name:
        return ast.Name(_token_span(token), str(token))

    def FIELD(self, token: Token) -> ast.Name:
        """The dot belongs to the token, so that the first word of the next line is never read as a field's name."""
        span = _token_span(token)
        return ast.Name(Span(span.start + 1, span.end), token[1:])

    def NUMBER(self, token: Token) -> ast.Number:
        return ast.Number(_token_span(token), self._exact(token), str(token))

    DEFINE = INPUT = EQUATION = SETTINGS = WORD = str
    OR = AND = NOT = COMPARE = PLUS = MINUS = STAR = SLASH = POWER = str

    def _exact(self, token: Token) -> Fraction:
        _, _, exponent = token.lower().partition("e")
        if len(token) <= LONGEST_NUMBER and abs(int(exponent or "0")) <= LARGEST_EXPONENT:
            return Fraction(str(token))
        self.diagnostics.append(_out_of_range(token))
        return Fraction(1)

    # -------------------------------------------------------------- the file

    def start(self, span: Span, name: ast.Name | None, *statements: ast.Statement) -> ast.Spec:
        return ast.Spec(span, name or ast.Name(Span(0, 0), ""), _comment_above(self.text, span.start), statements)

    network = staticmethod(_only_child)

    # -------------------------------------------------------------- declarations

    definitions = ast.Definitions
    definition = ast.Definition
    data = ast.Data
    inputs = ast.Inputs
    input = ast.InputItem

    def source(self, span: Span, owner: ast.Name, field: ast.Name) -> ast.Field:
        return ast.Field(span, owner, field, None)

    params = ast.Params

    def param(self, span: Span, name: ast.Name, dims: Any, start: Any, domains: Any) -> ast.ParamItem:
        law = start if isinstance(start, ast.Law) else None
        value = start if isinstance(start, ast.Expr) else None
        return ast.ParamItem(span, name, dims or (), law, value, domains or ())

    law_of = value_of = staticmethod(_only_child)

    law = ast.Law

    def domains(self, _span: Span, *children: Any) -> tuple[Any, ...]:
        return children[::2]

    box = ast.Box

    def named_set(self, span: Span, name: ast.Name, first: ast.Expr | None, *dims: ast.Name) -> ast.NamedSet:
        """The first item is the bound of ``norm``, and of any other set a dim, as far as it is a name alone."""
        bare = isinstance(first, ast.Apply) and first == ast.Apply(first.span, first.name, False, None, None, None)
        if isinstance(first, ast.Apply) and bare and name.text != "norm":
            return ast.NamedSet(span, name, None, (first.name, *dims))
        return ast.NamedSet(span, name, first, dims)

    dims = staticmethod(_items)

    noises = ast.Noises
    noise = ast.NoiseItem
    states = ast.States
    state = ast.StateItem

    # -------------------------------------------------------------- equations

    equation = ast.Equation

    def force(self, span: Span, term: ast.Name, left: ast.Left, right: ast.Expr) -> ast.Equation:
        return ast.Equation(span, "force", left, right, term)

    def function(
        self, span: Span, name: ast.Name, prime: Any, indices: Any, arguments: tuple[ast.Name, ...], body: ast.Expr
    ) -> ast.Function:
        return ast.Function(span, name, prime is not None, indices, arguments, body)

    left = ast.Left
    binder = ast.IndexBinder
    binders = parameters = staticmethod(_items)
    parameter = staticmethod(_only_child)

    # -------------------------------------------------------------- blocks and settings

    layer = ast.Layer
    repeat = ast.Repeat

    counter = staticmethod(_items)

    def relax(self, span: Span, counter: Any, pairs: Any) -> ast.Settings:
        index, dim = counter or (None, None)
        return ast.Settings(span, "relax", index, dim, pairs or ())

    def settings(self, span: Span, word: str, pairs: Any) -> ast.Settings:
        return ast.Settings(span, word, None, None, pairs or ())

    preset = ast.Preset
    pair = ast.Pair
    key = pairs = staticmethod(_items)

    def number_value(
        self, span: Span, minus: str | None, numerator: ast.Number, denominator: ast.Number | None
    ) -> ast.NumberValue:
        number = numerator.value / (self._divisor(denominator) if denominator else 1)
        return ast.NumberValue(span, number if minus is None else -number)

    def _divisor(self, number: ast.Number) -> Fraction:
        if not number.value:
            message = "the denominator of a fraction is 0"
            self.diagnostics.append(Diagnostic("E0114", message, number.span, text="this is 0"))
        return number.value or Fraction(1)

    word_value = ast.WordValue
    call_value = ast.CallValue
    list_value = ast.ListValue

    # -------------------------------------------------------------- expressions

    number = staticmethod(_only_child)

    def group(self, span: Span, inner: ast.Expr) -> ast.Expr:
        return replace(inner, span=span)

    unary = ast.Unary

    def binary(self, span: Span, left: ast.Expr, op: str, right: ast.Expr) -> ast.Binary:
        return ast.Binary(span, op, left, right)

    def compare(self, span: Span, *children: Any) -> ast.Compare:
        return ast.Compare(span, children[1::2], children[::2])

    field = ast.Field

    def apply(self, span: Span, name: ast.Name, prime: Any, bracket: Any, arguments: Any) -> ast.Apply:
        slots, guard = bracket or (None, None)
        return ast.Apply(span, name, prime is not None, slots, guard, arguments)

    slots = arguments = staticmethod(_items)
    slot = ast.Slot
    call = staticmethod(_only_child)

    def bracket(self, _span: Span, *children: Any) -> tuple[tuple[ast.Slot, ...], ast.Expr | None]:
        *slots, guard = children
        return tuple(slots), guard

    def argument(self, span: Span, *children: Any) -> ast.Argument:
        keyword, value = children if len(children) == 2 else (None, *children)
        return ast.Argument(span, keyword, value)


def _out_of_range(token: Token) -> Diagnostic:
    return Diagnostic(
        "E0114",
        "this number is too long or outside the range of floating point",
        _token_span(token),
        help=f"write at most {LONGEST_NUMBER} characters and an exponent of at most {LARGEST_EXPONENT}",
    )


def _comment_above(text: str, offset: int) -> str:
    """The comment directly above the line of ``offset``, without its signs, control characters escaped."""
    lines: list[str] = []
    for line in reversed(text[:offset].split("\n")[:-1]):
        if not line.lstrip().startswith("#"):
            break
        lines.append(line.lstrip().removeprefix("#").strip())
    return escaped("\n".join(reversed(lines)).strip())
