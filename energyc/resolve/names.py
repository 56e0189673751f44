"""What a file declares: every name once, apart from indices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType

from energyc.diagnostics import Label, Span
from energyc.resolve.reporter import Reporter
from energyc.resolve.trees import plain_name
from energyc.resolve.words import RESERVED_FUNCTIONS
from energyc.syntax import ast

#: How a kind of declaration is spoken of.
SPOKEN = MappingProxyType(
    {
        "dim": "a dim",
        "const": "a const",
        "data": "a data binding",
        "clamp": "a clamp",
        "target": "a target",
        "param": "a param",
        "tie": "a tied param",
        "state": "a state",
        "let": "a let",
        "fn": "a function",
        "energy": "an energy",
        "force": "a force",
        "readout": "a readout",
        "cost": "a cost",
        "metric": "a metric",
        "noise": "a part of a postponed block",
        "layer": "a layer",
    }
)
#: The kinds whose names have elements.
TENSORS = frozenset({"clamp", "target", "param", "tie", "state", "let", "readout", "noise"})
#: Statements of the full language that this version does not carry out.
POSTPONED = MappingProxyType(
    {
        "flow": "`flow` is not yet supported: a state moves by minus the gradient of its energies plus forces",
        "next": "`next` is not yet supported; a state moves by its energies and forces",
    }
)


@dataclass(frozen=True)
class Entry:
    """One declared name, the kind of its statement, and the part of the tree that declares it."""

    name: str
    kind: str
    span: Span
    tree: ast.Tree

    @property
    def spoken(self) -> str:
        """``a param``."""
        return SPOKEN[self.kind]


@dataclass
class Names:
    """All declared names, and the places where indices are bound."""

    entries: dict[str, Entry] = field(default_factory=dict)
    indices: dict[str, Span] = field(default_factory=dict)

    def get(self, name: str) -> Entry | None:
        """The declaration of a name."""
        return self.entries.get(name)

    def of_kind(self, *kinds: str) -> list[Entry]:
        """The declarations of some kinds, in the order of the file."""
        return [entry for entry in self.entries.values() if entry.kind in kinds]


def collect(spec: ast.Spec, reporter: Reporter) -> Names:
    """Every declaration of a file; two of one name, and names that are taken, are reported."""
    names = Names()
    for statement in spec.statements:
        for name, kind, tree in _declared(statement, reporter):
            if kind != "noise" or name.text not in names.entries:
                _declare(names, Entry(name.text, kind, name.span, tree), reporter)
        for index in _binders(statement):
            names.indices.setdefault(index.text, index.span)
    for text in names.indices.keys() & names.entries.keys():
        if names.entries[text].kind == "dim":
            continue  # better said where the index is introduced
        _report_double_use(text, names, reporter)
    return names


def _declare(names: Names, entry: Entry, reporter: Reporter) -> None:
    first = names.entries.get(entry.name)
    if first is not None:
        reporter.error(
            "E0202",
            f"`{entry.name}` is declared twice",
            entry.span,
            "declared again here",
            labels=[Label(first.span, f"{first.spoken} of that name is here")],
            help="give one of them another name",
        )
        return
    if entry.name in RESERVED_FUNCTIONS:
        reporter.error(
            "E0203",
            f"`{entry.name}` is a function of the language",
            entry.span,
            "cannot be declared",
            help="choose another name",
        )
    names.entries[entry.name] = entry


def _report_double_use(text: str, names: Names, reporter: Reporter) -> None:
    entry = names.entries[text]
    reporter.error(
        "E0204",
        f"`{text}` is both {entry.spoken} and an index",
        names.indices[text],
        "an index here",
        labels=[Label(entry.span, f"{entry.spoken} here")],
        help="a name is one or the other in the whole file: rename the index",
    )


def _declared(statement: ast.Statement, reporter: Reporter | None) -> Iterator[tuple[ast.Name, str, ast.Tree]]:
    match statement:
        case ast.Definitions(word=word, items=items):
            yield from ((item.name, word, item) for item in items)
        case ast.Data(name=name):
            yield name, "data", statement
        case ast.Inputs(word=word, items=items):
            yield from ((item.name, word, item) for item in items)
        case ast.Params(items=params):
            yield from ((item.name, "param", item) for item in params)
        case ast.States(items=states):
            yield from ((item.name, "state", item) for item in states)
        case ast.Function(name=name):
            yield name, "fn", statement
        case ast.Equation(word="force", term=ast.Name() as term):
            yield term, "force", statement
        case ast.Equation(word="start"):
            return
        case ast.Equation(word=word) if word in POSTPONED:
            _postponed(POSTPONED[word], Span(statement.span.start, statement.span.start + len(word)), reporter)
        case ast.Equation(word=word, left=left):
            yield left.name, word, statement
        case ast.Noise(name=name):
            _postponed("`noise` is not yet supported", name.span, reporter)
            yield name, "noise", statement
        case ast.Layer(name=name, body=body):
            _postponed("`layer` is not yet supported; write the states of one network", name.span, reporter)
            yield name, "layer", statement
            yield from _inside(body)
        case ast.Repeat(count=count, body=body):
            _postponed("`repeat` is not yet supported; write the states of one network", count.span, reporter)
            yield from _inside(body)


def _inside(body: tuple[ast.Statement, ...]) -> Iterator[tuple[ast.Name, str, ast.Tree]]:
    """The names that a postponed block declares, so that they are known where they are used."""
    for statement in body:
        yield from ((name, "noise", tree) for name, _, tree in _declared(statement, None))


def _postponed(message: str, span: Span, reporter: Reporter | None) -> None:
    if reporter is not None:
        reporter.error("E0190", message, span, "not yet")


def _binders(statement: ast.Statement) -> Iterator[ast.Name]:
    """Each index where it is bound: on left sides and in the brackets of reductions."""
    if isinstance(statement, ast.Function):
        yield from statement.indices or ()
        yield from _bound_in(statement.body)
    elif isinstance(statement, ast.Equation):
        yield from (binder.name for binder in statement.left.indices or ())
        yield from _bound_in(statement.right)


def _bound_in(expr: ast.Expr) -> Iterator[ast.Name]:
    stack: list[ast.Expr] = [expr]
    while stack:
        match stack.pop():
            case ast.Unary(operand=operand):
                stack.append(operand)
            case ast.Binary(left=left, right=right):
                stack += [right, left]
            case ast.Compare(operands=operands):
                stack.extend(operands)
            case ast.Apply(slots=slots, guard=guard, arguments=arguments):
                if arguments is not None:
                    yield from (name for slot in slots or () if (name := plain_name(slot.expr)) is not None)
                else:
                    stack.extend(slot.expr for slot in slots or ())
                stack.extend([guard] if guard else [])
                stack.extend(argument.value for argument in arguments or ())
