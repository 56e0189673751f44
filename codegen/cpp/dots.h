// Products with few columns, whose vectors run along the terms of a sum: along columns they would be mostly empty.

namespace {

// Rows that are made at once, and the most columns: so many sums stay in registers.
constexpr Int DOT_ROWS = VECTOR_BYTES == 64 ? 4 : 2, DOT_COLUMNS = 5;

// The terms of each column next to each other, one column after the other.
template <class T>
void lay(const T* matrix, const Places& inner, const Places& columns, T* laid) {
    for (Int column : columns)
        for (Int k : inner) *laid++ = matrix[k + column];
}

// The sum of some lanes, by halves that are vectors; they are used up.
template <class T, Int count>
__attribute__((always_inline)) inline T sum_of(T* lanes) {
    if constexpr (count == 2) {
        return lanes[0] + lanes[1];
    } else {
        typedef T Half __attribute__((vector_size(count / 2 * sizeof(T)), aligned(sizeof(T)), may_alias));
        *(Half*)lanes += *(const Half*)(lanes + count / 2);
        return sum_of<T, count / 2>(lanes);
    }
}

template <class T>
__attribute__((always_inline)) inline T sum_of(const typename Vector<T>::Type& vector) {
    T lanes[Vector<T>::width];
    *(typename Vector<T>::Type*)lanes = vector;
    return sum_of<T, Vector<T>::width>(lanes);
}

// The first entries of a vector, fewer than it has, and zeros.
template <class T>
__attribute__((always_inline)) inline typename Vector<T>::Type begun(const T* from, Int count) {
    T entries[Vector<T>::width] = {};
    std::copy_n(from, count, entries);
    return *(const typename Vector<T>::Type*)entries;
}

template <class T, int rows, int columns>
void dots_of(const T* left, const Int* row, Int terms, const T* right, T* out, const Int* out_row, T factor,
             bool adds) {
    typedef typename Vector<T>::Type V;
    constexpr Int width = Vector<T>::width;
    V sum[rows][columns] = {};
    Int k = 0;
    for (; k + width <= terms; k += width) {
        V entries[rows];
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) entries[r] = read_once(left + row[r] + k);
#pragma GCC unroll 16
        for (int c = 0; c < columns; ++c) {
            const V column = read_once(right + c * terms + k);
#pragma GCC unroll 16
            for (int r = 0; r < rows; ++r) sum[r][c] += entries[r] * column;
        }
    }
    if (k < terms)
        for (int c = 0; c < columns; ++c) {
            const V column = begun(right + c * terms + k, terms - k);
            for (int r = 0; r < rows; ++r) sum[r][c] += begun(left + row[r] + k, terms - k) * column;
        }
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
            T* const to = out + out_row[r] + c;
            *to = (adds ? *to : T(0)) + factor * sum_of<T>(sum[r][c]);
        }
}

template <class T, int columns>
void dots_of(const T* left, const Int* row, Int rows, Int terms, const T* right, T* out, const Int* out_row, T factor,
             bool adds) {
    Int r = 0;
    for (; r + DOT_ROWS <= rows; r += DOT_ROWS)
        dots_of<T, DOT_ROWS, columns>(left, row + r, terms, right, out, out_row + r, factor, adds);
    for (; r < rows; ++r) dots_of<T, 1, columns>(left, row + r, terms, right, out, out_row + r, factor, adds);
}

// out = factor * left @ right, or added to out; the terms of a row of left, and of a column of right, are next to each
// other, and so are the columns of out.
template <class T>
void dots(const T* left, const Places& row, Int rows, Int terms, const T* right, T* out, const Places& out_row,
          Int columns, T factor, bool adds) {
    using Way = void (*)(const T*, const Int*, Int, Int, const T*, T*, const Int*, T, bool);
    constexpr Way ways[DOT_COLUMNS] = {dots_of<T, 1>, dots_of<T, 2>, dots_of<T, 3>, dots_of<T, 4>, dots_of<T, 5>};
    for (Int parts = (columns + DOT_COLUMNS - 1) / DOT_COLUMNS; parts > 0; --parts) {
        const Int here = (columns + parts - 1) / parts;
        ways[here - 1](left, row.data(), rows, terms, right, out, out_row.data(), factor, adds);
        right += here * terms;
        out += here;
        columns -= here;
    }
}

}  // namespace
