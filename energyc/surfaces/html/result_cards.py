"""The cards of a relaxation and of gradients in a notebook. Their tensors are read, and torch is not imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from energyc.surfaces.html.card import CURVES, card, latex_table, table
from energyc.surfaces.html.chart import Scale, Series, chart, number
from energyc.surfaces.html.markup import tag

#: What may be recorded that is a number of each sample, and the scale of its axis.
RECORDED: Mapping[str, Scale] = {"energy": "linear", "residual": "log"}


def relaxed_html(relaxed: Any) -> str:
    """Return the card of a ``Relaxed``: how it ended, its states, and curves of what was recorded."""
    curves = [_curves(name, scale, relaxed.trace[name]) for name, scale in RECORDED.items() if name in relaxed.trace]
    hint = None if curves else tag("p", "relax(..., record=('energy', 'residual')) draws curves", class_="soft")
    return card(
        f"Relaxation of {_samples(relaxed.residual)}",
        table(("", "least", "median", "most"), _ends(relaxed)),
        tag("div", curves, class_="panels") if curves else hint,
        table(("state", "shape", "least", "most"), _states(relaxed.states)),
    )


def relaxed_latex(relaxed: Any) -> str:
    """Return how a relaxation ended, as a table in LaTeX."""
    return latex_table(("", "least", "median", "most"), _ends(relaxed))


def gradients_html(gradients: Any) -> str:
    """Return the card of ``Gradients``: the free phase they belong to, and the size of each."""
    kept = int(gradients.kept.sum())
    left_out = "" if kept == len(gradients.kept) else f"; {len(gradients.kept) - kept} left out"
    beta = "" if gradients.beta is None else f"; beta {number(float(gradients.beta))}"
    return card(
        f"Gradients of {_samples(gradients.cost)}",
        tag("p", f"mean cost {number(float(gradients.cost.double().mean()))}{beta}{left_out}", class_="soft"),
        table(_HEADER, _params(gradients)),
        table(("free phase", "least", "median", "most"), _ends(gradients)),
    )


def gradients_latex(gradients: Any) -> str:
    """Return the size of each gradient, as a table in LaTeX."""
    return latex_table(_HEADER, _params(gradients))


_HEADER = ("param", "shape", "norm", "largest entry", "norm over that of the param")


def _ends(record: Any) -> list[tuple[str, str, str, str]]:
    return [(name, *_spread(getattr(record, name))) for name in ("residual", "steps")]


def _spread(values: Any) -> tuple[str, str, str]:
    if not len(values):
        return "", "", ""
    found = values.double()
    low, middle, high = (number(float(value)) for value in (found.min(), found.median(), found.max()))
    return low, middle, high


def _states(states: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(name, _shape(x.shape[1:]), *_ends_of(x)) for name, x in states.items()]


def _ends_of(values: Any) -> tuple[str, str]:
    if not values.numel():
        return "", ""
    return number(float(values.min())), number(float(values.max()))


def _params(gradients: Any) -> list[tuple[str, str, str, str, str]]:
    return [_param(name, slope, gradients.owners[name].detach()) for name, slope in gradients.params.items()]


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
    drawn = chart([*samples, mean], x_label="step", y_label=name, y_scale=scale, x_scale=_steps(steps))
    return tag("figure", drawn)


def _steps(steps: Sequence[float]) -> Scale:
    return "steps" if len(steps) > 50 else "linear"


def _shape(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]" if len(shape) else "scalar"


def _samples(values: Any) -> str:
    return f"{len(values)} sample{'s' * (len(values) != 1)}"
