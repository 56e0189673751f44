"""Table 3 of the CEM paper: regression of draws of Gaussian processes by plain and gated MLPs and by CEM with T steps.

``python -m benchmarks.cem_table OUT [--seeds 3] [--epochs 150] [--kernels rbf,matern]`` trains what is not in OUT yet,
and prints the table. All models share the embedding, the norms and the readout of ``specs/cem_mlp.energy``, the data,
Adam at 1e-3 with a cosine schedule, batches of 100; the baselines have a down projection of their own (34K params in
place of 22.7K).
"""

from __future__ import annotations

import argparse
import math
import statistics
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.runs import evaluations, kept, trained
from energyc.resources import folder
from energyc.running.data import find_adapter

KERNELS = ("rbf", "matern", "periodic", "rational-quadratic", "non-stationary")
WIDTH, MEMORIES, HIDDEN, BATCH = 64, 170, 256, 100


def rms_norm(x: Tensor) -> Tensor:
    """As in the spec: eps of 1e-6."""
    return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()


class Baseline(nn.Module):
    """Embedding, norm, a residual MLP with free up and down projections, norm, readout."""

    def __init__(self, gated: bool) -> None:
        super().__init__()
        hidden = MEMORIES if gated else HIDDEN
        self.embed, self.read = nn.Linear(10, WIDTH), nn.Linear(WIDTH, 1)
        self.g1, self.g2 = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.ones(WIDTH))
        self.up = nn.Linear(WIDTH, hidden)
        self.gate = nn.Linear(WIDTH, hidden) if gated else None
        self.down = nn.Linear(hidden, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        h = self.g1 * rms_norm(self.embed(x))
        hidden = F.silu(self.up(h)) if self.gate is None else F.silu(self.up(h)) * self.gate(h)
        return self.read(self.g2 * rms_norm(h + self.down(hidden)))[:, 0]


def baseline(kernel: str, gated: bool, epochs: int, seed: int) -> float:
    """The RMSE on the test points after training."""
    data = find_adapter("gaussian_process").open({"kernel": kernel, "inputs": 10}, None)
    splits = {part: data.split(part) for part in ("train", "test")}
    batches = {part: split.batch(range(len(split))) for part, split in splits.items()}
    (x, y), (probe, truth) = (
        (torch.as_tensor(b["x"], dtype=torch.float32), torch.as_tensor(b["y"], dtype=torch.float32))
        for b in (batches["train"], batches["test"])
    )
    torch.manual_seed(seed)
    model, steps = Baseline(gated), epochs * math.ceil(len(x) / BATCH)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            F.mse_loss(model(x[rows]), y[rows]).backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        return math.sqrt(float(F.mse_loss(model(probe), truth)))


def cem(kernel: str, updates: int, epochs: int, seed: int, out: Path) -> float:
    """The RMSE of ``specs/cem_mlp.energy`` with T steps, at the end of its run."""
    spec = out / f"cem-{kernel}.energy"
    text = (folder("specs") / "cem_mlp.energy").read_text(encoding="utf-8")
    spec.write_text(text.replace("kernel = rbf", f"kernel = {kernel}"), encoding="utf-8")
    run = out / f"{kernel}-T{updates}-{seed}"
    trained(spec, run, seed, {"relax.steps": updates, "train.epochs": epochs})
    return math.sqrt(evaluations(run)[-1]["cost"])


def measured(out: Path, kernel: str, model: str, epochs: int, seed: int) -> float:
    """One entry of the table, from the file where it is kept, or trained."""

    def measure() -> dict[str, float]:
        if model.startswith("CEM-T"):
            rmse = cem(kernel, int(model.removeprefix("CEM-T")), epochs, seed, out)
        else:
            rmse = baseline(kernel, model == "gated", epochs, seed)
        return {"rmse": rmse, "epochs": epochs}

    return float(kept(out / f"{kernel}-{model}-{seed}.json", measure)["rmse"])


def main() -> None:
    """Train what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--kernels", default=",".join(KERNELS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    models = ("plain", "gated", "CEM-T1", "CEM-T2", "CEM-T4")
    print("| kernel | " + " | ".join(models) + " |\n" + "|---" * (len(models) + 1) + "|")
    for kernel in options.kernels.split(","):
        cells = []
        for model in models:
            found = [measured(options.out, kernel, model, options.epochs, seed) for seed in range(options.seeds)]
            spread = statistics.stdev(found) if len(found) > 1 else 0.0
            cells.append(f"{statistics.mean(found):.4f} ± {spread:.4f}")
        print(f"| {kernel} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
