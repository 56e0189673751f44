# in Thick
    settling = True


# in Thick
    def _given(self, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The tensors that kernels read, in their order."""
        return [
            fixed.drive,
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
            *targets,
        ]


SOURCE = r"""
#include "kernels.h"
#include "settle.h"

namespace {

using T = Real;

constexpr Int n_T = 64;
constexpr Int n_D = 128;
constexpr Int n_H = 4;
constexpr Int n_A = 32;
constexpr Int n_F = 512;
constexpr Int n_V = 65;
// n_A ** -0.5
constexpr double scale_ = 0.1767766952966369;

static const Places places_1 = places({{n_H, n_D * n_A}});
static const Places places_2 = places({{n_D, n_A}});
static const Places places_3 = places({{n_A, 1}});
static const Places places_4 = places({});
static const Places places_5 = places({{n_H, n_A * n_D}, {n_A, n_D}});
static const Places places_6 = places({{n_D, 1}});
static const Places places_7 = places({{n_D, n_F}});
static const Places places_8 = places({{n_F, 1}});
static const Places places_9 = places({{n_F, n_D}});
static const Places places_10 = places({{n_D, n_V}});
static const Places places_11 = places({{n_V, 1}});
static const Places places_12 = places({{n_H, n_D * n_A}, {n_A, 1}});
static const Places places_13 = places({{1, n_T * n_D}, {n_T, n_D}});
static const Places places_14 = places({{1, n_H * n_T * n_A}, {n_T, n_A}});
static const Places places_15 = places({{n_T, n_A}});
static const Places places_16 = places({{n_T, n_T}});
static const Places places_17 = places({{n_T, 1}});
static const Places places_18 = places({{n_H, n_T * n_A}, {n_A, 1}});
static const Places places_19 = places({{1, n_T * n_F}, {n_T, n_F}});
static const Places places_20 = places({{1, n_T * n_V}, {n_T, n_V}});
static const Places places_21 = places({{1, n_T * n_H * n_A}, {n_T, n_H * n_A}});
static const Places places_22 = places({{n_T, n_H * n_A}});
static const Places places_23 = places({{n_T, n_D}});

static const Matrix matrices[] = {
    {2, 0, places_1, places_2, places_3},  // W_v_
    {5, 0, places_1, places_2, places_3},  // W_q_
    {6, 0, places_1, places_2, places_3},  // W_k_
    {1, 0, places_4, places_5, places_6},  // W_o_
    {10, 0, places_4, places_7, places_8},  // W1_
    {8, 0, places_4, places_9, places_6},  // W2_
    {13, 0, places_4, places_10, places_11},  // W_head_
    {13, 0, places_4, places_11, places_10},  // W_head_
    {8, 0, places_4, places_6, places_9},  // W2_
    {10, 0, places_4, places_8, places_7},  // W1_
    {1, 0, places_4, places_6, places_5},  // W_o_
    {6, 0, places_4, places_12, places_2},  // W_k_
    {5, 0, places_4, places_12, places_2},  // W_q_
    {2, 0, places_4, places_12, places_2},  // W_v_
};

void n1_n2_loops(Int n, const T* z_, const T* h1_, const T* g1_, const T* h2_, const T* g2_, T* n1_, T* n2_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            alignas(64) T total_2_[n_D];
            alignas(64) T total_4_[n_D];
            T total_ = T(0.0);
            #pragma omp simd reduction(+ : total_)
            for (Int r = 0; r < n_D; ++r) {
                // sum[d](z[t,d])
                total_ += z_[(b * n_T + i) * n_D + r];
            }
            T total_3_ = T(0.0);
            #pragma omp simd reduction(+ : total_3_)
            for (Int r = 0; r < n_D; ++r) {
                // z[t,d] - mean[e](z[t,e])
                total_2_[r] = z_[(b * n_T + i) * n_D + r] - T(1.0 / n_D) * total_;
                // sum[d]((z[t,d] - mean[e](z[t,e]))^2)
                total_3_ += total_2_[r] * total_2_[r];
            }
            const T held_ = T(1) / of::sqrt(T(1.0 / n_D) * total_3_ + T(1e-05));
            #pragma omp simd
            for (Int r = 0; r < n_D; ++r) {
                // layernorm[d](z[t,d])
                total_4_[r] = total_2_[r] * held_;
                // n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
                n1_[(b * n_T + i) * n_D + r] = h1_[r] + g1_[r] * total_4_[r];
                // n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
                n2_[(b * n_T + i) * n_D + r] = h2_[r] + g2_[r] * total_4_[r];
            }
        }
    }
}

void p_loops(Int n, const T* product_, T* p_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_H; ++i) {
            for (Int j = 0; j < n_T; ++j) {
                alignas(64) T power_[n_T];
                T largest_ = T(-INFINITY);
                #pragma omp simd reduction(max : largest_)
                for (Int r = 0; r < n_T; ++r) {
                    const T largest_entry_ = r <= j ? T(scale_) * product_[((b * n_H + i) * n_T + j) * n_T + r] :
                        T(-INFINITY);
                    largest_ = largest_entry_ > largest_ ? largest_entry_ : largest_;
                }
                T whole_ = T(0.0);
                #pragma omp simd reduction(+ : whole_)
                for (Int r = 0; r < n_T; ++r) {
                    power_[r] = r <= j ? of::exp(T(scale_) * product_[((b * n_H + i) * n_T + j) * n_T + r] - largest_) :
                        T(0.0);
                    whole_ += power_[r];
                }
                #pragma omp simd
                for (Int r = 0; r < n_T; ++r) {
                    // p[h,t,s] = softmax[s | s <= t](sum[a](q[h,t,a] * k[h,s,a]) / sqrt(A))
                    p_[((b * n_H + i) * n_T + j) * n_T + r] = whole_ == T(0.0) ? T(0.0) : power_[r] / whole_;
                }
            }
        }
    }
}

void image_loops(Int n, const T* b1_, const T* product_, T* image_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            #pragma omp simd
            for (Int r = 0; r < n_F; ++r) {
                // gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e]))
                image_[(b * n_T + i) * n_F + r] = of::gelu_tanh(b1_[r] + product_[(b * n_T + i) * n_F + r]);
            }
        }
    }
}

