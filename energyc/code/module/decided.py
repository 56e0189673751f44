"""The source of the runtime as one module needs it: what its networks settle once and for all is put in.

A module is made for networks whose solver, measures and kinds of terms are known. A test of one of these is decided
here, and the side that is never taken is left out, with all that only it reached. What a user may still choose, as the
number of steps or a tolerance, stays as it is. Where energyc itself loads a module, the whole runtime stands in the
place of this one.

Only whole statements, and sides of conditions, are taken out of the text of a definition; all else stays as it is
written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

#: The most characters of a line.
LONGEST = 120
#: The attributes of a network that its module settles.
DECIDED = frozenset(
    """
    numbered kinked constrained retraced settling descends undefined batch_mates family_names noise_shapes force_params
    param_attributes biased summed graphs snapshots nudge_together relax_solver relax_auto relax_products relax_measure
    relax_exit relax_patience contraction_rate
    """.split()
)
#: What is false of everything that has it where an attribute of the network is: whether samples are coupled, and
#: whether a phase chooses its steps itself.
FOLLOWS: Mapping[str, str] = {"coupled": "batch_mates", "auto": "relax_auto"}
#: The attributes that choose parts of the runtime.
CHOOSING = frozenset({"relax_solver", "relax_measure", "relax_exit"})
#: The decorators that tell the compiler what a definition is, and do nothing else.
DECLARING = frozenset({"part", "rule"})

#: What stands before and behind brackets that only hold a condition.
_OPENS = re.compile(r"(?:(?<![=!<>])=|[,([{:]|\breturn)\s*\($")
_CLOSES = re.compile(r"\)\s*(?:[,)\]}:]|if\b|else\b|$)", re.MULTILINE)
_GROUPS = re.compile(r"(?:\b(?:and|or|not|in|if|else|return)|[-+*/=,([{:])\s*\($")
#: A piece of a text: the places where it begins and ends, and what stands there instead.
Edit = tuple[int, int, str]
#: What a text asks for of the facts that are settled.
Values = tuple[tuple[str, object], ...]
Parts = tuple[tuple[tuple[str, str], str], ...]


@dataclass(frozen=True)
class Known:
    """A value that is known when a module is compiled."""

    value: object


@dataclass(frozen=True)
class Decided:
    """Facts settled when a module is made: attributes with one value, and the parts that it carries, by their names.

    Where networks of one module differ in what chooses a part, the parts are looked up when the module runs: ``apart``.
    """

    values: Mapping[str, object]
    parts: Mapping[tuple[str, str], str]

    @cached_property
    def apart(self) -> bool:
        """Whether a part is looked up when the module runs."""
        return not self.values.keys() >= CHOOSING

    @cached_property
    def words(self) -> re.Pattern[str]:
        """The tests in a text that may be decided."""
        attributes = "|".join([*self.values, *FOLLOWS])
        return re.compile(
            rf"\.(?:{attributes})\b|\b(?:chosen|carries)\(|^@(?:{'|'.join(sorted(DECLARING))})\(", re.MULTILINE
        )

    def of(self, text: str, of_network: bool) -> str:
        """The text of a definition with what is decided put in; ``of_network``: ``self`` is a network."""
        owners, ends = ("net", "self.net", *["self"] * of_network), text.endswith("\n")
        if about := self._about(text):
            text = _decided(text, owners, *about)
        return text if ends else text.rstrip("\n")

    def _about(self, text: str) -> tuple[Values, Parts] | None:
        """The values and parts that a text asks for; None: nothing in it may be decided."""
        found = {word.strip(".@(") for word in self.words.findall(text)}
        names = found | {FOLLOWS[name] for name in found & FOLLOWS.keys()} | CHOOSING
        values = tuple(item for item in self.values.items() if item[0] in names)
        return (values, () if found.isdisjoint({"chosen", "carries"}) else tuple(self.parts.items())) if found else None

    def of_head(self, head: str) -> str:
        """The head of a class without decorators that only tell the compiler something."""
        return head if head.startswith("class") else self.of(f"{head}\n    pass", False).removesuffix("\n    pass")


@lru_cache(maxsize=4096)
def _decided(text: str, owners: tuple[str, ...], values: Values, parts: Parts) -> str:
    """A text with what is decided put in. Modules made in one process share most texts and most of their facts."""
    decided = Decided(dict(values), dict(parts))
    while decided.words.search(text) and (changed := _Text(text, decided, owners).changed()) != text:
        text = changed
    return text


class _Text:
    """A text with its tree, and the outermost edits that make it shorter."""

    def __init__(self, text: str, decided: Decided, owners: Sequence[str]) -> None:
        self.text, self.decided, self.owners = text, decided, owners
        lines = text.split("\n")
        self.starts = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.ascii = text.isascii()

    def changed(self) -> str:
        """The text after one round of edits."""
        text = self.text
        for first, last, instead in sorted(self._in_body(ast.parse(text).body), reverse=True):
            text = text[:first] + instead + text[last:]
        return text

    # ------------------------------------------------------------------ statements

    def _in_body(self, body: Sequence[ast.stmt]) -> Iterator[Edit]:
        for k, node in enumerate(body):
            test = self._known(node.test) if isinstance(node, ast.If) else None
            if isinstance(node, ast.If) and test is not None:
                kept = node.body if test.value else node.orelse
                rest = body[k + 1 :] if kept and isinstance(kept[-1], ast.Return | ast.Raise) else ()
                yield self._replaced(node, kept, [node, *rest][-1])
                if rest:
                    return
            else:
                yield from self._in_statement(node)

    def _replaced(self, node: ast.If, kept: Sequence[ast.stmt], last: ast.stmt) -> Edit:
        """Some lines of a condition in its place, a step to the left."""
        first, end = self.starts[node.lineno - 1], self.starts[last.end_lineno or 0]
        if not kept:
            return first, min(end, len(self.text)), ""
        lines = self.text.split("\n")[kept[0].lineno - 1 : kept[-1].end_lineno]
        step, start = kept[0].col_offset - node.col_offset, node.col_offset
        if self._is_elif(node):
            text = "".join(f"{line}\n" for line in lines)
            return first, min(end, len(self.text)), text if self._is_elif(kept[0]) else f"{' ' * start}else:\n{text}"
        text = "".join(f"{line[step:]}\n" for line in lines)
        if self._is_elif(kept[0]):
            text = text[:start] + text[start + 2 :]
        return first, min(end, len(self.text)), text

    def _is_elif(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.If) and self._source(node).startswith("elif")

    def _in_statement(self, node: ast.stmt) -> Iterator[Edit]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not self.decided.apart:
            yield from self._undeclared(node)
        blocks = [getattr(node, name, ()) for name in ("body", "orelse", "finalbody")]
        for block in blocks:
            yield from self._in_body(block)
        if any(blocks):
            inner = {id(statement) for block in blocks for statement in block}
            for child in ast.iter_child_nodes(node):
                if id(child) not in inner and not isinstance(child, ast.ExceptHandler):
                    yield from self._in_expression(child)
            return
        edits = list(self._in_expression(node))
        if edits:
            yield self._joined(node, edits)

    def _undeclared(self, node: ast.FunctionDef | ast.ClassDef) -> Iterator[Edit]:
        """Without the decorators that only tell the compiler something."""
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in DECLARING:
                yield self.starts[call.lineno - 1], self.starts[call.end_lineno or 0], ""

    def _joined(self, node: ast.stmt, edits: Sequence[Edit]) -> Edit:
        """A changed statement, on one line where it fits on one now."""
        first, last = self._places(node)
        text = self.text[first:last]
        for start, end, instead in sorted(edits, reverse=True):
            text = text[: start - first] + instead + text[end - first :]
        lines = [line.strip() for line in text.split("\n")]
        one = re.sub(r"(?<=[(\[{]) | (?=[)\]}])", "", " ".join(lines)) if len(lines) > 1 else text
        fits = node.col_offset + len(one) <= LONGEST and "#" not in one and '"""' not in one
        return first, last, one if fits and not re.search(r",[)\]}]", one) else text

    # ------------------------------------------------------------------ expressions

    def _in_expression(self, node: ast.AST) -> Iterator[Edit]:
        instead = self._instead(node) if isinstance(node, ast.expr) else None
        if instead is not None:
            yield (*self._with_brackets(node, instead), instead)
            return
        for child in ast.iter_child_nodes(node):
            yield from self._in_expression(child)

    def _instead(self, node: ast.expr) -> str | None:
        """The replacement of an expression; None: it stays, or something in it changes."""
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse) if (known := self._known(test)) is not None:
                return self._source(body if known.value else orelse)
            case ast.BoolOp(op=op, values=values):
                return self._shorter(isinstance(op, ast.And), values)
            case ast.UnaryOp(op=ast.Not()) | ast.Compare() if (known := self._known(node)) is not None:
                return repr(bool(known.value))
            case ast.Call(func=ast.Name(id="chosen"), args=[kind, name]):
                return self._part(self._known(kind), self._known(name))
        return None

    def _shorter(self, conjunction: bool, values: Sequence[ast.expr]) -> str | None:
        """The rest of a conjunction or a disjunction."""
        left: list[ast.expr] = []
        for value in values:
            known = None if isinstance(value, ast.Constant) else self._known(value)
            if known is None:
                left.append(value)
            elif bool(known.value) is not conjunction:
                return repr(not conjunction) if not left else None
        if len(left) == len(values):
            return None
        if len(left) == 1:
            return self._source(left[0])
        sides = [self._operand(value, conjunction) for value in left]
        return (" and " if conjunction else " or ").join(sides) if left else repr(conjunction)

    def _operand(self, node: ast.expr, conjunction: bool) -> str:
        """A side of a conjunction or a disjunction, with the brackets that it needs there."""
        weak = ast.IfExp | ast.Lambda | ast.NamedExpr
        loose = isinstance(node, weak) or (conjunction and isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or))
        return f"({self._source(node)})" if loose else self._source(node)

    def _part(self, kind: Known | None, name: Known | None) -> str | None:
        """The part that is chosen, by its name, or the error that says that the module does without."""
        if kind is None or name is None or self.decided.apart:
            return None
        key = (str(kind.value), str(name.value))
        return self.decided.parts.get(key) or f'absent("{key[0]}", "{key[1]}")'

    def _known(self, node: ast.expr) -> Known | None:
        """The value of an expression, if it is decided."""
        match node:
            case ast.Constant(value=value):
                return Known(value)
            case ast.Attribute(value=owner, attr=name) if self.ascii and (
                name in self.decided.values or name in FOLLOWS
            ):
                return self._attribute(ast.unparse(owner), name)
            case ast.Call(func=ast.Name(id="carries"), args=[ast.Constant(value=kind), ast.Constant(value=name)]):
                return Known((kind, name) in self.decided.parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                known = self._known(operand)
                return None if known is None else Known(not known.value)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return _compared(op, self._known(left), self._known(right))
            case ast.BoolOp(op=op, values=values):
                sides = [self._known(value) for value in values]
                decides = isinstance(op, ast.Or)
                if any(side is not None and bool(side.value) is decides for side in sides):
                    return Known(decides)
                return Known(not decides) if None not in sides else None
        return None

    def _attribute(self, owner: str, name: str) -> Known | None:
        values = self.decided.values
        if owner in self.owners and name in values:
            return Known(values[name])
        without = name in FOLLOWS and FOLLOWS[name] in values and not values[FOLLOWS[name]]
        return Known(False) if without else None

    # ------------------------------------------------------------------ places in the text

    def _places(self, node: ast.AST) -> tuple[int, int]:
        first = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return first, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def _source(self, node: ast.AST) -> str:
        first, last = self._places(node)
        return self.text[first:last]

    def _with_brackets(self, node: ast.AST, instead: str) -> tuple[int, int]:
        """Where an expression is, with the brackets that only it needed."""
        first, last = self._places(node)
        before, after = self.text[:first].rstrip(), self.text[last:].lstrip()
        alone = "\n" not in instead and _OPENS.search(before) and _CLOSES.match(after)
        if not (alone or (re.fullmatch(r"[\w.]+", instead) and _GROUPS.search(before) and after.startswith(")"))):
            return first, last
        return len(before) - 1, len(self.text) - len(after) + 1


def _compared(op: ast.cmpop, left: Known | None, right: Known | None) -> Known | None:
    if left is None or right is None:
        return None
    match op:
        case ast.Is():
            return Known(left.value is right.value)
        case ast.IsNot():
            return Known(left.value is not right.value)
        case ast.Eq():
            return Known(left.value == right.value)
        case ast.NotEq():
            return Known(left.value != right.value)
        case ast.Gt() if isinstance(left.value, int) and isinstance(right.value, int):
            return Known(left.value > right.value)
    return None
