"""Whole networks: terms, their sum, ties, and the rules that follow."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping

import numpy as np
import pytest

from energyc.language.diagnostics import Source
from energyc.language.network import Network
from energyc.language.resolve import resolve
from energyc.language.syntax import parse
from energyc.mathematics.ir import Node
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.conservativeness.classify import classify
from energyc.proofs.conservativeness.verdict import LoopWitness
from energyc.proofs.conservativeness.witness_data import witness_data
from energyc.proofs.verdicts.rules import admissible
from energyc.runtime.rules import RULES

HEAD = """network tried
dim T = 16, D = 24, F = 96
clamp x[T, D]
target y[T, D]
param W1[D, F], W2[F, D], A[D, D], B[D, D], g[D] ~ normal(0.1)
state z[T, D]
energy input = 1/2 * sum[t,d]((z[t,d] - x[t,d])^2)
"""
TAIL = """
energy weights = sum[d,f](W1[d,f] * W2[f,d]) * sum[d,e](A[d,e] * B[e,d]) * sum[d](g[d]) * sum[t,d](z[t,d])
readout out[t,d] = z[t,d]
cost mse = sum[t,d]((z[t,d] - y[t,d])^2)
"""


def network(body: str) -> Network:
    source = Source("tried.energy", HEAD + body + TAIL)
    return resolve(parse(source), source)


def kinds(body: str) -> Mapping[str, str]:
    return {name: verdict.kind for name, verdict in classify(network(body)).terms.items()}


UNTIED = "force ffn on z[t,d] = sum[f](W2[f,d] * tanh(sum[e](z[t,e] * W1[e,f])))\n"
TIED = "force ffn on z[t,d] = sum[f](W1[d,f] * tanh(sum[e](z[t,e] * W1[e,f])))\n"


def test_terms_are_classified_alone() -> None:
    found = classify(network(UNTIED + "force pull on z[t,d] = -g[d] * z[t,d]\n"))
    assert {name: (v.kind, v.evidence) for name, v in found.terms.items()} == {
        "input": ("conservative", "gradient"),
        "ffn": ("not-conservative", "witness"),
        "pull": ("conservative", "proof"),
        "weights": ("conservative", "gradient"),
    }
    assert found.kind == "not-conservative" and found.unproved == ("ffn",)
    assert [str(tie) for tie in found.terms["ffn"].ties] == ["W2[a,b] = W1[b,a]"]


def test_a_recovered_potential_is_one_of_the_network() -> None:
    net = network(TIED)
    verdict = classify(net).terms["ffn"]
    assert verdict.kind == "conservative" and verdict.potential is not None
    generator = np.random.default_rng(0)
    z, w, way = (generator.normal(size=size) for size in ((2, 16, 24), (24, 96), (2, 16, 24)))

    def value(node: Node, states: np.ndarray) -> np.ndarray:
        (found,) = evaluate([node], {"z": states, "W1": w}, sizes=net.extents, values=net.values)
        return found

    ahead, behind = (value(verdict.potential, z + step * way) for step in (1e-6, -1e-6))
    work = (value(net.terms["ffn"].node, z) * way).sum((1, 2))
    np.testing.assert_allclose(work, (behind - ahead) / 2e-6, rtol=1e-7)


def halves(matrix: str = "A", first: str = "query", second: str = "key", softmax: str = "p") -> str:
    return f"""
