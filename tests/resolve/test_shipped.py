"""The energies and forces of the shipped specs against independent NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from tests.resolve.helpers import inputs, shipped, value

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
CET = {"S": 12, "P": 4, "stride": 2, "D": 8, "H": 2, "A": 4, "M": 12}


def one_hot(labels: Any, count: int) -> Any:
    """Rows of the identity."""
    return np.eye(count)[labels]


def logsumexp(a: Any, axis: Any) -> Any:
    """Stable, as in the textbook."""
    top = a.max(axis=axis, keepdims=True)
    return np.log(np.exp(a - top).sum(axis=axis)) + top.squeeze(axis=axis)


def softmax(a: Any, axis: int) -> Any:
    """Stable, as in the textbook."""
    e = np.exp(a - a.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layernorm(u: Any) -> Any:
    """Biased variance, 1e-5 inside the root, along the last axis."""
    centred = u - u.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def test_hopfield() -> None:
    net = shipped("hopfield", I=7, J=5, K=4)
    v = inputs(net)
    x, s, y = v["x"], v["s"], v["y"]
    leak = 0.5 * (s**2).sum(-1) + 0.5 * (y**2).sum(-1)
    synapses = -np.einsum("bi,ij,bj->b", x, v["W1"], s) - np.einsum("bj,jk,bk->b", s, v["W2"], y)
    biases = -s @ v["b1"] - y @ v["b2"]
    for name, expected in {"leak": leak, "synapses": synapses, "biases": biases}.items():
        np.testing.assert_allclose(value(net, net.terms[name].node, v), expected, **CLOSE)
    assert net.cost is not None
    np.testing.assert_allclose(value(net, net.cost.node, v), 0.5 * ((y - one_hot(v["label"], 4)) ** 2).sum(-1), **CLOSE)
    right = (y.argmax(-1) == v["label"]).astype(float)
    np.testing.assert_allclose(value(net, net.metrics["accuracy"].node, v), right, **CLOSE)


def patches(x: Any, size: int, stride: int) -> Any:
    """``[b, c, i, j, p, q]``."""
    return sliding_window_view(x, (size, size), axis=(2, 3))[:, :, ::stride, ::stride]


def test_cet() -> None:
    net = shipped("cet", **CET)
    v = inputs(net)
    x, z, y = v["x"], v["z"], v["y"]
    seen = np.einsum("dcpq,bcijpq->bijd", v["W_enc"], patches(x, 4, 2))
    decoded = np.einsum("dcpq,bcijpq->bijd", v["W_dec"], patches(y, 4, 2))
    query = np.einsum("had,bijd->bhija", v["W_q"], z)
    key = np.einsum("had,bijd->bhija", v["W_k"], z)
    scores = np.einsum("bhija,bhkla->bhijkl", query, key) / 4
    expected = {
        "enc": 0.5 * (z**2).sum((1, 2, 3)) - (z * seen).sum((1, 2, 3)) - (z * v["b_enc"]).sum((1, 2, 3)),
        "dec": 0.5 * (y**2).sum((1, 2, 3)) - (z * decoded).sum((1, 2, 3)) - np.einsum("bcuv,c->b", y, v["b_dec"]),
        "pos": -(z * v["b_pos"]).sum((1, 2, 3)),
        "mem": -(np.maximum(z @ v["W_mem"], 0) ** 2).sum((1, 2, 3)),
        "att": -4 * logsumexp(scores, (4, 5)).sum((1, 2, 3)),
    }
    for name, energy in expected.items():
        np.testing.assert_allclose(value(net, net.terms[name].node, v), energy, err_msg=name, **CLOSE)
    start = net.states["z"].start
    assert start is not None
    np.testing.assert_allclose(value(net, start, v), seen + v["b_enc"] + v["b_pos"], **CLOSE)


def pooled_convolution(x: Any, w: Any, b: Any, width: int) -> Any:
    """Convolution without padding, bias, max over windows that do not overlap."""
    a = np.einsum("ocpq,bcijpq->boij", w, patches(x, w.shape[-1], 1)) + b[:, None, None]
    side = a.shape[-1] // width
    return a.reshape(*a.shape[:2], side, width, side, width).max((3, 5))


def test_hopfield_conv() -> None:
    net = shipped("hopfield_conv", S=16, C=2, C1=3, C2=4)
    v = inputs(net)
    first = pooled_convolution(v["x"], v["W1"], v["b1"], 2)
    second = pooled_convolution(v["s1"], v["W2"], v["b2"], 2)
    full = np.einsum("koij,boij->bk", v["W3"], v["s2"]) + v["b3"]
    expected = {
        "conv1": -(v["s1"] * first).sum((1, 2, 3)),
        "conv2": -(v["s2"] * second).sum((1, 2, 3)),
        "full": -(v["y"] * full).sum(-1),
    }
    for name, energy in expected.items():
        np.testing.assert_allclose(value(net, net.terms[name].node, v), energy, err_msg=name, **CLOSE)


def test_modern_hopfield() -> None:
    net = shipped("modern_hopfield", D=6, M=5)
    v = inputs(net)
    overlap = v["z"] @ v["X"].T
    np.testing.assert_allclose(value(net, net.terms["memory"].node, v), -logsumexp(8 * overlap, -1) / 8, **CLOSE)
    assert net.cost is not None
    np.testing.assert_allclose(value(net, net.cost.node, v), ((v["z"] - v["stored"]) ** 2).mean(-1), **CLOSE)


def test_predictive_coding() -> None:
    net = shipped("predictive_coding", I=6, J=5, L=4, K=3, v2=0.5)
    v = inputs(net)
    mean = np.tanh(v["s1"]) @ v["W2"].T + v["b2"]
    np.testing.assert_allclose(value(net, net.terms["second"].node, v), ((v["s2"] - mean) ** 2).sum(-1), **CLOSE)


def test_resistive() -> None:
    net = shipped("resistive", I=4, J=3, K=2, Vt=0.7)
    v = inputs(net)
    rise = v["v"] - 1
    np.testing.assert_allclose(
        value(net, net.terms["upper"].node, v), (1e-6 * (0.7 * np.exp(rise / 0.7) - rise)).sum(-1), **CLOSE
    )
    drop = v["v"][:, None, :] - v["source"][:, :, None]
    np.testing.assert_allclose(value(net, net.terms["input"].node, v), 0.5 * (v["g1"] * drop**2).sum((1, 2)), **CLOSE)


def test_deep_hopfield() -> None:
    net = shipped("deep_hopfield", I=5, J1=4, J2=3, K=2)
    v = inputs(net)
    energy = -np.einsum("bi,ij,bj->b", v["x"], v["W1"], v["s1"]) - np.einsum("bi,ij,bj->b", v["s1"], v["W2"], v["s2"])
    energy -= np.einsum("bi,ij,bj->b", v["s2"], v["W3"], v["y"])
    np.testing.assert_allclose(value(net, net.terms["synapses"].node, v), energy, **CLOSE)


THICK = """
dim T = 5, D = 6, H = 2, A = D / H, F = 7, V = 4
clamp idx[T] : V
target label[T] : V
param tok[V, D], pos[T, D], W_q[H, D, A], W_k[H, D, A], W_v[H, D, A], W_o[H, A, D] ~ normal(0.02)
param g1[D] = 1, h1[D] = 0, W1[D, F] ~ normal(0.02), b1[F] = 0, b2[D] = 0
tie W2[f,d] = W1[d,f]
let x[t,d] = tok[idx[t], d] + pos[t,d]
state z[T, D]
start z[t,d] = x[t,d]
energy input = 1/2 * sum[t,d]((z[t,d] - x[t,d])^2)
let n1[t,d] = g1[d] * layernorm[d](z[t,d]) + h1[d]
let q[h,t,a] = sum[d](n1[t,d] * W_q[h,d,a])
let k[h,t,a] = sum[d](n1[t,d] * W_k[h,d,a])
let v[h,t,a] = sum[d](n1[t,d] * W_v[h,d,a])
let p[h,t,s] = softmax[s | s <= t](sum[a](q[h,t,a] * k[h,s,a]) / sqrt(A))
force attention on z[t,d] = sum[h,a](W_o[h,a,d] * sum[s | s <= t](p[h,t,s] * v[h,s,a]))
force ffn on z[t,d] = sum[f](W2[f,d] * gelu_tanh(sum[e](n1[t,e] * W1[e,f]) + b1[f])) + b2[d]
readout logits[t,w] = sum[d](z[t,d] * tok[w,d])
cost ce = mean[t](cross_entropy[w](logits[t,w], label[t]))
"""


def test_forces_of_a_transformer_block() -> None:
    from tests.resolve.helpers import network

    net = network(THICK)
    v = inputs(net)
    n1 = v["g1"] * layernorm(v["z"]) + v["h1"]
    q, k, w = (np.einsum("btd,hda->bhta", n1, v[name]) for name in ("W_q", "W_k", "W_v"))
    scores = np.einsum("bhta,bhsa->bhts", q, k) / np.sqrt(3)
    scores[..., np.triu_indices(5, 1)[0], np.triu_indices(5, 1)[1]] = -np.inf
    attention = np.einsum("had,bhts,bhsa->btd", v["W_o"], softmax(scores, -1), w)
    np.testing.assert_allclose(value(net, net.terms["attention"].node, v), attention, **CLOSE)
    u = n1 @ v["W1"] + v["b1"]
    gelu = 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    np.testing.assert_allclose(value(net, net.terms["ffn"].node, v), gelu @ v["W1"].T + v["b2"], **CLOSE)
    x = v["tok"][v["idx"]] + v["pos"]
    np.testing.assert_allclose(value(net, net.terms["input"].node, v), 0.5 * ((v["z"] - x) ** 2).sum((1, 2)), **CLOSE)
    logits = v["z"] @ v["tok"].T
    entropy = logsumexp(logits, -1) - np.take_along_axis(logits, v["label"][..., None], -1)[..., 0]
    assert net.cost is not None
    np.testing.assert_allclose(value(net, net.cost.node, v), entropy.mean(-1), **CLOSE)


@pytest.mark.parametrize(
    "name", ["cet", "hopfield", "deep_hopfield", "hopfield_conv", "modern_hopfield", "predictive_coding", "resistive"]
)
def test_shipped_specs_resolve_without_a_warning(name: str) -> None:
    assert shipped(name).warnings == ()
