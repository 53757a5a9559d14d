"""Compares the tabular solvers with policy iteration by SciPy's sparse LU.

The program generates models of every kind with a few thousand states and solves each by every
method; here the optimal values come from policy iteration, each policy evaluated exactly. Bounds
must hold in every state, for the values and for the policies.

Usage: solver_crosscheck.py PROGRAM, the program built from solver_crosscheck.cc.
Exits with 0 if all agree, 1 if any does not, 77 (skipped) without NumPy and SciPy.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy import sparse
    from scipy.sparse.linalg import splu
except ImportError as error:
    print(f"solver_crosscheck: skipped: {error}")
    sys.exit(77)

# Kind, states, discount.
FAMILIES = (
    ("garnet", 800, 0.999),  # its factors are dense
    ("grid", 3000, 0.999),
    ("maze", 4000, 0.999),
    ("chain", 3000, 0.999),
    ("forest", 3000, 0.99),
    ("queues", 3000, 0.995),
    ("inventory", 1500, 0.99),
    ("random-walk", 2500, 0.99),
)
TOLERANCE = 1e-6
CONVERGED, LIMIT, ROUNDING = 0, 2, 4  # SolveEnd
# Methods without an excuse; the others may need more sweeps than they are given.
SURE = ("auto", "gs", "ipi", "ipi-gmres", "pi", "gs-model")
SLACK = 1e-10  # for the rounding of the values here, relative to the largest


def questions(folder):
    for number, (kind, states, discount) in enumerate(FAMILIES):
        for shuffle in (0, 1):
            path = pathlib.Path(folder, f"{number}-{shuffle}.npz")
            yield kind, states, 100 + number, shuffle, discount, path


class Problem:
    """A model, and the exact values of policies."""

    def __init__(self, path, discount):
        with np.load(path) as arrays:
            self.state_ptr = arrays["state_ptr"].astype(np.int64)
            rows, states = len(arrays["reward"]), len(self.state_ptr) - 1
            self.transitions = sparse.csr_matrix(
                (arrays["data"], arrays["indices"].astype(np.int64),
                 arrays["indptr"].astype(np.int64)), shape=(rows, states))
            self.rewards = arrays["reward"].astype(float)
        self.discount = discount

    def value_of(self, policy):
        rows = self.state_ptr[:-1] + policy
        matrix = sparse.identity(len(policy)) - self.discount * self.transitions[rows]
        factors = splu(sparse.csc_matrix(matrix))
        values = factors.solve(self.rewards[rows])
        return values + factors.solve(self.rewards[rows] - matrix @ values)  # one refinement

    def optimum(self):
        """Policy iteration, until no action is better than rounding."""
        states = len(self.state_ptr) - 1
        policy = np.zeros(states, dtype=np.int64)
        for _ in range(1000):
            values = self.value_of(policy)
            q = self.rewards + self.discount * (self.transitions @ values)
            best = np.maximum.reduceat(q, self.state_ptr[:-1])
            better = best > q[self.state_ptr[:-1] + policy] + 1e-12 * abs(values).max()
            if not better.any():
                return values
            for state in np.flatnonzero(better):
                actions = q[self.state_ptr[state]:self.state_ptr[state + 1]]
                policy[state] = actions.argmax()
        raise RuntimeError("policy iteration does not end")


def mismatches(problem, optimum, name, words):
    """What is wrong with the answer of one method."""
    states = len(optimum)
    end = int(words[0])
    lower, upper, error, policy_error, residual = (float(word) for word in words[1:6])
    values = np.array(words[6:6 + states], dtype=float)
    policy = np.array(words[6 + states:], dtype=np.int64)
    slack = SLACK * abs(optimum).max()
    off = optimum - values
    if not (off.min() >= lower - slack and off.max() <= upper + slack):
        yield f"V* - V in [{off.min()}, {off.max()}], bounds [{lower}, {upper}]"
    if len(policy) != states:
        yield f"{len(policy)} actions for {states} states"
        return
    loss = (optimum - problem.value_of(policy)).max()
    if not loss <= policy_error + slack:
        yield f"the policy loses {loss}, bound {policy_error}"
    q = problem.rewards + problem.discount * (problem.transitions @ values)
    expected = abs(np.maximum.reduceat(q, problem.state_ptr[:-1]) - values).max()
    if not abs(residual - expected) <= slack:
        yield f"residual {residual}, expected {expected}"
    if (end == CONVERGED) != (error <= TOLERANCE):
        yield f"ended with {end} at error {error}"
    if name in SURE and end != CONVERGED:
        yield f"not converged: {end}"
    if end not in (CONVERGED, LIMIT):
        yield f"ended with {end}"


def main():
    wrong = answers = 0
    with tempfile.TemporaryDirectory() as folder:
        asked = list(questions(folder))
        lines = [f"{kind} {states} {seed} {shuffle} {discount!r} {TOLERANCE!r} {path}\n"
                 for kind, states, seed, shuffle, discount, path in asked]
        run = subprocess.run([sys.argv[1]], input="".join(lines), text=True, capture_output=True,
                             check=True)
        found = [block.splitlines() for block in run.stdout.split("\n\n") if block]
        assert len(found) == len(asked), "an answer for every question"
        for (kind, states, _, shuffle, discount, path), block in zip(asked, found):
            problem = Problem(path, discount)
            optimum = problem.optimum()
            for line in block:
                name, *words = line.split()
                answers += 1
                for mismatch in mismatches(problem, optimum, name, words):
                    wrong += 1
                    print(f"{kind} {states} shuffle {shuffle}, {name}: {mismatch}")
    print(f"solver_crosscheck: {answers} answers, {wrong} mismatches")
    return 1 if wrong or not answers else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