void next_z_loops(Int n, const T* z_, const T* drive_, const T* product_, const T* b2_, const T* product_2_, T* next_z_,
                  T step_z_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            #pragma omp simd
            for (Int r = 0; r < n_D; ++r) {
                next_z_[(b * n_T + i) * n_D + r] = z_[(b * n_T + i) * n_D + r] + step_z_ * (-z_[(b * n_T + i) * n_D +
                    r] - (z_[(b * n_T + i) * n_D + r] - T(32.0) * drive_[(b * n_T + i) * n_D + r]) + product_[(b * n_T +
                    i) * n_D + r] + (b2_[r] + product_2_[(b * n_T + i) * n_D + r]));
            }
        }
    }
}

void total_loops(Int n, const T* product_, const Int* label_, T* total_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            alignas(64) T power_[n_V];
            alignas(64) T weights_[n_V];
            T largest_ = T(-INFINITY);
            #pragma omp simd reduction(max : largest_)
            for (Int r = 0; r < n_V; ++r) {
                const T largest_entry_ = product_[(b * n_T + i) * n_V + r];
                largest_ = largest_entry_ > largest_ ? largest_entry_ : largest_;
            }
            T whole_ = T(0.0);
            #pragma omp simd reduction(+ : whole_)
            for (Int r = 0; r < n_V; ++r) {
                power_[r] = of::exp(product_[(b * n_T + i) * n_V + r] - largest_);
                whole_ += power_[r];
            }
            #pragma omp simd
            for (Int r = 0; r < n_V; ++r) {
                // softmax[w](sum[d](W_head[d,w] * z[t,d]))
                weights_[r] = power_[r] / whole_;
                // 1/T * softmax[w](sum[d](W_head[d,w] * z[t,d])) - 1/T * where(w == label[t], 1, 0)
                total_[(b * n_T + i) * n_V + r] = (r == label_[b * n_T + i] ? T(-1.0 / n_T) : T(0.0)) + T(1.0 / n_T) *
                    weights_[r];
            }
        }
    }
}

void next_z_2_loops(Int n, const T* z_, const T* drive_, const T* product_, const T* b2_, const T* product_2_,
                    const T* product_3_, T* next_z_, T beta_, T step_z_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            #pragma omp simd
            for (Int r = 0; r < n_D; ++r) {
                next_z_[(b * n_T + i) * n_D + r] = z_[(b * n_T + i) * n_D + r] + step_z_ * (-z_[(b * n_T + i) * n_D +
                    r] - (z_[(b * n_T + i) * n_D + r] - T(32.0) * drive_[(b * n_T + i) * n_D + r]) + product_[(b * n_T +
                    i) * n_D + r] + (b2_[r] + product_2_[(b * n_T + i) * n_D + r]) - beta_ * product_3_[(b * n_T + i) *
                    n_D + r]);
            }
        }
    }
}

void z_half_total_loops(Int n, const T* z_plus_, const T* z_minus_, const T* h1_, const T* g1_, const T* h2_,
                        const T* g2_, T* z_half_, T* total_, T* image_, T* n1_, T* image_2_, T* v_n1_, T* n2_, T* v_n2_,
                        T* n1_2_, T* n2_2_, T* n1_3_, T* n2_3_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            alignas(64) T z_middle_[n_D];
            alignas(64) T total_5_[n_D];
            alignas(64) T total_7_[n_D];
            alignas(64) T total_8_[n_D];
            alignas(64) T total_10_[n_D];
            alignas(64) T total_12_[n_D];
            alignas(64) T total_14_[n_D];
            alignas(64) T total_16_[n_D];
            alignas(64) T total_18_[n_D];
            T total_2_ = T(0.0);
            #pragma omp simd reduction(+ : total_2_)
            for (Int r = 0; r < n_D; ++r) {
                z_middle_[r] = T(0.5) * z_plus_[(b * n_T + i) * n_D + r] + T(0.5) * z_minus_[(b * n_T + i) * n_D + r];
                z_half_[(b * n_T + i) * n_D + r] = T(0.5) * z_plus_[(b * n_T + i) * n_D + r] - T(0.5) * z_minus_[(b *
                    n_T + i) * n_D + r];
                // sum[d](z[t,d])
                total_2_ += z_middle_[r];
            }
            T total_3_ = T(0.0);
            #pragma omp simd reduction(+ : total_3_)
            for (Int r = 0; r < n_D; ++r) {
                // z[t,d] - mean[e](z[t,e])
                total_[(b * n_T + i) * n_D + r] = z_middle_[r] - T(1.0 / n_D) * total_2_;
                // sum[d]((z[t,d] - mean[e](z[t,e]))^2)
                total_3_ += total_[(b * n_T + i) * n_D + r] * total_[(b * n_T + i) * n_D + r];
            }
            // mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5
            const T total_4_ = T(1.0 / n_D) * total_3_ + T(1e-05);
            // 1 / sqrt(mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5)
            image_[b * n_T + i] = T(1) / of::sqrt(total_4_);
            T total_6_ = T(0.0);
            #pragma omp simd reduction(+ : total_6_)
            for (Int r = 0; r < n_D; ++r) {
                // layernorm[d](z[t,d])
                total_5_[r] = total_[(b * n_T + i) * n_D + r] * image_[b * n_T + i];
                // n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
                n1_[(b * n_T + i) * n_D + r] = h1_[r] + g1_[r] * total_5_[r];
                // sum[d](v_z[t,d])
                total_6_ += z_half_[(b * n_T + i) * n_D + r];
            }
            #pragma omp simd
            for (Int r = 0; r < n_D; ++r) {
                // v_z[t,d] - mean[e](v_z[t,e])
                total_7_[r] = z_half_[(b * n_T + i) * n_D + r] - T(1.0 / n_D) * total_6_;
                // (v_z[t,d] - mean[e](v_z[t,e])) / sqrt(mean[e]((z[t,e] - mean[d2](z[t,d2]))^2) + 1e-5)
                total_8_[r] = image_[b * n_T + i] * total_7_[r];
            }
            // 1 / (mean[d]((z[t,d] - mean[e](z[t,e]))^2) + 1e-5)^(3/2)
            image_2_[b * n_T + i] = of::power(total_4_, T(-1.5));
            T total_9_ = T(0.0);
            #pragma omp simd reduction(+ : total_9_)
            for (Int r = 0; r < n_D; ++r) {
                // sum[d]((z[t,d] - mean[e](z[t,e])) * (v_z[t,d] - mean[e](v_z[t,e])))
                total_9_ += total_[(b * n_T + i) * n_D + r] * total_7_[r];
            }
            T total_11_ = T(0.0);
            #pragma omp simd reduction(+ : total_11_)
            for (Int r = 0; r < n_D; ++r) {
                total_10_[r] = total_[(b * n_T + i) * n_D + r] * image_2_[b * n_T + i] * total_9_;
                v_n1_[(b * n_T + i) * n_D + r] = g1_[r] * total_8_[r] - T(1.0 / n_D) * g1_[r] * total_10_[r];
                // n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
                n2_[(b * n_T + i) * n_D + r] = h2_[r] + g2_[r] * total_5_[r];
                v_n2_[(b * n_T + i) * n_D + r] = g2_[r] * total_8_[r] - T(1.0 / n_D) * g2_[r] * total_10_[r];
                // sum[d](z[t,d])
                total_11_ += z_plus_[(b * n_T + i) * n_D + r];
            }
            T total_13_ = T(0.0);
            #pragma omp simd reduction(+ : total_13_)
            for (Int r = 0; r < n_D; ++r) {
                // z[t,d] - mean[e](z[t,e])
                total_12_[r] = z_plus_[(b * n_T + i) * n_D + r] - T(1.0 / n_D) * total_11_;
                // sum[d]((z[t,d] - mean[e](z[t,e]))^2)
                total_13_ += total_12_[r] * total_12_[r];
            }
            const T held_ = T(1) / of::sqrt(T(1.0 / n_D) * total_13_ + T(1e-05));
            T total_15_ = T(0.0);
            #pragma omp simd reduction(+ : total_15_)
            for (Int r = 0; r < n_D; ++r) {
                // layernorm[d](z[t,d])
                total_14_[r] = total_12_[r] * held_;
                // n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
                n1_2_[(b * n_T + i) * n_D + r] = h1_[r] + g1_[r] * total_14_[r];
                // n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
                n2_2_[(b * n_T + i) * n_D + r] = h2_[r] + g2_[r] * total_14_[r];
                // sum[d](z[t,d])
                total_15_ += z_minus_[(b * n_T + i) * n_D + r];
            }
            T total_17_ = T(0.0);
            #pragma omp simd reduction(+ : total_17_)
            for (Int r = 0; r < n_D; ++r) {
                // z[t,d] - mean[e](z[t,e])
                total_16_[r] = z_minus_[(b * n_T + i) * n_D + r] - T(1.0 / n_D) * total_15_;
                // sum[d]((z[t,d] - mean[e](z[t,e]))^2)
                total_17_ += total_16_[r] * total_16_[r];
            }
            const T held_2_ = T(1) / of::sqrt(T(1.0 / n_D) * total_17_ + T(1e-05));
            #pragma omp simd
            for (Int r = 0; r < n_D; ++r) {
                // layernorm[d](z[t,d])
                total_18_[r] = total_16_[r] * held_2_;
                // n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
                n1_3_[(b * n_T + i) * n_D + r] = h1_[r] + g1_[r] * total_18_[r];
                // n2[t,d] = h2[d] + g2[d] * layernorm[d](z[t,d])
                n2_3_[(b * n_T + i) * n_D + r] = h2_[r] + g2_[r] * total_18_[r];
            }
        }
    }
}

