@jit
def next_s_kernel(s_ptr, product_ptr, product_2_ptr, next_s_ptr, scalars, samples, n_N: tl.constexpr):
    """next_s."""
    real = next_s_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    sample = place
    inside = sample < samples
    step_s_ = tl.load(scalars)
    r = tl.arange(0, 8)[None, :]
    s_ = tl.load(s_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0)
    product_ = tl.load(product_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0).to(real)
    product_2_ = tl.load(product_2_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0).to(real)
    free_ = s_ + step_s_ * (product_ + (-s_ + product_2_))
    next_s_ = tl.where(free_ < -1.0, -1.0, tl.where(free_ > 1.0, 1.0, free_))
    tl.store(next_s_ptr + sample * n_N + r, next_s_, mask=inside & (r < n_N))


@jit
def total_kernel(P_ptr, s_ptr, y_ptr, total_ptr, samples, n_N: tl.constexpr, n_K: tl.constexpr):
    """total."""
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    sample = place // n_K
    inside = sample < samples
    i = place % n_K
    r = tl.arange(0, 8)[None, :]
    # sum[n](P[k,n] * s[n])
    P_ = tl.load(P_ptr + i * n_N + r, mask=inside & (r < n_N), other=0.0)
    s_ = tl.load(s_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0)
    total_ = tl.sum(tl.where(inside & (r < n_N), P_ * s_, 0.0), 1, keep_dims=True)
    # sum[n](P[k,n] * s[n]) - y[k]
    y_ = tl.load(y_ptr + sample * n_K + i, mask=inside, other=0.0)
    total_2_ = -y_ + total_
    tl.store(total_ptr + sample * n_K + i, total_2_, mask=inside)


@jit
def next_s_2_kernel(
    s_ptr,
    product_ptr,
    product_2_ptr,
    product_3_ptr,
    next_s_ptr,
    scalars,
    samples,
    n_N: tl.constexpr,
    n_K: tl.constexpr,
):
    """next_s."""
    real = next_s_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    sample = place
    inside = sample < samples
    beta_ = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_s_ = tl.load(scalars + 1)
    r = tl.arange(0, 8)[None, :]
    s_ = tl.load(s_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0)
    product_ = tl.load(product_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0).to(real)
    product_2_ = tl.load(product_2_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0).to(real)
    product_3_ = tl.load(product_3_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0).to(real)
    free_ = s_ + step_s_ * (product_ + (-s_ + product_2_) - beta_ * (2 / n_K * product_3_))
    next_s_ = tl.where(free_ < -1.0, -1.0, tl.where(free_ > 1.0, 1.0, free_))
    tl.store(next_s_ptr + sample * n_N + r, next_s_, mask=inside & (r < n_N))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 3.
    """
    s_, = now
    next_s_, = then
    W_, x_, Q_ = given
    n = len(s_)
    product_ = room(memory, n, 0, n_N)
    product_2_ = room(memory, n, 16, n_N)
    # sum[m](W[n,m] * s[m])
    put_product(
        matrix(product_, (n, n_N), (n_N, 1)),
        matrix(s_, (n, n_N), (n_N, 1)),
        matrix(W_, (n_N, n_N), (1, n_N)),
    )
    # sum[i](x[i] * Q[n,i])
    put_product(
        matrix(product_2_, (n, n_N), (n_N, 1)),
        matrix(x_, (n, n_I), (n_I, 1)),
        matrix(Q_, (n_I, n_N), (1, n_I)),
    )
    next_s_kernel[(cdiv(n, 128),)](s_, product_, product_2_, next_s_, scalars, n, n_N)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase.

    Launches on a device: 5.
    """
    s_, = now
    next_s_, = then
    W_, x_, Q_, P_, y_ = given
    n = len(s_)
    product_ = room(memory, n, 0, n_N)
    product_2_ = room(memory, n, 16, n_N)
    total_ = room(memory, n, 32, n_K)
    product_3_ = room(memory, n, 48, n_N)
    # sum[m](W[n,m] * s[m])
    put_product(
        matrix(product_, (n, n_N), (n_N, 1)),
        matrix(s_, (n, n_N), (n_N, 1)),
        matrix(W_, (n_N, n_N), (1, n_N)),
    )
    # sum[i](x[i] * Q[n,i])
    put_product(
        matrix(product_2_, (n, n_N), (n_N, 1)),
        matrix(x_, (n, n_I), (n_I, 1)),
        matrix(Q_, (n_I, n_N), (1, n_I)),
    )
    total_kernel[(cdiv(n_K * n, 128),)](P_, s_, y_, total_, n, n_N, n_K)
    # sum[k](P[k,n] * (sum[m](P[k,m] * s[m]) - y[k]))
    put_product(
        matrix(product_3_, (n, n_N), (n_N, 1)),
        matrix(total_, (n, n_K), (n_K, 1)),
        matrix(P_, (n_K, n_N), (n_N, 1)),
    )
    next_s_2_kernel[(cdiv(n, 128),)](s_, product_, product_2_, product_3_, next_s_, scalars, n, n_N, n_K)


# in SetsEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
        if name == "free":
            return [self.W, fixed.x, self.Q]
        if name == "nudged":
            return [self.W, fixed.x, self.Q, self.P, targets[0]]
        raise KeyError(name)


# in Sets
    """The network: its equations, relaxed by kernels and learned."""


# in Sets
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 32, matrices={0, 1, 2}),
            "nudged": PhaseStep(nudged_step, 64, matrices={0, 1, 2}),
        }
    )
