@jit
def total_kernel(
    b2_ptr,
    product_ptr,
    total_ptr,
    samples,
    n_R: tl.constexpr,
    n_C2: tl.constexpr,
    n_V: tl.constexpr,
    n_S2: tl.constexpr,
):
    """total."""
    real = b2_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    sample = place // (n_C2 * n_S2 * n_R * n_S2)
    inside = sample < samples
    i = place // (n_S2 * n_R * n_S2) % n_C2
    j = place // (n_R * n_S2) % n_S2
    k = place // n_S2 % n_R
    m = place % n_S2
    r = tl.arange(0, 2)[None, :]
    # a2[o, R*i + r, R*j + r2]
    b2_ = tl.load(b2_ptr + i, mask=inside, other=0.0)
    product_ = tl.load(
        product_ptr + sample * n_V * n_V * n_C2 + i + n_V * n_C2 * (j * n_R + k) + n_C2 * (m * n_R + r),
        mask=inside,
        other=0.0,
    ).to(real)
    total_ = b2_ + product_
    tl.store(
        total_ptr + ((((sample * n_C2 + i) * n_S2 + j) * n_R + k) * n_S2 + m) * n_R + r,
        total_,
        mask=inside,
    )


@jit
def first_largest_kernel(
    total_ptr, first_ptr, largest_ptr, samples, n_R: tl.constexpr, n_C2: tl.constexpr, n_S2: tl.constexpr
):
    """first, largest."""
    real = tl.float32 if largest_ptr.dtype.element_ty == tl.bfloat16 else largest_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    sample = place // (n_C2 * n_S2 * n_S2)
    inside = sample < samples
    i = place // (n_S2 * n_S2) % n_C2
    j = place // n_S2 % n_S2
    k = place % n_S2
    r = tl.arange(0, 4)[None, :]
    m = r // n_R
    p = r % n_R
    total_ = tl.load(
        total_ptr + n_R * (((sample * n_C2 + i) * n_S2 + j) * n_R * n_S2 + k) + m * n_S2 * n_R + p,
        mask=inside,
        other=0.0,
    ).to(real)
    largest_ = tl.max(total_, 1, keep_dims=True)
    first_ = tl.max(
        tl.where(total_ - largest_ == 0.0, -(2 * m + p).to(real), float("-inf")),
        1,
        keep_dims=True,
    ).to(first_ptr.dtype.element_ty).to(real)
    tl.store(first_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + k, first_, mask=inside)
    largest_2_ = tl.max(total_, 1, keep_dims=True).to(largest_ptr.dtype.element_ty).to(real)
    tl.store(largest_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + k, largest_2_, mask=inside)


