"""Steps that are recorded and replayed: the numbers, what is read, and how often a device is waited for."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

import energyc
from energyc.resources import folder
from energyc.runtime.relaxation.graphs import MOST_GRAPHS, MOST_MET, Graphs
from energyc.runtime.tensors import states as states_of_runtime
from energyc.studies.verify import random_probe
from tests.emit.kernels import replay_plainly
from tests.quick import few

SPECS = folder("specs")
CASES = {
    "hopfield": ("centered-ep", {}),
    "cet": ("centered-ep", {"preset": "verify"}),
    "thick": ("tracking-aep", {"preset": "verify"}),
    "thin": ("aep", {"preset": "verify"}),
    "resistive": ("ep", {}),
}

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def loaded(name: str, device: str = "cpu", **settings: object) -> Any:
    rule, choices = CASES[name]
    named = {key.replace("_", ".", 1): value for key, value in settings.items()}
    net = energyc.load(
        SPECS / f"{name}.energy", rules=[rule], dtype=torch.float64, device=device, settings=named, **choices
    )
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for param in net.parameters():
            param += 0.1 * torch.randn(param.shape, generator=random, dtype=param.dtype).to(device)
    return net


def recording(net: Any) -> Any:
    """A network on a CPU that records as one on a GPU does, but for the graph."""
    net.graphs = Graphs(replay_plainly, "cpu")
    return net


# -------------------------------------------------------------------- the recorder


def doubled(moving: list[Tensor], read: list[Tensor]) -> None:
    moving[0].mul_(2).add_(read[0])


def test_what_is_met_again_is_recorded_and_replayed_on_new_values() -> None:
    recorded: list[Callable[[], None]] = []

    def record(work: Callable[[], None], device: torch.device) -> Callable[[], object]:
        recorded.append(work)
        return replay_plainly(work, device)

    graphs = Graphs(record, "cpu")
    for turn in range(5):
        x, y = torch.full((3,), float(turn)), torch.full((3,), 10.0 * turn)
        graphs.run("double", doubled, [x], [y])
        assert x.tolist() == [12.0 * turn] * 3
        assert y.tolist() == [10.0 * turn] * 3
        assert len(recorded) == (turn > 0)
    graphs.run("double", doubled, [torch.zeros(4)], [torch.zeros(4)])
    assert len(recorded) == 1


def test_a_graph_reads_what_it_was_recorded_with_and_nothing_of_later_calls() -> None:
    """A value that is not a tensor of the call is that of the recording, so it must be part of the key."""
    graphs = Graphs(replay_plainly, "cpu")
    for factor, expected in ((2.0, 2.0), (2.0, 2.0), (3.0, 2.0)):

        def body(moving: list[Tensor], read: list[Tensor], factor: float = factor) -> None:
            moving[0].mul_(factor)

        x = torch.ones(1)
        graphs.run("one key", body, [x], [])
        assert float(x) == expected


def test_a_bounded_number_is_kept() -> None:
    graphs = Graphs(replay_plainly, "cpu")
    for _ in range(2):
        for n in range(MOST_MET):
            graphs.run(n, doubled, [torch.zeros(2)], [torch.zeros(2)])
    assert len(graphs.recorded) == MOST_GRAPHS
    for n in range(3 * MOST_MET):
        graphs.run(("other", n), doubled, [torch.zeros(2)], [torch.zeros(2)])
    assert len(graphs.met) == MOST_MET


def test_what_cannot_be_recorded_runs_as_it_is_and_says_so() -> None:
    def refuse(work: Callable[[], None], device: torch.device) -> Callable[[], object]:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    graphs = Graphs(refuse, "cpu")
    for turn in range(4):
        x = torch.ones(1)
        if turn == 1:
            with pytest.warns(RuntimeWarning, match="not recorded as a CUDA graph: operation not permitted when"):
                graphs.run("double", doubled, [x], [torch.ones(1)])
        else:
            graphs.run("double", doubled, [x], [torch.ones(1)])
        assert float(x) == 3.0
    assert not graphs.serve(torch.device("cpu"))


# -------------------------------------------------------------------- networks


@pytest.mark.abridged
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_the_same(name: str) -> None:
    plain, net = loaded(name), recording(loaded(name))
    for seed in range(4):
        probe = random_probe(plain, batch=3, seed=seed)
        one, two = (n.gradients(probe.clamps, probe.targets, beta=0.25) for n in (plain, net))
        for key, value in one.params.items():
            assert torch.equal(value, two.params[key]), (seed, key)
        assert torch.equal(one.steps, two.steps)
        assert torch.equal(one.residual, two.residual)
    assert net.graphs.recorded


def test_updates_are_seen() -> None:
    """Params are read where they are; where they move to other memory, steps are recorded anew."""
    plain, net = loaded("hopfield"), recording(loaded("hopfield"))
    for turn in range(6):
        probe = random_probe(plain, batch=3, seed=turn)
        with torch.no_grad():
            for n in (plain, net):
                for param in n.parameters():
                    param.mul_(1.1)
                    if turn == 3:
                        param.data = param.data.clone()
        one, two = (n.relax(probe.clamps).states for n in (plain, net))
        assert all(torch.equal(one[name], two[name]) for name in one), turn


def test_another_beta_is_another_graph() -> None:
    plain, net = loaded("hopfield"), recording(loaded("hopfield"))
    probe = random_probe(plain, batch=3)
    for beta in (0.5, 0.5, 0.25, 0.5, 0.25):
        one, two = (n.gradients(probe.clamps, probe.targets, beta=beta) for n in (plain, net))
        assert all(torch.equal(value, two.params[key]) for key, value in one.params.items()), beta


def test_products_and_training_are_told_apart() -> None:
    net = recording(loaded("hopfield", train_products="bfloat16", relax_tolerance="none").float())
    probe = random_probe(net, batch=3)
    for _ in range(3):
        net.relax(probe.clamps)
    before = len(net.graphs.recorded)
    net.products = "float32"
    expected = recording(loaded("hopfield", relax_tolerance="none").float()).relax(probe.clamps).states
    for _ in range(3):
        found = net.relax(probe.clamps).states
    assert len(net.graphs.recorded) > before
    assert all(torch.equal(found[name], expected[name]) for name in found)


def test_a_copy_records_for_itself() -> None:
    net = recording(loaded("hopfield"))
    probe = random_probe(net, batch=3)
    for _ in range(3):
        net.relax(probe.clamps)
    for other in (copy.deepcopy(net).graphs, pickle.loads(pickle.dumps(net.graphs))):
        assert isinstance(other, Graphs)
        assert not other.recorded
    assert copy.deepcopy(net).relax(probe.clamps).states.keys() == net.relax(probe.clamps).states.keys()


NUMBERED = """\
network rates
dim T = 4, D = 2
clamp x[D]
state z[D]
param rate[T] ~ normal(1)
force pull on z[d] = rate[t] * (x[d] - z[d])
readout out[d] = z[d]
cost c = sum[d](z[d]^2)
relax t in T { step = 0.1 }
train { rule = bptt }
"""


def test_steps_with_numbers_are_not_recorded() -> None:
    net = energyc.load(NUMBERED, rules=["bptt"])
    assert net.numbered
    recording(net)
    probe = random_probe(net, batch=2)
    for _ in range(3):
        net.relax(probe.clamps)
    assert not any(key[0][0] == "free" for key in net.graphs.recorded)


# -------------------------------------------------------------------- both nudges as one batch


@pytest.mark.parametrize("name", few(["hopfield", "cet"], ["hopfield"]))
@pytest.mark.parametrize("snapshots", [None, 3])
def test_two_nudged_phases_in_one_batch_give_the_same(name: str, snapshots: int | None) -> None:
    settings: dict[str, object] = {} if snapshots is None else {"nudge_snapshots": snapshots}
    apart, together = loaded(name, **settings), loaded(name, nudge_together="true", **settings)
    assert not apart._joins
    assert together._joins
    probe = random_probe(apart, batch=3)
    for nudge_steps in ("spec", None):
        one, two = (n.gradients(probe.clamps, probe.targets, nudge_steps=nudge_steps) for n in (apart, together))
        assert one.beta == two.beta
        for key, value in one.params.items():
            rounding = torch.finfo(value.dtype).eps / one.beta  # of states, which a contrast divides by the nudge
            allowed = max(1e-9 * float(value.abs().max()), rounding)
            torch.testing.assert_close(two.params[key], value, rtol=1e-9, atol=allowed)


def test_one_batch_is_half_as_many_evaluations() -> None:
    counts = []
    for settings in ({}, {"nudge_together": "true"}):
        net = loaded("hopfield", **settings)
        net.warned.add("centered-ep")  # no nudged phases are tried beside these
        probe = random_probe(net, batch=3)
        sizes: list[int] = []
        plain = net._force
        net._force = lambda states, fixed, p=plain, s=sizes: s.append(len(states[0])) or p(states, fixed)
        net.gradients(probe.clamps, probe.targets, beta=0.5)
        counts.append((sizes.count(3), sizes.count(6)))
    (apart, none), (free, joint) = counts
    assert none == 0
    assert joint == loaded("hopfield").nudge_steps
    assert apart == free + 2 * joint


def test_samples_that_depend_on_each_other_stay_apart() -> None:
    net = loaded("hopfield", nudge_together="true")
    net.batch_mates = "always"
    assert not net._joins


# -------------------------------------------------------------------- waiting for the device


class Waits(TorchFunctionMode):
    """Counts what makes Python wait for a device: a look at a value, or at how many there are."""

    LOOKS = frozenset(
        {Tensor.__bool__, Tensor.__int__, Tensor.__float__, Tensor.item, Tensor.tolist, Tensor.nonzero, torch.nonzero}
    )

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += function in self.LOOKS
        return function(*args, **(kwargs or {}))


@contextmanager
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waits]:
    """Counts as on a GPU, whose values are not at hand."""
    with monkeypatch.context() as patch, Waits() as counted:
        patch.setattr(states_of_runtime, "at_hand", lambda x: False)
        yield counted


def counted(net: Any, probe: Any, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[int, Any]:
    with waits(monkeypatch) as found:
        relaxed = net.relax(probe.clamps, **settings)
    return found.count, relaxed


def test_a_chunk_waits_once_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    net = loaded("thick", relax_steps=10, relax_chunk=10, relax_max_steps=60)
    probe = random_probe(net, batch=3)
    base, _ = counted(net, probe, monkeypatch, steps=10)
    for looks in (1, 2, 5):
        net.relax_max_steps = 10 * (looks + 1)
        count, found = counted(net, probe, monkeypatch, tolerance=1e-300)
        assert found.steps.tolist() == [10 * (looks + 1)] * 3
        assert count == base + looks, (looks, count, base)
    assert base <= 4  # two for the range of the inputs


def test_exact_steps_do_not_wait_at_all_between(monkeypatch: pytest.MonkeyPatch) -> None:
    net = loaded("thick")
    probe = random_probe(net, batch=3)
    assert len({counted(net, probe, monkeypatch, steps=steps)[0] for steps in (1, 10, 100)}) == 1


def test_norms_that_overflow_are_the_same_without_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[3e200, 4e200], [3.0, 4.0], [0.0, 0.0], [float("inf"), 1.0], [float("nan"), 1.0]]
    x = torch.tensor(rows, dtype=torch.float64)
    near = states_of_runtime.norm(x)
    with waits(monkeypatch) as found:
        far = states_of_runtime.norm(x)
    assert found.count == 0
    torch.testing.assert_close(near, far, equal_nan=True)
    assert near[:3].tolist() == pytest.approx([5e200, 5.0, 0.0])


# -------------------------------------------------------------------- on a GPU


@needs_gpu
@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name: str) -> None:
    plain, net = loaded(name), loaded(name, device="cuda")
    for seed in range(4):
        probe = random_probe(plain, batch=3, seed=seed)
        far = [{key: x.cuda() for key, x in part.items()} for part in (probe.clamps, probe.targets)]
        one, two = plain.gradients(probe.clamps, probe.targets, beta=0.25), net.gradients(*far, beta=0.25)
        for key, value in one.params.items():
            scale = float(value.abs().max())
            torch.testing.assert_close(two.params[key].cpu(), value, rtol=1e-8, atol=1e-8 * scale)
    assert net.graphs.failure is None
    assert net.graphs.recorded


@needs_gpu
def test_on_a_gpu_products_are_those_that_are_asked_for() -> None:
    errors = {}
    probe = random_probe(loaded("cet").float(), batch=3)
    exact = loaded("cet").relax({name: x.double() for name, x in probe.clamps.items()}, steps=3).states["z"]
    for products in ("float32", "tf32", "bfloat16"):
        net = loaded("cet", device="cuda", train_products=products).float()
        found = net.relax({name: x.cuda() for name, x in probe.clamps.items()}, steps=3).states["z"].cpu()
        errors[products] = float((found - exact).norm() / exact.norm())
    assert errors["float32"] < 1e-5 < errors["tf32"] < 5e-3 < 5e-2
    assert errors["tf32"] < errors["bfloat16"] < 5e-2
