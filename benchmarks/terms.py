"""Processor time of the passes for specs with more and more terms: whether it grows in proportion.

    python -m benchmarks.terms                                     # all, 10 to 640 terms, into benchmarks/results
    python -m benchmarks.terms states lets --terms 10 40 --passes resolve torch

A shape says what there are many of. Each pass starts from what the passes before it gave for a network of its own; the
commands `check`, `show` and `explain` start from the text. The last column is the growth exponent from the last but one
number of terms to the last: 1 is in proportion, 2 is the square.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from energyc import pipeline
from energyc.code.plan import Passes, plan_module
from energyc.language.diagnostics import Source
from energyc.language.network import Network
from energyc.surfaces.report.check import check_source
from energyc.surfaces.report.explain import explain
from energyc.surfaces.report.show import show

RESULTS = Path(__file__).parent / "results" / "terms.md"
TERMS = (10, 40, 160, 320, 640)

# ------------------------------------------------------------------ specs

HEAD = "network many\n\ndim D = 8, J = 6\nclamp x[D]\ntarget t[D]\n"
TAIL = """
readout y[d] = {read}[d]
cost mse = 1/2 * sum[d](({read}[d] - t[d])^2)
relax {{ step = 1/10, steps = 20 }}
nudge {{ beta = 1/10, steps = 5 }}
train {{ rule = {rule} }}
"""
LEAK = "energy leak = 1/2 * sum[d]((z[d] - x[d])^2)"


def one_state(count: int) -> list[str]:
    """Terms that differ, all of one state."""
    terms = (f"energy e{k} = 1/{k + 2} * sum[d](softplus(z[d] - {k}/7))" for k in range(count))
    return ["state z[D]", LEAK, *terms]


def selected(count: int) -> list[str]:
    """Terms that select by the state: their forces have cases."""
    terms = (f"energy e{k} = sum[d](where(z[d] > {k}/7, (z[d] - {k}/7)^2, 0))" for k in range(count))
    return ["state z[D]", LEAK, *terms]


def states(count: int) -> list[str]:
    """A chain of states, each with its term."""
    declared = (f"state z{k}[D]" for k in range(count))
    terms = (f"energy e{k} = 1/2 * sum[d]((z{k}[d] - tanh(z{k - 1}[d]))^2)" for k in range(1, count))
    return ["state z[D]", *declared, LEAK, "energy e0 = 1/2 * sum[d]((z0[d] - tanh(z[d]))^2)", *terms]


def lets(count: int) -> list[str]:
    """Lets, each of which builds on the last."""
    chain = (f"let h{k}[d] = tanh(h{k - 1}[d] + 1/{k + 1} * z[d])" for k in range(1, count))
    return ["state z[D]", LEAK, "let h0[d] = tanh(z[d])", *chain, f"energy last = sum[d](h{count - 1}[d])"]


def params(count: int) -> list[str]:
    """Params, each with its term."""
    declared = (f"param W{k}[D, J] ~ normal(1)" for k in range(count))
    terms = (f"energy e{k} = -sum[j](softplus(sum[d](W{k}[d,j] * z[d])))" for k in range(count))
    return ["state z[D]", *declared, LEAK, *terms]


def forces(count: int) -> list[str]:
    """Terms written as forces, conservative ones and others."""
    declared = (f"param A{k}[D, D] ~ normal(1)" for k in range(0, count, 2))
    terms = (
        f"force f{k} on z[d] = -1/{k + 2} * tanh(z[d])"
        if k % 2
        else f"force f{k} on z[d] = tanh(sum[e](A{k}[d,e] * z[e]))"
        for k in range(count)
    )
    return ["state z[D]", *declared, LEAK, *terms]


def shared(count: int) -> list[str]:
    """Terms that share a let."""
    terms = (f"energy e{k} = -1/{k + 2} * sum[j](softplus(h[j] - {k}/7))" for k in range(count))
    return ["param W[D, J] ~ normal(1)", "state z[D]", LEAK, "let h[j] = sum[d](W[d,j] * z[d])", *terms]


SHAPES: Mapping[str, Callable[[int], list[str]]] = {
    shape.__name__: shape for shape in (one_state, selected, states, lets, params, forces, shared)
}


def spec(shape: str, count: int) -> str:
    """The text of a spec with so many terms of a shape."""
    rule = "aep" if shape == "forces" else "centered-ep"
    return "\n".join([HEAD, *SHAPES[shape](count), TAIL.format(read="z", rule=rule)])


# ------------------------------------------------------------------ passes


def derived(network: Network) -> Callable[[], object]:
    """Forces, and the slopes of the energy by the params."""
    classes = pipeline.classify(network)

    def derive() -> object:
        derivation = pipeline.derive(network, classes)
        return derivation.force, derivation.energy_gradient

    return derive


def planned(network: Network) -> Callable[[], object]:
    """The plan of the spec's own rule."""
    classes = pipeline.classify(network)
    rules = pipeline.rules_of(network, classes, None)
    return lambda: plan_module(network, rules, Passes(), classes.unproved, classes.descends)


