@jit
def largest_whole_kernel(
    query_ptr,
    pull_query_ptr,
    key_ptr,
    largest_ptr,
    whole_ptr,
    n_G: tl.constexpr,
    n_H: tl.constexpr,
    n_A: tl.constexpr,
    precision: tl.constexpr,
):
    """pull_query, largest, whole."""
    real = tl.float32 if whole_ptr.dtype.element_ty == tl.bfloat16 else whole_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = matrix // n_H
    inside = place < n_G * n_G
    i = matrix % n_H
    j = place // n_G
    k = place % n_G
    r = tl.arange(0, 128)[None, :]
    m = r // n_G
    p = r % n_G
    # sum[a](query[h,i,j,a] * key[h,k,l,a])
    product_ = tl.full((16, 128), 0.0, real)
    for start in range(0, n_A, 16):
        t = start + tl.arange(0, 16)
        query_ = tl.load(
            query_ptr + (((sample * n_H + i) * n_G + j) * n_G + k) * n_A + t[None, :],
            mask=inside,
            other=0.0,
        )
        key_ = tl.load(
            key_ptr + (sample * n_H + i) * n_G * n_G * n_A + t[:, None] + n_A * (m * n_G + p),
            mask=r < n_G * n_G,
            other=0.0,
        )
        product_ = block_dot(query_, key_, product_, precision)
    largest_ = tl.max(
        tl.where(inside & (r < n_G * n_G), 0.25 * product_, float("-inf")),
        1,
        keep_dims=True,
    ).to(largest_ptr.dtype.element_ty).to(real)
    tl.store(largest_ptr + ((sample * n_H + i) * n_G + j) * n_G + k, largest_, mask=inside)
    power_ = tl.exp(0.25 * product_ - largest_)
    whole_ = tl.sum(
        tl.where(inside & (r < n_G * n_G), power_, 0.0),
        1,
        keep_dims=True,
    ).to(whole_ptr.dtype.element_ty).to(real)
    tl.store(whole_ptr + ((sample * n_H + i) * n_G + j) * n_G + k, whole_, mask=inside)
    # softmax[k,l](gamma * sum[a](query[h,i,j,a] * key[h,k,l,a]))
    weights_ = power_ / whole_
    r_2 = tl.arange(0, 64)[None, :]
    # pull_query[h,i,j,a] = sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2])))
    t_2 = tl.arange(0, 128)
    key_2_ = tl.load(
        key_ptr + ((sample * n_H + i) * n_G * n_G + t_2[:, None]) * n_A + r_2,
        mask=t_2[:, None] < n_G * n_G,
        other=0.0,
    )
    pull_query_ = block_dot(
        tl.where(t_2[None, :] < n_G * n_G, weights_, 0.0),
        key_2_,
        tl.full((16, 64), 0.0, real),
        precision,
    )
    tl.store(pull_query_ptr + (((sample * n_H + i) * n_G + j) * n_G + k) * n_A + r_2, pull_query_, mask=inside)


