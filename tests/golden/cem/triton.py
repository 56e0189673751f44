@jit
def attention_free_group_1(x, g_u, total, samples):
    """total."""
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place % 256
    r = tl.arange(0, 512)[None, :]
    # sum[d](x[i,d]^2)
    x_here = tl.load(x + 131072 * sample + 512 * i + r, mask=inside, other=0.0)
    total_2 = tl.sum(x_here * x_here, 1, keep_dims=True)
    # g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6)
    g_u_here = tl.load(g_u + r)
    total_here = g_u_here * (x_here * (1.0 / (tl.sqrt(0.001953125 * total_2 + 1e-06 * 1.0))))
    tl.store(total + 131072 * sample + 512 * i + r, total_here, mask=inside)


@jit
def attention_free_group_2(alibi, product, product_2, weights, samples):
    """weights."""
    real = alibi.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    inside = place < 2048 * samples
    sample = place // 2048
    i = place // 256 % 8
    j = place % 256
    r = tl.arange(0, 256)[None, :]
    # s[k,i,j] = where(i == j, b_self, 0) + where(i != j, b_other, 0) - exp((-k - 1) * log(2)) * abs(i - j) +
    #   (sum[d](g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6) * diag[d] * n1[j,d]) + sum[r](key[k,j,r] * sum[d](W_q[k,r,d]
    #   * g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6)))) / tau
    alibi_here = tl.load(alibi + 65536 * i + 256 * j + r, mask=inside, other=0.0)
    product_here = tl.load(product + 65536 * sample + 256 * j + r, mask=inside, other=0.0).to(real)
    product_2_here = tl.load(product_2 + 524288 * sample + 65536 * i + 256 * j + r, mask=inside, other=0.0).to(real)
    s = alibi_here + 0.044194173824159216 * (product_here + product_2_here)
    largest_2 = tl.max(tl.where(r <= j, s, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp(s - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # softmax[j | j <= i](where(i == j, b_self, 0) + where(i != j, b_other, 0) - exp((-k - 1) * log(2)) * abs(i - j)
    #   + (sum[d](g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6) * diag[d] * n1[j,d]) + sum[r](key[k,j,r] *
    #   sum[d](W_q[k,r,d] * g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6)))) / tau)
    weights_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(weights + 524288 * sample + 65536 * i + 256 * j + r, weights_here, mask=inside)


@jit
def attention_free_group_3(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 2048 * samples
    sample = place // 2048
    i = place // 256 % 8
    j = place % 256
    r = tl.arange(0, 512)[None, :]
    # -sum[r](W_q[k,r,d] * sum[j](key[k,j,r] * softmax[j | j <= i](where(i == j, b_self, 0) + where(i != j, b_other,
    #   0) - exp((-k - 1) * log(2)) * abs(i - j) + (sum[e](g_u[e] * rmsnorm[e](x[i,e], eps = 1e-6) * diag[e] *
    #   n1[j,e]) + sum[r2](key[k,j,r2] * sum[e](W_q[k,r2,e] * g_u[e] * rmsnorm[e](x[i,e], eps = 1e-6)))) / tau))) -
    #   sum[j](diag[d] * n1[j,d] * softmax[j | j <= i](where(i == j, b_self, 0) + where(i != j, b_other, 0) -
    #   exp((-k - 1) * log(2)) * abs(i - j) + (sum[e](g_u[e] * rmsnorm[e](x[i,e], eps = 1e-6) * diag[e] * n1[j,e]) +
    #   sum[r](key[k,j,r] * sum[e](W_q[k,r,e] * g_u[e] * rmsnorm[e](x[i,e], eps = 1e-6)))) / tau))
    product_here = tl.load(product + 1048576 * sample + 131072 * i + 512 * j + r, mask=inside, other=0.0).to(real)
    total_here = product_here
    tl.store(total + 1048576 * sample + 131072 * i + 512 * j + r, total_here, mask=inside)


@jit
def attention_free_group_4(x, product, next_x, scalars, samples):
    """next_x."""
    real = next_x.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place % 256
    step_x = tl.load(scalars)
    r = tl.arange(0, 512)[None, :]
    x_here = tl.load(x + 131072 * sample + 512 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 131072 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    next_x_here = x_here + step_x * (-product_here)
    tl.store(next_x + 131072 * sample + 512 * i + r, next_x_here, mask=inside)


def attention_free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    x, = now
    next_x, = then
    P, W_q, key, alibi, g_u, diag_n1_part = given
    n = len(x)
    total = room(memory, n, 0, 131072)
    product = room(memory, n, 131072, 65536)
    q = room(memory, n, 196608, 131072)
    product_2 = room(memory, n, 327680, 524288)
    weights = room(memory, n, 851968, 524288)
    product_3 = room(memory, n, 0, 131072)
    product_4 = room(memory, n, 1376256, 1048576)
    total_2 = room(memory, n, 0, 1048576)
    product_5 = room(memory, n, 1048576, 131072)
    attention_free_group_1[(cdiv(256 * n, 2),)](x, g_u, total, n)
    # sum[d](g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6) * diag[d] * n1[j,d])
    put_product(
        matrix(product, (n, 256, 256), (65536, 256, 1)),
        matrix(total, (n, 256, 512), (131072, 512, 1)),
        matrix(diag_n1_part, (n, 512, 256), (131072, 1, 512)),
    )
    # q[k,i,r] = sum[d](W_q[k,r,d] * g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6))
    put_einsum(
        matrix(q, (n, 8, 256, 64), (131072, 16384, 64, 1)),
        "ace,bde->abcd",
        matrix(total, (n, 256, 512), (131072, 512, 1)),
        matrix(W_q, (8, 64, 512), (32768, 512, 1)),
    )
    # sum[r](key[k,j,r] * sum[d](W_q[k,r,d] * g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6)))
    put_product(
        matrix(product_2, (8 * n, 256, 256), (65536, 256, 1)),
        matrix(q, (8 * n, 256, 64), (16384, 64, 1)),
        matrix(key, (8 * n, 64, 256), (16384, 1, 64)),
    )
    attention_free_group_2[(cdiv(2048 * n, 4),)](alibi, product, product_2, weights, n)
    # sum[j](key[k,j,r] * softmax[j | j <= i](where(i == j, b_self, 0) + where(i != j, b_other, 0) - exp((-k - 1) *
    #   log(2)) * abs(i - j) + (sum[d](g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6) * diag[d] * n1[j,d]) +
    #   sum[r2](key[k,j,r2] * sum[d](W_q[k,r2,d] * g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6)))) / tau))
    put_product(
        matrix(product_3, (8 * n, 256, 64), (16384, 64, 1)),
        matrix(weights, (8 * n, 256, 256), (65536, 256, 1)),
        matrix(key, (8 * n, 256, 64), (16384, 64, 1)),
    )
    # sum[r](W_q[k,r,d] * sum[j](key[k,j,r] * softmax[j | j <= i](where(i == j, b_self, 0) + where(i != j, b_other,
    #   0) - exp((-k - 1) * log(2)) * abs(i - j) + (sum[e](g_u[e] * rmsnorm[e](x[i,e], eps = 1e-6) * diag[e] *
    #   n1[j,e]) + sum[r2](key[k,j,r2] * sum[e](W_q[k,r2,e] * g_u[e] * rmsnorm[e](x[i,e], eps = 1e-6)))) / tau)))
    put_einsum(
        matrix(product_4, (n, 8, 256, 512), (1048576, 131072, 512, 1)),
        "abce,bde->abcd",
        matrix(product_3, (n, 8, 256, 64), (131072, 16384, 64, 1)),
        matrix(W_q, (8, 512, 64), (32768, 1, 512)),
        factor=-1.0,
    )
    # sum[j](diag[d] * n1[j,d] * softmax[j | j <= i](where(i == j, b_self, 0) + where(i != j, b_other, 0) - exp((-k
    #   - 1) * log(2)) * abs(i - j) + (sum[e](g_u[e] * rmsnorm[e](x[i,e], eps = 1e-6) * diag[e] * n1[j,e]) +
    #   sum[r](key[k,j,r] * sum[e](W_q[k,r,e] * g_u[e] * rmsnorm[e](x[i,e], eps = 1e-6)))) / tau))
    put_product(
        matrix(product_4, (n, 2048, 512), (1048576, 512, 1)),
        matrix(weights, (n, 2048, 256), (524288, 256, 1)),
        matrix(diag_n1_part, (n, 256, 512), (131072, 512, 1)),
        adds=True,
        factor=-1.0,
    )
    attention_free_group_3[(cdiv(2048 * n, 2),)](product_4, total_2, n)
    # sum[k,e](P[k,d,e] * (-sum[r](W_q[k,r,e] * sum[j](key[k,j,r] * softmax[j | j <= i](where(i == j, b_self, 0) +
    #   where(i != j, b_other, 0) - exp((-k - 1) * log(2)) * abs(i - j) + (sum[d2](g_u[d2] * rmsnorm[d2](x[i,d2],
    #   eps = 1e-6) * diag[d2] * n1[j,d2]) + sum[r2](key[k,j,r2] * sum[d2](W_q[k,r2,d2] * g_u[d2] *
    #   rmsnorm[d2](x[i,d2], eps = 1e-6)))) / tau))) - sum[j](diag[e] * n1[j,e] * softmax[j | j <= i](where(i == j,
    #   b_self, 0) + where(i != j, b_other, 0) - exp((-k - 1) * log(2)) * abs(i - j) + (sum[d2](g_u[d2] *
    #   rmsnorm[d2](x[i,d2], eps = 1e-6) * diag[d2] * n1[j,d2]) + sum[r](key[k,j,r] * sum[d2](W_q[k,r,d2] * g_u[d2]
    #   * rmsnorm[d2](x[i,d2], eps = 1e-6)))) / tau))))
    put_einsum(
        matrix(product_5, (n, 256, 512), (131072, 512, 1)),
        "abde,cde->abc",
        matrix(total_2, (n, 256, 8, 512), (1048576, 512, 131072, 1)),
        matrix(P, (512, 8, 512), (512, 262144, 1)),
    )
    attention_free_group_4[(cdiv(256 * n, 2),)](x, product_5, next_x, scalars, n)


@jit
def mlp_free_group_1(x, g_u, u, samples):
    """u."""
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place % 256
    r = tl.arange(0, 512)[None, :]
    # sum[d](x[i,d]^2)
    x_here = tl.load(x + 131072 * sample + 512 * i + r, mask=inside, other=0.0)
    total = tl.sum(x_here * x_here, 1, keep_dims=True)
    # u[i,d] = g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6)
    g_u_here = tl.load(g_u + r)
    u_here = g_u_here * (x_here * (1.0 / (tl.sqrt(0.001953125 * total + 1e-06 * 1.0))))
    tl.store(u + 131072 * sample + 512 * i + r, u_here, mask=inside)


@jit
def mlp_free_group_2(gate, product, total, samples):
    """total."""
    real = gate.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place % 256
    r = tl.arange(0, 2048)[None, :]
    # gate[i,m] * silu(sum[d](V[m,d] * g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6)))
    gate_here = tl.load(gate + 360448 * sample + 1408 * i + r, mask=inside & (r < 1408), other=0.0)
    product_here = tl.load(product + 360448 * sample + 1408 * i + r, mask=inside & (r < 1408), other=0.0).to(real)
    total_here = gate_here * block_silu(product_here)
    tl.store(total + 360448 * sample + 1408 * i + r, total_here, mask=inside & (r < 1408))


@jit
def mlp_free_group_3(x, product, next_x, scalars, samples):
    """next_x."""
    real = next_x.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place % 256
    step_x = tl.load(scalars)
    r = tl.arange(0, 512)[None, :]
    x_here = tl.load(x + 131072 * sample + 512 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 131072 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    next_x_here = x_here + step_x * product_here
    tl.store(next_x + 131072 * sample + 512 * i + r, next_x_here, mask=inside)


def mlp_free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    x, = now
    next_x, = then
    P, V, gate, g_u = given
    n = len(x)
    u = room(memory, n, 0, 131072)
    product = room(memory, n, 131072, 360448)
    total = room(memory, n, 491520, 360448)
    product_2 = room(memory, n, 0, 131072)
    product_3 = room(memory, n, 131072, 131072)
    mlp_free_group_1[(cdiv(256 * n, 2),)](x, g_u, u, n)
    # sum[d](V[m,d] * g_u[d] * rmsnorm[d](x[i,d], eps = 1e-6))
    put_product(
        matrix(product, (256 * n, 1408), (1408, 1)),
        matrix(u, (256 * n, 512), (512, 1)),
        matrix(V, (512, 1408), (1, 512)),
    )
    mlp_free_group_2[(256 * n,)](gate, product, total, n, num_warps=8)
    # sum[m](V[m,d] * gate[i,m] * silu(sum[e](V[m,e] * g_u[e] * rmsnorm[e](x[i,e], eps = 1e-6))))
    put_product(
        matrix(product_2, (256 * n, 512), (512, 1)),
        matrix(total, (256 * n, 1408), (1408, 1)),
        matrix(V, (1408, 512), (512, 1)),
    )
    # sum[e](P[d,e] * sum[m](V[m,e] * gate[i,m] * silu(sum[d2](V[m,d2] * g_u[d2] * rmsnorm[d2](x[i,d2], eps =
    #   1e-6)))))
    put_product(
        matrix(product_3, (256 * n, 512), (512, 1)),
        matrix(product_2, (256 * n, 512), (512, 1)),
        matrix(P, (512, 512), (1, 512)),
    )
    mlp_free_group_3[(cdiv(256 * n, 2),)](x, product_3, next_x, scalars, n)


# in AttentionEquations
    def _given(self, name: str, fixed: AttentionFixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "attention_free":
            return [fixed.P, self.W_q, fixed.key, fixed.alibi, self.g_u, fixed.diag_n1_part]
        raise KeyError(name)


# in MlpEquations
    def _given(self, name: str, fixed: MlpFixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
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
