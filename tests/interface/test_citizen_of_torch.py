"""What works of torch with a network: the rows of the table in docs/from-torch.md, each by its name."""

from __future__ import annotations

import copy
import gc
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from tests.cli.run import in_python
from tests.interface.test_calls import LAYERS, SPEC, inputs
from tests.interface.test_rule_of_calls import NOISY
from tests.layers.test_nudged_layers import TURNED

ROWS: dict[str, Callable[..., None]] = {}
PAGE = Path(__file__).parents[2] / "docs" / "from-torch.md"
SPECS = pytest.mark.parametrize("spec", [SPEC, LAYERS], ids=["plain", "layers"])


def row(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The test of a row of the table."""

    def named(test: Callable[..., None]) -> Callable[..., None]:
        ROWS[name] = test
        return test

    return named


def network(spec: str = SPEC, **options: Any) -> Any:
    return energyc.load(spec, **{"dtype": "float64", "target": "torch", **options})


class Host(torch.nn.Module):
    """A network inside of another one."""

    def __init__(self, net: Any, **call: Any) -> None:
        super().__init__()
        self.net, self.call = net, call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net({"x": 2 * x}, **self.call)["out"].square()


def with_slopes(module: torch.nn.Module, call: Any, x: torch.Tensor) -> list[torch.Tensor]:
    x = x.clone().requires_grad_()
    out = call(x)
    return [out.detach(), *torch.autograd.grad(out.sum(), [x, *module.parameters()])]


@row("`torch.compile(model, fullgraph=True)`")
@pytest.mark.slow
@SPECS
@pytest.mark.parametrize("rule", ["implicit", "bptt", None])
def test_compile_takes_a_network_as_one_operation(spec: str, rule: str | None) -> None:
    model = Host(network(spec), rule=rule)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    for x in (inputs(5, 1), inputs(3, 2)):
        torch.testing.assert_close(with_slopes(model, compiled, x), with_slopes(model, model, x), rtol=1e-8, atol=1e-9)


@row("`net.relax` under `torch.compile`")
@pytest.mark.slow
@SPECS
def test_relaxations_are_compiled(spec: str) -> None:
    net, x = network(spec), inputs()
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: net.relax({"x": x}, steps=7), fullgraph=True, backend="aot_eager")
    found, expected = compiled(x), net.relax({"x": x}, steps=7)
    torch.testing.assert_close(found.states, expected.states, rtol=0, atol=0)
    torch.testing.assert_close(found.residual, expected.residual, rtol=0, atol=0)
    assert found.steps.tolist() == [7] * 5


@row("`torch.export.export`, with the number of samples left open")
@pytest.mark.slow
@SPECS
@pytest.mark.parametrize("strict", [False, True])
def test_export(spec: str, strict: bool) -> None:
    model = Host(network(spec))
    program = torch.export.export(model, (inputs(),), dynamic_shapes={"x": {0: torch.export.Dim("b")}}, strict=strict)
    torch.testing.assert_close(program.module()(inputs(3)), model(inputs(3)), rtol=0, atol=0)
    assert "energyc.call" in str(program.graph)


@row("`torch.export.save` and `load` in another process")
@pytest.mark.slow
def test_an_exported_program_asks_for_its_network(tmp_path: Path) -> None:
    (tmp_path / "cell.energy").write_text(SPEC)
    model, path = Host(network(str(tmp_path / "cell.energy"))), tmp_path / "model.pt2"
    torch.export.save(torch.export.export(model, (inputs(),)), path)
    expected = model(inputs()).sum().item()
    there = (
        "import torch, energyc\n"
        "import energyc.code.operators\n"
        "program = torch.export.load('model.pt2').module()\n"
        "x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)\n"
        "try: program(x)\nexcept ValueError as error: print(str(error)[:37])\n"
        "net = energyc.load('cell.energy', dtype='float64', target='torch')\n"
        "print(float(program(x).sum()))\n"
    )
    done = in_python(there, folder=tmp_path)
    said, value = done.stdout.splitlines()
    assert said == "this graph calls a network of energyc" and float(value) == pytest.approx(expected, abs=1e-12)


@row("`torch.vmap` over samples")
@SPECS
def test_vmap_makes_more_samples(spec: str) -> None:
    net, x = network(spec), inputs()
    found = torch.vmap(lambda sample: net(sample[None])["out"][0])(x)
    torch.testing.assert_close(found, net(x)["out"], rtol=1e-8, atol=1e-9)
    pairs = torch.vmap(lambda two: net({"x": two})["out"], in_dims=1, out_dims=1)(torch.stack([x, 2 * x], 1))
    torch.testing.assert_close(pairs[:, 1], net(2 * x)["out"], rtol=1e-8, atol=1e-9)
    (slope,) = torch.autograd.grad(found.square().sum(), next(net.parameters()))
    (expected,) = torch.autograd.grad(net(x)["out"].square().sum(), next(net.parameters()))
    torch.testing.assert_close(slope, expected, rtol=1e-7, atol=1e-9)


@row("`torch.vmap` over params (`functional_call`)")
def test_vmap_over_params_is_an_ensemble() -> None:
    nets, x = [network(seed=k) for k in range(3)], inputs()
    params, _ = torch.func.stack_module_state(nets)
    call = lambda p: torch.func.functional_call(nets[0], p, ({"x": x},))["out"]  # noqa: E731
    found = torch.vmap(call)(params)
    torch.testing.assert_close(found, torch.stack([net(x)["out"] for net in nets]), rtol=0, atol=0)


@row("`torch.func.grad`, `jacrev`, `jvp`")
@SPECS
def test_torch_func_differentiates_nothing_and_says_so(spec: str) -> None:
    net, x = network(spec), inputs()
    for transform in (torch.func.grad(lambda x: net(x)["out"].sum()), lambda x: torch.func.jvp(net, (x,), (x,))):
        with pytest.raises(
            RuntimeError, match=r"torch\.func differentiates no equilibrium: take .* through torch\.autogr"
        ):
            transform(x)


@row("`torch.jit.trace`")
def test_jit_says_what_to_take_instead() -> None:
    with pytest.raises(RuntimeError, match=r"use torch\.export\.export"):
        torch.jit.trace(Host(network()), (inputs(),))


@row("the meta device")
@SPECS
def test_the_meta_device_holds_no_numbers(spec: str) -> None:
    net, x = network(spec), inputs()
    for call in (net, net.relax, lambda c: net.gradients(c, {})):
        with pytest.raises(ValueError, match="x is on the meta device, which holds no numbers"):
            call({"x": x.to("meta")})
    away = copy.deepcopy(net).to("meta")
    with pytest.raises(ValueError, match=f"{net.name} is on the meta device, which holds no numbers"):
        away({"x": x})
    with pytest.raises(energyc.UserError, match="the device meta cannot be used: it holds no numbers"):
        network(spec, device="meta")


@row("a float64 tensor given to a float32 network")
@SPECS
def test_what_is_rounded_is_said_once(spec: str) -> None:
    net, x = network(spec, dtype="float32"), inputs()
    with pytest.warns(RuntimeWarning, match="computes in float32, and rounds what is given of x to it"):
        out = net(x)["out"]
    assert out.dtype == torch.float32
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*rounds what is given")
        net(x)
        fresh = network(spec, dtype="float32")
        fresh(x.numpy()), fresh(x.tolist()), fresh(x.float()), network(spec)(x.float())


def test_the_table_has_the_rows_that_are_tested() -> None:
    table = PAGE.read_text().partition("## What works of torch")[2].partition("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][1:]
    assert rows == list(ROWS)


# -------------------------------------------------------------------- the operators themselves


@SPECS
@pytest.mark.slow
def test_the_operators_pass_torchs_own_checks(spec: str) -> None:
    net, x = network(spec), inputs()
    params = list(net.parameters())
    call = (*net._operators_, [True], "bptt", False, 3, None, None, True, [x.clone().requires_grad_()], params, [])
    torch.library.opcheck(torch.ops.energyc.call.default, call)
    detached = (*call[:-3], [x], [p.detach() for p in params], [])
    torch.library.opcheck(torch.ops.energyc.relax.default, detached)


@pytest.mark.slow
def test_noise_is_drawn_outside_of_the_operator() -> None:
    """So that the way back goes through the same relaxation."""
    net = energyc.load(NOISY, dtype="float64")
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: net({"x": x})["out"], fullgraph=True, backend="aot_eager")
    out = compiled(inputs(2))
    (slope,) = torch.autograd.grad(out.sum(), net.W)
    torch.testing.assert_close(slope, out.detach().sum(0), rtol=1e-12, atol=1e-12)
    assert float((compiled(inputs(2)) - out).detach().abs().max()) > 1e-3
    net.eval()
    assert float(compiled(inputs(2)).detach().abs().max()) == 0


def test_noise_that_asks_for_a_gradient_is_refused_in_a_graph_too() -> None:
    net = energyc.load(NOISY, dtype="float64", target="torch")
    x, noise = inputs(2), net.draw_noise([1, 2])["drift.eps"]
    each = torch.vmap(lambda one, eps: net({"x": one[None], "drift.eps": eps[None]})["out"][0])
    (slope,) = torch.autograd.grad(each(x, noise).sum(), net.W)
    torch.testing.assert_close(slope, net({"x": x, "drift.eps": noise})["out"].detach().sum(0), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r"the noise .*eps of \w+ has no gradient"):
        each(x, noise.clone().requires_grad_())


def test_a_second_derivative_is_refused_in_a_graph_too() -> None:
    net, x = network(), inputs().requires_grad_()
    out = torch.vmap(lambda sample: net(sample[None])["out"][0])(x)
    with pytest.raises(RuntimeError, match=r"once|no derivative"):
        (slope,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        torch.autograd.grad(slope.square().sum(), x)


def test_mistakes_are_named_where_a_graph_is_made() -> None:
    net, x = network(), inputs()
    each = torch.vmap(lambda sample: net({"y": sample[None]})["out"])
    with pytest.raises(ValueError, match="there is no clamp 'y'"):
        each(x)
    with pytest.raises(ValueError, match=r"x has shape \(4,\); it takes \[batch, 4\]"):
        torch.vmap(lambda sample: net(sample)["out"])(x)


def test_a_biased_rule_is_taken_where_it_is_insisted_on() -> None:
    net, x = energyc.load(f"network test\n{TURNED}", dtype="float64", target="torch"), inputs(2)[:, :3]
    with pytest.raises(ValueError, match="allow_biased=True insists"):
        torch.vmap(lambda one: net({"x": one[None]}, rule="centered-ep")["out"][0])(x)
    found = torch.vmap(lambda one: net({"x": one[None]}, rule="centered-ep", allow_biased=True)["out"][0])(x)
    torch.testing.assert_close(found, net({"x": x})["out"], rtol=1e-8, atol=1e-9)
    plain = network()
    with pytest.raises(ValueError, match="there is no clamp 'allow_biased'"):
        torch.vmap(lambda one: plain({"x": one[None]}, allow_biased=True)["out"][0])(inputs())


def test_where_layers_ended_is_no_answer_that_is_differentiated() -> None:
    net, x = network(), inputs()
    out, rest = torch.vmap(lambda one: net(one[None], relaxed=True))(x)
    assert out["out"].requires_grad and not any(state.requires_grad for state in rest.states.values())


def test_copies_have_operators_of_their_own() -> None:
    net, x = network(), inputs()
    kept = io.BytesIO()
    torch.save(net, kept)
    kept.seek(0)
    for other in (copy.deepcopy(net), torch.load(kept, weights_only=False)):
        assert other._operators_ != net._operators_
        found = torch.vmap(lambda sample, other=other: other(sample[None])["out"][0])(x)
        torch.testing.assert_close(found, net(x)["out"], rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_an_exported_program_takes_no_network_that_would_answer_otherwise() -> None:
    net, x = network(), inputs()
    want = net.eval()(x)["out"].detach()
    program = torch.export.export(net, (x,)).module()
    del net
    gc.collect()
    others = [energyc.load(SPEC, target="torch").eval(), network().eval()]  # one of another dtype, one that is changed
    others[1].relax_steps = 1
    with pytest.raises(ValueError, match=r"not in this process: load the same spec first"):
        program(x)
    others.append(network().eval())
    torch.testing.assert_close(program(x)["out"], want, rtol=1e-12, atol=1e-12)


def test_a_network_whose_settings_were_changed_is_not_exported() -> None:
    net, x = network(), inputs()
    net.relax_tolerance = 1e-2
    with pytest.raises(Exception, match=r"as it was loaded, and relax_tolerance changed since"):
        torch.export.export(net, (x,))
    del net.relax_tolerance
    torch.export.export(net, (x,))


# -------------------------------------------------------------------- clamps that a batch shares

GRAPH = """
network graph
dim N = 5, E = 6
clamp src[E] : N, dst[E] : N, x[N]
target t[N]
param w = 0.3
state z[N]
energy well = 1/2 * sum[n]((z[n] - x[n])^2)
energy bonds = w/2 * sum[e]((z[src[e]] - z[dst[e]])^2)
readout out[n] = z[n]
cost mse = 1/2 * sum[n]((z[n] - t[n])^2)
relax { step = 1/4, steps = 50, tolerance = 1e-10, max_steps = 1000 }
"""
EDGES = {"src": torch.tensor([0, 1, 2, 3, 4, 0]), "dst": torch.tensor([1, 2, 3, 4, 0, 2])}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["torch", "cpp"])
def test_a_clamp_without_samples_is_that_of_all(target: str) -> None:
    net, x = network(GRAPH, target=target), torch.randn(3, 5, dtype=torch.float64)
    tiled = {name: edges.expand(3, -1).contiguous() for name, edges in EDGES.items()}
    t = {"t": torch.zeros_like(x)}
    for call in (
        lambda c: net(c)["out"],
        lambda c: net.relax(c).states["z"],
        lambda c: net.gradients(c, t).params["w"],
    ):
        torch.testing.assert_close(call({**EDGES, "x": x}), call({**tiled, "x": x}), rtol=0, atol=0)
    shared = x[0].clone().requires_grad_()
    out = net({**{n: e.expand(3, -1) for n, e in EDGES.items()}, "x": shared})["out"]
    (slope,) = torch.autograd.grad(out.sum(), shared)
    torch.testing.assert_close(slope, torch.full_like(slope, 3.0), rtol=1e-8, atol=1e-8)  # the bonds conserve the sum


def test_one_sample_alone_still_has_its_axis() -> None:
    net = network(GRAPH)
    with pytest.raises(ValueError, match="a batch of one sample has a first axis of size 1"):
        net({**EDGES, "x": torch.zeros(5, dtype=torch.float64)})
    with pytest.raises(ValueError, match=r"src has shape \(4,\); it takes \[batch, 6\]"):
        net({**EDGES, "src": torch.zeros(4).long(), "x": torch.zeros(3, 5, dtype=torch.float64)})


@pytest.mark.slow
def test_data_share_what_is_given_without_samples(tmp_path: Path) -> None:
    x = torch.randn(40, 5, generator=torch.Generator().manual_seed(0)).numpy()
    edges = {name: value.numpy() for name, value in EDGES.items()}
    settings = {"train.steps": 3, "train.batch": 10}
    runs = []
    for number, own in enumerate((edges, {name: value[None].repeat(40, 0) for name, value in edges.items()})):
        data = {"x": x, "t": 0 * x, **own}
        out = tmp_path / str(number)
        runs.append(energyc.train(GRAPH, data, out=out, settings=settings, quiet=True, target="torch"))
    assert [row["cost"] for row in runs[0].rows] == [row["cost"] for row in runs[1].rows]
    assert any("every sample has the same src, dst" in note for note in runs[0].notes)
    each = [{"x": sample, "t": 0 * sample, **edges} for sample in x]  # of a Dataset each sample names them
    again = energyc.train(GRAPH, each, out=tmp_path / "2", settings=settings, quiet=True, target="torch")
    assert [row["cost"] for row in again.rows] == [row["cost"] for row in runs[0].rows]
