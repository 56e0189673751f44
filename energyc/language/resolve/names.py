"""The names that a file declares, and the indices that it binds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType

from energyc.language.diagnostics import Label, Span, did_you_mean
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.words import RESERVED_FUNCTIONS
from energyc.language.syntax import ast

#: The kinds that messages do not call by the word of their statement.
_NOUNS = MappingProxyType(
    {
        "data": "data binding",
        "fn": "function",
        "tie": "tied param",
        "step": "step number",
        "output": "quantity of a layer",
    }
)
#: The kinds whose names stand for tensors.
TENSORS = frozenset({"clamp", "noise", "step", "target", "param", "tie", "state", "let", "readout"})
#: The equations of a state, which declare no name.
OF_STATES = ("start", "clamped", "flow", "next")


def with_article(word: str) -> str:
    """A noun with its article: ``an option``."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def noun(kind: str) -> str:
    """A kind in a sentence: ``data binding``."""
    return _NOUNS.get(kind, kind)


@dataclass(frozen=True)
class Entry:
    """A declared name, the word of its statement, and the part of the tree that declares it."""

    name: str
    kind: str
    span: Span
    tree: ast.Tree

    @property
    def noun(self) -> str:
        """Its kind in a sentence: ``data binding``."""
        return noun(self.kind)

    @property
    def with_article(self) -> str:
        """``a param``, ``an energy``."""
        return with_article(self.noun)

    @property
    def is_a_number(self) -> bool:
        """Whether the bare name is a number: then the same name cannot be an index."""
        match self.tree:
            case ast.InputItem() | ast.ParamItem() | ast.NoiseItem() | ast.StateItem():
                return not self.tree.dims
            case ast.Settings():
                return True
            case ast.Equation(word="let" | "readout" | "cost" | "metric" | "tie", left=left):
                return not left.indices
        return self.kind in ("dim", "const")

    def label(self, text: str = "declared here") -> Label:
        """A label at the declaration."""
        return Label(self.span, text)


@dataclass
class Names:
    """The names that can be read in a part of a file, and the first place where each index is bound.

    The file itself is such a part, and so is each block. ``own`` are those of the ``entries`` that the part declares;
    the others are declared around it. ``hidden`` are the names that are declared inside its blocks, with the block.
    ``unsupported`` are the numbers of copies, of which each was reported.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    indices: dict[str, Span] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    hidden: dict[str, str] = field(default_factory=dict)
    unsupported: set[str] = field(default_factory=set)

    def get(self, name: str) -> Entry | None:
        """The declaration of a name."""
        return self.entries.get(name)

    def of_kind(self, *kinds: str) -> list[Entry]:
        """The declarations of some kinds, in the order of the file."""
        return [entry for entry in self.entries.values() if entry.kind in kinds]

    def own_of_kind(self, *kinds: str) -> list[Entry]:
        """The part's own declarations of some kinds."""
        return [entry for entry in self.of_kind(*kinds) if entry.name in self.own]

    def inside(self) -> Names:
        """The names that a block can read before it declares anything."""
        return Names(dict(self.entries), dict(self.indices), unsupported={*self.unsupported})

    def find(
        self, name: ast.Name, kinds: tuple[str, ...], reporter: Reporter, code: str, otherwise: str | None = None
    ) -> Entry | None:
        """The declaration of a name that must be of one of these kinds; any other is reported, and None.

        ``otherwise`` is the help where no name of these kinds is spelt alike.
        """
        entry = self.get(name.text)
        if entry is not None and entry.kind in kinds:
            return entry
        kind = " or ".join(_NOUNS.get(kind, kind) for kind in kinds)
        message = (
            f"`{name.text}` is {entry.with_article}, not a {kind}" if entry else f"there is no {kind} `{name.text}`"
        )
        known = [known.name for known in self.of_kind(*kinds)]
        labels = [entry.label()] if entry else []
        help = otherwise if entry else did_you_mean(name.text, known, otherwise, name.span)
        reporter.error(code, message, name.span, labels=labels, help=help)
        return None


