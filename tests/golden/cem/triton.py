@jit
def total_kernel(x_ptr, g_u_ptr, total_ptr, samples, n_J: tl.constexpr, n_D: tl.constexpr):
    """total."""
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    sample = place // n_J
    inside = sample < samples
    i = place % n_J
    r = tl.arange(0, 512)[None, :]
    # sum[d](x[i,d]^2)
    x_ = tl.load(x_ptr + (sample * n_J + i) * n_D + r, mask=inside, other=0.0)
    total_ = tl.sum(x_ * x_, 1, keep_dims=True)
    # g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6)
    g_u_ = tl.load(g_u_ptr + r)
    total_2_ = g_u_ * (x_ * (1.0 / tl.sqrt(1 / n_D * total_ + 1e-06)))
    tl.store(total_ptr + (sample * n_J + i) * n_D + r, total_2_, mask=inside)


@jit
def weights_kernel(
    q_ptr,
    key_ptr,
    alibi_ptr,
    product_ptr,
    weights_ptr,
    n_J: tl.constexpr,
    n_K: tl.constexpr,
    n_R: tl.constexpr,
    precision: tl.constexpr,
):
    """weights."""
    real = alibi_ptr.dtype.element_ty
    matrix = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    sample = matrix // n_K
    i = matrix % n_K
    j = place
    r = tl.arange(0, 256)[None, :]
    # sum[r](key[k,j,r] * q[k,i,r])
    product_ = tl.full((16, 256), 0.0, real)
    for start in range(0, n_R, 16):
        t = start + tl.arange(0, 16)
        q_ = tl.load(q_ptr + ((sample * n_K + i) * n_J + j) * n_R + t[None, :])
        key_ = tl.load(key_ptr + (sample * n_K + i) * n_J * n_R + t[:, None] + n_R * r)
        product_ = block_dot(q_, key_, product_, precision)
    # s[k,i,j] = alibi[k,i,j] + (sum[d](g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6) * diag_n1_part[j,d]) +
    #   sum[r](key[k,j,r] * q[k,i,r])) / tau
    alibi_ = tl.load(alibi_ptr + (i * n_J + j) * n_J + r)
    product_2_ = tl.load(product_ptr + (sample * n_J + j) * n_J + r).to(real)
    s_ = alibi_ + 0.044194173824159216 * (product_2_ + product_)
    largest_ = tl.max(tl.where(r <= j, s_, float("-inf")), 1, keep_dims=True)
    power_ = tl.where(r <= j, tl.exp(s_ - largest_), 0.0)
    whole_ = tl.sum(power_, 1, keep_dims=True)
    # softmax[j | j <= i](s[k,i,j])
    weights_ = tl.where(whole_ == 0.0, 0.0, power_ / whole_)
    tl.store(weights_ptr + ((sample * n_K + i) * n_J + j) * n_J + r, weights_)


@jit
def total_2_kernel(product_ptr, total_ptr, samples, n_J: tl.constexpr, n_D: tl.constexpr, n_K: tl.constexpr):
    """total."""
    real = tl.float32 if total_ptr.dtype.element_ty == tl.bfloat16 else total_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    sample = place // (n_K * n_J)
    inside = sample < samples
    i = place // n_J % n_K
    j = place % n_J
    r = tl.arange(0, 512)[None, :]
    # -sum[r](W_q[k,r,d] * sum[j](key[k,j,r] * softmax[j | j <= i](s[k,i,j]))) - sum[j](diag_n1_part[j,d] *
    #   softmax[j | j <= i](s[k,i,j]))
    product_ = tl.load(product_ptr + ((sample * n_K + i) * n_J + j) * n_D + r, mask=inside, other=0.0).to(real)
    total_ = product_
    tl.store(total_ptr + ((sample * n_K + i) * n_J + j) * n_D + r, total_, mask=inside)


@jit
def next_x_kernel(x_ptr, product_ptr, next_x_ptr, scalars, samples, n_J: tl.constexpr, n_D: tl.constexpr):
    """next_x."""
    real = next_x_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    sample = place // n_J
    inside = sample < samples
    i = place % n_J
    step_x_ = tl.load(scalars)
    r = tl.arange(0, 512)[None, :]
    x_ = tl.load(x_ptr + (sample * n_J + i) * n_D + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + (sample * n_J + i) * n_D + r, mask=inside, other=0.0).to(real)
    next_x_ = x_ + step_x_ * -product_
    tl.store(next_x_ptr + (sample * n_J + i) * n_D + r, next_x_, mask=inside)


