"""Random specs over edge lists: guarded reductions over the edges into a node, gathers at both ends, their mixtures.

``dst[e]``, ``src[e]`` and ``kind[e]`` are drawn, so that edges repeat, loop, and leave nodes without any.
"""

from __future__ import annotations

from random import Random

HEAD = """network edges
dim N = 5, E = 9, D = 3, H = 2, G = 2, R = 2, B = 2
clamp src[E] : N, dst[E] : N, kind[E] : R, graph[N] : G, ends[B, E] : N
clamp c[E], x[N, D]
target t[N, D]
param W[H, D, D], V[H, D, D] ~ normal(0.5)
param w[E], u[R], b[D], p[N, E] ~ normal(0.5)
state z[N, D]
let q[h,n,d] = sum[f in D](W[h,d,f] * tanh(z[n,f]))
let k[h,n,d] = sum[f in D](V[h,d,f] * tanh(z[n,f]))
let s[h,e] = 0.5 * sum[d](q[h,dst[e],d] * k[h,src[e],d])
energy own = 1/2 * sum[n,d](z[n,d]^2)
let sums = sum[e](w[e]) + sum[r](u[r]) + sum[n,e](p[n,e]) + sum[h,d,f in D](W[h,d,f] * V[h,f,d])
energy used = 0.1 * sum[n,d](x[n,d] * b[d] * z[n,d]) * sums
readout out[n,d] = z[n,d]
cost c0 = 1/2 * sum[n,d]((z[n,d] - t[n,d])^2)
"""

#: Numbers of an edge e; those in ``AT_NODE`` read its node n too, whether or not e goes into n.
OF_EDGE = (
    "s[0,e]",
    "tanh(s[1,e] * c[e])",
    "z[src[e],0]",
    "z[dst[e],1] * w[e]",
    "sum[d](q[0,src[e],d] * z[dst[e],d])",
    "0.1 * e * z[src[e],2]",
    "w[e] * u[kind[e]]",
    "where(kind[e] == 1, w[e], c[e])",
    "sum[d in D | d != 1](b[d] * z[src[e],d])",
    "1",
)
AT_NODE = (
    "sum[d](q[0,n,d] * k[0,src[e],d])",
    "tanh(z[n,0] - z[src[e],1])",
    "0.1 * (n - e) * z[n,2]",
    "c[e] * sum[d](z[n,d] * b[d])",
    "p[n,e] * z[src[e],0]",
    "logsumexp[d](z[n,d] + z[src[e],d])",
    "max[d](z[n,d] * c[e])",
    "where(src[e] == n, w[e], z[n,1])",
    "softmax[d](z[n,d] * c[e] + b[d])",
)
#: Further conditions of a guard.
WITH = (
    "",
    "",
    " and kind[e] == 1",
    " and src[e] != n",
    " and e < 6",
    " and graph[src[e]] == graph[n]",
    " and not (src[e] == n and kind[e] == 0)",
)


