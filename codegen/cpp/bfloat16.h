// Products of operands rounded to bfloat16, to the nearest number of 8 bits and to the even one of two; sums are in
// float. With AVX512_BF16 two terms are multiplied and added at once, elsewhere the rounded operands are numbers.

#include <type_traits>
#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace {

// What a product is made of that rounds its operands; in double nothing is rounded.
struct BFloat16 {};
using Low = std::conditional_t<sizeof(Real) == sizeof(float), BFloat16, Real>;
template <class Operand>
using IfRounded = std::enable_if_t<std::is_same_v<Operand, BFloat16>, int>;
template <class Operand>
using IfWhole = std::enable_if_t<!std::is_same_v<Operand, BFloat16>, int>;

// The most entries of the rows that are rounded together, which stay in the first cache, and the fewest rows.
constexpr Int BLOCK = 4096, FEWEST = 16;

// How far neighbours are from each other in such a block.
struct Apart {
    Int rows, terms;
};

#if defined(__AVX512BF16__)

// Two rounded terms of a sum.
typedef std::uint32_t Packed __attribute__((may_alias));
constexpr Int TOGETHER = 2;

__attribute__((always_inline)) inline __m512i rounded(const __m512& first, const __m512& rest) {
    return (__m512i)_mm512_cvtne2ps_pbh(rest, first);
}

// Terms next to each other; an odd last one is beside a zero.
inline void round_terms(const float* from, Int count, Packed* to) {
    for (; count >= 32; count -= 32, from += 32, to += 16)
        _mm512_storeu_si512(to, rounded(_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16)));
    if (count == 0) return;
    const std::uint32_t there = (1u << count) - 1;
    const __m512 first = _mm512_maskz_loadu_ps(there, from), rest = _mm512_maskz_loadu_ps(there >> 16, from + 16);
    _mm512_mask_storeu_epi32(to, (1u << (count + 1) / 2) - 1, rounded(first, rest));
}

// Two rows of a panel, as pairs; the second row may be missing, which is zeros.
inline void round_rows(const float* first, const float* second, Int count, Int, Packed* to) {
    alignas(64) static const std::uint16_t turns[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i turn = _mm512_load_si512(turns);
    for (Int j = 0; j < count; j += 16) {
        const __mmask16 there = count - j >= 16 ? 0xffff : (1u << (count - j)) - 1;
        const __m512 upper = _mm512_maskz_loadu_ps(there, first + j);
        const __m512 lower = second == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(there, second + j);
        _mm512_storeu_si512(to + j, _mm512_permutexvar_epi16(turn, rounded(upper, lower)));
    }
}

// Some rows of one panel: out = factor * left @ panel, or added to out. Rows of left are ``apart``, and its terms are.
template <int rows, int vectors>
__attribute__((always_inline)) inline void panel_rows(const Packed* left, Apart apart, Int pairs, const Packed* packed,
                                                      float* out, const Int* out_row, Int columns, float factor,
                                                      bool adds) {
    typedef Vector<float>::Type V;
    __m512 sum[rows][vectors] = {};
    for (int r = 0; adds && r < rows; ++r)
        for (int v = 0; v < vectors; ++v) __builtin_prefetch(out + out_row[r] + v * 16, 1);
    keep_in_memory(factor);
    for (Int k = 0; k < pairs; ++k) {
        __m512bh column[vectors];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) column[v] = (__m512bh)read_once((const float*)packed + v * 16);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            const __m512bh entry = (__m512bh)_mm512_set1_epi32(left[r * apart.rows]);
#pragma GCC unroll 16
            for (int v = 0; v < vectors; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], entry, column[v]);
        }
        packed += vectors * 16;
        left += apart.terms;
    }
    V made[rows][vectors];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) made[r][v] = (V)sum[r][v];
    put<float, rows, vectors>(made, out, out_row, columns, factor, adds);
}