void v_p_loops(Int n, const T* p_, const T* product_, T* v_p_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_H; ++i) {
            for (Int j = 0; j < n_T; ++j) {
                alignas(64) T total_[n_T];
                T total_2_ = T(0.0);
                #pragma omp simd reduction(+ : total_2_)
                for (Int r = 0; r < n_T; ++r) {
                    // p[h,t,s] * (sum[a](k[h,s,a] * v_q[h,t,a]) + sum[a](q[h,t,a] * v_k[h,s,a]))
                    total_[r] = p_[((b * n_H + i) * n_T + j) * n_T + r] * product_[((b * n_H + i) * n_T + j) * n_T + r];
                    // sum[s](p[h,t,s] * (sum[a](k[h,s,a] * v_q[h,t,a]) + sum[a](q[h,t,a] * v_k[h,s,a])))
                    total_2_ += total_[r];
                }
                #pragma omp simd
                for (Int r = 0; r < n_T; ++r) {
                    v_p_[((b * n_H + i) * n_T + j) * n_T + r] = T(scale_) * total_[r] - T(scale_) * p_[((b * n_H + i) *
                        n_T + j) * n_T + r] * total_2_;
                }
            }
        }
    }
}

void total_2_loops(Int n, const T* product_, T* total_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_H; ++i) {
            for (Int j = 0; j < n_T; ++j) {
                #pragma omp simd
                for (Int r = 0; r < n_A; ++r) {
                    // sum[s](p[h,t,s] * v_v[h,s,a]) + sum[s](v[h,s,a] * v_p[h,t,s])
                    total_[((b * n_H + i) * n_T + j) * n_A + r] = product_[((b * n_H + i) * n_T + j) * n_A + r];
                }
            }
        }
    }
}

void image_2_loops(Int n, const T* b1_, const T* product_, T* image_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            #pragma omp simd
            for (Int r = 0; r < n_F; ++r) {
                // gelu_tanh'(b1[f] + sum[e](W1[e,f] * n2[t,e]))
                image_[(b * n_T + i) * n_F + r] = of::gelu_tanh_slope(b1_[r] + product_[(b * n_T + i) * n_F + r]);
            }
        }
    }
}

void total_3_loops(Int n, const T* image_, const T* product_, T* total_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            #pragma omp simd
            for (Int r = 0; r < n_F; ++r) {
                // gelu_tanh'(b1[f] + sum[e](W1[e,f] * n2[t,e])) * sum[e](W1[e,f] * v_n2[t,e])
                total_[(b * n_T + i) * n_F + r] = image_[(b * n_T + i) * n_F + r] * product_[(b * n_T + i) * n_F + r];
            }
        }
    }
}

void total_4_loops(Int n, const T* p_, const T* pull_p_, T* total_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_H; ++i) {
            for (Int j = 0; j < n_T; ++j) {
                alignas(64) T total_2_[n_T];
                T total_3_ = T(0.0);
                #pragma omp simd reduction(+ : total_3_)
                for (Int r = 0; r < n_T; ++r) {
                    // p[h,t,s] * pull_p[h,t,s]
                    total_2_[r] = p_[((b * n_H + i) * n_T + j) * n_T + r] * pull_p_[((b * n_H + i) * n_T + j) * n_T +
                        r];
                    // sum[s](p[h,t,s] * pull_p[h,t,s])
                    total_3_ += total_2_[r];
                }
                #pragma omp simd
                for (Int r = 0; r < n_T; ++r) {
                    // p[h,t,s] * pull_p[h,t,s] - p[h,t,s] * sum[t2](p[h,t,t2] * pull_p[h,t,t2])
                    total_[((b * n_H + i) * n_T + j) * n_T + r] = total_2_[r] - p_[((b * n_H + i) * n_T + j) * n_T +
                        r] * total_3_;
                }
            }
        }
    }
}

