"""Order, schedule, optimisers, penalty controller, feeds: each against a plain statement of what it should be."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from energyc.language.diagnostics import UserError
from energyc.language.settings import Call
from energyc.language.settings.train import OPTIMIZERS, JacobianPenalty, TrainOptions
from energyc.running.training.feeds import Feed, Feeds
from energyc.running.training.learner import Learner
from energyc.running.training.network import Tensors, learnable
from energyc.running.training.optimizers import make_optimizer, pack, set_rates, take_step, unpack
from energyc.running.training.order import Order, evenly_spread, key_noise
from energyc.running.training.schedule import Controller, rate_factor
from tests.train.tiny import TinyData, TinyNet, make_session


def test_each_epoch_sees_every_sample_once() -> None:
    order = Order(seed=3, samples=23, batch=5)
    epochs = [np.concatenate([order.indices(5 * epoch + k) for k in range(5)]) for epoch in range(3)]
    assert order.updates == 5
    assert all(sorted(epoch) == list(range(23)) for epoch in epochs)
    assert not np.array_equal(epochs[0], epochs[1])


def test_order_is_a_function_of_seed_and_step() -> None:
    forwards, afresh = Order(1, 40, 8), Order(1, 40, 8)
    seen = [forwards.indices(step) for step in range(17)]
    assert np.array_equal(afresh.indices(16), seen[16])
    assert not np.array_equal(Order(2, 40, 8).indices(16), seen[16])


def test_noise_is_a_function_of_seed_and_step() -> None:
    def draw(seed: int, step: int) -> float:
        key_noise(seed, step)
        return float(torch.rand(()))

    with torch.random.fork_rng():
        assert draw(0, 5) == draw(0, 5)
        assert len({draw(0, 5), draw(0, 6), draw(1, 5), draw(5, 0)}) == 4


def test_spread_covers_the_split() -> None:
    assert list(evenly_spread(10, 5)) == [0, 2, 4, 6, 8]
    assert list(evenly_spread(3, 100)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("settings", "total", "every", "samples"),
    [
        ({}, 3, 1, 32),
        ({}, 1000, 100, 2000),
        ({"batch": 4}, 1000, 100, 400),
        ({"batch": 4, "eval_every": 7}, 1000, 7, 2000),
        ({"batch": 4, "eval_samples": 900}, 1000, 100, 900),
        ({"batch": 4, "metrics": ["macro_f1"]}, 1000, 100, 2000),
    ],
)
def test_an_evaluation_takes_no_more_samples_than_the_updates_since_the_last_one(
    settings: dict[str, Any], total: int, every: int, samples: int
) -> None:
    """Unless the settings say otherwise."""
    options = TrainOptions.from_settings(settings)
    assert options.evaluated_every(total, epoch=500) == every
    assert options.evaluated_samples(every) == samples


def test_schedules() -> None:
    cosine = TrainOptions.from_settings({"lr": 1, "final_lr": 0.1, "schedule": Call("cosine", keywords={"warmup": 10})})
    assert [rate_factor(cosine, step, 111) for step in (0, 9, 10)] == pytest.approx([0.1, 1, 1])
    assert rate_factor(cosine, 60, 111) == pytest.approx(0.1 + 0.9 * (1 + math.cos(math.pi / 2)) / 2)
    assert rate_factor(cosine, 110, 111) == pytest.approx(0.1)
    share = replace(cosine, warmup=1 / 11)
    assert all(rate_factor(share, step, 110) == rate_factor(cosine, step, 110) for step in range(110))
    assert [share.warmup_updates(total) for total in (5, 6, 1100)] == [0, 1, 100]
    linear = TrainOptions.from_settings({"lr": 2, "schedule": "linear"})
    assert [rate_factor(linear, step, 11) for step in (0, 5, 10)] == pytest.approx([1, 0.5, 0])


def test_learnable_leaves_out_ties() -> None:
    assert list(learnable(TinyNet())) == ["W", "b"]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_packed_optimizer_goes_on_bit_for_bit(name: str, dtype: torch.dtype) -> None:
    settings = {"optimizer": name, "lr": 0.01, "lr.b": 0.1, "weight_decay": 0.01}
    if name in ("sgd", "rmsprop"):
        settings["momentum"] = 0.9
    options = TrainOptions.from_settings(settings)
    seed = int(np.random.default_rng().integers(2**31))
    print(f"seed {seed}")

    def start() -> tuple[dict[str, torch.Tensor], torch.optim.Optimizer]:
        params = {key: torch.ones(4, dtype=dtype, requires_grad=True) for key in ("W", "b.c", "b")}
        return params, make_optimizer(options, params)

    def go(params: dict[str, torch.Tensor], optimizer: torch.optim.Optimizer, steps: range) -> None:
        for step in steps:
            generator = torch.Generator().manual_seed(seed + step)
            for param in params.values():
                param.grad = torch.randn(4, generator=generator, dtype=dtype)
            optimizer.step()

    whole, uninterrupted = start()
    go(whole, uninterrupted, range(9))
    first, before = start()
    go(first, before, range(5))
    second, after = start()
    with torch.no_grad():
        for key, param in second.items():
            param.copy_(first[key])
    unpack(after, pack(before))
    go(second, after, range(5, 9))
    assert all(torch.equal(whole[key], second[key]) for key in whole)
    assert not torch.equal(whole["W"], torch.ones(4, dtype=dtype))


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_does_not_depend_on_how_a_gradient_lies(name: str, dtype: torch.dtype) -> None:
    """Torch's steps in one pass read it as they read the param."""
    seed = int(np.random.default_rng().integers(2**31))
    print(f"seed {seed}")
    found = []
    for fused in (None, False):
        options = TrainOptions.from_settings({"optimizer": name, "lr": 0.01, "lr.b": 0.1})
        param, other = (torch.ones(5, 3, dtype=dtype, requires_grad=True) for _ in range(2))
        optimizer = make_optimizer(options, {"W": param, "b": other})
        if fused is False:
            for group in (optimizer.defaults, *optimizer.param_groups):
                group.update({key: False for key in ("fused", "foreach") if key in group})
        generator = torch.Generator().manual_seed(seed)
        for _ in range(4):
            param.grad = torch.randn(3, 5, generator=generator, dtype=dtype).T
            other.grad = torch.randn(10, 3, generator=generator, dtype=dtype)[::2]
            take_step(optimizer)
        found.append(torch.cat([param, other]).detach())
    torch.testing.assert_close(*found, rtol=0, atol=1e-6 if dtype == torch.float32 else 1e-14)


