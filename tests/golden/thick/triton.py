@jit
def n1_n2_kernel(
    z_ptr, h1_ptr, g1_ptr, h2_ptr, g2_ptr, n1_ptr, n2_ptr, samples, n_T: tl.constexpr, n_D: tl.constexpr
):
    """n1, n2."""
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    r = tl.arange(0, 128)[None, :]
    # sum[d](z[t,d])
    z_ = tl.load(z_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    total_ = tl.sum(z_, 1, keep_dims=True)
    # z[t,d] - mean[e](z[t,e])
    total_2_ = z_ - 1 / n_D * total_
    # sum[d]((z[t,d] - mean[e](z[t,e]))^2)
    total_3_ = tl.sum(total_2_ * total_2_, 1, keep_dims=True)
    # layernorm[d](z[t,d])
    total_4_ = total_2_ * (1.0 / tl.sqrt(1 / n_D * total_3_ + 1e-05))
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    h1_ = tl.load(h1_ptr + r)
    g1_ = tl.load(g1_ptr + r)
    n1_ = h1_ + g1_ * total_4_
    tl.store(n1_ptr + (sample * n_T + i) * n_D + r, n1_, mask=inside)
    # n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
    h2_ = tl.load(h2_ptr + r)
    g2_ = tl.load(g2_ptr + r)
    n2_ = h2_ + g2_ * total_4_
    tl.store(n2_ptr + (sample * n_T + i) * n_D + r, n2_, mask=inside)


@jit
def product_kernel(
    q_ptr,
    product_ptr,
    k_ptr,
    v_ptr,
    n_T: tl.constexpr,
    n_H: tl.constexpr,
    n_A: tl.constexpr,
    scale_: tl.constexpr,
    precision: tl.constexpr,
):
    """product."""
    real = tl.float32 if v_ptr.dtype.element_ty == tl.bfloat16 else v_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    sample = matrix // n_H
    i = matrix % n_H
    j = place
    r = tl.arange(0, 64)[None, :]
    # sum[a](q[h,t,a] * k[h,s,a])
    product_ = tl.full((32, 64), 0.0, real)
    for start in range(0, n_A, 16):
        t = start + tl.arange(0, 16)
        q_ = tl.load(q_ptr + ((sample * n_H + i) * n_T + j) * n_A + t[None, :])
        k_ = tl.load(k_ptr + (sample * n_H + i) * n_T * n_A + t[:, None] + n_A * r)
        product_ = block_dot(q_, k_, product_, precision)
    largest_ = tl.max(tl.where(r <= j, scale_ * product_, float("-inf")), 1, keep_dims=True)
    power_ = tl.where(r <= j, tl.exp(scale_ * product_ - largest_), 0.0)
    whole_ = tl.sum(power_, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](q[h,t,a] * k[h,s,a]) / sqrt(A))
    p_ = tl.where(whole_ == 0.0, 0.0, power_ / whole_)
    r_2 = tl.arange(0, 32)[None, :]
    # sum[s](v[h,s,a] * p[h,t,s])
    t_2 = tl.arange(0, 64)
    v_ = tl.load(v_ptr + ((sample * n_H + i) * n_T + t_2[:, None]) * n_A + r_2)
    product_2_ = block_dot(p_, v_, tl.full((32, 32), 0.0, real), precision)
    tl.store(product_ptr + ((sample * n_H + i) * n_T + j) * n_A + r_2, product_2_)


@jit
def image_kernel(b1_ptr, product_ptr, image_ptr, samples, n_T: tl.constexpr, n_F: tl.constexpr):
    """image."""
    real = b1_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    r = tl.arange(0, 512)[None, :]
    # gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e]))
    b1_ = tl.load(b1_ptr + r)
    product_ = tl.load(product_ptr + (sample * n_T + i) * n_F + r, mask=inside, other=0.0).to(real)
    image_ = block_gelu_tanh(b1_ + product_)
    tl.store(image_ptr + (sample * n_T + i) * n_F + r, image_, mask=inside)


