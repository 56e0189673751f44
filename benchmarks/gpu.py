"""On a GPU: a gradient of ``thick`` beside eager torch, a step of ``cet`` at paper size beside measured peaks.

    python -m benchmarks.gpu                              # both tables, under eight minutes
    python -m benchmarks.gpu --train 14000 --data text.txt   # also the note's training of thick, and its cross-entropy
    python -m benchmarks.gpu --smoke                      # tiny sizes on a CPU: that it runs, nothing about speed

The gradient is compared with that of eager torch first, a step's states with those in float64; what does not agree gets
no time. Sizes: ``thick`` with a context of T = 64 and the width D = 128 (the note's C), 64 samples; ``cet`` with images
of 3 x 120 x 120, 121 tokens of width 768, 64 samples. Weights are those at the start. Kernels in Triton take part where
it is installed; on a CPU with TRITON_INTERPRET=1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.vectors import cosine, flat
from energyc import pipeline
from energyc.code.loops import NotLowered
from energyc.code.loops.nest import products_of
from energyc.code.loops.work import multiplications
from energyc.code.module.context import Options
from energyc.code.targets.kernels import kernels_of
from energyc.runtime.equations.inputs import prepared
from energyc.runtime.equations.products import products_in
from energyc.runtime.kernels.triton_functions import has_triton, interpreted
from energyc.runtime.relaxation.graphs import Graphs
from energyc.studies.bench.step import least
from energyc.studies.verify import random_probe

SPECS = Path(__file__).parents[1] / "specs"
#: What the note on equilibrium transformers reports after 14,000 updates: nats a character.
PUBLISHED = "C = 128, 14,000 updates: EP 1.676, stabilised BPTT 1.635, a transformer of this shape 1.610"
Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class Sizes:
    """A measurement: a preset and settings, samples, steps of a phase, the side of a product, seconds a table."""

    preset: str | None
    settings: Mapping[str, object]
    samples: int
    steps: int
    side: int
    seconds: float


SHORT = {
    "relax.steps": 4,
    "relax.chunk": 2,
    "relax.max_steps": 8,
    "relax.tolerance": "none",
    "nudge.steps": 2,
    "nudge.beta": 1,
}
FULL, SMOKE = Sizes(None, {}, 64, 25, 8192, 60.0), Sizes("verify", SHORT, 3, 2, 64, 0.1)


@dataclass(frozen=True)
class Way:
    """How phases run: the target, the operands of products, and of those at first; whether steps are recorded.

    A gradient of a lower ``cosine`` does not agree.
    """

    name: str
    target: str
    products: str = "float32"
    first: str | None = None
    graphs: bool = True
    cosine: float = 0.9999

    @property
    def settings(self) -> dict[str, object]:
        """The settings beside those of the spec."""
        return {"train.products": self.products, **({"relax.products": self.first} if self.first else {})}


EAGER = Way("torch, eager", "torch", graphs=False)
WAYS = (
    EAGER,
    *(
        way
        for target in ("torch", "triton")
        for way in (
            Way(target, target),
            Way(f"{target}, bfloat16 at first", target, first="bfloat16"),
            Way(f"{target}, tf32", target, "tf32", cosine=0.99),
            Way(f"{target}, bfloat16", target, "bfloat16", cosine=0.95),
        )
    ),
)


@dataclass(frozen=True)
class Bench:
    """The device, and the sizes; ``smoke`` replays on a CPU what a GPU would record."""

    device: torch.device
    sizes: Sizes
    smoke: bool

    def ways(self) -> list[Way]:
        """Those that can run here."""
        kernels = has_triton() and (self.device.type == "cuda" or interpreted())
        return [way for way in WAYS if way.target != "triton" or kernels]

    def network(self, spec: str, rule: str, way: Way, dtype: torch.dtype = torch.float32) -> Any:
        """A network as it runs."""
        choices = pipeline.Choices(self.sizes.preset, {**self.sizes.settings, **way.settings})
        network = pipeline.resolve(pipeline.read(SPECS / f"{spec}.energy"), choices)
        compiled = pipeline.emit(network, [rule], target=way.target)
        if compiled.fallback is not None:
            raise NotLowered(compiled.fallback)
        net = pipeline.instantiate(compiled, str(self.device), dtype, 0).requires_grad_(False)
        graphs = Graphs(replayed, "cpu") if self.smoke else Graphs()
        net.graphs = graphs if way.graphs else None
        if way.target == "triton":
            net.kernels.graphs = graphs
        return net

    def inputs(self, net: Any) -> tuple[Inputs, Inputs]:
        """Clamps and targets at random."""
        probe = random_probe(net, batch=self.sizes.samples)
        parts = [{name: x.to(self.device) for name, x in part.items()} for part in (probe.clamps, probe.targets)]
        return parts[0], parts[1]

    def seconds(self, ways: Mapping[str, Callable[[], object]], share: float = 1.0) -> dict[str, float]:
        """The least seconds of each, the device waited for, in a share of the time of a table."""

        def waited(way: Callable[[], object]) -> Callable[[], object]:
            def call() -> None:
                way()
                self.wait()

            return call

        for way in ways.values():
            for _ in range(1 if self.smoke else 3):  # compiles, records, replays
                waited(way)()
        return least({name: waited(way) for name, way in ways.items()}, share * self.sizes.seconds)

    def wait(self) -> None:
        """Until all is done that was asked for."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def replayed(work: Callable[[], None], device: torch.device) -> Callable[[], object]:
    """In place of a CUDA graph: the same work again."""
    work()
    return work


