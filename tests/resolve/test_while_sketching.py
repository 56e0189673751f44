"""What does not stop one who is writing a spec: consts in blocks, params that nothing reads, rules by other names."""

from __future__ import annotations

import pytest
import torch

import energyc
from energyc.pipeline import Choices, read, resolve

STACK = """
network stack
dim L = 2, D = 3
clamp x[D]
target t[D]
repeat L {
  const rate = 1/2
  state s[D]
  start s[d] = x[d]
  layer cell {
    const gain = 2
    param w[D] = 1, spare[D] = 0
    state z[D]
    energy e = gain/2 * sum[d](z[d]^2) - sum[d](rate * s[d] * w[d] * z[d])
    relax { step = 1/2, steps = 30 }
  }
  next s[d] = cell.z[d]
}
readout y[d] = s[d]
cost mse = 1/2 * sum[d]((y[d] - t[d])^2)
train { rule = bptt }
"""


def test_a_const_in_a_block_is_one_of_the_file() -> None:
    network = resolve(read(STACK))
    assert {name: const.value for name, const in network.consts.items()} == {"rate": 0.5, "gain": 2.0}
    x = torch.ones(1, 3, dtype=torch.float64)
    for gain in (2.0, 1.0):
        net = energyc.load(STACK, consts={"gain": gain}, dtype="float64", target="torch")
        torch.testing.assert_close(net(x)["y"].detach(), x * (0.5 / gain) ** 2, rtol=1e-5, atol=1e-8)
    outside = STACK.replace("  const rate = 1/2\n", "").replace("    const gain = 2\n", "")
    moved = outside.replace("repeat L {", "const rate = 1/2, gain = 2\nrepeat L {")
    nets = [energyc.load(spec, dtype="float64", target="torch") for spec in (STACK, moved)]
    torch.testing.assert_close(nets[0](x)["y"], nets[1](x)["y"], rtol=0, atol=0)


def test_two_consts_of_one_name_are_an_error_whatever_block_they_are_in() -> None:
    with pytest.raises(energyc.SpecError, match=r"E0202.*`gain` is declared twice"):
        resolve(read(STACK.replace("const rate = 1/2", "const rate = 1/2, gain = 1")))


@pytest.mark.parametrize("rule", ["bptt", "implicit", "centered-ep", "tracking-aep"])
def test_a_param_that_nothing_reads_is_a_warning_and_has_a_gradient_of_zeros(rule: str) -> None:
    network = resolve(read(STACK), Choices())
    assert [(d.code, d.message) for d in network.warnings] == [("W0201", "param `spare` is never used")]
    net, x = energyc.load(STACK, dtype="float64", target="torch"), torch.ones(2, 3, dtype=torch.float64)
    found = net.gradients({"x": x}, {"t": 0 * x}, rule=rule).params
    assert not found["cell.spare"].any() and found["cell.w"].abs().min() > 0


@pytest.mark.parametrize(("said", "meant"), [
    ("equilibrium-propagation", "centered-ep"),
    ("equilibrium_propagation", "centered-ep"),
    ("backpropagation", "bptt"),
    ("vector-field", "vf"),
    ("contrastive-hebbian-learning", "chl"),
    ("implicit-differentiation", "implicit"),
])  # fmt: skip
def test_a_rule_by_another_name_is_known_by_its_meaning(said: str, meant: str) -> None:
    with pytest.raises(energyc.SpecError, match=f"did you mean `{meant}`"):
        resolve(read(STACK.replace("rule = bptt", f"rule = {said}")))