@jit
def next_z_kernel(
    z_ptr,
    x_ptr,
    product_ptr,
    b2_ptr,
    product_2_ptr,
    next_z_ptr,
    scalars,
    samples,
    n_T: tl.constexpr,
    n_D: tl.constexpr,
):
    """next_z."""
    real = next_z_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    step_z_ = tl.load(scalars)
    r = tl.arange(0, 128)[None, :]
    z_ = tl.load(z_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    x_ = tl.load(x_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    b2_ = tl.load(b2_ptr + r)
    product_2_ = tl.load(product_2_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    next_z_ = z_ + step_z_ * (-z_ - (z_ - x_) + product_ + (b2_ + product_2_))
    tl.store(next_z_ptr + (sample * n_T + i) * n_D + r, next_z_, mask=inside)


@jit
def total_kernel(product_ptr, label_ptr, total_ptr, samples, n_T: tl.constexpr, n_V: tl.constexpr):
    """total."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    r = tl.arange(0, 128)[None, :]
    product_ = tl.load(product_ptr + (sample * n_T + i) * n_V + r, mask=inside & (r < n_V), other=0.0).to(real)
    largest_ = tl.max(tl.where(inside & (r < n_V), product_, float("-inf")), 1, keep_dims=True)
    power_ = tl.exp(product_ - largest_)
    whole_ = tl.sum(tl.where(inside & (r < n_V), power_, 0.0), 1, keep_dims=True)
    # softmax[w](sum[d](W_head[d,w] * z[t,d]))
    weights_ = power_ / whole_
    # 1/T * softmax[w](sum[d](W_head[d,w] * z[t,d])) - 1/T * where(w == label[t], 1, 0)
    label_ = tl.load(label_ptr + sample * n_T + i, mask=inside, other=0)
    total_ = tl.where(r == label_, tl.full((1, 1), -1 / n_T, real), 0.0) + 1 / n_T * weights_
    tl.store(total_ptr + (sample * n_T + i) * n_V + r, total_, mask=inside & (r < n_V))


@jit
def next_z_2_kernel(
    z_ptr,
    x_ptr,
    product_ptr,
    b2_ptr,
    product_2_ptr,
    product_3_ptr,
    next_z_ptr,
    scalars,
    samples,
    n_T: tl.constexpr,
    n_D: tl.constexpr,
):
    """next_z."""
    real = next_z_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    beta_ = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_z_ = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    z_ = tl.load(z_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    x_ = tl.load(x_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    b2_ = tl.load(b2_ptr + r)
    product_2_ = tl.load(product_2_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    product_3_ = tl.load(product_3_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    next_z_ = z_ + step_z_ * (-z_ - (z_ - x_) + product_ + (b2_ + product_2_) - beta_ * product_3_)
    tl.store(next_z_ptr + (sample * n_T + i) * n_D + r, next_z_, mask=inside)


@jit
def z_half_total_kernel(
    z_plus_ptr,
    z_minus_ptr,
    h1_ptr,
    g1_ptr,
    h2_ptr,
    g2_ptr,
    z_half_ptr,
    total_ptr,
    image_ptr,
    n1_ptr,
    image_2_ptr,
    v_n1_ptr,
    n2_ptr,
    v_n2_ptr,
    n1_2_ptr,
    n2_2_ptr,
    n1_3_ptr,
    n2_3_ptr,
    samples,
    n_T: tl.constexpr,
    n_D: tl.constexpr,
):
    """z_half, total, image, n1, v_n1, n2, v_n2."""
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    r = tl.arange(0, 128)[None, :]
    z_plus_ = tl.load(z_plus_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    z_minus_ = tl.load(z_minus_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    z_middle_ = 0.5 * z_plus_ + 0.5 * z_minus_
    z_half_ = 0.5 * z_plus_ - 0.5 * z_minus_
    tl.store(z_half_ptr + (sample * n_T + i) * n_D + r, z_half_, mask=inside)
    # sum[d](z[t,d])
    total_ = tl.sum(z_middle_, 1, keep_dims=True)
    # z[t,d] - mean[e](z[t,e])
    total_2_ = z_middle_ - 1 / n_D * total_
    tl.store(total_ptr + (sample * n_T + i) * n_D + r, total_2_, mask=inside)
    # sum[d]((z[t,d] - mean[e](z[t,e]))^2)
    total_3_ = tl.sum(total_2_ * total_2_, 1, keep_dims=True)
    # mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5
    total_4_ = 1 / n_D * total_3_ + 1e-05
    # 1 / sqrt(mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5)
    image_ = 1.0 / tl.sqrt(total_4_)
    tl.store(image_ptr + sample * n_T + i, image_, mask=inside)
    # layernorm[d](z[t,d])
    total_5_ = total_2_ * image_
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    h1_ = tl.load(h1_ptr + r)
    g1_ = tl.load(g1_ptr + r)
    n1_ = h1_ + g1_ * total_5_
    tl.store(n1_ptr + (sample * n_T + i) * n_D + r, n1_, mask=inside)
    # sum[d](v_z[t,d])
    total_6_ = tl.sum(z_half_, 1, keep_dims=True)
    # v_z[t,d] - mean[e](v_z[t,e])
    total_7_ = z_half_ - 1 / n_D * total_6_
    # (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)
    total_8_ = image_ * total_7_
    # 1 / (mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5)^(3/2)
    image_2_ = 1.0 / (total_4_ * tl.sqrt(total_4_))
    tl.store(image_2_ptr + sample * n_T + i, image_2_, mask=inside)
    # sum[d]((z[t,d] - mean[e](z[t,e])) * (v_z[t,d] - mean[e](v_z[t,e])))
    total_9_ = tl.sum(total_2_ * total_7_, 1, keep_dims=True)
    # (z[t,d] - mean[e](z[t,e])) * sum[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] - mean[d2](v_z[t,d2]))) /
    #   (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)
    total_10_ = total_2_ * (image_2_ * total_9_)
    # v_n1[t,d] = g1[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) -
    #   g1[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] -
    #   mean[d2](v_z[t,d2]))) / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)
    v_n1_ = g1_ * total_8_ - 1 / n_D * (g1_ * total_10_)
    tl.store(v_n1_ptr + (sample * n_T + i) * n_D + r, v_n1_, mask=inside)
    # n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
    h2_ = tl.load(h2_ptr + r)
    g2_ = tl.load(g2_ptr + r)
    n2_ = h2_ + g2_ * total_5_
    tl.store(n2_ptr + (sample * n_T + i) * n_D + r, n2_, mask=inside)
    # v_n2[t,d] = g2[d] * (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) -
    #   g2[d] * (z[t,d] - mean[e](z[t,e])) * mean[e]((z[t,e] - mean[d2](z[t,d2])) * (v_z[t,e] -
    #   mean[d2](v_z[t,d2]))) / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)
    v_n2_ = g2_ * total_8_ - 1 / n_D * (g2_ * total_10_)
    tl.store(v_n2_ptr + (sample * n_T + i) * n_D + r, v_n2_, mask=inside)
    # sum[d](z[t,d])
    total_11_ = tl.sum(z_plus_, 1, keep_dims=True)
    # z[t,d] - mean[e](z[t,e])
    total_12_ = z_plus_ - 1 / n_D * total_11_
    # sum[d]((z[t,d] - mean[e](z[t,e]))^2)
    total_13_ = tl.sum(total_12_ * total_12_, 1, keep_dims=True)
    # layernorm[d](z[t,d])
    total_14_ = total_12_ * (1.0 / tl.sqrt(1 / n_D * total_13_ + 1e-05))
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    n1_2_ = h1_ + g1_ * total_14_
    tl.store(n1_2_ptr + (sample * n_T + i) * n_D + r, n1_2_, mask=inside)
    # n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
    n2_2_ = h2_ + g2_ * total_14_
    tl.store(n2_2_ptr + (sample * n_T + i) * n_D + r, n2_2_, mask=inside)
    # sum[d](z[t,d])
    total_15_ = tl.sum(z_minus_, 1, keep_dims=True)
    # z[t,d] - mean[e](z[t,e])
    total_16_ = z_minus_ - 1 / n_D * total_15_
    # sum[d]((z[t,d] - mean[e](z[t,e]))^2)
    total_17_ = tl.sum(total_16_ * total_16_, 1, keep_dims=True)
    # layernorm[d](z[t,d])
    total_18_ = total_16_ * (1.0 / tl.sqrt(1 / n_D * total_17_ + 1e-05))
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    n1_3_ = h1_ + g1_ * total_18_
    tl.store(n1_3_ptr + (sample * n_T + i) * n_D + r, n1_3_, mask=inside)
    # n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
    n2_3_ = h2_ + g2_ * total_18_
    tl.store(n2_3_ptr + (sample * n_T + i) * n_D + r, n2_3_, mask=inside)


@jit
def p_kernel(
    q_ptr,
    k_ptr,
    p_ptr,
    n_T: tl.constexpr,
    n_H: tl.constexpr,
    n_A: tl.constexpr,
    scale_: tl.constexpr,
    precision: tl.constexpr,
):
    """p."""
    real = tl.float32 if p_ptr.dtype.element_ty == tl.bfloat16 else p_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    sample = matrix // n_H
    i = matrix % n_H
    j = place
    r = tl.arange(0, 64)[None, :]
    # sum[a](q[h,t,a] * k[h,s,a])
    product_ = tl.full((32, 64), 0.0, real)
    for start in range(0, n_A, 16):
        t = start + tl.arange(0, 16)
        q_ = tl.load(q_ptr + ((sample * n_H + i) * n_T + j) * n_A + t[None, :])
        k_ = tl.load(k_ptr + (sample * n_H + i) * n_T * n_A + t[:, None] + n_A * r)
        product_ = block_dot(q_, k_, product_, precision)
    largest_ = tl.max(tl.where(r <= j, scale_ * product_, float("-inf")), 1, keep_dims=True)
    power_ = tl.where(r <= j, tl.exp(scale_ * product_ - largest_), 0.0)
    whole_ = tl.sum(power_, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](q[h,t,a] * k[h,s,a]) / sqrt(A))
    p_ = tl.where(whole_ == 0.0, 0.0, power_ / whole_)
    tl.store(p_ptr + ((sample * n_H + i) * n_T + j) * n_T + r, p_)


@jit
def v_p_kernel(
    v_q_ptr,
    q_ptr,
    k_ptr,
    v_k_ptr,
    p_ptr,
    v_p_ptr,
    n_T: tl.constexpr,
    n_H: tl.constexpr,
    n_A: tl.constexpr,
    scale_: tl.constexpr,
    precision: tl.constexpr,
):
    """v_p."""
    real = tl.float32 if v_p_ptr.dtype.element_ty == tl.bfloat16 else v_p_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    sample = matrix // n_H
    i = matrix % n_H
    j = place
    r = tl.arange(0, 64)[None, :]
    # sum[a](k[h,s,a] * v_q[h,t,a])
    product_ = tl.full((32, 64), 0.0, real)
    for start in range(0, n_A, 16):
        t = start + tl.arange(0, 16)
        v_q_ = tl.load(v_q_ptr + ((sample * n_H + i) * n_T + j) * n_A + t[None, :])
        k_ = tl.load(k_ptr + (sample * n_H + i) * n_T * n_A + t[:, None] + n_A * r)
        product_ = block_dot(v_q_, k_, product_, precision)
    # sum[a](q[h,t,a] * v_k[h,s,a])
    product_2_ = product_
    for start in range(0, n_A, 16):
        t_2 = start + tl.arange(0, 16)
        q_ = tl.load(q_ptr + ((sample * n_H + i) * n_T + j) * n_A + t_2[None, :])
        v_k_ = tl.load(v_k_ptr + (sample * n_H + i) * n_T * n_A + t_2[:, None] + n_A * r)
        product_2_ = block_dot(q_, v_k_, product_2_, precision)
    # p[h,t,s] * (sum[a](k[h,s,a] * v_q[h,t,a]) + sum[a](q[h,t,a] * v_k[h,s,a]))
    p_ = tl.load(p_ptr + ((sample * n_H + i) * n_T + j) * n_T + r).to(real)
    total_ = p_ * product_2_
    # sum[s](p[h,t,s] * (sum[a](k[h,s,a] * v_q[h,t,a]) + sum[a](q[h,t,a] * v_k[h,s,a])))
    total_2_ = tl.sum(total_, 1, keep_dims=True)
    # v_p[h,t,s] = p[h,t,s] * (sum[a](k[h,s,a] * v_q[h,t,a]) + sum[a](q[h,t,a] * v_k[h,s,a])) / sqrt(A) - p[h,t,s] *
    #   sum[t2](p[h,t,t2] * (sum[a](k[h,t2,a] * v_q[h,t,a]) + sum[a](q[h,t,a] * v_k[h,t2,a]))) / sqrt(A)
    v_p_ = scale_ * total_ - scale_ * (p_ * total_2_)
    tl.store(v_p_ptr + ((sample * n_H + i) * n_T + j) * n_T + r, v_p_)


@jit
def total_2_kernel(
    p_ptr,
    v_p_ptr,
    v_v_ptr,
    v_ptr,
    total_ptr,
    n_T: tl.constexpr,
    n_H: tl.constexpr,
    n_A: tl.constexpr,
    precision: tl.constexpr,
):
    """total."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    sample = matrix // n_H
    i = matrix % n_H
    j = place
    r = tl.arange(0, 32)[None, :]
    # sum[s](p[h,t,s] * v_v[h,s,a])
    product_ = tl.full((64, 32), 0.0, real)
    for start in range(0, n_T, 16):
        t = start + tl.arange(0, 16)
        p_ = tl.load(p_ptr + ((sample * n_H + i) * n_T + j) * n_T + t[None, :])
        v_v_ = tl.load(v_v_ptr + ((sample * n_H + i) * n_T + t[:, None]) * n_A + r)
        product_ = block_dot(p_, v_v_, product_, precision)
    # sum[s](v[h,s,a] * v_p[h,t,s])
    product_2_ = product_
    for start in range(0, n_T, 16):
        t_2 = start + tl.arange(0, 16)
        v_p_ = tl.load(v_p_ptr + ((sample * n_H + i) * n_T + j) * n_T + t_2[None, :])
        v_ = tl.load(v_ptr + ((sample * n_H + i) * n_T + t_2[:, None]) * n_A + r)
        product_2_ = block_dot(v_p_, v_, product_2_, precision)
    # sum[s](p[h,t,s] * v_v[h,s,a]) + sum[s](v[h,s,a] * v_p[h,t,s])
    total_ = product_2_
    tl.store(total_ptr + ((sample * n_H + i) * n_T + j) * n_A + r, total_)


@jit
def image_2_kernel(b1_ptr, product_ptr, image_ptr, samples, n_T: tl.constexpr, n_F: tl.constexpr):
    """image."""
    real = b1_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    r = tl.arange(0, 512)[None, :]
    # gelu_tanh'(b1[f] + sum[e](W1[e,f] * n2[t,e]))
    b1_ = tl.load(b1_ptr + r)
    product_ = tl.load(product_ptr + (sample * n_T + i) * n_F + r, mask=inside, other=0.0).to(real)
    image_ = block_gelu_tanh_slope(b1_ + product_)
    tl.store(image_ptr + (sample * n_T + i) * n_F + r, image_, mask=inside)


@jit
def total_3_kernel(image_ptr, product_ptr, total_ptr, samples, n_T: tl.constexpr, n_F: tl.constexpr):
    """total."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    r = tl.arange(0, 512)[None, :]
    # gelu_tanh'(b1[f] + sum[e](W1[e,f] * n2[t,e])) * sum[e](W1[e,f] * v_n2[t,e])
    image_ = tl.load(image_ptr + (sample * n_T + i) * n_F + r, mask=inside, other=0.0).to(real)
    product_ = tl.load(product_ptr + (sample * n_T + i) * n_F + r, mask=inside, other=0.0).to(real)
    total_ = image_ * product_
    tl.store(total_ptr + (sample * n_T + i) * n_F + r, total_, mask=inside)


@jit
def total_product_kernel(
    product_ptr,
    product_2_ptr,
    v_ptr,
    k_ptr,
    p_ptr,
    total_ptr,
    n_T: tl.constexpr,
    n_H: tl.constexpr,
    n_A: tl.constexpr,
    precision: tl.constexpr,
):
    """product, total."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    sample = matrix // n_H
    i = matrix % n_H
    j = place
    r = tl.arange(0, 64)[None, :]
    # pull_p[h,t,s] = sum[a](v[h,s,a] * sum[d](W_o[h,a,d] * v_z[t,d]))
    pull_p_ = tl.full((32, 64), 0.0, real)
    for start in range(0, n_A, 16):
        t = start + tl.arange(0, 16)
        product_ = tl.load(product_ptr + n_A * (sample * n_T * n_H + i) + j * n_H * n_A + t[None, :])
        v_ = tl.load(v_ptr + (sample * n_H + i) * n_T * n_A + t[:, None] + n_A * r)
        pull_p_ = block_dot(product_, v_, pull_p_, precision)
    # p[h,t,s] * pull_p[h,t,s]
    p_ = tl.load(p_ptr + ((sample * n_H + i) * n_T + j) * n_T + r).to(real)
    total_ = p_ * pull_p_
    # sum[s](p[h,t,s] * pull_p[h,t,s])
    total_2_ = tl.sum(total_, 1, keep_dims=True).to(total_ptr.dtype.element_ty).to(real)
    tl.store(total_ptr + (sample * n_H + i) * n_T + j, total_2_)
    # p[h,t,s] * pull_p[h,t,s] - p[h,t,s] * sum[t2](p[h,t,t2] * pull_p[h,t,t2])
    total_3_ = total_ - p_ * total_2_
    r_2 = tl.arange(0, 32)[None, :]
    # sum[s](k[h,s,a] * (p[h,t,s] * pull_p[h,t,s] - p[h,t,s] * sum[t2](p[h,t,t2] * pull_p[h,t,t2])))
    t_2 = tl.arange(0, 64)
    k_ = tl.load(k_ptr + ((sample * n_H + i) * n_T + t_2[:, None]) * n_A + r_2)
    product_2_ = block_dot(total_3_, k_, tl.full((32, 32), 0.0, real), precision)
    tl.store(product_2_ptr + ((sample * n_H + i) * n_T + j) * n_A + r_2, product_2_)


@jit
def product_2_kernel(
    v_ptr,
    product_ptr,
    product_2_ptr,
    q_ptr,
    p_ptr,
    total_ptr,
    n_T: tl.constexpr,
    n_H: tl.constexpr,
    n_A: tl.constexpr,
    precision: tl.constexpr,
):
    """product."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    sample = matrix // n_H
    i = matrix % n_H
    j = place
    r = tl.arange(0, 64)[None, :]
    # pull_p[h,t,s] = sum[a](v[h,s,a] * sum[d](W_o[h,a,d] * v_z[t,d]))
    pull_p_ = tl.full((32, 64), 0.0, real)
    for start in range(0, n_A, 16):
        t = start + tl.arange(0, 16)
        v_ = tl.load(v_ptr + ((sample * n_H + i) * n_T + j) * n_A + t[None, :])
        product_ = tl.load(product_2_ptr + (sample * n_T * n_H + i) * n_A + t[:, None] + n_H * n_A * r)
        pull_p_ = block_dot(v_, product_, pull_p_, precision)
    # p[h,t,s] * pull_p[h,t,s]
    p_ = tl.load(p_ptr + (sample * n_H + i) * n_T * n_T + j + n_T * r).to(real)
    total_ = p_ * pull_p_
    # p[h,t,s] * pull_p[h,t,s] - p[h,t,s] * sum[t2](p[h,t,t2] * pull_p[h,t,t2])
    total_2_ = tl.load(total_ptr + (sample * n_H + i) * n_T + r).to(real)
    total_3_ = total_ - p_ * total_2_
    r_2 = tl.arange(0, 32)[None, :]
    # sum[s](q[h,s,a] * (p[h,s,t] * pull_p[h,s,t] - p[h,s,t] * sum[t2](p[h,s,t2] * pull_p[h,s,t2])))
    t_2 = tl.arange(0, 64)
    q_ = tl.load(q_ptr + ((sample * n_H + i) * n_T + t_2[:, None]) * n_A + r_2)
    product_2_ = block_dot(total_3_, q_, tl.full((32, 32), 0.0, real), precision)
    tl.store(product_ptr + ((sample * n_H + i) * n_T + j) * n_A + r_2, product_2_)


@jit
def pull_n1_total_kernel(
    product_ptr,
    total_ptr,
    pull_n2_ptr,
    pull_n1_ptr,
    total_2_ptr,
    total_3_ptr,
    samples,
    n_T: tl.constexpr,
    n_D: tl.constexpr,
):
    """pull_n1, total."""
    real = tl.float32 if total_3_ptr.dtype.element_ty == tl.bfloat16 else total_3_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    r = tl.arange(0, 128)[None, :]
    # pull_n1[t,d] = sum[h,a](W_k[h,d,a] * sum[s](q[h,s,a] * (p[h,s,t] * pull_p[h,s,t] - p[h,s,t] *
    #   sum[t2](p[h,s,t2] * pull_p[h,s,t2])))) / sqrt(A) + sum[h,a](W_q[h,d,a] * sum[s](k[h,s,a] * (p[h,t,s] *
    #   pull_p[h,t,s] - p[h,t,s] * sum[t2](p[h,t,t2] * pull_p[h,t,t2])))) / sqrt(A) + sum[h,a](W_v[h,d,a] *
    #   pull_v[h,t,a])
    product_ = tl.load(product_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    pull_n1_ = product_
    tl.store(pull_n1_ptr + (sample * n_T + i) * n_D + r, pull_n1_, mask=inside)
    # (z[t,d] - mean[e](z[t,e])) * pull_n2[t,d]
    total_ = tl.load(total_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    pull_n2_ = tl.load(pull_n2_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    total_2_ = total_ * pull_n2_
    tl.store(total_2_ptr + (sample * n_T + i) * n_D + r, total_2_, mask=inside)
    # (z[t,d] - mean[e](z[t,e])) * pull_n1[t,d]
    total_3_ = total_ * pull_n1_
    tl.store(total_3_ptr + (sample * n_T + i) * n_D + r, total_3_, mask=inside)


@jit
def turn_z_kernel(
    g2_ptr,
    image_ptr,
    pull_n2_ptr,
    g1_ptr,
    pull_n1_ptr,
    total_ptr,
    image_2_ptr,
    product_ptr,
    product_2_ptr,
    turn_z_ptr,
    samples,
    n_T: tl.constexpr,
    n_D: tl.constexpr,
):
    """turn_z."""
    real = g1_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    r = tl.arange(0, 128)[None, :]
    # g2[d] * pull_n2[t,d] / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) + g1[d] * pull_n1[t,d] /
    #   sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) - 1/D * (z[t,d] - mean[e](z[t,e])) * (sum[e](g2[e] *
    #   (z[t,e] - mean[d2](z[t,d2])) * pull_n2[t,e]) + sum[e](g1[e] * (z[t,e] - mean[d2](z[t,d2])) * pull_n1[t,e]))
    #   / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)
    g2_ = tl.load(g2_ptr + r)
    image_ = tl.load(image_ptr + sample * n_T + i, mask=inside, other=0.0).to(real)
    pull_n2_ = tl.load(pull_n2_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    g1_ = tl.load(g1_ptr + r)
    pull_n1_ = tl.load(pull_n1_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    total_ = tl.load(total_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    image_2_ = tl.load(image_2_ptr + sample * n_T + i, mask=inside, other=0.0).to(real)
    product_ = tl.load(product_ptr + sample * n_T + i, mask=inside, other=0.0).to(real)
    total_2_ = (
        g2_ * (image_ * pull_n2_)
        + g1_ * (image_ * pull_n1_)
        - 1 / n_D * (total_ * (image_2_ * product_))
    )
    # sum[d](g2[d] * pull_n2[t,d] / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) + g1[d] * pull_n1[t,d] /
    #   sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5) - 1/D * (z[t,d] - mean[e](z[t,e])) * (sum[e](g2[e] *
    #   (z[t,e] - mean[d2](z[t,d2])) * pull_n2[t,e]) + sum[e](g1[e] * (z[t,e] - mean[d2](z[t,d2])) * pull_n1[t,e]))
    #   / (mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2))
    total_3_ = tl.sum(total_2_, 1, keep_dims=True)
    product_2_ = tl.load(product_2_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    turn_z_ = product_2_ - (total_2_ - 1 / n_D * total_3_)
    tl.store(turn_z_ptr + (sample * n_T + i) * n_D + r, turn_z_, mask=inside)


@jit
def next_z_plus_kernel(
    z_plus_ptr,
    x_ptr,
    product_ptr,
    b2_ptr,
    product_2_ptr,
    product_3_ptr,
    turn_z_ptr,
    next_z_plus_ptr,
    scalars,
    samples,
    n_T: tl.constexpr,
    n_D: tl.constexpr,
):
    """next_z_plus."""
    real = next_z_plus_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    beta_ = tl.load(scalars)
    step_z_ = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    z_plus_ = tl.load(z_plus_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    x_ = tl.load(x_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    b2_ = tl.load(b2_ptr + r)
    product_2_ = tl.load(product_2_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    product_3_ = tl.load(product_3_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    turn_z_ = tl.load(turn_z_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    next_z_plus_ = (
        z_plus_
        + step_z_ * (-z_plus_ - (z_plus_ - x_) + product_ + (b2_ + product_2_) - beta_ * product_3_ - turn_z_)
    )
    tl.store(next_z_plus_ptr + (sample * n_T + i) * n_D + r, next_z_plus_, mask=inside)


@jit
def next_z_minus_kernel(
    z_minus_ptr,
    x_ptr,
    product_ptr,
    b2_ptr,
    product_2_ptr,
    product_3_ptr,
    turn_z_ptr,
    next_z_minus_ptr,
    scalars,
    samples,
    n_T: tl.constexpr,
    n_D: tl.constexpr,
):
    """next_z_minus."""
    real = next_z_minus_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    sample = place // n_T
    inside = sample < samples
    i = place % n_T
    beta_ = tl.load(scalars)
    step_z_ = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    z_minus_ = tl.load(z_minus_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    x_ = tl.load(x_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    b2_ = tl.load(b2_ptr + r)
    product_2_ = tl.load(product_2_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    product_3_ = tl.load(product_3_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    turn_z_ = tl.load(turn_z_ptr + (sample * n_T + i) * n_D + r, mask=inside, other=0.0).to(real)
    next_z_minus_ = (
        z_minus_
        + step_z_ * (-z_minus_ - (z_minus_ - x_) + product_ + (b2_ + product_2_) + beta_ * product_3_ + turn_z_)
    )
    tl.store(next_z_minus_ptr + (sample * n_T + i) * n_D + r, next_z_minus_, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 14.
    """
    z_, = now
    next_z_, = then
    x_, W_o_, W_v_, h1_, g1_, W_q_, W_k_, b2_, W2_, b1_, W1_, h2_, g2_ = given
    n = len(z_)
    n1_ = room(memory, n, 0, n_T * n_D)
    n2_ = room(memory, n, 8192, n_T * n_D)
    v_ = room(memory, n, 16384, n_H * n_T * n_A)
    q_ = room(memory, n, 24576, n_H * n_T * n_A)
    k_ = room(memory, n, 32768, n_H * n_T * n_A)
    product_ = room(memory, n, 0, n_H * n_T * n_A)
    product_2_ = room(memory, n, 16384, n_T * n_D)
    product_3_ = room(memory, n, 24576, n_T * n_F)
    image_ = room(memory, n, 57344, n_T * n_F)
    product_4_ = room(memory, n, 0, n_T * n_D)
    n1_n2_kernel[(cdiv(n_T * n, 8),)](z_, h1_, g1_, h2_, g2_, n1_, n2_, n, n_T, n_D)
    # v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
    put_einsum(
        matrix(v_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_v_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
    put_einsum(
        matrix(q_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
    put_einsum(
        matrix(k_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    product_kernel[(n_H * n, cdiv(n_T, 32))](
        q_,
        product_,
        k_,
        v_,
        n_T,
        n_H,
        n_A,
        scale_,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s]))
    put_einsum(
        matrix(product_2_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(product_, (n, n_T, n_H, n_A), (n_H * n_T * n_A, n_A, n_T * n_A, 1)),
        matrix(W_o_, (n_D, n_H, n_A), (1, n_A * n_D, n_D)),
    )
    # sum[e](W1[e,f] * n2[t,e])
    put_product(
        matrix(product_3_, (n_T * n, n_F), (n_F, 1)),
        matrix(n2_, (n_T * n, n_D), (n_D, 1)),
        matrix(W1_, (n_D, n_F), (n_F, 1)),
    )
    image_kernel[(cdiv(n_T * n, 2),)](b1_, product_3_, image_, n, n_T, n_F)
    # sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e])))
    put_product(
        matrix(product_4_, (n_T * n, n_D), (n_D, 1)),
        matrix(image_, (n_T * n, n_F), (n_F, 1)),
        matrix(W2_, (n_F, n_D), (n_D, 1)),
    )
    next_z_kernel[(cdiv(n_T * n, 8),)](z_, x_, product_2_, b2_, product_4_, next_z_, scalars, n, n_T, n_D)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase.

    Launches on a device: 17.
    """
    z_, = now
    next_z_, = then
    x_, W_o_, W_v_, h1_, g1_, W_q_, W_k_, b2_, W2_, b1_, W1_, h2_, g2_, W_head_, label_ = given
    n = len(z_)
    n1_ = room(memory, n, 0, n_T * n_D)
    n2_ = room(memory, n, 8192, n_T * n_D)
    v_ = room(memory, n, 16384, n_H * n_T * n_A)
    q_ = room(memory, n, 24576, n_H * n_T * n_A)
    k_ = room(memory, n, 32768, n_H * n_T * n_A)
    product_ = room(memory, n, 0, n_H * n_T * n_A)
    product_2_ = room(memory, n, 16384, n_T * n_D)
    product_3_ = room(memory, n, 24576, n_T * n_F)
    image_ = room(memory, n, 57344, n_T * n_F)
    product_4_ = room(memory, n, 0, n_T * n_D)
    product_5_ = room(memory, n, 8192, n_T * n_V)
    total_ = room(memory, n, 24576, n_T * n_V)
    product_6_ = room(memory, n, 8192, n_T * n_D)
    n1_n2_kernel[(cdiv(n_T * n, 8),)](z_, h1_, g1_, h2_, g2_, n1_, n2_, n, n_T, n_D)
    # v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
    put_einsum(
        matrix(v_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_v_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
    put_einsum(
        matrix(q_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
    put_einsum(
        matrix(k_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    product_kernel[(n_H * n, cdiv(n_T, 32))](
        q_,
        product_,
        k_,
        v_,
        n_T,
        n_H,
        n_A,
        scale_,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s]))
    put_einsum(
        matrix(product_2_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(product_, (n, n_T, n_H, n_A), (n_H * n_T * n_A, n_A, n_T * n_A, 1)),
        matrix(W_o_, (n_D, n_H, n_A), (1, n_A * n_D, n_D)),
    )
    # sum[e](W1[e,f] * n2[t,e])
    put_product(
        matrix(product_3_, (n_T * n, n_F), (n_F, 1)),
        matrix(n2_, (n_T * n, n_D), (n_D, 1)),
        matrix(W1_, (n_D, n_F), (n_F, 1)),
    )
    image_kernel[(cdiv(n_T * n, 2),)](b1_, product_3_, image_, n, n_T, n_F)
    # sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e])))
    put_product(
        matrix(product_4_, (n_T * n, n_D), (n_D, 1)),
        matrix(image_, (n_T * n, n_F), (n_F, 1)),
        matrix(W2_, (n_F, n_D), (n_D, 1)),
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_5_, (n_T * n, n_V), (n_V, 1)),
        matrix(z_, (n_T * n, n_D), (n_D, 1)),
        matrix(W_head_, (n_D, n_V), (n_V, 1)),
    )
    total_kernel[(cdiv(n_T * n, 8),)](product_5_, label_, total_, n, n_T, n_V)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_6_, (n_T * n, n_D), (n_D, 1)),
        matrix(total_, (n_T * n, n_V), (n_V, 1)),
        matrix(W_head_, (n_V, n_D), (1, n_V)),
    )
    next_z_2_kernel[(cdiv(n_T * n, 8),)](
        z_,
        x_,
        product_2_,
        b2_,
        product_4_,
        product_6_,
        next_z_,
        scalars,
        n,
        n_T,
        n_D,
    )


def tracking_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of two nudged phases that track the free one.

    Launches on a device: 73.
    """
    z_plus_, z_minus_ = now
    next_z_plus_, next_z_minus_ = then
    W_o_, W_q_, h1_, g1_, W_k_, W_v_, W2_, b1_, W1_, h2_, g2_, x_, b2_, W_head_, label_ = given
    n = len(z_plus_)
    z_half_ = room(memory, n, 0, n_T * n_D)
    total_ = room(memory, n, 8192, n_T * n_D)
    image_ = room(memory, n, 16384, n_T)
    n1_ = room(memory, n, 16448, n_T * n_D)
    image_2_ = room(memory, n, 24640, n_T)
    v_n1_ = room(memory, n, 24704, n_T * n_D)
    n2_ = room(memory, n, 32896, n_T * n_D)
    v_n2_ = room(memory, n, 41088, n_T * n_D)
    n1_2_ = room(memory, n, 49280, n_T * n_D)
    n2_2_ = room(memory, n, 57472, n_T * n_D)
    n1_3_ = room(memory, n, 65664, n_T * n_D)
    n2_3_ = room(memory, n, 73856, n_T * n_D)
    q_ = room(memory, n, 82048, n_H * n_T * n_A)
    k_ = room(memory, n, 90240, n_H * n_T * n_A)
    p_ = room(memory, n, 98432, n_H * n_T * n_T)
    v_v_ = room(memory, n, 114816, n_H * n_T * n_A)
    v_ = room(memory, n, 123008, n_H * n_T * n_A)
    v_q_ = room(memory, n, 16448, n_H * n_T * n_A)
    v_k_ = room(memory, n, 131200, n_H * n_T * n_A)
    v_p_ = room(memory, n, 139392, n_H * n_T * n_T)
    total_2_ = room(memory, n, 16448, n_H * n_T * n_A)
    product_ = room(memory, n, 24704, n_T * n_D)
    product_2_ = room(memory, n, 131200, n_T * n_F)
    image_3_ = room(memory, n, 163968, n_T * n_F)
    product_3_ = room(memory, n, 131200, n_T * n_F)
    total_3_ = room(memory, n, 196736, n_T * n_F)
    product_4_ = room(memory, n, 131200, n_T * n_F)
    total_4_ = room(memory, n, 196736, n_T * n_F)
    pull_n2_ = room(memory, n, 16448, n_T * n_D)
    product_5_ = room(memory, n, 32896, n_T * n_H * n_A)
    product_6_ = room(memory, n, 0, n_H * n_T * n_A)
    total_5_ = room(memory, n, 41088, n_H * n_T)
    product_7_ = room(memory, n, 90240, n_H * n_T * n_A)
    product_8_ = room(memory, n, 41088, n_T * n_D)
    pull_v_ = room(memory, n, 0, n_H * n_T * n_A)
    pull_n1_ = room(memory, n, 0, n_T * n_D)
    total_6_ = room(memory, n, 32896, n_T * n_D)
    total_7_ = room(memory, n, 82048, n_T * n_D)
    product_9_ = room(memory, n, 41088, n_T)
    turn_z_ = room(memory, n, 32896, n_T * n_D)
    v_2_ = room(memory, n, 0, n_H * n_T * n_A)
    q_2_ = room(memory, n, 8192, n_H * n_T * n_A)
    k_2_ = room(memory, n, 16384, n_H * n_T * n_A)
    product_10_ = room(memory, n, 24576, n_H * n_T * n_A)
    product_11_ = room(memory, n, 0, n_T * n_D)
    product_12_ = room(memory, n, 82048, n_T * n_F)
    image_4_ = room(memory, n, 114816, n_T * n_F)
    product_13_ = room(memory, n, 8192, n_T * n_D)
    product_14_ = room(memory, n, 16384, n_T * n_V)
    total_8_ = room(memory, n, 20544, n_T * n_V)
    product_15_ = room(memory, n, 24704, n_T * n_D)
    v_3_ = room(memory, n, 0, n_H * n_T * n_A)
    q_3_ = room(memory, n, 8192, n_H * n_T * n_A)
    k_3_ = room(memory, n, 16384, n_H * n_T * n_A)
    product_16_ = room(memory, n, 24576, n_H * n_T * n_A)
    product_17_ = room(memory, n, 0, n_T * n_D)
    product_18_ = room(memory, n, 41088, n_T * n_F)
    image_5_ = room(memory, n, 73856, n_T * n_F)
    product_19_ = room(memory, n, 8192, n_T * n_D)
    product_20_ = room(memory, n, 16384, n_T * n_V)
    total_9_ = room(memory, n, 20544, n_T * n_V)
    product_21_ = room(memory, n, 24704, n_T * n_D)
    z_half_total_kernel[(cdiv(n_T * n, 8),)](
        z_plus_,
        z_minus_,
        h1_,
        g1_,
        h2_,
        g2_,
        z_half_,
        total_,
        image_,
        n1_,
        image_2_,
        v_n1_,
        n2_,
        v_n2_,
        n1_2_,
        n2_2_,
        n1_3_,
        n2_3_,
        n,
        n_T,
        n_D,
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
    put_einsum(
        matrix(q_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
    put_einsum(
        matrix(k_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    p_kernel[(n_H * n, cdiv(n_T, 32))](
        q_,
        k_,
        p_,
        n_T,
        n_H,
        n_A,
        scale_,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # v_v[h,t,a] = sum[d](W_v[h,d,a] * v_n1[t,d])
    put_einsum(
        matrix(v_v_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(v_n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_v_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
    put_einsum(
        matrix(v_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_v_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # v_q[h,t,a] = sum[d](W_q[h,d,a] * v_n1[t,d])
    put_einsum(
        matrix(v_q_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(v_n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # v_k[h,t,a] = sum[d](W_k[h,d,a] * v_n1[t,d])
    put_einsum(
        matrix(v_k_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(v_n1_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    v_p_kernel[(n_H * n, cdiv(n_T, 32))](
        v_q_,
        q_,
        k_,
        v_k_,
        p_,
        v_p_,
        n_T,
        n_H,
        n_A,
        scale_,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    total_2_kernel[(n_H * n, cdiv(n_T, 64))](
        p_,
        v_p_,
        v_v_,
        v_,
        total_2_,
        n_T,
        n_H,
        n_A,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[h,a](W_o[h,a,d] * (sum[s](p[h,t,s] * v_v[h,s,a]) + sum[s](v[h,s,a] * v_p[h,t,s])))
    put_einsum(
        matrix(product_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(total_2_, (n, n_T, n_H, n_A), (n_H * n_T * n_A, n_A, n_T * n_A, 1)),
        matrix(W_o_, (n_D, n_H, n_A), (1, n_A * n_D, n_D)),
    )
    # sum[e](W1[e,f] * n2[t,e])
    put_product(
        matrix(product_2_, (n_T * n, n_F), (n_F, 1)),
        matrix(n2_, (n_T * n, n_D), (n_D, 1)),
        matrix(W1_, (n_D, n_F), (n_F, 1)),
    )
    image_2_kernel[(cdiv(n_T * n, 2),)](b1_, product_2_, image_3_, n, n_T, n_F)
    # sum[e](W1[e,f] * v_n2[t,e])
    put_product(
        matrix(product_3_, (n_T * n, n_F), (n_F, 1)),
        matrix(v_n2_, (n_T * n, n_D), (n_D, 1)),
        matrix(W1_, (n_D, n_F), (n_F, 1)),
    )
    total_3_kernel[(cdiv(n_T * n, 2),)](image_3_, product_3_, total_3_, n, n_T, n_F)
    # sum[f](W2[f,d] * gelu_tanh'(b1[f] + sum[e](W1[e,f] * n2[t,e])) * sum[e](W1[e,f] * v_n2[t,e]))
    put_product(
        matrix(product_, (n_T * n, n_D), (n_D, 1)),
        matrix(total_3_, (n_T * n, n_F), (n_F, 1)),
        matrix(W2_, (n_F, n_D), (n_D, 1)),
        adds=True,
    )
    # sum[d](W2[f,d] * v_z[t,d])
    put_product(
        matrix(product_4_, (n_T * n, n_F), (n_F, 1)),
        matrix(z_half_, (n_T * n, n_D), (n_D, 1)),
        matrix(W2_, (n_D, n_F), (1, n_D)),
    )
    total_3_kernel[(cdiv(n_T * n, 2),)](product_4_, image_3_, total_4_, n, n_T, n_F)
    # pull_n2[t,d] = sum[f](W1[d,f] * sum[e](W2[f,e] * v_z[t,e]) * gelu_tanh'(b1[f] + sum[e](W1[e,f] * n2[t,e])))
    put_product(
        matrix(pull_n2_, (n_T * n, n_D), (n_D, 1)),
        matrix(total_4_, (n_T * n, n_F), (n_F, 1)),
        matrix(W1_, (n_F, n_D), (1, n_F)),
    )
    # sum[d](W_o[h,a,d] * v_z[t,d])
    put_product(
        matrix(product_5_, (n_T * n, n_H * n_A), (n_H * n_A, 1)),
        matrix(z_half_, (n_T * n, n_D), (n_D, 1)),
        matrix(W_o_, (n_D, n_H * n_A), (1, n_D)),
    )
    total_product_kernel[(n_H * n, cdiv(n_T, 32))](
        product_5_,
        product_6_,
        v_,
        k_,
        p_,
        total_5_,
        n_T,
        n_H,
        n_A,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    product_2_kernel[(n_H * n, cdiv(n_T, 32))](
        v_,
        product_7_,
        product_5_,
        q_,
        p_,
        total_5_,
        n_T,
        n_H,
        n_A,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[h,a](W_k[h,d,a] * sum[s](q[h,s,a] * (p[h,s,t] * pull_p[h,s,t] - p[h,s,t] * sum[t2](p[h,s,t2] *
    #   pull_p[h,s,t2]))))
    put_einsum(
        matrix(product_8_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(product_7_, (n, n_T, n_H, n_A), (n_H * n_T * n_A, n_A, n_T * n_A, 1)),
        matrix(W_k_, (n_D, n_H, n_A), (n_A, n_D * n_A, 1)),
        factor=scale_,
    )
    # sum[h,a](W_q[h,d,a] * sum[s](k[h,s,a] * (p[h,t,s] * pull_p[h,t,s] - p[h,t,s] * sum[t2](p[h,t,t2] *
    #   pull_p[h,t,t2]))))
    put_einsum(
        matrix(product_8_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(product_6_, (n, n_T, n_H, n_A), (n_H * n_T * n_A, n_A, n_T * n_A, 1)),
        matrix(W_q_, (n_D, n_H, n_A), (n_A, n_D * n_A, 1)),
        adds=True,
        factor=scale_,
    )
    # pull_v[h,t,a] = sum[s](p[h,s,t] * sum[d](W_o[h,a,d] * v_z[s,d]))
    put_einsum(
        matrix(pull_v_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "abce,abde->abcd",
        matrix(p_, (n, n_H, n_T, n_T), (n_H * n_T * n_T, n_T * n_T, 1, n_T)),
        matrix(product_5_, (n, n_H, n_A, n_T), (n_T * n_H * n_A, n_A, 1, n_H * n_A)),
    )
    # sum[h,a](W_v[h,d,a] * pull_v[h,t,a])
    put_einsum(
        matrix(product_8_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(pull_v_, (n, n_T, n_H, n_A), (n_H * n_T * n_A, n_A, n_T * n_A, 1)),
        matrix(W_v_, (n_D, n_H, n_A), (n_A, n_D * n_A, 1)),
        adds=True,
    )
    pull_n1_total_kernel[(cdiv(n_T * n, 8),)](
        product_8_,
        total_,
        pull_n2_,
        pull_n1_,
        total_6_,
        total_7_,
        n,
        n_T,
        n_D,
    )
    # sum[d](g2[d] * (z[t,d] - mean[e](z[t,e])) * pull_n2[t,d])
    put_product(
        matrix(product_9_, (1, n_T * n), (1, 1)),
        matrix(g2_, (1, n_D), (1, 1)),
        matrix(total_6_, (n_D, n_T * n), (1, n_D)),
    )
    # sum[d](g1[d] * (z[t,d] - mean[e](z[t,e])) * pull_n1[t,d])
    put_product(
        matrix(product_9_, (1, n_T * n), (1, 1)),
        matrix(g1_, (1, n_D), (1, 1)),
        matrix(total_7_, (n_D, n_T * n), (1, n_D)),
        adds=True,
    )
    turn_z_kernel[(cdiv(n_T * n, 8),)](
        g2_,
        image_,
        pull_n2_,
        g1_,
        pull_n1_,
        total_,
        image_2_,
        product_9_,
        product_,
        turn_z_,
        n,
        n_T,
        n_D,
    )
    # v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
    put_einsum(
        matrix(v_2_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_2_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_v_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
    put_einsum(
        matrix(q_2_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_2_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
    put_einsum(
        matrix(k_2_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_2_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    product_kernel[(n_H * n, cdiv(n_T, 32))](
        q_2_,
        product_10_,
        k_2_,
        v_2_,
        n_T,
        n_H,
        n_A,
        scale_,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s]))
    put_einsum(
        matrix(product_11_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(product_10_, (n, n_T, n_H, n_A), (n_H * n_T * n_A, n_A, n_T * n_A, 1)),
        matrix(W_o_, (n_D, n_H, n_A), (1, n_A * n_D, n_D)),
    )
    # sum[e](W1[e,f] * n2[t,e])
    put_product(
        matrix(product_12_, (n_T * n, n_F), (n_F, 1)),
        matrix(n2_2_, (n_T * n, n_D), (n_D, 1)),
        matrix(W1_, (n_D, n_F), (n_F, 1)),
    )
    image_kernel[(cdiv(n_T * n, 2),)](b1_, product_12_, image_4_, n, n_T, n_F)
    # sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e])))
    put_product(
        matrix(product_13_, (n_T * n, n_D), (n_D, 1)),
        matrix(image_4_, (n_T * n, n_F), (n_F, 1)),
        matrix(W2_, (n_F, n_D), (n_D, 1)),
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_14_, (n_T * n, n_V), (n_V, 1)),
        matrix(z_plus_, (n_T * n, n_D), (n_D, 1)),
        matrix(W_head_, (n_D, n_V), (n_V, 1)),
    )
    total_kernel[(cdiv(n_T * n, 8),)](product_14_, label_, total_8_, n, n_T, n_V)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_15_, (n_T * n, n_D), (n_D, 1)),
        matrix(total_8_, (n_T * n, n_V), (n_V, 1)),
        matrix(W_head_, (n_V, n_D), (1, n_V)),
    )
    next_z_plus_kernel[(cdiv(n_T * n, 8),)](
        z_plus_,
        x_,
        product_11_,
        b2_,
        product_13_,
        product_15_,
        turn_z_,
        next_z_plus_,
        scalars,
        n,
        n_T,
        n_D,
    )
    # v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
    put_einsum(
        matrix(v_3_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_3_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_v_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
    put_einsum(
        matrix(q_3_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_3_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
    put_einsum(
        matrix(k_3_, (n, n_H, n_T, n_A), (n_H * n_T * n_A, n_T * n_A, n_A, 1)),
        "ace,bde->abcd",
        matrix(n1_3_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_A, n_D), (n_D * n_A, 1, n_A)),
    )
    product_kernel[(n_H * n, cdiv(n_T, 32))](
        q_3_,
        product_16_,
        k_3_,
        v_3_,
        n_T,
        n_H,
        n_A,
        scale_,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s]))
    put_einsum(
        matrix(product_17_, (n, n_T, n_D), (n_T * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(product_16_, (n, n_T, n_H, n_A), (n_H * n_T * n_A, n_A, n_T * n_A, 1)),
        matrix(W_o_, (n_D, n_H, n_A), (1, n_A * n_D, n_D)),
    )
    # sum[e](W1[e,f] * n2[t,e])
    put_product(
        matrix(product_18_, (n_T * n, n_F), (n_F, 1)),
        matrix(n2_3_, (n_T * n, n_D), (n_D, 1)),
        matrix(W1_, (n_D, n_F), (n_F, 1)),
    )
    image_kernel[(cdiv(n_T * n, 2),)](b1_, product_18_, image_5_, n, n_T, n_F)
    # sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e])))
    put_product(
        matrix(product_19_, (n_T * n, n_D), (n_D, 1)),
        matrix(image_5_, (n_T * n, n_F), (n_F, 1)),
        matrix(W2_, (n_F, n_D), (n_D, 1)),
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_20_, (n_T * n, n_V), (n_V, 1)),
        matrix(z_minus_, (n_T * n, n_D), (n_D, 1)),
        matrix(W_head_, (n_D, n_V), (n_V, 1)),
    )
    total_kernel[(cdiv(n_T * n, 8),)](product_20_, label_, total_9_, n, n_T, n_V)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_21_, (n_T * n, n_D), (n_D, 1)),
        matrix(total_9_, (n_T * n, n_V), (n_V, 1)),
        matrix(W_head_, (n_V, n_D), (1, n_V)),
    )
    next_z_minus_kernel[(cdiv(n_T * n, 8),)](
        z_minus_,
        x_,
        product_17_,
        b2_,
        product_19_,
        product_21_,
        turn_z_,
        next_z_minus_,
        scalars,
        n,
        n_T,
        n_D,
    )


# in ThickEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
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
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 90112, matrices={1, 2, 5, 6, 8, 10}, batched={0}),
            "nudged": PhaseStep(nudged_step, 90112, matrices={1, 2, 5, 6, 8, 10, 13}, batched={0, 14}),
            "tracking": PhaseStep(tracking_step, 229504, matrices={0, 1, 4, 5, 6, 8, 13}, batched={11, 14}),
        }
    )
