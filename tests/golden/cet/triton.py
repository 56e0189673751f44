@jit
def free_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 1452 * samples
    sample = place // 1452
    i = place // 121 % 12
    j = place // 11 % 11
    k = place % 11
    r = tl.arange(0, 128)[None, :]
    m = r // 11
    p = r % 11
    product_here = tl.load(
        product + 175692 * sample + 14641 * i + 1331 * j + 121 * k + 11 * m + p,
        mask=inside & (r < 121),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 121), 0.25 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp((0.25 * product_here) - largest_2)
    whole = tl.sum(tl.where(inside & (r < 121), power, 0.0), 1, keep_dims=True)
    # softmax[k,l](gamma * sum[a](query[h,i,j,a] * key[h,k,l,a]))
    weights_here = power / whole
    tl.store(
        weights + 175692 * sample + 14641 * i + 1331 * j + 121 * k + 11 * m + p,
        weights_here,
        mask=inside & (r < 121),
    )


@jit
def free_group_2(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 121 * samples
    sample = place // 121
    i = place // 11 % 11
    j = place % 11
    r = tl.arange(0, 4096)[None, :]
    # relu(sum[d](W_mem[d,m] * z[i,j,d]))
    product_here = tl.load(
        product + 371712 * sample + 33792 * i + 3072 * j + r,
        mask=inside & (r < 3072),
        other=0.0,
    ).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 371712 * sample + 33792 * i + 3072 * j + r, image_here, mask=inside & (r < 3072))


