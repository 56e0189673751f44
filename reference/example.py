"""Hold code of your own against a reference: here the Hopfield network of specs/hopfield.energy, in NumPy.

python reference/example.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
ref = load_file(folder / "hopfield.safetensors")
W1, b1, W2, b2 = (ref[f"param.{name}"] for name in ("W1", "b1", "W2", "b2"))
x, label = ref["clamp.x"], ref["target.label"]


def force(s, y):
    """Minus the gradient of the energy, for a batch of states."""
    return x @ W1 + b1 + y @ W2.T - s, s @ W2 + b2 - y


def energy(s, y):
    """The energy of each sample."""
    leak = (s**2).sum(1) / 2 + (y**2).sum(1) / 2
    synapses = ((x @ W1) * s).sum(1) + ((s @ W2) * y).sum(1)
    return leak - synapses - s @ b1 - y @ b2


def report(what, found, expected):
    """Print the largest difference, and stop where it is more than rounding."""
    error = np.abs(found - expected).max()
    print(f"{what}: {error:.1e}")
    assert error < 1e-9, what


s, y = ref["point.state.s"], ref["point.state.y"]
report("energy at the point", energy(s, y), ref["point.energy"])
report("force on s at the point", force(s, y)[0], ref["point.force.s"])

s, y = np.zeros_like(s), np.zeros_like(y)
for _ in range(500):  # projected descent to the rest
    down_s, down_y = force(s, y)
    s, y = np.clip(s + down_s / 2, 0, 1), np.clip(y + down_y / 2, 0, 1)
report("states at rest", s, ref["rest.state.s"])

# The gradient by equilibrium propagation: two relaxations, nudged by +beta and -beta.
beta, rest = 1e-4, (s, y)
contrast = []
for nudge in (beta, -beta):
    s, y = rest
    for _ in range(500):
        down_s, down_y = force(s, y)
        down_y = down_y - nudge * (y - np.eye(W2.shape[1])[label])
        s, y = np.clip(s + down_s / 2, 0, 1), np.clip(y + down_y / 2, 0, 1)
    contrast.append(-s.T @ y / len(s))  # dE/dW2
found = (contrast[0] - contrast[1]) / (2 * beta)
print(f"gradient of W2 by equilibrium propagation: {np.abs(found - ref['gradient.W2']).max():.1e}")