class EdgeSpec:
    """One spec on its way."""

    def __init__(self, seed: int, *, holomorphic: bool = False) -> None:
        """The same seed gives the same spec; a holomorphic one takes no maximum."""
        self.random = Random(seed)
        self.holomorphic = holomorphic

    def text(self) -> str:
        """The spec."""
        made = [f"energy e{k} = {self.energy()}" for k in range(self.random.choice((1, 2, 3)))]
        return HEAD + "\n".join(made) + "\n"

    def energy(self) -> str:
        forms = (
            self.of_nodes,
            self.of_nodes,
            self.of_nodes,
            self.messages,
            self.weighted,
            self.of_kinds,
            self.of_graphs,
        )
        rest = (self.of_ends, self.where, self.adjacency, self.tables, self.tables)
        return f"0.3 * {self.random.choice((*forms, *rest))()}"

    def score(self) -> str:
        """A number of an edge, and perhaps of a node."""
        text = self.random.choice([text for text in (*OF_EDGE, *AT_NODE) if not self.holomorphic or "max[" not in text])
        if "softmax[d]" in text:
            text = f"sum[d in D | d == 1]({text})"
        return text if self.random.random() < 0.7 else f"({text}) * ({self.random.choice(OF_EDGE)})"

    def kind(self, *kinds: str) -> str:
        """A reduction."""
        return self.random.choice([kind for kind in kinds if not self.holomorphic or kind != "max"])

    def into(self) -> str:
        """The condition that e goes into n."""
        goes = self.random.choice(("dst[e] == n", "n == dst[e]", "dst[e] == n and n == src[e]", "n == src[e]"))
        return goes + self.random.choice(WITH)

    def outer(self, inner: str) -> str:
        """A scalar of something of each node."""
        forms = ("z[n,0] * {}", "z[n,1] * ({})^2", "z[n,0] * tanh({})", "logsumexp[d](z[n,d] * {})")
        return f"sum[n]({self.random.choice(forms).format(inner)})"

    def of_nodes(self) -> str:
        kind = self.kind("sum", "mean", "logsumexp", "logsumexp", "max", "variance")
        guard = self.into()
        return self.outer(f"{kind}[e | {guard}]({self.score()})")

    def weighted(self) -> str:
        """Attention over the edges into a node, with values."""
        guard = self.into()
        weights = f"softmax[e | {guard}]({self.score()})"
        if self.random.random() < 0.3:
            weights = f"tanh({weights})"
        outer = self.random.choice(("", f" | {guard}", f" | {self.into()}"))
        return f"sum[n,d](tanh(sum[e{outer}]({weights} * z[src[e],d])) * z[n,d])"

    def tables(self) -> str:
        """A table of nodes by edges that is sparse, read in other ways than along its guard."""
        table = self.random.choice(
            (
                f"softmax[e | {self.into()}]({self.score()})",
                f"where({self.into()}, {self.score()}, 0)",
                f"where({self.into()}, {self.score()}, 0.3)",
                f"tanh({self.score()})",
            )
        )
        by = self.random.choice(
            ("logsumexp[e in E]({})", "max[e in E]({})", "sum[e in E](tanh({})^2)", "sum[e](softmax[e]({}) * w[e])")
        )
        by = by if not self.holomorphic else by.replace("max[e in E](", "logsumexp[e in E](")
        again = self.random.choice(("", f" + sum[e | {self.into()}]({table} * z[src[e],0])"))
        along = f"softmax[e | {self.into()}](exp({table}))"
        return f"sum[n](z[n,0] * ({by.format(table)}{again})) + sum[n,e | {self.into()}]({along} * z[n,1])"

    def messages(self) -> str:
        value = self.random.choice(
            ("z[src[e],d]", "z[src[e],d] - z[n,d]", "b[d] * w[e]", "k[0,src[e],d] * q[1,dst[e],d]")
        )
        return f"sum[n,d](sum[e | {self.into()}]({value})^2 * z[n,0])"

    def of_kinds(self) -> str:
        """A second index that an integer of the edge decides."""
        kind = self.kind("logsumexp", "sum", "max", "mean")
        inner = f"{kind}[e | dst[e] == n and kind[e] == r]({self.random.choice(OF_EDGE)} * u[r])"
        return f"sum[n,r](tanh({inner}) * z[n,0])"

    def of_graphs(self) -> str:
        """A disjoint union: reductions over the nodes, and over the edges, of each graph."""
        of_node = self.random.choice(("z[n,0]", "sum[d](z[n,d] * b[d])", "logsumexp[d](z[n,d])"))
        nodes = f"{self.kind('sum', 'mean', 'logsumexp', 'max')}[n | graph[n] == g]({of_node})"
        score = self.random.choice(OF_EDGE)
        edges = f"{self.kind('sum', 'mean', 'logsumexp')}[e | graph[dst[e]] == g]({score})"
        return f"sum[g](sum[n,d](z[n,d]) * tanh({self.random.choice((nodes, edges, f'{nodes} * {edges}'))}))"

    def of_ends(self) -> str:
        """A list of lists: one axis is reduced, or both."""
        over = self.random.choice(("e", "a,e"))
        if over == "e":
            score = self.random.choice(("z[ends[a,e],0]", "w[e] * z[n,1]", "s[a,e]")).replace("s[a,e]", "s[0,e]")
            return f"sum[n,a](tanh(logsumexp[e | ends[a,e] == n]({score}) + sum[e | ends[a,e] == n]({score})))"
        kind = self.kind("sum", "logsumexp", "max", "mean")
        return f"sum[n](tanh({kind}[a in B,e | ends[a,e] == n](z[ends[a,e],0] * w[e])) * z[n,1])"

    def where(self) -> str:
        return f"sum[n](z[n,2] * sum[e](where({self.into()}, {self.score()}, 0))^2)"

    def adjacency(self) -> str:
        inner = "sum[e | dst[e] == n and src[e] == m](w[e])"
        return f"sum[n,m in N]({inner} * sum[d](z[n,d] * z[m,d]))"


def edge_spec(seed: int, *, holomorphic: bool = False) -> str:
    """The spec of a seed."""
    return EdgeSpec(seed, holomorphic=holomorphic).text()
