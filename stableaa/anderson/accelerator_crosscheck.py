"""Compares the accelerator with SciPy's Anderson mixing and with NumPy least squares.

Usage: accelerator_crosscheck.py PROGRAM, the program built from accelerator_crosscheck.cc.
Exits with 0 if all agree, 1 if any does not, 77 (skipped) without NumPy and SciPy.

SciPy: scipy.optimize.anderson(F, x0, alpha=damping, M=memory, w0=0, line_search=None) on
F(x) = g(x) - x makes the iterates of rule vanilla without a safeguard, from the first step on. It
runs on its own, so rounding differences add up.

NumPy: every step is worked out again from the pairs (x, g(x)) that the program printed: tau by
lstsq on the stacked rows, the next iterate by the paper's Eq. 2 (the program uses Proposition 1).
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small
try:
    import numpy as np
    import scipy.optimize
except ImportError as error:
    print(f"accelerator_crosscheck: skipped: {error}")
    sys.exit(77)

SEED = 20211007
EPS = np.finfo(float).eps
# Beyond this condition of the normal equations neither side has enough digits to compare.
CONDITION_LIMIT = 1e7


@dataclass
class Problem:
    memory: int
    damping: float
    rule: str
    eta: float
    safeguard_factor: float  # 0: no safeguard
    steps: int
    map_name: str
    matrix: np.ndarray
    offset: np.ndarray
    start: np.ndarray

    def map(self, x):
        y = self.matrix @ x + self.offset
        return np.cos(y) if self.map_name == "cos" else y

    def text(self):
        numbers = np.concatenate([self.matrix.ravel(), self.offset, self.start])
        words = [self.memory, self.damping, self.rule, self.eta, self.safeguard_factor, self.steps,
                 self.map_name, self.start.size, *(repr(float(v)) for v in numbers)]
        return " ".join(str(word) for word in words)

    def __str__(self):
        return (f"{self.map_name} n={self.start.size} memory={self.memory} "
                f"damping={self.damping} {self.rule} eta={self.eta} "
                f"safeguard={self.safeguard_factor}")


def problems():
    """Every rule on affine and nonlinear maps of several sizes, reproducibly."""
    random = np.random.default_rng(SEED)

    def problem(n, norm, **options):
        matrix = random.standard_normal((n, n))
        matrix *= norm / np.linalg.norm(matrix, 2)
        return Problem(matrix=matrix, offset=random.standard_normal(n),
                       start=random.standard_normal(n), **options)

    for map_name in ("affine", "cos"):
        for n in (1, 3, 20, 60):
            for memory in (0, 1, 2, 5, 12):
                for damping in (0.3, 1, 1.5):
                    for rule, eta in (("vanilla", 0), ("stable", 1e-3), ("stable", 0.1),
                                      ("relative", 1e-10), ("relative", 0.1), ("raa", 1e-6),
                                      ("raa", 0.1)):
                        yield problem(n, 0.95, memory=memory, damping=damping, rule=rule, eta=eta,
                                      safeguard_factor=0, steps=14, map_name=map_name)
    # Maps that do not contract, where the safeguard has something to take back.
    for rule in ("vanilla", "stable", "relative", "raa"):
        for factor in (0.5, 1, 2):
            yield problem(20, 3.0, memory=4, damping=1, rule=rule, eta=1e-3,
                          safeguard_factor=factor, steps=40, map_name="cos")


class Worst:
    """The largest of each named difference, and the mismatches among them."""

    def __init__(self):
        self.largest = {}
        self.mismatches = 0

    def check(self, name, found, expected, scale, tolerance, where):
        difference = np.max(np.abs(np.asarray(found) - np.asarray(expected)), initial=0) / scale
        self.largest[name] = max(self.largest.get(name, 0.0), difference)
        if not difference <= tolerance:
            self.mismatches += 1
            print(f"{where}: {name} is {found}, expected {expected} "
                  f"(difference {difference:.2g}, tolerance {tolerance:.2g})")

    def require(self, name, found, expected, where):
        if found != expected:
            self.mismatches += 1
            print(f"{where}: {name} is {found}, expected {expected}")


def run(program, all_problems):
    """The steps of each problem."""
    text = "\n".join(problem.text() for problem in all_problems) + "\n"
    output = subprocess.run([program], input=text, text=True, capture_output=True, check=True)
    lines = iter(output.stdout.splitlines())
    return [[json.loads(next(lines)) for _ in range(problem.steps)] for problem in all_problems]


def stacked_rows(problem, differences, h, e):
    """Matrix, right-hand side and lambda of: minimise |e_k - H tau|^2 + penalty."""
    m = h.shape[1]
    identity = np.eye(m)
    penalty, target = identity, np.zeros(m)
    if problem.rule == "vanilla":
        penalised = 0.0
    elif problem.rule == "raa":
        penalised = np.mean(np.abs(e.T @ e))
        # alpha is affine in tau: the images of the unit vectors and of zero give the rows.
        target = -alpha_of(np.zeros(m))
        penalty = np.column_stack([alpha_of(unit) for unit in identity]) + target[:, None]
    elif problem.rule == "stable":
        penalised = np.sum(differences**2) + np.sum(h**2)
    else:
        penalised = np.sum(h**2)
    factor = problem.eta * penalised
    rows = np.vstack([h, np.sqrt(factor) * penalty])
    return rows, np.concatenate([e[:, -1], np.sqrt(factor) * target]), factor


def alpha_of(tau):
    return np.diff(np.concatenate([[0.0], tau[::-1], [1.0]]))


@dataclass
class Expected:
    tau: np.ndarray
    alpha: np.ndarray
    factor: float
    gain: float
    lengths: np.ndarray  # of the columns of H
    following: np.ndarray
    condition: float  # of the normal equations, columns scaled to length 1


def expected_step(problem, xs, images):
    """From the window's iterates and images, both n x (m+1) and oldest first; m >= 1."""
    e = images - xs
    h = np.diff(e, axis=1)[:, ::-1]
    rows, target, factor = stacked_rows(problem, np.diff(xs, axis=1), h, e)
    lengths = np.linalg.norm(rows, axis=0)
    lengths[lengths == 0] = 1
    solution, _, rank, singular = np.linalg.lstsq(rows / lengths, target, rcond=1e-14)
    tau = solution / lengths
    alpha = alpha_of(tau)
    full_rank = rank == tau.size and rows.shape[0] >= tau.size
    return Expected(
        tau=tau, alpha=alpha, factor=factor,
        gain=np.linalg.norm(e @ alpha) / np.linalg.norm(e[:, -1]),
        lengths=np.linalg.norm(h, axis=0),
        following=(1 - problem.damping) * (xs @ alpha) + problem.damping * (images @ alpha),
        condition=(singular[0] / singular[-1]) ** 2 if full_rank else np.inf)


