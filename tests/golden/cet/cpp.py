# in Cet
    settling = True


# in Cet
    def _given(self, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The tensors that kernels read, in their order."""
        return [self.W_k, self.W_q, fixed.drive, self.W_dec, self.W_mem, self.b_dec, *targets]


SOURCE = r"""
#include "kernels.h"
#include "settle.h"

namespace {

using T = Real;

constexpr Int n_C = 3;
constexpr Int n_S = 120;
constexpr Int n_P = 20;
constexpr Int n_stride = 10;
constexpr Int n_G = 11;
constexpr Int n_D = 768;
constexpr Int n_H = 12;
constexpr Int n_A = 64;
constexpr Int n_M = 3072;

static const Places places_1 = places({{n_H, n_A * n_D}});
static const Places places_2 = places({{n_D, 1}});
static const Places places_3 = places({{n_A, n_D}});
static const Places places_4 = places({});
static const Places places_5 = places({{n_H, n_A * n_D}, {n_A, n_D}});
static const Places places_6 = places({{n_C, n_P * n_P}, {n_P, n_P}, {n_P, 1}});
static const Places places_7 = places({{n_D, n_C * n_P * n_P}});
static const Places places_8 = places({{n_D, n_M}});
static const Places places_9 = places({{n_M, 1}});
static const Places places_10 = places({{1, n_G * n_G * n_D}, {n_G, n_G * n_D}, {n_G, n_D}});
static const Places places_11 = places({{1, n_H * n_G * n_G * n_A}, {n_G, n_G * n_A}, {n_G, n_A}});
static const Places places_12 = places({{n_A, 1}});
static const Places places_13 = places({{n_G, n_G * n_A}, {n_G, n_A}});
static const Places places_14 = places({{n_G, n_G * n_G * n_G}, {n_G, n_G * n_G}});
static const Places places_15 = places({{n_G, n_G}, {n_G, 1}});
static const Places places_16 = places({{n_H, n_G * n_G * n_A}, {n_A, 1}});
static const Places places_17 = places({{1, n_C * n_S * n_S}, {n_G, n_stride * n_S}, {n_G, n_stride}});
static const Places places_18 = places({{n_C, n_S * n_S}, {n_P, n_S}, {n_P, 1}});
static const Places places_19 = places({{1, n_G * n_G * n_M}, {n_G, n_G * n_M}, {n_G, n_M}});
static const Places places_20 = places({{1, n_G * n_G * n_C * n_P * n_P}, {n_G, n_G * n_C * n_P * n_P}, {n_G, n_C *
    n_P * n_P}});

static const Matrix matrices[] = {
    {1, 0, places_1, places_2, places_3},  // W_q_
    {0, 0, places_1, places_2, places_3},  // W_k_
    {0, 0, places_4, places_5, places_2},  // W_k_
    {1, 0, places_4, places_5, places_2},  // W_q_
    {3, 0, places_4, places_6, places_7},  // W_dec_
    {4, 0, places_4, places_8, places_9},  // W_mem_
    {4, 0, places_4, places_9, places_8},  // W_mem_
    {3, 0, places_4, places_7, places_6},  // W_dec_
};

void weights_loops(Int n, const T* product_, T* weights_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_H; ++i) {
            for (Int j = 0; j < n_G; ++j) {
                for (Int k = 0; k < n_G; ++k) {
                    alignas(64) T power_[n_G * n_G];
                    T largest_ = T(-INFINITY);
                    #pragma omp simd reduction(max : largest_)
                    for (Int r = 0; r < n_G * n_G; ++r) {
                        const T largest_entry_ = T(0.25) * product_[(((b * n_H + i) * n_G + j) * n_G + k) * n_G * n_G +
                            r];
                        largest_ = largest_entry_ > largest_ ? largest_entry_ : largest_;
                    }
                    T whole_ = T(0.0);
                    #pragma omp simd reduction(+ : whole_)
                    for (Int r = 0; r < n_G * n_G; ++r) {
                        power_[r] = of::exp(T(0.25) * product_[(((b * n_H + i) * n_G + j) * n_G + k) * n_G * n_G + r] -
                            largest_);
                        whole_ += power_[r];
                    }
                    #pragma omp simd
                    for (Int r = 0; r < n_G * n_G; ++r) {
                        // softmax[k,l](gamma * sum[a](query[h,i,j,a] * key[h,k,l,a]))
                        weights_[(((b * n_H + i) * n_G + j) * n_G + k) * n_G * n_G + r] = power_[r] / whole_;
                    }
                }
            }
        }
    }
}

