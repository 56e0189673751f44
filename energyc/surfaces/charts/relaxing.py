"""The curves of samples over the steps of a relaxation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from energyc.surfaces.charts.chart import Chart, Mark, Number, Series, is_number, mean

#: The most samples that have a curve of their own.
CURVES = 32
#: The number of steps from which on their axis is logarithmic.
_MANY = 50
#: A residual above it is taken for one of a state that has only begun to move.
_TO_NOTHING = 1e6


def followed(
    name: str,
    steps: Sequence[float],
    samples: Sequence[Sequence[Number]],
    *,
    label: str = "mean",
    colour: int = 0,
    group: int | None = None,
) -> Iterator[Series]:
    """Yield the curves of ``samples``, thin, and their mean; where a sample diverged there is no mean.

    A ``residual`` says nothing before the first step, nor while a state is still 0: it is relative to nothing then.
    """
    places = list(zip(*samples, strict=True))
    first = next((k for k, values in enumerate(places) if k and _is_relative(values)), 1) if name == "residual" else 0
    for sample in samples[:CURVES]:
        yield Series("", steps[first:], sample[first:], "faint", group=group)
    yield Series(label, steps[first:], [mean(values) for values in places[first:]], colour=colour, group=group)


def _is_relative(values: Sequence[Number]) -> bool:
    return all(value < _TO_NOTHING for value in values if is_number(value))


def relaxation_chart(name: str, series: Sequence[Series], *, y_label: str = "", title: str = "", t1: int = 0) -> Chart:
    """Return the chart of a number over the steps; ``t1`` is the end of the free phase, 0 where it is not marked."""
    last = max((each.x[-1] for each in series if each.x), default=0)
    return Chart(
        tuple(series),
        "step",
        y_label or name,
        "log" if name == "residual" else "linear",
        "steps" if last > _MANY else "linear",
        mark=Mark(t1, f"T1 = {t1}") if t1 else None,
        title=title,
    )