# -------------------------------------------------------------------- a gradient of thick


def gradients(bench: Bench) -> list[Sequence[str]]:
    """A row for each way to a gradient of ``thick``."""
    nets, refused = {}, []
    for way in bench.ways():
        try:
            nets[way] = bench.network("thick", "tracking-aep", way)
        except NotLowered as reason:
            refused.append((way.name, f"not there: {reason}"))
    clamps, targets = bench.inputs(nets[EAGER])
    found = {way: net.gradients(clamps, targets) for way, net in nets.items()}
    expected = flat(found[EAGER].params)
    cosines = {way: cosine(flat(result.params), expected) for way, result in found.items()}
    agreeing = [way for way in nets if cosines[way] >= way.cosine]
    calls = {way.name: calling(nets[way], clamps, targets) for way in agreeing}
    times = bench.seconds(calls)
    rows: list[Sequence[str]] = [("", "ms", "times eager", "cosine", "steps")]
    for way in nets:
        steps = str(int(found[way].steps.max()))
        if way in agreeing:
            seconds = times[way.name]
            speed = f"{times[EAGER.name] / seconds:.2f}"
            rows.append((way.name, f"{1e3 * seconds:.2f}", speed, f"{cosines[way]:.6f}", steps))
        else:
            rows.append((way.name, "differs", "", f"{cosines[way]:.6f}", steps))
    return [*rows, *refused]


def calling(net: Any, clamps: Inputs, targets: Inputs) -> Callable[[], object]:
    """A call of a network's gradient."""
    return lambda: net.gradients(clamps, targets)


# -------------------------------------------------------------------- a step of cet


def steps(bench: Bench) -> list[Sequence[str]]:
    """A row for each way to steps of ``cet``, beside what this device does in a large product."""
    ways = [way for way in bench.ways() if way.first is None]
    nets = {way: bench.network("cet", "centered-ep", way) for way in ways}
    exact = bench.network("cet", "centered-ep", EAGER, torch.float64)
    clamps, _ = bench.inputs(nets[EAGER])
    start = {name: x.double() for name, x in nets[EAGER].start(clamps).items()}
    far = walked(exact, {name: x.double() for name, x in clamps.items()}, start, 3)()
    calls, errors = {}, {}
    for way, net in nets.items():
        near = walked(net, clamps, start, 3)()
        errors[way] = max(float((a - b).norm() / b.norm()) for a, b in zip(near, far, strict=True))
        if errors[way] <= LIMITS[way.products]:
            calls[way.name] = walked(net, clamps, start, bench.sizes.steps)
    times, peak = bench.seconds(calls), peaks(bench, {way.products for way in ways})
    work = floating_operations(exact, bench) * bench.sizes.steps
    rows: list[Sequence[str]] = [("", "ms a step", "TFLOP/s", "of the peak", "error")]
    for way in ways:
        if way.name in times:
            rate = work / times[way.name]
            share = f"{100 * rate / peak[way.products]:.0f}% of {peak[way.products] / 1e12:.3g}"
            each = 1e3 * times[way.name] / bench.sizes.steps
            rows.append((way.name, f"{each:.3f}", f"{rate / 1e12:.3g}", share, f"{errors[way]:.1e}"))
        else:
            rows.append((way.name, "differs", "", "", f"{errors[way]:.1e}"))
    return rows


#: The largest relative error of states after three steps, by the format of products.
LIMITS = {"float32": 1e-4, "tf32": 5e-3, "bfloat16": 5e-2}


def walked(net: Any, clamps: Inputs, start: Inputs, count: int) -> Callable[[], list[Tensor]]:
    """Steps of the free phase from a start."""
    with torch.no_grad():
        fixed = prepared(net, clamps)

    @torch.no_grad()
    def call() -> list[Tensor]:
        states = [x.to(net.dtype, copy=True) for x in start.values()]
        net._steps_(states, fixed, 0, count, net.relax_step)
        return [x.double() for x in states]

    return call