@jit
def total_2_kernel(first_ptr, total_ptr, samples, n_R: tl.constexpr, n_C2: tl.constexpr, n_S2: tl.constexpr):
    """total."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    sample = place // (n_C2 * n_S2 * n_R * n_S2)
    inside = sample < samples
    i = place // (n_S2 * n_R * n_S2) % n_C2
    j = place // (n_R * n_S2) % n_S2
    k = place // n_S2 % n_R
    m = place % n_S2
    r = tl.arange(0, 2)[None, :]
    # argmax[r in R, r2 in R](a2[o, R*i + r, R*j + r2])
    first_ = tl.load(first_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + m, mask=inside, other=0.0).to(real)
    total_ = tl.where(first_ + (2 * k + r).to(real) == 0.0, tl.full((1, 1), 1.0, real), 0.0)
    tl.store(
        total_ptr + ((((sample * n_C2 + i) * n_S2 + j) * n_R + k) * n_S2 + m) * n_R + r,
        total_,
        mask=inside,
    )


@jit
def pull_a2_kernel(
    s2_ptr,
    total_ptr,
    pull_a2_ptr,
    samples,
    n_R: tl.constexpr,
    n_C2: tl.constexpr,
    n_V: tl.constexpr,
    n_S2: tl.constexpr,
):
    """pull_a2."""
    real = s2_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // (n_V * n_V)
    inside = sample < samples
    i = place // n_V % n_V
    j = place % n_V
    r = tl.arange(0, 128)[None, :]
    # pull_a2[o,u,v] = sum[i, r in R | v == R*i + r](sum[j, r2 in R | u == R*j + r2](s2[o,j,i] * argmax[r2 in R, r
    #   in R](a2[o, R*j + r2, R*i + r])))
    s2_ = tl.load(
        s2_ptr + (
            sample * n_C2 * n_S2 + block_floor_div(i, n_R)
        ) * n_S2 + block_floor_div(j, n_R) + n_S2 * n_S2 * r,
        mask=inside,
        other=0.0,
    )
    total_ = tl.load(
        total_ptr + (
            (
                (sample * n_C2 * n_S2 + block_floor_div(i, n_R)) * n_R + block_modulo(i, n_R)
            ) * n_S2 + block_floor_div(j, n_R)
        ) * n_R + block_modulo(j, n_R) + n_S2 * n_R * n_S2 * n_R * r,
        mask=inside,
        other=0.0,
    ).to(real)
    pull_a2_ = s2_ * total_
    tl.store(pull_a2_ptr + ((sample * n_V + i) * n_V + j) * n_C2 + r, pull_a2_, mask=inside)


@jit
def total_3_kernel(
    product_ptr,
    total_ptr,
    samples,
    n_C1: tl.constexpr,
    n_S1: tl.constexpr,
    n_V: tl.constexpr,
    n_Q: tl.constexpr,
):
    """total."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    sample = place // (n_V * n_C1 * n_Q * n_S1)
    inside = sample < samples
    i = place // (n_C1 * n_Q * n_S1) % n_V
    j = place // (n_Q * n_S1) % n_C1
    k = place // n_S1 % n_Q
    m = place % n_S1
    r = tl.arange(0, 4)[None, :]
    # sum[v,q | i == v + q](sum[c2](W2[c2,o,q,p] * pull_a2[c2,v,u]))
    product_ = tl.load(
        product_ptr + (
            (sample * n_V * n_V + i) * n_C1 + j
        ) * n_Q * n_Q + k + n_V * n_C1 * n_Q * n_Q * m - 12284 * r,
        mask=inside & ((m - r >= 0) & (m - r < n_V)),
        other=0.0,
    ).to(real)
    total_ = tl.sum(
        tl.where((m - r >= 0) & (m - r < n_V), product_, 0.0),
        1,
        keep_dims=True,
    ).to(total_ptr.dtype.element_ty).to(real)
    tl.store(total_ptr + (((sample * n_V + i) * n_C1 + j) * n_Q + k) * n_S1 + m, total_, mask=inside)


@jit
def next_s1_kernel(
    total_ptr,
    s1_ptr,
    drive_ptr,
    next_s1_ptr,
    scalars,
    samples,
    n_C1: tl.constexpr,
    n_S1: tl.constexpr,
    n_V: tl.constexpr,
    n_Q: tl.constexpr,
):
    """next_s1."""
    real = next_s1_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    sample = place // (n_C1 * n_S1 * n_S1)
    inside = sample < samples
    i = place // (n_S1 * n_S1) % n_C1
    j = place // n_S1 % n_S1
    k = place % n_S1
    step_s1_ = tl.load(scalars)
    r = tl.arange(0, 4)[None, :]
    # sum[u,p | j == u + p](sum[v,q | i == v + q](sum[c2](W2[c2,o,q,p] * pull_a2[c2,v,u])))
    total_ = tl.load(
        total_ptr + (sample * n_V * n_C1 + i) * n_Q * n_S1 + j + n_C1 * n_Q * n_S1 * k - 3825 * r,
        mask=inside & ((k - r >= 0) & (k - r < n_V)),
        other=0.0,
    ).to(real)
    total_2_ = tl.sum(tl.where((k - r >= 0) & (k - r < n_V), total_, 0.0), 1, keep_dims=True)
    s1_ = tl.load(s1_ptr + ((sample * n_C1 + i) * n_S1 + j) * n_S1 + k, mask=inside, other=0.0)
    drive_ = tl.load(drive_ptr + ((sample * n_C1 + i) * n_S1 + j) * n_S1 + k, mask=inside, other=0.0)
    free_ = s1_ + step_s1_ * (-s1_ + drive_ + total_2_)
    next_s1_ = tl.where(free_ < 0.0, 0.0, tl.where(free_ > 1.0, 1.0, free_))
    tl.store(next_s1_ptr + ((sample * n_C1 + i) * n_S1 + j) * n_S1 + k, next_s1_, mask=inside)


