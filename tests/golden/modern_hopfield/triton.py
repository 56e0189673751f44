@jit
def next_z_kernel(
    z_ptr, X_ptr, scalars, samples, steps, n_D: tl.constexpr, n_M: tl.constexpr, precision: tl.constexpr
):
    """next_z."""
    real = z_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place
    inside = sample < samples
    step_z_ = tl.load(scalars)
    r = tl.arange(0, 128)[None, :]
    r_2 = tl.arange(0, 64)[None, :]
    t_2 = tl.arange(0, 128)
    X_2_ = tl.load(X_ptr + t_2[:, None] * n_D + r_2, mask=t_2[:, None] < n_M, other=0.0)
    for _ in tl.range(0, steps, num_stages=1):
        # sum[d](X[m,d] * z[d])
        product_ = tl.full((16, 128), 0.0, real)
        for start in range(0, n_D, 16):
            t = start + tl.arange(0, 16)
            z_ = tl.load(z_ptr + sample * n_D + t[None, :], mask=inside, other=0.0)
            X_ = tl.load(X_ptr + t[:, None] + n_D * r, mask=r < n_M, other=0.0)
            product_ = block_dot(z_, X_, product_, precision)
        largest_ = tl.max(tl.where(inside & (r < n_M), 8.0 * product_, float("-inf")), 1, keep_dims=True)
        power_ = tl.exp(8.0 * product_ - largest_)
        whole_ = tl.sum(tl.where(inside & (r < n_M), power_, 0.0), 1, keep_dims=True)
        # softmax[m](beta * sum[d](X[m,d] * z[d]))
        weights_ = power_ / whole_
        # sum[m](X[m,d] * softmax[m](beta * sum[d2](X[m,d2] * z[d2])))
        product_2_ = block_dot(
            tl.where(t_2[None, :] < n_M, weights_, 0.0),
            X_2_,
            tl.full((16, 64), 0.0, real),
            precision,
        )
        z_2_ = tl.load(z_ptr + sample * n_D + r_2, mask=inside, other=0.0)
        next_z_ = z_2_ + step_z_ * (-z_2_ + product_2_)
        tl.debug_barrier()
        tl.store(z_ptr + sample * n_D + r_2, next_z_, mask=inside)
        tl.debug_barrier()


@jit
def next_z_2_kernel(
    z_ptr,
    X_ptr,
    stored_ptr,
    scalars,
    samples,
    steps,
    n_D: tl.constexpr,
    n_M: tl.constexpr,
    precision: tl.constexpr,
):
    """next_z."""
    real = z_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place
    inside = sample < samples
    beta_ = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_z_ = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    r_2 = tl.arange(0, 64)[None, :]
    t_2 = tl.arange(0, 128)
    X_2_ = tl.load(X_ptr + t_2[:, None] * n_D + r_2, mask=t_2[:, None] < n_M, other=0.0)
    stored_ = tl.load(stored_ptr + sample * n_D + r_2, mask=inside, other=0.0)
    for _ in tl.range(0, steps, num_stages=1):
        # sum[d](X[m,d] * z[d])
        product_ = tl.full((16, 128), 0.0, real)
        for start in range(0, n_D, 16):
            t = start + tl.arange(0, 16)
            z_ = tl.load(z_ptr + sample * n_D + t[None, :], mask=inside, other=0.0)
            X_ = tl.load(X_ptr + t[:, None] + n_D * r, mask=r < n_M, other=0.0)
            product_ = block_dot(z_, X_, product_, precision)
        largest_ = tl.max(tl.where(inside & (r < n_M), 8.0 * product_, float("-inf")), 1, keep_dims=True)
        power_ = tl.exp(8.0 * product_ - largest_)
        whole_ = tl.sum(tl.where(inside & (r < n_M), power_, 0.0), 1, keep_dims=True)
        # softmax[m](beta * sum[d](X[m,d] * z[d]))
        weights_ = power_ / whole_
        # sum[m](X[m,d] * softmax[m](beta * sum[d2](X[m,d2] * z[d2])))
        product_2_ = block_dot(
            tl.where(t_2[None, :] < n_M, weights_, 0.0),
            X_2_,
            tl.full((16, 64), 0.0, real),
            precision,
        )
        z_2_ = tl.load(z_ptr + sample * n_D + r_2, mask=inside, other=0.0)
        next_z_ = z_2_ + step_z_ * (-z_2_ + product_2_ - beta_ * (2 / n_D * (-stored_ + z_2_)))
        tl.debug_barrier()
        tl.store(z_ptr + sample * n_D + r_2, next_z_, mask=inside)
        tl.debug_barrier()


def free_walk(states: Tensors, given: Tensors, scalars: Tensor, steps: int) -> None:
    """Steps of the free phase.

    Launches on a device: 1, whatever the number of steps.
    """
    z_, = states
    X_, = given
    n = len(z_)
    next_z_kernel[(cdiv(n, 16),)](
        z_,
        X_,
        scalars,
        n,
        steps,
        n_D,
        n_M,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )


def nudged_walk(states: Tensors, given: Tensors, scalars: Tensor, steps: int) -> None:
    """Steps of a nudged phase.

    Launches on a device: 1, whatever the number of steps.
    """
    z_, = states
    X_, stored_ = given
    n = len(z_)
    next_z_2_kernel[(cdiv(n, 16),)](
        z_,
        X_,
        stored_,
        scalars,
        n,
        steps,
        n_D,
        n_M,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )


# in ModernHopfieldEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
        if name == "free":
            return [self.X]
        if name == "nudged":
            return [self.X, targets[0]]
        raise KeyError(name)


# in ModernHopfield
    """The network: its equations, relaxed by kernels and learned."""


# in ModernHopfield
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_walk, 0, matrices={0}, whole=True),
            "nudged": PhaseStep(nudged_walk, 0, matrices={0}, batched={1}, whole=True),
        }
    )
