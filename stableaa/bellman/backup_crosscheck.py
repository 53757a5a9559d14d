"""Compares the backup operators with SciPy on random and extreme cases.

Usage: backup_crosscheck.py PROGRAM, the program built from backup_crosscheck.cc.
Exits with 0 if all agree, 1 if any does not, 77 (skipped) without NumPy and SciPy.
"""

import subprocess
import sys

try:
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import logsumexp, softmax
except ImportError as error:
    print(f"backup_crosscheck: skipped: {error}")
    sys.exit(77)

SEED = 20170806
RANDOM_CASES = 3000
EXTREME_OMEGAS = (0.0, 5e-324, 1e-300, 1e-12, 1.0, 1e6, 1e300, float("inf"))
EXTREME_VALUES = (
    [2.5],
    [1.0, 1.0, 1.0],
    [0.0, -1.0, -1e300],
    [1e300, -1e300, 0.0],
    [1e300, 1e300, -1e300],
    [1e-300, 2e-300, -1e-300],
    [1e8, 1e8 + 1e-6, 1e8 - 1e-6],
)


def cases():
    """(operator, omega, values), reproducibly."""
    random = np.random.default_rng(SEED)
    for _ in range(RANDOM_CASES):
        scale = 10.0 ** random.uniform(-3, 3)
        q = scale * random.uniform(-1, 1, random.integers(1, 19))
        omega = 10.0 ** random.uniform(-3, 3) / scale
        for operator in ("max", "mellowmax", "boltzmann"):
            yield operator, omega, q
    for omega in EXTREME_OMEGAS:
        for q in EXTREME_VALUES:
            for operator in ("max", "mellowmax", "boltzmann"):
                yield operator, omega, np.array(q)


def answers(program, questions):
    lines = [" ".join([name, repr(float(omega)), *(repr(float(x)) for x in q)])
             for name, omega, q in questions]
    run = subprocess.run([program], input="\n".join(lines) + "\n", text=True,
                         capture_output=True, check=True)
    return [np.array([float(word) for word in line.split()]) for line in run.stdout.splitlines()]


def exponents(omega, q):
    """omega (q - max) with 0 * inf = 0, in extended precision where the platform has it."""
    gap = q.astype(np.longdouble) - np.longdouble(q.max())
    with np.errstate(invalid="ignore"):
        return np.where((gap == 0) | (omega == 0), np.longdouble(0), np.longdouble(omega) * gap)


def expected_mellowmax(omega, q):
    wide = q.astype(np.longdouble)
    if np.isinf(omega):
        return q.max()
    if omega * np.longdouble(np.ptp(wide)) < 1e-6:
        return wide.mean() + omega * wide.var() / 2
    log_mean = logsumexp(exponents(omega, q)) - np.log(np.longdouble(q.size))
    return wide.max() + log_mean / np.longdouble(omega)


def expected_boltzmann(p, q):
    taken = p > 0
    return (p[taken] * q[taken].astype(np.longdouble)).sum()


def expected_gradient(operator, p, z, q):
    if operator == "max":
        return np.eye(q.size)[q.argmax()]
    if operator == "mellowmax":
        return p
    finite = np.where(p > 0, z, 0)
    return p * (1 + finite - (p * finite).sum())


def expected_ratio(omega, q):
    """rho / omega by Brent's method on the policy's mean; None where double cannot resolve it."""
    z = exponents(omega, q)
    if not 1e-2 < -z.min() < 1e4:
        return None
    log_mean = float(logsumexp(z) - np.log(np.longdouble(q.size)))
    z = z.astype(float)
    return brentq(lambda t: softmax(t * z) @ z - log_mean, 0.0, 1.0, xtol=1e-300, rtol=1e-15)


def mismatches(operator, omega, q, answer):
    """The parts of one answer that disagree."""
    value, rho, gradient = answer[0], answer[1], answer[2:]
    z = exponents(omega, q)
    p = softmax(z)
    if operator == "max":
        expected = q.max()
    elif operator == "mellowmax":
        expected = expected_mellowmax(omega, q)
    else:
        expected = expected_boltzmann(p, q)
    if not abs(value - expected) <= 2e-15 * abs(q).max():
        yield f"value {value!r}, expected {float(expected)!r}"

    slopes = expected_gradient(operator, p, z, q)
    if not np.allclose(gradient, slopes.astype(float), rtol=1e-12, atol=1e-14):
        yield f"gradient {gradient}, expected {slopes}"

    if not 0 <= rho <= omega:
        yield f"rho {rho!r} outside [0, {omega!r}]"
    ratio = expected_ratio(omega, q) if operator == "mellowmax" and np.isfinite(omega) else None
    if ratio is not None and not abs(rho / omega - ratio) <= 1e-9 * ratio:
        yield f"rho {rho!r}, expected {ratio * omega!r}"


def main():
    questions = list(cases())
    found = answers(sys.argv[1], questions)
    assert len(found) == len(questions), "an answer for every question"
    wrong = 0
    for (operator, omega, q), answer in zip(questions, found):
        for mismatch in mismatches(operator, omega, q, answer):
            wrong += 1
            print(f"{operator} omega {omega!r} of {q.tolist()}: {mismatch}")
    print(f"backup_crosscheck: {len(questions)} cases, {wrong} mismatches")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
