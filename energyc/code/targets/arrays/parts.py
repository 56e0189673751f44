"""The parts that a module carries beside its equations: definitions that people wrote, by the names that are read."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from energyc.code.module.library import Reads
from energyc.code.tree.statements import Body, Verbatim


@dataclass(frozen=True)
class Piece:
    """A definition of a part: its name, its source, and the names that it reads."""

    name: str
    text: str
    reads: frozenset[str]


@dataclass(frozen=True)
class Parts:
    """A folder of parts: each a file of definitions, but for ``network``, which stands for what a module defines."""

    folder: Path

    def carried(self, files: Iterable[str], read: Collection[str], defined: Collection[str]) -> Body:
        """The definitions that names, and they themselves, reach; what a module has ``defined`` is not carried.

        Of two files that define one name the first one counts.
        """
        chosen = self.reached(files, read, defined)
        return tuple(Verbatim(piece.text, piece.reads, frozenset({piece.name})) for piece in chosen)

    def reached(self, files: Iterable[str], read: Collection[str], defined: Collection[str]) -> list[Piece]:
        """The same as pieces, in the order of the files."""
        known: dict[str, Piece] = {}
        for piece in (piece for file in files for piece in self._pieces(file)):
            known.setdefault(piece.name, piece)
        reached, waiting = set[str](), [name for name in read if name in known]
        while waiting:
            name = waiting.pop()
            if name not in reached and name not in defined:
                reached.add(name)
                waiting += [other for other in known[name].reads if other in known]
        return [piece for piece in known.values() if piece.name in reached]

    def words(self, *files: str) -> frozenset[str]:
        """The names that are defined in files, by default in all of them."""
        files = files or tuple(p.stem for p in self.folder.glob("*.py") if p.stem not in ("__init__", "network"))
        return frozenset(piece.name for file in files for piece in self._pieces(file))

    def _pieces(self, file: str) -> tuple[Piece, ...]:
        return _pieces(self.folder / f"{file}.py")


@cache
def _pieces(path: Path) -> tuple[Piece, ...]:
    """The definitions of a file in order; a call at its end, as of ``defvjp``, belongs to what it is called on."""
    text = path.read_text(encoding="utf-8")
    lines, found = text.splitlines(), list[Piece]()
    for node in ast.parse(text).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.append(_piece(name, node, lines))
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.append(_piece(name, node, lines))
            case ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name(id=owner)))):
                own = _piece(owner, node, lines)
                found = [replace(p, reads=p.reads | own.reads) if p.name == owner else p for p in found]
                found[-1] = replace(found[-1], text=f"{found[-1].text}\n\n\n{own.text}")
    return tuple(found)


def _piece(name: str, node: ast.stmt, lines: list[str]) -> Piece:
    """A statement with its decorators and the remark above it."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
    while first and lines[first - 1].startswith("#:"):
        first -= 1
    text = "\n".join(lines[first : node.end_lineno])
    return Piece(name, text, Reads.of(text).names - {name})
