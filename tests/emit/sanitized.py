"""Kernels at odd sizes, built with the sanitizers that are named: a script, run with their library loaded first."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import torch

from energyc import pipeline
from energyc.resources import folder
from energyc.runtime.equations.inputs import free_phase
from tests.drawing import share
from tests.emit.judge import resolved
from tests.emit.kernels import TOLERANCE, differences, drawn, kernel_module
from tests.emit.test_adjoint_kernels import SETS, beside
from tests.emit.test_settling_kernels import both, close, uneven

SEED = 5
CASES = (
    ("hopfield", {"I": 7, "J": 13, "K": 3}),
    ("hopfield", {"I": 7, "J": 67, "K": 33}),
    ("hopfield", {"I": 7, "J": 131, "K": 11}),
    ("thick", {"T": 5, "D": 18, "H": 3}),
    ("cet", {"C": 3, "S": 12, "P": 4, "stride": 2, "D": 9, "H": 3, "A": 5, "M": 11}),
    ("hopfield_conv", {}),
    ("cem", {"J": 5, "D": 18, "K": 3, "R": 5, "M": 19, "Ra": 2, "Rm": 3, "L": 1}),
    ("et_graph", {"M": 6, "F": 3, "D": 19, "H": 3, "Y": 5, "K": 17, "E": 2}),
    ("et_anomaly", {"N": 11, "E": 37, "F": 3, "D": 18, "H": 3, "Y": 5, "K": 17, "U": 5}),
)


def rounded_gradients(rules: Sequence[str]) -> None:
    """Every kernel with products in bfloat16, at sizes that are no multiples of a vector."""
    settings = {"train.products": "bfloat16", "relax.steps": 150, "relax.tolerance": "none", "nudge.steps": 3}
    for dims in share([{"T": 19, "D": 36, "H": 2}, {"T": 33, "D": 51, "H": 3}]):
        spec = pipeline.read(folder("specs") / "thick.energy")
        network = pipeline.resolve(spec, pipeline.Choices.of(dims=dims, settings=settings))
        for rule in rules:
            net = kernel_module(network, [rule], dtype=torch.float32)
            random = torch.Generator().manual_seed(SEED)
            clamps, targets = drawn(net.clamp_shapes, random, net), drawn(net.target_shapes, random, net)
            found = net.gradients(clamps, targets, rule)
            assert all(bool(x.isfinite().all()) for x in found.params.values()), (dims, rule)
            assert any("bfloat16" in name for name in net.kernels.libraries[torch.float32].ran)


def main() -> None:
    os.environ["CXXFLAGS"] = f"-O1 -fsanitize={sys.argv[1]} -fno-sanitize-recover=all"
    torch.set_num_threads(3)
    threads_alone = sys.argv[1] == "thread"  # what could race is the same in all kernels of a kind
    for name, dims in share(CASES)[: 1 if threads_alone else None]:
        network = pipeline.resolve(
            pipeline.read(folder("specs") / f"{name}.energy"),
            pipeline.Choices.of(dims=dims),
        )
        for rules in (None, ["bptt"]):
            found = differences(kernel_module(network, rules))
            assert max(found.values()) < TOLERANCE, (name, rules, found)
    rounded_gradients(["bptt"] if threads_alone else ["tracking-aep", "implicit", "bptt"])
    settling = uneven(torch.Generator().manual_seed(SEED))
    close(*both(*settling, free_phase(settling[0], None, None, None)))
    beside(kernel_module(resolved(SETS), ["adjoint"]))


if __name__ == "__main__":
    main()
