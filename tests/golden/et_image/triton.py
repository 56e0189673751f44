@jit
def g_kernel(x_ptr, delta_ptr, gamma_ptr, g_ptr, samples, n_G: tl.constexpr, n_D: tl.constexpr):
    """g."""
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // (n_G * n_G)
    inside = sample < samples
    i = place // n_G % n_G
    j = place % n_G
    r = tl.arange(0, 1024)[None, :]
    # sum[d](x[i,j,d])
    x_ = tl.load(x_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, mask=inside & (r < n_D), other=0.0)
    total_ = tl.sum(tl.where(inside & (r < n_D), x_, 0.0), 1, keep_dims=True)
    # x[i,j,d] - mean[d2](x[i,j,d2])
    total_2_ = x_ - 1 / n_D * total_
    # sum[d]((x[i,j,d] - mean[d2](x[i,j,d2]))^2)
    total_3_ = tl.sum(tl.where(inside & (r < n_D), total_2_ * total_2_, 0.0), 1, keep_dims=True)
    # g[i,j,d] = delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] -
    #   mean[d3](x[i,j,d3]))^2) + 1e-5)
    delta_ = tl.load(delta_ptr + r, mask=r < n_D, other=0.0)
    gamma_ = tl.load(gamma_ptr)
    g_ = delta_ + total_2_ * (gamma_ * (1.0 / tl.sqrt(1 / n_D * total_3_ + 1e-05)))
    tl.store(g_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, g_, mask=inside & (r < n_D))


@jit
def image_kernel(product_ptr, image_ptr, samples, n_G: tl.constexpr, n_K: tl.constexpr):
    """image."""
    real = tl.float32 if image_ptr.dtype.element_ty == tl.bfloat16 else image_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // (n_G * n_G)
    inside = sample < samples
    i = place // n_G % n_G
    j = place % n_G
    r = tl.arange(0, 4096)[None, :]
    # relu(sum[d](xi[s,d] * g[i,j,d]))
    product_ = tl.load(
        product_ptr + ((sample * n_G + i) * n_G + j) * n_K + r,
        mask=inside & (r < n_K),
        other=0.0,
    ).to(real)
    image_ = block_relu(product_)
    tl.store(image_ptr + ((sample * n_G + i) * n_G + j) * n_K + r, image_, mask=inside & (r < n_K))


@jit
def weights_kernel(
    q_ptr, k_ptr, weights_ptr, n_G: tl.constexpr, n_H: tl.constexpr, n_Y: tl.constexpr, precision: tl.constexpr
):
    """weights."""
    real = tl.float32 if weights_ptr.dtype.element_ty == tl.bfloat16 else weights_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = matrix // n_H
    inside = place < n_G * n_G
    i = matrix % n_H
    j = place // n_G
    k = place % n_G
    r = tl.arange(0, 256)[None, :]
    m = r // n_G
    p = r % n_G
    # sum[y](q[h,m,n,y] * k[h,i,j,y])
    product_ = tl.full((16, 256), 0.0, real)
    for start in range(0, n_Y, 16):
        t = start + tl.arange(0, 16)
        q_ = tl.load(
            q_ptr + (((sample * n_H + i) * n_G + j) * n_G + k) * n_Y + t[None, :],
            mask=inside,
            other=0.0,
        )
        k_ = tl.load(
            k_ptr + (sample * n_H + i) * n_G * n_G * n_Y + t[:, None] + n_Y * (m * n_G + p),
            mask=r < n_G * n_G,
            other=0.0,
        )
        product_ = block_dot(q_, k_, product_, precision)
    largest_ = tl.max(
        tl.where(
            inside & (r < n_G * n_G),
            tl.where((m != j) | (p != k), 0.125 * product_, float("-inf")),
            float("-inf"),
        ),
        1,
        keep_dims=True,
    )
    power_ = tl.where((m != j) | (p != k), tl.exp(0.125 * product_ - largest_), 0.0)
    whole_ = tl.sum(tl.where(inside & (r < n_G * n_G), power_, 0.0), 1, keep_dims=True)
    # softmax[i,j | i != m or j != n](beta * sum[y](q[h,m,n,y] * k[h,i,j,y]))
    weights_ = tl.where(whole_ == 0.0, 0.0, power_ / whole_)
    tl.store(
        weights_ptr + ((((sample * n_H + i) * n_G + j) * n_G + k) * n_G + m) * n_G + p,
        weights_,
        mask=inside & (r < n_G * n_G),
    )


