# in Hopfield
    settling = True


# in Hopfield
    def _given(self, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The tensors that kernels read, in their order."""
        return [self.W2, fixed.drive, self.b2, *targets]


SOURCE = r"""
#include "kernels.h"
#include "dots.h"
#include "coupling.h"
#include "settle.h"

namespace {

using T = Real;

constexpr Int n_J = 512;
constexpr Int n_K = 10;

static const Places places_1 = places({});
static const Places places_2 = places({{n_K, 1}});
static const Places places_3 = places({{n_J, n_K}});

static const Matrix matrices[] = {
    {0, 0, places_1, places_2, places_3},  // W2_
};

void next_s_next_y_loops(Int n, const T* y_, const T* s_, const T* drive_, const T* b2_, T* next_s_, T* next_y_,
                         T step_s_, T step_y_, const T* panels_) {
    for (Int b = 0; b < n; ++b) {
        alignas(64) T product_2_[n_K];
        // sum[k](W2[j,k] * y[k])
        // sum[j](W2[j,k] * s[j])
        couple<T, n_K>(y_ + n_K * b, T(1.0), s_ + n_J * b, n_J, panels_, product_2_, T(1.0),
            [&](Int first_, auto count_, const T* product_) {
            #pragma omp simd
            for (Int r = first_; r < first_ + count_; ++r) {
                next_s_[b * n_J + r] = of::clip(s_[b * n_J + r] + step_s_ * (-s_[b * n_J + r] + product_[r - first_] +
                    drive_[b * n_J + r]), T(0.0), T(1.0));
            }
        });
        #pragma omp simd
        for (Int r = 0; r < n_K; ++r) {
            next_y_[b * n_K + r] = of::clip(y_[b * n_K + r] + step_y_ * (b2_[r] - y_[b * n_K + r] + product_2_[r]),
                T(-1.0), T(2.0));
        }
    }
}

void next_s_next_y_2_loops(Int n, const T* y_, const T* s_, const T* drive_, const T* b2_, const Int* label_,
                           T* next_s_, T* next_y_, T beta_, T step_s_, T step_y_, const T* panels_) {
    for (Int b = 0; b < n; ++b) {
        alignas(64) T product_2_[n_K];
        // sum[k](W2[j,k] * y[k])
        // sum[j](W2[j,k] * s[j])
        couple<T, n_K>(y_ + n_K * b, T(1.0), s_ + n_J * b, n_J, panels_, product_2_, T(1.0),
            [&](Int first_, auto count_, const T* product_) {
            #pragma omp simd
            for (Int r = first_; r < first_ + count_; ++r) {
                next_s_[b * n_J + r] = of::clip(s_[b * n_J + r] + step_s_ * (-s_[b * n_J + r] + product_[r - first_] +
                    drive_[b * n_J + r]), T(0.0), T(1.0));
            }
        });
        #pragma omp simd
        for (Int r = 0; r < n_K; ++r) {
            next_y_[b * n_K + r] = of::clip(y_[b * n_K + r] + step_y_ * (b2_[r] - y_[b * n_K + r] + product_2_[r] -
                beta_ * (y_[b * n_K + r] - (r == label_[b] ? T(1.0) : T(0.0)))), T(-1.0), T(2.0));
        }
    }
}

// The buffers of the caller, from the sample `start` on.
struct Given : Tile {
    static constexpr const Matrix* table = matrices;
    static constexpr Int bytes[] = {0, n_J * sizeof(T), 0};
    const T* drive_;
    const T* b2_;

    void take(const void* const* given, Int start) {
        drive_ = (const T*)given[1] + n_J * start;
        b2_ = (const T*)given[2];
    }
};

// Steps of the free phase.
struct free_kernel : Given {
    static constexpr Int tile = 32;
    static constexpr Int sizes[] = {n_J, n_K};
    static constexpr Int packs[] = {0};

    T step_s_;
    T step_y_;

    void take(const void* const* given, const T* scalars, Int start) {
        Given::take(given, start);
        step_s_ = scalars[0];
        step_y_ = scalars[1];
    }

    void step(Int n, T* const* now, T* const* next) const {
        const T* const s_ = now[0];
        T* const next_s_ = next[0];
        const T* const y_ = now[1];
        T* const next_y_ = next[1];
        next_s_next_y_loops(n, y_, s_, drive_, b2_, next_s_, next_y_, step_s_, step_y_, packed[0]);
    }
};

// Steps of a nudged phase.
struct nudged_kernel : Given {
    static constexpr Int tile = 32;
    static constexpr Int sizes[] = {n_J, n_K};
    static constexpr Int packs[] = {0};

    const Int* label_;
    T beta_;
    T step_s_;
    T step_y_;

    void take(const void* const* given, const T* scalars, Int start) {
        Given::take(given, start);
        label_ = (const Int*)given[3] + start;
        beta_ = scalars[0];
        step_s_ = scalars[1];
        step_y_ = scalars[2];
    }

    void step(Int n, T* const* now, T* const* next) const {
        const T* const s_ = now[0];
        T* const next_s_ = next[0];
        const T* const y_ = now[1];
        T* const next_y_ = next[1];
        next_s_next_y_2_loops(n, y_, s_, drive_, b2_, label_, next_s_, next_y_, beta_, step_s_, step_y_, packed[0]);
    }
};

}  // namespace

PHASE(free_phase, relax, free_kernel);
PHASE(settled_phase, settle, free_kernel);
PHASE(nudged_phase, relax, nudged_kernel);
"""


Hopfield.kernels = rt.Kernels(SOURCE, ("free", "settled", "nudged"))
