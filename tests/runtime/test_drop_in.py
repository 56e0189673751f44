"""A compiled layer inside an ordinary torch network: gradients, dtypes, autocast, modes, copies."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import energyc
from energyc.resources import folder
from tests.independent import tel

INPUTS, CHANNELS, CLASSES, BATCH = 6, 5, 3, 9
BATCHES = torch.Generator().manual_seed(7)
X = torch.randn(BATCH, 1, 8, generator=BATCHES, dtype=torch.float64)
LABEL = torch.randint(CLASSES, (BATCH,), generator=BATCHES)


class Layer(nn.Module):
    """TEL as a module of one input and one output."""

    def __init__(self) -> None:
        super().__init__()
        self.tel = energyc.load(
            folder("specs") / "tel.energy", dims={"I": INPUTS, "C": CHANNELS}, dtype=torch.float64, seed=3
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.tel({"x": x}, rule="bptt")["out"]
        return out


def host() -> nn.Sequential:
    torch.manual_seed(1)
    layers = [nn.Conv1d(1, 2, 3), nn.ReLU(), nn.AvgPool1d(2), nn.Flatten(), Layer(), nn.Linear(CHANNELS, CLASSES)]
    return nn.Sequential(*layers).double()


def loss_of(net: nn.Module, x: Tensor = X) -> Tensor:
    return nn.functional.cross_entropy(net(x).float() if x.dtype != torch.float64 else net(x), LABEL)


@pytest.mark.parametrize("training", [True, False])
def test_gradients_flow_through_to_every_param_of_the_host(training: bool) -> None:
    net = host().train(training)
    net[4].tel.relax_tolerance = None  # every step, so that the transcription needs no exits
    found = torch.autograd.grad(loss_of(net), list(net.parameters()))
    params = net[4].tel.params
    features, head = nn.Sequential(*net[:4]), net[5]
    wanted = torch.autograd.grad(
        nn.functional.cross_entropy(head(tel.run(params, features(X), training).y[-1]), LABEL), list(net.parameters())
    )
    for (name, _), one, other in zip(net.named_parameters(), found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12, msg=name)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.06)])
def test_it_takes_the_dtype_of_its_host(dtype: torch.dtype, tolerance: float) -> None:
    exact, net = host(), host().to(dtype)
    assert net[4].tel.dtype == dtype
    loss, reference = loss_of(net, X.to(dtype)), loss_of(exact)
    loss.backward()  # type: ignore[no-untyped-call]
    reference.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(reference.item(), rel=tolerance)
    whole = torch.cat([p.grad.double().flatten() for p in net.parameters() if p.grad is not None])
    wanted = torch.cat([p.grad.flatten() for p in exact.parameters() if p.grad is not None])
    assert all(p.grad is not None and p.grad.dtype == dtype for p in net.parameters())
    assert float((whole - wanted).norm() / wanted.norm()) < tolerance


def test_training_in_bfloat16_lowers_the_loss() -> None:
    net = host().to(torch.bfloat16)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = loss_of(net, X.to(torch.bfloat16))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        net[4].tel.project_params()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_in_bfloat16_an_implicit_solve_is_refused() -> None:
    net = energyc.load(folder("specs") / "modern_hopfield.energy").to(torch.bfloat16)
    shapes = {name: torch.zeros(2, *shape, dtype=torch.bfloat16) for name, (shape, _) in net.clamp_shapes.items()}
    out = next(iter(net(shapes, rule="implicit").values()))
    with pytest.raises(RuntimeError, match=r"needs float32 or float64, and modern_hopfield is in torch\.bfloat16"):
        out.sum().backward()
    next(iter(net(shapes, rule="bptt").values())).sum().backward()


def test_autocast_does_not_reach_into_the_layer() -> None:
    net: Any = Layer().float()
    x = X.flatten(1)[:, :INPUTS].float()
    plain = net(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = net(x)
        loss = cast.square().sum()
        loss.backward()
    assert torch.equal(plain, cast)
    seen = net.tel.params["W"].grad.clone()
    net.zero_grad()
    plain.square().sum().backward()
    assert torch.equal(seen, net.tel.params["W"].grad)


def test_it_is_in_the_mode_of_its_host_and_is_copied_and_saved_with_it() -> None:
    net = host()
    assert not net.eval()[4].tel.training
    assert net.train()[4].tel.training
    twin = copy.deepcopy(net)
    assert torch.equal(twin(X), net(X))
    other = host()
    with torch.no_grad():
        for param in other.parameters():
            param.zero_()
    other.load_state_dict(net.state_dict())
    assert torch.equal(other(X), net(X))
    names = {name for name, _ in net.named_parameters()}
    assert {"4.tel.W", "4.tel.log_eta", "4.tel.tau0"} <= names


def test_gradients_of_integers_and_of_what_needs_none_are_left_out() -> None:
    net = Layer().requires_grad_(False)
    x = X.flatten(1)[:, :INPUTS].clone().requires_grad_()
    net(x).sum().backward()
    assert x.grad is not None
    assert all(p.grad is None for p in net.parameters())


def test_noise_that_asks_for_a_gradient_is_refused() -> None:
    """It has none, and would get None in silence."""
    text = "network noisy\ndim D = 2\nclamp x[D]\nnoise eps[D] ~ normal(1)\nstate z[D]\n"
    text += "energy e = 1/2 * sum[d]((z[d] - x[d] - eps[d])^2)\n"
    text += "readout out[d] = z[d]\nrelax { step = 1/2, steps = 40 }\n"
    net = energyc.load(text)
    clamps = {"x": torch.ones(3, 2), "eps": torch.zeros(3, 2, requires_grad=True)}
    with pytest.raises(ValueError, match="the noise eps of noisy has no gradient: declare it a clamp, or detach it"):
        net(clamps)
    assert net({**clamps, "eps": clamps["eps"].detach()})["out"].shape == (3, 2)
