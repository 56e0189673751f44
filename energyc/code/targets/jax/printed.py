"""The text of a module: its head, its imports, its sizes, its body; and what a network is as an object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from energyc.code.module.context import Options
from energyc.code.module.symbols import Symbols, definitions
from energyc.code.targets.arrays.head import head
from energyc.code.tree import facts, python
from energyc.code.tree.expressions import Dict, Name, String, literal
from energyc.code.tree.prose import wrapped
from energyc.code.tree.statements import Assign, Blank, Body, Class, Import
from energyc.language.network import Network
from energyc.runtime.rules import RULES as DECLARED

#: What a module imports where it reads the name: the module it comes from, and whether it is a part of that.
IMPORTS: Mapping[str, tuple[str, bool]] = {
    "math": ("math", False),
    "Callable": ("collections.abc", True),
    "Mapping": ("collections.abc", True),
    "Sequence": ("collections.abc", True),
    "partial": ("functools", True),
    "Any": ("typing", True),
    "ClassVar": ("typing", True),
    "NamedTuple": ("typing", True),
    "TypeAlias": ("typing", True),
    "jax": ("jax", False),
    "jnp": ("jax.numpy", False),
    "np": ("numpy", False),
    "Array": ("jax", True),
    "lax": ("jax", True),
    "gmres": ("jax.scipy.sparse.linalg", True),
    "linear_call": ("jax.custom_derivatives", True),
    "DTypeLike": ("jax.typing", True),
}
_STANDARD = frozenset({"math", "collections.abc", "functools", "typing"})


def network_class(
    network: Network, name: str, states: Iterable[str], rules: Sequence[str], noises: Iterable[str]
) -> Class:
    """The network as an object."""
    kinds = {"params": network.params, "states": states, "clamps": network.clamps, "targets": network.targets}
    names = {kind: tuple(known) for kind, known in kinds.items()}
    names |= {"noises": own} if (own := tuple(noises)) else {}
    named = Dict(tuple((String(rule), Name(DECLARED[rule].module)) for rule in rules))
    body = (Assign(Name("names"), literal(names)), Assign(Name("rules"), named))
    return Class(name, body, (Name("Network"),), ("The network with params of its own.",))


def printed(network: Network, options: Options, without: Sequence[str], symbols: Sequence[Symbols], body: Body) -> str:
    """The text of a module of a body, with its head and what it imports."""
    imported = _imports(facts.free_names(*body))
    sizes = definitions(symbols, body)
    said = [f"Without, as they have no form in JAX yet: {', '.join(without)}"] * bool(without)
    about = head(network, options.rules, options, [line for text in said for line in wrapped(text)])
    lines = [*python.docstring(about, ""), "", "from __future__ import annotations", ""]
    return "\n".join([*lines, *python.lines((*imported, *sizes, *body))]) + "\n"


def _imports(read: Iterable[str]) -> Body:
    """The imports of the names that are read, the standard library first."""
    known = {name: IMPORTS[name] for name in read if name in IMPORTS}
    paragraphs = []
    for standard in (True, False):
        chosen = {name: m for name, m in known.items() if (m[0] in _STANDARD) == standard}
        whole = sorted((module, name) for name, (module, part) in chosen.items() if not part)
        parts: dict[str, list[str]] = {}
        for name, (module, part) in chosen.items():
            if part:
                parts.setdefault(module, []).append(name)
        paragraphs.append(
            [
                *(Import(module, alias=None if module == name else name) for module, name in whole),
                *(Import(module, tuple(sorted(parts[module]))) for module in sorted(parts)),
            ]
        )
    return tuple(statement for group in paragraphs if group for statement in (*group, Blank()))[:-1]