def test_a_decay_of_its_own() -> None:
    """AdamW without a gradient multiplies a param by 1 - lr * decay."""
    options = TrainOptions.from_settings({"optimizer": "adamw", "lr": 0.1, "weight_decay": 0.5, "weight_decay.b": 0.25})
    params = {key: torch.ones(3, dtype=torch.float64, requires_grad=True) for key in ("W", "b")}
    optimizer = make_optimizer(options, params)
    for param in params.values():
        param.grad = torch.zeros(3, dtype=torch.float64)
    take_step(optimizer)
    for key, left in {"W": 1 - 0.1 * 0.5, "b": 1 - 0.1 * 0.25}.items():
        torch.testing.assert_close(params[key], torch.full_like(params[key], left), rtol=0, atol=1e-14)


def test_momentum_of_a_single_param() -> None:
    params = {name: torch.nn.Parameter(torch.ones(2)) for name in ("W", "b")}
    options = TrainOptions.from_settings({"optimizer": "sgd", "lr": 0.1, "momentum": 0.9, "momentum.b": 0})
    assert TrainOptions.from_json(options.to_json()) == options
    optimizer = make_optimizer(options, params)
    for _ in range(2):
        for param in params.values():
            param.grad = torch.ones(2)
        take_step(optimizer)
    assert torch.allclose(params["W"], torch.full((2,), 1 - 0.1 - 0.1 * 1.9))
    assert torch.allclose(params["b"], torch.full((2,), 1 - 0.2))


