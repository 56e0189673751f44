@jit
def g_kernel(x_ptr, delta_ptr, gamma_ptr, g_ptr, samples, n_N: tl.constexpr, n_D: tl.constexpr):
    """g."""
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place // n_N
    inside = sample < samples
    i = place % n_N
    r = tl.arange(0, 64)[None, :]
    # sum[d](x[n,d])
    x_ = tl.load(x_ptr + (sample * n_N + i) * n_D + r, mask=inside, other=0.0)
    total_ = tl.sum(x_, 1, keep_dims=True)
    # x[n,d] - mean[d2](x[n,d2])
    total_2_ = x_ - 1 / n_D * total_
    # sum[d]((x[n,d] - mean[d2](x[n,d2]))^2)
    total_3_ = tl.sum(total_2_ * total_2_, 1, keep_dims=True)
    # g[n,d] = delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(1e-5 + mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2))
    delta_ = tl.load(delta_ptr + r)
    gamma_ = tl.load(gamma_ptr)
    g_ = delta_ + total_2_ * (gamma_ * (1.0 / tl.sqrt(1e-05 + 1 / n_D * total_3_)))
    tl.store(g_ptr + (sample * n_N + i) * n_D + r, g_, mask=inside)


@jit
def product_kernel(
    g_ptr, product_ptr, xi_ptr, samples, n_N: tl.constexpr, n_D: tl.constexpr, precision: tl.constexpr
):
    """product."""
    real = tl.float32 if xi_ptr.dtype.element_ty == tl.bfloat16 else xi_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place // n_N
    inside = sample < samples
    i = place % n_N
    r = tl.arange(0, 128)[None, :]
    # sum[d](xi[j,d] * g[n,d])
    product_ = tl.full((16, 128), 0.0, real)
    for start in range(0, n_D, 16):
        t = start + tl.arange(0, 16)
        g_ = tl.load(g_ptr + (sample * n_N + i) * n_D + t[None, :], mask=inside, other=0.0)
        xi_ = tl.load(xi_ptr + t[:, None] + n_D * r)
        product_ = block_dot(g_, xi_, product_, precision)
    # relu(sum[d](xi[j,d] * g[n,d]))
    image_ = block_relu(product_)
    r_2 = tl.arange(0, 64)[None, :]
    # sum[j](xi[j,d] * relu(sum[d2](xi[j,d2] * g[n,d2])))
    t_2 = tl.arange(0, 128)
    xi_2_ = tl.load(xi_ptr + t_2[:, None] * n_D + r_2)
    product_2_ = block_dot(image_, xi_2_, tl.full((16, 64), 0.0, real), precision)
    tl.store(product_ptr + (sample * n_N + i) * n_D + r_2, product_2_, mask=inside)


@jit
def s_kernel(
    k_ptr,
    q_ptr,
    src_ptr,
    dst_ptr,
    beta_ptr,
    s_ptr,
    samples,
    n_N: tl.constexpr,
    n_E: tl.constexpr,
    n_H: tl.constexpr,
    n_Y: tl.constexpr,
):
    """s."""
    real = beta_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    sample = place // (n_H * n_E)
    inside = sample < samples
    i = place // n_E % n_H
    j = place % n_E
    r = tl.arange(0, 32)[None, :]
    # sum[y](k[h,src[e],y] * q[h,dst[e],y])
    src_ = tl.load(src_ptr + sample * n_E + j, mask=inside, other=0)
    k_ = tl.load(k_ptr + n_Y * (sample * n_H * n_N + src_) + i * n_N * n_Y + r, mask=inside, other=0.0).to(real)
    dst_ = tl.load(dst_ptr + sample * n_E + j, mask=inside, other=0)
    q_ = tl.load(q_ptr + n_Y * (sample * n_H * n_N + dst_) + i * n_N * n_Y + r, mask=inside, other=0.0).to(real)
    total_ = tl.sum(k_ * q_, 1, keep_dims=True)
    # s[h,e] = beta * sum[y](k[h,src[e],y] * q[h,dst[e],y])
    beta_ = tl.load(beta_ptr)
    s_ = beta_ * total_
    tl.store(s_ptr + (sample * n_H + i) * n_E + j, s_, mask=inside)