void pull_n1_total_loops(Int n, const T* product_, const T* total_, const T* pull_n2_, T* pull_n1_, T* total_2_,
                         T* total_3_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            #pragma omp simd
            for (Int r = 0; r < n_D; ++r) {
                pull_n1_[(b * n_T + i) * n_D + r] = product_[(b * n_T + i) * n_D + r];
                // (z[t,d] - mean[e](z[t,e])) * pull_n2[t,d]
                total_2_[(b * n_T + i) * n_D + r] = total_[(b * n_T + i) * n_D + r] * pull_n2_[(b * n_T + i) * n_D + r];
                // (z[t,d] - mean[e](z[t,e])) * pull_n1[t,d]
                total_3_[(b * n_T + i) * n_D + r] = total_[(b * n_T + i) * n_D + r] * pull_n1_[(b * n_T + i) * n_D + r];
            }
        }
    }
}

void turn_z_loops(Int n, const T* g2_, const T* image_, const T* pull_n2_, const T* g1_, const T* pull_n1_,
                  const T* total_, const T* image_2_, const T* product_, const T* product_2_, T* turn_z_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            alignas(64) T total_2_[n_D];
            T total_3_ = T(0.0);
            #pragma omp simd reduction(+ : total_3_)
            for (Int r = 0; r < n_D; ++r) {
                total_2_[r] = g2_[r] * image_[b * n_T + i] * pull_n2_[(b * n_T + i) * n_D + r] + g1_[r] * image_[b *
                    n_T + i] * pull_n1_[(b * n_T + i) * n_D + r] - T(1.0 / n_D) * total_[(b * n_T + i) * n_D + r] *
                    image_2_[b * n_T + i] * product_[b * n_T + i];
                total_3_ += total_2_[r];
            }
            #pragma omp simd
            for (Int r = 0; r < n_D; ++r) {
                turn_z_[(b * n_T + i) * n_D + r] = product_2_[(b * n_T + i) * n_D + r] - (total_2_[r] - T(1.0 / n_D) *
                    total_3_);
            }
        }
    }
}

void next_z_plus_loops(Int n, const T* z_plus_, const T* drive_, const T* product_, const T* b2_, const T* product_2_,
                       const T* product_3_, const T* turn_z_, T* next_z_plus_, T beta_, T step_z_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            #pragma omp simd
            for (Int r = 0; r < n_D; ++r) {
                next_z_plus_[(b * n_T + i) * n_D + r] = z_plus_[(b * n_T + i) * n_D + r] + step_z_ * (-z_plus_[(b *
                    n_T + i) * n_D + r] - (z_plus_[(b * n_T + i) * n_D + r] - T(32.0) * drive_[(b * n_T + i) * n_D +
                    r]) + product_[(b * n_T + i) * n_D + r] + (b2_[r] + product_2_[(b * n_T + i) * n_D + r]) - beta_ *
                    product_3_[(b * n_T + i) * n_D + r] - turn_z_[(b * n_T + i) * n_D + r]);
            }
        }
    }
}

void next_z_minus_loops(Int n, const T* z_minus_, const T* drive_, const T* product_, const T* b2_, const T* product_2_,
                        const T* product_3_, const T* turn_z_, T* next_z_minus_, T beta_, T step_z_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_T; ++i) {
            #pragma omp simd
            for (Int r = 0; r < n_D; ++r) {
                next_z_minus_[(b * n_T + i) * n_D + r] = z_minus_[(b * n_T + i) * n_D + r] + step_z_ * (-z_minus_[(b *
                    n_T + i) * n_D + r] - (z_minus_[(b * n_T + i) * n_D + r] - T(32.0) * drive_[(b * n_T + i) * n_D +
                    r]) + product_[(b * n_T + i) * n_D + r] + (b2_[r] + product_2_[(b * n_T + i) * n_D + r]) + beta_ *
                    product_3_[(b * n_T + i) * n_D + r] + turn_z_[(b * n_T + i) * n_D + r]);
            }
        }
    }
}

// The buffers of the caller, from the sample `start` on.
struct Given : Tile {
    static constexpr const Matrix* table = matrices;
    static constexpr Int bytes[] = {n_T * n_D * sizeof(T), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const T* drive_;
    const T* h1_;
    const T* g1_;
    const T* b2_;
    const T* b1_;
    const T* h2_;
    const T* g2_;

    void take(const void* const* given, Int start) {
        drive_ = (const T*)given[0] + n_T * n_D * start;
        h1_ = (const T*)given[3];
        g1_ = (const T*)given[4];
        b2_ = (const T*)given[7];
        b1_ = (const T*)given[9];
        h2_ = (const T*)given[11];
        g2_ = (const T*)given[12];
    }
};

// Steps of the free phase.
struct free_kernel : Given {
    static constexpr Int tile = 1;
    static constexpr Int sizes[] = {n_T * n_D};
    static constexpr Int scratch = lines(n_T * n_D) + lines(n_T * n_D) + lines(n_T * n_D) + lines(n_T * n_F) +
        lines(n_T * n_F);
    static constexpr Int panel_entries = std::max({n_A * padded<T>(n_T), n_T * padded<T>(n_A)});
    static constexpr Int packs[] = {0, 1, 2, 3, 4, 5};

    T step_z_;

    void take(const void* const* given, const T* scalars, Int start) {
        Given::take(given, start);
        step_z_ = scalars[0];
    }