def test_rate_of_an_unknown_param() -> None:
    with pytest.raises(UserError, match=r"lr\.W3") as caught:
        make_optimizer(TrainOptions.from_settings({"lr.W3": 1}), {"W1": torch.zeros(1, requires_grad=True)})
    assert "W1" in str(caught.value.help)


def test_controller_holds_its_law() -> None:
    penalty = JacobianPenalty(target=1e-4, floor=1e-4, ceiling=10)
    after = Controller(0.01).after(1e-2, penalty)
    assert after.weight == pytest.approx(0.01 * 100**0.3) and after.average == 1e-2
    again = after.after(1e-4, penalty)
    assert again.average == pytest.approx(0.9e-2 + 0.1e-4)
    assert Controller(1e-4).after(1e-9, penalty).weight == 1e-4
    assert Controller(9.0).after(1e9, penalty).weight == 10
    assert Controller(0.1, 1e-3).after(float("inf"), penalty) == Controller(10, 1e-3)


def test_one_sgd_update_is_the_formula(tmp_path: Path) -> None:
    session = make_session(tmp_path, {"optimizer": "sgd", "lr": 0.1, "lr.b": 0.3, "batch": 8})
    feed = Feed(session.feeds, "train", "cpu", torch.float32)
    learner = Learner(session, feed)
    weights = {name: param.detach().clone() for name, param in learner.params.items()}
    batch = feed.batch(learner.order.indices(0), augment=True)
    leaves = {name: value.clone().requires_grad_() for name, value in weights.items()}
    guess = batch.clamps["x"] @ leaves["W"].T + leaves["b"]
    ((guess - batch.targets["t"]) ** 2).mean().backward()
    learner.update(0)
    for name, rate in (("W", 0.1), ("b", 0.3)):
        expected = weights[name] - rate * leaves[name].grad
        assert torch.allclose(learner.params[name], expected, atol=1e-7)


def test_gated_samples_take_no_part(tmp_path: Path) -> None:
    session = make_session(tmp_path, {"optimizer": "sgd", "gate": 0.5, "batch": 8})
    learner = Learner(session, Feed(session.feeds, "train", "cpu", torch.float32))
    plain, calls = session.net.gradients, []

    def unsettled(clamps: dict[str, torch.Tensor], targets: dict[str, torch.Tensor], **settings: object) -> object:
        result = plain(clamps, targets)
        calls.append(len(result.residual))
        if len(result.residual) == 8:
            result.residual[:3] = torch.tensor([1.0, float("nan"), float("inf")])
        return result

    session.net.gradients = unsettled  # type: ignore[method-assign]
    row = learner.update(0)
    assert row["gated"] == 3 and calls == [8, 5]


def test_samples_that_settled_are_not_relaxed_again(tmp_path: Path) -> None:
    """What is measured once more begins where they rest, and takes no step of a free phase."""
    session = make_session(tmp_path, {"gate": 1e-9, "batch": 8})
    learner = Learner(session, Feed(session.feeds, "train", "cpu", torch.float32))
    indices, settled = learner.order.indices(0), torch.arange(8) > 2
    seen, plain = learner._contrast(indices, 0), session.net.gradients
    given = dict[str, Any]()

    def again(clamps: dict[str, torch.Tensor], targets: dict[str, torch.Tensor], **settings: Any) -> object:
        given.update(settings)
        return plain(clamps, targets, settings["rule"])

    session.net.gradients = again  # type: ignore[method-assign]
    assert len(learner._of_settled(seen, settled, indices, 0).cost) == 5
    assert given["steps"] == 0 and set(given["states"]) == set(seen.own.states)
    assert all(torch.equal(given["states"][name], value[settled]) for name, value in seen.own.states.items())


