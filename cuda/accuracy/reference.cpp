// The functions in 113-bit floats, as the reference for those of f64. g++ compiles this file with libquadmath.
#include <quadmath.h>

namespace {

__float128 half_turns(__float128 x, bool cosine) {
    __float128 rest = x - 2 * rintq(x / 2);
    __float128 n = rintq(2 * rest);
    __float128 angle = M_PIq * (rest - n / 2);
    int quadrant = ((int)n + (cosine ? 1 : 0)) & 3;
    __float128 size = quadrant & 1 ? cosq(angle) : sinq(angle);
    __float128 result = quadrant & 2 ? -size : size;
    if (result != 0) return result;
    return cosine ? 0 : copysignq(0, x);
}

__float128 remainder(__float128 x, __float128 y) {
    __float128 rest = fmodq(x, y);
    return rest < 0 ? rest + fabsq(y) : rest;
}

bool is(const char* a, const char* b) {
    while (*a && *a == *b) ++a, ++b;
    return *a == *b;
}

__float128 exact(const char* name, __float128 x, __float128 y) {
    if (is(name, "sin")) return sinq(x);
    if (is(name, "cos")) return cosq(x);
    if (is(name, "tan")) return tanq(x);
    if (is(name, "asin")) return asinq(x);
    if (is(name, "acos")) return acosq(x);
    if (is(name, "atan")) return atanq(x);
    if (is(name, "sinpi")) return half_turns(x, false);
    if (is(name, "cospi")) return half_turns(x, true);
    if (is(name, "exp")) return expq(x);
    if (is(name, "exp2")) return exp2q(x);
    if (is(name, "expm1")) return expm1q(x);
    if (is(name, "log")) return logq(x);
    if (is(name, "log2")) return log2q(x);
    if (is(name, "log10")) return log10q(x);
    if (is(name, "log1p")) return log1pq(x);
    if (is(name, "sinh")) return sinhq(x);
    if (is(name, "cosh")) return coshq(x);
    if (is(name, "tanh")) return tanhq(x);
    if (is(name, "asinh")) return asinhq(x);
    if (is(name, "acosh")) return acoshq(x);
    if (is(name, "atanh")) return atanhq(x);
    if (is(name, "cbrt")) return cbrtq(x);
    if (is(name, "rcbrt")) return 1 / cbrtq(x);
    if (is(name, "erf")) return erfq(x);
    if (is(name, "erfc")) return erfcq(x);
    if (is(name, "pow")) return powq(x, y);
    if (is(name, "atan2")) return atan2q(x, y);
    if (is(name, "hypot")) return hypotq(x, y);
    if (is(name, "rem")) return remainder(x, y);
    __builtin_trap();
}

}  // namespace

// Returns the error of `found` in units in the last place of the exact result.
double error_in_ulp(const char* name, double x, double y, double found) {
    __float128 value = exact(name, x, y);
    if (isnanq(value) || found != found) return isnanq(value) && found != found ? 0 : __builtin_inf();
    double nearest = (double)value;
    if (nearest == 0 && found == 0) return __builtin_signbit(nearest) == __builtin_signbit(found) ? 0 : __builtin_inf();
    if (nearest == found && __builtin_isinf(found)) return 0;
    // An infinity counts as the number after the largest one.
    const __float128 end = ldexpq(1, 1024);
    __float128 a = value > end ? end : value < -end ? -end : value;
    __float128 b = !__builtin_isinf(found) ? found : found > 0 ? end : -end;
    int exponent;
    frexpq(value, &exponent);
    if (exponent < -1021) exponent = -1021;
    if (exponent > 1024) exponent = 1024;
    return (double)ldexpq(fabsq(a - b), 53 - exponent);
}
