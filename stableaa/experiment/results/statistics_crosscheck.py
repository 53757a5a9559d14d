"""Compares the statistics of runs with NumPy and SciPy, by rliable's definitions.

Usage: statistics_crosscheck.py PROGRAM, the program built from statistics_crosscheck.cc.
Exits with 0 if all agree, 1 if any does not, 77 (skipped) without NumPy and SciPy.

Intervals are compared twice: with numpy.percentile over the same resamples, drawn here from NumPy's
Philox by the rule in base/random.h, to rounding; and with 20,000 resamples by NumPy's own choice,
within what the quantiles of two such samples differ by chance.
"""

import os
import subprocess
import sys
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
try:
    import numpy as np
    from scipy import stats
except ImportError as error:
    print(f"statistics_crosscheck: skipped: {error}")
    sys.exit(77)

SEED = 20211007
RESAMPLES = 20000


# ---- rliable's definitions ----


def iqm(tasks):
    return stats.trim_mean(np.concatenate(tasks), 0.25)


def mean(tasks):
    return np.mean([np.mean(runs) for runs in tasks])


def improvement(x, y):
    return np.mean([stats.mannwhitneyu(a, b, method="asymptotic").statistic / (len(a) * len(b))
                    for a, b in zip(x, y)])


def profile(tasks, thresholds):
    return np.mean([(runs[:, None] > thresholds).mean(axis=0) for runs in tasks], axis=0)


# ---- The same for many resamples at once: arrays of resamples x runs ----


def iqms(tasks):
    return stats.trim_mean(np.concatenate(tasks, axis=1), 0.25, axis=1)


def means(tasks):
    return np.mean([runs.mean(axis=1) for runs in tasks], axis=0)


def improvements(x, y):
    def of_task(a, b):
        difference = np.sign(a[:, :, None] - b[:, None, :])
        return (difference.mean(axis=(1, 2)) + 1) / 2
    return np.mean([of_task(a, b) for a, b in zip(x, y)], axis=0)


def profiles(tasks, thresholds):
    return np.mean([(runs[:, :, None] > thresholds).mean(axis=1) for runs in tasks], axis=0)


# ---- Resamples ----


def mixed_name(name):
    """The second word of a stream's key: SplitMix64's finaliser of FNV-1a."""
    mask = 2**64 - 1
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)


def our_resamples(tasks, seed, name, count):
    """What the library draws: one word per run, floor(word * runs / 2^64), task after task."""
    stream = np.random.Philox(key=np.array([seed, mixed_name(name)], dtype=np.uint64), counter=0)
    words = stream.random_raw(count * sum(map(len, tasks))).reshape(count, -1)
    result, place = [], 0
    for runs in tasks:
        n = len(runs)
        part = words[:, place:place + n]
        # In two 32-bit halves: the upper half of the 128-bit product.
        low = (part & np.uint64(0xFFFFFFFF)) * np.uint64(n)
        high = (part >> np.uint64(32)) * np.uint64(n) + (low >> np.uint64(32))
        result.append(runs[(high >> np.uint64(32)).astype(int)])
        place += n
    return result


def numpy_resamples(tasks, random, count):
    return [runs[random.integers(0, len(runs), (count, len(runs)))] for runs in tasks]


def percentiles(values, confidence):
    """Low and high of each column, one after the other."""
    ends = 50 * (1 - confidence), 50 * (1 + confidence)
    return np.percentile(values, ends, axis=0).T.ravel()


# ---- Problems ----


@dataclass
class Problem:
    seed: int
    resamples: int
    confidence: float
    x: list
    y: list
    thresholds: np.ndarray
    steps: np.ndarray
    values: np.ndarray
    queries: np.ndarray

    def text(self):
        words = [self.seed, self.resamples, self.confidence, len(self.x)]
        for runs in self.x + self.y + [self.thresholds]:
            words += [len(runs), *(repr(float(score)) for score in runs)]
        words.append(len(self.steps))
        for step, value in zip(self.steps, self.values):
            words += [step, repr(float(value))]
        words += [len(self.queries), *self.queries]
        return " ".join(str(word) for word in words)

    def __str__(self):
        return (f"seed {self.seed}, {self.resamples} resamples, {self.confidence}, "
                f"runs {[len(runs) for runs in self.x]} and {[len(runs) for runs in self.y]}")


def problems():
    """One to six tasks, equal and different numbers of runs, with and without ties."""
    random = np.random.default_rng(SEED)
    for index in range(60):
        tasks = int(random.integers(1, 7))
        digits = [12, 0][index % 2]  # whole numbers have ties
        if index % 3 == 0:
            sizes = np.full((2, tasks), random.integers(2, 13))
        else:
            sizes = random.integers(1, 13, (2, tasks))

        def scores(task_sizes):
            return [np.round(random.normal(random.normal(0, 3), 2, n), digits) for n in task_sizes]

        steps = np.cumsum(random.integers(1, 10**6, random.integers(1, 40)))
        inside = random.integers(steps[0], steps[-1] + 1, 10)
        yield Problem(
            seed=int(random.integers(0, 2**63)),
            resamples=2000 if index < 50 else RESAMPLES,
            confidence=float(random.choice([0.5, 0.9, 0.95, 0.99])),
            x=scores(sizes[0]), y=scores(sizes[1]),
            thresholds=np.round(np.sort(random.normal(0, 4, 9)), digits),
            steps=steps, values=random.normal(0, 5, len(steps)),
            queries=np.concatenate([inside, steps[:3], [steps[0] - 1, steps[-1] + 1]]))


