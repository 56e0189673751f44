"""Methods by which a notebook shows networks and their results, and ``to_sympy`` of networks.

The runtime does not have them, because it stands alone. A network from ``energyc.load`` knows its spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from energyc.language.diagnostics import UserError
from energyc.language.network import Network
from energyc.proofs.claims.classes import Classes
from energyc.runtime import Gradients, Relaxed

if TYPE_CHECKING:
    from energyc.studies.symbolic.formulas import Formulas, WrittenOut

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
    type(net).to_sympy = to_sympy
    shown: tuple[tuple[type, Any, Any], ...] = (
        (type(net), _network, _network_latex),
        (Relaxed, _card("relaxed_html"), _card("relaxed_latex")),
        (Gradients, _card("gradients_html"), _card("gradients_latex")),
    )
    for kind, html, latex in shown:
        kind._repr_html_, kind._repr_latex_ = html, latex  # type: ignore[attr-defined]


def to_sympy(net: Any, sizes: Mapping[str, int] | None = None) -> Formulas | WrittenOut:
    """The formulas of a network as SymPy expressions; with ``sizes`` of its dims, written out entry by entry.

    Raises UserError E0971 for a network that does not know its spec, as one that was unpickled; with ``sizes``, what
    ``Formulas.at`` raises.
    """
    from energyc.studies.symbolic.formulas import Formulas

    origin = net.__dict__.get(_ORIGIN, Origin())
    if origin.network is None:
        message = "this network does not know the spec that it was made of"
        raise UserError(message, code="E0971", help='load it with energyc.load("NAME.energy")')
    formulas = Formulas(origin.network)
    return formulas if sizes is None else formulas.at(sizes)


def _network(net: Any) -> str:
    from energyc.surfaces.html.cards import network_html

    origin = net.__dict__.get(_ORIGIN, Origin())
    if origin.network is None or origin.classes is None:
        return f"<pre>{escape(repr(net))}</pre>"
    return network_html(origin.network, origin.classes, getattr(net, "rules", ()))


def _network_latex(net: Any) -> str | None:
    from energyc.surfaces.html.cards import network_latex

    origin = net.__dict__.get(_ORIGIN, Origin())
    return None if origin.network is None else network_latex(origin.network)


def _card(name: str) -> Callable[[Any], str]:
    """Return a function of ``cards``, which is imported when a card is shown."""

    def show(made: Any) -> str:
        from energyc.surfaces.html import cards

        found: str = getattr(cards, name)(made)
        return found

    return show
