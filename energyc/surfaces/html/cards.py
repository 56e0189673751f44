"""The cards of a notebook: of a network its equations, tensors, classes, diagram; of a run, a relaxation, gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from energyc.derivation.derive import derive
from energyc.derivation.notation import Formula, Reference, Sum, latex, mathml, name, of_network
from energyc.language.network import Network
from energyc.mathematics.ir import Input
from energyc.proofs.claims.classes import Classes
from energyc.surfaces.charts import Chart
from energyc.surfaces.charts.curves import Row, followed, learning_charts, metric_names, of_kind, relaxation_chart
from energyc.surfaces.html.diagram import diagram, whole_diagram
from energyc.surfaces.html.pages import render
from energyc.surfaces.tables import Table, Verdict, number
from energyc.surfaces.tables.layouts import to_array

#: A left side, what it is equal to, and the name of its term, if it is one.
Line = tuple[Formula, Formula, str]


def network_html(network: Network, classes: Classes, rules: Sequence[str] = ()) -> str:
    """Return the card of a network; ``rules`` are those that its module holds."""
    count = sum(_count(network, param.node) for param in network.params.values())
    held = f"; rules {', '.join(rules)}" if rules else ""
    layers = [_layer(name, layer.network, classes.layers[name]) for name, layer in network.layers.items()]
    return render(
        "network.html",
        title=network.name,
        verdict=Verdict(classes.verdict),
        description=network.description,
        facts=f"{count:,} learnable numbers{held}",
        whole=whole_diagram(network, classes) if network.layers else "",
        layers=layers or [_layer("", network, classes)],
        tensors=_tensors(network),
    )


def _layer(name: str, network: Network, classes: Classes) -> dict[str, object]:
    """Return what the card shows of a layer, or of a network without layers."""
    derivation = derive(network, classes.unproved, classes.descends)
    picture = diagram(network, derivation, classes)
    return {"name": name, "terms": _terms(network, classes), "lets": _lets(network), "diagram": picture}


def network_latex(network: Network) -> str:
    """Return the equations of a network, or of its layers, as LaTeX for display."""
    parts = [layer.network for layer in network.layers.values()] or [network]
    lines = [rf"{latex.write(left)} &= {latex.write(right)}" for part in parts for left, right, _ in _lines(part)]
    return r"$$\begin{aligned} " + " \\\\\n".join(lines) + r" \end{aligned}$$"


def _lines(network: Network) -> Iterator[Line]:
    """Yield the energy as a sum, each of its terms, and the forces and flows that are written as such."""
    notation = of_network(network)
    if len(network.energies) > 1:
        yield Reference("E"), Sum(tuple(Reference(term) for term in network.energies)), ""
    for term in network.energies.values():
        yield Reference(term.name), notation.formula(term.node), term.name
    for term in network.forces.values():
        node = term.family if term.kind == "flow" else term.node
        left = Reference(f"{term.kind} {term.name}", tuple(map(name, term.indices)))
        yield left, notation.formula(node, term.indices), term.name


def _terms(network: Network, classes: Classes) -> Table:
    verdicts = {term.name: term.verdict for term in classes.terms}
    rows = [
        (Markup(mathml.equation(left, right)), Verdict(verdicts[term]) if term in verdicts else "")
        for left, right, term in _lines(network)
    ]
    return Table(("energy, forces", "class"), tuple(rows))


def _lets(network: Network) -> Table:
    """Return the quantities that terms refer to by name."""
    notation = of_network(network)
    return Table(
        (),
        tuple(
            (Markup(mathml.equation(notation.element(q.node, q.indices), notation.formula(q.node, q.indices))),)
            for q in network.lets.values()
        ),
    )


def _tensors(network: Network) -> Table:
    groups = (
        ("clamp", network.clamps),
        ("noise", network.noises),
        ("state", network.states),
        ("param", network.params),
        ("readout", network.readouts),
        ("target", network.targets),
    )
    rows = [
        (kind, Markup("<code>{}</code>").format(item), _sized(network, each.node))
        for kind, items in groups
        for item, each in items.items()
    ]
    return Table(("kind", "name", "shape"), tuple(rows))


def _sized(network: Network, node: object) -> str:
    dims = getattr(node, "dims", ())
    sizes = ", ".join(f"{dim} = {network.extents[dim]}" for dim in dims)
    over = f" in {network.extents[str(node.over)]}" if isinstance(node, Input) and node.over else ""
    return (f"[{sizes}]" if sizes else "scalar") + over


def _count(network: Network, node: Input) -> int:
    return math.prod(network.extents[dim] for dim in node.dims)


# ------------------------------------------------------------------ results

#: What may be recorded that is a number of each sample.
RECORDED = ("energy", "residual")


def run_html(title: str, rows: Sequence[Row], *, total: int, best: int | None = None, notes: Sequence[str] = ()) -> str:
    """Return the card of a run from the rows of its ``metrics.jsonl``; ``best`` is the step of the best evaluation."""
    evaluations = of_kind(rows, "eval")
    step = max((row["step"] for row in rows), default=0)
    shown = next((row for row in evaluations if row["step"] == best), evaluations[-1] if evaluations else {})
    facts = [("updates", f"{step:,} of {total:,}"), *_numbers(shown, evaluations)]
    facts += [("best at update", f"{best:,}")] if best is not None else []
    return render("run.html", title=title, tiles=facts, curves=learning_charts({"": rows}, best), notes=notes)


def run_latex(rows: Sequence[Row]) -> str:
    """Return the last evaluation of a run as a table in LaTeX."""
    evaluations = of_kind(rows, "eval")
    last = evaluations[-1] if evaluations else {}
    return to_array(Table(("of the last evaluation", ""), tuple(_numbers(last, evaluations))))


def _numbers(row: Row, evaluations: Sequence[Row]) -> list[tuple[str, str]]:
    names = ["cost", *(name for first in evaluations[:1] for name in metric_names(first))]
    return [(name, number(float(row[name]))) for name in names if row.get(name) is not None]


def relaxed_html(relaxed: Any) -> str:
    """Return the card of a ``Relaxed``: how it ended, its states, and curves of what was recorded."""
    return render(
        "relaxed.html",
        title=f"Relaxation of {_samples(relaxed.residual)}",
        ends=_ends("", relaxed),
        curves=[_curves(name, relaxed.trace[name]) for name in RECORDED if name in relaxed.trace],
        states=_states(relaxed.states),
    )


def relaxed_latex(relaxed: Any) -> str:
    """Return how a relaxation ended, as a table in LaTeX."""
    return to_array(_ends("", relaxed))


def gradients_html(gradients: Any) -> str:
    """Return the card of ``Gradients``: the free phase they belong to, and the size of each."""
    kept = int(gradients.kept.sum())
    left_out = "" if kept == len(gradients.kept) else f"; {len(gradients.kept) - kept} left out"
    beta = "" if gradients.beta is None else f"; beta {number(float(gradients.beta))}"
    return render(
        "gradients.html",
        title=f"Gradients of {_samples(gradients.cost)}",
        facts=f"mean cost {number(float(gradients.cost.double().mean()))}{beta}{left_out}",
        params=_params(gradients),
        ends=_ends("free phase", gradients),
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


def _curves(name: str, values: Any) -> Chart:
    """Return the chart of what was recorded of each sample, [steps + 1, batch]."""
    samples = values.double().cpu().T.tolist()
    return relaxation_chart(name, list(followed(name, list(range(len(values))), samples)))


def _shape(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]" if len(shape) else "scalar"


def _samples(values: Any) -> str:
    return f"{len(values)} sample{'s' * (len(values) != 1)}"