@jit
def pull_key_kernel(
    key_ptr,
    pull_key_ptr,
    query_ptr,
    largest_ptr,
    whole_ptr,
    n_G: tl.constexpr,
    n_H: tl.constexpr,
    n_A: tl.constexpr,
    precision: tl.constexpr,
):
    """pull_key."""
    real = tl.float32 if whole_ptr.dtype.element_ty == tl.bfloat16 else whole_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = matrix // n_H
    inside = place < n_G * n_G
    i = matrix % n_H
    j = place // n_G
    k = place % n_G
    r = tl.arange(0, 128)[None, :]
    m = r // n_G
    p = r % n_G
    # sum[a](query[h,i,j,a] * key[h,k,l,a])
    product_ = tl.full((16, 128), 0.0, real)
    for start in range(0, n_A, 16):
        t = start + tl.arange(0, 16)
        key_ = tl.load(
            key_ptr + (((sample * n_H + i) * n_G + j) * n_G + k) * n_A + t[None, :],
            mask=inside,
            other=0.0,
        )
        query_ = tl.load(
            query_ptr + (sample * n_H + i) * n_G * n_G * n_A + t[:, None] + n_A * (m * n_G + p),
            mask=r < n_G * n_G,
            other=0.0,
        )
        product_ = block_dot(key_, query_, product_, precision)
    largest_ = tl.load(
        largest_ptr + ((sample * n_H + i) * n_G + m) * n_G + p,
        mask=r < n_G * n_G,
        other=0.0,
    ).to(real)
    power_ = tl.exp(0.25 * product_ - largest_)
    # softmax[k,l](gamma * sum[a](query[h,i,j,a] * key[h,k,l,a]))
    whole_ = tl.load(
        whole_ptr + ((sample * n_H + i) * n_G + m) * n_G + p,
        mask=r < n_G * n_G,
        other=0.0,
    ).to(real)
    weights_ = power_ / whole_
    r_2 = tl.arange(0, 64)[None, :]
    # pull_key[h,i,j,a] = sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] * key[h,i,j,a2])))
    t_2 = tl.arange(0, 128)
    query_2_ = tl.load(
        query_ptr + ((sample * n_H + i) * n_G * n_G + t_2[:, None]) * n_A + r_2,
        mask=t_2[:, None] < n_G * n_G,
        other=0.0,
    )
    pull_key_ = block_dot(
        tl.where(t_2[None, :] < n_G * n_G, weights_, 0.0),
        query_2_,
        tl.full((16, 64), 0.0, real),
        precision,
    )
    tl.store(pull_key_ptr + (((sample * n_H + i) * n_G + j) * n_G + k) * n_A + r_2, pull_key_, mask=inside)


@jit
def image_kernel(product_ptr, image_ptr, samples, n_G: tl.constexpr, n_M: tl.constexpr):
    """image."""
    real = tl.float32 if image_ptr.dtype.element_ty == tl.bfloat16 else image_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // (n_G * n_G)
    inside = sample < samples
    i = place // n_G % n_G
    j = place % n_G
    r = tl.arange(0, 4096)[None, :]
    # relu(sum[d](W_mem[d,m] * z[i,j,d]))
    product_ = tl.load(
        product_ptr + ((sample * n_G + i) * n_G + j) * n_M + r,
        mask=inside & (r < n_M),
        other=0.0,
    ).to(real)
    image_ = block_relu(product_)
    tl.store(image_ptr + ((sample * n_G + i) * n_G + j) * n_M + r, image_, mask=inside & (r < n_M))


