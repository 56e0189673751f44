"""Identifiers of generated code: an allow-list, so that no name of a spec can become anything but a name."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MODULE_NAMES = frozenset({"torch", "nn", "F", "math", "Tensor", "NamedTuple", "self", "states", "fixed", "targets", "seeds", "clamps"})


class Identifiers:
    """Gives each wish a Python identifier that is free in its scope; the same wish never twice."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken, *_MODULE_NAMES}

    def new(self, wish: str) -> str:
        """The wish itself where it is a free ASCII identifier, else a near one."""
        base = wish if _IDENTIFIER.match(wish) else "v_" + re.sub(r"[^A-Za-z0-9_]", "_", wish)
        if keyword.iskeyword(base) or keyword.issoftkeyword(base) or hasattr(builtins, base):
            base += "_"
        name, k = base, 2
        while name in self._taken:
            name, k = f"{base}_{k}", k + 1
        self._taken.add(name)
        return name

    def child(self) -> Identifiers:
        """A scope inside this one."""
        return Identifiers(self._taken)


def class_name(network: str) -> str:
    """``thick_tied`` -> ``ThickTied``; always an identifier that is no keyword."""
    words = [w for w in re.split(r"[^A-Za-z0-9]+", network) if w]
    name = "".join(w[0].upper() + w[1:] for w in words) or "Network"
    return f"N{name}" if name[0].isdigit() or keyword.iskeyword(name) or name in _MODULE_NAMES else name