def floating_operations(net: Any, bench: Bench) -> float:
    """The multiplications and additions of the products of one step."""
    source = pipeline.read(SPECS / f"{net.name}.energy")
    network = pipeline.resolve(source, pipeline.Choices(bench.sizes.preset))
    classes = pipeline.classify(network)
    options = Options(("implicit",), "", "", unproved=classes.unproved, descends=classes.descends)
    (relaxing, *_) = kernels_of(options.plan(network), options)
    products = products_of(relaxing.kernels[0].body)
    return float(sum(multiplications(product).of(bench.sizes.samples) for product in products))


def peaks(bench: Bench, formats: set[str]) -> dict[str, float]:
    """Floating-point operations a second of a large square product, by the format of its operands."""
    side = bench.sizes.side
    found = {}
    for products in formats:
        kind = torch.bfloat16 if products == "bfloat16" else torch.float32
        a, b = (torch.randn(side, side, device=bench.device, dtype=kind) for _ in range(2))
        with products_in(products if kind == torch.float32 else None, bench.device):
            times = bench.seconds({products: lambda a=a, b=b: a @ b}, 0.1)  # type: ignore[misc]
        found[products] = 2.0 * side**3 / times[products]
    return found


# -------------------------------------------------------------------- training


def training(bench: Bench, updates: int, rules: Sequence[str], data: str | None) -> list[Sequence[str]]:
    """A row for each rule that trains ``thick`` for so many updates of 64 samples."""
    target = "triton" if any(way.target == "triton" for way in bench.ways()) else "torch"
    rows: list[Sequence[str]] = [("", "minutes", "cross-entropy", "best")]
    with tempfile.TemporaryDirectory() as folder:
        for rule in rules:
            command = [sys.executable, "-m", "energyc", "train", str(SPECS / "thick.energy"), "--format", "json"]
            command += ["--rule", rule, "--steps", str(updates), "--device", str(bench.device), "--quiet"]
            command += ["--target", target if rule != "bptt" else "torch", "--out", f"{folder}/{rule}"]
            for key, value in {**bench.sizes.settings, "train.batch": bench.sizes.samples}.items():
                command += ["--set", f"{key}={value}"]
            command += ["--preset", bench.sizes.preset] if bench.sizes.preset else []
            command += ["--data", f"text={data}"] if data else []
            began = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True)
            minutes = (time.perf_counter() - began) / 60
            if done.returncode:
                rows.append((rule, "failed", done.stderr.strip().splitlines()[-1]))
                continue
            said = json.loads(done.stdout)
            ends = [f"{said[which]['cost']:.3f}" for which in ("final", "best")]
            rows.append((rule, f"{minutes:.1f}", *ends))
    return rows


# -------------------------------------------------------------------- the whole


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", default=None, help="by default cuda, with --smoke cpu")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes on a CPU: that it runs, nothing about speed")
    parser.add_argument("--seconds", type=float, default=None, help="for each table")
    parser.add_argument("--train", type=int, default=0, metavar="UPDATES", help="train thick as well: a longer job")
    parser.add_argument("--rules", nargs="+", default=["tracking-aep", "bptt"], help="that train")
    parser.add_argument("--data", default=None, help="the text to train on; by default the one that energyc has")
    given = parser.parse_args()
    device = torch.device(given.device or ("cpu" if given.smoke else "cuda"))
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("there is no GPU here: --smoke runs tiny sizes on a CPU")
    sizes = SMOKE if given.smoke else FULL
    if given.seconds is not None:
        sizes = replace(sizes, seconds=given.seconds)
    bench, began = Bench(device, sizes, given.smoke), time.perf_counter()
    print(f"{named(device)}, torch {torch.__version__}, {sizes.samples} samples")
    if not any(way.target == "triton" for way in bench.ways()):
        print("without kernels in Triton: " + ("this is no GPU" if has_triton() else "it is not installed"))
    show("a gradient of thick by tracking-aep", gradients(bench))
    show("a step of the free phase of cet", steps(bench))
    if given.train:
        show(f"{given.train:,} updates of thick ({PUBLISHED})", training(bench, given.train, given.rules, given.data))
    print(f"\n{time.perf_counter() - began:.0f} s")


def named(device: torch.device) -> str:
    """The name of a device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def show(title: str, rows: Sequence[Sequence[str]]) -> None:
    """A table."""
    columns = max(map(len, rows))
    widths = [max(len(row[k]) for row in rows if len(row) > k) for k in range(columns)]
    print(f"\n{title}")
    for row in rows:
        cells = [text.ljust(widths[0]) if k == 0 else text.rjust(widths[k]) for k, text in enumerate(row)]
        print("    " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