def infinite_problem():
    """Steps to a threshold that some runs never reach; no percentile may be nan."""
    inf = np.inf
    return Problem(seed=7, resamples=2000, confidence=0.95,
                   x=[np.array([1e5, 2e5, 3e5, inf]), np.array([2e5, 2e5, 4e5, 5e5, 6e5])],
                   y=[np.array([2e5, inf, inf]), np.array([inf])], thresholds=np.array([1e5, inf]),
                   steps=np.array([1, 2]), values=np.array([3.0, 4.0]), queries=np.array([1, 2]))


def expected_estimates(problem):
    steps, values = problem.steps, problem.values
    if len(steps) == 1:
        height = values[0]
    else:
        height = np.trapezoid(values, steps) / (steps[-1] - steps[0])
    return {"iqm": iqm(problem.x), "mean": mean(problem.x),
            "improvement": improvement(problem.x, problem.y),
            "profile": profile(problem.x, problem.thresholds), "height": height,
            "values": np.interp(problem.queries, steps, values, left=np.nan, right=np.nan)}


def resampled(problem, draw):
    """Every statistic over resamples; draw: from tasks and the name of a stream."""
    x = draw(problem.x, "bootstrap")
    return {"iqm_interval": iqms(x), "mean_interval": means(x),
            "improvement_interval": improvements(draw(problem.x, "bootstrap/x"),
                                                 draw(problem.y, "bootstrap/y")),
            "profile_intervals": profiles(x, problem.thresholds)}


def quantile_range(values, confidence, resamples):
    """For each end the range in which the quantile of other `resamples` resamples is.

    Its rank is binomial; six deviations of both samples together, so that a false alarm has a
    probability of 1e-8 for each of the about 1000 ends.
    """
    low, high = (1 - confidence) / 2, (1 + confidence) / 2
    lowest, highest = [], []
    for quantile in (low, high):
        spread = np.sqrt(quantile * (1 - quantile) * (1 / resamples + 1 / RESAMPLES))
        margin = 6 * spread + 1 / resamples
        lowest.append(max(0, quantile - margin))
        highest.append(min(1, quantile + margin))
    return (np.quantile(values, lowest, axis=0, method="lower").T.ravel(),
            np.quantile(values, highest, axis=0, method="higher").T.ravel())


def compare(problem, found):
    """Mismatches as text."""
    wrong = []

    def check(name, expected):
        value, expected = np.array(found[name]), np.atleast_1d(expected)
        if not (value.shape == expected.shape and
                np.allclose(value, expected, rtol=1e-12, atol=1e-12, equal_nan=True)):
            wrong.append(f"{problem}: {name} is {value}, expected {expected}")

    for name, expected in expected_estimates(problem).items():
        check(name, expected)

    ours = resampled(problem, lambda tasks, name: our_resamples(tasks, problem.seed, name,
                                                                problem.resamples))
    for name, values in ours.items():
        check(name, percentiles(values, problem.confidence))

    random = np.random.default_rng(problem.seed)
    others = resampled(problem, lambda tasks, _: numpy_resamples(tasks, random, RESAMPLES))
    for name, values in others.items():
        lowest, highest = quantile_range(values, problem.confidence, problem.resamples)
        value = np.array(found[name])
        if not np.all((lowest - 1e-9 <= value) & (value <= highest + 1e-9)):
            wrong.append(f"{problem}: {name} is {value}, expected within {lowest} and {highest}")
    return wrong


def compare_infinite(found):
    """The estimates that NumPy has too; intervals: infinite above, finite below, never nan."""
    problem = infinite_problem()
    wrong = [f"infinite scores: {name} is {found[name]}" for name in found
             if np.any(np.isnan(found[name]))]
    expected = {"iqm": iqm(problem.x), "mean": np.inf,
                "improvement": improvement(problem.x, problem.y),
                "profile": profile(problem.x, problem.thresholds)}
    for name, value in expected.items():
        if not np.allclose(found[name], value):
            wrong.append(f"infinite scores: {name} is {found[name]}, expected {value}")
    low, high = found["mean_interval"]
    if not (np.isfinite(low) and high == np.inf):
        wrong.append(f"infinite scores: mean_interval is {low} to {high}")
    return wrong


def answers(output):
    for block in output.strip().split("\n\n"):
        rows = [line.split() for line in block.splitlines()]
        yield {row[0]: [float(word) for word in row[1:]] for row in rows}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    all_problems = list(problems())
    text = "\n".join(problem.text() for problem in [*all_problems, infinite_problem()]) + "\n"
    output = subprocess.run([sys.argv[1]], input=text, text=True, capture_output=True, check=True)
    found = list(answers(output.stdout))
    if len(found) != len(all_problems) + 1:
        sys.exit(f"MISMATCH: {len(all_problems) + 1} problems, {len(found)} answers")
    mismatches = [line for problem, answer in zip(all_problems, found)
                  for line in compare(problem, answer)] + compare_infinite(found[-1])
    if mismatches:
        print("MISMATCH:\n" + "\n".join(mismatches[:20]))
        sys.exit(1)
    print(f"{len(found)} problems: estimates and intervals equal NumPy's and SciPy's")


if __name__ == "__main__":
    main()
