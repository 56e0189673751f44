// A free phase whose samples stop by themselves.

namespace {

// What the caller gives for the samples that go on, next to each other: that of the first of them, or for all.
template <class Phase>
struct Rows {
    static constexpr Int count = sizeof(Phase::bytes) / sizeof(Int);
    const void* at[count];
    std::vector<char> kept;

    Rows(const void* const* given, Int start) {
        for (Int k = 0; k < count; ++k) at[k] = (const char*)given[k] + start * Phase::bytes[k];
    }

    // Goes on with some of them, in their order.
    void keep(const Int* chosen, Int n) {
        Int entries = 0;
        for (Int bytes : Phase::bytes) entries += (bytes * Phase::tile + 63) / 64 * 64;
        kept.resize(entries + 64);
        char* to = (char*)((std::uintptr_t(kept.data()) + 63) / 64 * 64);
        for (Int k = 0; k < count; ++k) {
            const Int bytes = Phase::bytes[k];
            if (bytes == 0) continue;
            for (Int b = 0; b < n; ++b) std::memmove(to + b * bytes, (const char*)at[k] + chosen[b] * bytes, bytes);
            at[k] = to;
            to += (bytes * Phase::tile + 63) / 64 * 64;
        }
    }
};

// Copies the states of one sample.
template <class Phase, class T>
void put_sample(T* const* from, Int b, T* const* to, Int at) {
    constexpr Int count = sizeof(Phase::sizes) / sizeof(Int);
    for (Int k = 0; k < count; ++k)
        std::copy_n(from[k] + b * Phase::sizes[k], Phase::sizes[k], to[k] + at * Phase::sizes[k]);
}

// Steps of a phase in place until the relative change of the next one is at most the goal: a look after the first
// steps, then one after each chunk, at most so many steps. scalars begin with the first steps, the chunk and the goal;
// behind the states is where the steps of each sample are left. change is that of a sample's last look. A sample whose
// change is no finite number stays as it began: its change is infinite, its steps are 0. The step that a look makes is
// the first of the next chunk.
template <class Phase, class T>
void settle(Int samples, Int most, T* const* states, const void* const* given, const T* scalars, T* change,
            Int threads) {
    constexpr Int count = sizeof(Phase::sizes) / sizeof(Int);
    const Int first = scalars[0], chunk = scalars[1];
    const T goal = scalars[2];
    const auto work = [=](const Phase& whole, Int n, Int start, T** now, T** next) {
        Phase phase = whole;
        Rows<Phase> rows(given, start);
        Int sample[Phase::tile], chosen[Phase::tile];
        for (Int b = 0; b < n; ++b) sample[b] = start + b;
        bool stepped = false;
        for (Int done = 0, stride = std::min(first, most);; stride = std::min(chunk, most - done)) {
            for (Int number = 0; number < stride; ++number) {
                if (!stepped) phase.step(n, now, next);
                stepped = false;
                for (Int k = 0; k < count; ++k) std::swap(now[k], next[k]);
            }
            done += stride;
            phase.step(n, now, next);
            stepped = true;
            Int left = 0;
            for (Int b = 0; b < n; ++b) {
                const T far = moved<Phase>(now, next, b);
                const bool finite = far < T(INFINITY);
                change[sample[b]] = finite ? far : T(INFINITY);
                states[count][sample[b]] = finite ? done : 0;
                if (finite && far > goal && done < most) chosen[left++] = b;
                else if (finite) put_sample<Phase>(now, b, states, sample[b]);
            }
            if (left == 0) break;
            if (left == n) continue;
            for (Int b = 0; b < left; ++b) {
                if (chosen[b] == b) continue;
                sample[b] = sample[chosen[b]];
                put_sample<Phase>(now, chosen[b], now, b);
                put_sample<Phase>(next, chosen[b], next, b);
            }
            rows.keep(chosen, n = left);
            phase = placed<Phase>(rows.at, scalars + 3, 0, whole.memory, whole.panel_memory, whole.packed);
        }
    };
    for_tiles<Phase, T>(samples, states, given, scalars + 3, threads, work);
}

}  // namespace
