"""Compares WeightFitter and TargetMixer with NumPy: residuals, weights and targets.

Usage: target_mixer_crosscheck.py PROGRAM, the program built from target_mixer_crosscheck.cc.
Exits with 0 if all agree, 1 if any does not, 77 (skipped) without NumPy.

Weights over tau come from lstsq on the stacked rows [H; sqrt(lambda) I], those of raa over alpha
from solving (E'E + lambda I) alpha = 1 (Shi et al. 2019).
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small
try:
    import numpy as np
except ImportError as error:
    print(f"target_mixer_crosscheck: skipped: {error}")
    sys.exit(77)

SEED = 20211007
CANDIDATES = [10.0**k for k in range(-6, 2)]
MIXERS = ("single", "average", "anderson", "raa", "stable")
BACKUPS = ("max", "mellowmax", "boltzmann", "dynamic-boltzmann", "double")


@dataclass
class Problem:
    mixer: str
    backup: str
    omega: float
    eta: float
    eta_choice: str
    safeguard: bool
    damping: float
    time: int
    rewards: np.ndarray
    discounts: np.ndarray
    actions: np.ndarray
    online_best: np.ndarray
    now: np.ndarray  # networks x transitions x actions
    next: np.ndarray  # nan where the discount is 0

    def text(self):
        words = [self.mixer, self.backup, self.omega, self.eta, self.eta_choice,
                 str(self.safeguard).lower(), self.damping, self.time, *self.now.shape]
        for array in (self.rewards, self.discounts):
            words += [repr(float(v)) for v in array]
        words += [*self.actions, *self.online_best]
        for array in (self.now, self.next):
            words += [repr(float(v)) for v in array.ravel()]
        return " ".join(str(word) for word in words)

    def __str__(self):
        return (f"{self.mixer} {self.backup} m={len(self.now)} n={len(self.rewards)} "
                f"eta={self.eta} {self.eta_choice} safeguard={self.safeguard}")


def problems():
    """Every mixer with every backup, windows of 1 to 5 and small and large samples, reproducibly."""
    random = np.random.default_rng(SEED)

    def floats(*shape):
        return random.standard_normal(shape).astype(np.float32)

    for mixer in MIXERS:
        for backup in BACKUPS:
            for m in range(1, 2 if mixer == "single" else 6):
                for n in (12, 33, 128):
                    actions = int(random.integers(1, 7))
                    discounts = random.choice([0, 0.99, 0.99**3], n).astype(np.float32)
                    following = 2 * floats(1, n, actions) + 0.5 * floats(m, n, actions)
                    following[:, discounts == 0] = np.nan
                    yield Problem(
                        mixer=mixer, backup=backup, omega=float(random.choice([0.5, 2, 5])),
                        eta=float(random.choice([1e-4, 0.03, 0.1, 3])),
                        eta_choice=str(random.choice(["fixed", "auto"])),
                        safeguard=bool(random.integers(2)),
                        damping=float(random.choice([0, 0.1, 0.6, 1])),
                        time=int(random.integers(1, 4)), rewards=floats(n), discounts=discounts,
                        actions=random.integers(0, actions, n),
                        online_best=random.integers(0, actions, n),
                        now=2 * floats(1, n, actions) + 0.5 * floats(m, n, actions),
                        next=following)


def operator(problem, q, best):
    """The value of each row of q; best: the actions for double."""
    if problem.backup == "max":
        return q.max(axis=-1)
    if problem.backup == "double":
        return np.take_along_axis(q, best[:, None], axis=-1)[:, 0]
    omega = problem.omega * (problem.time**2 if problem.backup == "dynamic-boltzmann" else 1)
    top = q.max(axis=-1, keepdims=True)
    powers = np.exp(omega * (q - top))
    if problem.backup == "mellowmax":
        return top[:, 0] + np.log(powers.mean(axis=-1)) / omega
    return (q * powers).sum(axis=-1) / powers.sum(axis=-1)


def backed_up(problem, q, best):
    result = problem.rewards.astype(float)
    lives = problem.discounts != 0
    result[lives] += problem.discounts[lives].astype(float) * operator(
        problem, q[lives].astype(float), best[lives])
    return result


def alpha_of(problem, eta, e, differences):
    """Weights, oldest first, and lambda; e: n x m."""
    m = e.shape[1]
    if problem.mixer == "raa":
        gram = e.T @ e
        factor = eta * np.mean(np.abs(gram))
        alpha = np.linalg.solve(gram + factor * np.eye(m), np.ones(m))
        return alpha / alpha.sum(), factor
    h = np.diff(e, axis=1)[:, ::-1]
    factor = eta * (np.sum(h**2) + np.sum(differences**2)) if problem.mixer == "stable" else 0.0
    rows = np.vstack([h, np.sqrt(factor) * np.eye(m - 1)])
    tau = np.linalg.lstsq(rows, np.concatenate([e[:, -1], np.zeros(m - 1)]), rcond=None)[0]
    return np.diff(np.concatenate([[0.0], tau[::-1], [1.0]])), factor


def expected_weights(problem, e, differences):
    """The expected contents of Mixing."""
    n, m = e.shape
    newest = np.eye(m)[-1]
    result = {"alpha": newest, "residual": np.sqrt(np.mean(e[:, -1] ** 2)), "tau_norm": 0.0,
              "lambda": 0.0, "eta": problem.eta, "gain": 1.0, "gain_held_out": 1.0,
              "fallback": False}
    if m == 1:
        return result
    half = n // 2
    chooses = problem.eta_choice == "auto" and problem.mixer != "anderson"
    etas = CANDIDATES if chooses else [problem.eta]
    norms = [np.linalg.norm(e[half:] @ alpha_of(problem, eta, e[:half], differences[:half])[0])
             for eta in etas]
    result["eta"] = etas[int(np.argmin(norms))]
    result["gain_held_out"] = min(norms) / np.linalg.norm(e[half:, -1])
    used = half if problem.safeguard or problem.eta_choice == "auto" else n
    result["fallback"] = bool(problem.safeguard and result["gain_held_out"] >= 1)
    if not result["fallback"]:
        alpha, result["lambda"] = alpha_of(problem, result["eta"], e[:used], differences[:used])
        result["tau_norm"] = np.linalg.norm(np.cumsum(alpha)[:-1])
        result["gain"] = np.linalg.norm(e[:used] @ alpha) / np.linalg.norm(e[:used, -1])
        result["alpha"] = alpha
    return result


def compare(problem, found):
    """Mismatches as text."""
    wrong = []

    def check(name, value, expected, tolerance):
        value, expected = np.asarray(value, float), np.asarray(expected, float)
        if not np.all(np.abs(value - expected) <= tolerance * (1 + np.abs(expected))):
            wrong.append(f"{problem}: {name} is {value}, expected {expected}")

    n = len(problem.rewards)
    chosen = problem.now[:, np.arange(n), problem.actions].astype(float).T  # n x m
    greedy = np.nan_to_num(problem.next[-1]).argmax(axis=-1)
    e = np.column_stack([backed_up(problem, q, greedy) for q in problem.next]) - chosen
    online = problem.online_best
    if problem.mixer == "single":
        expected = backed_up(problem, problem.next[-1], online)
    elif problem.mixer == "average":
        expected = backed_up(problem, problem.next.astype(float).mean(axis=0), online)
    else:
        weights = expected_weights(problem, e, np.diff(chosen, axis=1))
        # anderson has no penalty, so all of its candidates are the same.
        ties = problem.mixer == "anderson" and problem.eta_choice == "auto"
        for name, value in weights.items():
            if name != "eta" or not ties:
                check(name, found[name], value, 3e-4 if name == "gain" else 1e-6)
        backups = np.column_stack([backed_up(problem, q, online) for q in problem.next])
        alpha = np.array(found["alpha"])
        expected = problem.damping * chosen @ alpha + (1 - problem.damping) * backups @ alpha
    check("targets", found["targets"], expected, 2e-6)
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    all_problems = list(problems())
    text = "\n".join(problem.text() for problem in all_problems) + "\n"
    output = subprocess.run([sys.argv[1]], input=text, text=True, capture_output=True, check=True)
    found = [json.loads(line) for line in output.stdout.splitlines()]
    if len(found) != len(all_problems):
        sys.exit(f"MISMATCH: {len(all_problems)} problems, {len(found)} answers")
    mismatches = [line for problem, answer in zip(all_problems, found)
                  for line in compare(problem, answer)]
    fallbacks = sum(answer.get("fallback", False) for answer in found)
    if mismatches:
        print("MISMATCH:\n" + "\n".join(mismatches[:20]))
        sys.exit(1)
    print(f"{len(all_problems)} problems ({fallbacks} fallbacks): weights and targets equal NumPy's")


if __name__ == "__main__":
    main()
