# in Sets
    settling = True


# in Sets
    def _given(self, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The tensors that kernels read, in their order."""
        return [self.W, fixed.x, self.Q, self.P, *targets]


SOURCE = r"""
#include "kernels.h"
#include "settle.h"

namespace {

using T = Real;

constexpr Int n_I = 6;
constexpr Int n_N = 5;
constexpr Int n_K = 3;

static const Places places_1 = places({});
static const Places places_2 = places({{n_N, 1}});
static const Places places_3 = places({{n_N, n_N}});
static const Places places_4 = places({{n_I, 1}});
static const Places places_5 = places({{n_N, n_I}});
static const Places places_6 = places({{n_K, n_N}});
static const Places places_7 = places({{32, n_N}});
static const Places places_8 = places({{32, n_I}});
static const Places places_9 = places({{32, n_K}});
static const Places places_10 = places({{n_K, 1}});

static const Matrix matrices[] = {
    {0, 0, places_1, places_2, places_3},  // W_
    {2, 0, places_1, places_4, places_5},  // Q_
    {3, 0, places_1, places_6, places_2},  // P_
};

void next_s_loops(Int n, const T* s_, const T* product_, const T* product_2_, T* next_s_, T step_s_) {
    for (Int b = 0; b < n; ++b) {
        #pragma omp simd
        for (Int r = 0; r < n_N; ++r) {
            next_s_[b * n_N + r] = of::clip(s_[b * n_N + r] + step_s_ * (product_[b * n_N + r] + (-s_[b * n_N + r] +
                product_2_[b * n_N + r])), T(-1.0), T(1.0));
        }
    }
}

void total_loops(Int n, const T* P_, const T* s_, const T* y_, T* total_) {
    for (Int b = 0; b < n; ++b) {
        for (Int i = 0; i < n_K; ++i) {
            T total_2_ = T(0.0);
            #pragma omp simd reduction(+ : total_2_)
            for (Int r = 0; r < n_N; ++r) {
                // sum[n](P[k,n] * s[n])
                total_2_ += P_[i * n_N + r] * s_[b * n_N + r];
            }
            // sum[n](P[k,n] * s[n]) - y[k]
            total_[b * n_K + i] = -y_[b * n_K + i] + total_2_;
        }
    }
}

void next_s_2_loops(Int n, const T* s_, const T* product_, const T* product_2_, const T* product_3_, T* next_s_,
                    T beta_, T step_s_) {
    for (Int b = 0; b < n; ++b) {
        #pragma omp simd
        for (Int r = 0; r < n_N; ++r) {
            next_s_[b * n_N + r] = of::clip(s_[b * n_N + r] + step_s_ * (product_[b * n_N + r] + (-s_[b * n_N + r] +
                product_2_[b * n_N + r]) - beta_ * (T(2.0 / n_K) * product_3_[b * n_N + r])), T(-1.0), T(1.0));
        }
    }
}

// The buffers of the caller, from the sample `start` on.
struct Given : Tile {
    static constexpr const Matrix* table = matrices;
    static constexpr Int bytes[] = {0, n_I * sizeof(T), 0, 0};
    const T* x_;
    const T* P_;

    void take(const void* const* given, Int start) {
        x_ = (const T*)given[1] + n_I * start;
        P_ = (const T*)given[3];
    }
};

// Steps of the free phase.
struct free_kernel : Given {
    static constexpr Int tile = 32;
    static constexpr Int sizes[] = {n_N};
    static constexpr Int scratch = lines(n_N) + lines(n_N);
    static constexpr Int packs[] = {0, 1};

    T step_s_;

    void take(const void* const* given, const T* scalars, Int start) {
        Given::take(given, start);
        step_s_ = scalars[0];
    }

    void step(Int n, T* const* now, T* const* next) const {
        const T* const s_ = now[0];
        T* const next_s_ = next[0];
        T* const product_ = memory;
        T* const product_2_ = product_ + lines(n_N) * tile;
        // sum[m](W[n,m] * s[m])
        multiply<T>(s_, places_7, n, places_2, packed[0], product_, places_7, n_N, T(1.0), false);
        // sum[i](x[i] * Q[n,i])
        multiply<T>(x_, places_8, n, places_4, packed[1], product_2_, places_7, n_N, T(1.0), false);
        next_s_loops(n, s_, product_, product_2_, next_s_, step_s_);
    }
};

// Steps of a nudged phase.
struct nudged_kernel : Given {
    static constexpr Int tile = 32;
    static constexpr Int sizes[] = {n_N};
    static constexpr Int scratch = lines(n_N) + lines(n_N) + lines(n_K) + lines(n_N);
    static constexpr Int packs[] = {0, 1, 2};

    const T* y_;
    T beta_;
    T step_s_;

    void take(const void* const* given, const T* scalars, Int start) {
        Given::take(given, start);
        y_ = (const T*)given[4] + n_K * start;
        beta_ = scalars[0];
        step_s_ = scalars[1];
    }

    void step(Int n, T* const* now, T* const* next) const {
        const T* const s_ = now[0];
        T* const next_s_ = next[0];
        T* const product_ = memory;
        T* const product_2_ = product_ + lines(n_N) * tile;
        T* const total_ = product_2_ + lines(n_N) * tile;
        T* const product_3_ = total_ + lines(n_K) * tile;
        // sum[m](W[n,m] * s[m])
        multiply<T>(s_, places_7, n, places_2, packed[0], product_, places_7, n_N, T(1.0), false);
        // sum[i](x[i] * Q[n,i])
        multiply<T>(x_, places_8, n, places_4, packed[1], product_2_, places_7, n_N, T(1.0), false);
        total_loops(n, P_, s_, y_, total_);
        // sum[k](P[k,n] * (sum[m](P[k,m] * s[m]) - y[k]))
        multiply<T>(total_, places_9, n, places_10, packed[2], product_3_, places_7, n_N, T(1.0), false);
        next_s_2_loops(n, s_, product_, product_2_, product_3_, next_s_, beta_, step_s_);
    }
};

}  // namespace

PHASE(free_phase, relax, free_kernel);
PHASE(settled_phase, settle, free_kernel);
PHASE(nudged_phase, relax, nudged_kernel);
"""


Sets.kernels = rt.Kernels(SOURCE, ("free", "settled", "nudged"))