    void step(Int n, T* const* now, T* const* next) const {
        const T* const z_ = now[0];
        T* const next_z_ = next[0];
        T* const n1_ = memory;
        T* const n2_ = n1_ + lines(n_T * n_D) * tile;
        T* const v_ = n2_ + lines(n_T * n_D) * tile;
        T* const q_ = v_ + lines(n_H * n_T * n_A) * tile;
        T* const k_ = q_ + lines(n_H * n_T * n_A) * tile;
        T* const product_ = k_ + lines(n_H * n_T * n_A) * tile;
        T* const p_ = v_ + lines(n_H * n_T * n_A) * tile;
        T* const product_2_ = memory;
        T* const product_3_ = n2_ + lines(n_T * n_D) * tile;
        T* const product_4_ = product_3_ + lines(n_T * n_D) * tile;
        T* const image_ = product_4_ + lines(n_T * n_F) * tile;
        T* const product_5_ = memory;
        n1_n2_loops(n, z_, h1_, g1_, h2_, g2_, n1_, n2_);
        // v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_, places_13, n_T * n, places_6, packed[0] + i * n_D * padded<T>(n_A), v_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_, places_13, n_T * n, places_6, packed[1] + i * n_D * padded<T>(n_A), q_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_, places_13, n_T * n, places_6, packed[2] + i * n_D * padded<T>(n_A), k_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // sum[a](q[h,t,a] * k[h,s,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(k_ + n_H * n_T * n_A * b + n_T * n_A * i, places_3, places_15, panel_memory);
                multiply<T>(q_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_T, places_3, panel_memory, product_ +
                    n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, T(1.0), false);
            }
        }
        p_loops(n, product_, p_);
        // sum[s](v[h,s,a] * p[h,t,s])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(v_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, places_3, panel_memory);
                multiply<T>(p_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, places_17, panel_memory,
                    product_2_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_A, T(1.0), false);
            }
        }
        // sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s]))
        multiply<T>(product_2_, places_14, n_T * n, places_18, packed[3], product_3_, places_13, n_D, T(1.0), false);
        // sum[e](W1[e,f] * n2[t,e])
        multiply<T>(n2_, places_13, n_T * n, places_6, packed[4], product_4_, places_19, n_F, T(1.0), false);
        image_loops(n, b1_, product_4_, image_);
        // sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e])))
        multiply<T>(image_, places_19, n_T * n, places_8, packed[5], product_5_, places_13, n_D, T(1.0), false);
        next_z_loops(n, z_, drive_, product_3_, b2_, product_5_, next_z_, step_z_);
    }
};

// Steps of a nudged phase.
struct nudged_kernel : Given {
    static constexpr Int tile = 1;
    static constexpr Int sizes[] = {n_T * n_D};
    static constexpr Int scratch = lines(n_T * n_D) + lines(n_T * n_D) + lines(n_T * n_D) + lines(n_T * n_F) +
        lines(n_T * n_F);
    static constexpr Int panel_entries = std::max({n_A * padded<T>(n_T), n_T * padded<T>(n_A)});
    static constexpr Int packs[] = {0, 1, 2, 3, 4, 5, 6, 7};

    const Int* label_;
    T beta_;
    T step_z_;

    void take(const void* const* given, const T* scalars, Int start) {
        Given::take(given, start);
        label_ = (const Int*)given[14] + n_T * start;
        beta_ = scalars[0];
        step_z_ = scalars[1];
    }

    void step(Int n, T* const* now, T* const* next) const {
        const T* const z_ = now[0];
        T* const next_z_ = next[0];
        T* const n1_ = memory;
        T* const n2_ = n1_ + lines(n_T * n_D) * tile;
        T* const v_ = n2_ + lines(n_T * n_D) * tile;
        T* const q_ = v_ + lines(n_H * n_T * n_A) * tile;
        T* const k_ = q_ + lines(n_H * n_T * n_A) * tile;
        T* const product_ = k_ + lines(n_H * n_T * n_A) * tile;
        T* const p_ = v_ + lines(n_H * n_T * n_A) * tile;
        T* const product_2_ = memory;
        T* const product_3_ = n2_ + lines(n_T * n_D) * tile;
        T* const product_4_ = product_3_ + lines(n_T * n_D) * tile;
        T* const image_ = product_4_ + lines(n_T * n_F) * tile;
        T* const product_5_ = memory;
        T* const product_6_ = product_5_ + lines(n_T * n_D) * tile;
        T* const total_ = product_3_ + lines(n_T * n_D) * tile;
        T* const product_7_ = product_5_ + lines(n_T * n_D) * tile;
        n1_n2_loops(n, z_, h1_, g1_, h2_, g2_, n1_, n2_);
        // v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_, places_13, n_T * n, places_6, packed[0] + i * n_D * padded<T>(n_A), v_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_, places_13, n_T * n, places_6, packed[1] + i * n_D * padded<T>(n_A), q_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_, places_13, n_T * n, places_6, packed[2] + i * n_D * padded<T>(n_A), k_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // sum[a](q[h,t,a] * k[h,s,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(k_ + n_H * n_T * n_A * b + n_T * n_A * i, places_3, places_15, panel_memory);
                multiply<T>(q_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_T, places_3, panel_memory, product_ +
                    n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, T(1.0), false);
            }
        }
        p_loops(n, product_, p_);
        // sum[s](v[h,s,a] * p[h,t,s])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(v_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, places_3, panel_memory);
                multiply<T>(p_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, places_17, panel_memory,
                    product_2_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_A, T(1.0), false);
            }
        }
        // sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s]))
        multiply<T>(product_2_, places_14, n_T * n, places_18, packed[3], product_3_, places_13, n_D, T(1.0), false);
        // sum[e](W1[e,f] * n2[t,e])
        multiply<T>(n2_, places_13, n_T * n, places_6, packed[4], product_4_, places_19, n_F, T(1.0), false);
        image_loops(n, b1_, product_4_, image_);
        // sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e])))
        multiply<T>(image_, places_19, n_T * n, places_8, packed[5], product_5_, places_13, n_D, T(1.0), false);
        // sum[d](W_head[d,w] * z[t,d])
        multiply<T>(z_, places_13, n_T * n, places_6, packed[6], product_6_, places_20, n_V, T(1.0), false);
        total_loops(n, product_6_, label_, total_);
        multiply<T>(total_, places_20, n_T * n, places_11, packed[7], product_7_, places_13, n_D, T(1.0), false);
        next_z_2_loops(n, z_, drive_, product_3_, b2_, product_5_, product_7_, next_z_, beta_, step_z_);
    }
};

