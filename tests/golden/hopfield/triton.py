@jit
def free_group_1(s, product, drive, y, b2, product_2, next_s, next_y, scalars, samples):
    """next_s, next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < samples
    sample = place
    step_s = tl.load(scalars)
    step_y = tl.load(scalars + 1)
    r = tl.arange(0, 512)[None, :]
    s_here = tl.load(s + 512 * sample + r, mask=inside, other=0.0)
    product_here = tl.load(product + 512 * sample + r, mask=inside, other=0.0).to(real)
    drive_here = tl.load(drive + 512 * sample + r, mask=inside, other=0.0)
    free = s_here + step_s * (-s_here + product_here + drive_here)
    next_s_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s + 512 * sample + r, next_s_here, mask=inside)
    r_2 = tl.arange(0, 16)[None, :]
    y_here = tl.load(y + 10 * sample + r_2, mask=inside & (r_2 < 10), other=0.0)
    b2_here = tl.load(b2 + r_2, mask=r_2 < 10, other=0.0)
    product_2_here = tl.load(product_2 + 10 * sample + r_2, mask=inside & (r_2 < 10), other=0.0).to(real)
    free_2 = y_here + step_y * (b2_here - y_here + product_2_here)
    next_y_here = tl.where(free_2 < 0.0, 0.0, tl.where(free_2 > 1.0, 1.0, free_2))
    tl.store(next_y + 10 * sample + r_2, next_y_here, mask=inside & (r_2 < 10))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    s, y = now
    next_s, next_y = then
    W2, drive, b2 = given
    n = len(s)
    product = room(memory, n, 0, 512)
    product_2 = room(memory, n, 512, 10)
    # sum[k](W2[j,k] * y[k])
    put_product(matrix(product, (n, 512), (512, 1)), matrix(y, (n, 10), (10, 1)), matrix(W2, (10, 512), (1, 10)))
    # sum[j](W2[j,k] * s[j])
    put_product(matrix(product_2, (n, 10), (10, 1)), matrix(s, (n, 512), (512, 1)), matrix(W2, (512, 10), (10, 1)))
    free_group_1[(cdiv(n, 2),)](s, product, drive, y, b2, product_2, next_s, next_y, scalars, n)


@jit
def nudged_group_1(s, product, drive, y, b2, product_2, label, next_s, next_y, scalars, samples):
    """next_s, next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < samples
    sample = place
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 3), 1.0, -1.0)
    step_s = tl.load(scalars + 1)
    step_y = tl.load(scalars + 2)
    r = tl.arange(0, 512)[None, :]
    s_here = tl.load(s + 512 * sample + r, mask=inside, other=0.0)
    product_here = tl.load(product + 512 * sample + r, mask=inside, other=0.0).to(real)
    drive_here = tl.load(drive + 512 * sample + r, mask=inside, other=0.0)
    free = s_here + step_s * (-s_here + product_here + drive_here)
    next_s_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s + 512 * sample + r, next_s_here, mask=inside)
    r_2 = tl.arange(0, 16)[None, :]
    y_here = tl.load(y + 10 * sample + r_2, mask=inside & (r_2 < 10), other=0.0)
    b2_here = tl.load(b2 + r_2, mask=r_2 < 10, other=0.0)
    product_2_here = tl.load(product_2 + 10 * sample + r_2, mask=inside & (r_2 < 10), other=0.0).to(real)
    label_here = tl.load(label + sample, mask=inside, other=0)
    free_2 = (
        y_here
        + step_y * (
            (b2_here - y_here + product_2_here) - beta * (
                y_here - tl.where(r_2 == label_here, tl.full((1, 1), 1.0, real), 0.0)
            )
        )
    )
    next_y_here = tl.where(free_2 < 0.0, 0.0, tl.where(free_2 > 1.0, 1.0, free_2))
    tl.store(next_y + 10 * sample + r_2, next_y_here, mask=inside & (r_2 < 10))


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    s, y = now
    next_s, next_y = then
    W2, drive, b2, label = given
    n = len(s)
    product = room(memory, n, 0, 512)
    product_2 = room(memory, n, 512, 10)
    # sum[k](W2[j,k] * y[k])
    put_product(matrix(product, (n, 512), (512, 1)), matrix(y, (n, 10), (10, 1)), matrix(W2, (10, 512), (1, 10)))
    # sum[j](W2[j,k] * s[j])
    put_product(matrix(product_2, (n, 10), (10, 1)), matrix(s, (n, 512), (512, 1)), matrix(W2, (512, 10), (10, 1)))
    nudged_group_1[(cdiv(n, 2),)](s, product, drive, y, b2, product_2, label, next_s, next_y, scalars, n)


# in HopfieldEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [self.W2, fixed.drive, self.b2]
        if name == "nudged":
            return [self.W2, fixed.drive, self.b2, targets[0]]
        raise KeyError(name)


# in Hopfield
    """The network: its equations, relaxed by kernels and learned."""


# in Hopfield
    learning_rules = (centered_ep, implicit,)


# in Hopfield
    kernels = TritonKernels(
        {"free": PhaseStep(free_step, 528, matrices={0}), "nudged": PhaseStep(nudged_step, 528, matrices={0})}
    )
