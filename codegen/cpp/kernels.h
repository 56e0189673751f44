// What every kernel uses: vectors, packed matrix products, scalar functions, tiles of samples.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using Int = std::int64_t;
using Real = REAL;  // float or double, as the library is built

// The C library's functions of a vector of numbers.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define SEVERAL __attribute__((simd("notinbranch")))
extern "C" {
SEVERAL float logf(float) noexcept;
SEVERAL double log(double) noexcept;
SEVERAL float sinf(float) noexcept;
SEVERAL double sin(double) noexcept;
SEVERAL float cosf(float) noexcept;
SEVERAL double cos(double) noexcept;
SEVERAL float powf(float, float) noexcept;
SEVERAL double pow(double, double) noexcept;
#if __GLIBC__ > 2 || __GLIBC_MINOR__ >= 35
SEVERAL float erff(float) noexcept;
SEVERAL double erf(double) noexcept;
SEVERAL float erfcf(float) noexcept;
SEVERAL double erfc(double) noexcept;
SEVERAL float log1pf(float) noexcept;
SEVERAL double log1p(double) noexcept;
#endif
}
#endif

// Part of OpenMP's own interface, in the process where torch is. ThreadSanitizer does not see how its threads wait.
#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
#define OPENMP_OF_TORCH
extern "C" void GOMP_parallel(void (*work)(void*), void* given, unsigned threads, unsigned flags) __attribute__((weak));
#endif

namespace {  // or two libraries in one process would share what has the same name

// ---------------------------------------------------------------- vectors

#if defined(__AVX512F__)
constexpr int VECTOR_BYTES = 64, TABLE_ROWS = 8;
#elif defined(__AVX__)
constexpr int VECTOR_BYTES = 32, TABLE_ROWS = 6;
#else
constexpr int VECTOR_BYTES = 16, TABLE_ROWS = 6;
#endif
#if defined(ENERGYC_ROWS)
constexpr int ROWS = ENERGYC_ROWS;
#else
constexpr int ROWS = TABLE_ROWS;
#endif

template <class T>
struct Vector {
    typedef T Type __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
    static constexpr Int width = VECTOR_BYTES / sizeof(T);
};

// A vector that is read once and then in a register: the compiler would read it again for each product.
template <class T>
__attribute__((always_inline)) inline typename Vector<T>::Type read_once(const T* from) {
    typename Vector<T>::Type vector = *(const typename Vector<T>::Type*)from;
#if defined(__AVX512F__)
    asm("" : "+v"(vector));
#elif defined(__x86_64__)
    asm("" : "+x"(vector));
#endif
    return vector;
}

// Leaves the registers to a loop in which a number is not needed.
template <class T>
__attribute__((always_inline)) inline void keep_in_memory(T& number) {
    asm("" : "+m"(number));
}

// ---------------------------------------------------------------- matrix products

// Where the entries of a matrix are along one side: labels with their sizes and strides, the last one fastest.
using Places = std::vector<Int>;

struct Label {
    Int size, stride;
};

inline Places places(std::initializer_list<Label> labels) {
    Places all{0};
    for (const Label& label : labels) {
        Places longer;
        for (Int start : all)
            for (Int k = 0; k < label.size; ++k) longer.push_back(start + k * label.stride);
        all = std::move(longer);
    }
    return all;
}

// Columns are packed in panels of two vectors; the last panel has one where that is enough.
template <class T>
constexpr Int padded(Int columns) {
    return (columns + Vector<T>::width - 1) / Vector<T>::width * Vector<T>::width;
}

template <class T>
void pack(const T* matrix, const Places& inner, const Places& columns, T* packed) {
    constexpr Int width = Vector<T>::width;
    const Int count = columns.size();
    bool adjacent = true;
    for (Int j = 1; j < count; ++j) adjacent = adjacent && columns[j] == columns[j - 1] + 1;
    for (Int first = 0; first < count; first += 2 * width) {
        const Int here = std::min(2 * width, count - first), wide = here > width ? 2 * width : width;
        for (Int k : inner) {
            if (adjacent && here == 2 * width)
                std::memcpy(packed, matrix + k + columns[first], 2 * width * sizeof(T));
            else if (adjacent)
                std::copy_n(matrix + k + columns[first], here, packed);
            else
                for (Int j = 0; j < here; ++j) packed[j] = matrix[k + columns[first + j]];
            for (Int j = here; j < wide; ++j) packed[j] = 0;
            packed += wide;
        }
    }
}

// A matrix that the caller gives, or several of one shape, which products read packed: the place of the tensor in what
// is given, and where in it they start; where the matrices, their terms and their columns are from there.
struct Matrix {
    Int given, at;
    const Places &starts, &inner, &columns;
    void (*pack_into)(const Real*, const Places&, const Places&, Real*) = pack<Real>;

