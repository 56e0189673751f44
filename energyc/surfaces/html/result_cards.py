"""The cards of a relaxation and of gradients in a notebook. Their tensors are read, and torch is not imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from energyc.surfaces.charts import Chart, Scale, Series
from energyc.surfaces.html.card import CURVES, card
from energyc.surfaces.html.chart import number, svg
from energyc.surfaces.html.markup import tag
from energyc.surfaces.html.tables import to_html
from energyc.surfaces.tables import Table
from energyc.surfaces.tables.layouts import to_array

#: What may be recorded that is a number of each sample, and the scale of its axis.
RECORDED: Mapping[str, Scale] = {"energy": "linear", "residual": "log"}


def relaxed_html(relaxed: Any) -> str:
    """Return the card of a ``Relaxed``: how it ended, its states, and curves of what was recorded."""
    curves = [_curves(name, scale, relaxed.trace[name]) for name, scale in RECORDED.items() if name in relaxed.trace]
    hint = None if curves else tag("p", "relax(..., record=('energy', 'residual')) draws curves", class_="soft")
    return card(
        f"Relaxation of {_samples(relaxed.residual)}",
        to_html(_ends("", relaxed)),
        tag("div", curves, class_="panels") if curves else hint,
        to_html(_states(relaxed.states)),
    )


def relaxed_latex(relaxed: Any) -> str:
    """Return how a relaxation ended, as a table in LaTeX."""
    return to_array(_ends("", relaxed))


def gradients_html(gradients: Any) -> str:
    """Return the card of ``Gradients``: the free phase they belong to, and the size of each."""
    kept = int(gradients.kept.sum())
    left_out = "" if kept == len(gradients.kept) else f"; {len(gradients.kept) - kept} left out"
    beta = "" if gradients.beta is None else f"; beta {number(float(gradients.beta))}"
    return card(
        f"Gradients of {_samples(gradients.cost)}",
        tag("p", f"mean cost {number(float(gradients.cost.double().mean()))}{beta}{left_out}", class_="soft"),
        to_html(_params(gradients)),
        to_html(_ends("free phase", gradients)),
    )


def gradients_latex(gradients: Any) -> str:
    """Return the size of each gradient, as a table in LaTeX."""
    return to_array(_params(gradients))


def _ends(heading: str, record: Any) -> Table:
    rows = [(name, *_spread(getattr(record, name))) for name in ("residual", "steps")]
    return Table((heading, "least", "median", "most"), tuple(rows))


def _spread(values: Any) -> tuple[str, str, str]:
    if not len(values):
        return "", "", ""
    found = values.double()
    low, middle, high = (number(float(value)) for value in (found.min(), found.median(), found.max()))
    return low, middle, high


def _states(states: Mapping[str, Any]) -> Table:
    rows = [(name, _shape(x.shape[1:]), *_ends_of(x)) for name, x in states.items()]
    return Table(("state", "shape", "least", "most"), tuple(rows))


def _ends_of(values: Any) -> tuple[str, str]:
    if not values.numel():
        return "", ""
    return number(float(values.min())), number(float(values.max()))


def _params(gradients: Any) -> Table:
    rows = [_param(name, slope, gradients.owners[name].detach()) for name, slope in gradients.params.items()]
    return Table(("param", "shape", "norm", "largest entry", "norm over that of the param"), tuple(rows))


def _param(name: str, slope: Any, param: Any) -> tuple[str, str, str, str, str]:
    norm, size = float(slope.norm()), float(param.norm())
    largest = number(float(slope.abs().max())) if slope.numel() else ""
    return name, _shape(slope.shape), number(norm), largest, number(norm / size) if size else ""


def _curves(name: str, scale: Scale, values: Any) -> Markup:
    """Return what was recorded of each sample, [steps + 1, batch], and its mean."""
    first = 1 if name == "residual" else 0
    rows = values.double().cpu()[first:]
    steps = [float(k + first) for k in range(len(rows))]
    shown = min(rows.shape[1], CURVES)
    samples = [Series("", steps, rows[:, k].tolist(), "faint") for k in range(shown)]
    mean = Series("mean", steps, rows.mean(1).tolist())
    return tag("figure", svg(Chart((*samples, mean), "step", name, scale, _steps(steps))))


def _steps(steps: Sequence[float]) -> Scale:
    return "steps" if len(steps) > 50 else "linear"


def _shape(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]" if len(shape) else "scalar"


def _samples(values: Any) -> str:
    return f"{len(values)} sample{'s' * (len(values) != 1)}"
