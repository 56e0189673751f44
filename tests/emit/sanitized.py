"""Kernels at odd sizes, built with the sanitizers that are named: a script, run with their library loaded first."""

from __future__ import annotations

import os
import sys
from random import Random

import torch

from energyc import pipeline
from energyc.resources import folder
from tests.emit.kernels import TOLERANCE, differences, kernel_module
from tests.emit.random_products import check_products, every_product

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


def main() -> None:
    os.environ["CXXFLAGS"] = f"-O1 -fsanitize={sys.argv[1]} -fno-sanitize-recover=all"
    torch.set_num_threads(3)
    for name, dims in CASES:
        network = pipeline.resolve(
            pipeline.read(folder("specs") / f"{name}.energy"),
            pipeline.Choices.of(dims=dims),
        )
        for rules in (None, ["bptt"]):
            found = differences(kernel_module(network, rules))
            assert max(found.values()) < TOLERANCE, (name, rules, found)
    with every_product() as kernels:
        for dtype in (torch.float64, torch.float32):
            assert check_products(kernels, Random(SEED), dtype, 100) > 30


if __name__ == "__main__":
    main()