void image_loops(Int n, const T* product_, T* image_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_G; ++i) {
            for (Int j = 0; j < n_G; ++j) {
                #pragma omp simd
                for (Int r = 0; r < n_M; ++r) {
                    // relu(sum[d](W_mem[d,m] * z[i,j,d]))
                    image_[((b * n_G + i) * n_G + j) * n_M + r] = of::relu(product_[((b * n_G + i) * n_G + j) * n_M +
                        r]);
                }
            }
        }
    }
}

void total_loops(Int n, const T* product_, T* total_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_G; ++i) {
            for (Int j = 0; j < n_C; ++j) {
                for (Int k = 0; k < n_P; ++k) {
                    for (Int l = 0; l < n_S; ++l) {
                        T total_here_ = T(0.0);
                        #pragma omp simd reduction(+ : total_here_)
                        for (Int r = 0; r < n_G; ++r) {
                            // sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d]))
                            total_here_ += l - n_stride * r >= 0 && l - n_stride * r < n_P ? product_[((b * n_G * n_G +
                                i) * n_C + j) * n_P * n_P + k + n_P * l + (n_G * n_C * n_P * n_P - n_stride * n_P) *
                                r] : T(0.0);
                        }
                        total_[(((b * n_G + i) * n_C + j) * n_P + k) * n_S + l] = total_here_;
                    }
                }
            }
        }
    }
}

void next_y_loops(Int n, const T* total_, const T* y_, const T* b_dec_, T* next_y_, T step_y_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_C; ++i) {
            for (Int j = 0; j < n_S; ++j) {
                for (Int k = 0; k < n_S; ++k) {
                    T total_2_ = T(0.0);
                    #pragma omp simd reduction(+ : total_2_)
                    for (Int r = 0; r < n_G; ++r) {
                        // sum[i,p | v == stride*i + p](sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d])))
                        total_2_ += k - n_stride * r >= 0 && k - n_stride * r < n_P ? total_[(b * n_G * n_C + i) * n_P *
                            n_S + j + n_S * k + (n_C * n_P * n_S - n_stride * n_S) * r] : T(0.0);
                    }
                    next_y_[((b * n_C + i) * n_S + j) * n_S + k] = y_[((b * n_C + i) * n_S + j) * n_S + k] + step_y_ *
                        (-y_[((b * n_C + i) * n_S + j) * n_S + k] + b_dec_[i] + total_2_);
                }
            }
        }
    }
}

void next_z_loops(Int n, const T* z_, const T* product_, const T* drive_, T* next_z_, T step_z_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_G; ++i) {
            for (Int j = 0; j < n_G; ++j) {
                alignas(64) T moved_[n_D];
                alignas(64) T centred_[n_D];
                T mean_ = T(0.0);
                #pragma omp simd reduction(+ : mean_)
                for (Int r = 0; r < n_D; ++r) {
                    moved_[r] = z_[((b * n_G + i) * n_G + j) * n_D + r] + step_z_ * (-z_[((b * n_G + i) * n_G + j) *
                        n_D + r] + product_[((b * n_G + i) * n_G + j) * n_D + r] + drive_[((b * n_G + i) * n_G + j) *
                        n_D + r]);
                    mean_ += moved_[r];
                }
                T square_ = T(0.0);
                #pragma omp simd reduction(+ : square_)
                for (Int r = 0; r < n_D; ++r) {
                    centred_[r] = moved_[r] - T(0.0013020833333333333) * mean_;
                    square_ += centred_[r] * centred_[r];
                }
                const T length_ = of::sqrt(T(0.0013020833333333333) * square_);
                const T deviation_ = length_ == T(INFINITY) ? length_ - length_ : length_;
                #pragma omp simd
                for (Int r = 0; r < n_D; ++r) {
                    next_z_[((b * n_G + i) * n_G + j) * n_D + r] = deviation_ == T(0.0) ? moved_[r] : centred_[r] /
                        deviation_;
                }
            }
        }
    }
}

