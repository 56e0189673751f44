# in Sets
    def _given(self, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The tensors that kernels read, in their order."""
        return [self.W, fixed.x, self.Q, self.P, *targets]


n_I, n_N, n_K = 6, 5, 3


@jit
def next_s_kernel(
    s_ptr,
    x_ptr,
    W_ptr,
    Q_ptr,
    scalars,
    samples,
    steps,
    n_I: tl.constexpr,
    n_N: tl.constexpr,
    precision: tl.constexpr,
):
    """next_s."""
    real = s_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    sample = place
    inside = sample < samples
    step_s_ = tl.load(scalars)
    r = tl.arange(0, 16)[None, :]
    t = tl.arange(0, 16)
    W_ = tl.load(W_ptr + t[:, None] + n_N * r, mask=(t[:, None] < n_N) & (r < n_N), other=0.0)
    t_2 = tl.arange(0, 16)
    x_ = tl.load(x_ptr + sample * n_I + t_2[None, :], mask=inside & (t_2[None, :] < n_I), other=0.0)
    Q_ = tl.load(Q_ptr + t_2[:, None] + n_I * r, mask=(t_2[:, None] < n_I) & (r < n_N), other=0.0)
    product_2_ = block_dot(x_, Q_, tl.full((64, 16), 0.0, real), precision)
    for _ in tl.range(0, steps, num_stages=1):
        # sum[m](W[n,m] * s[m])
        s_ = tl.load(s_ptr + sample * n_N + t[None, :], mask=inside & (t[None, :] < n_N), other=0.0)
        product_ = block_dot(s_, W_, tl.full((64, 16), 0.0, real), precision)
        # sum[i](x[i] * Q[n,i])
        s_2_ = tl.load(s_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0)
        free_ = s_2_ + step_s_ * (product_ + (-s_2_ + product_2_))
        next_s_ = tl.where(free_ < -1.0, -1.0, tl.where(free_ > 1.0, 1.0, free_))
        tl.debug_barrier()
        tl.store(s_ptr + sample * n_N + r, next_s_, mask=inside & (r < n_N))
        tl.debug_barrier()


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
    x_ptr,
    total_ptr,
    W_ptr,
    Q_ptr,
    P_ptr,
    next_s_ptr,
    scalars,
    samples,
    n_I: tl.constexpr,
    n_N: tl.constexpr,
    n_K: tl.constexpr,
    precision: tl.constexpr,
):
    """next_s."""
    real = next_s_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    sample = place
    inside = sample < samples
    beta_ = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_s_ = tl.load(scalars + 1)
    r = tl.arange(0, 16)[None, :]
    # sum[m](W[n,m] * s[m])
    t = tl.arange(0, 16)
    s_ = tl.load(s_ptr + sample * n_N + t[None, :], mask=inside & (t[None, :] < n_N), other=0.0)
    W_ = tl.load(W_ptr + t[:, None] + n_N * r, mask=(t[:, None] < n_N) & (r < n_N), other=0.0)
    product_ = block_dot(s_, W_, tl.full((64, 16), 0.0, real), precision)
    # sum[i](x[i] * Q[n,i])
    t_2 = tl.arange(0, 16)
    x_ = tl.load(x_ptr + sample * n_I + t_2[None, :], mask=inside & (t_2[None, :] < n_I), other=0.0)
    Q_ = tl.load(Q_ptr + t_2[:, None] + n_I * r, mask=(t_2[:, None] < n_I) & (r < n_N), other=0.0)
    product_2_ = block_dot(x_, Q_, tl.full((64, 16), 0.0, real), precision)
    # sum[k](P[k,n] * (sum[m](P[k,m] * s[m]) - y[k]))
    t_3 = tl.arange(0, 16)
    total_ = tl.load(total_ptr + sample * n_K + t_3[None, :], mask=inside & (t_3[None, :] < n_K), other=0.0)
    P_ = tl.load(P_ptr + t_3[:, None] * n_N + r, mask=(t_3[:, None] < n_K) & (r < n_N), other=0.0)
    product_3_ = block_dot(total_, P_, tl.full((64, 16), 0.0, real), precision)
    s_2_ = tl.load(s_ptr + sample * n_N + r, mask=inside & (r < n_N), other=0.0)
    free_ = s_2_ + step_s_ * (product_ + (-s_2_ + product_2_) - beta_ * (2 / n_K * product_3_))
    next_s_ = tl.where(free_ < -1.0, -1.0, tl.where(free_ > 1.0, 1.0, free_))
    tl.store(next_s_ptr + sample * n_N + r, next_s_, mask=inside & (r < n_N))


def free_walk(states: rt.Tensors, given: rt.Tensors, scalars: Tensor, steps: int) -> None:
    """Steps of the free phase.

    Launches on a device: 1, whatever the number of steps.
    """
    s_, = states
    W_, x_, Q_ = given
    n = len(s_)
    next_s_kernel[(rt.triton.cdiv(n, 64),)](
        s_,
        x_,
        W_,
        Q_,
        scalars,
        n,
        steps,
        n_I,
        n_N,
        rt.triton.dot_precision(),
        num_stages=2,
    )


def nudged_step(now: rt.Tensors, then: rt.Tensors, given: rt.Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase.

    Launches on a device: 2.
    """
    s_, = now
    next_s_, = then
    W_, x_, Q_, P_, y_ = given
    n = len(s_)
    total_ = rt.triton.room(memory, n, 0, n_K)
    total_kernel[(rt.triton.cdiv(n_K * n, 128),)](P_, s_, y_, total_, n, n_N, n_K)
    next_s_2_kernel[(rt.triton.cdiv(n, 64),)](
        s_,
        x_,
        total_,
        W_,
        Q_,
        P_,
        next_s_,
        scalars,
        n,
        n_I,
        n_N,
        n_K,
        rt.triton.dot_precision(),
        num_stages=2,
    )


Sets.kernels = rt.TritonKernels(
    {
        "free": rt.PhaseStep(free_walk, 0, (0, 1, 2), matrices={0, 1, 2}, batched={1}, whole=True),
        "nudged": rt.PhaseStep(nudged_step, 16, (0, 1, 2, 3, 4), matrices={0, 1, 2}, batched={1, 4}),
    }
)