let {softmax}_s[i in T, j in T] = sum[d,e](z[i,d] * {matrix}[d,e] * z[j,e])
let {softmax}[i,j] = softmax[j | j <= i]({softmax}_s[i,j])
force {first} on z[i,d] = sum[j,e]({softmax}[i,j] * {matrix}[d,e] * z[j,e])
force {second} on z[j,e] = sum[i,d]({softmax}[i,j] * {matrix}[d,e] * z[i,d])
"""


@pytest.mark.slow
def test_halves_of_an_attention_are_a_gradient_together() -> None:
    found = classify(network(halves()))
    assert found.terms["query"].kind == found.terms["key"].kind == "not-conservative"
    assert found.kind == "conservative" and found.unproved == ()
    assert found.sum_verdict is not None and found.sum_verdict.certificate is not None
    assert found.sum_verdict.potential is not None


def test_terms_that_are_a_gradient_together_do_not_decide() -> None:
    net = network(UNTIED + halves())
    found = classify(net)
    assert found.kind == "not-conservative" and found.unproved == ("ffn", "query", "key")
    assert found.together is not None and found.together.deciding == ("ffn",)
    (part,) = found.together.parts
    assert part.terms == ("query", "key") and part.verdict.kind == "conservative"
    assert part.verdict.potential is not None and part.verdict.certificate is not None
    verdict = admissible(net, found)["vf"]
    assert (verdict.verdict, verdict.why, verdict.terms) == ("biased", "ffn", ("ffn",))


def test_each_set_of_terms_that_is_a_gradient_is_found() -> None:
    found = classify(network(halves() + UNTIED + halves("B", "ask", "answer", "q")))
    assert found.together is not None and found.together.deciding == ("ffn",)
    assert [part.terms for part in found.together.parts] == [("query", "key"), ("ask", "answer")]


def test_terms_of_which_none_cancels_another_all_decide() -> None:
    found = classify(network(UNTIED + "force turn on z[t,d] = sum[c](A[d,c] * z[t,c])\n" + halves()))
    assert found.together is not None and found.together.deciding == ("ffn", "turn")


#: No gradient, as far as the compiler knows; it is zero.
UNKNOWN = "force odd on z[t,d] = (sin(x[t,d])^2 + cos(x[t,d])^2 - 1) * sum[c](B[d,c] * z[t,c])\n"


def test_a_refuted_term_decides_beside_an_undecided_one() -> None:
    net = network(UNKNOWN + UNTIED)
    found = classify(net)
    assert found.kind == "not-conservative" and found.terms["odd"].kind == "undecided"
    assert admissible(net, found)["vf"].why == "ffn"


def test_an_undecided_term_decides_beside_two_that_are_a_gradient() -> None:
    net = network(halves() + UNKNOWN)
    found = classify(net)
    assert found.kind == "undecided" and found.unproved == ("query", "key", "odd")
    verdict = admissible(net, found)["vf"]
    assert (verdict.verdict, verdict.why) == ("unproved", "odd")


def test_an_energy_that_freezes_a_state_is_judged_by_its_force() -> None:
    assert kinds("energy cold = sum[t,d](z[t,d] * frozen(sum[c](A[d,c] * z[t,c])))\n")["cold"] == "not-conservative"
    assert kinds("energy cold = sum[t,d](z[t,d] * frozen(tanh(z[t,d])))\n")["cold"] == "conservative"
    assert kinds("energy cold = sum[t,d](z[t,d] * frozen(x[t,d]))\n")["cold"] == "conservative"


def test_a_force_that_jumps_is_never_called_a_gradient() -> None:
    crossed = "force odd on z[t,d] = sum[c](A[d,c] * relu'(z[t,c]))\n"
    found = classify(network(crossed))
    assert found.kind == "not-conservative" and isinstance(found.terms["odd"].witness, LoopWitness)
    assert found.terms["odd"].certificate is not None  # its Jacobian is symmetric wherever it exists


def test_rules_on_a_network_that_is_not_conservative() -> None:
    net = network(UNTIED)
    verdicts = admissible(net, classify(net))
    assert tuple(verdicts) == tuple(RULES)
    biased = {rule for rule, v in verdicts.items() if v.verdict == "biased"}
    assert {"ep", "centered-ep", "vf", "holomorphic-ep"} <= biased
    assert verdicts["vf"].why == "ffn" and verdicts["vf"].use_instead == "tracking-aep"
    exact = {rule for rule, v in verdicts.items() if v.verdict == "exact"}
    assert {"aep", "tracking-aep", "adjoint", "holomorphic-aep", "tbptt", "bptt", "implicit"} <= exact


def test_rules_that_need_complex_states() -> None:
    net = network("energy memory = -sum[t,f](relu(sum[d](W1[d,f] * z[t,d]))^2)\n")
    verdicts = admissible(net, classify(net))
    assert verdicts["centered-ep"].verdict == "exact"
    assert verdicts["holomorphic-ep"].verdict == verdicts["holomorphic-aep"].verdict == "inadmissible"
    assert "relu in memory" in verdicts["holomorphic-ep"].why
    boxed = Source("b", (HEAD + TAIL).replace("state z[T, D]", "state z[T, D] in [0, 1]"))
    net = resolve(parse(boxed), boxed)
    assert "box" in admissible(net, classify(net))["holomorphic-ep"].why


def test_slopes_by_params_need_complex_values_too() -> None:
    text = "fn phi'(u) = silu(u)\nenergy memory = -sum[t,d](W1[d,0] * phi(z[t,d]))\n"
    verdict = admissible(network(text), classify(network(text)))["holomorphic-ep"]
    assert verdict.verdict == "inadmissible"
    assert "an integral of silu in the slopes of memory by params" in verdict.why


def test_a_detached_state_biases_what_is_not_unrolled() -> None:
    net = network("energy cold = sum[t,d](z[t,d] * detach(tanh(z[t,d])))\n")
    verdicts = admissible(net, classify(net))
    assert verdicts["centered-ep"].verdict == verdicts["aep"].verdict == "biased"
    assert verdicts["implicit"].verdict == "exact"


def test_classifying_leaves_the_graph_as_it_was() -> None:
    net = network(UNTIED + "force pull on z[t,d] = -g[d] * tanh(z[t,d])\n")
    before = len(net.graph)
    admissible(net, classify(net))
    assert len(net.graph) == before


def test_the_same_network_has_the_same_witness() -> None:
    first, second = (classify(network(UNTIED)).terms["ffn"].witness for _ in range(2))
    assert first is not None and first == second
    data = witness_data(first)
    assert data["certified"] and len(data["row"]) == len(data["column"]) == 2 and data["entry"] != data["mirror"]


@pytest.mark.abridged
@pytest.mark.parametrize(
    "body",
    [
        "force odd on z[t,d] = " + " * ".join(["(z[t,d] + x[t,d] + sum[c](A[d,c] * z[t,c]))"] * 12) + "\n",
        "force odd on z[t,d] = " + " + ".join([f"tanh({k} * z[t,d])" for k in range(1, 90)]) + "\n",
        "force odd on z[t,d] = " + "tanh(" * 80 + "z[t,d]" + ")" * 80 + "\n",
        "force odd on z[t,d] = " + " + ".join(f"sin({k} * z[t,d]) * sum[c](z[t,c]^{k})" for k in range(2, 40)) + "\n",
    ],
    ids=["power", "long", "deep", "many"],
)
def test_no_force_hangs_the_analysis(body: str) -> None:
    net = network(body)
    start = time.process_time()
    assert classify(net).kind in ("conservative", "not-conservative", "undecided")
    assert time.process_time() - start < 10


def test_the_analysis_needs_neither_torch_nor_sympy() -> None:
    code = "import sys, energyc.proofs.verdicts.rules; sys.exit('sympy' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_window_too_wide_to_evaluate_is_left_undecided() -> None:
    text = """network wide
dim N = 4000, D = 64
param W[D, D] ~ normal(1)
state z[N, D]
energy leak = 1/2 * sum[n,d](z[n,d]^2)
force far on z[n,d] = sum[m,e | n + 2 * m <= 5000](W[d,e] * z[m,e])
force near on z[n,d] = sum[m,e | abs(n - m) <= 3](W[d,e] * z[m,e])
readout out[n,d] = z[n,d]
cost none = sum[n,d](z[n,d]^2)
"""
    source = Source("wide.energy", text)
    start = time.process_time()
    found = classify(resolve(parse(source), source))
    assert found.terms["far"].kind == "undecided" and "budget" in found.terms["far"].tried[0]
    assert found.terms["near"].kind == "not-conservative"
    assert time.process_time() - start < 10


def test_rules_on_a_force_that_jumps() -> None:
    """Its work round a loop is not zero, and between the jumps its Jacobian is symmetric."""
    net = network("force odd on z[t,d] = sum[c](A[d,c] * relu'(z[t,c]))\n")
    verdict = admissible(net, classify(net))["centered-ep"]
    assert verdict.verdict == "biased"
    assert verdict.why == "odd (exact at equilibria off jumps and poles, where J is symmetric)"
