@jit
def free_group_1(x, delta, gamma, g, samples):
    """g."""
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 196 * samples
    sample = place // 196
    i = place // 14 % 14
    j = place % 14
    r = tl.arange(0, 1024)[None, :]
    # sum[d](x[i,j,d])
    x_here = tl.load(x + 150528 * sample + 10752 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    total = tl.sum(tl.where(inside & (r < 768), x_here, 0.0), 1, keep_dims=True)
    # x[i,j,d] - mean[d2](x[i,j,d2])
    total_2 = x_here + (-0.0013020833333333333 * total)
    # sum[d]((x[i,j,d] - mean[d2](x[i,j,d2]))^2)
    total_3 = tl.sum(tl.where(inside & (r < 768), total_2 * total_2, 0.0), 1, keep_dims=True)
    # g[i,j,d] = delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] -
    #   mean[d3](x[i,j,d3]))^2) + 1e-5)
    delta_here = tl.load(delta + r, mask=r < 768, other=0.0)
    gamma_here = tl.load(gamma)
    g_here = delta_here + total_2 * (gamma_here * (1.0 / (tl.sqrt(0.0013020833333333333 * total_3 + 1e-05 * 1.0))))
    tl.store(g + 150528 * sample + 10752 * i + 768 * j + r, g_here, mask=inside & (r < 768))


@jit
def free_group_2(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 196 * samples
    sample = place // 196
    i = place // 14 % 14
    j = place % 14
    r = tl.arange(0, 4096)[None, :]
    # relu(sum[d](xi[s,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] -
    #   mean[d3](x[i,j,d3]))^2) + 1e-5))))
    product_here = tl.load(
        product + 602112 * sample + 43008 * i + 3072 * j + r,
        mask=inside & (r < 3072),
        other=0.0,
    ).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 602112 * sample + 43008 * i + 3072 * j + r, image_here, mask=inside & (r < 3072))


@jit
def free_group_3(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    inside = place < 2352 * samples
    sample = place // 2352
    i = place // 196 % 12
    j = place // 14 % 14
    k = place % 14
    r = tl.arange(0, 256)[None, :]
    m = r // 14
    p = r % 14
    product_here = tl.load(
        product + 460992 * sample + 38416 * i + 2744 * j + 196 * k + 14 * m + p,
        mask=inside & (r < 196) & ((m != j) | (p != k)),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(
        tl.where(
            inside & (r < 196),
            tl.where((m != j) | (p != k), 0.125 * product_here, float("-inf")),
            float("-inf"),
        ),
        1,
        keep_dims=True,
    )
    power = tl.where((m != j) | (p != k), tl.exp((0.125 * product_here) - largest_2), 0.0)
    whole = tl.sum(tl.where(inside & (r < 196), power, 0.0), 1, keep_dims=True)
    # softmax[i,j | i != m or j != n](beta * sum[y](sum[d](W_q[y,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2]))
    #   * gamma / sqrt(mean[d2]((x[m,n,d2] - mean[d3](x[m,n,d3]))^2) + 1e-5))) * sum[d](W_k[y,h,d] * (delta[d] +
    #   (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5)))))
    weights_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(
        weights + 460992 * sample + 38416 * i + 2744 * j + 196 * k + 14 * m + p,
        weights_here,
        mask=inside & (r < 196),
    )


@jit
def free_group_4(x, product, next_x, scalars, samples):
    """next_x."""
    real = next_x.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 196 * samples
    sample = place // 196
    i = place // 14 % 14
    j = place % 14
    step_x = tl.load(scalars)
    r = tl.arange(0, 1024)[None, :]
    x_here = tl.load(x + 150528 * sample + 10752 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    product_here = tl.load(
        product + 150528 * sample + 10752 * i + 768 * j + r,
        mask=inside & (r < 768),
        other=0.0,
    ).to(real)
    next_x_here = x_here + step_x * product_here
    tl.store(next_x + 150528 * sample + 10752 * i + 768 * j + r, next_x_here, mask=inside & (r < 768))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    x, = now
    next_x, = then
    xi, delta, gamma, W_k, W_q = given
    n = len(x)
    g = room(memory, n, 0, 150528)
    product = room(memory, n, 150528, 602112)
    image = room(memory, n, 752640, 602112)
    product_2 = room(memory, n, 150528, 150528)
    q = room(memory, n, 301056, 150528)
    k = room(memory, n, 451584, 150528)
    product_3 = room(memory, n, 602112, 460992)
    weights = room(memory, n, 1063104, 460992)
    product_4 = room(memory, n, 0, 150528)
    product_5 = room(memory, n, 0, 150528)
    free_group_1[(196 * n,)](x, delta, gamma, g, n)
    # sum[d](xi[s,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] -
    #   mean[d3](x[i,j,d3]))^2) + 1e-5)))
    put_product(
        matrix(product, (196 * n, 3072), (3072, 1)),
        matrix(g, (196 * n, 768), (768, 1)),
        matrix(xi, (768, 3072), (1, 768)),
    )
    free_group_2[(196 * n,)](product, image, n, num_warps=8)
    # sum[s](xi[s,d] * relu(sum[d2](xi[s,d2] * (delta[d2] + (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma /
    #   sqrt(mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5)))))
    put_product(
        matrix(product_2, (196 * n, 768), (768, 1)),
        matrix(image, (196 * n, 3072), (3072, 1)),
        matrix(xi, (3072, 768), (768, 1)),
    )
    # q[h,i,j,y] = sum[d](W_q[y,h,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma /
    #   sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5)))
    put_einsum(
        matrix(q, (n, 12, 196, 64), (150528, 12544, 64, 1)),
        "ace,bde->abcd",
        matrix(g, (n, 196, 768), (150528, 768, 1)),
        matrix(W_q, (12, 64, 768), (768, 9216, 1)),
    )
    # k[h,i,j,y] = sum[d](W_k[y,h,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma /
    #   sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5)))
    put_einsum(
        matrix(k, (n, 12, 196, 64), (150528, 12544, 64, 1)),
        "ace,bde->abcd",
        matrix(g, (n, 196, 768), (150528, 768, 1)),
        matrix(W_k, (12, 64, 768), (768, 9216, 1)),
    )
    # sum[y](sum[d](W_q[y,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma / sqrt(mean[d2]((x[m,n,d2] -
    #   mean[d3](x[m,n,d3]))^2) + 1e-5))) * sum[d](W_k[y,h,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma
    #   / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5))))
    put_product(
        matrix(product_3, (12 * n, 196, 196), (38416, 196, 1)),
        matrix(q, (12 * n, 196, 64), (12544, 64, 1)),
        matrix(k, (12 * n, 64, 196), (12544, 1, 64)),
    )
    free_group_3[(cdiv(2352 * n, 4),)](product_3, weights, n)
    # sum[m,n](sum[d](W_q[y,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma / sqrt(mean[d2]((x[m,n,d2] -
    #   mean[d3](x[m,n,d3]))^2) + 1e-5))) * softmax[i,j | i != m or j != n](beta * sum[y2](sum[d](W_q[y2,h,d] *
    #   (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma / sqrt(mean[d2]((x[m,n,d2] - mean[d3](x[m,n,d3]))^2) +
    #   1e-5))) * sum[d](W_k[y2,h,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma /
    #   sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5))))))
    put_product(
        matrix(product_4, (12 * n, 196, 64), (12544, 64, 1)),
        matrix(weights, (12 * n, 196, 196), (38416, 1, 196)),
        matrix(q, (12 * n, 196, 64), (12544, 64, 1)),
    )
    # sum[y,h](W_k[y,h,d] * sum[m,n](sum[d2](W_q[y,h,d2] * (delta[d2] + (x[m,n,d2] - mean[d3](x[m,n,d3])) * gamma /
    #   sqrt(mean[d3]((x[m,n,d3] - mean[d4](x[m,n,d4]))^2) + 1e-5))) * softmax[i,j | i != m or j != n](beta *
    #   sum[y2](sum[d2](W_q[y2,h,d2] * (delta[d2] + (x[m,n,d2] - mean[d3](x[m,n,d3])) * gamma /
    #   sqrt(mean[d3]((x[m,n,d3] - mean[d4](x[m,n,d4]))^2) + 1e-5))) * sum[d2](W_k[y2,h,d2] * (delta[d2] +
    #   (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma / sqrt(mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5)))))))
    put_einsum(
        matrix(product_2, (n, 196, 768), (150528, 768, 1)),
        "abde,cde->abc",
        matrix(product_4, (n, 196, 12, 64), (150528, 64, 12544, 1)),
        matrix(W_k, (768, 12, 64), (1, 768, 9216)),
        adds=True,
    )
    # sum[m,n](sum[d](W_k[y,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma / sqrt(mean[d2]((x[m,n,d2] -
    #   mean[d3](x[m,n,d3]))^2) + 1e-5))) * softmax[m,n | m != i or n != j](beta * sum[y2](sum[d](W_q[y2,h,d] *
    #   (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) +
    #   1e-5))) * sum[d](W_k[y2,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma /
    #   sqrt(mean[d2]((x[m,n,d2] - mean[d3](x[m,n,d3]))^2) + 1e-5))))))
    put_product(
        matrix(product_5, (12 * n, 196, 64), (12544, 64, 1)),
        matrix(weights, (12 * n, 196, 196), (38416, 196, 1)),
        matrix(k, (12 * n, 196, 64), (12544, 64, 1)),
    )
    # sum[y,h](W_q[y,h,d] * sum[m,n](sum[d2](W_k[y,h,d2] * (delta[d2] + (x[m,n,d2] - mean[d3](x[m,n,d3])) * gamma /
    #   sqrt(mean[d3]((x[m,n,d3] - mean[d4](x[m,n,d4]))^2) + 1e-5))) * softmax[m,n | m != i or n != j](beta *
    #   sum[y2](sum[d2](W_q[y2,h,d2] * (delta[d2] + (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma /
    #   sqrt(mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5))) * sum[d2](W_k[y2,h,d2] * (delta[d2] +
    #   (x[m,n,d2] - mean[d3](x[m,n,d3])) * gamma / sqrt(mean[d3]((x[m,n,d3] - mean[d4](x[m,n,d4]))^2) + 1e-5)))))))
    put_einsum(
        matrix(product_2, (n, 196, 768), (150528, 768, 1)),
        "abde,cde->abc",
        matrix(product_5, (n, 196, 12, 64), (150528, 64, 12544, 1)),
        matrix(W_q, (768, 12, 64), (1, 768, 9216)),
        adds=True,
    )
    free_group_4[(196 * n,)](x, product_2, next_x, scalars, n)


# in EtImageEquations
    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [self.xi, self.delta, self.gamma, self.W_k, self.W_q]
        raise KeyError(name)


# in EtImage
    """The network: its equations, relaxed by kernels and learned."""


# in EtImage
    learning_rules = (bptt, implicit,)


# in EtImage
    kernels = TritonKernels({"free": PhaseStep(free_step, 1524096, matrices={0, 3, 4})})
