@jit
def free_group_1(b2, product, total, samples):
    """total."""
    real = b2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    inside = place < 9216 * samples
    sample = place // 9216
    i = place // 72 % 128
    j = place // 12 % 6
    k = place // 6 % 2
    m = place % 6
    r = tl.arange(0, 2)[None, :]
    # b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*i + r + p, R*j + r2 + q])
    b2_here = tl.load(b2 + i, mask=inside, other=0.0)
    product_here = tl.load(
        product + 18432 * sample + i + 3072 * j + 1536 * k + 256 * m + 128 * r,
        mask=inside,
        other=0.0,
    ).to(real)
    total_here = b2_here + product_here
    tl.store(total + 18432 * sample + 144 * i + 24 * j + 12 * k + 2 * m + r, total_here, mask=inside)


@jit
def free_group_2(total, first, largest_2, samples):
    """first, largest."""
    real = tl.float32 if largest_2.dtype.element_ty == tl.bfloat16 else largest_2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 4608 * samples
    sample = place // 4608
    i = place // 36 % 128
    j = place // 6 % 6
    k = place % 6
    r = tl.arange(0, 4)[None, :]
    m = r // 2
    p = r % 2
    total_here = tl.load(
        total + 18432 * sample + 144 * i + 24 * j + 2 * k + 12 * m + p,
        mask=inside,
        other=0.0,
    ).to(real)
    largest_3 = tl.max(total_here, 1, keep_dims=True)
    first_here = tl.max(
        tl.where((total_here - largest_3) == 0.0, -((2 * m) + p).to(real), float("-inf")),
        1,
        keep_dims=True,
    )
    tl.store(first + 4608 * sample + 36 * i + 6 * j + k, first_here, mask=inside)
    largest_here = tl.max(total_here, 1, keep_dims=True)
    tl.store(largest_2 + 4608 * sample + 36 * i + 6 * j + k, largest_here, mask=inside)


