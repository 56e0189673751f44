"""The gradient along a run: how near the rule's gradient, as configured, is to the exact one at some of its weights.

    python -m benchmarks.gradient_along RUN RUN ...

Each RUN is a run folder, or a copy of one that was made while it trained. Held-out samples, in float32 with the run's
own settings, against ``implicit`` in float64 at rest: the cosine and the relative error of the whole gradient.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from benchmarks.trained_gradient import Trained
from benchmarks.vectors import cosine, flat
from energyc.running.runs.saved import load_run

#: At rest.
EXACT = {"relax.exit": "early", "relax.tolerance": 1e-11, "relax.max_steps": 20_000}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--samples", type=int, default=16)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| updates | cost | free steps | within the gate | nudged steps | beta | cosine | relative error |")
    print("|---|---|---|---|---|---|---|---|")
    for run in options.runs:
        print(row(run, options.samples), flush=True)


def row(run: Path, samples: int) -> str:
    """The row of one run."""
    saved, trained = load_run(run), Trained.of(run, samples)
    rule = saved.rule
    exact = trained.net("cpp", EXACT, torch.float64, (rule, "implicit"))
    aim = exact.gradients(trained.clamps, trained.targets, "implicit")
    found = trained.net("cpp", {}, rules=(rule, "implicit")).gradients(trained.clamps, trained.targets, rule)
    ours, wanted = flat(found.params).double(), flat(aim.params).double()
    cells = (
        f"{saved.checkpoint('last').step:,}",
        f"{float(aim.cost.mean()):.3f}",
        f"{float(found.steps.double().mean()):.1f}",
        f"{float((found.residual <= 1e-2).double().mean()):.0%}",
        f"{float(found.health['nudged'].double().mean()):.0f}" if "nudged" in found.health else "",
        f"{found.beta:g}" if found.beta is not None else "",
        f"{cosine(ours, wanted):.5f}",
        f"{float((ours - wanted).norm() / wanted.norm()):.1e}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
