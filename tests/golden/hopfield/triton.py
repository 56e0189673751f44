@jit
def next_s_next_y_kernel(
    s_ptr,
    product_ptr,
    drive_ptr,
    y_ptr,
    b2_ptr,
    product_2_ptr,
    next_s_ptr,
    next_y_ptr,
    scalars,
    samples,
    n_J: tl.constexpr,
    n_K: tl.constexpr,
):
    """next_s, next_y."""
    real = next_y_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    sample = place
    inside = sample < samples
    step_s_ = tl.load(scalars)
    step_y_ = tl.load(scalars + 1)
    r = tl.arange(0, 512)[None, :]
    s_ = tl.load(s_ptr + sample * n_J + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + sample * n_J + r, mask=inside, other=0.0).to(real)
    drive_ = tl.load(drive_ptr + sample * n_J + r, mask=inside, other=0.0)
    free_ = s_ + step_s_ * (-s_ + product_ + drive_)
    next_s_ = tl.where(free_ < 0.0, 0.0, tl.where(free_ > 1.0, 1.0, free_))
    tl.store(next_s_ptr + sample * n_J + r, next_s_, mask=inside)
    r_2 = tl.arange(0, 16)[None, :]
    y_ = tl.load(y_ptr + sample * n_K + r_2, mask=inside & (r_2 < n_K), other=0.0)
    b2_ = tl.load(b2_ptr + r_2, mask=r_2 < n_K, other=0.0)
    product_2_ = tl.load(product_2_ptr + sample * n_K + r_2, mask=inside & (r_2 < n_K), other=0.0).to(real)
    free_2_ = y_ + step_y_ * (b2_ - y_ + product_2_)
    next_y_ = tl.where(free_2_ < 0.0, 0.0, tl.where(free_2_ > 1.0, 1.0, free_2_))
    tl.store(next_y_ptr + sample * n_K + r_2, next_y_, mask=inside & (r_2 < n_K))


@jit
def next_s_next_y_2_kernel(
    s_ptr,
    product_ptr,
    drive_ptr,
    y_ptr,
    b2_ptr,
    product_2_ptr,
    label_ptr,
    next_s_ptr,
    next_y_ptr,
    scalars,
    samples,
    n_J: tl.constexpr,
    n_K: tl.constexpr,
):
    """next_s, next_y."""
    real = next_y_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    sample = place
    inside = sample < samples
    beta_ = tl.load(scalars) * tl.where(sample < tl.load(scalars + 3), 1.0, -1.0)
    step_s_ = tl.load(scalars + 1)
    step_y_ = tl.load(scalars + 2)
    r = tl.arange(0, 512)[None, :]
    s_ = tl.load(s_ptr + sample * n_J + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + sample * n_J + r, mask=inside, other=0.0).to(real)
    drive_ = tl.load(drive_ptr + sample * n_J + r, mask=inside, other=0.0)
    free_ = s_ + step_s_ * (-s_ + product_ + drive_)
    next_s_ = tl.where(free_ < 0.0, 0.0, tl.where(free_ > 1.0, 1.0, free_))
    tl.store(next_s_ptr + sample * n_J + r, next_s_, mask=inside)
    r_2 = tl.arange(0, 16)[None, :]
    y_ = tl.load(y_ptr + sample * n_K + r_2, mask=inside & (r_2 < n_K), other=0.0)
    b2_ = tl.load(b2_ptr + r_2, mask=r_2 < n_K, other=0.0)
    product_2_ = tl.load(product_2_ptr + sample * n_K + r_2, mask=inside & (r_2 < n_K), other=0.0).to(real)
    label_ = tl.load(label_ptr + sample, mask=inside, other=0)
    free_2_ = (
        y_
        + step_y_ * (
            b2_ - y_ + product_2_ - beta_ * (y_ - tl.where(r_2 == label_, tl.full((1, 1), 1.0, real), 0.0))
        )
    )
    next_y_ = tl.where(free_2_ < 0.0, 0.0, tl.where(free_2_ > 1.0, 1.0, free_2_))
    tl.store(next_y_ptr + sample * n_K + r_2, next_y_, mask=inside & (r_2 < n_K))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 3.
    """
    s_, y_ = now
    next_s_, next_y_ = then
    W2_, drive_, b2_ = given
    n = len(s_)
    product_ = room(memory, n, 0, n_J)
    product_2_ = room(memory, n, 512, n_K)
    # sum[k](W2[j,k] * y[k])
    put_product(
        matrix(product_, (n, n_J), (n_J, 1)),
        matrix(y_, (n, n_K), (n_K, 1)),
        matrix(W2_, (n_K, n_J), (1, n_K)),
    )
    # sum[j](W2[j,k] * s[j])
    put_product(
        matrix(product_2_, (n, n_K), (n_K, 1)),
        matrix(s_, (n, n_J), (n_J, 1)),
        matrix(W2_, (n_J, n_K), (n_K, 1)),
    )
    next_s_next_y_kernel[(cdiv(n, 2),)](
        s_,
        product_,
        drive_,
        y_,
        b2_,
        product_2_,
        next_s_,
        next_y_,
        scalars,
        n,
        n_J,
        n_K,
    )


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase.

    Launches on a device: 3.
    """
    s_, y_ = now
    next_s_, next_y_ = then
    W2_, drive_, b2_, label_ = given
    n = len(s_)
    product_ = room(memory, n, 0, n_J)
    product_2_ = room(memory, n, 512, n_K)
    # sum[k](W2[j,k] * y[k])
    put_product(
        matrix(product_, (n, n_J), (n_J, 1)),
        matrix(y_, (n, n_K), (n_K, 1)),
        matrix(W2_, (n_K, n_J), (1, n_K)),
    )
    # sum[j](W2[j,k] * s[j])
    put_product(
        matrix(product_2_, (n, n_K), (n_K, 1)),
        matrix(s_, (n, n_J), (n_J, 1)),
        matrix(W2_, (n_J, n_K), (n_K, 1)),
    )
    next_s_next_y_2_kernel[(cdiv(n, 2),)](
        s_,
        product_,
        drive_,
        y_,
        b2_,
        product_2_,
        label_,
        next_s_,
        next_y_,
        scalars,
        n,
        n_J,
        n_K,
    )


# in HopfieldEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
        if name == "free":
            return [self.W2, fixed.drive, self.b2]
        if name == "nudged":
            return [self.W2, fixed.drive, self.b2, targets[0]]
        raise KeyError(name)


# in Hopfield
    """The network: its equations, relaxed by kernels and learned."""


# in Hopfield
    kernels = TritonKernels(
        {"free": PhaseStep(free_step, 528, matrices={0}), "nudged": PhaseStep(nudged_step, 528, matrices={0})}
    )