void next_y_2_loops(Int n, const T* total_, const T* y_, const T* b_dec_, const T* t_, T* next_y_, T beta_, T step_y_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_C; ++i) {
            for (Int j = 0; j < n_S; ++j) {
                for (Int k = 0; k < n_S; ++k) {
                    T total_2_ = T(0.0);
                    #pragma omp simd reduction(+ : total_2_)
                    for (Int r = 0; r < n_G; ++r) {
                        // sum[i,p | v == stride*i + p](sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d])))
                        total_2_ += k - n_stride * r >= 0 && k - n_stride * r < n_P ? total_[(b * n_G * n_C + i) * n_P *
                            n_S + j + n_S * k + (n_C * n_P * n_S - n_stride * n_S) * r] : T(0.0);
                    }
                    next_y_[((b * n_C + i) * n_S + j) * n_S + k] = y_[((b * n_C + i) * n_S + j) * n_S + k] + step_y_ *
                        (-y_[((b * n_C + i) * n_S + j) * n_S + k] + b_dec_[i] + total_2_ - beta_ * (T(2.0 / (n_C * n_S *
                        n_S)) * (-t_[((b * n_C + i) * n_S + j) * n_S + k] + y_[((b * n_C + i) * n_S + j) * n_S + k])));
                }
            }
        }
    }
}

// The buffers of the caller, from the sample `start` on.
struct Given : Tile {
    static constexpr const Matrix* table = matrices;
    static constexpr Int bytes[] = {0, 0, n_G * n_G * n_D * sizeof(T), 0, 0, 0};
    const T* drive_;
    const T* b_dec_;

    void take(const void* const* given, Int start) {
        drive_ = (const T*)given[2] + n_G * n_G * n_D * start;
        b_dec_ = (const T*)given[5];
    }
};

// Steps of the free phase.
struct free_kernel : Given {
    static constexpr Int tile = 1;
    static constexpr Int sizes[] = {n_G * n_G * n_D, n_C * n_S * n_S};
    static constexpr Int scratch = lines(n_G * n_G * n_D) + lines(n_G * n_G * n_M) + lines(n_G * n_G * n_M);
    static constexpr Int panel_entries = std::max({n_A * padded<T>(n_G * n_G), n_G * n_G * padded<T>(n_A)});
    static constexpr Int packs[] = {0, 1, 2, 3, 4, 5, 6, 7};

    T step_z_;
    T step_y_;

    void take(const void* const* given, const T* scalars, Int start) {
        Given::take(given, start);
        step_z_ = scalars[0];
        step_y_ = scalars[1];
    }