// Steps of two nudged phases that track the free one.
struct tracking_kernel : Given {
    static constexpr Int tile = 1;
    static constexpr Int sizes[] = {n_T * n_D, n_T * n_D};
    static constexpr Int scratch = lines(n_T * n_D) + lines(n_T * n_D) + lines(n_T) + lines(n_T * n_D) + lines(n_T) +
        lines(n_T * n_D) + lines(n_T * n_D) + lines(n_T * n_D) + lines(n_T * n_D) + lines(n_T * n_D) + lines(n_T *
        n_D) + lines(n_T * n_D) + lines(n_H * n_T * n_A) + lines(n_H * n_T * n_A) + lines(n_H * n_T * n_T) + lines(n_H *
        n_T * n_T) + lines(n_T * n_F) + lines(n_T * n_F) + lines(n_T * n_F);
    static constexpr Int panel_entries = std::max({n_A * padded<T>(n_T), n_T * padded<T>(n_A), n_D * padded<T>(n_T)});
    static constexpr Int packs[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

    const Int* label_;
    T beta_;
    T step_z_;

    void take(const void* const* given, const T* scalars, Int start) {
        Given::take(given, start);
        label_ = (const Int*)given[14] + n_T * start;
        beta_ = scalars[0];
        step_z_ = scalars[1];
    }

    void step(Int n, T* const* now, T* const* next) const {
        const T* const z_plus_ = now[0];
        T* const next_z_plus_ = next[0];
        const T* const z_minus_ = now[1];
        T* const next_z_minus_ = next[1];
        T* const z_half_ = memory;
        T* const total_ = z_half_ + lines(n_T * n_D) * tile;
        T* const image_ = total_ + lines(n_T * n_D) * tile;
        T* const n1_ = image_ + lines(n_T) * tile;
        T* const image_2_ = n1_ + lines(n_T * n_D) * tile;
        T* const v_n1_ = image_2_ + lines(n_T) * tile;
        T* const n2_ = v_n1_ + lines(n_T * n_D) * tile;
        T* const v_n2_ = n2_ + lines(n_T * n_D) * tile;
        T* const n1_2_ = v_n2_ + lines(n_T * n_D) * tile;
        T* const n2_2_ = n1_2_ + lines(n_T * n_D) * tile;
        T* const n1_3_ = n2_2_ + lines(n_T * n_D) * tile;
        T* const n2_3_ = n1_3_ + lines(n_T * n_D) * tile;
        T* const q_ = n2_3_ + lines(n_T * n_D) * tile;
        T* const k_ = q_ + lines(n_H * n_T * n_A) * tile;
        T* const product_ = k_ + lines(n_H * n_T * n_A) * tile;
        T* const p_ = product_ + lines(n_H * n_T * n_T) * tile;
        T* const v_v_ = k_ + lines(n_H * n_T * n_A) * tile;
        T* const product_2_ = v_v_ + lines(n_H * n_T * n_A) * tile;
        T* const v_ = k_ + lines(n_H * n_T * n_A) * tile;
        T* const v_q_ = image_ + lines(n_T) * tile;
        T* const product_3_ = p_ + lines(n_H * n_T * n_T) * tile;
        T* const v_k_ = image_ + lines(n_T) * tile;
        T* const v_p_ = product_3_ + lines(n_H * n_T * n_T) * tile;
        T* const total_2_ = image_ + lines(n_T) * tile;
        T* const product_4_ = image_2_ + lines(n_T) * tile;
        T* const product_5_ = p_ + lines(n_H * n_T * n_T) * tile;
        T* const image_3_ = product_5_ + lines(n_T * n_F) * tile;
        T* const product_6_ = p_ + lines(n_H * n_T * n_T) * tile;
        T* const total_3_ = image_3_ + lines(n_T * n_F) * tile;
        T* const product_7_ = p_ + lines(n_H * n_T * n_T) * tile;
        T* const total_4_ = image_3_ + lines(n_T * n_F) * tile;
        T* const pull_n2_ = image_ + lines(n_T) * tile;
        T* const product_8_ = product_4_ + lines(n_T * n_D) * tile;
        T* const pull_p_ = p_ + lines(n_H * n_T * n_T) * tile;
        T* const total_5_ = k_ + lines(n_H * n_T * n_A) * tile;
        T* const product_9_ = memory;
        T* const product_10_ = product_8_ + lines(n_T * n_H * n_A) * tile;
        T* const product_11_ = memory;
        T* const pull_v_ = memory;
        T* const pull_n1_ = memory;
        T* const total_6_ = product_4_ + lines(n_T * n_D) * tile;
        T* const total_7_ = n2_3_ + lines(n_T * n_D) * tile;
        T* const product_12_ = total_6_ + lines(n_T * n_D) * tile;
        T* const turn_z_ = product_4_ + lines(n_T * n_D) * tile;
        T* const v_2_ = memory;
        T* const q_2_ = v_2_ + lines(n_H * n_T * n_A) * tile;
        T* const k_2_ = q_2_ + lines(n_H * n_T * n_A) * tile;
        T* const product_13_ = turn_z_ + lines(n_T * n_D) * tile;
        T* const p_2_ = v_2_ + lines(n_H * n_T * n_A) * tile;
        T* const product_14_ = p_2_ + lines(n_H * n_T * n_T) * tile;
        T* const product_15_ = memory;
        T* const product_16_ = n2_3_ + lines(n_T * n_D) * tile;
        T* const image_4_ = product_16_ + lines(n_T * n_F) * tile;
        T* const product_17_ = product_15_ + lines(n_T * n_D) * tile;
        T* const product_18_ = product_17_ + lines(n_T * n_D) * tile;
        T* const total_8_ = product_18_ + lines(n_T * n_V) * tile;
        T* const product_19_ = total_8_ + lines(n_T * n_V) * tile;
        T* const v_3_ = memory;
        T* const q_3_ = v_3_ + lines(n_H * n_T * n_A) * tile;
        T* const k_3_ = q_3_ + lines(n_H * n_T * n_A) * tile;
        T* const product_20_ = turn_z_ + lines(n_T * n_D) * tile;
        T* const p_3_ = v_3_ + lines(n_H * n_T * n_A) * tile;
        T* const product_21_ = p_3_ + lines(n_H * n_T * n_T) * tile;
        T* const product_22_ = memory;
        T* const product_23_ = turn_z_ + lines(n_T * n_D) * tile;
        T* const image_5_ = product_23_ + lines(n_T * n_F) * tile;
        T* const product_24_ = product_22_ + lines(n_T * n_D) * tile;
        T* const product_25_ = product_24_ + lines(n_T * n_D) * tile;
        T* const total_9_ = product_25_ + lines(n_T * n_V) * tile;
        T* const product_26_ = total_9_ + lines(n_T * n_V) * tile;
        z_half_total_loops(n, z_plus_, z_minus_, h1_, g1_, h2_, g2_, z_half_, total_, image_, n1_, image_2_, v_n1_, n2_,
            v_n2_, n1_2_, n2_2_, n1_3_, n2_3_);
        // q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_, places_13, n_T * n, places_6, packed[1] + i * n_D * padded<T>(n_A), q_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_, places_13, n_T * n, places_6, packed[2] + i * n_D * padded<T>(n_A), k_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // sum[a](q[h,t,a] * k[h,s,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(k_ + n_H * n_T * n_A * b + n_T * n_A * i, places_3, places_15, panel_memory);
                multiply<T>(q_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_T, places_3, panel_memory, product_ +
                    n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, T(1.0), false);
            }
        }
        p_loops(n, product_, p_);
        // v_v[h,t,a] = sum[d](W_v[h,d,a] * v_n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(v_n1_, places_13, n_T * n, places_6, packed[0] + i * n_D * padded<T>(n_A), v_v_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // sum[s](p[h,t,s] * v_v[h,s,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(v_v_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, places_3, panel_memory);
                multiply<T>(p_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, places_17, panel_memory,
                    product_2_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_A, T(1.0), false);
            }
        }
        // v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_, places_13, n_T * n, places_6, packed[0] + i * n_D * padded<T>(n_A), v_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // v_q[h,t,a] = sum[d](W_q[h,d,a] * v_n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(v_n1_, places_13, n_T * n, places_6, packed[1] + i * n_D * padded<T>(n_A), v_q_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // sum[a](k[h,s,a] * v_q[h,t,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(k_ + n_H * n_T * n_A * b + n_T * n_A * i, places_3, places_15, panel_memory);
                multiply<T>(v_q_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_T, places_3, panel_memory,
                    product_3_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, T(1.0), false);
            }
        }
        // v_k[h,t,a] = sum[d](W_k[h,d,a] * v_n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(v_n1_, places_13, n_T * n, places_6, packed[2] + i * n_D * padded<T>(n_A), v_k_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // sum[a](q[h,t,a] * v_k[h,s,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(v_k_ + n_H * n_T * n_A * b + n_T * n_A * i, places_3, places_15, panel_memory);
                multiply<T>(q_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_T, places_3, panel_memory,
                    product_3_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, T(1.0), true);
            }
        }
        v_p_loops(n, p_, product_3_, v_p_);
        // sum[s](v[h,s,a] * v_p[h,t,s])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(v_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, places_3, panel_memory);
                multiply<T>(v_p_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, places_17, panel_memory,
                    product_2_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_A, T(1.0), true);
            }
        }
        total_2_loops(n, product_2_, total_2_);
        // sum[h,a](W_o[h,a,d] * (sum[s](p[h,t,s] * v_v[h,s,a]) + sum[s](v[h,s,a] * v_p[h,t,s])))
        multiply<T>(total_2_, places_14, n_T * n, places_18, packed[3], product_4_, places_13, n_D, T(1.0), false);
        // sum[e](W1[e,f] * n2[t,e])
        multiply<T>(n2_, places_13, n_T * n, places_6, packed[4], product_5_, places_19, n_F, T(1.0), false);
        image_2_loops(n, b1_, product_5_, image_3_);
        // sum[e](W1[e,f] * v_n2[t,e])
        multiply<T>(v_n2_, places_13, n_T * n, places_6, packed[4], product_6_, places_19, n_F, T(1.0), false);
        total_3_loops(n, image_3_, product_6_, total_3_);
        // sum[f](W2[f,d] * gelu_tanh'(b1[f] + sum[e](W1[e,f] * n2[t,e])) * sum[e](W1[e,f] * v_n2[t,e]))
        multiply<T>(total_3_, places_19, n_T * n, places_8, packed[5], product_4_, places_13, n_D, T(1.0), true);
        // sum[d](W2[f,d] * v_z[t,d])
        multiply<T>(z_half_, places_13, n_T * n, places_6, packed[8], product_7_, places_19, n_F, T(1.0), false);
        total_3_loops(n, product_7_, image_3_, total_4_);
        multiply<T>(total_4_, places_19, n_T * n, places_8, packed[9], pull_n2_, places_13, n_D, T(1.0), false);
        // sum[d](W_o[h,a,d] * v_z[t,d])
        multiply<T>(z_half_, places_13, n_T * n, places_6, packed[10], product_8_, places_21, n_H * n_A, T(1.0), false);
        // pull_p[h,t,s] = sum[a](v[h,s,a] * sum[d](W_o[h,a,d] * v_z[t,d]))
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(v_ + n_H * n_T * n_A * b + n_T * n_A * i, places_3, places_15, panel_memory);
                multiply<T>(product_8_ + n_T * n_H * n_A * b + n_A * i, places_22, n_T, places_3, panel_memory,
                    pull_p_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, T(1.0), false);
            }
        }
        total_4_loops(n, p_, pull_p_, total_5_);
        // sum[s](q[h,s,a] * (p[h,s,t] * pull_p[h,s,t] - p[h,s,t] * sum[t2](p[h,s,t2] * pull_p[h,s,t2])))
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(q_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, places_3, panel_memory);
                multiply<T>(total_5_ + n_H * n_T * n_T * b + n_T * n_T * i, places_17, n_T, places_16, panel_memory,
                    product_9_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_A, T(1.0), false);
            }
        }
        multiply<T>(product_9_, places_14, n_T * n, places_18, packed[11], product_10_, places_13, n_D, T(scale_),
            false);
        // sum[s](k[h,s,a] * (p[h,t,s] * pull_p[h,t,s] - p[h,t,s] * sum[t2](p[h,t,t2] * pull_p[h,t,t2])))
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(k_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, places_3, panel_memory);
                multiply<T>(total_5_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, places_17, panel_memory,
                    product_11_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_A, T(1.0), false);
            }
        }
        multiply<T>(product_11_, places_14, n_T * n, places_18, packed[12], product_10_, places_13, n_D, T(scale_),
            true);
        // pull_v[h,t,a] = sum[s](p[h,s,t] * sum[d](W_o[h,a,d] * v_z[s,d]))
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(product_8_ + n_T * n_H * n_A * b + n_A * i, places_22, places_3, panel_memory);
                multiply<T>(p_ + n_H * n_T * n_T * b + n_T * n_T * i, places_17, n_T, places_16, panel_memory, pull_v_ +
                    n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_A, T(1.0), false);
            }
        }
        // sum[h,a](W_v[h,d,a] * pull_v[h,t,a])
        multiply<T>(pull_v_, places_14, n_T * n, places_18, packed[13], product_10_, places_13, n_D, T(1.0), true);
        pull_n1_total_loops(n, product_10_, total_, pull_n2_, pull_n1_, total_6_, total_7_);
        // sum[d](g2[d] * (z[t,d] - mean[e](z[t,e])) * pull_n2[t,d])
        for (Int b = 0; b < n; ++b) {
            pack(total_6_ + n_T * n_D * b, places_6, places_23, panel_memory);
            multiply<T>(g2_, places_4, 1, places_6, panel_memory, product_12_ + n_T * b, places_4, n_T, T(1.0), false);
        }
        // sum[d](g1[d] * (z[t,d] - mean[e](z[t,e])) * pull_n1[t,d])
        for (Int b = 0; b < n; ++b) {
            pack(total_7_ + n_T * n_D * b, places_6, places_23, panel_memory);
            multiply<T>(g1_, places_4, 1, places_6, panel_memory, product_12_ + n_T * b, places_4, n_T, T(1.0), true);
        }
        turn_z_loops(n, g2_, image_, pull_n2_, g1_, pull_n1_, total_, image_2_, product_12_, product_4_, turn_z_);
        // v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_2_, places_13, n_T * n, places_6, packed[0] + i * n_D * padded<T>(n_A), v_2_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_2_, places_13, n_T * n, places_6, packed[1] + i * n_D * padded<T>(n_A), q_2_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_2_, places_13, n_T * n, places_6, packed[2] + i * n_D * padded<T>(n_A), k_2_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // sum[a](q[h,t,a] * k[h,s,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(k_2_ + n_H * n_T * n_A * b + n_T * n_A * i, places_3, places_15, panel_memory);
                multiply<T>(q_2_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_T, places_3, panel_memory,
                    product_13_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, T(1.0), false);
            }
        }
        p_loops(n, product_13_, p_2_);
        // sum[s](v[h,s,a] * p[h,t,s])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(v_2_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, places_3, panel_memory);
                multiply<T>(p_2_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, places_17, panel_memory,
                    product_14_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_A, T(1.0), false);
            }
        }
        // sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s]))
        multiply<T>(product_14_, places_14, n_T * n, places_18, packed[3], product_15_, places_13, n_D, T(1.0), false);
        // sum[e](W1[e,f] * n2[t,e])
        multiply<T>(n2_2_, places_13, n_T * n, places_6, packed[4], product_16_, places_19, n_F, T(1.0), false);
        image_loops(n, b1_, product_16_, image_4_);
        // sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e])))
        multiply<T>(image_4_, places_19, n_T * n, places_8, packed[5], product_17_, places_13, n_D, T(1.0), false);
        // sum[d](W_head[d,w] * z[t,d])
        multiply<T>(z_plus_, places_13, n_T * n, places_6, packed[6], product_18_, places_20, n_V, T(1.0), false);
        total_loops(n, product_18_, label_, total_8_);
        multiply<T>(total_8_, places_20, n_T * n, places_11, packed[7], product_19_, places_13, n_D, T(1.0), false);
        next_z_plus_loops(n, z_plus_, drive_, product_15_, b2_, product_17_, product_19_, turn_z_, next_z_plus_, beta_,
            step_z_);
        // v[h,t,a] = sum[d](W_v[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_3_, places_13, n_T * n, places_6, packed[0] + i * n_D * padded<T>(n_A), v_3_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // q[h,t,a] = sum[d](W_q[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_3_, places_13, n_T * n, places_6, packed[1] + i * n_D * padded<T>(n_A), q_3_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // k[h,t,a] = sum[d](W_k[h,d,a] * n1[t,d])
        for (Int i = 0; i < n_H; ++i) {
            multiply<T>(n1_3_, places_13, n_T * n, places_6, packed[2] + i * n_D * padded<T>(n_A), k_3_ + n_T * n_A * i,
                places_14, n_A, T(1.0), false);
        }
        // sum[a](q[h,t,a] * k[h,s,a])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(k_3_ + n_H * n_T * n_A * b + n_T * n_A * i, places_3, places_15, panel_memory);
                multiply<T>(q_3_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_T, places_3, panel_memory,
                    product_20_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, T(1.0), false);
            }
        }
        p_loops(n, product_20_, p_3_);
        // sum[s](v[h,s,a] * p[h,t,s])
        for (Int b = 0; b < n; ++b) {
            for (Int i = 0; i < n_H; ++i) {
                pack(v_3_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, places_3, panel_memory);
                multiply<T>(p_3_ + n_H * n_T * n_T * b + n_T * n_T * i, places_16, n_T, places_17, panel_memory,
                    product_21_ + n_H * n_T * n_A * b + n_T * n_A * i, places_15, n_A, T(1.0), false);
            }
        }
        // sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s]))
        multiply<T>(product_21_, places_14, n_T * n, places_18, packed[3], product_22_, places_13, n_D, T(1.0), false);
        // sum[e](W1[e,f] * n2[t,e])
        multiply<T>(n2_3_, places_13, n_T * n, places_6, packed[4], product_23_, places_19, n_F, T(1.0), false);
        image_loops(n, b1_, product_23_, image_5_);
        // sum[f](W2[f,d] * gelu_tanh(b1[f] + sum[e](W1[e,f] * n2[t,e])))
        multiply<T>(image_5_, places_19, n_T * n, places_8, packed[5], product_24_, places_13, n_D, T(1.0), false);
        // sum[d](W_head[d,w] * z[t,d])
        multiply<T>(z_minus_, places_13, n_T * n, places_6, packed[6], product_25_, places_20, n_V, T(1.0), false);
        total_loops(n, product_25_, label_, total_9_);
        multiply<T>(total_9_, places_20, n_T * n, places_11, packed[7], product_26_, places_13, n_D, T(1.0), false);
        next_z_minus_loops(n, z_minus_, drive_, product_22_, b2_, product_24_, product_26_, turn_z_, next_z_minus_,
            beta_, step_z_);
    }
};

}  // namespace

PHASE(free_phase, relax, free_kernel);
PHASE(settled_phase, settle, free_kernel);
PHASE(nudged_phase, relax, nudged_kernel);
PHASE(tracking_phase, relax, tracking_kernel);
"""


Thick.kernels = rt.Kernels(SOURCE, ("free", "settled", "nudged", "tracking"))
