"""Specs and texts that try to become part of a page."""

from __future__ import annotations

#: What must not come out of its place, wherever it is written.
ATTACKS = (
    "</script><script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "</style></title><svg onload=window.hacked=1>",
    "{{ 7 * 7 }} <!-- ",
)
SPEC = """\
network hostile
dim I = 3, J = 2
clamp x[I]
target t[J]
param W[I, J] ~ normal(0.5)
state s[J]
energy leak = 1/2 * sum[j](s[j]^2)
energy pull = -sum[i,j](x[i] * W[i,j] * s[j])
readout y[j] = s[j]
cost mse = 1/2 * sum[j]((y[j] - t[j])^2)
relax { step = 1/2, steps = 20 }
train { rule = centered-ep }
"""


def hostile() -> str:
    """A spec whose description is all attacks."""
    return "".join(f"# {attack}\n" for attack in ATTACKS) + SPEC


def harmless(page: str) -> bool:
    """Whether no attack stands in a page as it was written."""
    return not any(attack in page for attack in ATTACKS[:3])
