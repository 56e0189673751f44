"""Gives what a generated module makes the methods that a notebook asks for: ``_repr_html_`` and ``_repr_latex_``.

A generated module is alone and has none of its own; a network that energyc itself makes knows the spec it is from.
"""

from __future__ import annotations

import sys
from html import escape
from typing import Any

from energyc.language.network import Network
from energyc.proofs.claims.classes import Classes

#: The attribute of a network that holds its origin.
_ORIGIN = "_origin_"


class Origin:
    """The spec of a network, with its classes. A copy of the network shares it; a pickle leaves it out."""

    def __init__(self, network: Network | None = None, classes: Classes | None = None) -> None:
        self.network = network
        self.classes = classes

    def __deepcopy__(self, memo: object) -> Origin:
        return self

    def __reduce__(self) -> tuple[type[Origin], tuple[()]]:
        return Origin, ()


def attach(net: Any, network: Network, classes: Classes) -> None:
    """Let a network, and the records that its methods return, show themselves in a notebook."""
    setattr(net, _ORIGIN, Origin(network, classes))
    records = vars(sys.modules[type(net).__module__])
    for shown, html, latex in (
        (type(net), _network, _network_latex),
        (records.get("Relaxed"), _relaxed, _relaxed_latex),
        (records.get("Gradients"), _gradients, _gradients_latex),
    ):
        if isinstance(shown, type):
            shown._repr_html_, shown._repr_latex_ = html, latex  # type: ignore[attr-defined]


def _network(net: Any) -> str:
    from energyc.surfaces.html.network_card import network_html

    origin = net.__dict__.get(_ORIGIN, Origin())
    if origin.network is None or origin.classes is None:
        return f"<pre>{escape(repr(net))}</pre>"
    return network_html(origin.network, origin.classes, getattr(net, "rules", ()))


def _network_latex(net: Any) -> str | None:
    from energyc.surfaces.html.network_card import network_latex

    origin = net.__dict__.get(_ORIGIN, Origin())
    return None if origin.network is None else network_latex(origin.network)


def _relaxed(relaxed: Any) -> str:
    from energyc.surfaces.html.result_cards import relaxed_html

    return relaxed_html(relaxed)


def _relaxed_latex(relaxed: Any) -> str:
    from energyc.surfaces.html.result_cards import relaxed_latex

    return relaxed_latex(relaxed)


def _gradients(gradients: Any) -> str:
    from energyc.surfaces.html.result_cards import gradients_html

    return gradients_html(gradients)


def _gradients_latex(gradients: Any) -> str:
    from energyc.surfaces.html.result_cards import gradients_latex

    return gradients_latex(gradients)