    void step(Int n, T* const* now, T* const* next) const {
        const T* const z_ = now[0];
        T* const next_z_ = next[0];
        const T* const y_ = now[1];
        T* const next_y_ = next[1];
        T* const query_ = memory;
        T* const key_ = query_ + lines(n_H * n_G * n_G * n_A) * tile;
        T* const product_ = key_ + lines(n_H * n_G * n_G * n_A) * tile;
        T* const weights_ = product_ + lines(n_H * n_G * n_G * n_G * n_G) * tile;
        T* const pull_key_ = key_ + lines(n_H * n_G * n_G * n_A) * tile;
        T* const product_2_ = memory;
        T* const pull_query_ = key_ + lines(n_H * n_G * n_G * n_A) * tile;
        T* const product_3_ = product_2_ + lines(n_G * n_G * n_D) * tile;
        T* const image_ = product_3_ + lines(n_G * n_G * n_M) * tile;
        T* const product_4_ = product_2_ + lines(n_G * n_G * n_D) * tile;
        T* const total_ = product_4_ + lines(n_G * n_G * n_C * n_P * n_P) * tile;
        // query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(z_, places_10, n_G * n_G * n, places_2, packed[0] + i * n_D * padded<T>(n_A), query_ + n_G *
                n_G * n_A * i, places_11, n_A, T(1.0), false);
        }
        // key[h,i,j,a] = sum[d](W_k[h,a,d] * z[i,j,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(z_, places_10, n_G * n_G * n, places_2, packed[1] + i * n_D * padded<T>(n_A), key_ + n_G * n_G *
                n_A * i, places_11, n_A, T(1.0), false);
        }
        // sum[a](query[h,i,j,a] * key[h,k,l,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(key_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i, places_12, places_13, panel_memory);
                multiply<T>(query_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i, places_13, n_G * n_G, places_12,
                    panel_memory, product_ + n_H * n_G * n_G * n_G * n_G * b + n_G * n_G * n_G * n_G * i, places_14,
                    n_G * n_G, T(1.0), false);
            }
        }
        weights_loops(n, product_, weights_);
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(query_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i, places_13, places_12, panel_memory);
                multiply<T>(weights_ + n_H * n_G * n_G * n_G * n_G * b + n_G * n_G * n_G * n_G * i, places_15, n_G *
                    n_G, places_14, panel_memory, pull_key_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i,
                    places_13, n_A, T(1.0), false);
            }
        }
        // sum[h,a](W_k[h,a,d] * pull_key[h,i,j,a])
        multiply<T>(pull_key_, places_11, n_G * n_G * n, places_16, packed[2], product_2_, places_10, n_D, T(1.0),
            false);
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(key_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i, places_13, places_12, panel_memory);
                multiply<T>(weights_ + n_H * n_G * n_G * n_G * n_G * b + n_G * n_G * n_G * n_G * i, places_14, n_G *
                    n_G, places_15, panel_memory, pull_query_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i,
                    places_13, n_A, T(1.0), false);
            }
        }
        // sum[h,a](W_q[h,a,d] * pull_query[h,i,j,a])
        multiply<T>(pull_query_, places_11, n_G * n_G * n, places_16, packed[3], product_2_, places_10, n_D, T(1.0),
            true);
        // sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q])
        multiply<T>(y_, places_17, n_G * n_G * n, places_18, packed[4], product_2_, places_10, n_D, T(1.0), true);
        // sum[d](W_mem[d,m] * z[i,j,d])
        multiply<T>(z_, places_10, n_G * n_G * n, places_2, packed[5], product_3_, places_19, n_M, T(1.0), false);
        image_loops(n, product_3_, image_);
        // sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
        multiply<T>(image_, places_19, n_G * n_G * n, places_9, packed[6], product_2_, places_10, n_D, T(2.0), true);
        // sum[d](W_dec[d,c,p,q] * z[i,j,d])
        multiply<T>(z_, places_10, n_G * n_G * n, places_2, packed[7], product_4_, places_20, n_C * n_P * n_P, T(1.0),
            false);
        total_loops(n, product_4_, total_);
        next_y_loops(n, total_, y_, b_dec_, next_y_, step_y_);
        next_z_loops(n, z_, product_2_, drive_, next_z_, step_z_);
    }
};

// Steps of a nudged phase.
struct nudged_kernel : Given {
    static constexpr Int tile = 1;
    static constexpr Int sizes[] = {n_G * n_G * n_D, n_C * n_S * n_S};
    static constexpr Int scratch = lines(n_G * n_G * n_D) + lines(n_G * n_G * n_M) + lines(n_G * n_G * n_M);
    static constexpr Int panel_entries = std::max({n_A * padded<T>(n_G * n_G), n_G * n_G * padded<T>(n_A)});
    static constexpr Int packs[] = {0, 1, 2, 3, 4, 5, 6, 7};

    const T* t_;
    T beta_;
    T step_z_;
    T step_y_;

    void take(const void* const* given, const T* scalars, Int start) {
        Given::take(given, start);
        t_ = (const T*)given[6] + n_C * n_S * n_S * start;
        beta_ = scalars[0];
        step_z_ = scalars[1];
        step_y_ = scalars[2];
    }