template <int vectors>
void panel(const Packed* left, Apart apart, Int rows, Int pairs, const Packed* packed, float* out, const Int* out_row,
           Int columns, float factor, bool adds) {
    Int r = 0;
    for (; r + ROWS <= rows; r += ROWS, left += ROWS * apart.rows)
        panel_rows<ROWS, vectors>(left, apart, pairs, packed, out, out_row + r, columns, factor, adds);
    for (; r + 2 <= rows; r += 2, left += 2 * apart.rows)
        panel_rows<2, vectors>(left, apart, pairs, packed, out, out_row + r, columns, factor, adds);
    for (; r < rows; ++r, left += apart.rows)
        panel_rows<1, vectors>(left, apart, pairs, packed, out, out_row + r, columns, factor, adds);
}

#else

// A rounded term of a sum.
typedef float Packed;
constexpr Int TOGETHER = 1;

inline float rounded(float u) {
    std::uint32_t bits;
    std::memcpy(&bits, &u, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    float nearest;
    std::memcpy(&nearest, &bits, sizeof bits);
    return u == u ? nearest : u;
}

inline void round_terms(const float* from, Int count, Packed* to) {
    for (Int k = 0; k < count; ++k) to[k] = rounded(from[k]);
}

inline void round_rows(const float* first, const float*, Int count, Int wide, Packed* to) {
    round_terms(first, count, to);
    std::fill(to + count, to + wide, 0.0f);
}

template <int vectors>
void panel(const Packed* left, Apart apart, Int rows, Int terms, const Packed* packed, float* out, const Int* out_row,
           Int columns, float factor, bool adds) {
    const Places row = places({{rows, apart.rows}}), inner = places({{terms, apart.terms}});
    panel<float, vectors>(left, row.data(), rows, inner, packed, out, out_row, columns, factor, adds);
}

#endif

// How many of some places are next to each other, over and over.
inline Int run_of(const Int* places, Int count) {
    Int run = 1;
    while (run < count && places[run] == places[run - 1] + 1) ++run;
    for (Int k = run; k < count; ++k)
        if (k % run && places[k] != places[k - 1] + 1) return 1;
    return run;
}

// A row of terms; so many of them are next to each other, over and over.
inline void round_row(const float* from, const Int* inner, Int terms, Int run, Packed* to) {
    if (run == terms || run % TOGETHER == 0) {
        for (Int k = 0; k < terms; k += run) round_terms(from + inner[k], std::min(run, terms - k), to + k / TOGETHER);
    } else {
        float gathered[BLOCK / FEWEST * TOGETHER];
        for (Int k = 0; k < terms; ++k) gathered[k] = from[inner[k]];
        round_terms(gathered, terms, to);
    }
}

// Some rows, rounded as they lie in memory: one after the other, or term by term where rows are next to each other.
inline Apart round_block(const float* left, const Int* row, Int rows, const Int* inner, Int terms, Int run,
                         Packed* block) {
    const Int packed = (terms + TOGETHER - 1) / TOGETHER, wide = (rows + FEWEST - 1) / FEWEST * FEWEST;
    if (run == 1 && run_of(row, rows) == rows) {
        for (Int k = 0; k < terms; k += TOGETHER) {
            const float* const first = left + row[0] + inner[k];
            const float* const last = k + TOGETHER <= terms ? left + row[0] + inner[k + TOGETHER - 1] : nullptr;
            round_rows(first, last, rows, wide, block + k / TOGETHER * wide);
        }
        return {1, wide};
    }
    for (Int r = 0; r < rows; ++r) round_row(left + row[r], inner, terms, run, block + r * packed);
    return {packed, 1};
}

// A panel of columns, each with its terms next to each other.
inline void pack_columns(const float* matrix, Int terms, const Int* columns, Int count, Int wide, Packed* to) {
    constexpr Int most = 64;
    Packed column[most / TOGETHER];
    for (Int k = 0; k < terms; k += most, to += most / TOGETHER * wide) {
        const Int here = std::min(most, terms - k), rows = (here + TOGETHER - 1) / TOGETHER;
        for (Int j = 0; j < wide; ++j) {
            if (j < count) round_terms(matrix + columns[j] + k, here, column);
            for (Int p = 0; p < rows; ++p) to[p * wide + j] = j < count ? column[p] : 0;
        }
    }
}

// Panels of a right matrix, rounded.
template <class Operand, IfRounded<Operand> = 0>
void pack(const float* matrix, const Places& inner, const Places& columns, float* packed) {
    constexpr Int width = Vector<float>::width;
    const Int count = columns.size(), terms = inner.size();
    const bool along_columns = run_of(columns.data(), count) == count;
    const bool along_terms = !along_columns && run_of(inner.data(), terms) == terms;
    Packed* to = (Packed*)packed;
    for (Int first = 0; first < count; first += 2 * width) {
        const Int here = std::min(2 * width, count - first), wide = here > width ? 2 * width : width;
        if (along_terms) {
            pack_columns(matrix + inner[0], terms, columns.data() + first, here, wide, to);
        } else {
            float gathered[TOGETHER][2 * width] = {};
            for (Int k = 0; k < terms; k += TOGETHER) {
                const float* row[TOGETHER] = {};
                for (Int t = 0; t < TOGETHER && k + t < terms; ++t) {
                    row[t] = matrix + inner[k + t] + columns[first];
                    if (along_columns) continue;
                    for (Int j = 0; j < here; ++j) gathered[t][j] = matrix[inner[k + t] + columns[first + j]];
                    row[t] = gathered[t];
                }
                round_rows(row[0], row[TOGETHER - 1], here, wide, to + k / TOGETHER * wide);
            }
        }
        to += (terms + TOGETHER - 1) / TOGETHER * wide;
    }
}

// Several right matrices that are multiplied by the same left one: how many, and how far apart they and what they give.
struct Several {
    Int count, packed, out;
};

template <class T, IfWhole<T> = 0>
void multiply(const T* left, const Places& row, Int rows, const Places& inner, const T* packed, T* out,
              const Places& out_row, Int columns, T factor, bool adds, Several several) {
    for (Int which = 0; which < several.count; ++which)
        multiply<T>(left, row, rows, inner, packed + which * several.packed, out + which * several.out, out_row,
                    columns, factor, adds);
}

// out = factor * left @ right, or added to out, with rows of left that are rounded some at a time.
template <class Operand, IfRounded<Operand> = 0>
void multiply(const float* left, const Places& row, Int rows, const Places& inner, const float* packed, float* out,
              const Places& out_row, Int columns, float factor, bool adds, Several several = {1, 0, 0}) {
    constexpr Int width = Vector<float>::width, most = BLOCK / FEWEST * TOGETHER;
    alignas(64) Packed block[BLOCK];
    const Int terms = inner.size(), all = (terms + TOGETHER - 1) / TOGETHER;
    for (Int term = 0; term < terms; term += most) {
        const Int here = std::min(most, terms - term), some = (here + TOGETHER - 1) / TOGETHER;
        const Int run = run_of(inner.data() + term, here), together = BLOCK / some / FEWEST * FEWEST;
        const bool again = adds || term > 0;
        for (Int r = 0; r < rows; r += together) {
            const Int own = std::min(together, rows - r);
            const Apart apart = round_block(left, row.data() + r, own, inner.data() + term, here, run, block);
            for (Int which = 0; which < several.count; ++which) {
                const Packed* from = (const Packed*)(packed + which * several.packed);
                float* const to = out + which * several.out;
                for (Int first = 0; first < columns; first += 2 * width) {
                    const Int wide = columns - first > width ? 2 * width : width;
                    const Packed* const at = from + term / TOGETHER * wide;
                    const Int here_columns = std::min(wide, columns - first);
                    if (wide > width)
                        panel<2>(block, apart, own, some, at, to + first, out_row.data() + r, here_columns, factor, again);
                    else
                        panel<1>(block, apart, own, some, at, to + first, out_row.data() + r, here_columns, factor, again);
                    from += all * wide;
                }
            }
        }
    }
}

}  // namespace