@jit
def total_3_kernel(gate_ptr, product_ptr, total_ptr, samples, n_J: tl.constexpr, n_M: tl.constexpr):
    """total."""
    real = gate_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    sample = place // n_J
    inside = sample < samples
    i = place % n_J
    r = tl.arange(0, 2048)[None, :]
    # gate[i,m] * silu(sum[d](V[m,d] * u[i,d]))
    gate_ = tl.load(gate_ptr + (sample * n_J + i) * n_M + r, mask=inside & (r < n_M), other=0.0)
    product_ = tl.load(product_ptr + (sample * n_J + i) * n_M + r, mask=inside & (r < n_M), other=0.0).to(real)
    total_ = gate_ * block_silu(product_)
    tl.store(total_ptr + (sample * n_J + i) * n_M + r, total_, mask=inside & (r < n_M))


@jit
def next_x_2_kernel(x_ptr, product_ptr, next_x_ptr, scalars, samples, n_J: tl.constexpr, n_D: tl.constexpr):
    """next_x."""
    real = next_x_ptr.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    sample = place // n_J
    inside = sample < samples
    i = place % n_J
    step_x_ = tl.load(scalars)
    r = tl.arange(0, 512)[None, :]
    x_ = tl.load(x_ptr + (sample * n_J + i) * n_D + r, mask=inside, other=0.0)
    product_ = tl.load(product_ptr + (sample * n_J + i) * n_D + r, mask=inside, other=0.0).to(real)
    next_x_ = x_ + step_x_ * product_
    tl.store(next_x_ptr + (sample * n_J + i) * n_D + r, next_x_, mask=inside)