    // The entries of one of them.
    Int entries() const { return inner.size() * padded<Real>(columns.size()); }
};

// Sums of some rows of one panel, where they belong: out = factor * sum, or added to out.
template <class T, int rows, int vectors>
__attribute__((always_inline)) inline void put(const typename Vector<T>::Type (&sum)[rows][vectors], T* out,
                                               const Int* out_row, Int columns, T factor, bool adds) {
    typedef typename Vector<T>::Type V;
    constexpr Int width = Vector<T>::width;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
        T* to = out + out_row[r];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) {
            const V value = factor * sum[r][v];
            if (columns >= (v + 1) * width) {
                V* at = (V*)(to + v * width);
                *at = adds ? *at + value : value;
            } else {
                for (Int j = v * width; j < columns; ++j) to[j] = (adds ? to[j] : T(0)) + value[j - v * width];
            }
        }
    }
}

// Some rows of one panel: out = factor * left @ panel, or added to out.
template <class T, int rows, int vectors>
__attribute__((always_inline)) inline void panel_rows(const T* left, const Int* row, const Places& inner,
                                                      const T* packed, T* out, const Int* out_row, Int columns,
                                                      T factor, bool adds) {
    typedef typename Vector<T>::Type V;
    constexpr Int width = Vector<T>::width;
    V sum[rows][vectors] = {};
    const T* from[rows];
    for (int r = 0; r < rows; ++r) from[r] = left + row[r];
    keep_in_memory(factor);
    for (Int k : inner) {
        V column[vectors];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) column[v] = read_once(packed + v * width);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            const T entry = from[r][k];
#pragma GCC unroll 16
            for (int v = 0; v < vectors; ++v) sum[r][v] += entry * column[v];
        }
        packed += vectors * width;
    }
    put<T, rows, vectors>(sum, out, out_row, columns, factor, adds);
}

// A function of its own, so that no value of a caller takes a register from the loop.
template <class T, int vectors>
__attribute__((noinline)) void panel(const T* left, const Int* row, Int rows, const Places& inner, const T* packed, T* out, const Int* out_row,
           Int columns, T factor, bool adds) {
    Int r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        panel_rows<T, ROWS, vectors>(left, row + r, inner, packed, out, out_row + r, columns, factor, adds);
    for (; r + 2 <= rows; r += 2)
        panel_rows<T, 2, vectors>(left, row + r, inner, packed, out, out_row + r, columns, factor, adds);
    for (; r < rows; ++r)
        panel_rows<T, 1, vectors>(left, row + r, inner, packed, out, out_row + r, columns, factor, adds);
}