@jit
def free_group_3(first, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    inside = place < 9216 * samples
    sample = place // 9216
    i = place // 72 % 128
    j = place // 12 % 6
    k = place // 6 % 2
    m = place % 6
    r = tl.arange(0, 2)[None, :]
    # argmax[r in R, r2 in R](b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*i + r + p, R*j + r2 + q]))
    first_here = tl.load(first + 4608 * sample + 36 * i + 6 * j + m, mask=inside, other=0.0).to(real)
    total_here = tl.where((first_here - (-((2 * k) + r).to(real))) == 0.0, tl.full((1, 1), 1.0, real), 0.0)
    tl.store(total + 18432 * sample + 144 * i + 24 * j + 12 * k + 2 * m + r, total_here, mask=inside)


@jit
def free_group_4(s2, total, pull_a2, samples):
    """pull_a2."""
    real = s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 144 * samples
    sample = place // 144
    i = place // 12 % 12
    j = place % 12
    r = tl.arange(0, 128)[None, :]
    # pull_a2[o,u,v] = sum[i, r in R | v == R*i + r](sum[j, r2 in R | u == R*j + r2](s2[o,j,i] * argmax[r2 in R, r
    #   in R](b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*j + r2 + p, R*i + r + q]))))
    s2_here = tl.load(
        s2 + 4608 * sample + 6 * (block_floor_div(i, 2)) + block_floor_div(j, 2) + 36 * r,
        mask=inside,
        other=0.0,
    )
    total_here = tl.load(
        total + 18432 * sample + 24 * (
            block_floor_div(i, 2)
        ) + 12 * (block_modulo(i, 2)) + 2 * (block_floor_div(j, 2)) + block_modulo(j, 2) + 144 * r,
        mask=inside,
        other=0.0,
    ).to(real)
    pull_a2_here = s2_here * total_here
    tl.store(pull_a2 + 18432 * sample + 1536 * i + 128 * j + r, pull_a2_here, mask=inside)


@jit
def free_group_5(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 46080 * samples
    sample = place // 46080
    i = place // 3840 % 12
    j = place // 60 % 64
    k = place // 15 % 4
    m = place % 15
    r = tl.arange(0, 4)[None, :]
    # sum[v in V, q | i == v + q](sum[c2](W2[c2,o,q,p] * sum[j, r in R | u == R*j + r](sum[s22, r2 in R | v == R*s22
    #   + r2](s2[c2,s22,j] * argmax[r2 in R, r in R](b2[c2] + sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*s22 + r2 + q2,
    #   R*j + r + q3]))))))
    product_here = tl.load(
        product + 147456 * sample + 1024 * i + 16 * j + k + 12288 * m - 12284 * r,
        mask=inside & (((m - r) >= 0) & ((m - r) < 12)),
        other=0.0,
    ).to(real)
    total_here = tl.sum(tl.where(((m - r) >= 0) & ((m - r) < 12), product_here, 0.0), 1, keep_dims=True)
    tl.store(total + 46080 * sample + 3840 * i + 60 * j + 15 * k + m, total_here, mask=inside)


@jit
def free_group_6(total, s1, drive, next_s1, scalars, samples):
    """next_s1."""
    real = next_s1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 14400 * samples
    sample = place // 14400
    i = place // 225 % 64
    j = place // 15 % 15
    k = place % 15
    step_s1 = tl.load(scalars)
    r = tl.arange(0, 4)[None, :]
    # sum[u in V, p | j == u + p](sum[v in V, q | i == v + q](sum[c2](W2[c2,o,q,p] * sum[s22, r in R | u == R*s22 +
    #   r](sum[s23, r2 in R | v == R*s23 + r2](s2[c2,s23,s22] * argmax[r2 in R, r in R](b2[c2] +
    #   sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*s23 + r2 + q2, R*s22 + r + q3])))))))
    total_here = tl.load(
        total + 46080 * sample + 60 * i + j + 3840 * k - 3825 * r,
        mask=inside & (((k - r) >= 0) & ((k - r) < 12)),
        other=0.0,
    ).to(real)
    total_2 = tl.sum(tl.where(((k - r) >= 0) & ((k - r) < 12), total_here, 0.0), 1, keep_dims=True)
    s1_here = tl.load(s1 + 14400 * sample + 225 * i + 15 * j + k, mask=inside, other=0.0)
    drive_here = tl.load(drive + 14400 * sample + 225 * i + 15 * j + k, mask=inside, other=0.0)
    free = s1_here + step_s1 * (-s1_here + drive_here + total_2)
    next_s1_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s1 + 14400 * sample + 225 * i + 15 * j + k, next_s1_here, mask=inside)


@jit
def free_group_7(s2, product, largest_2, next_s2, scalars, samples):
    """next_s2."""
    real = next_s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    inside = place < 768 * samples
    sample = place // 768
    i = place // 6 % 128
    j = place % 6
    step_s2 = tl.load(scalars + 1)
    r = tl.arange(0, 8)[None, :]
    s2_here = tl.load(s2 + 4608 * sample + 36 * i + 6 * j + r, mask=inside & (r < 6), other=0.0)
    product_here = tl.load(product + 4608 * sample + 36 * i + 6 * j + r, mask=inside & (r < 6), other=0.0).to(real)
    largest_2_here = tl.load(
        largest_2 + 4608 * sample + 36 * i + 6 * j + r,
        mask=inside & (r < 6),
        other=0.0,
    ).to(real)
    free = s2_here + step_s2 * (-s2_here + product_here + largest_2_here)
    next_s2_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s2 + 4608 * sample + 36 * i + 6 * j + r, next_s2_here, mask=inside & (r < 6))