@jit
def free_group_3(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < 79200 * samples
    sample = place // 79200
    i = place // 7200 % 11
    j = place // 2400 % 3
    k = place // 120 % 20
    m = place % 120
    r = tl.arange(0, 16)[None, :]
    # sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d]))
    product_here = tl.load(
        product + 145200 * sample + 1200 * i + 400 * j + k + 20 * m + 13000 * r,
        mask=inside & (r < 11) & (((m - (10 * r)) >= 0) & ((m - (10 * r)) < 20)),
        other=0.0,
    ).to(real)
    total_here = tl.sum(
        tl.where(
            inside & (r < 11),
            tl.where(((m - (10 * r)) >= 0) & ((m - (10 * r)) < 20), product_here, 0.0),
            0.0,
        ),
        1,
        keep_dims=True,
    )
    tl.store(total + 79200 * sample + 7200 * i + 2400 * j + 120 * k + m, total_here, mask=inside)


@jit
def free_group_4(total, y, b_dec, next_y, scalars, samples):
    """next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < 43200 * samples
    sample = place // 43200
    i = place // 14400 % 3
    j = place // 120 % 120
    k = place % 120
    step_y = tl.load(scalars + 1)
    r = tl.arange(0, 16)[None, :]
    # sum[i,p | v == stride*i + p](sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d])))
    total_here = tl.load(
        total + 79200 * sample + 2400 * i + j + 120 * k + 6000 * r,
        mask=inside & (r < 11) & (((k - (10 * r)) >= 0) & ((k - (10 * r)) < 20)),
        other=0.0,
    ).to(real)
    total_2 = tl.sum(
        tl.where(inside & (r < 11), tl.where(((k - (10 * r)) >= 0) & ((k - (10 * r)) < 20), total_here, 0.0), 0.0),
        1,
        keep_dims=True,
    )
    y_here = tl.load(y + 43200 * sample + 14400 * i + 120 * j + k, mask=inside, other=0.0)
    b_dec_here = tl.load(b_dec + i, mask=inside, other=0.0)
    next_y_here = y_here + step_y * (-y_here + b_dec_here + total_2)
    tl.store(next_y + 43200 * sample + 14400 * i + 120 * j + k, next_y_here, mask=inside)


@jit
def free_group_5(z, product, drive, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 121 * samples
    sample = place // 121
    i = place // 11 % 11
    j = place % 11
    step_z = tl.load(scalars)
    r = tl.arange(0, 1024)[None, :]
    z_here = tl.load(z + 92928 * sample + 8448 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    product_here = tl.load(
        product + 92928 * sample + 8448 * i + 768 * j + r,
        mask=inside & (r < 768),
        other=0.0,
    ).to(real)
    drive_here = tl.load(drive + 92928 * sample + 8448 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    moved = z_here + step_z * (-z_here + product_here + drive_here)
    mean = tl.sum(tl.where(inside & (r < 768), moved, 0.0), 1, keep_dims=True)
    centred_2 = moved - 0.0013020833333333333 * mean
    square = tl.sum(tl.where(inside & (r < 768), centred_2 * centred_2, 0.0), 1, keep_dims=True)
    deviation = tl.sqrt(0.0013020833333333333 * square)
    next_z_here = tl.where(deviation == 0.0, moved, centred_2 / deviation)
    tl.store(next_z + 92928 * sample + 8448 * i + 768 * j + r, next_z_here, mask=inside & (r < 768))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    z, y = now
    next_z, next_y = then
    W_k, W_q, drive, W_dec, W_mem, b_dec = given
    n = len(z)
    query = room(memory, n, 0, 92928)
    key = room(memory, n, 92928, 92928)
    product = room(memory, n, 185856, 175692)
    weights = room(memory, n, 361552, 175692)
    pull_key = room(memory, n, 185856, 92928)
    product_2 = room(memory, n, 0, 92928)
    pull_query = room(memory, n, 185856, 92928)
    product_3 = room(memory, n, 92928, 371712)
    image = room(memory, n, 464640, 371712)
    product_4 = room(memory, n, 92928, 145200)
    total = room(memory, n, 238128, 79200)
    # query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(query, (n, 12, 121, 64), (92928, 7744, 64, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 121, 768), (92928, 768, 1)),
        matrix(W_q, (12, 64, 768), (49152, 768, 1)),
    )
    # key[h,i,j,a] = sum[d](W_k[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(key, (n, 12, 121, 64), (92928, 7744, 64, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 121, 768), (92928, 768, 1)),
        matrix(W_k, (12, 64, 768), (49152, 768, 1)),
    )
    # sum[a](query[h,i,j,a] * key[h,k,l,a])
    put_product(
        matrix(product, (12 * n, 121, 121), (14641, 121, 1)),
        matrix(query, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(key, (12 * n, 64, 121), (7744, 1, 64)),
    )
    free_group_1[(cdiv(1452 * n, 8),)](product, weights, n)
    # pull_key[h,i,j,a] = sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] * key[h,i,j,a2])))
    put_product(
        matrix(pull_key, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(weights, (12 * n, 121, 121), (14641, 1, 121)),
        matrix(query, (12 * n, 121, 64), (7744, 64, 1)),
    )
    # sum[h,a](W_k[h,a,d] * sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] *
    #   key[h,i,j,a2]))))
    put_einsum(
        matrix(product_2, (n, 121, 768), (92928, 768, 1)),
        "abde,cde->abc",
        matrix(pull_key, (n, 121, 12, 64), (92928, 64, 7744, 1)),
        matrix(W_k, (768, 12, 64), (1, 49152, 768)),
    )
    # pull_query[h,i,j,a] = sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2])))
    put_product(
        matrix(pull_query, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(weights, (12 * n, 121, 121), (14641, 121, 1)),
        matrix(key, (12 * n, 121, 64), (7744, 64, 1)),
    )
    # sum[h,a](W_q[h,a,d] * sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2]))))
    put_einsum(
        matrix(product_2, (n, 121, 768), (92928, 768, 1)),
        "abde,cde->abc",
        matrix(pull_query, (n, 121, 12, 64), (92928, 64, 7744, 1)),
        matrix(W_q, (768, 12, 64), (1, 49152, 768)),
        adds=True,
    )
    # sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q])
    put_einsum(
        matrix(product_2, (n, 11, 11, 768), (92928, 8448, 768, 1)),
        "abcefg,defg->abcd",
        matrix(y, (n, 11, 11, 3, 20, 20), (43200, 1200, 10, 14400, 120, 1)),
        matrix(W_dec, (768, 3, 20, 20), (1200, 400, 20, 1)),
        adds=True,
    )
    # sum[d](W_mem[d,m] * z[i,j,d])
    put_product(
        matrix(product_3, (121 * n, 3072), (3072, 1)),
        matrix(z, (121 * n, 768), (768, 1)),
        matrix(W_mem, (768, 3072), (3072, 1)),
    )
    free_group_2[(121 * n,)](product_3, image, n, num_warps=8)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
    put_product(
        matrix(product_2, (121 * n, 768), (768, 1)),
        matrix(image, (121 * n, 3072), (3072, 1)),
        matrix(W_mem, (3072, 768), (1, 3072)),
        adds=True,
        factor=2.0,
    )
    # sum[d](W_dec[d,c,p,q] * z[i,j,d])
    put_product(
        matrix(product_4, (121 * n, 1200), (1200, 1)),
        matrix(z, (121 * n, 768), (768, 1)),
        matrix(W_dec, (768, 1200), (1200, 1)),
    )
    free_group_3[(cdiv(79200 * n, 64),)](product_4, total, n)
    free_group_4[(cdiv(43200 * n, 64),)](total, y, b_dec, next_y, scalars, n)
    free_group_5[(121 * n,)](z, product_2, drive, next_z, scalars, n)


@jit
def nudged_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 1452 * samples
    sample = place // 1452
    i = place // 121 % 12
    j = place // 11 % 11
    k = place % 11
    r = tl.arange(0, 128)[None, :]
    m = r // 11
    p = r % 11
    product_here = tl.load(
        product + 175692 * sample + 14641 * i + 1331 * j + 121 * k + 11 * m + p,
        mask=inside & (r < 121),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 121), 0.25 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp((0.25 * product_here) - largest_2)
    whole = tl.sum(tl.where(inside & (r < 121), power, 0.0), 1, keep_dims=True)
    # softmax[k,l](gamma * sum[a](query[h,i,j,a] * key[h,k,l,a]))
    weights_here = power / whole
    tl.store(
        weights + 175692 * sample + 14641 * i + 1331 * j + 121 * k + 11 * m + p,
        weights_here,
        mask=inside & (r < 121),
    )


@jit
def nudged_group_2(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 121 * samples
    sample = place // 121
    i = place // 11 % 11
    j = place % 11
    r = tl.arange(0, 4096)[None, :]
    # relu(sum[d](W_mem[d,m] * z[i,j,d]))
    product_here = tl.load(
        product + 371712 * sample + 33792 * i + 3072 * j + r,
        mask=inside & (r < 3072),
        other=0.0,
    ).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 371712 * sample + 33792 * i + 3072 * j + r, image_here, mask=inside & (r < 3072))


@jit
def nudged_group_3(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < 79200 * samples
    sample = place // 79200
    i = place // 7200 % 11
    j = place // 2400 % 3
    k = place // 120 % 20
    m = place % 120
    r = tl.arange(0, 16)[None, :]
    # sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d]))
    product_here = tl.load(
        product + 145200 * sample + 1200 * i + 400 * j + k + 20 * m + 13000 * r,
        mask=inside & (r < 11) & (((m - (10 * r)) >= 0) & ((m - (10 * r)) < 20)),
        other=0.0,
    ).to(real)
    total_here = tl.sum(
        tl.where(
            inside & (r < 11),
            tl.where(((m - (10 * r)) >= 0) & ((m - (10 * r)) < 20), product_here, 0.0),
            0.0,
        ),
        1,
        keep_dims=True,
    )
    tl.store(total + 79200 * sample + 7200 * i + 2400 * j + 120 * k + m, total_here, mask=inside)


@jit
def nudged_group_4(total, y, b_dec, t, next_y, scalars, samples):
    """next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < 43200 * samples
    sample = place // 43200
    i = place // 14400 % 3
    j = place // 120 % 120
    k = place % 120
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 3), 1.0, -1.0)
    step_y = tl.load(scalars + 2)
    r = tl.arange(0, 16)[None, :]
    # sum[i,p | v == stride*i + p](sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d])))
    total_here = tl.load(
        total + 79200 * sample + 2400 * i + j + 120 * k + 6000 * r,
        mask=inside & (r < 11) & (((k - (10 * r)) >= 0) & ((k - (10 * r)) < 20)),
        other=0.0,
    ).to(real)
    total_2 = tl.sum(
        tl.where(inside & (r < 11), tl.where(((k - (10 * r)) >= 0) & ((k - (10 * r)) < 20), total_here, 0.0), 0.0),
        1,
        keep_dims=True,
    )
    y_here = tl.load(y + 43200 * sample + 14400 * i + 120 * j + k, mask=inside, other=0.0)
    b_dec_here = tl.load(b_dec + i, mask=inside, other=0.0)
    t_here = tl.load(t + 43200 * sample + 14400 * i + 120 * j + k, mask=inside, other=0.0)
    next_y_here = (
        y_here
        + step_y * ((-y_here + b_dec_here + total_2) - beta * (4.6296296296296294e-05 * (-t_here + y_here)))
    )
    tl.store(next_y + 43200 * sample + 14400 * i + 120 * j + k, next_y_here, mask=inside)


