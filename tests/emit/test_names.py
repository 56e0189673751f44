"""Names of a spec beside the module's own: whatever a user calls a thing, the module means what it meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from energyc import pipeline, runtime
from energyc.code.module.context import Options
from energyc.code.module.instantiate import instantiate
from energyc.code.module.names import class_name
from energyc.code.targets.jax.reserved import RESERVED
from energyc.code.targets.torch.module import torch_module
from tests.emit.judge import resolved

RULES = ("ep", "centered-ep", "vf", "aep", "tracking-aep", "adjoint", "holomorphic-ep", "holomorphic-aep")
UNROLLED = ("tbptt", "bptt", "implicit")
SPEC = """\
network {name}
dim N = 3
clamp x[N]
target y[N]
state {state}[N] in nonnegative
param W[N, N] ~ normal(0.5)
let {let}[n] = sum[m](W[n,m] * x[m])
energy pull = sum[n]({state}[n]^2/2 - {let}[n]*{state}[n])
force turn on {state}[n] = sum[m](W[n,m] * {state}[m])/10
readout {readout}[n] = {state}[n]
cost c = sum[n](({state}[n] - y[n])^2)/2
relax {{ step = 1/2, steps = 40 }}
"""


def spec(name: str = "n", state: str = "z", let: str = "drive", readout: str = "r") -> str:
    return SPEC.format(name=name, state=state, let=let, readout=readout)


def gradients(text: str) -> dict[str, torch.Tensor]:
    """The gradients by every rule that the network has."""
    network = resolved(text)
    rules = [rule for rule in (*RULES, *UNROLLED) if not rule.startswith("holomorphic")]
    options = Options(rules=tuple(rules), label="spec", version="test")
    text = torch_module(options.plan(network), options).text
    net = instantiate(text, class_name(network.name), dtype=torch.float64)
    random = torch.Generator().manual_seed(0)
    x, y = (torch.rand(2, 3, generator=random, dtype=torch.float64) for _ in range(2))
    return {rule: net.gradients({"x": x}, {"y": y}, rule=rule).params["W"] for rule in rules}


NAMES = [
    "settings",
    "held",
    "holomorphic",
    "step",
    "free_phase",
    "norm",
    "torch",
    "gmres",
    "fixed",
    "normal",
    "params",
    "rt",
]


@pytest.mark.abridged(every=22)
@pytest.mark.parametrize("where", ["name", "state", "let", "readout"])
@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_module_can_be_used_in_a_spec(where: str, name: str) -> None:
    found, expected = gradients(spec(**{where: name})), gradients(spec())
    assert all(torch.equal(found[rule], expected[rule]) for rule in expected)


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    "name", ["equations", "energy_network", "phase", "equilibrium_function", "fixed", "held", "lets"]
)
def test_a_network_may_be_called_like_a_class_of_the_runtime(name: str) -> None:
    found, expected = gradients(spec(name=name)), gradients(spec())
    assert all(torch.equal(found[rule], expected[rule]) for rule in expected)


def test_no_class_is_called_like_what_a_module_in_jax_reads() -> None:
    assert not {class_name(name) for name in RESERVED} & RESERVED


def every_module() -> Iterator[ast.Module]:
    for solver in ("gradient", "newton", "anderson"):
        network = resolved(spec().replace(" in nonnegative", ""), **{"relax.solver": solver})
        for rules in [*((rule,) for rule in RULES), (*RULES, *UNROLLED)]:
            held = [rule for rule in rules if solver == "gradient" or rule not in ("bptt", "tbptt")]
            options = Options(rules=tuple(held), label="spec", version="test")
            yield ast.parse(torch_module(options.plan(network), options).text)


@pytest.mark.slow
def test_every_name_at_the_head_of_a_module_is_known() -> None:
    for tree in every_module():
        named = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
        named |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        own = {"Fixed", "Held", "Lets", "Holomorphic", "N", "N_2"}  # N_2: dim N
        assert named <= own


@pytest.mark.slow
def test_what_a_module_reads_is_defined_and_what_is_its_own_is_read() -> None:
    """A module of any rules lacks nothing private, and no equation is left over."""
    of_runtime = [ast.parse(path.read_text()) for path in Path(str(runtime.__file__)).parent.rglob("*.py")]
    asked = {attribute for tree in of_runtime for attribute in private(tree)}
    for tree in every_module():
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)} | {*dir(runtime.EnergyNetwork)}
        assert private(tree) <= defined | {"_replace"}
        own = {n.name for n in classes["N"].body if isinstance(n, ast.FunctionDef)}
        assert own - {"__init__"} <= private(tree) | asked


def private(tree: ast.Module) -> set[str]:
    """The private attributes that a program reads."""
    read = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr.startswith("_")}
    return {name for name in read if not name.startswith("__")}


def test_unrolling_newton_is_refused() -> None:
    network = pipeline.resolve(pipeline.read(spec()), pipeline.Choices(None, {"relax.solver": "newton"}))
    compiled = pipeline.emit(network, pipeline.ALL)
    verdicts = compiled.classes.rules
    assert {verdicts[rule].verdict for rule in ("bptt", "tbptt")} == {"inadmissible"}
    net = pipeline.instantiate(compiled, "cpu", torch.float64, 0)
    assert "bptt" not in net.rules
    x = torch.rand(2, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match="by the solver newton"):
        net({"x": x}, rule="bptt")
    assert net({"x": x})["r"].shape == (2, 3)