// out = factor * left @ right, or added to out; right is packed, the columns of out are next to each other.
template <class T>
void multiply(const T* left, const Places& row, Int rows, const Places& inner, const T* packed, T* out,
              const Places& out_row, Int columns, T factor, bool adds) {
    constexpr Int width = Vector<T>::width;
    for (Int first = 0; first < columns; first += 2 * width) {
        const Int here = std::min(2 * width, columns - first);
        if (here > width) {
            panel<T, 2>(left, row.data(), rows, inner, packed, out + first, out_row.data(), here, factor, adds);
            packed += 2 * width * inner.size();
        } else {
            panel<T, 1>(left, row.data(), rows, inner, packed, out + first, out_row.data(), here, factor, adds);
        }
    }
}

// ---------------------------------------------------------------- scalar functions

namespace of {
#define FUNCTION template <class T> __attribute__((always_inline)) inline T
// How numbers are made up: exp's argument is cut off at lowest, where half of 2^n has no bits, and at highest; log 2 is
// high + low; what is added to round to a whole number leaves it in the last bits.
template <class T>
struct Format;
template <>
struct Format<float> {
    using Bits = std::uint32_t;
    static constexpr int terms = 7, fraction = 23, bias = 127;
    static constexpr float lowest = -87.5f, highest = 89.0f, one = 10.0f;  // from there on tanh is 1
    static constexpr float high = 0.693359375f, low = -2.12194440e-4f, round = 12582912.0f;
};
template <>
struct Format<double> {
    using Bits = std::uint64_t;
    static constexpr int terms = 13, fraction = 52, bias = 1023;
    static constexpr double lowest = -708.5, highest = 710.0, one = 20.0;
    static constexpr double high = 6.93147180369123816490e-01, low = 1.90821492927058770002e-10;
    static constexpr double round = 6755399441055744.0;
};
// The coefficients of exp's series, 1 / k!.
template <class T, int terms>
struct Series {
    T over[terms + 1] = {T(1)};
    constexpr Series() {
        for (int k = 1; k <= terms; ++k) over[k] = over[k - 1] / T(k);
    }
};
// u = n log 2 + rest with |rest| at most log(2) / 2; n is in the last bits.
template <class T>
struct Reduced {
    T rest;
    typename Format<T>::Bits n;
};
template <class T>
__attribute__((always_inline)) inline Reduced<T> reduced(T u) {
    using F = Format<T>;
    const T shifted = u * T(1.44269504088896340736) + F::round, n = shifted - F::round;
    Reduced<T> found = {(u - n * F::high) - n * F::low, 0};
    std::memcpy(&found.n, &shifted, sizeof shifted);
    return found;
}
// 2^n by its bits.
FUNCTION two_to(typename Format<T>::Bits n) {
    using F = Format<T>;
    const typename F::Bits bits = (n << F::fraction) + (typename F::Bits(F::bias) << F::fraction);
    T power;
    std::memcpy(&power, &bits, sizeof bits);
    return power;
}
// The sum over k of u^(k - from) / k! by Horner's scheme.
template <int from, class T>
__attribute__((always_inline)) inline T series(T u) {
    constexpr Series<T, Format<T>::terms> coefficients;
    T sum = coefficients.over[Format<T>::terms];
#pragma GCC unroll 16
    for (int k = Format<T>::terms - 1; k >= from; --k) sum = coefficients.over[k] + sum * u;
    return sum;
}
FUNCTION clip(T u, T low, T high) { return u < low ? low : u > high ? high : u; }
// Below sqrt(2) times the smallest normal number it is 0, since there half of 2^n has no bits. The C library's vectors
// compute such entries one by one, and a selection here would keep the compiler from a clip by two instructions.
FUNCTION exp(T u) {
    const Reduced<T> part = reduced(clip(u, Format<T>::lowest, Format<T>::highest));
    return T(2) * (series<0>(part.rest) * two_to<T>(part.n - 1));
}
// By exp(2 u) - 1, which does not cancel near 0.
FUNCTION tanh(T u) {
    const T within = clip(u, -Format<T>::one, Format<T>::one);
    const Reduced<T> part = reduced(within + within);
    const T power = two_to<T>(part.n), above = part.rest * series<1>(part.rest) * power + (power - T(1));
    return above / (above + T(2));
}
inline float log(float u) { return ::logf(u); }
inline double log(double u) { return ::log(u); }
inline float log1p(float u) { return ::log1pf(u); }
inline double log1p(double u) { return ::log1p(u); }
inline float sin(float u) { return ::sinf(u); }
inline double sin(double u) { return ::sin(u); }
inline float cos(float u) { return ::cosf(u); }
inline double cos(double u) { return ::cos(u); }
inline float erf(float u) { return ::erff(u); }
inline double erf(double u) { return ::erf(u); }
inline float erfc(float u) { return ::erfcf(u); }
inline double erfc(double u) { return ::erfc(u); }
inline float sqrt(float u) { return __builtin_sqrtf(u); }
inline double sqrt(double u) { return __builtin_sqrt(u); }
inline float power(float u, float exponent) { return ::powf(u, exponent); }
inline double power(double u, double exponent) { return ::pow(u, exponent); }
FUNCTION abs(T u) { return u < 0 ? -u : u; }
template <int n, class T>
__attribute__((always_inline)) inline T whole_power(T u) {
    if constexpr (n == 1) return u;
    else if constexpr (n % 2) return u * whole_power<n - 1>(u);
    else return whole_power<n / 2>(u * u);
}
FUNCTION relu(T u) { return u < 0 ? T(0) : u; }
FUNCTION step(T u) { return u > 0 ? T(1) : T(0); }
FUNCTION reached(T u) { return u < 0 ? T(0) : T(1); }
FUNCTION sign(T u) { return u > 0 ? T(1) : u < 0 ? T(-1) : T(0); }
FUNCTION sigmoid(T u) { return T(1) / (T(1) + exp(-u)); }
FUNCTION softplus(T u) { return relu(u) + log1p(exp(-abs(u))); }
FUNCTION logsigmoid(T u) { return -softplus(-u); }
FUNCTION silu_slope(T u) {
    const T s = sigmoid(u);
    return s + u * s * sigmoid(-u);
}
FUNCTION cumulative(T u) { return T(0.5) * erfc(u * T(-0.70710678118654752440)); }
FUNCTION gelu_tanh_core(T u) { return tanh(T(0.79788456080286535588) * (u + T(0.044715) * u * u * u)); }
FUNCTION gelu_tanh_slope(T u) {
    const T t = gelu_tanh_core(u);
    const T rise = T(0.79788456080286535588) * (T(1) + T(3 * 0.044715) * u * u);
    return T(0.5) * (T(1) + t) + T(0.5) * u * (T(1) - t) * (T(1) + t) * rise;
}
// By their formulas.
FUNCTION silu(T u) { return u * of::sigmoid(u); }
FUNCTION erf_slope(T u) { return T(1.1283791670955126) * of::exp(-u * u); }
FUNCTION gauss(T u) { return T(0.3989422804014327) * of::exp(-T(0.5) * u * u); }
FUNCTION gelu(T u) { return u * of::cumulative(u); }
FUNCTION gelu_slope(T u) { return of::cumulative(u) + u * of::gauss(u); }
FUNCTION gelu_tanh(T u) { return T(0.5) * u * (T(1) + of::gelu_tanh_core(u)); }
FUNCTION softsign(T u) { return u / (T(1) + of::abs(u)); }
// end
#undef FUNCTION
}  // namespace of

