"""The least time that a step can take on a GPU, from its loop nests and the peaks of a device: nothing is run.

    python -m benchmarks.roofline                        # the shipped specs
    python -m benchmarks.roofline thick --set T=64 --set D=128 --samples 64
    python -m benchmarks.roofline --device a100

Each launch takes at least what its arithmetic takes at the peak of the format, and what moving its operands and results
takes once through memory; ``as generated`` adds up the longer of both over the launches of a step, ``fused`` is the
longer of all arithmetic and of moving what is given and the states once. Starting a launch is not in it: in a CUDA
graph it costs about a microsecond, which the number of launches tells. Products are at the peak of their format, all
else at that of float32.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from energyc import pipeline
from energyc.code.loops import Kernel, NotLowered
from energyc.code.loops.nest import products_of
from energyc.code.loops.work import Amount, multiplications, works
from energyc.code.module.context import Options
from energyc.code.targets.kernels import all_kernels, kernels_of
from energyc.code.targets.triton.groups import is_alone
from energyc.code.targets.triton.phases import launches
from energyc.pipeline import Choices
from energyc.surfaces.cli.values import read_settings

SPECS = Path(__file__).parents[1] / "specs"
RESULTS = Path(__file__).parent / "results" / "roofline.md"


@dataclass(frozen=True)
class Device:
    """The peaks of a device: operations a second in each format, bytes a second."""

    name: str
    float32: float
    tf32: float
    bandwidth: float


#: NVIDIA's data sheets: dense products, without sparsity.
DEVICES = {
    "h100": Device("H100 SXM", 67e12, 494.7e12, 3.35e12),
    "a100": Device("A100 80 GB SXM", 19.5e12, 156e12, 2.039e12),
}


@dataclass(frozen=True)
class Estimate:
    """A step of a phase for some samples: launches, operations, bytes, and seconds of its launches and of it fused."""

    launches: int
    operations: int
    moved: int
    generated: float
    fused: float


def estimate(kernel: Kernel, samples: int, device: Device, products: float) -> Estimate:
    """The estimate in float32, of products at a peak of their own."""
    parts = works(kernel)
    within = [sum(map(multiplications, products_of((block,))), Amount()).of(samples) for block in kernel.body]
    seconds = [
        inside / products + (part.operations.of(samples) - inside) / device.float32
        for part, inside in zip(parts, within, strict=True)
    ]
    bytes_ = [4 * part.entries.of(samples) for part in parts]
    ends = [*(buffer for _, buffer in kernel.given), *kernel.states, *kernel.moves]
    outside = sum(4 * buffer.size * (samples if buffer.batched else 1) for buffer in dict.fromkeys(ends))
    return Estimate(
        launches(kernel),
        sum(part.operations.of(samples) for part in parts),
        sum(bytes_),
        sum(max(s, moved / device.bandwidth) for s, moved in zip(seconds, bytes_, strict=True)),
        max(sum(seconds), outside / device.bandwidth),
    )


def kernels(spec: Path, given: pipeline.Choices) -> list[Kernel]:
    """The loop nests of a spec's phases for Triton. Raises NotLowered."""
    network = pipeline.resolve(pipeline.read(spec), given)
    classes = pipeline.classify(network)
    options = Options((network.train.trained_by,), "", "", unproved=classes.unproved, descends=classes.descends)
    return all_kernels(kernels_of(options.plan(network), options, "triton", "registers"))


def rows(spec: Path, given: pipeline.Choices, samples: int, device: Device) -> Iterator[str]:
    """The rows of a spec: one for each phase."""
    try:
        found = kernels(spec, given)
    except NotLowered as reason:
        yield f"| {spec.stem} | no kernels: {reason} | | | | | | |"
        return
    for kernel in found:
        plain, tf32 = (estimate(kernel, samples, device, peak) for peak in (device.float32, device.tf32))
        size = f"{plain.operations / 1e9:.3f} | {plain.moved / 1e6:.2f}"
        times = (plain.generated, tf32.generated, plain.fused, tf32.fused)
        cells = " | ".join(f"{1e6 * seconds:.1f}" for seconds in times)
        launched = "1 a phase" if is_alone(kernel) else plain.launches
        yield f"| {spec.stem} | {kernel.name} | {launched} | {size} | {cells} |"


def main() -> None:
    """Print the table, and write it where it is that of all shipped specs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", help="names of shipped specs; all by default")
    parser.add_argument("--device", choices=DEVICES, default="h100")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--preset")
    parser.add_argument("--set", action="append", default=[], metavar="K=V", dest="settings")
    options = parser.parse_args()
    device, given = DEVICES[options.device], Choices(options.preset, read_settings(tuple(options.settings)))
    lines = [
        f"A step of {options.samples} samples on an {device.name}, estimated: {device.float32 / 1e12:g} TFLOP/s in "
        f"float32, {device.tf32 / 1e12:g} in tf32, {device.bandwidth / 1e12:g} TB/s. **Not measured.** "
        "Made by `python -m benchmarks.roofline`.",
        "",
        "| spec | phase | launches | GFLOP | MB moved | as generated, us | tf32 | fused, us | tf32 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for name in options.specs or sorted(path.stem for path in SPECS.glob("*.energy")):
        for row in rows(SPECS / f"{name}.energy", given, options.samples, device):
            print(row, flush=True)
            lines.append(row)
    if not options.specs and not options.settings and options.preset is None:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