@jit
def power_kernel(
    s_ptr, largest_ptr, dst_ptr, power_ptr, samples, n_N: tl.constexpr, n_E: tl.constexpr, n_H: tl.constexpr
):
    """power."""
    real = tl.float32 if power_ptr.dtype.element_ty == tl.bfloat16 else power_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // n_H
    inside = sample < samples
    i = place % n_H
    start = tl.program_id(1) * 4096
    r = start + tl.arange(0, 4096)[None, :]
    s_ = tl.load(s_ptr + (sample * n_H + i) * n_E + r, mask=inside & (r < n_E), other=0.0).to(real)
    dst_ = tl.load(dst_ptr + sample * n_E + r, mask=inside & (r < n_E), other=0)
    largest_ = tl.load(
        largest_ptr + sample * n_H * n_N + dst_ + n_N * i,
        mask=inside & (r < n_E),
        other=0.0,
    ).to(real)
    power_ = tl.exp(s_ - largest_)
    tl.store(power_ptr + (sample * n_H + i) * n_E + r, power_, mask=inside & (r < n_E))


@jit
def total_kernel(
    whole_ptr, power_ptr, dst_ptr, total_ptr, samples, n_N: tl.constexpr, n_E: tl.constexpr, n_H: tl.constexpr
):
    """total."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // n_H
    inside = sample < samples
    i = place % n_H
    start = tl.program_id(1) * 4096
    r = start + tl.arange(0, 4096)[None, :]
    # softmax[e by dst[e]](s[h,e])
    dst_ = tl.load(dst_ptr + sample * n_E + r, mask=inside & (r < n_E), other=0)
    whole_ = tl.load(
        whole_ptr + sample * n_H * n_N + dst_ + n_N * i,
        mask=inside & (r < n_E),
        other=0.0,
    ).to(real)
    power_ = tl.load(power_ptr + (sample * n_H + i) * n_E + r, mask=inside & (r < n_E), other=0.0).to(real)
    total_ = tl.where(whole_ == 0.0, 0.0, power_ / whole_)
    tl.store(total_ptr + (sample * n_H + i) * n_E + r, total_, mask=inside & (r < n_E))


@jit
def total_2_kernel(beta_ptr, offset_ptr, total_ptr, total_2_ptr, samples, n_E: tl.constexpr, n_H: tl.constexpr):
    """total."""
    real = offset_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // n_H
    inside = sample < samples
    i = place % n_H
    start = tl.program_id(1) * 4096
    r = start + tl.arange(0, 4096)[None, :]
    # beta * offset * softmax[h,e]
    beta_ = tl.load(beta_ptr)
    offset_ = tl.load(offset_ptr)
    total_ = tl.load(total_ptr + (sample * n_H + i) * n_E + r, mask=inside & (r < n_E), other=0.0).to(real)
    total_2_ = beta_ * (offset_ * total_)
    tl.store(total_2_ptr + (sample * n_H + i) * n_E + r, total_2_, mask=inside & (r < n_E))


@jit
def entries_kernel(
    q_ptr,
    total_ptr,
    dst_ptr,
    k_ptr,
    src_ptr,
    entries_ptr,
    entries_2_ptr,
    samples,
    n_N: tl.constexpr,
    n_E: tl.constexpr,
    n_H: tl.constexpr,
    n_Y: tl.constexpr,
):
    """entries."""
    real = tl.float32 if entries_2_ptr.dtype.element_ty == tl.bfloat16 else entries_2_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // (n_H * n_Y)
    inside = sample < samples
    i = place // n_Y % n_H
    j = place % n_Y
    start = tl.program_id(1) * 4096
    r = start + tl.arange(0, 4096)[None, :]
    dst_ = tl.load(dst_ptr + sample * n_E + r, mask=inside & (r < n_E), other=0)
    q_ = tl.load(
        q_ptr + n_Y * (sample * n_H * n_N + dst_) + i * n_N * n_Y + j,
        mask=inside & (r < n_E),
        other=0.0,
    ).to(real)
    total_ = tl.load(total_ptr + (sample * n_H + i) * n_E + r, mask=inside & (r < n_E), other=0.0).to(real)
    entries_ = q_ * total_
    tl.store(entries_ptr + ((sample * n_H + i) * n_Y + j) * n_E + r, entries_, mask=inside & (r < n_E))
    src_ = tl.load(src_ptr + sample * n_E + r, mask=inside & (r < n_E), other=0)
    k_ = tl.load(
        k_ptr + n_Y * (sample * n_H * n_N + src_) + i * n_N * n_Y + j,
        mask=inside & (r < n_E),
        other=0.0,
    ).to(real)
    entries_2_ = k_ * total_
    tl.store(entries_2_ptr + ((sample * n_H + i) * n_Y + j) * n_E + r, entries_2_, mask=inside & (r < n_E))


@jit
def next_x_kernel(x_ptr, product_ptr, next_x_ptr, scalars, samples, n_N: tl.constexpr, n_D: tl.constexpr):
    """next_x."""
    real = next_x_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = place // n_N
    inside = sample < samples
    i = place % n_N
    step_x_ = tl.load(scalars)
    r = tl.arange(0, 64)[None, :]
    x_ = tl.load(x_ptr + (sample * n_N + i) * n_D + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + (sample * n_N + i) * n_D + r, mask=inside, other=0.0).to(real)
    next_x_ = x_ + step_x_ * product_
    tl.store(next_x_ptr + (sample * n_N + i) * n_D + r, next_x_, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 24.
    """
    x_, = now
    next_x_, = then
    xi_, delta_, gamma_, W_k_, src_, dst_, W_q_, beta_, offset_ = given
    n = len(x_)
    g_ = room(memory, n, 0, n_N * n_D)
    product_ = room(memory, n, 128000, n_N * n_D)
    q_ = room(memory, n, 256000, n_H * n_N * n_Y)
    k_ = room(memory, n, 384000, n_H * n_N * n_Y)
    s_ = room(memory, n, 0, n_H * n_E)
    largest_ = room(memory, n, 48000, n_H * n_N)
    power_ = room(memory, n, 52000, n_H * n_E)
    whole_ = room(memory, n, 0, n_H * n_N)
    total_ = room(memory, n, 4000, n_H * n_E)
    total_2_ = room(memory, n, 52000, n_H * n_E)
    entries_ = room(memory, n, 512000, n_H * n_Y * n_E)
    entries_2_ = room(memory, n, 2048000, n_H * n_Y * n_E)
    total_3_ = room(memory, n, 0, n_H * n_N * n_Y)
    total_4_ = room(memory, n, 0, n_H * n_N * n_Y)
    g_kernel[(cdiv(n_N * n, 16),)](x_, delta_, gamma_, g_, n, n_N, n_D)
    product_kernel[(cdiv(n_N * n, 16),)](
        g_,
        product_,
        xi_,
        n,
        n_N,
        n_D,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # q[h,n,y] = sum[d](W_q[y,h,d] * g[n,d])
    put_einsum(
        matrix(q_, (n, n_H, n_N, n_Y), (n_H * n_N * n_Y, n_N * n_Y, n_Y, 1)),
        "ace,bde->abcd",
        matrix(g_, (n, n_N, n_D), (n_N * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_Y, n_D), (n_D, n_H * n_D, 1)),
    )
    # k[h,n,y] = sum[d](W_k[y,h,d] * g[n,d])
    put_einsum(
        matrix(k_, (n, n_H, n_N, n_Y), (n_H * n_N * n_Y, n_N * n_Y, n_Y, 1)),
        "ace,bde->abcd",
        matrix(g_, (n, n_N, n_D), (n_N * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_Y, n_D), (n_D, n_H * n_D, 1)),
    )
    s_kernel[(cdiv(n_H * n_E * n, 32),)](k_, q_, src_, dst_, beta_, s_, n, n_N, n_E, n_H, n_Y)
    scatter(
        matrix(largest_, (n, n_H, n_N), (n_H * n_N, n_N, 1)),
        matrix(dst_, (n, n_H, n_E), (n_E, 0, 1)),
        matrix(s_, (n, n_H, n_E), (n_H * n_E, n_E, 1)),
        "max",
    )
    power_kernel[(n_H * n, 6)](s_, largest_, dst_, power_, n, n_N, n_E, n_H, num_warps=8)
    scatter(
        matrix(whole_, (n, n_H, n_N), (n_H * n_N, n_N, 1)),
        matrix(dst_, (n, n_H, n_E), (n_E, 0, 1)),
        matrix(power_, (n, n_H, n_E), (n_H * n_E, n_E, 1)),
        "sum",
    )
    total_kernel[(n_H * n, 6)](whole_, power_, dst_, total_, n, n_N, n_E, n_H, num_warps=8)
    total_2_kernel[(n_H * n, 6)](beta_, offset_, total_, total_2_, n, n_E, n_H, num_warps=8)
    entries_kernel[(n_H * n_Y * n, 6)](
        q_,
        total_2_,
        dst_,
        k_,
        src_,
        entries_,
        entries_2_,
        n,
        n_N,
        n_E,
        n_H,
        n_Y,
        num_warps=8,
    )
    # sum[e | n == src[e]](q[h,dst[e],y] * beta * offset * softmax[h,e])
    scatter(
        matrix(total_3_, (n, n_H, n_Y, n_N), (n_H * n_N * n_Y, n_N * n_Y, 1, n_Y)),
        matrix(src_, (n, n_H, n_Y, n_E), (n_E, 0, 0, 1)),
        matrix(entries_, (n, n_H, n_Y, n_E), (n_H * n_Y * n_E, n_Y * n_E, n_E, 1)),
        "sum",
    )
    # sum[y,h](W_k[y,h,d] * sum[e | n == src[e]](q[h,dst[e],y] * beta * offset * softmax[h,e]))
    put_einsum(
        matrix(product_, (n, n_N, n_D), (n_N * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(total_3_, (n, n_N, n_H, n_Y), (n_H * n_N * n_Y, n_Y, n_N * n_Y, 1)),
        matrix(W_k_, (n_D, n_H, n_Y), (1, n_D, n_H * n_D)),
        adds=True,
    )
    # sum[e | n == dst[e]](k[h,src[e],y] * beta * offset * softmax[h,e])
    scatter(
        matrix(total_4_, (n, n_H, n_Y, n_N), (n_H * n_N * n_Y, n_N * n_Y, 1, n_Y)),
        matrix(dst_, (n, n_H, n_Y, n_E), (n_E, 0, 0, 1)),
        matrix(entries_2_, (n, n_H, n_Y, n_E), (n_H * n_Y * n_E, n_Y * n_E, n_E, 1)),
        "sum",
    )
    # sum[y,h](W_q[y,h,d] * sum[e | n == dst[e]](k[h,src[e],y] * beta * offset * softmax[h,e]))
    put_einsum(
        matrix(product_, (n, n_N, n_D), (n_N * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(total_4_, (n, n_N, n_H, n_Y), (n_H * n_N * n_Y, n_Y, n_N * n_Y, 1)),
        matrix(W_q_, (n_D, n_H, n_Y), (1, n_D, n_H * n_D)),
        adds=True,
    )
    next_x_kernel[(cdiv(n_N * n, 16),)](x_, product_, next_x_, scalars, n, n_N, n_D)


# in EtAnomalyEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
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
    kernels = TritonKernels({"free": PhaseStep(free_step, 3584000, matrices={0, 3, 6}, batched={4, 5})})
