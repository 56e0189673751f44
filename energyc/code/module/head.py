"""The head of a generated module: where it comes from, and its imports in the order of isort."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from energyc.code.module.context import Options
from energyc.code.tree.prose import wrapped
from energyc.code.tree.statements import Blank, Body, Import
from energyc.language.network import Network

#: Where each name comes from: a module, and what it is called there (None: it is the module).
Names = Mapping[str, tuple[str, str | None]]

#: The names that a module may read of the standard library, of torch, and of JAX.
STANDARD: Names = MappingProxyType(
    {
        "Any": ("typing", "Any"),
        "Mapping": ("collections.abc", "Mapping"),
        "NamedTuple": ("typing", "NamedTuple"),
        "cmath": ("cmath", None),
        "math": ("math", None),
    }
)
TORCH: Names = MappingProxyType(
    {
        "Tensor": ("torch", "Tensor"),
        "functional": ("torch.nn", "functional"),
        "torch": ("torch", None),
    }
)
JAX: Names = MappingProxyType(
    {
        "Array": ("jax", "Array"),
        "jax": ("jax", None),
        "jnp": ("jax.numpy", None),
        "lax": ("jax", "lax"),
        "np": ("numpy", None),
    }
)


def imports(read: Collection[str], library: Names, runtime: Import, further: Body = ()) -> Body:
    """Return the imports of the names that a module reads, and of its runtime with what a target has ``further`` of it.

    The standard library, the ``library`` and the runtime are a paragraph each.
    """
    paragraphs = _paragraph(STANDARD, read), _paragraph(library, read), (runtime, *further)
    return tuple(statement for each in paragraphs if each for statement in (Blank(), *each))[1:]


def _paragraph(names: Names, read: Collection[str]) -> Body:
    whole, items = [], defaultdict[str, list[str]](list)
    for name, (module, item) in names.items():
        if name in read and item is None:
            whole.append(Import(module, alias=name if name != module else None))
        elif name in read and item is not None:
            items[module].append(item)
    whole.sort(key=lambda statement: (statement.module, statement.alias or ""))
    return (*whole, *(Import(module, tuple(sorted(items[module]))) for module in sorted(items)))


def origin(network: Network, rules: Sequence[str], options: Options, further: Sequence[str] = ()) -> tuple[str, ...]:
    """The lines of the docstring; ``further`` are those of a target."""
    about = f"{network.name}: {network.description}" if network.description else network.name
    digest = hashlib.sha256(network.source.text.encode()).hexdigest()
    return (
        *wrapped(about),
        "",
        f"Made by energyc {options.version} from {options.label}",
        f"SHA-256 of the spec: {digest}",
        *wrapped(f"Rules: {', '.join(rules)}", "    "),
        *([f"Options: {options.settings}"] if options.settings else []),
        *further,
    )
