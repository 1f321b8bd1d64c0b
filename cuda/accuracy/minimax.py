#!/usr/bin/env python3
"""Prints the polynomials of `cuda_std`'s mathematical functions.

    python3 minimax.py              # all polynomials
    python3 minimax.py sin asin     # some

Lawson's algorithm finds the polynomial with nearly the least maximum error, weighted as the entry says. The
coefficients are rounded to f32 or f64, lowest first: after each rounding, the algorithm runs again for the coefficients
that are left, so they make up for the rounding. The script needs the Python package mpmath.
"""
import struct
import sys

from mpmath import mp, mpf

mp.dps = 70


def f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def f64(x):
    return mpf(float(x))


def minimax(f, powers, low, high, weight):
    """Returns the coefficients of `powers` for which the maximum of |weight * (f - polynomial)| is near its least.

    Lawson's algorithm: weighted least squares, in which each point's weight grows with its error.
    """
    n = len(powers)
    count = 10 * n + 10
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / count) for k in range(count + 1)]
    rows = [[x**p * weight(x) for p in powers] for x in grid]
    values = [f(x) * weight(x) for x in grid]
    emphasis = [mpf(1)] * len(grid)
    best = None
    for _ in range(12):
        matrix, right = mp.matrix(n, n), mp.matrix(n, 1)
        for row, value, e in zip(rows, values, emphasis):
            for i in range(n):
                scaled = e * row[i]
                right[i] += scaled * value
                for j in range(i, n):
                    matrix[i, j] += scaled * row[j]
        for i in range(n):
            for j in range(i):
                matrix[i, j] = matrix[j, i]
        solution = mp.lu_solve(matrix, right)
        errors = [abs(v - sum(row[i] * solution[i] for i in range(n))) for row, v in zip(rows, values)]
        worst = max(errors)
        if best is None or worst < best[1]:
            best = (list(solution), worst)
        emphasis = [e * error / worst for e, error in zip(emphasis, errors)]
        total = sum(emphasis)
        emphasis = [max(e / total, mpf(10) ** -12) for e in emphasis]
    return best[0]


def rounded(f, degree, low, high, weight, rounding):
    """Returns coefficients that `rounding` leaves unchanged, lowest power first, and the maximum error."""
    done, powers = [], list(range(degree + 1))
    while len(done) < len(powers):
        known = list(zip(done, powers))
        rest = lambda x: f(x) - sum(c * x**p for c, p in known)
        done.append(rounding(minimax(rest, powers[len(done):], low, high, weight)[0]))
    grid = [low + (high - low) * k / 400 for k in range(401)]
    error = max(abs(weight(x) * (f(x) - sum(c * x**p for c, p in zip(done, powers)))) for x in grid)
    return done, error


def odd(f):
    """The function P of `s` for which f(x) = x + x·s·P(s), where s = x²."""
    return lambda s: (f(mp.sqrt(s)) / mp.sqrt(s) - 1) / s


def relative_odd(f):
    """The weight that makes the error of `odd(f)` the relative error of f."""
    return lambda s: mp.sqrt(s) * s / f(mp.sqrt(s))


LEAST = mpf(10) ** -12
# The reductions of the trigonometric functions may exceed π/4 by a rounding error of the quotient.
ANGLE = (mp.pi / 4 * mpf("1.01")) ** 2
# The square of s = f/(2 + f) for 1 + f in [√½, √2].
ROOT = (3 - 2 * mp.sqrt(2)) ** 2 * mpf("1.001")
ENTRIES = {}


def entry(name, f, degree, low, high, weight, rounding):
    ENTRIES[name] = (f, degree, mpf(low), mpf(high), weight, rounding)


def near_zero(f, limit):
    """The function f, which has the limit `limit` at 0, where f itself loses its digits."""
    return lambda x: f(x) if abs(x) > LEAST else mpf(limit)