def attention_free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 13.
    """
    x_, = now
    next_x_, = then
    P_, W_q_, key_, alibi_, g_u_, diag_n1_part_ = given
    n = len(x_)
    total_ = room(memory, n, 0, n_J * n_D)
    product_ = room(memory, n, 131072, n_J * n_J)
    q_ = room(memory, n, 196608, n_K * n_J * n_R)
    weights_ = room(memory, n, 327680, n_K * n_J * n_J)
    product_2_ = room(memory, n, 0, n_K * n_J * n_R)
    product_3_ = room(memory, n, 851968, n_K * n_J * n_D)
    total_2_ = room(memory, n, 1900544, n_K * n_J * n_D)
    product_4_ = room(memory, n, 0, n_J * n_D)
    total_kernel[(cdiv(n_J * n, 2),)](x_, g_u_, total_, n, n_J, n_D)
    # sum[d](g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6) * diag_n1_part[j,d])
    put_product(
        matrix(product_, (n, n_J, n_J), (n_J * n_J, n_J, 1)),
        matrix(total_, (n, n_J, n_D), (n_J * n_D, n_D, 1)),
        matrix(diag_n1_part_, (n, n_D, n_J), (n_J * n_D, 1, n_D)),
    )
    # q[k,i,r] = sum[d](W_q[k,r,d] * g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6))
    put_einsum(
        matrix(q_, (n, n_K, n_J, n_R), (n_K * n_J * n_R, n_J * n_R, n_R, 1)),
        "ace,bde->abcd",
        matrix(total_, (n, n_J, n_D), (n_J * n_D, n_D, 1)),
        matrix(W_q_, (n_K, n_R, n_D), (n_R * n_D, n_D, 1)),
    )
    weights_kernel[(n_K * n, cdiv(n_J, 16))](
        q_,
        key_,
        alibi_,
        product_,
        weights_,
        n_J,
        n_K,
        n_R,
        dot_precision(),
        num_warps=8,
        num_stages=2,
    )
    # sum[j](key[k,j,r] * softmax[j | j <= i](s[k,i,j]))
    put_product(
        matrix(product_2_, (n_K * n, n_J, n_R), (n_J * n_R, n_R, 1)),
        matrix(weights_, (n_K * n, n_J, n_J), (n_J * n_J, n_J, 1)),
        matrix(key_, (n_K * n, n_J, n_R), (n_J * n_R, n_R, 1)),
    )
    # sum[r](W_q[k,r,d] * sum[j](key[k,j,r] * softmax[j | j <= i](s[k,i,j])))
    put_einsum(
        matrix(product_3_, (n, n_K, n_J, n_D), (n_K * n_J * n_D, n_J * n_D, n_D, 1)),
        "abce,bde->abcd",
        matrix(product_2_, (n, n_K, n_J, n_R), (n_K * n_J * n_R, n_J * n_R, n_R, 1)),
        matrix(W_q_, (n_K, n_D, n_R), (n_R * n_D, 1, n_D)),
        factor=-1.0,
    )
    # sum[j](diag_n1_part[j,d] * softmax[j | j <= i](s[k,i,j]))
    put_product(
        matrix(product_3_, (n, n_K * n_J, n_D), (n_K * n_J * n_D, n_D, 1)),
        matrix(weights_, (n, n_K * n_J, n_J), (n_K * n_J * n_J, n_J, 1)),
        matrix(diag_n1_part_, (n, n_J, n_D), (n_J * n_D, n_D, 1)),
        adds=True,
        factor=-1.0,
    )
    total_2_kernel[(cdiv(n_K * n_J * n, 2),)](product_3_, total_2_, n, n_J, n_D, n_K)
    # sum[k,e](P[k,d,e] * (-sum[r](W_q[k,r,e] * sum[j](key[k,j,r] * softmax[j | j <= i](s[k,i,j]))) -
    #   sum[j](diag_n1_part[j,e] * softmax[j | j <= i](s[k,i,j]))))
    put_einsum(
        matrix(product_4_, (n, n_J, n_D), (n_J * n_D, n_D, 1)),
        "abde,cde->abc",
        matrix(total_2_, (n, n_J, n_K, n_D), (n_K * n_J * n_D, n_D, n_J * n_D, 1)),
        matrix(P_, (n_D, n_K, n_D), (n_D, n_D * n_D, 1)),
    )
    next_x_kernel[(cdiv(n_J * n, 2),)](x_, product_4_, next_x_, scalars, n, n_J, n_D)


def mlp_free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase.

    Launches on a device: 6.
    """
    x_, = now
    next_x_, = then
    P_, V_, gate_, g_u_ = given
    n = len(x_)
    u_ = room(memory, n, 0, n_J * n_D)
    product_ = room(memory, n, 131072, n_J * n_M)
    total_ = room(memory, n, 491520, n_J * n_M)
    product_2_ = room(memory, n, 0, n_J * n_D)
    product_3_ = room(memory, n, 131072, n_J * n_D)
    total_kernel[(cdiv(n_J * n, 2),)](x_, g_u_, u_, n, n_J, n_D)
    # sum[d](V[m,d] * u[i,d])
    put_product(
        matrix(product_, (n_J * n, n_M), (n_M, 1)),
        matrix(u_, (n_J * n, n_D), (n_D, 1)),
        matrix(V_, (n_D, n_M), (1, n_D)),
    )
    total_3_kernel[(n_J * n,)](gate_, product_, total_, n, n_J, n_M, num_warps=8)
    # sum[m](V[m,d] * gate[i,m] * silu(sum[e](V[m,e] * u[i,e])))
    put_product(
        matrix(product_2_, (n_J * n, n_D), (n_D, 1)),
        matrix(total_, (n_J * n, n_M), (n_M, 1)),
        matrix(V_, (n_M, n_D), (n_D, 1)),
    )
    # sum[e](P[d,e] * sum[m](V[m,e] * gate[i,m] * silu(sum[d2](V[m,d2] * u[i,d2]))))
    put_product(
        matrix(product_3_, (n_J * n, n_D), (n_D, 1)),
        matrix(product_2_, (n_J * n, n_D), (n_D, 1)),
        matrix(P_, (n_D, n_D), (1, n_D)),
    )
    next_x_2_kernel[(cdiv(n_J * n, 2),)](x_, product_3_, next_x_, scalars, n, n_J, n_D)


# in AttentionEquations
    def _given(self, name: str, fixed: AttentionFixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
        if name == "attention_free":
            return [fixed.P, self.W_q, fixed.key, fixed.alibi, self.g_u, fixed.diag_n1_part]
        raise KeyError(name)


# in MlpEquations
    def _given(self, name: str, fixed: MlpFixed, targets: Tensors) -> list[Tensor]:
        """The arrays that a kernel reads, in its order."""
        if name == "mlp_free":
            return [fixed.P, self.V, fixed.gate, self.g_u]
        raise KeyError(name)


# in Attention
    """The layer `attention`, relaxed by kernels."""


# in Attention
    kernels = KERNELS


# in Attention
    _kernel_prefix = "attention_"


# in Mlp
    """The layer `mlp`, relaxed by kernels."""


# in Mlp
    kernels = KERNELS


# in Mlp
    _kernel_prefix = "mlp_"
