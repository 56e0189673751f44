// Steps of a phase with all states kept, and steps back through them.

namespace {

// The first of some places.
inline Places first(const Places& all, Int count) { return Places(all.begin(), all.begin() + count); }

// Steps of a phase in place, tile by tile. Beside each state is the memory of its trajectory, [steps + 1, samples]: a
// step reads one row and writes the next.
template <class Phase, class T>
void record(Int samples, Int steps, T* const* states, const void* const* given, const T* scalars, T*, Int threads) {
    constexpr Int count = sizeof(Phase::sizes) / sizeof(Int);
    const auto work = [=](Phase& phase, Int n, Int start, T** now, T**) {
        T* from[count];
        T* to[count];
        for (Int k = 0; k < count; ++k) {
            from[k] = states[count + k] + start * Phase::sizes[k];
            std::copy_n(now[k], n * Phase::sizes[k], from[k]);
        }
        for (Int number = 0; number < steps; ++number) {
            for (Int k = 0; k < count; ++k) to[k] = from[k] + samples * Phase::sizes[k];
            phase.step(n, from, to);
            phase.count();
            std::copy_n(to, count, from);
        }
        leave<Phase, T>(from, n, start, states);
    };
    for_tiles<Phase, T>(samples, states, given, scalars, threads, work);
}

// Memory for totals, in entries, and the most parts that have totals of their own.
constexpr Int TOTALS = 1 << 24, PARTS = 8;

// Steps back through a trajectory in place, tile by tile; behind the states are the totals over samples and steps, to
// which is added. Samples are in parts, each with totals of its own that are added up in their order, so that nothing
// depends on the number of threads, which share the parts.
template <class Phase, class T>
void go_back(Int samples, Int steps, T* const* states, const void* const* given, const T* scalars, T*, Int threads) {
    constexpr Int count = sizeof(Phase::sizes) / sizeof(Int), entries = Phase::total_entries;
    const Int most = std::min(PARTS, std::max<Int>(1, TOTALS / std::max<Int>(1, entries)));
    const Int tiles = (samples + Phase::tile - 1) / Phase::tile, parts = std::max<Int>(1, std::min(most, tiles));
    const std::vector<const T*> matrices = packed_for<Phase>(given);
    const T* const* const packed = matrices.data();
    const Int own = parts_of(parts, threads);
    T* const rooms = workspace<T>(own * room<Phase>(), 1);
    std::vector<T> sums(parts * entries);
    T* const all = sums.data();
    share(parts, own, threads, [=](Int number, Int first, Int several) {
        for (Int part = first; part < first + several; ++part) {
            const auto work = [=](Phase& phase, Int n, Int start, T** now, T** next) {
                if constexpr (entries > 0) phase.totals = all + part * entries;
                for (Int number = steps - 1; number >= 0; --number) {
                    phase.recall(given, number * samples + start);
                    phase.step(n, now, next);
                    phase.count();
                    for (Int k = 0; k < count; ++k) std::swap(now[k], next[k]);
                }
                leave<Phase, T>(now, n, start, states);
            };
            const Int start = part * tiles / parts * Phase::tile;
            const Int stop = std::min(samples, (part + 1) * tiles / parts * Phase::tile);
            tiles_of<Phase, T>(start, stop - start, states, given, scalars, packed, rooms + number * room<Phase>(),
                               work);
        }
    });
    for (Int part = 0; part < parts; ++part)
        for (Int k = 0; k < entries; ++k) states[count][k] += all[part * entries + k];
}

}  // namespace