@pytest.mark.parametrize("unsettled", [3, 8])
def test_the_defence_is_of_all_samples_that_are_finite(tmp_path: Path, unsettled: int) -> None:
    """Of those beyond the gate one is not finite; where all are, the defence alone moves the params."""
    options = {"optimizer": "sgd", "lr": 0.5, "gate": 0.5, "batch": 8, "residual_defence": 0.25}
    session = make_session(tmp_path, options)
    learner = Learner(session, Feed(session.feeds, "train", "cpu", torch.float32))
    plain, calls = session.net.gradients, []

    def gradients(clamps: Tensors, targets: Tensors, contrast: bool = True, **settings: Any) -> Any:
        result = plain(clamps, targets)
        calls.append((len(result.residual), contrast, settings.get("residual_defence")))
        if len(calls) == 1:
            result.residual[:unsettled] = 1.0
            result.residual[0] = float("inf")
        for value in result.params.values():
            value.fill_(1.0 if contrast else 0.125)
        return result

    session.net.gradients = gradients  # type: ignore[method-assign]
    before = {name: param.detach().clone() for name, param in learner.params.items()}
    row = learner.update(0)
    contrasts = [(5, True, None)] if unsettled == 3 else []
    assert calls == [(8, True, None), (7, False, 0.25), *contrasts]
    assert row["gated"] == unsettled
    for name, param in learner.params.items():
        moved = 1.125 if unsettled == 3 else 0.125
        assert torch.allclose(before[name] - param, torch.full_like(param, 0.5 * moved), atol=1e-6)


def test_bindings_of_different_length() -> None:
    feeds = Feeds({"a": TinyData(), "b": TinyData(samples=4)}, {"x": ("a", "x")}, {"t": ("b", "t")})
    with pytest.raises(UserError, match="a 50, b 4"):
        Feed(feeds, "train", "cpu", torch.float32)
    with pytest.raises(UserError, match="binds no data"):
        Feed(Feeds({}, {}, {}), "train", "cpu", torch.float32)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rates_along_a_dim_are_those_of_params_of_their_own(name: str) -> None:
    """A param with a rate for each index moves as separate params with these rates do, for every optimiser."""
    common = {"optimizer": name, "weight_decay": 0.1, **({"momentum": 0.9} if name in ("sgd", "rmsprop") else {})}
    rates = [0.05, 0.0, 0.2]
    seed = int(np.random.default_rng().integers(2**31))
    print(f"seed {seed}")
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    joint = {"W": start.clone().requires_grad_()}
    apart = {f"W{k}": start[k].clone().requires_grad_() for k in range(3)}
    one = make_optimizer(TrainOptions.from_settings({**common, "lr.W": rates}), joint)
    several = make_optimizer(
        TrainOptions.from_settings({**common, **{f"lr.W{k}": rate for k, rate in enumerate(rates)}}), apart
    )
    for step in range(7):
        gradient = torch.randn(3, 4, generator=generator, dtype=torch.float64)
        joint["W"].grad = gradient.clone()
        for k in range(3):
            apart[f"W{k}"].grad = gradient[k].clone()
        for optimizer in (one, several):
            set_rates(optimizer, 1 / (1 + step))
            take_step(optimizer)
    torch.testing.assert_close(joint["W"], torch.stack(list(apart.values())), rtol=1e-11, atol=1e-12)
    assert not torch.equal(joint["W"][0], start[0])


def test_geometric_rates_go_from_first_to_last() -> None:
    options = TrainOptions.from_settings({"lr.W": Call("geometric", {"first": 0.1, "last": 0.001})})
    assert options.rate("W", 3) == pytest.approx((0.1, 0.01, 0.001))
    assert options.rate("W", 1) == (0.1,)
    param = torch.zeros(3, 2, requires_grad=True)
    optimizer = make_optimizer(options, {"W": param})
    param.grad = torch.ones(3, 2)
    take_step(optimizer)  # Adam's first step is the rate
    torch.testing.assert_close(param.detach()[:, 0], -torch.tensor([0.1, 0.01, 0.001]))


@pytest.mark.parametrize("shape", [(), (2,), (4, 3)])
def test_rates_that_are_not_one_for_each_index_are_refused(shape: tuple[int, ...]) -> None:
    options = TrainOptions.from_settings({"lr.W": [0.1, 0.2, 0.3]})
    with pytest.raises(UserError, match=r"train\.lr\.W gives 3 rates, and W has") as raised:
        make_optimizer(options, {"W": torch.zeros(shape, requires_grad=True)})
    assert raised.value.code == "E0502"