def only_rounding_left(step):
    x, image = np.array(step["x"]), np.array(step["image"])
    return np.linalg.norm(image - x) <= 1e-13 * (1 + np.linalg.norm(x))


def compare_with_numpy(problem, steps, worst):
    """Returns the numbers of accelerated steps compared and left out."""
    compared = left_out = 0
    best = np.inf
    after_accelerated = False
    for k, step in enumerate(steps):
        where = f"NumPy: {problem} step {k}"
        x, image, following = (np.array(step[name]) for name in ("x", "image", "next"))
        worst.check("image", image, problem.map(x), 1 + np.abs(image).max(), 1e-13, where)
        residual = np.linalg.norm(image - x)
        if only_rounding_left(step):
            break
        worse = after_accelerated and residual > problem.safeguard_factor * best > 0
        rejected = problem.safeguard_factor > 0 and worse
        first = max(0, k - problem.memory)
        kind = "rejected" if rejected else "accelerated" if first < k else "plain"
        worst.require("kind", step["kind"], kind, where)
        if step["kind"] != kind:
            return compared, left_out
        best = np.inf if worse else min(best, residual)  # a rejection starts anew
        after_accelerated = kind == "accelerated"

        size = np.abs(x).max() + np.abs(image).max()
        if kind == "plain":
            plain = x + problem.damping * (image - x)
            worst.check("plain step", following, plain, size, 1e-15, where)
            continue
        if kind == "rejected":
            before, its_image = (np.array(steps[k - 1][name]) for name in ("x", "image"))
            plain = before + problem.damping * (its_image - before)
            size += np.abs(before).max() + np.abs(its_image).max()
            worst.check("rejected step", following, plain, size, 1e-15, where)
            continue
        window = steps[first:k + 1]
        xs, images = (np.array([s[name] for s in window]).T for name in ("x", "image"))
        expected = expected_step(problem, xs, images)
        worst.check("lambda", step["lambda"], expected.factor, expected.factor or 1.0, 1e-12, where)
        worst.check("sum of alpha", sum(step["alpha"]), 1, 1 + np.abs(step["alpha"]).max(), 1e-14,
                    where)
        if expected.condition > CONDITION_LIMIT:
            left_out += 1
            continue
        compared += 1
        tolerance = 1e-13 + 10 * EPS * expected.condition
        tau_size = 1 + np.abs(expected.tau).max()
        worst.check("tau", step["tau"], expected.tau, tau_size, tolerance, where)
        worst.check("alpha", step["alpha"], expected.alpha, tau_size, tolerance, where)
        # From inner products, |e_k - H tau|^2 is exact only to rounding of its largest terms.
        terms = 1 + tau_size * expected.lengths.sum() / residual
        worst.check("gain squared", step["gain"] ** 2, expected.gain ** 2, terms ** 2, tolerance,
                    where)
        spread = tau_size * (np.abs(xs).max() + np.abs(images).max())
        worst.check("next", following, expected.following, spread, tolerance, where)
    return compared, left_out


