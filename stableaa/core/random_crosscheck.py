"""Compares RandomStream with NumPy's Philox and SciPy's normal quantile.

usage: random_crosscheck.py PROGRAM     (the program built from random_crosscheck.cc)

Exits 0 if all agree, 1 if not, 77 if NumPy or SciPy is missing.
"""

import subprocess
import sys

try:
    import numpy as np
    from scipy.special import ndtri
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

STREAMS = [(0, ""), (1, "a"), (2021, "exploration"), (2**64 - 1, "replay/worker 17 \u03b3")]
DRAWS = 20_000
NORMAL_TOLERANCE = 1e-13  # relative
WORD = 2**64


def hash_name(name):
    """FNV-1a of the UTF-8 bytes, then the finaliser of SplitMix64."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % WORD
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % WORD
    return value ^ (value >> 31)


def expected_normals(words):
    """Quantiles of (k + 1/2) / 2^53, through the nearer tail, where that fraction is exact."""
    odd = (words >> np.uint64(11)) * np.uint64(2) + np.uint64(1)
    upper = odd > np.uint64(2**53)
    tail = np.where(upper, np.uint64(2**54) - odd, odd).astype(np.float64) * 2.0**-54
    return np.where(upper, -1.0, 1.0) * ndtri(tail)


def check_stream(program, seed, name):
    """Returns the mismatches as text, and the largest relative difference of the normals."""
    command = [program, str(seed), name, str(DRAWS)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    key = [int(word) for word in lines[0].split()]
    rows = [line.split() for line in lines[1:]]
    raw = np.array([int(row[0]) for row in rows], dtype=np.uint64)
    uniforms = np.array([float(row[1]) for row in rows])
    normals = np.array([float(row[2]) for row in rows])

    def philox():
        return np.random.Philox(key=np.array(key, dtype=np.uint64), counter=0)

    wrong = []
    if key != [seed, hash_name(name)]:
        wrong.append(f"key {key}")
    if not np.array_equal(raw, philox().random_raw(DRAWS)):
        wrong.append("raw words")
    if not np.array_equal(uniforms, np.random.Generator(philox()).random(DRAWS)):
        wrong.append("uniforms")
    expected = expected_normals(raw)
    difference = float(np.max(np.abs(normals - expected) / np.abs(expected)))
    if not difference <= NORMAL_TOLERANCE:
        wrong.append(f"normals (relative difference {difference:.1e})")
    return [f"seed {seed} name '{name}': {what}" for what in wrong], difference


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = [check_stream(sys.argv[1], seed, name) for seed, name in STREAMS]
    mismatches = [line for wrong, _ in results for line in wrong]
    worst = max(difference for _, difference in results)
    if mismatches:
        print("MISMATCH: " + "; ".join(mismatches))
        sys.exit(1)
    print(
        f"{len(STREAMS)} streams of {DRAWS} draws: keys, raw words and uniforms equal NumPy's, "
        f"normals within {worst:.1e} of SciPy's"
    )


if __name__ == "__main__":
    main()