inline Int floor_div(Int a, Int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
inline Int modulo(Int a, Int b) { return a - b * floor_div(a, b); }

// ---------------------------------------------------------------- samples

// The largest of |next - now| / (|now| + 1e-12) of one sample so far; no number where a square overflows.
template <class T>
T relative_change(const T* now, const T* next, Int size, T largest) {
    T change = 0, whole = 0;
#pragma omp simd reduction(+ : change, whole)
    for (Int k = 0; k < size; ++k) {
        const T moved = next[k] - now[k];
        change += moved * moved;
        whole += now[k] * now[k];
    }
    if (!(change < T(INFINITY) && whole < T(INFINITY)) || largest != largest) return T(NAN);
    return std::max(largest, std::sqrt(change) / (std::sqrt(whole) + T(1e-12)));
}

// The largest relative change over all states of one sample.
template <class Phase, class T>
T moved(T* const* now, T* const* next, Int b) {
    constexpr Int count = sizeof(Phase::sizes) / sizeof(Int);
    T largest = 0;
    for (Int k = 0; k < count; ++k) {
        const Int size = Phase::sizes[k];
        largest = relative_change(now[k] + b * size, next[k] + b * size, size, largest);
    }
    return largest;
}

// Memory of the calling thread, kept from call to call.
template <class T>
T* workspace(Int count, int which) {
    static thread_local std::vector<T> kept[2];
    if (Int(kept[which].size()) < count + 16) kept[which].resize(count + 16);
    return (T*)((std::uintptr_t(kept[which].data()) + 63) / 64 * 64);
}

// The process that loaded the library; a fork of it has none of its threads.
const pid_t loaded_by = getpid();

// Into how many parts items are divided among threads.
inline Int parts_of(Int items, Int threads) { return std::max<Int>(1, std::min(items, threads)); }

// Calls work(k, first, count) for each of some parts of the items, the k-th from first on, on some threads: those of
// OpenMP where torch has brought it, which wait between calls. All that torch has take part, since OpenMP ends those
// that one call leaves out. A thread that is made for a call may begin on the core of its maker, and then runs after
// it, not beside it.
template <class Work>
void share(Int items, Int parts, Int threads, const Work& work) {
    std::atomic<Int> next{0};
    auto some = [&] {
        for (Int k = next++; k < parts; k = next++) {
            const Int first = k * items / parts, stop = (k + 1) * items / parts;
            work(k, first, stop - first);
        }
    };
    if (parts == 1) return some();
#if defined(OPENMP_OF_TORCH)
    if (GOMP_parallel != nullptr && loaded_by == getpid()) {
        using Some = decltype(some);
        return GOMP_parallel([](void* given) { (*(Some*)given)(); }, &some, unsigned(threads), 0);
    }
#endif
    std::vector<std::thread> others;
    for (Int k = 1; k < parts; ++k) others.emplace_back(some);
    some();
    for (std::thread& other : others) other.join();
}

// The entries of whole lines of the cache.
constexpr Int lines(Int entries) { return (entries + 15) / 16 * 16; }

// What every kernel has: its memory, and the matrices that it reads packed. A kernel that needs more than none of these
// has a constant of the same name.
struct Tile {
    static constexpr Int scratch = 0, panel_entries = 0;
    static constexpr const Matrix* table = nullptr;
    static constexpr std::array<Int, 0> packs{};

    Real* memory;
    Real* panel_memory;
    const Real* const* packed;

    // Goes on to the number of the next step, where it is read.
    void count() {}
};

// Packs the matrices that a phase reads packed; where each of its table begins.
template <class Phase>
std::vector<const Real*> packed_for(const void* const* given) {
    Int entries = 0, count = 0;
    for (Int k : Phase::packs) {
        entries += Phase::table[k].starts.size() * Phase::table[k].entries();
        count = std::max(count, k + 1);
    }
    Real* to = workspace<Real>(entries, 0);
    std::vector<const Real*> packed(count);
    for (Int k : Phase::packs) {
        const Matrix& matrix = Phase::table[k];
        packed[k] = to;
        for (Int start : matrix.starts) {
            matrix.pack_into((const Real*)given[matrix.given] + matrix.at + start, matrix.inner, matrix.columns, to);
            to += matrix.entries();
        }
    }
    return packed;
}

// The entries of the memory of a tile: what its steps leave between statements, the states now and next, and panels of
// matrices.
template <class Phase>
constexpr Int room() {
    Int entries = Phase::scratch;
    for (Int size : Phase::sizes) entries += 2 * size;
    return lines(entries * Phase::tile + Phase::panel_entries);
}

// The phase of a tile that begins with a sample of what is given, with its memory.
template <class Phase, class T>
Phase placed(const void* const* given, const T* scalars, Int start, T* memory, T* panel_memory,
             const T* const* packed) {
    Phase phase;
    phase.take(given, scalars, start);
    phase.memory = memory;
    phase.panel_memory = panel_memory;
    phase.packed = packed;
    return phase;
}

// Calls work(phase, n, start, now, next) for each tile of some samples, with its phase and its states now.
template <class Phase, class T, class Work>
void tiles_of(Int first, Int several, T* const* states, const void* const* given, const T* scalars,
              const T* const* packed, T* memory, const Work& work) {
    constexpr Int tile = Phase::tile, count = sizeof(Phase::sizes) / sizeof(Int);
    for (Int start = first; start < first + several; start += tile) {
        const Int n = std::min(tile, first + several - start);
        T* now[count];
        T* next[count];
        T* place = memory + Phase::scratch * tile;
        for (Int k = 0; k < count; ++k) {
            const Int size = Phase::sizes[k];
            now[k] = place;
            next[k] = place + size * tile;
            place += 2 * size * tile;
            std::copy_n(states[k] + start * size, n * size, now[k]);
        }
        Phase phase = placed<Phase>(given, scalars, start, memory, place, packed);
        work(phase, n, start, now, next);
    }
}

// The same for all samples, on some threads.
template <class Phase, class T, class Work>
void for_tiles(Int samples, T* const* states, const void* const* given, const T* scalars, Int threads,
               const Work& work) {
    const std::vector<const T*> matrices = packed_for<Phase>(given);
    const T* const* const packed = matrices.data();
    const Int parts = parts_of(samples, threads);
    T* const rooms = workspace<T>(parts * room<Phase>(), 1);
    share(samples, parts, threads, [=](Int part, Int first, Int several) {
        tiles_of<Phase, T>(first, several, states, given, scalars, packed, rooms + part * room<Phase>(), work);
    });
}

// Copies the states of a tile back to where they came from.
template <class Phase, class T>
void leave(T* const* now, Int n, Int start, T* const* states) {
    constexpr Int count = sizeof(Phase::sizes) / sizeof(Int);
    for (Int k = 0; k < count; ++k) std::copy_n(now[k], n * Phase::sizes[k], states[k] + start * Phase::sizes[k]);
}

// Steps of a phase in place, tile by tile; change, if it is wanted, is the relative change of the step after them.
template <class Phase, class T>
void relax(Int samples, Int steps, T* const* states, const void* const* given, const T* scalars, T* change,
           Int threads) {
    constexpr Int count = sizeof(Phase::sizes) / sizeof(Int);
    const auto work = [=](Phase& phase, Int n, Int start, T** now, T** next) {
        for (Int number = 0; number < steps; ++number) {
            phase.step(n, now, next);
            phase.count();
            for (Int k = 0; k < count; ++k) std::swap(now[k], next[k]);
        }
        leave<Phase, T>(now, n, start, states);
        if (change == nullptr) return;
        phase.step(n, now, next);
        for (Int b = 0; b < n; ++b) change[start + b] = moved<Phase>(now, next, b);
    };
    for_tiles<Phase, T>(samples, states, given, scalars, threads, work);
}

}  // namespace

// A function that the library exports: a kernel, and how it walks.
#define PHASE(name, walk, kernel)                                                                         \
    extern "C" void name(Int samples, Int steps, Real* const* states, const void* const* given,           \
                         const Real* scalars, Real* change, Int threads) {                                \
        walk<kernel, Real>(samples, steps, states, given, scalars, change, threads);                      \
    }
