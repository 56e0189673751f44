@jit
def free_group_1(s, product, product_2, next_s, scalars, samples):
    """next_s."""
    real = next_s.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    inside = place < samples
    sample = place
    step_s = tl.load(scalars)
    r = tl.arange(0, 8)[None, :]
    s_here = tl.load(s + 5 * sample + r, mask=inside & (r < 5), other=0.0)
    product_here = tl.load(product + 5 * sample + r, mask=inside & (r < 5), other=0.0).to(real)
    product_2_here = tl.load(product_2 + 5 * sample + r, mask=inside & (r < 5), other=0.0).to(real)
    free = s_here + step_s * (product_here + (-s_here + product_2_here))
    next_s_here = tl.where(free < -1.0, -1.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s + 5 * sample + r, next_s_here, mask=inside & (r < 5))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    s, = now
    next_s, = then
    W, x, Q = given
    n = len(s)
    product = room(memory, n, 0, 5)
    product_2 = room(memory, n, 16, 5)
    # sum[m](W[n,m] * s[m])
    put_product(matrix(product, (n, 5), (5, 1)), matrix(s, (n, 5), (5, 1)), matrix(W, (5, 5), (1, 5)))
    # sum[i](x[i] * Q[n,i])
    put_product(matrix(product_2, (n, 5), (5, 1)), matrix(x, (n, 6), (6, 1)), matrix(Q, (6, 5), (1, 6)))
    free_group_1[(cdiv(n, 128),)](s, product, product_2, next_s, scalars, n)


@jit
def nudged_group_1(P, s, y, total, samples):
    """total."""
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    inside = place < 3 * samples
    sample = place // 3
    i = place % 3
    r = tl.arange(0, 8)[None, :]
    # sum[n](P[k,n] * s[n])
    P_here = tl.load(P + 5 * i + r, mask=inside & (r < 5), other=0.0)
    s_here = tl.load(s + 5 * sample + r, mask=inside & (r < 5), other=0.0)
    total_2 = tl.sum(tl.where(inside & (r < 5), P_here * s_here, 0.0), 1, keep_dims=True)
    # sum[n](P[k,n] * s[n]) - y[k]
    y_here = tl.load(y + 3 * sample + i, mask=inside, other=0.0)
    total_here = -y_here + total_2
    tl.store(total + 3 * sample + i, total_here, mask=inside)


@jit
def nudged_group_2(s, product, product_2, product_3, next_s, scalars, samples):
    """next_s."""
    real = next_s.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    inside = place < samples
    sample = place
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_s = tl.load(scalars + 1)
    r = tl.arange(0, 8)[None, :]
    s_here = tl.load(s + 5 * sample + r, mask=inside & (r < 5), other=0.0)
    product_here = tl.load(product + 5 * sample + r, mask=inside & (r < 5), other=0.0).to(real)
    product_2_here = tl.load(product_2 + 5 * sample + r, mask=inside & (r < 5), other=0.0).to(real)
    product_3_here = tl.load(product_3 + 5 * sample + r, mask=inside & (r < 5), other=0.0).to(real)
    free = (
        s_here
        + step_s * ((product_here + (-s_here + product_2_here)) - beta * (0.6666666666666666 * product_3_here))
    )
    next_s_here = tl.where(free < -1.0, -1.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s + 5 * sample + r, next_s_here, mask=inside & (r < 5))


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    s, = now
    next_s, = then
    W, x, Q, P, y = given
    n = len(s)
    product = room(memory, n, 0, 5)
    product_2 = room(memory, n, 16, 5)
    total = room(memory, n, 32, 3)
    product_3 = room(memory, n, 48, 5)
    # sum[m](W[n,m] * s[m])
    put_product(matrix(product, (n, 5), (5, 1)), matrix(s, (n, 5), (5, 1)), matrix(W, (5, 5), (1, 5)))
    # sum[i](x[i] * Q[n,i])
    put_product(matrix(product_2, (n, 5), (5, 1)), matrix(x, (n, 6), (6, 1)), matrix(Q, (6, 5), (1, 6)))
    nudged_group_1[(cdiv(3 * n, 128),)](P, s, y, total, n)
    # sum[k](P[k,n] * (sum[m](P[k,m] * s[m]) - y[k]))
    put_product(matrix(product_3, (n, 5), (5, 1)), matrix(total, (n, 3), (3, 1)), matrix(P, (3, 5), (5, 1)))
    nudged_group_2[(cdiv(n, 128),)](s, product, product_2, product_3, next_s, scalars, n)


# in SetsEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [self.W, fixed.x, self.Q]
        if name == "nudged":
            return [self.W, fixed.x, self.Q, self.P, targets[0]]
        raise KeyError(name)


# in Sets
    """The network: its equations, relaxed by kernels and learned."""


# in Sets
    learning_rules = (centered_ep, implicit,)


# in Sets
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 32, matrices={0, 1, 2}),
            "nudged": PhaseStep(nudged_step, 64, matrices={0, 1, 2}),
        }
    )
