@jit
def free_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < samples
    sample = place
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 100 * sample + r, mask=inside & (r < 100), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 100), 8.0 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp((8.0 * product_here) - largest_2)
    whole = tl.sum(tl.where(inside & (r < 100), power, 0.0), 1, keep_dims=True)
    # softmax[m](beta * sum[d](X[m,d] * z[d]))
    weights_here = power / whole
    tl.store(weights + 100 * sample + r, weights_here, mask=inside & (r < 100))


@jit
def free_group_2(z, product, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < samples
    sample = place
    step_z = tl.load(scalars)
    r = tl.arange(0, 64)[None, :]
    z_here = tl.load(z + 64 * sample + r, mask=inside, other=0.0)
    product_here = tl.load(product + 64 * sample + r, mask=inside, other=0.0).to(real)
    next_z_here = z_here + step_z * (-z_here + product_here)
    tl.store(next_z + 64 * sample + r, next_z_here, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    z, = now
    next_z, = then
    X, = given
    n = len(z)
    product = room(memory, n, 0, 100)
    weights = room(memory, n, 112, 100)
    product_2 = room(memory, n, 0, 64)
    # sum[d](X[m,d] * z[d])
    put_product(matrix(product, (n, 100), (100, 1)), matrix(z, (n, 64), (64, 1)), matrix(X, (64, 100), (1, 64)))
    free_group_1[(cdiv(n, 8),)](product, weights, n)
    # sum[m](X[m,d] * softmax[m](beta * sum[d2](X[m,d2] * z[d2])))
    put_product(
        matrix(product_2, (n, 64), (64, 1)),
        matrix(weights, (n, 100), (100, 1)),
        matrix(X, (100, 64), (64, 1)),
    )
    free_group_2[(cdiv(n, 16),)](z, product_2, next_z, scalars, n)


@jit
def nudged_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < samples
    sample = place
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 100 * sample + r, mask=inside & (r < 100), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 100), 8.0 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp((8.0 * product_here) - largest_2)
    whole = tl.sum(tl.where(inside & (r < 100), power, 0.0), 1, keep_dims=True)
    # softmax[m](beta * sum[d](X[m,d] * z[d]))
    weights_here = power / whole
    tl.store(weights + 100 * sample + r, weights_here, mask=inside & (r < 100))


@jit
def nudged_group_2(z, product, stored, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < samples
    sample = place
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 64)[None, :]
    z_here = tl.load(z + 64 * sample + r, mask=inside, other=0.0)
    product_here = tl.load(product + 64 * sample + r, mask=inside, other=0.0).to(real)
    stored_here = tl.load(stored + 64 * sample + r, mask=inside, other=0.0)
    next_z_here = z_here + step_z * ((-z_here + product_here) - beta * (0.03125 * (-stored_here + z_here)))
    tl.store(next_z + 64 * sample + r, next_z_here, mask=inside)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    z, = now
    next_z, = then
    X, stored = given
    n = len(z)
    product = room(memory, n, 0, 100)
    weights = room(memory, n, 112, 100)
    product_2 = room(memory, n, 0, 64)
    # sum[d](X[m,d] * z[d])
    put_product(matrix(product, (n, 100), (100, 1)), matrix(z, (n, 64), (64, 1)), matrix(X, (64, 100), (1, 64)))
    nudged_group_1[(cdiv(n, 8),)](product, weights, n)
    # sum[m](X[m,d] * softmax[m](beta * sum[d2](X[m,d2] * z[d2])))
    put_product(
        matrix(product_2, (n, 64), (64, 1)),
        matrix(weights, (n, 100), (100, 1)),
        matrix(X, (100, 64), (64, 1)),
    )
    nudged_group_2[(cdiv(n, 16),)](z, product_2, stored, next_z, scalars, n)


# in ModernHopfieldEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [self.X]
        if name == "nudged":
            return [self.X, targets[0]]
        raise KeyError(name)


# in ModernHopfield
    """The network: its equations, relaxed by kernels and learned."""


# in ModernHopfield
    learning_rules = (centered_ep, implicit,)


# in ModernHopfield
    kernels = TritonKernels(
        {"free": PhaseStep(free_step, 224, matrices={0}), "nudged": PhaseStep(nudged_step, 224, matrices={0})}
    )