def well_conditioned_steps(problem, steps):
    """The number of steps that normal equations can follow, and their worst condition."""
    worst_condition = 1.0
    for k, step in enumerate(steps):
        window = steps[max(0, k - problem.memory):k + 1]
        xs, images = (np.array([s[name] for s in window]).T for name in ("x", "image"))
        if only_rounding_left(step):
            return k, worst_condition
        if len(window) > 1:
            condition = expected_step(problem, xs, images).condition
            if condition > CONDITION_LIMIT:
                return k, worst_condition
            worst_condition = max(worst_condition, condition)
    return len(steps), worst_condition


def compare_with_scipy(problem, steps, worst):
    """Returns the number of iterates compared."""
    count, condition = well_conditioned_steps(problem, steps)
    iterates = []
    scipy.optimize.anderson(lambda x: problem.map(x) - x, problem.start, alpha=problem.damping,
                            M=problem.memory, w0=0, line_search=None, iter=count,
                            callback=lambda x, f: iterates.append(x.copy()))
    worst.require("iterates of SciPy", len(iterates), count, f"SciPy: {problem}")
    for k, (step, x) in enumerate(zip(steps, iterates)):
        worst.check("SciPy iterate", step["next"], x, 1 + np.abs(x).max(),
                    1e-13 + 10 * EPS * condition, f"SciPy: {problem} step {k}")
    return count


def main():
    all_problems = list(problems())
    all_steps = run(sys.argv[1], all_problems)
    worst = Worst()
    compared = left_out = from_scipy = rejected = 0
    for problem, steps in zip(all_problems, all_steps):
        taken, skipped = compare_with_numpy(problem, steps, worst)
        compared += taken
        left_out += skipped
        rejected += sum(step["kind"] == "rejected" for step in steps)
        if problem.rule == "vanilla" and problem.safeguard_factor == 0:
            from_scipy += compare_with_scipy(problem, steps, worst)
    differences = ", ".join(f"{name} {value:.1e}" for name, value in worst.largest.items())
    print(f"accelerator_crosscheck: {len(all_problems)} problems, {compared} accelerated steps "
          f"against NumPy ({left_out} ill-conditioned ones left out, {rejected} rejections), "
          f"{from_scipy} iterates against SciPy, {worst.mismatches} mismatches; "
          f"largest differences: {differences}")
    return 1 if worst.mismatches else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
