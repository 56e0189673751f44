"""Random networks whose states move exactly in blocks: quadratic in each state, bilinear between states."""

from __future__ import annotations

import random

DIMS = {"A": 3, "B": 4, "C": 2}
SETS = ("", "", " in [0, 1]", " in [-1/2, 2]", " in nonnegative")
#: The factor of a square, and the param that it reads: a number, a param, a sum of params.
FACTORS = (
    ("1/2", ""),
    ("3/4", ""),
    ("1/2 * c{k}[i{k}]", "c{k}[{d}] ~ uniform(0.5, 2) in [1/10, 3]"),
    ("(1/3 + 1/2 * sum[m](c{k}[i{k},m]))", "c{k}[{d}, A] ~ uniform(0, 1) in nonnegative"),
)


def drawn(seed: int, strength: float = 0.1) -> str:
    """A network of two to five states; ``strength`` is that of the weights between them."""
    r = random.Random(seed)
    dims = [r.choice("ABC") for _ in range(r.randint(2, 5))]
    sizes = ", ".join(f"{d} = {size}" for d, size in DIMS.items())
    lines = ["network drawn", f"dim {sizes}", "clamp x[A]", "target t[C]", f"param V[A, {dims[0]}] ~ normal(1/2)"]
    terms = ["-sum[m,i0](x[m] * V[m,i0] * z0[i0])"]
    for k, d in enumerate(dims):
        factor, param = (text.format(k=k, d=d) for text in r.choice(FACTORS))
        lines += [f"state z{k}[{d}]{r.choice(SETS)}", f"param b{k}[{d}] ~ normal(1/2)"]
        lines += [f"param {param}"] if param else []
        terms.append(f"sum[i{k}]({factor} * z{k}[i{k}]^2 - b{k}[i{k}] * z{k}[i{k}])")
        terms += [f"1/5 * sum[i{k}](abs(z{k}[i{k}]))"] if r.random() < 0.3 else []
        for j in range(k):
            if j == k - 1 or r.random() < 0.2:
                lines.append(f"param W{k}{j}[{d}, {dims[j]}] ~ normal({strength})")
                terms.append(f"-sum[i{k},i{j}](z{k}[i{k}] * W{k}{j}[i{k},i{j}] * z{j}[i{j}])")
    lines += [f"energy e{k} = {term}" for k, term in enumerate(terms)]
    return "\n".join([*lines, *_answers(r, len(dims) - 1, dims[-1])]) + "\n"


def _answers(r: random.Random, k: int, d: str) -> list[str]:
    """A cost of the last state whose gradient is affine in each of its entries, or mixes them."""
    apart = f"1/2 * sum[i{k}]((z{k}[i{k}] - sum[j](t[j]))^2)"
    mixed = f"1/2 * sum[j]((t[j] - sum[i{k}](R[j,i{k}] * z{k}[i{k}]))^2)"
    cost = r.choice((apart, mixed))
    return [
        *([f"param R[C, {d}] ~ normal(1/2)"] if cost == mixed else []),
        f"readout o[i{k}] = z{k}[i{k}]",
        f"cost error = {cost}",
        "relax { step = 1/8, steps = 40 }",
        "nudge { beta = 1/8, steps = 40 }",
        "train { rule = centered-ep }",
    ]
