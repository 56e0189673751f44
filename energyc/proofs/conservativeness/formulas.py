"""The formulas of a spec by their left sides, as its text has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from energyc.language.syntax import ast
from energyc.language.syntax.unparse import unparse

EQUATIONS = ("let", "tie", "energy", "force", "flow", "next")


@dataclass(frozen=True)
class Equations:
    """What a spec, or a layer of it, defines: lets, ties and functions are ``read``, ``own`` are its terms."""

    read: Mapping[str, ast.Function | ast.Equation]
    own: Mapping[str, ast.Equation]

    @staticmethod
    def of(tree: ast.Spec, layer: str | None) -> Equations:
        """Those that a layer sees, or those outside of all layers."""
        statements = list(_statements(tree.statements, layer))
        read: dict[str, ast.Function | ast.Equation] = {
            n.name.text: n for n in statements if isinstance(n, ast.Function)
        }
        equations = [n for n in statements if isinstance(n, ast.Equation) and n.word in EQUATIONS]
        read |= {n.left.name.text: n for n in equations if n.word in ("let", "tie")}
        terms = (n for n in equations if n.word not in ("let", "tie"))
        return Equations(read, {n.term.text if n.term else n.left.name.text: n for n in terms})


def formulas_of(equations: Equations, terms: Sequence[str], written: Sequence[str]) -> dict[str, str]:
    """The formulas of ``terms`` and lets, of lets and functions that are ``written``, and of all that these read.

    A flow reads the energies whose gradient it names.
    """
    own = equations.own
    read = {**{name: term for name, term in own.items() if term.word == "energy"}, **equations.read}
    pending = [own.get(name) or read[name] for name in terms]
    pending += [read[name] for name in written if name in read]
    found: dict[str, str] = {}
    while pending:
        statement = pending.pop()
        body = statement.body if isinstance(statement, ast.Function) else statement.right
        if found.setdefault(_left(statement), unparse(body)) is not None:
            names = {node.name.text for node in ast.walk(body) if isinstance(node, ast.Apply)}
            pending += [read[name] for name in sorted(names & read.keys()) if _left(read[name]) not in found]
    return dict(sorted(found.items()))


def _statements(statements: Sequence[ast.Statement], layer: str | None) -> Iterator[ast.Statement]:
    """The statements that a layer sees."""
    for statement in statements:
        if isinstance(statement, ast.Repeat) or (isinstance(statement, ast.Layer) and statement.name.text == layer):
            yield from _statements(statement.body, layer)
        else:
            yield statement


def _left(statement: ast.Equation | ast.Function) -> str:
    """A left side without spaces in brackets: ``force hidden on s[j]``, ``fn norm[d](u)``."""
    if isinstance(statement, ast.Function):
        prime, arguments = "'" if statement.prime else "", ",".join(name.text for name in statement.arguments)
        return f"fn {statement.name.text}{prime}{_bracket([i.text for i in statement.indices or ()])}({arguments})"
    indices = [i.name.text + (f" in {i.dim.text}" if i.dim else "") for i in statement.left.indices or ()]
    term = f"{statement.term.text} on " if statement.term else ""
    return f"{statement.word} {term}{statement.left.name.text}{_bracket(indices)}"


def _bracket(indices: Sequence[str]) -> str:
    return f"[{','.join(indices)}]" if indices else ""
