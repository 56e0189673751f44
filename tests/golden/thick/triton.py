@jit
def free_group_1(z, h1, g1, h2, g2, n1, n2, samples):
    """n1, n2."""
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    # sum[d](z[t,d])
    z_here = tl.load(z + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    total = tl.sum(z_here, 1, keep_dims=True)
    # z[t,d] - mean[e](z[t,e])
    total_2 = z_here + (-0.0078125 * total)
    # sum[d]((z[t,d] - mean[e](z[t,e]))^2)
    total_3 = tl.sum(total_2 * total_2, 1, keep_dims=True)
    # layernorm[d](z[t,d])
    total_4 = total_2 * (1.0 / (tl.sqrt(0.0078125 * total_3 + 1e-05 * 1.0)))
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    h1_here = tl.load(h1 + r)
    g1_here = tl.load(g1 + r)
    n1_here = h1_here + g1_here * total_4
    tl.store(n1 + 8192 * sample + 128 * i + r, n1_here, mask=inside)
    # n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
    h2_here = tl.load(h2 + r)
    g2_here = tl.load(g2 + r)
    n2_here = h2_here + g2_here * total_4
    tl.store(n2 + 8192 * sample + 128 * i + r, n2_here, mask=inside)


@jit
def free_group_2(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def free_group_3(b1, product, image, samples):
    """image."""
    real = b1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # gelu_tanh(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e]))))
    b1_here = tl.load(b1 + r)
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_gelu_tanh(b1_here + product_here)
    tl.store(image + 32768 * sample + 512 * i + r, image_here, mask=inside)


@jit
def free_group_4(z, x, product, b2, product_2, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    step_z = tl.load(scalars)
    r = tl.arange(0, 128)[None, :]
    z_here = tl.load(z + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    b2_here = tl.load(b2 + r)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_here = z_here + step_z * ((-z_here - (z_here - x_here)) + product_here + (b2_here + product_2_here))
    tl.store(next_z + 8192 * sample + 128 * i + r, next_z_here, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    z, = now
    next_z, = then
    x, W_o, W_v, h1, g1, W_q, W_k, b2, W2, b1, W1, h2, g2 = given
    n = len(z)
    n1 = room(memory, n, 0, 8192)
    n2 = room(memory, n, 8192, 8192)
    v = room(memory, n, 16384, 8192)
    q = room(memory, n, 24576, 8192)
    k = room(memory, n, 32768, 8192)
    product = room(memory, n, 40960, 16384)
    p = room(memory, n, 24576, 16384)
    product_2 = room(memory, n, 0, 8192)
    product_3 = room(memory, n, 16384, 8192)
    product_4 = room(memory, n, 24576, 32768)
    image = room(memory, n, 57344, 32768)
    product_5 = room(memory, n, 0, 8192)
    free_group_1[(cdiv(64 * n, 8),)](z, h1, g1, h2, g2, n1, n2, n)
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    free_group_2[(cdiv(256 * n, 16),)](product, p, n)
    # sum[s](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)))
    put_product(
        matrix(product_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_o[h,a,d] * sum[s](sum[e](W_v[h,e,a] * (h1[e] + g1[e] * layernorm[e](z[s,e]))) * softmax[s | s <=
    #   t](sum[a2](sum[e](W_q[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t,e]))) * sum[e](W_k[h,e,a2] * (h1[e] +
    #   g1[e] * layernorm[e](z[s,e])))) / sqrt(A))))
    put_einsum(
        matrix(product_3, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_2, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))
    put_product(
        matrix(product_4, (64 * n, 512), (512, 1)),
        matrix(n2, (64 * n, 128), (128, 1)),
        matrix(W1, (128, 512), (512, 1)),
    )
    free_group_3[(cdiv(64 * n, 2),)](b1, product_4, image, n)
    # sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))))
    put_product(
        matrix(product_5, (64 * n, 128), (128, 1)),
        matrix(image, (64 * n, 512), (512, 1)),
        matrix(W2, (512, 128), (128, 1)),
    )
    free_group_4[(cdiv(64 * n, 8),)](z, x, product_3, b2, product_5, next_z, scalars, n)


@jit
def nudged_group_1(z, h1, g1, h2, g2, n1, n2, samples):
    """n1, n2."""
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    # sum[d](z[t,d])
    z_here = tl.load(z + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    total = tl.sum(z_here, 1, keep_dims=True)
    # z[t,d] - mean[e](z[t,e])
    total_2 = z_here + (-0.0078125 * total)
    # sum[d]((z[t,d] - mean[e](z[t,e]))^2)
    total_3 = tl.sum(total_2 * total_2, 1, keep_dims=True)
    # layernorm[d](z[t,d])
    total_4 = total_2 * (1.0 / (tl.sqrt(0.0078125 * total_3 + 1e-05 * 1.0)))
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    h1_here = tl.load(h1 + r)
    g1_here = tl.load(g1 + r)
    n1_here = h1_here + g1_here * total_4
    tl.store(n1 + 8192 * sample + 128 * i + r, n1_here, mask=inside)
    # n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
    h2_here = tl.load(h2 + r)
    g2_here = tl.load(g2 + r)
    n2_here = h2_here + g2_here * total_4
    tl.store(n2 + 8192 * sample + 128 * i + r, n2_here, mask=inside)


@jit
def nudged_group_2(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def nudged_group_3(b1, product, image, samples):
    """image."""
    real = b1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # gelu_tanh(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e]))))
    b1_here = tl.load(b1 + r)
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_gelu_tanh(b1_here + product_here)
    tl.store(image + 32768 * sample + 512 * i + r, image_here, mask=inside)


@jit
def nudged_group_4(product, label, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 4160 * sample + 65 * i + r, mask=inside & (r < 65), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 65), product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp(product_here - largest_2)
    whole = tl.sum(tl.where(inside & (r < 65), power, 0.0), 1, keep_dims=True)
    # softmax[w](sum[d](W_head[d,w] * z[t,d]))
    weights = power / whole
    # 1/T * softmax[w](sum[d](W_head[d,w] * z[t,d])) - 1/T * where(w == label[t], 1, 0)
    label_here = tl.load(label + 64 * sample + i, mask=inside, other=0)
    total_here = tl.where(r == label_here, tl.full((1, 1), -0.015625, real), 0.0) + 0.015625 * weights
    tl.store(total + 4160 * sample + 65 * i + r, total_here, mask=inside & (r < 65))


@jit
def nudged_group_5(z, x, product, b2, product_2, product_3, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    z_here = tl.load(z + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    b2_here = tl.load(b2 + r)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    product_3_here = tl.load(product_3 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_here = (
        z_here
        + step_z * (
            ((-z_here - (z_here - x_here)) + product_here + (b2_here + product_2_here)) - beta * product_3_here
        )
    )
    tl.store(next_z + 8192 * sample + 128 * i + r, next_z_here, mask=inside)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    z, = now
    next_z, = then
    x, W_o, W_v, h1, g1, W_q, W_k, b2, W2, b1, W1, h2, g2, W_head, label = given
    n = len(z)
    n1 = room(memory, n, 0, 8192)
    n2 = room(memory, n, 8192, 8192)
    v = room(memory, n, 16384, 8192)
    q = room(memory, n, 24576, 8192)
    k = room(memory, n, 32768, 8192)
    product = room(memory, n, 40960, 16384)
    p = room(memory, n, 24576, 16384)
    product_2 = room(memory, n, 0, 8192)
    product_3 = room(memory, n, 16384, 8192)
    product_4 = room(memory, n, 24576, 32768)
    image = room(memory, n, 57344, 32768)
    product_5 = room(memory, n, 0, 8192)
    product_6 = room(memory, n, 8192, 4160)
    total = room(memory, n, 24576, 4160)
    product_7 = room(memory, n, 8192, 8192)
    nudged_group_1[(cdiv(64 * n, 8),)](z, h1, g1, h2, g2, n1, n2, n)
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    nudged_group_2[(cdiv(256 * n, 16),)](product, p, n)
    # sum[s](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)))
    put_product(
        matrix(product_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_o[h,a,d] * sum[s](sum[e](W_v[h,e,a] * (h1[e] + g1[e] * layernorm[e](z[s,e]))) * softmax[s | s <=
    #   t](sum[a2](sum[e](W_q[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t,e]))) * sum[e](W_k[h,e,a2] * (h1[e] +
    #   g1[e] * layernorm[e](z[s,e])))) / sqrt(A))))
    put_einsum(
        matrix(product_3, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_2, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))
    put_product(
        matrix(product_4, (64 * n, 512), (512, 1)),
        matrix(n2, (64 * n, 128), (128, 1)),
        matrix(W1, (128, 512), (512, 1)),
    )
    nudged_group_3[(cdiv(64 * n, 2),)](b1, product_4, image, n)
    # sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))))
    put_product(
        matrix(product_5, (64 * n, 128), (128, 1)),
        matrix(image, (64 * n, 512), (512, 1)),
        matrix(W2, (512, 128), (128, 1)),
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_6, (64 * n, 65), (65, 1)),
        matrix(z, (64 * n, 128), (128, 1)),
        matrix(W_head, (128, 65), (65, 1)),
    )
    nudged_group_4[(cdiv(64 * n, 8),)](product_6, label, total, n)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_7, (64 * n, 128), (128, 1)),
        matrix(total, (64 * n, 65), (65, 1)),
        matrix(W_head, (65, 128), (1, 65)),
    )
    nudged_group_5[(cdiv(64 * n, 8),)](z, x, product_3, b2, product_5, product_7, next_z, scalars, n)


@jit
def tracking_group_1(
    z_plus,
    z_minus,
    h1,
    g1,
    h2,
    g2,
    z_half,
    total,
    image,
    n1,
    image_2,
    v_n1,
    n2,
    v_n2,
    n1_2,
    n2_2,
    n1_3,
    n2_3,
    samples,
):
    """z_half, total, image, n1, v_n1, n2, v_n2."""
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    z_plus_here = tl.load(z_plus + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    z_minus_here = tl.load(z_minus + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    z_middle = 0.5 * z_plus_here + 0.5 * z_minus_here
    z_half_here = 0.5 * z_plus_here - 0.5 * z_minus_here
    tl.store(z_half + 8192 * sample + 128 * i + r, z_half_here, mask=inside)
    # sum[d](z[t,d])
    total_2 = tl.sum(z_middle, 1, keep_dims=True)
    # z[t,d] - mean[e](z[t,e])
    total_here = z_middle + (-0.0078125 * total_2)
    tl.store(total + 8192 * sample + 128 * i + r, total_here, mask=inside)
    # sum[d]((z[t,d] - mean[e](z[t,e]))^2)
    total_3 = tl.sum(total_here * total_here, 1, keep_dims=True)
    # mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5
    total_4 = 0.0078125 * total_3 + 1e-05 * 1.0
    # 1 / sqrt(mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5)
    image_here = 1.0 / (tl.sqrt(total_4))
    tl.store(image + 64 * sample + i, image_here, mask=inside)
    # layernorm[d](z[t,d])
    total_5 = total_here * image_here
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    h1_here = tl.load(h1 + r)
    g1_here = tl.load(g1 + r)
    n1_here = h1_here + g1_here * total_5
    tl.store(n1 + 8192 * sample + 128 * i + r, n1_here, mask=inside)
    # sum[d](v_z[t,d])
    total_6 = tl.sum(z_half_here, 1, keep_dims=True)
    # v_z[t,d] - mean[e](v_z[t,e])
    total_7 = z_half_here + (-0.0078125 * total_6)
    # (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)
    total_8 = image_here * total_7
    # 1 / (mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5)^(3/2)
    image_here_2 = 1.0 / (total_4 * tl.sqrt(total_4))
    tl.store(image_2 + 64 * sample + i, image_here_2, mask=inside)
    # sum[d]((z[t,d] - mean[e](z[t,e])) * (v_z[t,d] - mean[e](v_z[t,e])))
    total_9 = tl.sum(total_here * total_7, 1, keep_dims=True)
    # (z[t,d] - mean[e](z[t,e])) * sum[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] - mean[d2](v_z[t,d2]))) /
    #   (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)
    total_10 = total_here * (image_here_2 * total_9)
    # v_n1[t,d] = g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) -
    #   g1[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] -
    #   mean[d2](v_z[t,d2]))) / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)
    v_n1_here = g1_here * total_8 - 0.0078125 * (g1_here * total_10)
    tl.store(v_n1 + 8192 * sample + 128 * i + r, v_n1_here, mask=inside)
    # n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
    h2_here = tl.load(h2 + r)
    g2_here = tl.load(g2 + r)
    n2_here = h2_here + g2_here * total_5
    tl.store(n2 + 8192 * sample + 128 * i + r, n2_here, mask=inside)
    # v_n2[t,d] = g2[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) -
    #   g2[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] -
    #   mean[d2](v_z[t,d2]))) / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)
    v_n2_here = g2_here * total_8 - 0.0078125 * (g2_here * total_10)
    tl.store(v_n2 + 8192 * sample + 128 * i + r, v_n2_here, mask=inside)
    # sum[d](z[t,d])
    total_11 = tl.sum(z_plus_here, 1, keep_dims=True)
    # z[t,d] - mean[e](z[t,e])
    total_12 = z_plus_here + (-0.0078125 * total_11)
    # sum[d]((z[t,d] - mean[e](z[t,e]))^2)
    total_13 = tl.sum(total_12 * total_12, 1, keep_dims=True)
    # layernorm[d](z[t,d])
    total_14 = total_12 * (1.0 / (tl.sqrt(0.0078125 * total_13 + 1e-05 * 1.0)))
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    n1_here_2 = h1_here + g1_here * total_14
    tl.store(n1_2 + 8192 * sample + 128 * i + r, n1_here_2, mask=inside)
    # n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
    n2_here_2 = h2_here + g2_here * total_14
    tl.store(n2_2 + 8192 * sample + 128 * i + r, n2_here_2, mask=inside)
    # sum[d](z[t,d])
    total_15 = tl.sum(z_minus_here, 1, keep_dims=True)
    # z[t,d] - mean[e](z[t,e])
    total_16 = z_minus_here + (-0.0078125 * total_15)
    # sum[d]((z[t,d] - mean[e](z[t,e]))^2)
    total_17 = tl.sum(total_16 * total_16, 1, keep_dims=True)
    # layernorm[d](z[t,d])
    total_18 = total_16 * (1.0 / (tl.sqrt(0.0078125 * total_17 + 1e-05 * 1.0)))
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    n1_here_3 = h1_here + g1_here * total_18
    tl.store(n1_3 + 8192 * sample + 128 * i + r, n1_here_3, mask=inside)
    # n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
    n2_here_3 = h2_here + g2_here * total_18
    tl.store(n2_3 + 8192 * sample + 128 * i + r, n2_here_3, mask=inside)


@jit
def tracking_group_2(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def tracking_group_3(p, product, v_p, samples):
    """v_p."""
    real = tl.float32 if v_p.dtype.element_ty == tl.bfloat16 else v_p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    # softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * (sum[a](sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_q[h,d,a] * (g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e]
    #   - mean[d2](z[t,d2]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2]))
    #   * (v_z[t,e] - mean[d2](v_z[t,d2]))) / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)))) +
    #   sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (g1[d] * (v_z[s,d]
    #   - mean[e](v_z[s,e])) / sqrt(mean[e]((z[s,e] - mean[d2](z[s,d2]))^2) + 1e-5) - g1[d] * (z[s,d] -
    #   mean[e](z[s,e])) * mean[e]((z[s,e] - mean[d2](z[s,d2])) * (v_z[s,e] - mean[d2](v_z[s,d2]))) /
    #   (mean[e]((z[s,e] - mean[d2](z[s,d2]))^2) + 1e-5)^(3/2)))))
    p_here = tl.load(p + 16384 * sample + 4096 * i + 64 * j + r, mask=inside, other=0.0).to(real)
    product_here = tl.load(product + 16384 * sample + 4096 * i + 64 * j + r, mask=inside, other=0.0).to(real)
    total = p_here * product_here
    # sum[s](softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * (sum[a](sum[d](W_k[h,d,a] * (h1[d]
    #   + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_q[h,d,a] * (g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) /
    #   sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e]
    #   - mean[d2](z[t,d2])) * (v_z[t,e] - mean[d2](v_z[t,d2]))) / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) +
    #   1e-5)^(3/2)))) + sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] *
    #   (g1[d] * (v_z[s,d] - mean[e](v_z[s,e])) / sqrt(mean[e]((z[s,e] - mean[d2](z[s,d2]))^2) + 1e-5) - g1[d] *
    #   (z[s,d] - mean[e](z[s,e])) * mean[e]((z[s,e] - mean[d2](z[s,d2])) * (v_z[s,e] - mean[d2](v_z[s,d2]))) /
    #   (mean[e]((z[s,e] - mean[d2](z[s,d2]))^2) + 1e-5)^(3/2))))))
    total_2 = tl.sum(total, 1, keep_dims=True)
    # v_p[h,t,s] = product1[h,t,s] / sqrt(A) - weights1[h,t,s] * sum[t2](product1[h,t,t2]) / sqrt(A), where part1[t]
    #   = mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5, part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]),
    #   weights1[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part2[s,d])) / sqrt(A)), part3[t,d] = g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(part1[t]) - g1[d] *
    #   (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] - mean[d2](v_z[t,d2]))) /
    #   part1[t]^(3/2), product1[h,t,s] = weights1[h,t,s] * (sum[a](sum[d](W_k[h,d,a] * part2[s,d]) *
    #   sum[d](W_q[h,d,a] * part3[t,d])) + sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part3[s,d])))
    v_p_here = 0.1767766952966369 * total - 0.1767766952966369 * (p_here * total_2)
    tl.store(v_p + 16384 * sample + 4096 * i + 64 * j + r, v_p_here, mask=inside)


@jit
def tracking_group_4(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 32)[None, :]
    # sum[s](weights1[h,t,s] * sum[d](W_v[h,d,a] * part3[s,d])) + sum[s](sum[d](W_v[h,d,a] * part2[s,d]) *
    #   (product1[h,t,s] / sqrt(A) - weights1[h,t,s] * sum[t2](product1[h,t,t2]) / sqrt(A))), where part1[t] =
    #   mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5, part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]),
    #   weights1[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part2[s,d])) / sqrt(A)), part3[t,d] = g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(part1[t]) - g1[d] *
    #   (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] - mean[d2](v_z[t,d2]))) /
    #   part1[t]^(3/2), product1[h,t,s] = weights1[h,t,s] * (sum[a](sum[d](W_k[h,d,a] * part2[s,d]) *
    #   sum[d](W_q[h,d,a] * part3[t,d])) + sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part3[s,d])))
    product_here = tl.load(product + 8192 * sample + 2048 * i + 32 * j + r, mask=inside, other=0.0).to(real)
    total_here = product_here
    tl.store(total + 8192 * sample + 2048 * i + 32 * j + r, total_here, mask=inside)


@jit
def tracking_group_5(b1, product, image, samples):
    """image."""
    real = b1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # gelu_tanh'(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e]))))
    b1_here = tl.load(b1 + r)
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_gelu_tanh_slope(b1_here + product_here)
    tl.store(image + 32768 * sample + 512 * i + r, image_here, mask=inside)


@jit
def tracking_group_6(image, product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # gelu_tanh'(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))) * sum[e](W1[e,f] * (g2[e] *
    #   (v_z[t,e] - mean[d](v_z[t,d])) / sqrt(mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5) - g2[e] * (z[t,e] -
    #   mean[d](z[t,d])) * mean[d]((z[t,d] - mean[d2](z[t,d2])) * (v_z[t,d] - mean[d2](v_z[t,d2]))) /
    #   (mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)))
    image_here = tl.load(image + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    total_here = image_here * product_here
    tl.store(total + 32768 * sample + 512 * i + r, total_here, mask=inside)


@jit
def tracking_group_7(product, image, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # sum[d](W2[f,d] * v_z[t,d]) * gelu_tanh'(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e]))))
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = tl.load(image + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    total_here = product_here * image_here
    tl.store(total + 32768 * sample + 512 * i + r, total_here, mask=inside)


@jit
def tracking_group_8(p, pull_p, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    # softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[a](sum[d](W_v[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_o[h,a,d] * v_z[t,d]))
    p_here = tl.load(p + 16384 * sample + 4096 * i + 64 * j + r, mask=inside, other=0.0).to(real)
    pull_p_here = tl.load(pull_p + 16384 * sample + 4096 * i + 64 * j + r, mask=inside, other=0.0).to(real)
    total_2 = p_here * pull_p_here
    # sum[s](softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[a](sum[d](W_v[h,d,a] * (h1[d]
    #   + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_o[h,a,d] * v_z[t,d])))
    total_3 = tl.sum(total_2, 1, keep_dims=True)
    # softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[a](sum[d](W_v[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_o[h,a,d] * v_z[t,d])) - softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) /
    #   sqrt(A)) * sum[t2](softmax[t2 | t2 <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    #   * sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t2,d])))) / sqrt(A)) * sum[a](sum[d](W_v[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[t2,d]))) * sum[d](W_o[h,a,d] * v_z[t,d])))
    total_here = total_2 - p_here * total_3
    tl.store(total + 16384 * sample + 4096 * i + 64 * j + r, total_here, mask=inside)


@jit
def tracking_group_9(product, total, pull_n2, pull_n1, total_2, total_3, samples):
    """pull_n1, total."""
    real = tl.float32 if total_3.dtype.element_ty == tl.bfloat16 else total_3.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    # pull_n1[t,d] = sum[h,a](W_k[h,d,a] * sum[s](sum[e](W_q[h,e,a] * part1[s,e]) * (product1[h,s,t] -
    #   weights1[h,s,t] * sum[t2](product1[h,s,t2])))) / sqrt(A) + sum[h,a](W_q[h,d,a] * sum[s](sum[e](W_k[h,e,a] *
    #   part1[s,e]) * (product1[h,t,s] - weights1[h,t,s] * sum[t2](product1[h,t,t2])))) / sqrt(A) +
    #   sum[h,a](W_v[h,d,a] * sum[s](weights1[h,s,t] * sum[e](W_o[h,a,e] * v_z[s,e]))), where part1[t,d] = h1[d] +
    #   g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * part1[t,d]) *
    #   sum[d](W_k[h,d,a] * part1[s,d])) / sqrt(A)), product1[h,t,s] = weights1[h,t,s] * sum[a](sum[d](W_v[h,d,a] *
    #   part1[s,d]) * sum[d](W_o[h,a,d] * v_z[t,d]))
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    pull_n1_here = product_here
    tl.store(pull_n1 + 8192 * sample + 128 * i + r, pull_n1_here, mask=inside)
    # (z[t,d] - mean[e](z[t,e])) * sum[f](W1[d,f] * sum[e](W2[f,e] * v_z[t,e]) * gelu_tanh'(b1[f] + sum[e](W1[e,f] *
    #   (h2[e] + g2[e] * layernorm[e](z[t,e])))))
    total_here = tl.load(total + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    pull_n2_here = tl.load(pull_n2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    total_here_2 = total_here * pull_n2_here
    tl.store(total_2 + 8192 * sample + 128 * i + r, total_here_2, mask=inside)
    # (z[t,d] - mean[e](z[t,e])) * (sum[h,a](W_k[h,d,a] * sum[s](sum[e](W_q[h,e,a] * part1[s,e]) * (product1[h,s,t]
    #   - weights1[h,s,t] * sum[t2](product1[h,s,t2])))) / sqrt(A) + sum[h,a](W_q[h,d,a] * sum[s](sum[e](W_k[h,e,a]
    #   * part1[s,e]) * (product1[h,t,s] - weights1[h,t,s] * sum[t2](product1[h,t,t2])))) / sqrt(A) +
    #   sum[h,a](W_v[h,d,a] * sum[s](weights1[h,s,t] * sum[e](W_o[h,a,e] * v_z[s,e])))), where part1[t,d] = h1[d] +
    #   g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * part1[t,d]) *
    #   sum[d](W_k[h,d,a] * part1[s,d])) / sqrt(A)), product1[h,t,s] = weights1[h,t,s] * sum[a](sum[d](W_v[h,d,a] *
    #   part1[s,d]) * sum[d](W_o[h,a,d] * v_z[t,d]))
    total_here_3 = total_here * pull_n1_here
    tl.store(total_3 + 8192 * sample + 128 * i + r, total_here_3, mask=inside)


@jit
def tracking_group_10(g2, image, pull_n2, g1, pull_n1, total, image_2, product, product_2, turn_z, samples):
    """turn_z."""
    real = g1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    # g2[d] * total1[t,d] / sqrt(part1[t]) + g1[d] * part3[t,d] / sqrt(part1[t]) - 1/D * (z[t,d] - mean[e](z[t,e]))
    #   * (sum[e](g2[e] * (z[t,e] - mean[d2](z[t,d2])) * total1[t,e]) + sum[e](g1[e] * (z[t,e] - mean[d2](z[t,d2]))
    #   * part3[t,e])) / part1[t]^(3/2), where part1[t] = mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5,
    #   product1[t,d] = layernorm[d](z[t,d]), total1[t,d] = sum[f](W1[d,f] * sum[e](W2[f,e] * v_z[t,e]) *
    #   gelu_tanh'(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * product1[t,e])))), total2[h,t,a] = sum[d](W_q[h,d,a] *
    #   (h1[d] + g1[d] * product1[t,d])), total3[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * product1[t,d])),
    #   product2[h,t,s] = softmax[s | s <= t](sum[a](total2[h,t,a] * total3[h,s,a]) / sqrt(A)) *
    #   sum[a](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * product1[s,d])) * sum[d](W_o[h,a,d] * v_z[t,d])), part2[h,t,s] =
    #   product2[h,t,s] - softmax[s | s <= t](sum[a](total2[h,t,a] * total3[h,s,a]) / sqrt(A)) *
    #   sum[t2](product2[h,t,t2]), part3[t,d] = sum[h,a](W_k[h,d,a] * sum[s](total2[h,s,a] * part2[h,s,t])) /
    #   sqrt(A) + sum[h,a](W_q[h,d,a] * sum[s](total3[h,s,a] * part2[h,t,s])) / sqrt(A) + sum[h,a](W_v[h,d,a] *
    #   sum[s](softmax[t | t <= s](sum[a2](total2[h,s,a2] * total3[h,t,a2]) / sqrt(A)) * sum[e](W_o[h,a,e] *
    #   v_z[s,e])))
    g2_here = tl.load(g2 + r)
    image_here = tl.load(image + 64 * sample + i, mask=inside, other=0.0).to(real)
    pull_n2_here = tl.load(pull_n2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    g1_here = tl.load(g1 + r)
    pull_n1_here = tl.load(pull_n1 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    total_here = tl.load(total + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    image_2_here = tl.load(image_2 + 64 * sample + i, mask=inside, other=0.0).to(real)
    product_here = tl.load(product + 64 * sample + i, mask=inside, other=0.0).to(real)
    total_2 = (
        g2_here * (image_here * pull_n2_here)
        + g1_here * (image_here * pull_n1_here)
        - 0.0078125 * (total_here * (image_2_here * product_here))
    )
    # sum[d](g2[d] * total1[t,d] / sqrt(part1[t]) + g1[d] * part3[t,d] / sqrt(part1[t]) - 1/D * (z[t,d] -
    #   mean[e](z[t,e])) * (sum[e](g2[e] * (z[t,e] - mean[d2](z[t,d2])) * total1[t,e]) + sum[e](g1[e] * (z[t,e] -
    #   mean[d2](z[t,d2])) * part3[t,e])) / part1[t]^(3/2)), where part1[t] = mean[d]((z[t,d] - mean[e](z[t,e]))^2)
    #   + 1e-5, product1[t,d] = layernorm[d](z[t,d]), total1[t,d] = sum[f](W1[d,f] * sum[e](W2[f,e] * v_z[t,e]) *
    #   gelu_tanh'(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * product1[t,e])))), total2[h,t,a] = sum[d](W_q[h,d,a] *
    #   (h1[d] + g1[d] * product1[t,d])), total3[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * product1[t,d])),
    #   product2[h,t,s] = softmax[s | s <= t](sum[a](total2[h,t,a] * total3[h,s,a]) / sqrt(A)) *
    #   sum[a](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * product1[s,d])) * sum[d](W_o[h,a,d] * v_z[t,d])), part2[h,t,s] =
    #   product2[h,t,s] - softmax[s | s <= t](sum[a](total2[h,t,a] * total3[h,s,a]) / sqrt(A)) *
    #   sum[t2](product2[h,t,t2]), part3[t,d] = sum[h,a](W_k[h,d,a] * sum[s](total2[h,s,a] * part2[h,s,t])) /
    #   sqrt(A) + sum[h,a](W_q[h,d,a] * sum[s](total3[h,s,a] * part2[h,t,s])) / sqrt(A) + sum[h,a](W_v[h,d,a] *
    #   sum[s](softmax[t | t <= s](sum[a2](total2[h,s,a2] * total3[h,t,a2]) / sqrt(A)) * sum[e](W_o[h,a,e] *
    #   v_z[s,e])))
    total_3 = tl.sum(total_2, 1, keep_dims=True)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    turn_z_here = product_2_here - (total_2 + (-0.0078125 * total_3))
    tl.store(turn_z + 8192 * sample + 128 * i + r, turn_z_here, mask=inside)


@jit
def tracking_group_11(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def tracking_group_12(b1, product, image, samples):
    """image."""
    real = b1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # gelu_tanh(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e]))))
    b1_here = tl.load(b1 + r)
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_gelu_tanh(b1_here + product_here)
    tl.store(image + 32768 * sample + 512 * i + r, image_here, mask=inside)


@jit
def tracking_group_13(product, label, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 4160 * sample + 65 * i + r, mask=inside & (r < 65), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 65), product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp(product_here - largest_2)
    whole = tl.sum(tl.where(inside & (r < 65), power, 0.0), 1, keep_dims=True)
    # softmax[w](sum[d](W_head[d,w] * z[t,d]))
    weights = power / whole
    # 1/T * softmax[w](sum[d](W_head[d,w] * z[t,d])) - 1/T * where(w == label[t], 1, 0)
    label_here = tl.load(label + 64 * sample + i, mask=inside, other=0)
    total_here = tl.where(r == label_here, tl.full((1, 1), -0.015625, real), 0.0) + 0.015625 * weights
    tl.store(total + 4160 * sample + 65 * i + r, total_here, mask=inside & (r < 65))


@jit
def tracking_group_14(z_plus, x, product, b2, product_2, product_3, turn_z, next_z_plus, scalars, samples):
    """next_z_plus."""
    real = next_z_plus.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    beta = tl.load(scalars)
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    z_plus_here = tl.load(z_plus + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    b2_here = tl.load(b2 + r)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    product_3_here = tl.load(product_3 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    turn_z_here = tl.load(turn_z + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_plus_here = (
        z_plus_here
        + step_z * (
            (
                (-z_plus_here - (z_plus_here - x_here)) + product_here + (b2_here + product_2_here)
            ) - beta * product_3_here - turn_z_here
        )
    )
    tl.store(next_z_plus + 8192 * sample + 128 * i + r, next_z_plus_here, mask=inside)


@jit
def tracking_group_15(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def tracking_group_16(b1, product, image, samples):
    """image."""
    real = b1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # gelu_tanh(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e]))))
    b1_here = tl.load(b1 + r)
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_gelu_tanh(b1_here + product_here)
    tl.store(image + 32768 * sample + 512 * i + r, image_here, mask=inside)


@jit
def tracking_group_17(product, label, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 4160 * sample + 65 * i + r, mask=inside & (r < 65), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 65), product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp(product_here - largest_2)
    whole = tl.sum(tl.where(inside & (r < 65), power, 0.0), 1, keep_dims=True)
    # softmax[w](sum[d](W_head[d,w] * z[t,d]))
    weights = power / whole
    # 1/T * softmax[w](sum[d](W_head[d,w] * z[t,d])) - 1/T * where(w == label[t], 1, 0)
    label_here = tl.load(label + 64 * sample + i, mask=inside, other=0)
    total_here = tl.where(r == label_here, tl.full((1, 1), -0.015625, real), 0.0) + 0.015625 * weights
    tl.store(total + 4160 * sample + 65 * i + r, total_here, mask=inside & (r < 65))


@jit
def tracking_group_18(z_minus, x, product, b2, product_2, product_3, turn_z, next_z_minus, scalars, samples):
    """next_z_minus."""
    real = next_z_minus.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    beta = tl.load(scalars)
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    z_minus_here = tl.load(z_minus + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    b2_here = tl.load(b2 + r)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    product_3_here = tl.load(product_3 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    turn_z_here = tl.load(turn_z + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_minus_here = (
        z_minus_here
        + step_z * (
            (
                (-z_minus_here - (z_minus_here - x_here)) + product_here + (b2_here + product_2_here)
            ) + beta * product_3_here + turn_z_here
        )
    )
    tl.store(next_z_minus + 8192 * sample + 128 * i + r, next_z_minus_here, mask=inside)


def tracking_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of two nudged phases that track the free one."""
    z_plus, z_minus = now
    next_z_plus, next_z_minus = then
    W_o, W_q, h1, g1, W_k, W_v, W2, b1, W1, h2, g2, x, b2, W_head, label = given
    n = len(z_plus)
    z_half = room(memory, n, 0, 8192)
    total = room(memory, n, 8192, 8192)
    image = room(memory, n, 16384, 64)
    n1 = room(memory, n, 16448, 8192)
    image_2 = room(memory, n, 24640, 64)
    v_n1 = room(memory, n, 24704, 8192)
    n2 = room(memory, n, 32896, 8192)
    v_n2 = room(memory, n, 41088, 8192)
    n1_2 = room(memory, n, 49280, 8192)
    n2_2 = room(memory, n, 57472, 8192)
    n1_3 = room(memory, n, 65664, 8192)
    n2_3 = room(memory, n, 73856, 8192)
    q = room(memory, n, 82048, 8192)
    k = room(memory, n, 90240, 8192)
    product = room(memory, n, 98432, 16384)
    p = room(memory, n, 114816, 16384)
    v_v = room(memory, n, 98432, 8192)
    product_2 = room(memory, n, 106624, 8192)
    v = room(memory, n, 98432, 8192)
    v_q = room(memory, n, 16448, 8192)
    product_3 = room(memory, n, 131200, 16384)
    v_k = room(memory, n, 16448, 8192)
    v_p = room(memory, n, 147584, 16384)
    total_2 = room(memory, n, 16448, 8192)
    product_4 = room(memory, n, 24704, 8192)
    product_5 = room(memory, n, 131200, 32768)
    image_3 = room(memory, n, 163968, 32768)
    product_6 = room(memory, n, 131200, 32768)
    total_3 = room(memory, n, 196736, 32768)
    product_7 = room(memory, n, 131200, 32768)
    total_4 = room(memory, n, 196736, 32768)
    pull_n2 = room(memory, n, 16448, 8192)
    product_8 = room(memory, n, 32896, 8192)
    pull_p = room(memory, n, 131200, 16384)
    total_5 = room(memory, n, 98432, 16384)
    product_9 = room(memory, n, 0, 8192)
    product_10 = room(memory, n, 41088, 8192)
    product_11 = room(memory, n, 0, 8192)
    pull_v = room(memory, n, 0, 8192)
    pull_n1 = room(memory, n, 0, 8192)
    total_6 = room(memory, n, 32896, 8192)
    total_7 = room(memory, n, 82048, 8192)
    product_12 = room(memory, n, 41088, 64)
    turn_z = room(memory, n, 32896, 8192)
    v_2 = room(memory, n, 0, 8192)
    q_2 = room(memory, n, 8192, 8192)
    k_2 = room(memory, n, 16384, 8192)
    product_13 = room(memory, n, 41088, 16384)
    p_2 = room(memory, n, 8192, 16384)
    product_14 = room(memory, n, 24576, 8192)
    product_15 = room(memory, n, 0, 8192)
    product_16 = room(memory, n, 82048, 32768)
    image_4 = room(memory, n, 114816, 32768)
    product_17 = room(memory, n, 8192, 8192)
    product_18 = room(memory, n, 16384, 4160)
    total_8 = room(memory, n, 20544, 4160)
    product_19 = room(memory, n, 24704, 8192)
    v_3 = room(memory, n, 0, 8192)
    q_3 = room(memory, n, 8192, 8192)
    k_3 = room(memory, n, 16384, 8192)
    product_20 = room(memory, n, 41088, 16384)
    p_3 = room(memory, n, 8192, 16384)
    product_21 = room(memory, n, 24576, 8192)
    product_22 = room(memory, n, 0, 8192)
    product_23 = room(memory, n, 41088, 32768)
    image_5 = room(memory, n, 73856, 32768)
    product_24 = room(memory, n, 8192, 8192)
    product_25 = room(memory, n, 16384, 4160)
    total_9 = room(memory, n, 20544, 4160)
    product_26 = room(memory, n, 24704, 8192)
    tracking_group_1[(cdiv(64 * n, 8),)](
        z_plus,
        z_minus,
        h1,
        g1,
        h2,
        g2,
        z_half,
        total,
        image,
        n1,
        image_2,
        v_n1,
        n2,
        v_n2,
        n1_2,
        n2_2,
        n1_3,
        n2_3,
        n,
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    tracking_group_2[(cdiv(256 * n, 16),)](product, p, n)
    # v_v[h,t,a] = sum[d](W_v[h,d,a] * (g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] -
    #   mean[d2](z[t,d2]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) *
    #   (v_z[t,e] - mean[d2](v_z[t,d2]))) / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)))
    put_einsum(
        matrix(v_v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(v_n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[s](softmax[s | s <= t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[d](W_v[h,d,a] * (g1[d] *
    #   (v_z[s,d] - mean[e](v_z[s,e])) / sqrt(mean[e]((z[s,e] - mean[d2](z[s,d2]))^2) + 1e-5) - g1[d] * (z[s,d] -
    #   mean[e](z[s,e])) * mean[e]((z[s,e] - mean[d2](z[s,d2])) * (v_z[s,e] - mean[d2](v_z[s,d2]))) /
    #   (mean[e]((z[s,e] - mean[d2](z[s,d2]))^2) + 1e-5)^(3/2))))
    put_product(
        matrix(product_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v_v, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # v_q[h,t,a] = sum[d](W_q[h,d,a] * (g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] -
    #   mean[d2](z[t,d2]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) *
    #   (v_z[t,e] - mean[d2](v_z[t,d2]))) / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)))
    put_einsum(
        matrix(v_q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(v_n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_q[h,d,a] * (g1[d] * (v_z[t,d] -
    #   mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) - g1[d] * (z[t,d] -
    #   mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] - mean[d2](v_z[t,d2]))) /
    #   (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2))))
    put_product(
        matrix(product_3, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v_q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    # v_k[h,t,a] = sum[d](W_k[h,d,a] * (g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] -
    #   mean[d2](z[t,d2]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) *
    #   (v_z[t,e] - mean[d2](v_z[t,d2]))) / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)))
    put_einsum(
        matrix(v_k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(v_n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (g1[d] * (v_z[s,d] -
    #   mean[e](v_z[s,e])) / sqrt(mean[e]((z[s,e] - mean[d2](z[s,d2]))^2) + 1e-5) - g1[d] * (z[s,d] -
    #   mean[e](z[s,e])) * mean[e]((z[s,e] - mean[d2](z[s,d2])) * (v_z[s,e] - mean[d2](v_z[s,d2]))) /
    #   (mean[e]((z[s,e] - mean[d2](z[s,d2]))^2) + 1e-5)^(3/2))))
    put_product(
        matrix(product_3, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(v_k, (4 * n, 32, 64), (2048, 1, 32)),
        adds=True,
    )
    tracking_group_3[(cdiv(256 * n, 16),)](p, product_3, v_p, n)
    # sum[s](sum[d](W_v[h,d,a] * part2[s,d]) * (product1[h,t,s] / sqrt(A) - weights1[h,t,s] *
    #   sum[t2](product1[h,t,t2]) / sqrt(A))), where part1[t] = mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5,
    #   part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s <=
    #   t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] * part2[s,d])) / sqrt(A)), part3[t,d] = g1[d]
    #   * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(part1[t]) - g1[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] -
    #   mean[d2](z[t,d2])) * (v_z[t,e] - mean[d2](v_z[t,d2]))) / part1[t]^(3/2), product1[h,t,s] = weights1[h,t,s] *
    #   (sum[a](sum[d](W_k[h,d,a] * part2[s,d]) * sum[d](W_q[h,d,a] * part3[t,d])) + sum[a](sum[d](W_q[h,d,a] *
    #   part2[t,d]) * sum[d](W_k[h,d,a] * part3[s,d])))
    put_product(
        matrix(product_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(v_p, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v, (4 * n, 64, 32), (2048, 32, 1)),
        adds=True,
    )
    tracking_group_4[(cdiv(256 * n, 32),)](product_2, total_2, n)
    # sum[h,a](W_o[h,a,d] * (sum[s](weights1[h,t,s] * sum[e](W_v[h,e,a] * part3[s,e])) + sum[s](sum[e](W_v[h,e,a] *
    #   part2[s,e]) * (product1[h,t,s] / sqrt(A) - weights1[h,t,s] * sum[t2](product1[h,t,t2]) / sqrt(A))))), where
    #   part1[t] = mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5, part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]),
    #   weights1[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part2[s,d])) / sqrt(A)), part3[t,d] = g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(part1[t]) - g1[d] *
    #   (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] - mean[d2](v_z[t,d2]))) /
    #   part1[t]^(3/2), product1[h,t,s] = weights1[h,t,s] * (sum[a](sum[d](W_k[h,d,a] * part2[s,d]) *
    #   sum[d](W_q[h,d,a] * part3[t,d])) + sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part3[s,d])))
    put_einsum(
        matrix(product_4, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(total_2, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))
    put_product(
        matrix(product_5, (64 * n, 512), (512, 1)),
        matrix(n2, (64 * n, 128), (128, 1)),
        matrix(W1, (128, 512), (512, 1)),
    )
    tracking_group_5[(cdiv(64 * n, 2),)](b1, product_5, image_3, n)
    # sum[e](W1[e,f] * (g2[e] * (v_z[t,e] - mean[d](v_z[t,d])) / sqrt(mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) +
    #   1e-5) - g2[e] * (z[t,e] - mean[d](z[t,d])) * mean[d]((z[t,d] - mean[d2](z[t,d2])) * (v_z[t,d] -
    #   mean[d2](v_z[t,d2]))) / (mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)))
    put_product(
        matrix(product_6, (64 * n, 512), (512, 1)),
        matrix(v_n2, (64 * n, 128), (128, 1)),
        matrix(W1, (128, 512), (512, 1)),
    )
    tracking_group_6[(cdiv(64 * n, 2),)](image_3, product_6, total_3, n)
    # sum[f](W2[f,d] * gelu_tanh'(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))) * sum[e](W1[e,f]
    #   * (g2[e] * (v_z[t,e] - mean[d2](v_z[t,d2])) / sqrt(mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) + 1e-5) - g2[e]
    #   * (z[t,e] - mean[d2](z[t,d2])) * mean[d2]((z[t,d2] - mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3])))
    #   / (mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) + 1e-5)^(3/2))))
    put_product(
        matrix(product_4, (64 * n, 128), (128, 1)),
        matrix(total_3, (64 * n, 512), (512, 1)),
        matrix(W2, (512, 128), (128, 1)),
        adds=True,
    )
    # sum[d](W2[f,d] * v_z[t,d])
    put_product(
        matrix(product_7, (64 * n, 512), (512, 1)),
        matrix(z_half, (64 * n, 128), (128, 1)),
        matrix(W2, (128, 512), (1, 128)),
    )
    tracking_group_7[(cdiv(64 * n, 2),)](product_7, image_3, total_4, n)
    # pull_n2[t,d] = sum[f](W1[d,f] * sum[e](W2[f,e] * v_z[t,e]) * gelu_tanh'(b1[f] + sum[e](W1[e,f] * (h2[e] +
    #   g2[e] * layernorm[e](z[t,e])))))
    put_product(
        matrix(pull_n2, (64 * n, 128), (128, 1)),
        matrix(total_4, (64 * n, 512), (512, 1)),
        matrix(W1, (512, 128), (1, 512)),
    )
    # sum[d](W_o[h,a,d] * v_z[t,d])
    put_product(
        matrix(product_8, (64 * n, 128), (128, 1)),
        matrix(z_half, (64 * n, 128), (128, 1)),
        matrix(W_o, (128, 128), (1, 128)),
    )
    # pull_p[h,t,s] = sum[a](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_o[h,a,d] *
    #   v_z[t,d]))
    put_einsum(
        matrix(pull_p, (n, 4, 64, 64), (16384, 4096, 64, 1)),
        "abce,abde->abcd",
        matrix(product_8, (n, 4, 64, 32), (8192, 32, 128, 1)),
        matrix(v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
    )
    tracking_group_8[(cdiv(256 * n, 16),)](p, pull_p, total_5, n)
    # sum[s](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * (softmax[t | t <=
    #   s](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[t,d])))) / sqrt(A)) * sum[a2](sum[d](W_v[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[t,d]))) * sum[d](W_o[h,a2,d] * v_z[s,d])) - softmax[t | t <= s](sum[a2](sum[d](W_q[h,d,a2] *
    #   (h1[d] + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d])))) /
    #   sqrt(A)) * sum[t2](softmax[t2 | t2 <= s](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t2,d])))) / sqrt(A)) *
    #   sum[a2](sum[d](W_v[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t2,d]))) * sum[d](W_o[h,a2,d] * v_z[s,d])))))
    put_product(
        matrix(product_9, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(total_5, (4 * n, 64, 64), (4096, 1, 64)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_k[h,d,a] * sum[s](sum[e](W_q[h,e,a] * (h1[e] + g1[e] * layernorm[e](z[s,e]))) * (softmax[t | t <=
    #   s](sum[a2](sum[e](W_q[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[s,e]))) * sum[e](W_k[h,e,a2] * (h1[e] +
    #   g1[e] * layernorm[e](z[t,e])))) / sqrt(A)) * sum[a2](sum[e](W_v[h,e,a2] * (h1[e] + g1[e] *
    #   layernorm[e](z[t,e]))) * sum[e](W_o[h,a2,e] * v_z[s,e])) - softmax[t | t <= s](sum[a2](sum[e](W_q[h,e,a2] *
    #   (h1[e] + g1[e] * layernorm[e](z[s,e]))) * sum[e](W_k[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t,e])))) /
    #   sqrt(A)) * sum[t2](softmax[t2 | t2 <= s](sum[a2](sum[e](W_q[h,e,a2] * (h1[e] + g1[e] *
    #   layernorm[e](z[s,e]))) * sum[e](W_k[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t2,e])))) / sqrt(A)) *
    #   sum[a2](sum[e](W_v[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t2,e]))) * sum[e](W_o[h,a2,e] * v_z[s,e]))))))
    put_einsum(
        matrix(product_10, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_9, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_k, (128, 4, 32), (32, 4096, 1)),
        factor=0.1767766952966369,
    )
    # sum[s](sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * (softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[a2](sum[d](W_v[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_o[h,a2,d] * v_z[t,d])) - softmax[s | s <= t](sum[a2](sum[d](W_q[h,d,a2] *
    #   (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) /
    #   sqrt(A)) * sum[t2](softmax[t2 | t2 <= t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t2,d])))) / sqrt(A)) *
    #   sum[a2](sum[d](W_v[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t2,d]))) * sum[d](W_o[h,a2,d] * v_z[t,d])))))
    put_product(
        matrix(product_11, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(total_5, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(k, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_q[h,d,a] * sum[s](sum[e](W_k[h,e,a] * (h1[e] + g1[e] * layernorm[e](z[s,e]))) * (softmax[s | s <=
    #   t](sum[a2](sum[e](W_q[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t,e]))) * sum[e](W_k[h,e,a2] * (h1[e] +
    #   g1[e] * layernorm[e](z[s,e])))) / sqrt(A)) * sum[a2](sum[e](W_v[h,e,a2] * (h1[e] + g1[e] *
    #   layernorm[e](z[s,e]))) * sum[e](W_o[h,a2,e] * v_z[t,e])) - softmax[s | s <= t](sum[a2](sum[e](W_q[h,e,a2] *
    #   (h1[e] + g1[e] * layernorm[e](z[t,e]))) * sum[e](W_k[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[s,e])))) /
    #   sqrt(A)) * sum[t2](softmax[t2 | t2 <= t](sum[a2](sum[e](W_q[h,e,a2] * (h1[e] + g1[e] *
    #   layernorm[e](z[t,e]))) * sum[e](W_k[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t2,e])))) / sqrt(A)) *
    #   sum[a2](sum[e](W_v[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t2,e]))) * sum[e](W_o[h,a2,e] * v_z[t,e]))))))
    put_einsum(
        matrix(product_10, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_11, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_q, (128, 4, 32), (32, 4096, 1)),
        adds=True,
        factor=0.1767766952966369,
    )
    # pull_v[h,t,a] = sum[s](softmax[t | t <= s](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d])))) / sqrt(A)) *
    #   sum[d](W_o[h,a,d] * v_z[s,d]))
    put_einsum(
        matrix(pull_v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "abce,abde->abcd",
        matrix(p, (n, 4, 64, 64), (16384, 4096, 1, 64)),
        matrix(product_8, (n, 4, 32, 64), (8192, 32, 1, 128)),
    )
    # sum[h,a](W_v[h,d,a] * sum[s](softmax[t | t <= s](sum[a2](sum[e](W_q[h,e,a2] * (h1[e] + g1[e] *
    #   layernorm[e](z[s,e]))) * sum[e](W_k[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t,e])))) / sqrt(A)) *
    #   sum[e](W_o[h,a,e] * v_z[s,e])))
    put_einsum(
        matrix(product_10, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(pull_v, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_v, (128, 4, 32), (32, 4096, 1)),
        adds=True,
    )
    tracking_group_9[(cdiv(64 * n, 8),)](product_10, total, pull_n2, pull_n1, total_6, total_7, n)
    # sum[d](g2[d] * (z[t,d] - mean[e](z[t,e])) * sum[f](W1[d,f] * sum[e](W2[f,e] * v_z[t,e]) * gelu_tanh'(b1[f] +
    #   sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e]))))))
    put_product(
        matrix(product_12, (1, 64 * n), (1, 1)),
        matrix(g2, (1, 128), (1, 1)),
        matrix(total_6, (128, 64 * n), (1, 128)),
    )
    # sum[d](g1[d] * (z[t,d] - mean[e](z[t,e])) * (sum[h,a](W_k[h,d,a] * sum[s](sum[e](W_q[h,e,a] * part1[s,e]) *
    #   (product1[h,s,t] - weights1[h,s,t] * sum[t2](product1[h,s,t2])))) / sqrt(A) + sum[h,a](W_q[h,d,a] *
    #   sum[s](sum[e](W_k[h,e,a] * part1[s,e]) * (product1[h,t,s] - weights1[h,t,s] * sum[t2](product1[h,t,t2])))) /
    #   sqrt(A) + sum[h,a](W_v[h,d,a] * sum[s](weights1[h,s,t] * sum[e](W_o[h,a,e] * v_z[s,e]))))), where part1[t,d]
    #   = h1[d] + g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] *
    #   part1[t,d]) * sum[d](W_k[h,d,a] * part1[s,d])) / sqrt(A)), product1[h,t,s] = weights1[h,t,s] *
    #   sum[a](sum[d](W_v[h,d,a] * part1[s,d]) * sum[d](W_o[h,a,d] * v_z[t,d]))
    put_product(
        matrix(product_12, (1, 64 * n), (1, 1)),
        matrix(g1, (1, 128), (1, 1)),
        matrix(total_7, (128, 64 * n), (1, 128)),
        adds=True,
    )
    tracking_group_10[(cdiv(64 * n, 8),)](
        g2,
        image,
        pull_n2,
        g1,
        pull_n1,
        total,
        image_2,
        product_12,
        product_4,
        turn_z,
        n,
    )
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v_2, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_2, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q_2, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_2, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k_2, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_2, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product_13, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k_2, (4 * n, 32, 64), (2048, 1, 32)),
    )
    tracking_group_11[(cdiv(256 * n, 16),)](product_13, p_2, n)
    # sum[s](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)))
    put_product(
        matrix(product_14, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p_2, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v_2, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_o[h,a,d] * sum[s](sum[e](W_v[h,e,a] * (h1[e] + g1[e] * layernorm[e](z[s,e]))) * softmax[s | s <=
    #   t](sum[a2](sum[e](W_q[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t,e]))) * sum[e](W_k[h,e,a2] * (h1[e] +
    #   g1[e] * layernorm[e](z[s,e])))) / sqrt(A))))
    put_einsum(
        matrix(product_15, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_14, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))
    put_product(
        matrix(product_16, (64 * n, 512), (512, 1)),
        matrix(n2_2, (64 * n, 128), (128, 1)),
        matrix(W1, (128, 512), (512, 1)),
    )
    tracking_group_12[(cdiv(64 * n, 2),)](b1, product_16, image_4, n)
    # sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))))
    put_product(
        matrix(product_17, (64 * n, 128), (128, 1)),
        matrix(image_4, (64 * n, 512), (512, 1)),
        matrix(W2, (512, 128), (128, 1)),
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_18, (64 * n, 65), (65, 1)),
        matrix(z_plus, (64 * n, 128), (128, 1)),
        matrix(W_head, (128, 65), (65, 1)),
    )
    tracking_group_13[(cdiv(64 * n, 8),)](product_18, label, total_8, n)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_19, (64 * n, 128), (128, 1)),
        matrix(total_8, (64 * n, 65), (65, 1)),
        matrix(W_head, (65, 128), (1, 65)),
    )
    tracking_group_14[(cdiv(64 * n, 8),)](
        z_plus,
        x,
        product_15,
        b2,
        product_17,
        product_19,
        turn_z,
        next_z_plus,
        scalars,
        n,
    )
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v_3, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_3, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q_3, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_3, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k_3, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_3, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product_20, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q_3, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k_3, (4 * n, 32, 64), (2048, 1, 32)),
    )
    tracking_group_15[(cdiv(256 * n, 16),)](product_20, p_3, n)
    # sum[s](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)))
    put_product(
        matrix(product_21, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p_3, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v_3, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_o[h,a,d] * sum[s](sum[e](W_v[h,e,a] * (h1[e] + g1[e] * layernorm[e](z[s,e]))) * softmax[s | s <=
    #   t](sum[a2](sum[e](W_q[h,e,a2] * (h1[e] + g1[e] * layernorm[e](z[t,e]))) * sum[e](W_k[h,e,a2] * (h1[e] +
    #   g1[e] * layernorm[e](z[s,e])))) / sqrt(A))))
    put_einsum(
        matrix(product_22, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_21, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))
    put_product(
        matrix(product_23, (64 * n, 512), (512, 1)),
        matrix(n2_3, (64 * n, 128), (128, 1)),
        matrix(W1, (128, 512), (512, 1)),
    )
    tracking_group_16[(cdiv(64 * n, 2),)](b1, product_23, image_5, n)
    # sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * (h2[e] + g2[e] * layernorm[e](z[t,e])))))
    put_product(
        matrix(product_24, (64 * n, 128), (128, 1)),
        matrix(image_5, (64 * n, 512), (512, 1)),
        matrix(W2, (512, 128), (128, 1)),
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_25, (64 * n, 65), (65, 1)),
        matrix(z_minus, (64 * n, 128), (128, 1)),
        matrix(W_head, (128, 65), (65, 1)),
    )
    tracking_group_17[(cdiv(64 * n, 8),)](product_25, label, total_9, n)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_26, (64 * n, 128), (128, 1)),
        matrix(total_9, (64 * n, 65), (65, 1)),
        matrix(W_head, (65, 128), (1, 65)),
    )
    tracking_group_18[(cdiv(64 * n, 8),)](
        z_minus,
        x,
        product_22,
        b2,
        product_24,
        product_26,
        turn_z,
        next_z_minus,
        scalars,
        n,
    )


# in ThickEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [
                fixed.x,
                self.W_o,
                self.W_v,
                self.h1,
                self.g1,
                self.W_q,
                self.W_k,
                self.b2,
                self.W2,
                self.b1,
                self.W1,
                self.h2,
                self.g2,
            ]
        if name == "nudged":
            return [
                fixed.x,
                self.W_o,
                self.W_v,
                self.h1,
                self.g1,
                self.W_q,
                self.W_k,
                self.b2,
                self.W2,
                self.b1,
                self.W1,
                self.h2,
                self.g2,
                self.W_head,
                targets[0],
            ]
        if name == "tracking":
            return [
                self.W_o,
                self.W_q,
                self.h1,
                self.g1,
                self.W_k,
                self.W_v,
                self.W2,
                self.b1,
                self.W1,
                self.h2,
                self.g2,
                fixed.x,
                self.b2,
                self.W_head,
                targets[0],
            ]
        raise KeyError(name)


# in Thick
    """The network: its equations, relaxed by kernels and learned."""


# in Thick
    learning_rules = (tracking_aep, implicit,)


# in Thick
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 90112, matrices={1, 2, 5, 6, 8, 10}),
            "nudged": PhaseStep(nudged_step, 90112, matrices={1, 2, 5, 6, 8, 10, 13}),
            "tracking": PhaseStep(tracking_step, 229504, matrices={0, 1, 4, 5, 6, 8, 13}),
        }
    )
