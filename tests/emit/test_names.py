"""Names of a spec beside the module's own: whatever a user calls a thing, the module means what it meant."""

from __future__ import annotations

import ast

import pytest
import torch

from energyc import pipeline
from energyc.emit import Options, class_name, instantiate, torch_module
from energyc.emit.names import MODULE_NAMES
from energyc.emit.torch_module import HELPERS
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
    text = torch_module(network, Options(rules=tuple(rules), label="spec", version="test"))
    net = instantiate(text, class_name(network.name), dtype=torch.float64)
    random = torch.Generator().manual_seed(0)
    x, y = (torch.rand(2, 3, generator=random, dtype=torch.float64) for _ in range(2))
    return {rule: net.gradients({"x": x}, {"y": y}, rule=rule).params["W"] for rule in rules}


@pytest.mark.parametrize("where", ["name", "state", "let", "readout"])
@pytest.mark.parametrize(
    "name", ["back", "held", "holomorphic", "how", "free", "path", "torch", "gmres", "fixed", "normal"]
)
def test_names_of_the_module_can_be_used_in_a_spec(where: str, name: str) -> None:
    found, expected = gradients(spec(**{where: name})), gradients(spec())
    assert all(torch.equal(found[rule], expected[rule]) for rule in expected)


@pytest.mark.parametrize("solver", ["gradient", "newton"])
@pytest.mark.parametrize("rules", [RULES, (*RULES, *UNROLLED)], ids=["contrasts", "all"])
def test_every_name_at_the_head_of_a_module_is_reserved(solver: str, rules: tuple[str, ...]) -> None:
    network = resolved(spec().replace(" in nonnegative", ""), **{"relax.solver": solver})
    kept = [rule for rule in rules if solver == "gradient" or rule not in ("bptt", "tbptt")]
    tree = ast.parse(torch_module(network, Options(rules=tuple(kept), label="spec", version="test")))
    named = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    named |= {name.id for node in tree.body if isinstance(node, ast.Assign) for name in node.targets}  # type: ignore[attr-defined]
    free = {name for name in named if not name.startswith("_")} - MODULE_NAMES - HELPERS.keys()
    assert free == {class_name(network.name)}


def test_a_method_is_called_only_where_it_is_defined() -> None:
    """Whatever rules a module holds, nothing private in it is missing or unused."""
    network = resolved(spec().replace(" in nonnegative", ""))
    for rules in [("ep",), ("vf",), ("aep",), ("adjoint",), ("holomorphic-ep",), ("bptt",), ("tbptt",), ("implicit",)]:
        tree = ast.parse(torch_module(network, Options(rules=rules, label="spec", version="test")))
        (made,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == class_name(network.name))
        defined = {n.name for n in made.body if isinstance(n, ast.FunctionDef) and n.name.startswith("_")}
        called = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr.startswith("_")}
        called |= {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        assert defined - {"__init__"} <= called, rules
        private = {name for name in called if name.startswith("_") and not name.startswith("__") and " " not in name}
        known = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)} | {
            "_anchor",
            "_replace",
            "_rule_methods",
        }
        assert private <= known, (rules, private - known)


def test_unrolling_newton_is_refused() -> None:
    network = pipeline.resolve(pipeline.read(spec()), pipeline.Choices(None, {"relax.solver": "newton"}))
    compiled = pipeline.emit(network, pipeline.ALL)
    verdicts = compiled.classes.rules
    assert {verdicts[rule].verdict for rule in ("bptt", "tbptt")} == {"inadmissible"}
    net = pipeline.instantiate(compiled, "cpu", torch.float64, 0)
    assert "bptt" not in net.rules
    x = torch.rand(2, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match="Newton"):
        net({"x": x}, rule="bptt")
    assert net({"x": x})["r"].shape == (2, 3)