@jit
def total_kernel(
    product_ptr, total_ptr, samples, n_C: tl.constexpr, n_S: tl.constexpr, n_P: tl.constexpr, n_G: tl.constexpr
):
    """total."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    sample = place // (n_G * n_C * n_P * n_S)
    inside = sample < samples
    i = place // (n_C * n_P * n_S) % n_G
    j = place // (n_P * n_S) % n_C
    k = place // n_S % n_P
    m = place % n_S
    r = tl.arange(0, 16)[None, :]
    # sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d]))
    product_ = tl.load(
        product_ptr + ((sample * n_G * n_G + i) * n_C + j) * n_P * n_P + k + n_P * m + 13000 * r,
        mask=inside & (r < n_G) & ((m - 10 * r >= 0) & (m - 10 * r < n_P)),
        other=0.0,
    ).to(real)
    total_ = tl.sum(
        tl.where(inside & (r < n_G), tl.where((m - 10 * r >= 0) & (m - 10 * r < n_P), product_, 0.0), 0.0),
        1,
        keep_dims=True,
    ).to(total_ptr.dtype.element_ty).to(real)
    tl.store(total_ptr + (((sample * n_G + i) * n_C + j) * n_P + k) * n_S + m, total_, mask=inside)


@jit
def next_y_kernel(
    total_ptr,
    y_ptr,
    b_dec_ptr,
    next_y_ptr,
    scalars,
    samples,
    n_C: tl.constexpr,
    n_S: tl.constexpr,
    n_P: tl.constexpr,
    n_G: tl.constexpr,
):
    """next_y."""
    real = next_y_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    sample = place // (n_C * n_S * n_S)
    inside = sample < samples
    i = place // (n_S * n_S) % n_C
    j = place // n_S % n_S
    k = place % n_S
    step_y_ = tl.load(scalars + 1)
    r = tl.arange(0, 16)[None, :]
    # sum[i,p | v == stride*i + p](sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d])))
    total_ = tl.load(
        total_ptr + (sample * n_G * n_C + i) * n_P * n_S + j + n_S * k + 6000 * r,
        mask=inside & (r < n_G) & ((k - 10 * r >= 0) & (k - 10 * r < n_P)),
        other=0.0,
    ).to(real)
    total_2_ = tl.sum(
        tl.where(inside & (r < n_G), tl.where((k - 10 * r >= 0) & (k - 10 * r < n_P), total_, 0.0), 0.0),
        1,
        keep_dims=True,
    )
    y_ = tl.load(y_ptr + ((sample * n_C + i) * n_S + j) * n_S + k, mask=inside, other=0.0)
    b_dec_ = tl.load(b_dec_ptr + i, mask=inside, other=0.0)
    next_y_ = y_ + step_y_ * (-y_ + b_dec_ + total_2_)
    tl.store(next_y_ptr + ((sample * n_C + i) * n_S + j) * n_S + k, next_y_, mask=inside)


@jit
def next_z_kernel(
    z_ptr, product_ptr, drive_ptr, next_z_ptr, scalars, samples, n_G: tl.constexpr, n_D: tl.constexpr
):
    """next_z."""
    real = next_z_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // (n_G * n_G)
    inside = sample < samples
    i = place // n_G % n_G
    j = place % n_G
    step_z_ = tl.load(scalars)
    r = tl.arange(0, 1024)[None, :]
    z_ = tl.load(z_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, mask=inside & (r < n_D), other=0.0)
    product_ = tl.load(
        product_ptr + ((sample * n_G + i) * n_G + j) * n_D + r,
        mask=inside & (r < n_D),
        other=0.0,
    ).to(real)
    drive_ = tl.load(drive_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, mask=inside & (r < n_D), other=0.0)
    moved_ = z_ + step_z_ * (-z_ + product_ + drive_)
    mean_ = tl.sum(tl.where(inside & (r < n_D), moved_, 0.0), 1, keep_dims=True)
    centred_ = moved_ - 0.0013020833333333333 * mean_
    square_ = tl.sum(tl.where(inside & (r < n_D), centred_ * centred_, 0.0), 1, keep_dims=True)
    length_ = tl.sqrt(0.0013020833333333333 * square_)
    deviation_ = tl.where(length_ == float("inf"), length_ - length_, length_)
    next_z_ = tl.where(deviation_ == 0.0, moved_, centred_ / deviation_)
    tl.store(next_z_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, next_z_, mask=inside & (r < n_D))


@jit
def next_y_2_kernel(
    total_ptr,
    y_ptr,
    b_dec_ptr,
    t_ptr,
    next_y_ptr,
    scalars,
    samples,
    n_C: tl.constexpr,
    n_S: tl.constexpr,
    n_P: tl.constexpr,
    n_G: tl.constexpr,
):
    """next_y."""
    real = next_y_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    sample = place // (n_C * n_S * n_S)
    inside = sample < samples
    i = place // (n_S * n_S) % n_C
    j = place // n_S % n_S
    k = place % n_S
    beta_ = tl.load(scalars) * tl.where(sample < tl.load(scalars + 3), 1.0, -1.0)
    step_y_ = tl.load(scalars + 2)
    r = tl.arange(0, 16)[None, :]
    # sum[i,p | v == stride*i + p](sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d])))
    total_ = tl.load(
        total_ptr + (sample * n_G * n_C + i) * n_P * n_S + j + n_S * k + 6000 * r,
        mask=inside & (r < n_G) & ((k - 10 * r >= 0) & (k - 10 * r < n_P)),
        other=0.0,
    ).to(real)
    total_2_ = tl.sum(
        tl.where(inside & (r < n_G), tl.where((k - 10 * r >= 0) & (k - 10 * r < n_P), total_, 0.0), 0.0),
        1,
        keep_dims=True,
    )
    y_ = tl.load(y_ptr + ((sample * n_C + i) * n_S + j) * n_S + k, mask=inside, other=0.0)
    b_dec_ = tl.load(b_dec_ptr + i, mask=inside, other=0.0)
    t_ = tl.load(t_ptr + ((sample * n_C + i) * n_S + j) * n_S + k, mask=inside, other=0.0)
    next_y_ = y_ + step_y_ * (-y_ + b_dec_ + total_2_ - beta_ * (2 / (n_C * n_S * n_S) * (-t_ + y_)))
    tl.store(next_y_ptr + ((sample * n_C + i) * n_S + j) * n_S + k, next_y_, mask=inside)


@jit
def next_z_2_kernel(
    z_ptr, product_ptr, drive_ptr, next_z_ptr, scalars, samples, n_G: tl.constexpr, n_D: tl.constexpr
):
    """next_z."""
    real = next_z_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // (n_G * n_G)
    inside = sample < samples
    i = place // n_G % n_G
    j = place % n_G
    step_z_ = tl.load(scalars + 1)
    r = tl.arange(0, 1024)[None, :]
    z_ = tl.load(z_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, mask=inside & (r < n_D), other=0.0)
    product_ = tl.load(
        product_ptr + ((sample * n_G + i) * n_G + j) * n_D + r,
        mask=inside & (r < n_D),
        other=0.0,
    ).to(real)
    drive_ = tl.load(drive_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, mask=inside & (r < n_D), other=0.0)
    moved_ = z_ + step_z_ * (-z_ + product_ + drive_)
    mean_ = tl.sum(tl.where(inside & (r < n_D), moved_, 0.0), 1, keep_dims=True)
    centred_ = moved_ - 0.0013020833333333333 * mean_
    square_ = tl.sum(tl.where(inside & (r < n_D), centred_ * centred_, 0.0), 1, keep_dims=True)
    length_ = tl.sqrt(0.0013020833333333333 * square_)
    deviation_ = tl.where(length_ == float("inf"), length_ - length_, length_)
    next_z_ = tl.where(deviation_ == 0.0, moved_, centred_ / deviation_)
    tl.store(next_z_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, next_z_, mask=inside & (r < n_D))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 19.
    """
    z_, y_ = now
    next_z_, next_y_ = then
    W_k_, W_q_, drive_, W_dec_, W_mem_, b_dec_ = given
    n = len(z_)
    query_ = room(memory, n, 0, n_H * n_G * n_G * n_A)
    key_ = room(memory, n, 92928, n_H * n_G * n_G * n_A)
    pull_query_ = room(memory, n, 185856, n_H * n_G * n_G * n_A)
    largest_ = room(memory, n, 278784, n_H * n_G * n_G)
    whole_ = room(memory, n, 280240, n_H * n_G * n_G)
    pull_key_ = room(memory, n, 281696, n_H * n_G * n_G * n_A)
    product_ = room(memory, n, 0, n_G * n_G * n_D)
    product_2_ = room(memory, n, 92928, n_G * n_G * n_M)
    image_ = room(memory, n, 464640, n_G * n_G * n_M)
    product_3_ = room(memory, n, 92928, n_G * n_G * n_C * n_P * n_P)
    total_ = room(memory, n, 238128, n_G * n_C * n_P * n_S)
    # query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(query_, (n, n_H, n_G * n_G, n_A), (n_H * n_G * n_G * n_A, n_G * n_G * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(z_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_A, n_D), (n_A * n_D, n_D, 1)),
    )
    # key[h,i,j,a] = sum[d](W_k[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(key_, (n, n_H, n_G * n_G, n_A), (n_H * n_G * n_G * n_A, n_G * n_G * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(z_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_A, n_D), (n_A * n_D, n_D, 1)),
    )
    largest_whole_kernel[(n_H * n, cdiv(n_G * n_G, 16))](
        query_,
        pull_query_,
        key_,
        largest_,
        whole_,
        n_G,
        n_H,
        n_A,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    pull_key_kernel[(n_H * n, cdiv(n_G * n_G, 16))](
        key_,
        pull_key_,
        query_,
        largest_,
        whole_,
        n_G,
        n_H,
        n_A,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[h,a](W_k[h,a,d] * pull_key[h,i,j,a])
    put_einsum(
        matrix(product_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(pull_key_, (n, n_G * n_G, n_H, n_A), (n_H * n_G * n_G * n_A, n_A, n_G * n_G * n_A, 1)),
        matrix(W_k_, (n_D, n_H, n_A), (1, n_A * n_D, n_D)),
    )
    # sum[h,a](W_q[h,a,d] * pull_query[h,i,j,a])
    put_einsum(
        matrix(product_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(pull_query_, (n, n_G * n_G, n_H, n_A), (n_H * n_G * n_G * n_A, n_A, n_G * n_G * n_A, 1)),
        matrix(W_q_, (n_D, n_H, n_A), (1, n_A * n_D, n_D)),
        adds=True,
    )
    # sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q])
    put_einsum(
        matrix(product_, (n, n_G, n_G, n_D), (n_G * n_G * n_D, n_G * n_D, n_D, 1)),
        "abcefg,defg->abcd",
        matrix(
            y_,
            (n, n_G, n_G, n_C, n_P, n_P),
            (n_C * n_S * n_S, n_stride * n_S, n_stride, n_S * n_S, n_S, 1),
        ),
        matrix(W_dec_, (n_D, n_C, n_P, n_P), (n_C * n_P * n_P, n_P * n_P, n_P, 1)),
        adds=True,
    )
    # sum[d](W_mem[d,m] * z[i,j,d])
    put_product(
        matrix(product_2_, (n_G * n_G * n, n_M), (n_M, 1)),
        matrix(z_, (n_G * n_G * n, n_D), (n_D, 1)),
        matrix(W_mem_, (n_D, n_M), (n_M, 1)),
    )
    image_kernel[(n_G * n_G * n,)](product_2_, image_, n, n_G, n_M, num_warps=8)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
    put_product(
        matrix(product_, (n_G * n_G * n, n_D), (n_D, 1)),
        matrix(image_, (n_G * n_G * n, n_M), (n_M, 1)),
        matrix(W_mem_, (n_M, n_D), (1, n_M)),
        adds=True,
        factor=2.0,
    )
    # sum[d](W_dec[d,c,p,q] * z[i,j,d])
    put_product(
        matrix(product_3_, (n_G * n_G * n, n_C * n_P * n_P), (n_C * n_P * n_P, 1)),
        matrix(z_, (n_G * n_G * n, n_D), (n_D, 1)),
        matrix(W_dec_, (n_D, n_C * n_P * n_P), (n_C * n_P * n_P, 1)),
    )
    total_kernel[(cdiv(n_G * n_C * n_P * n_S * n, 64),)](product_3_, total_, n, n_C, n_S, n_P, n_G)
    next_y_kernel[(cdiv(n_C * n_S * n_S * n, 64),)](total_, y_, b_dec_, next_y_, scalars, n, n_C, n_S, n_P, n_G)
    next_z_kernel[(n_G * n_G * n,)](z_, product_, drive_, next_z_, scalars, n, n_G, n_D)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase.

    Launches on a device: 19.
    """
    z_, y_ = now
    next_z_, next_y_ = then
    W_k_, W_q_, drive_, W_dec_, W_mem_, b_dec_, t_ = given
    n = len(z_)
    query_ = room(memory, n, 0, n_H * n_G * n_G * n_A)
    key_ = room(memory, n, 92928, n_H * n_G * n_G * n_A)
    pull_query_ = room(memory, n, 185856, n_H * n_G * n_G * n_A)
    largest_ = room(memory, n, 278784, n_H * n_G * n_G)
    whole_ = room(memory, n, 280240, n_H * n_G * n_G)
    pull_key_ = room(memory, n, 281696, n_H * n_G * n_G * n_A)
    product_ = room(memory, n, 0, n_G * n_G * n_D)
    product_2_ = room(memory, n, 92928, n_G * n_G * n_M)
    image_ = room(memory, n, 464640, n_G * n_G * n_M)
    product_3_ = room(memory, n, 92928, n_G * n_G * n_C * n_P * n_P)
    total_ = room(memory, n, 238128, n_G * n_C * n_P * n_S)
    # query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(query_, (n, n_H, n_G * n_G, n_A), (n_H * n_G * n_G * n_A, n_G * n_G * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(z_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_A, n_D), (n_A * n_D, n_D, 1)),
    )
    # key[h,i,j,a] = sum[d](W_k[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(key_, (n, n_H, n_G * n_G, n_A), (n_H * n_G * n_G * n_A, n_G * n_G * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(z_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_A, n_D), (n_A * n_D, n_D, 1)),
    )
    largest_whole_kernel[(n_H * n, cdiv(n_G * n_G, 16))](
        query_,
        pull_query_,
        key_,
        largest_,
        whole_,
        n_G,
        n_H,
        n_A,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    pull_key_kernel[(n_H * n, cdiv(n_G * n_G, 16))](
        key_,
        pull_key_,
        query_,
        largest_,
        whole_,
        n_G,
        n_H,
        n_A,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[h,a](W_k[h,a,d] * pull_key[h,i,j,a])
    put_einsum(
        matrix(product_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(pull_key_, (n, n_G * n_G, n_H, n_A), (n_H * n_G * n_G * n_A, n_A, n_G * n_G * n_A, 1)),
        matrix(W_k_, (n_D, n_H, n_A), (1, n_A * n_D, n_D)),
    )
    # sum[h,a](W_q[h,a,d] * pull_query[h,i,j,a])
    put_einsum(
        matrix(product_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(pull_query_, (n, n_G * n_G, n_H, n_A), (n_H * n_G * n_G * n_A, n_A, n_G * n_G * n_A, 1)),
        matrix(W_q_, (n_D, n_H, n_A), (1, n_A * n_D, n_D)),
        adds=True,
    )
    # sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q])
    put_einsum(
        matrix(product_, (n, n_G, n_G, n_D), (n_G * n_G * n_D, n_G * n_D, n_D, 1)),
        "abcefg,defg->abcd",
        matrix(
            y_,
            (n, n_G, n_G, n_C, n_P, n_P),
            (n_C * n_S * n_S, n_stride * n_S, n_stride, n_S * n_S, n_S, 1),
        ),
        matrix(W_dec_, (n_D, n_C, n_P, n_P), (n_C * n_P * n_P, n_P * n_P, n_P, 1)),
        adds=True,
    )
    # sum[d](W_mem[d,m] * z[i,j,d])
    put_product(
        matrix(product_2_, (n_G * n_G * n, n_M), (n_M, 1)),
        matrix(z_, (n_G * n_G * n, n_D), (n_D, 1)),
        matrix(W_mem_, (n_D, n_M), (n_M, 1)),
    )
    image_kernel[(n_G * n_G * n,)](product_2_, image_, n, n_G, n_M, num_warps=8)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
    put_product(
        matrix(product_, (n_G * n_G * n, n_D), (n_D, 1)),
        matrix(image_, (n_G * n_G * n, n_M), (n_M, 1)),
        matrix(W_mem_, (n_M, n_D), (1, n_M)),
        adds=True,
        factor=2.0,
    )
    # sum[d](W_dec[d,c,p,q] * z[i,j,d])
    put_product(
        matrix(product_3_, (n_G * n_G * n, n_C * n_P * n_P), (n_C * n_P * n_P, 1)),
        matrix(z_, (n_G * n_G * n, n_D), (n_D, 1)),
        matrix(W_dec_, (n_D, n_C * n_P * n_P), (n_C * n_P * n_P, 1)),
    )
    total_kernel[(cdiv(n_G * n_C * n_P * n_S * n, 64),)](product_3_, total_, n, n_C, n_S, n_P, n_G)
    next_y_2_kernel[(cdiv(n_C * n_S * n_S * n, 64),)](
        total_,
        y_,
        b_dec_,
        t_,
        next_y_,
        scalars,
        n,
        n_C,
        n_S,
        n_P,
        n_G,
    )
    next_z_2_kernel[(n_G * n_G * n,)](z_, product_, drive_, next_z_, scalars, n, n_G, n_D)


# in CetEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
        if name == "free":
            return [self.W_k, self.W_q, fixed.drive, self.W_dec, self.W_mem, self.b_dec]
        if name == "nudged":
            return [self.W_k, self.W_q, fixed.drive, self.W_dec, self.W_mem, self.b_dec, targets[0]]
        raise KeyError(name)


# in Cet
    """The network: its equations, relaxed by kernels and learned."""


# in Cet
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 836352, matrices={0, 1, 3, 4}, batched={2}),
            "nudged": PhaseStep(nudged_step, 836352, matrices={0, 1, 3, 4}, batched={2, 6}),
        }
    )
