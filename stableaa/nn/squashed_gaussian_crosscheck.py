"""Compares actions, log-densities and gradients of a squashed Gaussian with NumPy.

Usage: squashed_gaussian_crosscheck.py PROGRAM, built from squashed_gaussian_crosscheck.cc. Exits
with 0 if all agree, 1 if any does not, 77 (skipped) without NumPy.

Derivatives are those of complex steps, f(x + ih) = f(x) + ih f'(x), which round but do not cancel.
"""

import json
import subprocess
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"squashed_gaussian_crosscheck: skipped: {error}")
    sys.exit(77)

SAMPLES = 300
ELEMENTS = 6
STEP = 1e-30


def log_cosh(u):
    """Accurate for |u| < 700."""
    return np.log(np.cosh(u))


def action_of(mean, log_deviation, noise):
    return np.tanh(mean + np.exp(log_deviation) * noise)


def log_density_of(mean, log_deviation, noise):
    """By element, from the normal density of u and the derivative of tanh."""
    u = mean + np.exp(log_deviation) * noise
    return -noise**2 / 2 - log_deviation - np.log(2 * np.pi) / 2 + 2 * log_cosh(u)


def derivative(function, mean, log_deviation, noise):
    """By the mean, and by the log-deviation, which is clamped by now."""
    by_mean = function(mean + 1j * STEP, log_deviation, noise).imag / STEP
    by_log_deviation = function(mean, log_deviation + 1j * STEP, noise).imag / STEP
    return by_mean, by_log_deviation


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: squashed_gaussian_crosscheck.py PROGRAM")
    random = np.random.default_rng(20180801)
    shape = (SAMPLES, ELEMENTS)
    # From means near 0 to far outside of what tanh tells apart; some log-deviations are clamped.
    scale = 10.0 ** random.uniform(-2, 2.3, (SAMPLES, 1))
    mean = (scale * random.standard_normal(shape)).astype(np.float32)
    log_deviation = random.uniform(-23, 3, shape).astype(np.float32)
    noise = random.standard_normal(shape).astype(np.float32)
    action_slope = random.standard_normal(shape).astype(np.float32)
    slope = random.standard_normal((SAMPLES, 1))

    rows = np.concatenate([mean, log_deviation, noise, action_slope, slope], axis=1)
    text = f"{ELEMENTS}\n" + "\n".join(" ".join(repr(float(v)) for v in row) for row in rows)
    output = subprocess.run([sys.argv[1]], input=text, capture_output=True, text=True, check=True)
    results = [json.loads(line) for line in output.stdout.splitlines()]
    if len(results) != SAMPLES:
        sys.exit(f"squashed_gaussian_crosscheck: {len(results)} results of {SAMPLES}")

    mean, log_deviation, noise, action_slope = (
        x.astype(np.float64) for x in (mean, log_deviation, noise, action_slope))
    clamped = np.clip(log_deviation, -20, 2)
    action_by = derivative(action_of, mean, clamped, noise)
    density_by = derivative(log_density_of, mean, clamped, noise)
    by_mean, by_log_deviation = (action_slope * a + slope * d
                                 for a, d in zip(action_by, density_by, strict=True))
    by_log_deviation[log_deviation != clamped] = 0
    expected = {
        "actions": action_of(mean, clamped, noise),
        "log_density": log_density_of(mean, clamped, noise).sum(axis=1),
        "gradients": np.concatenate([by_mean, by_log_deviation], axis=1),
    }
    failed = False
    for name, tolerance in (("actions", 1e-7), ("log_density", 1e-13), ("gradients", 1e-6)):
        found = np.array([result[name] for result in results])
        error = np.max(np.abs(found - expected[name]) / (1 + np.abs(expected[name])))
        bad = not error <= tolerance
        failed |= bad
        print(f"{'DIFFERS' if bad else 'ok':7} {name}: {error:.1e} (at most {tolerance:.0e})")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