@jit
def next_s2_kernel(
    s2_ptr, product_ptr, largest_ptr, next_s2_ptr, scalars, samples, n_C2: tl.constexpr, n_S2: tl.constexpr
):
    """next_s2."""
    real = next_s2_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    sample = place // (n_C2 * n_S2)
    inside = sample < samples
    i = place // n_S2 % n_C2
    j = place % n_S2
    step_s2_ = tl.load(scalars + 1)
    r = tl.arange(0, 8)[None, :]
    s2_ = tl.load(s2_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + r, mask=inside & (r < n_S2), other=0.0)
    product_ = tl.load(
        product_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + r,
        mask=inside & (r < n_S2),
        other=0.0,
    ).to(real)
    largest_ = tl.load(
        largest_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + r,
        mask=inside & (r < n_S2),
        other=0.0,
    ).to(real)
    free_ = s2_ + step_s2_ * (-s2_ + product_ + largest_)
    next_s2_ = tl.where(free_ < 0.0, 0.0, tl.where(free_ > 1.0, 1.0, free_))
    tl.store(next_s2_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + r, next_s2_, mask=inside & (r < n_S2))


@jit
def next_y_kernel(
    s2_ptr,
    W3_ptr,
    y_ptr,
    b3_ptr,
    next_y_ptr,
    scalars,
    samples,
    n_C2: tl.constexpr,
    n_S2: tl.constexpr,
    n_K: tl.constexpr,
    precision: tl.constexpr,
):
    """next_y."""
    real = next_y_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    sample = place
    inside = sample < samples
    step_y_ = tl.load(scalars + 2)
    r = tl.arange(0, 16)[None, :]
    # sum[o,i,j](W3[k,o,i,j] * s2[o,i,j])
    product_ = tl.full((64, 16), 0.0, real)
    for start in range(0, n_C2 * n_S2 * n_S2, 16):
        t = start + tl.arange(0, 16)
        s2_ = tl.load(s2_ptr + sample * n_C2 * n_S2 * n_S2 + t[None, :], mask=inside, other=0.0)
        W3_ = tl.load(W3_ptr + t[:, None] + n_C2 * n_S2 * n_S2 * r, mask=r < n_K, other=0.0)
        product_ = block_dot(s2_, W3_, product_, precision)
    y_ = tl.load(y_ptr + sample * n_K + r, mask=inside & (r < n_K), other=0.0)
    b3_ = tl.load(b3_ptr + r, mask=r < n_K, other=0.0)
    free_ = y_ + step_y_ * (-y_ + (b3_ + product_))
    next_y_ = tl.where(free_ < -1.0, -1.0, tl.where(free_ > 2.0, 2.0, free_))
    tl.store(next_y_ptr + sample * n_K + r, next_y_, mask=inside & (r < n_K))


@jit
def next_s1_2_kernel(
    total_ptr,
    s1_ptr,
    drive_ptr,
    next_s1_ptr,
    scalars,
    samples,
    n_C1: tl.constexpr,
    n_S1: tl.constexpr,
    n_V: tl.constexpr,
    n_Q: tl.constexpr,
):
    """next_s1."""
    real = next_s1_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    sample = place // (n_C1 * n_S1 * n_S1)
    inside = sample < samples
    i = place // (n_S1 * n_S1) % n_C1
    j = place // n_S1 % n_S1
    k = place % n_S1
    step_s1_ = tl.load(scalars + 1)
    r = tl.arange(0, 4)[None, :]
    # sum[u,p | j == u + p](sum[v,q | i == v + q](sum[c2](W2[c2,o,q,p] * pull_a2[c2,v,u])))
    total_ = tl.load(
        total_ptr + (sample * n_V * n_C1 + i) * n_Q * n_S1 + j + n_C1 * n_Q * n_S1 * k - 3825 * r,
        mask=inside & ((k - r >= 0) & (k - r < n_V)),
        other=0.0,
    ).to(real)
    total_2_ = tl.sum(tl.where((k - r >= 0) & (k - r < n_V), total_, 0.0), 1, keep_dims=True)
    s1_ = tl.load(s1_ptr + ((sample * n_C1 + i) * n_S1 + j) * n_S1 + k, mask=inside, other=0.0)
    drive_ = tl.load(drive_ptr + ((sample * n_C1 + i) * n_S1 + j) * n_S1 + k, mask=inside, other=0.0)
    free_ = s1_ + step_s1_ * (-s1_ + drive_ + total_2_)
    next_s1_ = tl.where(free_ < 0.0, 0.0, tl.where(free_ > 1.0, 1.0, free_))
    tl.store(next_s1_ptr + ((sample * n_C1 + i) * n_S1 + j) * n_S1 + k, next_s1_, mask=inside)


