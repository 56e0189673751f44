// A step repeated until it changes nothing more, for the adjoint of an equilibrium.

namespace {

// At most so many steps in place, tile by tile. change holds how far the last step of each sample may go, and then how
// far it went; no number where it overflows. A tile ends when all of its samples are there.
template <class Phase, class T>
void solve(Int samples, Int most, T* const* states, const void* const* given, const T* scalars, T* change,
           Int threads) {
    constexpr Int count = sizeof(Phase::sizes) / sizeof(Int);
    const auto work = [=](Phase& phase, Int n, Int start, T** now, T** next) {
        T goal[Phase::tile];
        std::copy_n(change + start, n, goal);
        phase.prepare(n);
        bool moving = true;
        for (Int number = 0; moving && number < most; ++number) {
            phase.step(n, now, next);
            moving = false;
            for (Int b = 0; b < n; ++b) {
                T whole = 0;
                for (Int k = 0; k < count; ++k) {
                    const Int size = Phase::sizes[k];
                    const T* const from = now[k] + b * size;
                    const T* const to = next[k] + b * size;
#pragma omp simd reduction(+ : whole)
                    for (Int i = 0; i < size; ++i) whole += (to[i] - from[i]) * (to[i] - from[i]);
                }
                change[start + b] = whole < T(INFINITY) ? std::sqrt(whole) : T(NAN);
                moving = moving || !(change[start + b] <= goal[b]);
            }
            for (Int k = 0; k < count; ++k) std::swap(now[k], next[k]);
        }
        leave<Phase, T>(now, n, start, states);
    };
    for_tiles<Phase, T>(samples, states, given, scalars, threads, work);
}

}  // namespace