def collect(statements: Iterable[ast.Statement], reporter: Reporter, around: Names | None = None) -> Names:
    """Every declaration of a part of a file; a name declared twice, or ``around`` a block already, is reported."""
    names = Names() if around is None else around.inside()
    bound: dict[str, Span] = {}
    for statement in statements:
        for name, kind, tree in declared(statement):
            _declare(names, Entry(name.text, kind, name.span, tree), reporter)
        for index in _bound_indices(statement):
            bound.setdefault(index.text, index.span)
        names.hidden.update(_hidden(statement))
    names.indices = {**bound, **names.indices}
    for text in names.indices.keys() & names.entries.keys():
        entry = names.entries[text]
        met_before = text not in bound and text not in names.own
        if entry.kind != "dim" and entry.is_a_number and not met_before:  # a dim is reported where it stands for one
            _report_double_use(entry, names.indices[text], reporter)
    return names


def _declare(names: Names, entry: Entry, reporter: Reporter) -> None:
    first = names.entries.get(entry.name, entry)
    if entry.name not in names.own:  # a name that is declared around a block is reported, and the block keeps its own
        names.entries[entry.name] = entry
    names.own.add(entry.name)
    if first.tree is not entry.tree:
        reporter.error(
            "E0202",
            f"`{entry.name}` is declared twice",
            entry.span,
            "declared again here",
            labels=[first.label(f"first declared here, as {first.with_article}")],
            help="rename one of them",
        )
    elif entry.name in RESERVED_FUNCTIONS:
        message = f"`{entry.name}` is a function of the language and cannot be declared"
        reporter.error("E0203", message, entry.span, help="choose another name")


def _report_double_use(entry: Entry, index: Span, reporter: Reporter) -> None:
    reporter.error(
        "E0204",
        f"`{entry.name}` is both {entry.with_article} and an index",
        index,
        "an index here",
        labels=[entry.label(f"{entry.with_article} here")],
        help="both are written without brackets: rename the index",
    )


def declared(statement: ast.Statement) -> Iterator[tuple[ast.Name, str, ast.Tree]]:
    """The names that a statement declares, each with its kind and tree."""
    match statement:
        case ast.Definitions(word=word, items=items) | ast.Inputs(word=word, items=items):
            yield from ((item.name, word, item) for item in items)
        case ast.Params(items=params):
            yield from ((item.name, "param", item) for item in params)
        case ast.Noises(items=noises):
            yield from ((item.name, "noise", item) for item in noises)
        case ast.States(items=states):
            yield from ((item.name, "state", item) for item in states)
        case ast.Data(name=name):
            yield name, "data", statement
        case ast.Function(name=name):
            yield name, "fn", statement
        case ast.Equation(word="force", term=ast.Name() as term):
            yield term, "force", statement
        case ast.Equation(word=word, left=left) if word not in OF_STATES:
            yield left.name, word, statement
        case ast.Settings(index=ast.Name() as index):
            yield index, "step", statement
        case ast.Layer(name=name):
            yield name, "layer", statement
        case ast.Repeat(body=body):
            yield from ((item.name, "state", item) for s in body if isinstance(s, ast.States) for item in s.items)


def _hidden(statement: ast.Statement) -> dict[str, str]:
    """The names that a block declares for itself, each with the block."""
    match statement:
        case ast.Layer(name=name, body=body):
            block = f"layer `{name.text}`"
        case ast.Repeat(count=count, body=body):
            block = f"`repeat {count.text}`"
        case _:
            return {}
    inner = {name: place for part in body for name, place in _hidden(part).items()}
    return {**inner, **{name.text: block for part in body for name, _, _ in declared(part)}}


def _bound_indices(statement: ast.Statement) -> Iterator[ast.Name]:
    """Each index where it is bound: on left sides and in the brackets of reductions."""
    match statement:
        case ast.Function(indices=indices, body=expr):
            yield from indices or ()
        case ast.Equation(left=ast.Left(indices=binders), right=expr):
            yield from (binder.name for binder in binders or ())
        case _:
            return
    for tree in ast.walk(expr):
        if isinstance(tree, ast.Apply) and tree.arguments is not None:
            yield from (name for slot in tree.slots or () if (name := ast.plain_name(slot.expr)) is not None)
