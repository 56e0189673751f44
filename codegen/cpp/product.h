// Products of two tensors outside of phases, as the matrix products that they are.

#include <type_traits>

namespace {

// Terms of a sum that are packed at a time: a panel of them stays in the first cache.
constexpr Int TERMS = 256;

// Some of some places.
inline Places part(const Places& all, Int first, Int stop) { return Places(all.begin() + first, all.begin() + stop); }

// Where the entries along one side of a product are, of labels each with its size and three strides.
inline Places side(const Int* labels, Int count, int which) {
    Places all{0};
    for (Int k = 0; k < count; ++k) {
        Places longer;
        longer.reserve(all.size() * labels[4 * k]);
        for (Int start : all)
            for (Int j = 0; j < labels[4 * k]; ++j) longer.push_back(start + j * labels[4 * k + 1 + which]);
        all = std::move(longer);
    }
    return all;
}

// Columns that are packed at a time: those of a panel; of several where left has to be prepared for them.
template <class T, class Operand>
constexpr Int together = (std::is_same_v<T, Operand> ? 2 : 8) * Vector<T>::width;

// out = left @ right for each place of the batch. ``labels`` are those of the batch, of rows, columns and terms, each
// with its size and its strides in left, right and out; ``counts`` says how many there are of each. Threads share rows,
// in at most ``most`` parts. The order of a sum is the same whatever their number.
template <class T, class Operand>
void product(const Int* counts, const Int* labels, const T* left, const T* right, T* out, Int most, Int threads) {
    constexpr Int wide = together<T, Operand>;
    Places at[4][3];
    for (int run = 0; run < 4; ++run) {
        for (int which = 0; which < 3; ++which) at[run][which] = side(labels, counts[run], which);
        labels += 4 * counts[run];
    }
    const Int places = at[0][0].size(), rows = at[1][0].size(), columns = at[2][1].size(), terms = at[3][0].size();
    const Int blocks = (rows + ROWS - 1) / ROWS, all = places * blocks;
    share(all, parts_of(std::min(all, most), threads), threads, [&](Int, Int first, Int several) {
        alignas(64) T packed[TERMS * wide];
        for (Int from = first; from < first + several;) {
            const Int place = from / blocks, to = std::min(first + several, (place + 1) * blocks);
            const Int row = from % blocks * ROWS, stop = std::min(rows, (to - place * blocks) * ROWS);
            const T* const a = left + at[0][0][place];
            const T* const b = right + at[0][1][place];
            T* const c = out + at[0][2][place];
            const Places left_row = part(at[1][0], row, stop), out_row = part(at[1][2], row, stop);
            for (Int term = 0; term < terms; term += TERMS) {
                const Int last = std::min(terms, term + TERMS);
                const Places own = part(at[3][0], term, last), other = part(at[3][1], term, last);
                for (Int column = 0; column < columns; column += wide) {
                    const Int here = std::min(wide, columns - column);
                    pack<Operand>(b, other, part(at[2][1], column, column + here), packed);
                    multiply<Operand>(a, left_row, stop - row, own, packed, c + at[2][2][column], out_row, here, T(1),
                                      term > 0);
                }
            }
            from = to;
        }
    });
}

}  // namespace

// One product: ``given`` are the counts, the labels and both tensors. It has the form of a phase, and where that has
// samples the most parts.
extern "C" void whole_product(Int most, Int, Real* const* states, const void* const* given, const Real*, Real*,
                              Int threads) {
    product<Real, Real>((const Int*)given[0], (const Int*)given[1], (const Real*)given[2], (const Real*)given[3],
                        states[0], most, threads);
}
