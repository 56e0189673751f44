// Both products by the matrix that couples many entries of a sample with few others, which is read once.

namespace {

// By one panel of the matrix: made is that of the few, sum grows by that of the many.
template <class T, Int few, int vectors>
__attribute__((always_inline)) inline void couple_panel(const typename Vector<T>::Type (&each)[few], const T* many,
                                                        const T* packed, T* made,
                                                        typename Vector<T>::Type (&sum)[few]) {
    typedef typename Vector<T>::Type V;
    constexpr Int width = Vector<T>::width;
    V entries[vectors], here[vectors] = {};
    for (int v = 0; v < vectors; ++v) entries[v] = *(const V*)(many + v * width);
#pragma GCC unroll 16
    for (Int k = 0; k < few; ++k)
        for (int v = 0; v < vectors; ++v) {
            const V column = read_once(packed + (k * vectors + v) * width);
            here[v] += each[k] * column;
            sum[k] += entries[v] * column;
        }
    for (int v = 0; v < vectors; ++v) *(V*)(made + v * width) = here[v];
}

// out = out_factor * many @ matrix, and for each panel of its rows in turn rows(first, count, made): how many there
// are, and factor * matrix @ those_few for them. The matrix is packed as for the latter.
template <class T, Int few, class Rows>
__attribute__((always_inline)) inline void couple(const T* those_few, T factor, const T* many, Int terms,
                                                  const T* packed, T* out, T out_factor, const Rows& rows) {
    typedef typename Vector<T>::Type V;
    constexpr Int width = Vector<T>::width, wide = 2 * width;
    V each[few], sum[few] = {};
    for (Int k = 0; k < few; ++k) each[k] = V{} + factor * those_few[k];
    T made[wide];
    Int first = 0;
    for (; first + wide <= terms; first += wide, packed += few * wide) {
        couple_panel<T, few, 2>(each, many + first, packed, made, sum);
        rows(first, std::integral_constant<Int, wide>(), made);
    }
    if (first < terms) {
        T entries[wide] = {};
        std::copy_n(many + first, terms - first, entries);
        if (terms - first > width)
            couple_panel<T, few, 2>(each, entries, packed, made, sum);
        else
            couple_panel<T, few, 1>(each, entries, packed, made, sum);
        rows(first, terms - first, made);
    }
    for (Int k = 0; k < few; ++k) out[k] = out_factor * sum_of<T>(sum[k]);
}

}  // namespace
