"""Functions of the parts as methods: what layers have in common, each with equations of its own.

A function that reads the equations or the settings of a network, or another such function, finds them in ``self``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from energyc.code.module.library import Reads
from energyc.code.targets.arrays.parts import Piece
from energyc.code.targets.jax.reserved import PARTS
from energyc.code.tree.statements import Body, Verbatim

#: The records of a network; those of layers have names of their own, and functions of all layers read no field.
RECORDS = frozenset({"Params", "Clamps", "Targets", "States", "Fixed", "Readouts"})
_RECORD = re.compile(rf"\b({'|'.join(sorted(RECORDS))})\b")
#: What is the whole network's: it has its records, and no layer has one of these.
_WHOLE = frozenset({"Relaxed", "Gradients", "Layer", "blocks", "init"})


@dataclass(frozen=True)
class Methods:
    """What a layer, or all of them, have of the parts: methods, and functions beside them that these read."""

    methods: tuple[Piece, ...]
    beside: tuple[Piece, ...]


def methods(files: Sequence[str], read: Collection[str], defined: Collection[str]) -> Methods:
    """The methods among the definitions in files that names reach, but for those that a layer has ``defined``."""
    pieces = PARTS.reached(files, read, {*defined, *_WHOLE})
    bound = _bound(pieces)
    beside = (replace(piece, text=_RECORD.sub("Record", piece.text)) for piece in pieces if piece.name not in bound)
    return Methods(tuple(_method(piece, bound) for piece in pieces if piece.name in bound), tuple(beside))


def in_common(known: Sequence[Methods]) -> tuple[Methods, list[tuple[Piece, ...]]]:
    """What all layers have, with the functions beside the methods of any; and the other methods of each."""
    shared = [piece for piece in known[0].methods if all(piece in each.methods for each in known)]
    beside = dict.fromkeys(piece for each in known for piece in each.beside)
    others = [tuple(piece for piece in each.methods if piece not in shared) for each in known]
    return Methods(tuple(shared), tuple(beside)), others


def statements(pieces: Sequence[Piece]) -> Body:
    """Pieces as statements."""
    return tuple(Verbatim(piece.text, piece.reads, frozenset({piece.name})) for piece in pieces)


def _bound(pieces: Sequence[Piece]) -> frozenset[str]:
    """The names that are a layer's: those of its equations and settings, and of what reads these."""
    bound = {*PARTS.words("network"), *PARTS.words("defaults")} - RECORDS - _WHOLE - {"Slopes"}
    while True:
        more = {piece.name for piece in pieces if piece.reads & bound} - bound
        if not more:
            return frozenset(bound)
        bound |= more


def _method(piece: Piece, bound: frozenset[str]) -> Piece:
    """A function as a method, its lines where they were; another name of a function as it is."""
    (node, *_) = ast.parse(piece.text).body
    text = piece.text
    if isinstance(node, ast.FunctionDef):
        lines = text.split("\n")
        for line, column, put in sorted(_insertions(node, bound), reverse=True):
            lines[line - 1] = lines[line - 1][:column] + put + lines[line - 1][column:]
        text = "\n".join(lines)
    text = _RECORD.sub("Record", text)
    return Piece(piece.name, text, Reads.of(text).names - bound)


def _insertions(function: ast.FunctionDef, bound: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """Where ``self`` is put: its line and column. A name that the function gives a value is its own."""
    nodes = list(ast.walk(function))
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node is not function}
    first = function.args.args[0]
    alone = len({argument.lineno for argument in function.args.args}) == len(function.args.args) > 1
    yield first.lineno, first.col_offset, "self,\n" + " " * first.col_offset if alone else "self, "
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in bound - own:
            yield node.lineno, node.col_offset, "self."