@jit
def next_x_kernel(x_ptr, product_ptr, next_x_ptr, scalars, samples, n_G: tl.constexpr, n_D: tl.constexpr):
    """next_x."""
    real = next_x_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // (n_G * n_G)
    inside = sample < samples
    i = place // n_G % n_G
    j = place % n_G
    step_x_ = tl.load(scalars)
    r = tl.arange(0, 1024)[None, :]
    x_ = tl.load(x_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, mask=inside & (r < n_D), other=0.0)
    product_ = tl.load(
        product_ptr + ((sample * n_G + i) * n_G + j) * n_D + r,
        mask=inside & (r < n_D),
        other=0.0,
    ).to(real)
    next_x_ = x_ + step_x_ * product_
    tl.store(next_x_ptr + ((sample * n_G + i) * n_G + j) * n_D + r, next_x_, mask=inside & (r < n_D))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 16.
    """
    x_, = now
    next_x_, = then
    xi_, delta_, gamma_, W_k_, W_q_ = given
    n = len(x_)
    g_ = room(memory, n, 0, n_G * n_G * n_D)
    product_ = room(memory, n, 150528, n_G * n_G * n_K)
    image_ = room(memory, n, 752640, n_G * n_G * n_K)
    product_2_ = room(memory, n, 150528, n_G * n_G * n_D)
    q_ = room(memory, n, 301056, n_H * n_G * n_G * n_Y)
    k_ = room(memory, n, 451584, n_H * n_G * n_G * n_Y)
    weights_ = room(memory, n, 602112, n_H * n_G * n_G * n_G * n_G)
    product_3_ = room(memory, n, 0, n_H * n_G * n_G * n_Y)
    product_4_ = room(memory, n, 0, n_H * n_G * n_G * n_Y)
    g_kernel[(n_G * n_G * n,)](x_, delta_, gamma_, g_, n, n_G, n_D)
    # sum[d](xi[s,d] * g[i,j,d])
    put_product(
        matrix(product_, (n_G * n_G * n, n_K), (n_K, 1)),
        matrix(g_, (n_G * n_G * n, n_D), (n_D, 1)),
        matrix(xi_, (n_D, n_K), (1, n_D)),
    )
    image_kernel[(n_G * n_G * n,)](product_, image_, n, n_G, n_K, num_warps=8)
    # sum[s](xi[s,d] * relu(sum[d2](xi[s,d2] * g[i,j,d2])))
    put_product(
        matrix(product_2_, (n_G * n_G * n, n_D), (n_D, 1)),
        matrix(image_, (n_G * n_G * n, n_K), (n_K, 1)),
        matrix(xi_, (n_K, n_D), (n_D, 1)),
    )
    # q[h,i,j,y] = sum[d](W_q[y,h,d] * g[i,j,d])
    put_einsum(
        matrix(q_, (n, n_H, n_G * n_G, n_Y), (n_H * n_G * n_G * n_Y, n_G * n_G * n_Y, n_Y, 1)),
        "ace,bde->abcd",
        matrix(g_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        matrix(W_q_, (n_H, n_Y, n_D), (n_D, n_H * n_D, 1)),
    )
    # k[h,i,j,y] = sum[d](W_k[y,h,d] * g[i,j,d])
    put_einsum(
        matrix(k_, (n, n_H, n_G * n_G, n_Y), (n_H * n_G * n_G * n_Y, n_G * n_G * n_Y, n_Y, 1)),
        "ace,bde->abcd",
        matrix(g_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        matrix(W_k_, (n_H, n_Y, n_D), (n_D, n_H * n_D, 1)),
    )
    weights_kernel[(n_H * n, cdiv(n_G * n_G, 16))](
        q_,
        k_,
        weights_,
        n_G,
        n_H,
        n_Y,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[m,n](q[h,m,n,y] * softmax[i,j | i != m or j != n](beta * sum[y2](q[h,m,n,y2] * k[h,i,j,y2])))
    put_product(
        matrix(product_3_, (n_H * n, n_G * n_G, n_Y), (n_G * n_G * n_Y, n_Y, 1)),
        matrix(weights_, (n_H * n, n_G * n_G, n_G * n_G), (n_G * n_G * n_G * n_G, 1, n_G * n_G)),
        matrix(q_, (n_H * n, n_G * n_G, n_Y), (n_G * n_G * n_Y, n_Y, 1)),
    )
    # sum[y,h](W_k[y,h,d] * sum[m,n](q[h,m,n,y] * softmax[i,j | i != m or j != n](beta * sum[y2](q[h,m,n,y2] *
    #   k[h,i,j,y2]))))
    put_einsum(
        matrix(product_2_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(product_3_, (n, n_G * n_G, n_H, n_Y), (n_H * n_G * n_G * n_Y, n_Y, n_G * n_G * n_Y, 1)),
        matrix(W_k_, (n_D, n_H, n_Y), (1, n_D, n_H * n_D)),
        adds=True,
    )
    # sum[m,n](k[h,m,n,y] * softmax[m,n | m != i or n != j](beta * sum[y2](q[h,i,j,y2] * k[h,m,n,y2])))
    put_product(
        matrix(product_4_, (n_H * n, n_G * n_G, n_Y), (n_G * n_G * n_Y, n_Y, 1)),
        matrix(weights_, (n_H * n, n_G * n_G, n_G * n_G), (n_G * n_G * n_G * n_G, n_G * n_G, 1)),
        matrix(k_, (n_H * n, n_G * n_G, n_Y), (n_G * n_G * n_Y, n_Y, 1)),
    )
    # sum[y,h](W_q[y,h,d] * sum[m,n](k[h,m,n,y] * softmax[m,n | m != i or n != j](beta * sum[y2](q[h,i,j,y2] *
    #   k[h,m,n,y2]))))
    put_einsum(
        matrix(product_2_, (n, n_G * n_G, n_D), (n_G * n_G * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(product_4_, (n, n_G * n_G, n_H, n_Y), (n_H * n_G * n_G * n_Y, n_Y, n_G * n_G * n_Y, 1)),
        matrix(W_q_, (n_D, n_H, n_Y), (1, n_D, n_H * n_D)),
        adds=True,
    )
    next_x_kernel[(n_G * n_G * n,)](x_, product_2_, next_x_, scalars, n, n_G, n_D)


# in EtImageEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
        if name == "free":
            return [self.xi, self.delta, self.gamma, self.W_k, self.W_q]
        raise KeyError(name)


# in EtImage
    """The network: its equations, relaxed by kernels and learned."""


# in EtImage
    kernels = TritonKernels({"free": PhaseStep(free_step, 1354752, matrices={0, 3, 4})})