def linear(x):
    """The weight of (f(x) − x)/x² that gives the relative error of f. It must not be 0."""
    return abs(x) + mpf("1e-4")


def cos_part(s):
    return (mp.cos(mp.sqrt(s)) - 1) / s


def atanh_part(s):
    """The function P of s = x² for which ln((1 + x)/(1 − x)) = 2x + x³·P(x²)."""
    x = mp.sqrt(s)
    return (2 * mp.atanh(x) - 2 * x) / (s * x)


def half_atanh_part(s):
    """The function P of s = u² for which 2·atanh(u/2) = u + u³·P(u²)."""
    u = mp.sqrt(s)
    return (2 * mp.atanh(u / 2) - u) / (s * u)


def erf_part(s):
    return mp.erf(mp.sqrt(s)) / mp.sqrt(s)


def erfc_tail(x):
    return mp.log(mp.erfc(x), 2) / x


def erfc_tail_weight(x):
    """Makes the error of `erfc_tail` the error of erf x, relative to 1/20."""
    return x * mp.erfc(x) * 20


def erfc_scaled(t):
    """(1 + 2x)·e^(x²)·erfc(x) − 1.25 as a function of t = (x − 4)/(x + 4)."""
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x) - mpf("1.25")


def table():
    for suffix, r, last in (("", f32, 0), ("_f64", f64, 1)):
        log = near_zero(lambda x: (mp.log1p(x) - x) / x**2, "-0.5")
        expm1 = near_zero(lambda x: (mp.expm1(x) - x) / x**2, "0.5")
        limit = lambda x: (mpf(x) - 4) / (mpf(x) + 4)
        add = lambda name, f, degrees, *more: entry(name + suffix, f, degrees[last], *more, r)
        add("sin", odd(mp.sin), (2, 5), LEAST, ANGLE, relative_odd(mp.sin))
        add("cos", cos_part, (3, 6), LEAST, ANGLE, lambda s: s / mp.cos(mp.sqrt(s)))
        add("tan", odd(mp.tan), (6, 14), LEAST, ANGLE, relative_odd(mp.tan))
        add("asin", odd(mp.asin), (4, 12), LEAST, "0.2501", relative_odd(mp.asin))
        add("atan", odd(mp.atan), (7, 19), LEAST, 1, relative_odd(mp.atan))
        add("sinh", odd(mp.sinh), (2, 6), LEAST, 1, relative_odd(mp.sinh))
        add("tanh", odd(mp.tanh), (4, 10), LEAST, "0.36", relative_odd(mp.tanh))
        add("expm1", expm1, (5, 10), "-0.5", "0.5", linear)
        add("erf", lambda s: erf_part(s) - 1, (6, 11), LEAST, 1, lambda s: 1 / erf_part(s))
        add("erfc_tail", erfc_tail, (8, 20), 1, ("4.1", 6)[last], erfc_tail_weight)
        add("erfc_scaled", erfc_scaled, (11, 22), -1, limit(("10.1", 28)[last]), lambda t: mpf(1))
    entry("log", log, 8, -mpf(1) / 3, mpf(1) / 3, linear, f32)
    entry("log_f64", atanh_part, 6, LEAST, ROOT, lambda s: s, f64)
    entry("pow", half_atanh_part, 3, LEAST, 4 * ROOT, lambda s: s, f32)
    rest = lambda s: (atanh_part(s) - mpf(2) / 3) / s
    entry("pow_f64", rest, 6, "1e-9", ROOT, lambda s: s * s, f64)
    exp2 = near_zero(lambda x: (2**x - 1) / x, mp.log(2))
    entry("exp2", exp2, 5, "-0.501", "0.501", linear, f32)


def main():
    table()
    for name in sys.argv[1:] or ENTRIES:
        c, error = rounded(*ENTRIES[name])
        print(f"{name}: error 2^{float(mp.log(error, 2)):.1f}")
        for k in c:
            print(f"    {float(k)!r},")


main()
