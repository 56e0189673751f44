# in Hopfield
    def _given(self, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The tensors that kernels read, in their order."""
        return [self.W2, fixed.drive, self.b2, *targets]


n_J, n_K = 512, 10


@jit
def next_s_next_y_kernel(
    y_ptr,
    s_ptr,
    W2_ptr,
    drive_ptr,
    b2_ptr,
    scalars,
    samples,
    steps,
    n_J: tl.constexpr,
    n_K: tl.constexpr,
    precision: tl.constexpr,
):
    """next_s, next_y."""
    real = y_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place
    inside = sample < samples
    step_s_ = tl.load(scalars)
    step_y_ = tl.load(scalars + 1)
    r = tl.arange(0, 512)[None, :]
    t = tl.arange(0, 16)
    W2_ = tl.load(W2_ptr + t[:, None] + n_K * r, mask=t[:, None] < n_K, other=0.0)
    drive_ = tl.load(drive_ptr + sample * n_J + r, mask=inside, other=0.0)
    r_2 = tl.arange(0, 16)[None, :]
    b2_ = tl.load(b2_ptr + r_2, mask=r_2 < n_K, other=0.0)
    for _ in tl.range(0, steps, num_stages=1):
        # sum[k](W2[j,k] * y[k])
        y_ = tl.load(y_ptr + sample * n_K + t[None, :], mask=inside & (t[None, :] < n_K), other=0.0)
        product_ = block_dot(y_, W2_, tl.full((16, 512), 0.0, real), precision)
        s_ = tl.load(s_ptr + sample * n_J + r, mask=inside, other=0.0)
        free_ = s_ + step_s_ * (-s_ + product_ + drive_)
        next_s_ = tl.where(free_ < 0.0, 0.0, tl.where(free_ > 1.0, 1.0, free_))
        # sum[j](W2[j,k] * s[j])
        product_2_ = tl.full((16, 16), 0.0, real)
        for start in range(0, n_J, 16):
            t_2 = start + tl.arange(0, 16)
            s_2_ = tl.load(s_ptr + sample * n_J + t_2[None, :], mask=inside, other=0.0)
            W2_2_ = tl.load(W2_ptr + t_2[:, None] * n_K + r_2, mask=r_2 < n_K, other=0.0)
            product_2_ = block_dot(s_2_, W2_2_, product_2_, precision)
        y_2_ = tl.load(y_ptr + sample * n_K + r_2, mask=inside & (r_2 < n_K), other=0.0)
        free_2_ = y_2_ + step_y_ * (b2_ - y_2_ + product_2_)
        next_y_ = tl.where(free_2_ < -1.0, -1.0, tl.where(free_2_ > 2.0, 2.0, free_2_))
        tl.debug_barrier()
        tl.store(s_ptr + sample * n_J + r, next_s_, mask=inside)
        tl.store(y_ptr + sample * n_K + r_2, next_y_, mask=inside & (r_2 < n_K))
        tl.debug_barrier()


@jit
def next_s_next_y_2_kernel(
    y_ptr,
    s_ptr,
    W2_ptr,
    drive_ptr,
    b2_ptr,
    label_ptr,
    scalars,
    samples,
    steps,
    n_J: tl.constexpr,
    n_K: tl.constexpr,
    precision: tl.constexpr,
):
    """next_s, next_y."""
    real = y_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place
    inside = sample < samples
    beta_ = tl.load(scalars) * tl.where(sample < tl.load(scalars + 3), 1.0, -1.0)
    step_s_ = tl.load(scalars + 1)
    step_y_ = tl.load(scalars + 2)
    r = tl.arange(0, 512)[None, :]
    t = tl.arange(0, 16)
    W2_ = tl.load(W2_ptr + t[:, None] + n_K * r, mask=t[:, None] < n_K, other=0.0)
    drive_ = tl.load(drive_ptr + sample * n_J + r, mask=inside, other=0.0)
    r_2 = tl.arange(0, 16)[None, :]
    b2_ = tl.load(b2_ptr + r_2, mask=r_2 < n_K, other=0.0)
    label_ = tl.load(label_ptr + sample, mask=inside, other=0)
    for _ in tl.range(0, steps, num_stages=1):
        # sum[k](W2[j,k] * y[k])
        y_ = tl.load(y_ptr + sample * n_K + t[None, :], mask=inside & (t[None, :] < n_K), other=0.0)
        product_ = block_dot(y_, W2_, tl.full((16, 512), 0.0, real), precision)
        s_ = tl.load(s_ptr + sample * n_J + r, mask=inside, other=0.0)
        free_ = s_ + step_s_ * (-s_ + product_ + drive_)
        next_s_ = tl.where(free_ < 0.0, 0.0, tl.where(free_ > 1.0, 1.0, free_))
        # sum[j](W2[j,k] * s[j])
        product_2_ = tl.full((16, 16), 0.0, real)
        for start in range(0, n_J, 16):
            t_2 = start + tl.arange(0, 16)
            s_2_ = tl.load(s_ptr + sample * n_J + t_2[None, :], mask=inside, other=0.0)
            W2_2_ = tl.load(W2_ptr + t_2[:, None] * n_K + r_2, mask=r_2 < n_K, other=0.0)
            product_2_ = block_dot(s_2_, W2_2_, product_2_, precision)
        y_2_ = tl.load(y_ptr + sample * n_K + r_2, mask=inside & (r_2 < n_K), other=0.0)
        free_2_ = (
            y_2_
            + step_y_ * (
                b2_ - y_2_ + product_2_ - beta_ * (y_2_ - tl.where(r_2 == label_, tl.full((1, 1), 1.0, real), 0.0))
            )
        )
        next_y_ = tl.where(free_2_ < -1.0, -1.0, tl.where(free_2_ > 2.0, 2.0, free_2_))
        tl.debug_barrier()
        tl.store(s_ptr + sample * n_J + r, next_s_, mask=inside)
        tl.store(y_ptr + sample * n_K + r_2, next_y_, mask=inside & (r_2 < n_K))
        tl.debug_barrier()


def free_walk(states: rt.Tensors, given: rt.Tensors, scalars: Tensor, steps: int) -> None:
    """Steps of the free phase.

    Launches on a device: 1, whatever the number of steps.
    """
    s_, y_ = states
    W2_, drive_, b2_ = given
    n = len(s_)
    next_s_next_y_kernel[(rt.triton.cdiv(n, 16),)](
        y_,
        s_,
        W2_,
        drive_,
        b2_,
        scalars,
        n,
        steps,
        n_J,
        n_K,
        rt.triton.dot_precision(),
        num_warps=8,
        num_stages=2,
    )


def nudged_walk(states: rt.Tensors, given: rt.Tensors, scalars: Tensor, steps: int) -> None:
    """Steps of a nudged phase.

    Launches on a device: 1, whatever the number of steps.
    """
    s_, y_ = states
    W2_, drive_, b2_, label_ = given
    n = len(s_)
    next_s_next_y_2_kernel[(rt.triton.cdiv(n, 16),)](
        y_,
        s_,
        W2_,
        drive_,
        b2_,
        label_,
        scalars,
        n,
        steps,
        n_J,
        n_K,
        rt.triton.dot_precision(),
        num_warps=8,
        num_stages=2,
    )


Hopfield.kernels = rt.TritonKernels(
    {
        "free": rt.PhaseStep(free_walk, 0, (0, 1, 2), matrices={0}, batched={1}, whole=True),
        "nudged": rt.PhaseStep(nudged_walk, 0, (0, 1, 2, 3), matrices={0}, batched={1, 3}, whole=True),
    }
)
