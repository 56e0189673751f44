// The same of operands rounded to bfloat16.
extern "C" void rounded_product(Int most, Int, Real* const* states, const void* const* given, const Real*, Real*,
                                Int threads) {
    product<Real, Low>((const Int*)given[0], (const Int*)given[1], (const Real*)given[2], (const Real*)given[3],
                       states[0], most, threads);
}
