"""Reads the text of a spec: what it declares, and expressions as trees of Python's own parser.

An expression becomes Python's by a few signs: ``^`` is ``**``, a ``|`` before a guard is an item ``guard``, a number is
a string, and a name has its primes in front, ``p1_f`` for ``f'``, so that none is a word of Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

_WORDS = (
    "network|dim|const|data|clamp|target|param|noise|state|tie|let|start|clamped|energy|force|flow|next|readout|cost"
)
_WORDS += "|metric|fn|layer|repeat|relax|nudge|train|preset"
_BREAK = re.compile(rf"(?P<open>[\[({{])|(?P<close>[\])}}])|(?P<comma>,)|(?<![.\w])(?P<word>{_WORDS})\b")
_SIGN = re.compile(r"((?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?(?!\w))|([A-Za-z_]\w*)('*)|[|^]")
#: The most digits of a number.
DIGITS = 1000
_LEFT = re.compile(r"(?:(\w+) on )?(\w+)('?)(?:\[(.*?)\])?(?:\((.*?)\))?(?: ?: ?(\w+))?")


class NotCovered(Exception):
    """Something that the checker cannot judge."""


class Left(NamedTuple):
    """``word on name'[indices](parameters) : below`` of a declaration or an equation, each index with its dim or None.

    ``body`` is what follows, ``key`` the whole left side in one spelling.
    """

    key: str
    word: str
    on: str
    name: str
    primes: int
    indices: tuple[tuple[str, str | None], ...]
    parameters: tuple[str, ...]
    below: str | None
    body: str


#: What a spec declares by name (consts with dims, tensors, states, lets, functions, terms); equations by left sides.
Spec = dict[str, dict[str, Left]]


@lru_cache(4096)
def expression(text: str) -> ast.expr:
    """The tree of an expression. Raises NotCovered for anything else."""

    def python(found: re.Match[str]) -> str:
        number, name, primes = found.groups()
        if len(number or "") > DIGITS:
            raise NotCovered(f"a number of more than {DIGITS} digits")
        if number or name in ("and", "or", "not", "in"):
            return name or f'"{number}"'
        return f"p{len(primes)}_{name}" if name else {"|": ", guard, ", "^": "**"}[found[0]]

    try:
        if re.fullmatch(r"[\w\s.+*/^<>=!()\[\],|'-]*", text, re.ASCII):
            return ast.parse(" ".join(_SIGN.sub(python, text).split()), mode="eval").body
    except (SyntaxError, MemoryError, RecursionError):
        pass
    raise NotCovered(f"the expression {text!r}")


def same(a: Any, b: Any) -> bool:
    """Whether two trees are of the same expression."""
    if type(a) is not type(b):
        return False
    if isinstance(a, ast.AST):
        return all(same(getattr(a, name, None), getattr(b, name, None)) for name in a._fields)
    return len(a) == len(b) and all(map(same, a, b)) if isinstance(a, list) else bool(a == b)


def left_side(word: str, text: str, body: str = "") -> Left:
    """A left side. Raises NotCovered for what is none."""
    spelled = re.sub(r"\s*([\[\](),'])\s*", r"\1", " ".join(text.split()))
    found = _LEFT.fullmatch(spelled)
    if found is None:
        raise NotCovered(f"the left side {text!r}")
    term, name, primes, indices, parameters, below = found.groups()
    binders = tuple((i.split()[0], i.split()[2] if " in " in i else None) for i in items(indices or ""))
    key, inside = f"{word} {spelled}", tuple(items(parameters or ""))
    return Left(key, word, name, term or name, len(primes), binders, inside, below, " ".join(body.split()))


@lru_cache(8)
def read_spec(text: str, layer: str | None) -> Spec:
    """The declarations that a ``layer`` sees, or those outside of all layers. Raises NotCovered."""
    spec: Spec = {part: {} for part in ("consts", "tensors", "states", "lets", "functions", "terms", "equations")}
    text = re.sub(r"#[^\n]*", "", text)
    if layer is not None and not re.search(rf"\blayer\s+{re.escape(layer)}\s*{{", text):
        raise NotCovered(f"the layer {layer}")
    _read(text, layer, spec)
    return spec


@lru_cache(8)
def consts_of(text: str) -> frozenset[str]:
    """The consts of a spec, and of all of its layers. Raises NotCovered."""
    layers = re.findall(r"\blayer\s+(\w+)\s*{", re.sub(r"#[^\n]*", "", text))
    consts = (left for layer in (None, *layers) for left in read_spec(text, layer)["consts"].values())
    return frozenset(left.name for left in consts if left.word == "const")


def _split(text: str, at: str) -> Iterator[tuple[str, str]]:
    """What is before, between and after the commas or words outside of brackets, with the word before it."""
    depth, start, word = 0, 0, ""
    for found in _BREAK.finditer(text):
        depth += bool(found["open"]) - bool(found["close"])
        if depth == 0 and found[at]:
            yield word, text[start : found.start()]
            start, word = found.end(), found[0]
    yield word, text[start:]


def items(text: str) -> list[str]:
    """What stands between the commas outside of brackets."""
    return [item.strip() for _, item in _split(text, "comma") if item.strip()]


def _read(text: str, layer: str | None, spec: Spec) -> None:
    for word, rest in _split(text, "word"):
        head, _, tail = rest.partition("{")
        if word in ("layer", "repeat"):
            own = word == "repeat" or head.strip() == layer
            inside = spec if own else read_spec("", None)
            _read(tail.rpartition("}")[0], layer if word == "repeat" else None, inside)
            spec["tensors"].update({f"{head.strip()}.{k}": v for k, v in inside["states"].items() if not own})
        elif word in ("dim", "const", "clamp", "target", "param", "noise", "state"):
            for item in items(rest):
                end = re.match(r"\w*\s*(\[[^\]]*\])?(\s*:\s*\w+)?", item).end()  # type: ignore[union-attr]
                left = left_side(word, item[:end], item[end:])
                spec["consts" if word in ("dim", "const") else "tensors"][left.name] = left
                spec["states"].update({left.name: left} if word == "state" and layer is None else {})
        elif word in ("let", "tie", "fn", "energy", "force", "flow", "next"):
            left = left_side(word, rest.partition("=")[0], rest.partition("=")[2])
            spec["equations"][left.key] = left
            if word != "next" or left.name in spec["states"]:
                spec[{"let": "lets", "tie": "lets", "fn": "functions"}.get(word, "terms")][left.name] = left
