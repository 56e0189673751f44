@jit
def free_group_1(x, delta, gamma, g, samples):
    """g."""
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 2000 * samples
    sample = place // 2000
    i = place % 2000
    r = tl.arange(0, 64)[None, :]
    # sum[d](x[n,d])
    x_here = tl.load(x + 128000 * sample + 64 * i + r, mask=inside, other=0.0)
    total = tl.sum(x_here, 1, keep_dims=True)
    # x[n,d] - mean[d2](x[n,d2])
    total_2 = x_here + (-0.015625 * total)
    # sum[d]((x[n,d] - mean[d2](x[n,d2]))^2)
    total_3 = tl.sum(total_2 * total_2, 1, keep_dims=True)
    # g[n,d] = delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(1e-5 + mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2))
    delta_here = tl.load(delta + r)
    gamma_here = tl.load(gamma)
    g_here = delta_here + total_2 * (gamma_here * (1.0 / (tl.sqrt(1e-05 * 1.0 + 0.015625 * total_3))))
    tl.store(g + 128000 * sample + 64 * i + r, g_here, mask=inside)


@jit
def free_group_2(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 2000 * samples
    sample = place // 2000
    i = place % 2000
    r = tl.arange(0, 128)[None, :]
    # relu(sum[d](xi[j,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(1e-5 + mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2)))))
    product_here = tl.load(product + 256000 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 256000 * sample + 128 * i + r, image_here, mask=inside)


@jit
def free_group_3(k, q, src, dst, beta, s, samples):
    """s."""
    real = beta.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    inside = place < 48000 * samples
    sample = place // 48000
    i = place // 24000 % 2
    j = place % 24000
    r = tl.arange(0, 32)[None, :]
    # sum[y](sum[d](W_k[y,h,d] * (delta[d] + (x[src[e],d] - mean[d2](x[src[e],d2])) * gamma / sqrt(1e-5 +
    #   mean[d2]((x[src[e],d2] - mean[d3](x[src[e],d3]))^2)))) * sum[d](W_q[y,h,d] * (delta[d] + (x[dst[e],d] -
    #   mean[d2](x[dst[e],d2])) * gamma / sqrt(1e-5 + mean[d2]((x[dst[e],d2] - mean[d3](x[dst[e],d3]))^2)))))
    src_here = tl.load(src + 24000 * sample + j, mask=inside, other=0)
    k_here = tl.load(k + 128000 * sample + 32 * src_here + 64000 * i + r, mask=inside, other=0.0).to(real)
    dst_here = tl.load(dst + 24000 * sample + j, mask=inside, other=0)
    q_here = tl.load(q + 128000 * sample + 32 * dst_here + 64000 * i + r, mask=inside, other=0.0).to(real)
    total = tl.sum(k_here * q_here, 1, keep_dims=True)
    # s[h,e] = beta * sum[y](sum[d](W_k[y,h,d] * (delta[d] + (x[src[e],d] - mean[d2](x[src[e],d2])) * gamma /
    #   sqrt(1e-5 + mean[d2]((x[src[e],d2] - mean[d3](x[src[e],d3]))^2)))) * sum[d](W_q[y,h,d] * (delta[d] +
    #   (x[dst[e],d] - mean[d2](x[dst[e],d2])) * gamma / sqrt(1e-5 + mean[d2]((x[dst[e],d2] -
    #   mean[d3](x[dst[e],d3]))^2)))))
    beta_here = tl.load(beta)
    s_here = beta_here * total
    tl.store(s + 48000 * sample + 24000 * i + j, s_here, mask=inside)


@jit
def free_group_4(s, largest_2, dst, power, samples):
    """power."""
    real = tl.float32 if power.dtype.element_ty == tl.bfloat16 else power.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 2 * samples
    sample = place // 2
    i = place % 2
    start = tl.program_id(1) * 4096
    r = start + tl.arange(0, 4096)[None, :]
    s_here = tl.load(s + 48000 * sample + 24000 * i + r, mask=inside & (r < 24000), other=0.0).to(real)
    dst_here = tl.load(dst + 24000 * sample + r, mask=inside & (r < 24000), other=0)
    largest_2_here = tl.load(
        largest_2 + 4000 * sample + dst_here + 2000 * i,
        mask=inside & (r < 24000),
        other=0.0,
    ).to(real)
    power_here = tl.exp(s_here - largest_2_here)
    tl.store(power + 48000 * sample + 24000 * i + r, power_here, mask=inside & (r < 24000))


@jit
def free_group_5(whole, power, dst, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 2 * samples
    sample = place // 2
    i = place % 2
    start = tl.program_id(1) * 4096
    r = start + tl.arange(0, 4096)[None, :]
    # softmax[e by dst[e]](beta * sum[y](sum[d](W_k[y,h,d] * (delta[d] + (x[src[e],d] - mean[d2](x[src[e],d2])) *
    #   gamma / sqrt(1e-5 + mean[d2]((x[src[e],d2] - mean[d3](x[src[e],d3]))^2)))) * sum[d](W_q[y,h,d] * (delta[d] +
    #   (x[dst[e],d] - mean[d2](x[dst[e],d2])) * gamma / sqrt(1e-5 + mean[d2]((x[dst[e],d2] -
    #   mean[d3](x[dst[e],d3]))^2))))))
    dst_here = tl.load(dst + 24000 * sample + r, mask=inside & (r < 24000), other=0)
    whole_here = tl.load(whole + 4000 * sample + dst_here + 2000 * i, mask=inside & (r < 24000), other=0.0).to(real)
    power_here = tl.load(power + 48000 * sample + 24000 * i + r, mask=inside & (r < 24000), other=0.0).to(real)
    total_here = tl.where(whole_here == 0.0, 0.0, power_here / whole_here)
    tl.store(total + 48000 * sample + 24000 * i + r, total_here, mask=inside & (r < 24000))


@jit
def free_group_6(beta, offset, total, total_2, samples):
    """total."""
    real = offset.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 2 * samples
    sample = place // 2
    i = place % 2
    start = tl.program_id(1) * 4096
    r = start + tl.arange(0, 4096)[None, :]
    # beta * softmax[h,e] / beta
    beta_here = tl.load(beta)
    offset_here = tl.load(offset)
    total_here = tl.load(total + 48000 * sample + 24000 * i + r, mask=inside & (r < 24000), other=0.0).to(real)
    total_here_2 = beta_here * (offset_here * total_here)
    tl.store(total_2 + 48000 * sample + 24000 * i + r, total_here_2, mask=inside & (r < 24000))


@jit
def free_group_7(q, total, dst, k, src, entries, entries_2, samples):
    """entries."""
    real = tl.float32 if entries_2.dtype.element_ty == tl.bfloat16 else entries_2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place // 32 % 2
    j = place % 32
    start = tl.program_id(1) * 4096
    r = start + tl.arange(0, 4096)[None, :]
    dst_here = tl.load(dst + 24000 * sample + r, mask=inside & (r < 24000), other=0)
    q_here = tl.load(
        q + 128000 * sample + 32 * dst_here + 64000 * i + j,
        mask=inside & (r < 24000),
        other=0.0,
    ).to(real)
    total_here = tl.load(total + 48000 * sample + 24000 * i + r, mask=inside & (r < 24000), other=0.0).to(real)
    entries_here = q_here * total_here
    tl.store(entries + 1536000 * sample + 768000 * i + 24000 * j + r, entries_here, mask=inside & (r < 24000))
    src_here = tl.load(src + 24000 * sample + r, mask=inside & (r < 24000), other=0)
    k_here = tl.load(
        k + 128000 * sample + 32 * src_here + 64000 * i + j,
        mask=inside & (r < 24000),
        other=0.0,
    ).to(real)
    entries_here_2 = k_here * total_here
    tl.store(entries_2 + 1536000 * sample + 768000 * i + 24000 * j + r, entries_here_2, mask=inside & (r < 24000))


@jit
def free_group_8(x, product, next_x, scalars, samples):
    """next_x."""
    real = next_x.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 2000 * samples
    sample = place // 2000
    i = place % 2000
    step_x = tl.load(scalars)
    r = tl.arange(0, 64)[None, :]
    x_here = tl.load(x + 128000 * sample + 64 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 128000 * sample + 64 * i + r, mask=inside, other=0.0).to(real)
    next_x_here = x_here + step_x * product_here
    tl.store(next_x + 128000 * sample + 64 * i + r, next_x_here, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    x, = now
    next_x, = then
    xi, delta, gamma, W_k, src, dst, W_q, beta, offset = given
    n = len(x)
    g = room(memory, n, 0, 128000)
    product = room(memory, n, 128000, 256000)
    image = room(memory, n, 384000, 256000)
    product_2 = room(memory, n, 128000, 128000)
    q = room(memory, n, 256000, 128000)
    k = room(memory, n, 384000, 128000)
    s = room(memory, n, 0, 48000)
    largest_2 = room(memory, n, 48000, 4000)
    power = room(memory, n, 52000, 48000)
    whole = room(memory, n, 0, 4000)
    total = room(memory, n, 4000, 48000)
    total_2 = room(memory, n, 52000, 48000)
    entries = room(memory, n, 512000, 1536000)
    entries_2 = room(memory, n, 2048000, 1536000)
    total_3 = room(memory, n, 0, 128000)
    total_4 = room(memory, n, 0, 128000)
    free_group_1[(cdiv(2000 * n, 16),)](x, delta, gamma, g, n)
    # sum[d](xi[j,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(1e-5 + mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2))))
    put_product(
        matrix(product, (2000 * n, 128), (128, 1)),
        matrix(g, (2000 * n, 64), (64, 1)),
        matrix(xi, (64, 128), (1, 64)),
    )
    free_group_2[(cdiv(2000 * n, 8),)](product, image, n)
    # sum[j](xi[j,d] * relu(sum[d2](xi[j,d2] * (delta[d2] + (x[n,d2] - mean[d3](x[n,d3])) * gamma / sqrt(1e-5 +
    #   mean[d3]((x[n,d3] - mean[d4](x[n,d4]))^2))))))
    put_product(
        matrix(product_2, (2000 * n, 64), (64, 1)),
        matrix(image, (2000 * n, 128), (128, 1)),
        matrix(xi, (128, 64), (64, 1)),
    )
    # q[h,n,y] = sum[d](W_q[y,h,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(1e-5 +
    #   mean[d2]((x[n,d2] - mean[d3](x[n,d3]))^2))))
    put_einsum(
        matrix(q, (n, 2, 2000, 32), (128000, 64000, 32, 1)),
        "ace,bde->abcd",
        matrix(g, (n, 2000, 64), (128000, 64, 1)),
        matrix(W_q, (2, 32, 64), (64, 128, 1)),
    )
    # k[h,n,y] = sum[d](W_k[y,h,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(1e-5 +
    #   mean[d2]((x[n,d2] - mean[d3](x[n,d3]))^2))))
    put_einsum(
        matrix(k, (n, 2, 2000, 32), (128000, 64000, 32, 1)),
        "ace,bde->abcd",
        matrix(g, (n, 2000, 64), (128000, 64, 1)),
        matrix(W_k, (2, 32, 64), (64, 128, 1)),
    )
    free_group_3[(cdiv(48000 * n, 32),)](k, q, src, dst, beta, s, n)
    scatter(
        matrix(largest_2, (n, 2, 2000), (4000, 2000, 1)),
        matrix(dst, (n, 2, 24000), (24000, 0, 1)),
        matrix(s, (n, 2, 24000), (48000, 24000, 1)),
        "max",
    )
    free_group_4[(2 * n, 6)](s, largest_2, dst, power, n, num_warps=8)
    scatter(
        matrix(whole, (n, 2, 2000), (4000, 2000, 1)),
        matrix(dst, (n, 2, 24000), (24000, 0, 1)),
        matrix(power, (n, 2, 24000), (48000, 24000, 1)),
        "sum",
    )
    free_group_5[(2 * n, 6)](whole, power, dst, total, n, num_warps=8)
    free_group_6[(2 * n, 6)](beta, offset, total, total_2, n, num_warps=8)
    free_group_7[(64 * n, 6)](q, total_2, dst, k, src, entries, entries_2, n, num_warps=8)
    # sum[e | n == src[e]](sum[d](W_q[y,h,d] * (delta[d] + (x[dst[e],d] - mean[d2](x[dst[e],d2])) * gamma /
    #   sqrt(1e-5 + mean[d2]((x[dst[e],d2] - mean[d3](x[dst[e],d3]))^2)))) * beta * softmax[h,e] / beta)
    scatter(
        matrix(total_3, (n, 2, 32, 2000), (128000, 64000, 1, 32)),
        matrix(src, (n, 2, 32, 24000), (24000, 0, 0, 1)),
        matrix(entries, (n, 2, 32, 24000), (1536000, 768000, 24000, 1)),
        "sum",
    )
    # sum[y,h](W_k[y,h,d] * sum[e | n == src[e]](sum[d2](W_q[y,h,d2] * (delta[d2] + (x[dst[e],d2] -
    #   mean[d3](x[dst[e],d3])) * gamma / sqrt(1e-5 + mean[d3]((x[dst[e],d3] - mean[d4](x[dst[e],d4]))^2)))) * beta
    #   * softmax[h,e] / beta))
    put_einsum(
        matrix(product_2, (n, 2000, 64), (128000, 64, 1)),
        "abde,cde->abc",
        matrix(total_3, (n, 2000, 2, 32), (128000, 32, 64000, 1)),
        matrix(W_k, (64, 2, 32), (1, 64, 128)),
        adds=True,
    )
    # sum[e | n == dst[e]](sum[d](W_k[y,h,d] * (delta[d] + (x[src[e],d] - mean[d2](x[src[e],d2])) * gamma /
    #   sqrt(1e-5 + mean[d2]((x[src[e],d2] - mean[d3](x[src[e],d3]))^2)))) * beta * softmax[h,e] / beta)
    scatter(
        matrix(total_4, (n, 2, 32, 2000), (128000, 64000, 1, 32)),
        matrix(dst, (n, 2, 32, 24000), (24000, 0, 0, 1)),
        matrix(entries_2, (n, 2, 32, 24000), (1536000, 768000, 24000, 1)),
        "sum",
    )
    # sum[y,h](W_q[y,h,d] * sum[e | n == dst[e]](sum[d2](W_k[y,h,d2] * (delta[d2] + (x[src[e],d2] -
    #   mean[d3](x[src[e],d3])) * gamma / sqrt(1e-5 + mean[d3]((x[src[e],d3] - mean[d4](x[src[e],d4]))^2)))) * beta
    #   * softmax[h,e] / beta))
    put_einsum(
        matrix(product_2, (n, 2000, 64), (128000, 64, 1)),
        "abde,cde->abc",
        matrix(total_4, (n, 2000, 2, 32), (128000, 32, 64000, 1)),
        matrix(W_q, (64, 2, 32), (1, 64, 128)),
        adds=True,
    )
    free_group_8[(cdiv(2000 * n, 16),)](x, product_2, next_x, scalars, n)


# in EtAnomalyEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [
                self.xi,
                self.delta,
                self.gamma,
                self.W_k,
                fixed.src,
                fixed.dst,
                self.W_q,
                self.beta_2,
                fixed.offset,
            ]
        raise KeyError(name)


# in EtAnomaly
    """The network: its equations, relaxed by kernels and learned."""


# in EtAnomaly
    learning_rules = (bptt, implicit,)


# in EtAnomaly
    kernels = TritonKernels({"free": PhaseStep(free_step, 3584000, matrices={0, 3, 6})})
