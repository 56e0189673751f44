"""Copies of layers in a row: their own params, shared ones, and what goes from copy to copy."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from tests.layers.judging import Tensors, agree, close, descended, drawn, loaded

STREAM = """
dim I = 3, D = 4, K = 2, L = 3
clamp x[I]
target y[K]
param V[D, I], U[K, D], S[D, D] ~ normal(0.5)
repeat L {
  param g[D] = 1
  state h[D], count
  start h[d] = sum[i](V[d,i] * x[i])
  let into[d] = g[d] * tanh(h[d])
  layer cell {
    param b[D] ~ normal(0.5)
    state z[D]
    start z[d] = into[d] / 2
    energy well = 1/2 * sum[d]((z[d] - into[d])^2) + sum[d](softplus(b[d] * z[d]))
    energy tied = 1/2 * sum[d](sum[e](S[d,e] * z[e])^2)
    relax { step = 0.3, steps = 4 }
  }
  next h[d] = h[d] + cell.z[d] * count
  next count = count + 1
}
readout out[k] = sum[d](U[k,d] * h[d]) + count
cost c = 1/2 * sum[k]((out[k] - y[k])^2)
"""


def cell(into: Tensor, b: Tensor, shared: Tensor, steps: int) -> Tensor:
    def energy(z: Tensor) -> Tensor:
        well = 0.5 * (z - into).square().sum(1) + softplus(b * z).sum(1)
        return well + 0.5 * (z @ shared.T).square().sum(1)

    return descended(energy, into / 2, 0.3, steps)


def streamed(p: Tensors, clamps: Tensors, targets: Tensors, steps: int = 4) -> Tensor:
    h, count = clamps["x"] @ p["V"].T, 0
    for g, b in zip(p["g"], p["cell.b"], strict=True):
        h, count = h + cell(g * torch.tanh(h), b, p["S"], steps) * count, count + 1
    out = h @ p["U"].T + count
    return 0.5 * (out - targets["y"]).square().sum(1)


def test_each_copy_has_its_own_params_and_shares_those_outside() -> None:
    net = loaded(STREAM)
    assert {name: tuple(param.shape) for name, param in net.params.items()} == {
        "V": (4, 3),
        "U": (2, 4),
        "S": (4, 4),
        "g": (3, 4),
        "cell.b": (3, 4),
    }
    agree(net, streamed)


def test_at_rest_the_gradient_goes_through_every_equilibrium() -> None:
    net = loaded(STREAM, **{"cell.relax.steps": 200})
    agree(net, lambda p, clamps, targets: streamed(p, clamps, targets, 200), ("bptt", "implicit"))


def test_the_number_of_copies_can_be_set() -> None:
    net = loaded(STREAM, L=1)
    assert net.params["cell.b"].shape == (1, 4)
    agree(net, streamed)


def test_copies_are_drawn_by_the_law_of_one() -> None:
    net = loaded(
        STREAM.replace("param b[D] ~ normal(0.5)", "param b[D] ~ normal(0.5), Q[D, D] ~ glorot").replace(
            "energy well =", "energy turned = sum[d,e](Q[d,e] * z[d] * into[e])\n energy well ="
        )
    )
    fresh = type(net)(seed=3)
    assert float(fresh.params["cell.Q"].detach().abs().max()) <= (6 / 8) ** 0.5
    assert float(fresh.params["cell.Q"].detach().abs().max()) > 0.7 * (6 / 8) ** 0.5
    assert fresh.params["cell.Q"].shape == (3, 4, 4)


def test_a_copy_can_be_looked_at_alone() -> None:
    net = loaded(STREAM)
    clamps, _ = drawn(net)
    layer, inside = net.layer("cell", clamps, number=2)
    torch.testing.assert_close(layer.params["b"], net.params["cell.b"][2])
    torch.testing.assert_close(layer.relax(inside).states["z"], net.relax(clamps).states["cell.z"][:, 2])


MANY = """
dim N = 3, D = 4, V = 5, L = 2, M = 2
const scale = 1/2
clamp idx[N] : V, w[N, D]
target y[N]
param tok[V, D], Q[D, D], r[D] ~ normal(0.5)
fn bump(u) = u / (1 + u^2)
let mix[d,e] = Q[d,e] + scale * Q[e,d]
layer first {
  param A[D, D] ~ normal(0.5)
  tie B[e,d] = A[d,e]
  state z[N, D] in sphere[D]
  start z[n,d] = tok[idx[n],d]
  let near[n] = sum[d](z[n,d] * w[n,d])
  energy pull = -sum[n,d](z[n,d] * (tok[idx[n],d] + w[n,d])) + sum[n](bump(near[n]))
  energy bend = 1/2 * sum[n,d](sum[e](B[d,e] * z[n,e])^2) + 1/2 * sum[n,d](sum[e](mix[d,e] * z[n,e])^2)
  relax { step = 0.2, steps = 5 }
}
repeat L {
  state h[N, D]
  start h[n,d] = first.z[n,d] + first.near[n]
  layer up {
    param c[D] ~ normal(0.5)
    state a[N, D]
    energy e = 1/2 * sum[n,d]((a[n,d] - h[n,d])^2) + sum[n,d](softplus(c[d] * a[n,d] * r[d]))
    relax { step = 0.3, steps = 3 }
  }
  layer down {
    param c[D] ~ normal(0.5)
    state a[N, D] in [-1, 1]
    start a[n,d] = where(n == 0, 0, up.a[n - 1,d])
    energy e = 1/2 * sum[n,d]((a[n,d] - c[d] * up.a[n,d] - first.z[n,d])^2)
    relax { step = 0.7, steps = 3 }
  }
  next h[n,d] = down.a[n,d] + up.a[n,d]
}
repeat M {
  param q = 1
  state s[N]
  start s[n] = sum[d](h[n,d])
  layer last {
    state v[N]
    flow v[n] = tanh(q * s[n]) - v[n] * v[n]
    relax { step = 0.1, steps = 3 }
  }
  next s[n] = last.v[n] - s[n]
}
readout out[n] = s[n] * sum[d](r[d] * first.z[n,d])
cost miss = mean[n]((out[n] - y[n])^2)
"""


def on_sphere(z: Tensor) -> Tensor:
    return z / z.norm(dim=2, keepdim=True)


def many(p: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
    words, w, mix = p["tok"][clamps["idx"]], clamps["w"], p["Q"] + 0.5 * p["Q"].T

    def near(z: Tensor) -> Tensor:
        return (z * w).sum(2)

    def pulled(z: Tensor) -> Tensor:
        pull = -(z * (words + w)).sum((1, 2)) + (near(z) / (1 + near(z).square())).sum(1)
        return pull + 0.5 * (z @ p["first.A"]).square().sum((1, 2)) + 0.5 * (z @ mix.T).square().sum((1, 2))

    z = on_sphere(words)
    for _ in range(5):
        z = on_sphere(descended(pulled, z, 0.2, 1))
    h = z + near(z)[:, :, None]
    for up, down in zip(p["up.c"], p["down.c"], strict=True):

        def rising(a: Tensor, h: Tensor = h, c: Tensor = up) -> Tensor:
            return 0.5 * (a - h).square().sum((1, 2)) + softplus(c * a * p["r"]).sum((1, 2))

        a = descended(rising, torch.zeros_like(h), 0.3, 3)
        b = torch.cat([torch.zeros_like(a[:, :1]), a[:, :-1]], 1).clamp(-1, 1)
        for _ in range(3):
            b = (b - 0.7 * (b - down * a - z)).clamp(-1, 1)
        h = b + a
    s = h.sum(2)
    for q in p["q"]:
        v = torch.zeros_like(s)
        for _ in range(3):
            v = v + 0.1 * (torch.tanh(q * s) - v * v)
        s = v - s
    out = s * (z @ p["r"])
    return (out - targets["y"]).square().mean(1)


def test_layers_read_each_other_and_repeats_follow_each_other() -> None:
    net = loaded(MANY)
    assert net.params["first.B"].shape == (4, 4) and not net.params["first.B"].requires_grad
    assert net.relax(drawn(net)[0]).states["down.a"].shape == (3, 2, 3, 4)
    agree(net, many)


def test_a_tie_in_a_copy_is_a_view_of_its_own_param() -> None:
    text = STREAM.replace(
        "param b[D] ~ normal(0.5)", "param b[D] ~ normal(0.5), A[D, D] ~ normal(0.5)\n tie B[d,e] = A[e,d]"
    )
    net = loaded(
        text.replace("energy well =", "energy turned = 1/8 * sum[d](sum[e](A[d,e] * B[e,d] * z[e])^2)\n energy well =")
    )
    torch.testing.assert_close(net.params["cell.B"], net.params["cell.A"].detach().transpose(1, 2))


def test_bounds_of_copies_hold_after_an_update() -> None:
    net = loaded(STREAM.replace("param b[D] ~ normal(0.5)", "param b[D] ~ normal(0.5) in [0, 1/10]"))
    net.project_params()
    assert float(net.params["cell.b"].detach().min()) >= 0 and float(net.params["cell.b"].detach().max()) <= 0.1


def test_gradients_of_the_copies_of_a_shared_param_add_up() -> None:
    net = loaded(STREAM)
    clamps, targets = drawn(net)
    apart = loaded(
        STREAM.replace("param g[D] = 1", "param g[D] = 1, S[D, D] = 0").replace(
            ", S[D, D] ~ normal(0.5)\nrep", " ~ normal(0.5)\nrep"
        )
    )
    with torch.no_grad():
        for name, param in apart._owners().items():
            param.copy_(net.params[name])
    one, each = (n.gradients(clamps, targets).params for n in (net, apart))
    close({"S": one["S"]}, {"S": each["S"].sum(0)}, 1e-12)
