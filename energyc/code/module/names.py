"""Identifiers of generated code: an allow-list, so that no name of a spec can become anything but a name."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

from energyc.code.module.runtime import ALIAS
from energyc.code.module.runtime_classes import members

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: What the methods of a module read or are given, whatever the network: no name of a spec may take its place.
METHOD_NAMES = frozenset(
    """
    torch functional math cmath Mapping Tensor NamedTuple Fixed Held Lets Holomorphic
    self states fixed held lets targets cotangents directions clamps batch params random device dtype seed net
    """.split()
) | {ALIAS}
#: What a module with kernels calls their text, and the object that runs those of its layers.
KERNEL_NAMES = frozenset({"SOURCE", "KERNELS"})
#: The records of a module in JAX, and what it imports or makes under a name like that of a class.
JAX_NAMES = frozenset("Any Array Params Clamps Targets States Readouts Values MODEL".split())
#: What a NamedTuple has of its own, and so cannot be a field of one.
_RECORD_NAMES = frozenset({"rows", "count", "index"})


class Identifiers:
    """Gives each wish a Python identifier that is free in its scope; the same wish never twice."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken, *METHOD_NAMES, *_RECORD_NAMES}
        self._next: dict[str, int] = {}  # the first number that may be free after a name

    def new(self, wish: str) -> str:
        """The wish itself where it is a free public ASCII identifier, else a near one."""
        base = wish if _IDENTIFIER.match(wish) else re.sub(r"[^A-Za-z0-9_]", "_", wish)
        base = base if base[:1].isalpha() else f"v_{base.strip('_')}"  # private names are the module's own
        if keyword.iskeyword(base) or keyword.issoftkeyword(base) or hasattr(builtins, base):
            base += "_"
        name, k = base, self._next.get(base, 2)
        while name in self._taken:
            name, k = f"{base}_{k}", k + 1
        self._taken.add(name)
        self._next[base] = k
        return name

    def child(self) -> Identifiers:
        """A scope inside this one."""
        return Identifiers(self._taken)


def class_name(network: str) -> str:
    """``thick_tied`` -> ``ThickTied``; always an identifier, and neither a keyword nor a name that modules use."""
    words = [w for w in re.split(r"[^A-Za-z0-9]+", network) if w]
    name = "".join(w[0].upper() + w[1:] for w in words) or "Network"
    taken = {*METHOD_NAMES, *KERNEL_NAMES, *JAX_NAMES}
    return f"N{name}" if name[0].isdigit() or keyword.iskeyword(name) or name in taken else name


def attribute_names(*classes: str) -> frozenset[str]:
    """The attributes of ``nn.Module``, ``Equations`` and classes of the runtime: no param may take one."""
    return MODULE_ATTRIBUTES.union(*(members(name) for name in ("Equations", *classes)))


#: The public attributes of ``nn.Module``; beside them a loaded network has its ``source``, some their ``kernels``.
MODULE_ATTRIBUTES = frozenset(
    """
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches
    eval extra_repr float get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules
    mtia named_buffers named_children named_modules named_parameters parameters register_backward_hook
    register_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_full_backward_pre_hook register_load_state_dict_post_hook register_load_state_dict_pre_hook
    register_module register_parameter register_state_dict_post_hook register_state_dict_pre_hook requires_grad_
    set_extra_state set_submodule share_memory state_dict to to_empty train training type xpu zero_grad source kernels
    """.split()
)