    void step(Int n, T* const* now, T* const* next) const {
        const T* const z_ = now[0];
        T* const next_z_ = next[0];
        const T* const y_ = now[1];
        T* const next_y_ = next[1];
        T* const query_ = memory;
        T* const key_ = query_ + lines(n_H * n_G * n_G * n_A) * tile;
        T* const product_ = key_ + lines(n_H * n_G * n_G * n_A) * tile;
        T* const weights_ = product_ + lines(n_H * n_G * n_G * n_G * n_G) * tile;
        T* const pull_key_ = key_ + lines(n_H * n_G * n_G * n_A) * tile;
        T* const product_2_ = memory;
        T* const pull_query_ = key_ + lines(n_H * n_G * n_G * n_A) * tile;
        T* const product_3_ = product_2_ + lines(n_G * n_G * n_D) * tile;
        T* const image_ = product_3_ + lines(n_G * n_G * n_M) * tile;
        T* const product_4_ = product_2_ + lines(n_G * n_G * n_D) * tile;
        T* const total_ = product_4_ + lines(n_G * n_G * n_C * n_P * n_P) * tile;
        // query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(z_, places_10, n_G * n_G * n, places_2, packed[0] + i * n_D * padded<T>(n_A), query_ + n_G *
                n_G * n_A * i, places_11, n_A, T(1.0), false);
        }
        // key[h,i,j,a] = sum[d](W_k[h,a,d] * z[i,j,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(z_, places_10, n_G * n_G * n, places_2, packed[1] + i * n_D * padded<T>(n_A), key_ + n_G * n_G *
                n_A * i, places_11, n_A, T(1.0), false);
        }
        // sum[a](query[h,i,j,a] * key[h,k,l,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(key_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i, places_12, places_13, panel_memory);
                multiply<T>(query_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i, places_13, n_G * n_G, places_12,
                    panel_memory, product_ + n_H * n_G * n_G * n_G * n_G * b + n_G * n_G * n_G * n_G * i, places_14,
                    n_G * n_G, T(1.0), false);
            }
        }
        weights_loops(n, product_, weights_);
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(query_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i, places_13, places_12, panel_memory);
                multiply<T>(weights_ + n_H * n_G * n_G * n_G * n_G * b + n_G * n_G * n_G * n_G * i, places_15, n_G *
                    n_G, places_14, panel_memory, pull_key_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i,
                    places_13, n_A, T(1.0), false);
            }
        }
        // sum[h,a](W_k[h,a,d] * pull_key[h,i,j,a])
        multiply<T>(pull_key_, places_11, n_G * n_G * n, places_16, packed[2], product_2_, places_10, n_D, T(1.0),
            false);
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(key_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i, places_13, places_12, panel_memory);
                multiply<T>(weights_ + n_H * n_G * n_G * n_G * n_G * b + n_G * n_G * n_G * n_G * i, places_14, n_G *
                    n_G, places_15, panel_memory, pull_query_ + n_H * n_G * n_G * n_A * b + n_G * n_G * n_A * i,
                    places_13, n_A, T(1.0), false);
            }
        }
        // sum[h,a](W_q[h,a,d] * pull_query[h,i,j,a])
        multiply<T>(pull_query_, places_11, n_G * n_G * n, places_16, packed[3], product_2_, places_10, n_D, T(1.0),
            true);
        // sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q])
        multiply<T>(y_, places_17, n_G * n_G * n, places_18, packed[4], product_2_, places_10, n_D, T(1.0), true);
        // sum[d](W_mem[d,m] * z[i,j,d])
        multiply<T>(z_, places_10, n_G * n_G * n, places_2, packed[5], product_3_, places_19, n_M, T(1.0), false);
        image_loops(n, product_3_, image_);
        // sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
        multiply<T>(image_, places_19, n_G * n_G * n, places_9, packed[6], product_2_, places_10, n_D, T(2.0), true);
        // sum[d](W_dec[d,c,p,q] * z[i,j,d])
        multiply<T>(z_, places_10, n_G * n_G * n, places_2, packed[7], product_4_, places_20, n_C * n_P * n_P, T(1.0),
            false);
        total_loops(n, product_4_, total_);
        next_y_2_loops(n, total_, y_, b_dec_, t_, next_y_, beta_, step_y_);
        next_z_loops(n, z_, product_2_, drive_, next_z_, step_z_);
    }
};

}  // namespace

PHASE(free_phase, relax, free_kernel);
PHASE(settled_phase, settle, free_kernel);
PHASE(nudged_phase, relax, nudged_kernel);
"""


Cet.kernels = rt.Kernels(SOURCE, ("free", "settled", "nudged"))
