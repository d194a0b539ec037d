#!/usr/bin/env python3
"""Writes params_mpmath.csv: exact parameters by 60-digit arithmetic, to test src/params against.

    python3 make_params.py > params_mpmath.csv        (needs mpmath; takes some two minutes)

Nothing is shared with the C code: tails are summed in integers with 240 binary places from a first term by
mpmath's loggamma at 80 digits (which loses at most 17 of them), t and M are bracketed over their whole range.

Columns
    n, k, S, eps_recall, eps_overflow    the question; the budgets are doubles, printed so that they read back the same
    S_lowest                             smallest S with Pr(X_{k-1} = S) <= eps_recall
    t, M                                 Theorem 4; both 0 where S < S_lowest (PROFK_ERR_PARAMS)
    fail_recall, fail_overflow           Pr(R < k), Pr(R > M), 25 digits
    recall                               E[min(R, k)] / k at this S and t, 25 digits

A tail that agrees with its budget to 40 digits is taken to equal it (S = 1 and a budget of 1/4, say).
"""
import random
import sys

from mpmath import exp, log, loggamma, mp, mpf, nstr

mp.dps = 80
ONE = 1 << 240
WIDEST = 1 << 12    # standard deviation up to which the grid goes; the list WIDE goes further

SIZES = [1, 2, 10, 1000, 1 << 20, 1 << 24, 1 << 28, 1 << 31, 10**12 + 39, 1 << 47]
BUDGETS = [(5e-13, 5e-13), (5e-7, 5e-7), (5e-4, 5e-4), (0.25, 0.25), (0.5, 0.5), (1e-2, 1e-9), (1e-9, 1e-2)]
CORNERS = [  # n, k, S
    (1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (12, 5, 4), (1000, 900, 7), (1000, 900, 200), (1000, 1000, 1000),
    (1000, 999, 1000), (1000, 1, 1000), (1000, 1000, 999), (1 << 28, 1 << 15, 1 << 15), (1 << 47, 1, 1),
    (1 << 47, 1 << 46, 1), (1 << 47, 1 << 46, 1 << 10), (1 << 47, (1 << 47) - 1, 1 << 14),
    (1 << 47, 1 << 47, 1 << 14), (1 << 47, 1 << 30, 1 << 24), (1 << 47, 1000, 1 << 24),
    (1 << 47, 1000, (1 << 47) - 1), (1 << 47, 1000, 1 << 47), ((1 << 48) - 1, 1 << 20, 1 << 18),
    ((1 << 48) - 1, (1 << 48) - 1, 3), ((1 << 48) - 1, 7, 5),
]
WIDE = [  # n, k, S, with standard deviations of 1024 (both sides of it) to 260 000
    (1 << 24, 1 << 23, 1 << 23, 5e-4), ((1 << 24) + 100, 1 << 23, 1 << 23, 5e-13), (1 << 26, 1 << 25, 1 << 24, 5e-13),
    (1 << 40, 1 << 38, 1 << 23, 0.25), (1 << 40, 1 << 25, 1 << 38, 5e-4), (1 << 47, 1 << 46, 1 << 24, 5e-13),
    (1 << 34, 1 << 33, 1 << 33, 5e-4), (1 << 47, 1 << 45, 1 << 33, 5e-13), (1 << 40, 1 << 39, 1 << 39, 0.5),
]


def near_tail(n, K, S, t):
    """Pr(X >= t) for t above the mean and inside the support: log of the first term, then ratios."""
    rest = n - K - S
    first = (loggamma(K + 1) + loggamma(n - K + 1) + loggamma(S + 1) + loggamma(n - S + 1) - loggamma(n + 1)
             - loggamma(t + 1) - loggamma(K - t + 1) - loggamma(S - t + 1) - loggamma(rest + t + 1))
    term, total, j, last = ONE, ONE, t, min(K, S)
    while j < last and term << 170 > total:
        term = term * ((K - j) * (S - j)) // ((j + 1) * (rest + j + 1))
        total += term
        j += 1
    return exp(first) * total / ONE


def upper(n, K, S, t):
    if t <= max(0, K + S - n):
        return mpf(1)
    if t > min(K, S):
        return mpf(0)
    if t * n > K * S:
        return near_tail(n, K, S, t)
    return 1 - near_tail(n, n - K, S, S - t + 1)


def lower(n, K, S, t):
    """Pr(X < t)"""
    return upper(n, n - K, S, S - t + 1)


def smallest(low, high, tail, budget):
    """The smallest x in low..high with tail(x) <= budget; high satisfies it, tail does not rise."""
    def excess(x):
        value = tail(x)
        return log(value / budget) if value > 0 else None

    def kept(e):
        return e is None or e <= mpf(10) ** -40

    a, b = low - 1, high
    ea = eb = None
    turn = 0
    while b - a > 1:
        x = (a + b) // 2
        if turn % 3 and ea is not None and eb is not None:
            x = a + int((b - a) * ea / (ea - eb))
            x += 1 if turn % 3 == 2 else 0   # close in on the answer from both sides
        x = min(max(x, a + 1), b - 1)
        e = excess(x)
        if kept(e):
            b, eb = x, e
        else:
            a, ea = x, e
        turn += 1
    return b


def row(n, k, S, eps_recall, eps_overflow):
    S_lowest = smallest(1, k, lambda s: upper(n, k - 1, s, s), mpf(eps_recall))
    head = f"{n},{k},{S},{eps_recall!r},{eps_overflow!r},{S_lowest}"
    if S < S_lowest:
        return f"{head},0,0,0,0,0"
    t = smallest(1, S, lambda x: upper(n, k - 1, S, x), mpf(eps_recall))
    M = smallest(k, n, lambda x: lower(n, x, S, t), mpf(eps_overflow))
    recall = (mpf(n + 1) * t / (S + 1) * upper(n + 1, k + 1, S + 1, t + 1) / k + lower(n, k, S, t))
    tails = [nstr(v, 25) for v in (upper(n, k - 1, S, t), lower(n, M, S, t), recall)]
    return f"{head},{t},{M},{','.join(tails)}"


def grid():
    for n in SIZES:
        ks = {1, 2, 32, 1 << 14, 1 << 20, n >> 10, n // 10, n // 2, n - 1, n}
        sizes = {1, 7, 64, 1000, 1 << 14, 1 << 18, 1 << 20, 1 << 24, n >> 7, n // 2, n - 1, n}
        for k in sorted(x for x in ks if 1 <= x <= n):
            for S in sorted(x for x in sizes if 1 <= x <= n):
                if S * k // n * (n - k) // n * (n - S) // n <= WIDEST ** 2:
                    for budgets in BUDGETS:
                        yield (n, k, S) + budgets


def main():
    print("n,k,S,eps_recall,eps_overflow,S_lowest,t,M,fail_recall,fail_overflow,recall")
    cases = [c + BUDGETS[(i + j) % len(BUDGETS)] for i, c in enumerate(CORNERS) for j in range(3)]
    cases += [(n, k, S, e, e) for n, k, S, e in WIDE]
    cases += random.Random(1).sample(list(grid()), 420)
    for case in sorted(set(cases)):
        print(row(*case), flush=True)
        print(case, file=sys.stderr)


main()