@jit
def nudged_group_5(z, product, drive, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 121 * samples
    sample = place // 121
    i = place // 11 % 11
    j = place % 11
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 1024)[None, :]
    z_here = tl.load(z + 92928 * sample + 8448 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    product_here = tl.load(
        product + 92928 * sample + 8448 * i + 768 * j + r,
        mask=inside & (r < 768),
        other=0.0,
    ).to(real)
    drive_here = tl.load(drive + 92928 * sample + 8448 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    moved = z_here + step_z * (-z_here + product_here + drive_here)
    mean = tl.sum(tl.where(inside & (r < 768), moved, 0.0), 1, keep_dims=True)
    centred_2 = moved - 0.0013020833333333333 * mean
    square = tl.sum(tl.where(inside & (r < 768), centred_2 * centred_2, 0.0), 1, keep_dims=True)
    deviation = tl.sqrt(0.0013020833333333333 * square)
    next_z_here = tl.where(deviation == 0.0, moved, centred_2 / deviation)
    tl.store(next_z + 92928 * sample + 8448 * i + 768 * j + r, next_z_here, mask=inside & (r < 768))


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    z, y = now
    next_z, next_y = then
    W_k, W_q, drive, W_dec, W_mem, b_dec, t = given
    n = len(z)
    query = room(memory, n, 0, 92928)
    key = room(memory, n, 92928, 92928)
    product = room(memory, n, 185856, 175692)
    weights = room(memory, n, 361552, 175692)
    pull_key = room(memory, n, 185856, 92928)
    product_2 = room(memory, n, 0, 92928)
    pull_query = room(memory, n, 185856, 92928)
    product_3 = room(memory, n, 92928, 371712)
    image = room(memory, n, 464640, 371712)
    product_4 = room(memory, n, 92928, 145200)
    total = room(memory, n, 238128, 79200)
    # query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(query, (n, 12, 121, 64), (92928, 7744, 64, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 121, 768), (92928, 768, 1)),
        matrix(W_q, (12, 64, 768), (49152, 768, 1)),
    )
    # key[h,i,j,a] = sum[d](W_k[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(key, (n, 12, 121, 64), (92928, 7744, 64, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 121, 768), (92928, 768, 1)),
        matrix(W_k, (12, 64, 768), (49152, 768, 1)),
    )
    # sum[a](query[h,i,j,a] * key[h,k,l,a])
    put_product(
        matrix(product, (12 * n, 121, 121), (14641, 121, 1)),
        matrix(query, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(key, (12 * n, 64, 121), (7744, 1, 64)),
    )
    nudged_group_1[(cdiv(1452 * n, 8),)](product, weights, n)
    # pull_key[h,i,j,a] = sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] * key[h,i,j,a2])))
    put_product(
        matrix(pull_key, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(weights, (12 * n, 121, 121), (14641, 1, 121)),
        matrix(query, (12 * n, 121, 64), (7744, 64, 1)),
    )
    # sum[h,a](W_k[h,a,d] * sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] *
    #   key[h,i,j,a2]))))
    put_einsum(
        matrix(product_2, (n, 121, 768), (92928, 768, 1)),
        "abde,cde->abc",
        matrix(pull_key, (n, 121, 12, 64), (92928, 64, 7744, 1)),
        matrix(W_k, (768, 12, 64), (1, 49152, 768)),
    )
    # pull_query[h,i,j,a] = sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2])))
    put_product(
        matrix(pull_query, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(weights, (12 * n, 121, 121), (14641, 121, 1)),
        matrix(key, (12 * n, 121, 64), (7744, 64, 1)),
    )
    # sum[h,a](W_q[h,a,d] * sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2]))))
    put_einsum(
        matrix(product_2, (n, 121, 768), (92928, 768, 1)),
        "abde,cde->abc",
        matrix(pull_query, (n, 121, 12, 64), (92928, 64, 7744, 1)),
        matrix(W_q, (768, 12, 64), (1, 49152, 768)),
        adds=True,
    )
    # sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q])
    put_einsum(
        matrix(product_2, (n, 11, 11, 768), (92928, 8448, 768, 1)),
        "abcefg,defg->abcd",
        matrix(y, (n, 11, 11, 3, 20, 20), (43200, 1200, 10, 14400, 120, 1)),
        matrix(W_dec, (768, 3, 20, 20), (1200, 400, 20, 1)),
        adds=True,
    )
    # sum[d](W_mem[d,m] * z[i,j,d])
    put_product(
        matrix(product_3, (121 * n, 3072), (3072, 1)),
        matrix(z, (121 * n, 768), (768, 1)),
        matrix(W_mem, (768, 3072), (3072, 1)),
    )
    nudged_group_2[(121 * n,)](product_3, image, n, num_warps=8)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
    put_product(
        matrix(product_2, (121 * n, 768), (768, 1)),
        matrix(image, (121 * n, 3072), (3072, 1)),
        matrix(W_mem, (3072, 768), (1, 3072)),
        adds=True,
        factor=2.0,
    )
    # sum[d](W_dec[d,c,p,q] * z[i,j,d])
    put_product(
        matrix(product_4, (121 * n, 1200), (1200, 1)),
        matrix(z, (121 * n, 768), (768, 1)),
        matrix(W_dec, (768, 1200), (1200, 1)),
    )
    nudged_group_3[(cdiv(79200 * n, 64),)](product_4, total, n)
    nudged_group_4[(cdiv(43200 * n, 64),)](total, y, b_dec, t, next_y, scalars, n)
    nudged_group_5[(121 * n,)](z, product_2, drive, next_z, scalars, n)


# in CetEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [self.W_k, self.W_q, fixed.drive, self.W_dec, self.W_mem, self.b_dec]
        if name == "nudged":
            return [self.W_k, self.W_q, fixed.drive, self.W_dec, self.W_mem, self.b_dec, targets[0]]
        raise KeyError(name)


# in Cet
    """The network: its equations, relaxed by kernels and learned."""


# in Cet
    learning_rules = (centered_ep, implicit,)


# in Cet
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 836352, matrices={0, 1, 3, 4}),
            "nudged": PhaseStep(nudged_step, 836352, matrices={0, 1, 3, 4}),
        }
    )
