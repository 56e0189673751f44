"""The import statements at the head of a generated module, in the order of isort."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from types import MappingProxyType

from energyc.code.module.runtime import imported
from energyc.code.tree.statements import Blank, Body, Import

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


def imports(read: Collection[str], further: Body = ()) -> Body:
    """Return the imports of the names that a module reads, and of the runtime with what a target has ``further`` of it.

    The standard library, torch and the runtime are a paragraph each.
    """
    return _separated(_paragraph(STANDARD, read), _paragraph(TORCH, read), (*imported(), *further))


def imports_of_jax(read: Collection[str]) -> Body:
    """Return the imports of the names that a module in JAX reads."""
    return _separated(_paragraph(STANDARD, read), _paragraph(JAX, read))


def _separated(*paragraphs: Body) -> Body:
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