@jit
def free_group_8(y, b3, product, next_y, scalars, samples):
    """next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < samples
    sample = place
    step_y = tl.load(scalars + 2)
    r = tl.arange(0, 16)[None, :]
    y_here = tl.load(y + 10 * sample + r, mask=inside & (r < 10), other=0.0)
    b3_here = tl.load(b3 + r, mask=r < 10, other=0.0)
    product_here = tl.load(product + 10 * sample + r, mask=inside & (r < 10), other=0.0).to(real)
    free = y_here + step_y * (-y_here + (b3_here + product_here))
    next_y_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_y + 10 * sample + r, next_y_here, mask=inside & (r < 10))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    s1, s2, y = now
    next_s1, next_s2, next_y = then
    drive, W2, b2, W3, b3 = given
    n = len(s1)
    product = room(memory, n, 0, 18432)
    total = room(memory, n, 18432, 18432)
    first = room(memory, n, 0, 4608)
    largest_2 = room(memory, n, 4608, 4608)
    total_2 = room(memory, n, 9216, 18432)
    pull_a2 = room(memory, n, 27648, 18432)
    product_2 = room(memory, n, 46080, 147456)
    total_3 = room(memory, n, 193536, 46080)
    product_3 = room(memory, n, 0, 4608)
    product_4 = room(memory, n, 9216, 10)
    # sum[c,p,q](W2[o,c,p,q] * s1[c, u + p, v + q])
    put_einsum(
        matrix(product, (n, 12, 12, 128), (18432, 1536, 128, 1)),
        "abcefg,defg->abcd",
        matrix(s1, (n, 12, 12, 64, 4, 4), (14400, 15, 1, 225, 15, 1)),
        matrix(W2, (128, 64, 4, 4), (1024, 16, 4, 1)),
    )
    free_group_1[(cdiv(9216 * n, 512),)](b2, product, total, n)
    free_group_2[(cdiv(4608 * n, 256),)](total, first, largest_2, n)
    free_group_3[(cdiv(9216 * n, 512),)](first, total_2, n)
    free_group_4[(cdiv(144 * n, 8),)](s2, total_2, pull_a2, n)
    # sum[c2](W2[c2,o,p,q] * sum[i, r in R | v == R*i + r](sum[j, r2 in R | u == R*j + r2](s2[c2,j,i] * argmax[r2 in
    #   R, r in R](b2[c2] + sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*j + r2 + q2, R*i + r + q3])))))
    put_product(
        matrix(product_2, (144 * n, 1024), (1024, 1)),
        matrix(pull_a2, (144 * n, 128), (128, 1)),
        matrix(W2, (128, 1024), (1024, 1)),
    )
    free_group_5[(cdiv(46080 * n, 256),)](product_2, total_3, n)
    free_group_6[(cdiv(14400 * n, 256),)](total_3, s1, drive, next_s1, scalars, n)
    # sum[k](W3[k,o,i,j] * y[k])
    put_product(
        matrix(product_3, (n, 4608), (4608, 1)),
        matrix(y, (n, 10), (10, 1)),
        matrix(W3, (10, 4608), (4608, 1)),
    )
    # sum[o,i,j](W3[k,o,i,j] * s2[o,i,j])
    put_product(
        matrix(product_4, (n, 10), (10, 1)),
        matrix(s2, (n, 4608), (4608, 1)),
        matrix(W3, (4608, 10), (1, 4608)),
    )
    free_group_7[(cdiv(768 * n, 128),)](s2, product_3, largest_2, next_s2, scalars, n)
    free_group_8[(cdiv(n, 64),)](y, b3, product_4, next_y, scalars, n)


@jit
def nudged_group_1(b2, product, total, samples):
    """total."""
    real = b2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    inside = place < 9216 * samples
    sample = place // 9216
    i = place // 72 % 128
    j = place // 12 % 6
    k = place // 6 % 2
    m = place % 6
    r = tl.arange(0, 2)[None, :]
    # b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*i + r + p, R*j + r2 + q])
    b2_here = tl.load(b2 + i, mask=inside, other=0.0)
    product_here = tl.load(
        product + 18432 * sample + i + 3072 * j + 1536 * k + 256 * m + 128 * r,
        mask=inside,
        other=0.0,
    ).to(real)
    total_here = b2_here + product_here
    tl.store(total + 18432 * sample + 144 * i + 24 * j + 12 * k + 2 * m + r, total_here, mask=inside)


@jit
def nudged_group_2(total, first, largest_2, samples):
    """first, largest."""
    real = tl.float32 if largest_2.dtype.element_ty == tl.bfloat16 else largest_2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 4608 * samples
    sample = place // 4608
    i = place // 36 % 128
    j = place // 6 % 6
    k = place % 6
    r = tl.arange(0, 4)[None, :]
    m = r // 2
    p = r % 2
    total_here = tl.load(
        total + 18432 * sample + 144 * i + 24 * j + 2 * k + 12 * m + p,
        mask=inside,
        other=0.0,
    ).to(real)
    largest_3 = tl.max(total_here, 1, keep_dims=True)
    first_here = tl.max(
        tl.where((total_here - largest_3) == 0.0, -((2 * m) + p).to(real), float("-inf")),
        1,
        keep_dims=True,
    )
    tl.store(first + 4608 * sample + 36 * i + 6 * j + k, first_here, mask=inside)
    largest_here = tl.max(total_here, 1, keep_dims=True)
    tl.store(largest_2 + 4608 * sample + 36 * i + 6 * j + k, largest_here, mask=inside)


@jit
def nudged_group_3(first, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    inside = place < 9216 * samples
    sample = place // 9216
    i = place // 72 % 128
    j = place // 12 % 6
    k = place // 6 % 2
    m = place % 6
    r = tl.arange(0, 2)[None, :]
    # argmax[r in R, r2 in R](b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*i + r + p, R*j + r2 + q]))
    first_here = tl.load(first + 4608 * sample + 36 * i + 6 * j + m, mask=inside, other=0.0).to(real)
    total_here = tl.where((first_here - (-((2 * k) + r).to(real))) == 0.0, tl.full((1, 1), 1.0, real), 0.0)
    tl.store(total + 18432 * sample + 144 * i + 24 * j + 12 * k + 2 * m + r, total_here, mask=inside)


@jit
def nudged_group_4(s2, total, pull_a2, samples):
    """pull_a2."""
    real = s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 144 * samples
    sample = place // 144
    i = place // 12 % 12
    j = place % 12
    r = tl.arange(0, 128)[None, :]
    # pull_a2[o,u,v] = sum[i, r in R | v == R*i + r](sum[j, r2 in R | u == R*j + r2](s2[o,j,i] * argmax[r2 in R, r
    #   in R](b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*j + r2 + p, R*i + r + q]))))
    s2_here = tl.load(
        s2 + 4608 * sample + 6 * (block_floor_div(i, 2)) + block_floor_div(j, 2) + 36 * r,
        mask=inside,
        other=0.0,
    )
    total_here = tl.load(
        total + 18432 * sample + 24 * (
            block_floor_div(i, 2)
        ) + 12 * (block_modulo(i, 2)) + 2 * (block_floor_div(j, 2)) + block_modulo(j, 2) + 144 * r,
        mask=inside,
        other=0.0,
    ).to(real)
    pull_a2_here = s2_here * total_here
    tl.store(pull_a2 + 18432 * sample + 1536 * i + 128 * j + r, pull_a2_here, mask=inside)


@jit
def nudged_group_5(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 46080 * samples
    sample = place // 46080
    i = place // 3840 % 12
    j = place // 60 % 64
    k = place // 15 % 4
    m = place % 15
    r = tl.arange(0, 4)[None, :]
    # sum[v in V, q | i == v + q](sum[c2](W2[c2,o,q,p] * sum[j, r in R | u == R*j + r](sum[s22, r2 in R | v == R*s22
    #   + r2](s2[c2,s22,j] * argmax[r2 in R, r in R](b2[c2] + sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*s22 + r2 + q2,
    #   R*j + r + q3]))))))
    product_here = tl.load(
        product + 147456 * sample + 1024 * i + 16 * j + k + 12288 * m - 12284 * r,
        mask=inside & (((m - r) >= 0) & ((m - r) < 12)),
        other=0.0,
    ).to(real)
    total_here = tl.sum(tl.where(((m - r) >= 0) & ((m - r) < 12), product_here, 0.0), 1, keep_dims=True)
    tl.store(total + 46080 * sample + 3840 * i + 60 * j + 15 * k + m, total_here, mask=inside)


@jit
def nudged_group_6(total, s1, drive, next_s1, scalars, samples):
    """next_s1."""
    real = next_s1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 14400 * samples
    sample = place // 14400
    i = place // 225 % 64
    j = place // 15 % 15
    k = place % 15
    step_s1 = tl.load(scalars + 1)
    r = tl.arange(0, 4)[None, :]
    # sum[u in V, p | j == u + p](sum[v in V, q | i == v + q](sum[c2](W2[c2,o,q,p] * sum[s22, r in R | u == R*s22 +
    #   r](sum[s23, r2 in R | v == R*s23 + r2](s2[c2,s23,s22] * argmax[r2 in R, r in R](b2[c2] +
    #   sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*s23 + r2 + q2, R*s22 + r + q3])))))))
    total_here = tl.load(
        total + 46080 * sample + 60 * i + j + 3840 * k - 3825 * r,
        mask=inside & (((k - r) >= 0) & ((k - r) < 12)),
        other=0.0,
    ).to(real)
    total_2 = tl.sum(tl.where(((k - r) >= 0) & ((k - r) < 12), total_here, 0.0), 1, keep_dims=True)
    s1_here = tl.load(s1 + 14400 * sample + 225 * i + 15 * j + k, mask=inside, other=0.0)
    drive_here = tl.load(drive + 14400 * sample + 225 * i + 15 * j + k, mask=inside, other=0.0)
    free = s1_here + step_s1 * (-s1_here + drive_here + total_2)
    next_s1_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s1 + 14400 * sample + 225 * i + 15 * j + k, next_s1_here, mask=inside)


@jit
def nudged_group_7(s2, product, largest_2, next_s2, scalars, samples):
    """next_s2."""
    real = next_s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    inside = place < 768 * samples
    sample = place // 768
    i = place // 6 % 128
    j = place % 6
    step_s2 = tl.load(scalars + 2)
    r = tl.arange(0, 8)[None, :]
    s2_here = tl.load(s2 + 4608 * sample + 36 * i + 6 * j + r, mask=inside & (r < 6), other=0.0)
    product_here = tl.load(product + 4608 * sample + 36 * i + 6 * j + r, mask=inside & (r < 6), other=0.0).to(real)
    largest_2_here = tl.load(
        largest_2 + 4608 * sample + 36 * i + 6 * j + r,
        mask=inside & (r < 6),
        other=0.0,
    ).to(real)
    free = s2_here + step_s2 * (-s2_here + product_here + largest_2_here)
    next_s2_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s2 + 4608 * sample + 36 * i + 6 * j + r, next_s2_here, mask=inside & (r < 6))


@jit
def nudged_group_8(y, b3, product, label, next_y, scalars, samples):
    """next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < samples
    sample = place
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 4), 1.0, -1.0)
    step_y = tl.load(scalars + 3)
    r = tl.arange(0, 16)[None, :]
    y_here = tl.load(y + 10 * sample + r, mask=inside & (r < 10), other=0.0)
    b3_here = tl.load(b3 + r, mask=r < 10, other=0.0)
    product_here = tl.load(product + 10 * sample + r, mask=inside & (r < 10), other=0.0).to(real)
    label_here = tl.load(label + sample, mask=inside, other=0)
    free = (
        y_here
        + step_y * (
            (-y_here + (b3_here + product_here)) - beta * (
                y_here - tl.where(r == label_here, tl.full((1, 1), 1.0, real), 0.0)
            )
        )
    )
    next_y_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_y + 10 * sample + r, next_y_here, mask=inside & (r < 10))


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    s1, s2, y = now
    next_s1, next_s2, next_y = then
    drive, W2, b2, W3, b3, label = given
    n = len(s1)
    product = room(memory, n, 0, 18432)
    total = room(memory, n, 18432, 18432)
    first = room(memory, n, 0, 4608)
    largest_2 = room(memory, n, 4608, 4608)
    total_2 = room(memory, n, 9216, 18432)
    pull_a2 = room(memory, n, 27648, 18432)
    product_2 = room(memory, n, 46080, 147456)
    total_3 = room(memory, n, 193536, 46080)
    product_3 = room(memory, n, 0, 4608)
    product_4 = room(memory, n, 9216, 10)
    # sum[c,p,q](W2[o,c,p,q] * s1[c, u + p, v + q])
    put_einsum(
        matrix(product, (n, 12, 12, 128), (18432, 1536, 128, 1)),
        "abcefg,defg->abcd",
        matrix(s1, (n, 12, 12, 64, 4, 4), (14400, 15, 1, 225, 15, 1)),
        matrix(W2, (128, 64, 4, 4), (1024, 16, 4, 1)),
    )
    nudged_group_1[(cdiv(9216 * n, 512),)](b2, product, total, n)
    nudged_group_2[(cdiv(4608 * n, 256),)](total, first, largest_2, n)
    nudged_group_3[(cdiv(9216 * n, 512),)](first, total_2, n)
    nudged_group_4[(cdiv(144 * n, 8),)](s2, total_2, pull_a2, n)
    # sum[c2](W2[c2,o,p,q] * sum[i, r in R | v == R*i + r](sum[j, r2 in R | u == R*j + r2](s2[c2,j,i] * argmax[r2 in
    #   R, r in R](b2[c2] + sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*j + r2 + q2, R*i + r + q3])))))
    put_product(
        matrix(product_2, (144 * n, 1024), (1024, 1)),
        matrix(pull_a2, (144 * n, 128), (128, 1)),
        matrix(W2, (128, 1024), (1024, 1)),
    )
    nudged_group_5[(cdiv(46080 * n, 256),)](product_2, total_3, n)
    nudged_group_6[(cdiv(14400 * n, 256),)](total_3, s1, drive, next_s1, scalars, n)
    # sum[k](W3[k,o,i,j] * y[k])
    put_product(
        matrix(product_3, (n, 4608), (4608, 1)),
        matrix(y, (n, 10), (10, 1)),
        matrix(W3, (10, 4608), (4608, 1)),
    )
    # sum[o,i,j](W3[k,o,i,j] * s2[o,i,j])
    put_product(
        matrix(product_4, (n, 10), (10, 1)),
        matrix(s2, (n, 4608), (4608, 1)),
        matrix(W3, (4608, 10), (1, 4608)),
    )
    nudged_group_7[(cdiv(768 * n, 128),)](s2, product_3, largest_2, next_s2, scalars, n)
    nudged_group_8[(cdiv(n, 64),)](y, b3, product_4, label, next_y, scalars, n)


# in HopfieldConvEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [fixed.drive, self.W2, self.b2, self.W3, self.b3]
        if name == "nudged":
            return [fixed.drive, self.W2, self.b2, self.W3, self.b3, targets[0]]
        raise KeyError(name)


# in HopfieldConv
    """The network: its equations, relaxed by kernels and learned."""


# in HopfieldConv
    learning_rules = (centered_ep, implicit,)


# in HopfieldConv
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 239616, matrices={1, 3}),
            "nudged": PhaseStep(nudged_step, 239616, matrices={1, 3}),
        }
    )