@jit
def next_s2_2_kernel(
    s2_ptr, product_ptr, largest_ptr, next_s2_ptr, scalars, samples, n_C2: tl.constexpr, n_S2: tl.constexpr
):
    """next_s2."""
    real = next_s2_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    sample = place // (n_C2 * n_S2)
    inside = sample < samples
    i = place // n_S2 % n_C2
    j = place % n_S2
    step_s2_ = tl.load(scalars + 2)
    r = tl.arange(0, 8)[None, :]
    s2_ = tl.load(s2_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + r, mask=inside & (r < n_S2), other=0.0)
    product_ = tl.load(
        product_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + r,
        mask=inside & (r < n_S2),
        other=0.0,
    ).to(real)
    largest_ = tl.load(
        largest_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + r,
        mask=inside & (r < n_S2),
        other=0.0,
    ).to(real)
    free_ = s2_ + step_s2_ * (-s2_ + product_ + largest_)
    next_s2_ = tl.where(free_ < 0.0, 0.0, tl.where(free_ > 1.0, 1.0, free_))
    tl.store(next_s2_ptr + ((sample * n_C2 + i) * n_S2 + j) * n_S2 + r, next_s2_, mask=inside & (r < n_S2))


@jit
def next_y_2_kernel(
    s2_ptr,
    W3_ptr,
    y_ptr,
    b3_ptr,
    label_ptr,
    next_y_ptr,
    scalars,
    samples,
    n_C2: tl.constexpr,
    n_S2: tl.constexpr,
    n_K: tl.constexpr,
    precision: tl.constexpr,
):
    """next_y."""
    real = next_y_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    sample = place
    inside = sample < samples
    beta_ = tl.load(scalars) * tl.where(sample < tl.load(scalars + 4), 1.0, -1.0)
    step_y_ = tl.load(scalars + 3)
    r = tl.arange(0, 16)[None, :]
    # sum[o,i,j](W3[k,o,i,j] * s2[o,i,j])
    product_ = tl.full((64, 16), 0.0, real)
    for start in range(0, n_C2 * n_S2 * n_S2, 16):
        t = start + tl.arange(0, 16)
        s2_ = tl.load(s2_ptr + sample * n_C2 * n_S2 * n_S2 + t[None, :], mask=inside, other=0.0)
        W3_ = tl.load(W3_ptr + t[:, None] + n_C2 * n_S2 * n_S2 * r, mask=r < n_K, other=0.0)
        product_ = block_dot(s2_, W3_, product_, precision)
    y_ = tl.load(y_ptr + sample * n_K + r, mask=inside & (r < n_K), other=0.0)
    b3_ = tl.load(b3_ptr + r, mask=r < n_K, other=0.0)
    label_ = tl.load(label_ptr + sample, mask=inside, other=0)
    free_ = (
        y_
        + step_y_ * (
            -y_ + (b3_ + product_) - beta_ * (y_ - tl.where(r == label_, tl.full((1, 1), 1.0, real), 0.0))
        )
    )
    next_y_ = tl.where(free_ < -1.0, -1.0, tl.where(free_ > 2.0, 2.0, free_))
    tl.store(next_y_ptr + sample * n_K + r, next_y_, mask=inside & (r < n_K))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 12.
    """
    s1_, s2_, y_ = now
    next_s1_, next_s2_, next_y_ = then
    drive_, W2_, b2_, W3_, b3_ = given
    n = len(s1_)
    product_ = room(memory, n, 0, n_V * n_V * n_C2)
    total_ = room(memory, n, 18432, n_C2 * n_S2 * n_R * n_S2 * n_R)
    first_ = room(memory, n, 0, n_C2 * n_S2 * n_S2)
    largest_ = room(memory, n, 4608, n_C2 * n_S2 * n_S2)
    total_2_ = room(memory, n, 9216, n_C2 * n_S2 * n_R * n_S2 * n_R)
    pull_a2_ = room(memory, n, 27648, n_V * n_V * n_C2)
    product_2_ = room(memory, n, 46080, n_V * n_V * n_C1 * n_Q * n_Q)
    total_3_ = room(memory, n, 193536, n_V * n_C1 * n_Q * n_S1)
    product_3_ = room(memory, n, 0, n_C2 * n_S2 * n_S2)
    # sum[c,p,q](W2[o,c,p,q] * s1[c, u + p, v + q])
    put_einsum(
        matrix(product_, (n, n_V, n_V, n_C2), (n_V * n_V * n_C2, n_V * n_C2, n_C2, 1)),
        "abcefg,defg->abcd",
        matrix(s1_, (n, n_V, n_V, n_C1, n_Q, n_Q), (n_C1 * n_S1 * n_S1, n_S1, 1, n_S1 * n_S1, n_S1, 1)),
        matrix(W2_, (n_C2, n_C1, n_Q, n_Q), (n_C1 * n_Q * n_Q, n_Q * n_Q, n_Q, 1)),
    )
    total_kernel[(cdiv(n_C2 * n_S2 * n_R * n_S2 * n, 512),)](b2_, product_, total_, n, n_R, n_C2, n_V, n_S2)
    first_largest_kernel[(cdiv(n_C2 * n_S2 * n_S2 * n, 256),)](total_, first_, largest_, n, n_R, n_C2, n_S2)
    total_2_kernel[(cdiv(n_C2 * n_S2 * n_R * n_S2 * n, 512),)](first_, total_2_, n, n_R, n_C2, n_S2)
    pull_a2_kernel[(cdiv(n_V * n_V * n, 8),)](s2_, total_2_, pull_a2_, n, n_R, n_C2, n_V, n_S2)
    # sum[c2](W2[c2,o,p,q] * pull_a2[c2,u,v])
    put_product(
        matrix(product_2_, (n_V * n_V * n, n_C1 * n_Q * n_Q), (n_C1 * n_Q * n_Q, 1)),
        matrix(pull_a2_, (n_V * n_V * n, n_C2), (n_C2, 1)),
        matrix(W2_, (n_C2, n_C1 * n_Q * n_Q), (n_C1 * n_Q * n_Q, 1)),
    )
    total_3_kernel[(cdiv(n_V * n_C1 * n_Q * n_S1 * n, 256),)](product_2_, total_3_, n, n_C1, n_S1, n_V, n_Q)
    next_s1_kernel[(cdiv(n_C1 * n_S1 * n_S1 * n, 256),)](
        total_3_,
        s1_,
        drive_,
        next_s1_,
        scalars,
        n,
        n_C1,
        n_S1,
        n_V,
        n_Q,
    )
    # sum[k](W3[k,o,i,j] * y[k])
    put_product(
        matrix(product_3_, (n, n_C2 * n_S2 * n_S2), (n_C2 * n_S2 * n_S2, 1)),
        matrix(y_, (n, n_K), (n_K, 1)),
        matrix(W3_, (n_K, n_C2 * n_S2 * n_S2), (n_C2 * n_S2 * n_S2, 1)),
    )
    next_s2_kernel[(cdiv(n_C2 * n_S2 * n, 128),)](s2_, product_3_, largest_, next_s2_, scalars, n, n_C2, n_S2)
    next_y_kernel[(cdiv(n, 64),)](
        s2_,
        W3_,
        y_,
        b3_,
        next_y_,
        scalars,
        n,
        n_C2,
        n_S2,
        n_K,
        dot_precision(),
        num_stages=2,
    )


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase.

    Launches on a device: 12.
    """
    s1_, s2_, y_ = now
    next_s1_, next_s2_, next_y_ = then
    drive_, W2_, b2_, W3_, b3_, label_ = given
    n = len(s1_)
    product_ = room(memory, n, 0, n_V * n_V * n_C2)
    total_ = room(memory, n, 18432, n_C2 * n_S2 * n_R * n_S2 * n_R)
    first_ = room(memory, n, 0, n_C2 * n_S2 * n_S2)
    largest_ = room(memory, n, 4608, n_C2 * n_S2 * n_S2)
    total_2_ = room(memory, n, 9216, n_C2 * n_S2 * n_R * n_S2 * n_R)
    pull_a2_ = room(memory, n, 27648, n_V * n_V * n_C2)
    product_2_ = room(memory, n, 46080, n_V * n_V * n_C1 * n_Q * n_Q)
    total_3_ = room(memory, n, 193536, n_V * n_C1 * n_Q * n_S1)
    product_3_ = room(memory, n, 0, n_C2 * n_S2 * n_S2)
    # sum[c,p,q](W2[o,c,p,q] * s1[c, u + p, v + q])
    put_einsum(
        matrix(product_, (n, n_V, n_V, n_C2), (n_V * n_V * n_C2, n_V * n_C2, n_C2, 1)),
        "abcefg,defg->abcd",
        matrix(s1_, (n, n_V, n_V, n_C1, n_Q, n_Q), (n_C1 * n_S1 * n_S1, n_S1, 1, n_S1 * n_S1, n_S1, 1)),
        matrix(W2_, (n_C2, n_C1, n_Q, n_Q), (n_C1 * n_Q * n_Q, n_Q * n_Q, n_Q, 1)),
    )
    total_kernel[(cdiv(n_C2 * n_S2 * n_R * n_S2 * n, 512),)](b2_, product_, total_, n, n_R, n_C2, n_V, n_S2)
    first_largest_kernel[(cdiv(n_C2 * n_S2 * n_S2 * n, 256),)](total_, first_, largest_, n, n_R, n_C2, n_S2)
    total_2_kernel[(cdiv(n_C2 * n_S2 * n_R * n_S2 * n, 512),)](first_, total_2_, n, n_R, n_C2, n_S2)
    pull_a2_kernel[(cdiv(n_V * n_V * n, 8),)](s2_, total_2_, pull_a2_, n, n_R, n_C2, n_V, n_S2)
    # sum[c2](W2[c2,o,p,q] * pull_a2[c2,u,v])
    put_product(
        matrix(product_2_, (n_V * n_V * n, n_C1 * n_Q * n_Q), (n_C1 * n_Q * n_Q, 1)),
        matrix(pull_a2_, (n_V * n_V * n, n_C2), (n_C2, 1)),
        matrix(W2_, (n_C2, n_C1 * n_Q * n_Q), (n_C1 * n_Q * n_Q, 1)),
    )
    total_3_kernel[(cdiv(n_V * n_C1 * n_Q * n_S1 * n, 256),)](product_2_, total_3_, n, n_C1, n_S1, n_V, n_Q)
    next_s1_2_kernel[(cdiv(n_C1 * n_S1 * n_S1 * n, 256),)](
        total_3_,
        s1_,
        drive_,
        next_s1_,
        scalars,
        n,
        n_C1,
        n_S1,
        n_V,
        n_Q,
    )
    # sum[k](W3[k,o,i,j] * y[k])
    put_product(
        matrix(product_3_, (n, n_C2 * n_S2 * n_S2), (n_C2 * n_S2 * n_S2, 1)),
        matrix(y_, (n, n_K), (n_K, 1)),
        matrix(W3_, (n_K, n_C2 * n_S2 * n_S2), (n_C2 * n_S2 * n_S2, 1)),
    )
    next_s2_2_kernel[(cdiv(n_C2 * n_S2 * n, 128),)](s2_, product_3_, largest_, next_s2_, scalars, n, n_C2, n_S2)
    next_y_2_kernel[(cdiv(n, 64),)](
        s2_,
        W3_,
        y_,
        b3_,
        label_,
        next_y_,
        scalars,
        n,
        n_C2,
        n_S2,
        n_K,
        dot_precision(),
        num_stages=2,
    )


# in HopfieldConvEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
        if name == "free":
            return [fixed.drive, self.W2, self.b2, self.W3, self.b3]
        if name == "nudged":
            return [fixed.drive, self.W2, self.b2, self.W3, self.b3, targets[0]]
        raise KeyError(name)


# in HopfieldConv
    """The network: its equations, relaxed by kernels and learned."""


# in HopfieldConv
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 239616, matrices={1, 3}, batched={0}),
            "nudged": PhaseStep(nudged_step, 239616, matrices={1, 3}, batched={0, 5}),
        }
    )
