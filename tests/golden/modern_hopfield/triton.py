@jit
def product_kernel(
    z_ptr, product_ptr, X_ptr, samples, n_D: tl.constexpr, n_M: tl.constexpr, precision: tl.constexpr
):
    """product."""
    real = tl.float32 if X_ptr.dtype.element_ty == tl.bfloat16 else X_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place
    inside = sample < samples
    r = tl.arange(0, 128)[None, :]
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
    t_2 = tl.arange(0, 128)
    c = tl.arange(0, 64)[None, :]
    X_2_ = tl.load(X_ptr + t_2[:, None] * n_D + c, mask=t_2[:, None] < n_M, other=0.0)
    product_2_ = block_dot(
        tl.where(t_2[None, :] < n_M, weights_, 0.0),
        X_2_,
        tl.full((16, 64), 0.0, real),
        precision,
    )
    tl.store(product_ptr + sample * n_D + c, product_2_, mask=inside)


@jit
def next_z_kernel(z_ptr, product_ptr, next_z_ptr, scalars, samples, n_D: tl.constexpr):
    """next_z."""
    real = next_z_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place
    inside = sample < samples
    step_z_ = tl.load(scalars)
    r = tl.arange(0, 64)[None, :]
    z_ = tl.load(z_ptr + sample * n_D + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + sample * n_D + r, mask=inside, other=0.0).to(real)
    next_z_ = z_ + step_z_ * (-z_ + product_)
    tl.store(next_z_ptr + sample * n_D + r, next_z_, mask=inside)


@jit
def next_z_2_kernel(z_ptr, product_ptr, stored_ptr, next_z_ptr, scalars, samples, n_D: tl.constexpr):
    """next_z."""
    real = next_z_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place
    inside = sample < samples
    beta_ = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_z_ = tl.load(scalars + 1)
    r = tl.arange(0, 64)[None, :]
    z_ = tl.load(z_ptr + sample * n_D + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + sample * n_D + r, mask=inside, other=0.0).to(real)
    stored_ = tl.load(stored_ptr + sample * n_D + r, mask=inside, other=0.0)
    next_z_ = z_ + step_z_ * (-z_ + product_ - beta_ * (2 / n_D * (-stored_ + z_)))
    tl.store(next_z_ptr + sample * n_D + r, next_z_, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 2.
    """
    z_, = now
    next_z_, = then
    X_, = given
    n = len(z_)
    product_ = room(memory, n, 0, n_D)
    product_kernel[(cdiv(n, 16),)](z_, product_, X_, n, n_D, n_M, dot_precision(), num_warps=8, num_stages=2)
    next_z_kernel[(cdiv(n, 16),)](z_, product_, next_z_, scalars, n, n_D)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase.

    Launches on a device: 2.
    """
    z_, = now
    next_z_, = then
    X_, stored_ = given
    n = len(z_)
    product_ = room(memory, n, 0, n_D)
    product_kernel[(cdiv(n, 16),)](z_, product_, X_, n, n_D, n_M, dot_precision(), num_warps=8, num_stages=2)
    next_z_2_kernel[(cdiv(n, 16),)](z_, product_, stored_, next_z_, scalars, n, n_D)


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
        {"free": PhaseStep(free_step, 64, matrices={0}), "nudged": PhaseStep(nudged_step, 64, matrices={0})}
    )
