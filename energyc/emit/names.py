"""Identifiers of generated code: an allow-list, so that no name of a spec can become anything but a name."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: What a module has at its head or in its methods, whatever the network: no name of a spec may take its place.
MODULE_NAMES = frozenset(
    """
    torch nn F math cmath itertools Tensor NamedTuple Callable Iterable Iterator Mapping Sequence once_differentiable
    Back Fixed Free Gradients Held Holomorphic How Path Phase Relaxed Tensors gmres
    self states fixed held targets seeds directions clamps batch
    """.split()
)
#: What a NamedTuple has of its own, and so cannot be a field of one.
_RECORD_NAMES = frozenset({"rows", "count", "index"})


class Identifiers:
    """Gives each wish a Python identifier that is free in its scope; the same wish never twice."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken, *MODULE_NAMES, *_RECORD_NAMES}

    def new(self, wish: str) -> str:
        """The wish itself where it is a free public ASCII identifier, else a near one."""
        base = wish if _IDENTIFIER.match(wish) else re.sub(r"[^A-Za-z0-9_]", "_", wish)
        base = base if base[:1].isalpha() else f"v_{base.strip('_')}"  # private names are the module's own
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
    return f"N{name}" if name[0].isdigit() or keyword.iskeyword(name) or name in MODULE_NAMES else name


#: Names that ``nn.Module`` and the generated class have for themselves: no param may take one.
MODULE_ATTRIBUTES = frozenset(
    """
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches
    eval extra_repr float get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules
    mtia named_buffers named_children named_modules named_parameters parameters register_backward_hook
    register_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_full_backward_pre_hook register_load_state_dict_post_hook register_load_state_dict_pre_hook
    register_module register_parameter register_state_dict_post_hook register_state_dict_pre_hook requires_grad_
    set_extra_state set_submodule share_memory state_dict to to_empty train training type xpu zero_grad biased beta
    clamp_shapes correction cost device dtype energy first_bad_term force forward gradients last_beta metric_names
    metrics name nudge_steps param_attributes param_bounds params points project_params radius readout readout_names
    relax relax_chunk relax_explosion relax_max_steps relax_step relax_steps relax_tolerance rules snapshots source
    start state_names state_shapes target_shapes term_names terms
    """.split()
)