def of_network(run: Callable[[Network], object]) -> Callable[[Source], Callable[[], object]]:
    """A pass over a network, which is resolved first."""

    def of(source: Source) -> Callable[[], object]:
        network = pipeline.resolve(source)
        return lambda: run(network)

    return of


def shown(stage: str) -> Callable[[Source], Callable[[], object]]:
    """``energyc show --stage``."""
    return lambda source: lambda: show(source, stage)


#: From the text to what is timed.
PASSES: Mapping[str, Callable[[Source], Callable[[], object]]] = {
    "parse": lambda source: lambda: pipeline.parse(source),
    "resolve": lambda source: lambda: pipeline.resolve(source),
    "classify": of_network(pipeline.classify),
    "derive": lambda source: derived(pipeline.resolve(source)),
    "plan": lambda source: planned(pipeline.resolve(source)),
    "torch": of_network(lambda network: pipeline.emit(network, target="torch")),
    "cpp": of_network(lambda network: pipeline.emit(network, target="cpp")),
    "triton": of_network(lambda network: pipeline.emit(network, target="triton")),
    "check": lambda source: lambda: check_source(source),
    "explain": of_network(explain),
    **{f"show {stage}": shown(stage) for stage in ("tree", "network", "ir", "forces", "jacobian", "plan", "kernels")},
}


def seconds(name: str, source: Source) -> float:
    """Processor time of one pass."""
    run = PASSES[name](source)
    start = time.process_time()
    run()
    return time.process_time() - start


def growth(terms: Sequence[int], times: Sequence[float]) -> float:
    """The exponent from the last but one number of terms to the last; NaN for a single one."""
    if len(terms) < 2:
        return math.nan
    return math.log(times[-1] / times[-2]) / math.log(terms[-1] / terms[-2])


def table(shape: str, terms: Sequence[int], passes: Iterable[str]) -> Iterator[str]:
    """The lines of a shape's table, a row for each pass."""
    yield f"| {shape} | {' | '.join(map(str, terms))} | growth |"
    yield "|" + "---|" * (len(terms) + 2)
    sources = [Source(f"{shape}.energy", spec(shape, count)) for count in (2, *terms)]
    for name in passes:
        _, *times = (seconds(name, source) for source in sources)  # the first one pays for imports and tables
        yield f"| {name} | {' | '.join(f'{taken:.2f}' for taken in times)} | {growth(terms, times):.2f} |"


def main() -> None:
    """Write the tables, and print each row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", help=f"of {', '.join(SHAPES)}; all by default")
    parser.add_argument("--terms", type=int, nargs="+", default=TERMS)
    parser.add_argument("--passes", nargs="+", choices=PASSES, default=list(PASSES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    lines = ["Seconds of processor time. Made by `python -m benchmarks.terms`."]
    for shape in options.shapes or SHAPES:
        lines.append("")
        for line in table(shape, options.terms, options.passes):
            print(line, flush=True)
            lines.append(line)
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
