"""Compares the classic environments with Gymnasium's own.

Usage: classic_crosscheck.py PROGRAM, the program built from classic_crosscheck.cc.
Exits with 0 if all agree, 1 if anything does not, 77 (skipped) without NumPy and Gymnasium.

Runs whole episodes, from usual and unusual states, up to Gymnasium's own end of each. The same
actions must give the same observations (to 1e-6), rewards, terminations and time limits. The states
are not synchronised along the way, although the Acrobot is chaotic: only arithmetic that agrees to
the last bit stays together for 500 steps. One side uses the C library's sines and cosines, the other
NumPy's, which has its own on some processors (AVX-512); there, Gymnasium is given the C library's.
"""

import math
import subprocess
import sys
from dataclasses import dataclass
from typing import Callable

try:
    import gymnasium
    import numpy as np
    from gymnasium.envs.classic_control import acrobot, cartpole, pendulum
except ImportError as error:
    print(f"classic_crosscheck: skipped: {error}")
    sys.exit(77)

SEED = 20210109
STEPS = 10_000  # per environment, at least
TOLERANCE = 1e-6  # for observations, unless the case has another
REWARD_TOLERANCE = 1e-12
RESETS = 4000  # on each side
# For one comparison of start states. There are 14, with fixed seeds, so they pass or fail alike on
# every machine.
FALSE_ALARM = 1e-6


def wandering(random, _observation, actions):
    return random.integers(actions)


def balancing(random, observation, _actions):
    """Keeps the pole up until the time limit from most states."""
    x, x_dot, theta, theta_dot = observation
    return int(0.1 * x + 0.3 * x_dot + 3 * theta + theta_dot + 0.01 * random.normal() > 0)


def rocking(_random, observation, _actions):
    """Pushes the car the way it is going, which reaches the flag."""
    return 2 if observation[1] >= 0 else 0


def pumping(_random, observation, _actions):
    """Pushes the second link the way it is turning, which swings the acrobot up."""
    return 2 if observation[5] >= 0 else 0


def turning(random, _observation, _actions):
    """Torques of all sizes, including some beyond the limits."""
    return np.array([random.uniform(-3, 3)], dtype=np.float32)


def swinging(_random, observation, _actions):
    return np.array([2 if observation[2] >= 0 else -2], dtype=np.float32)


def pushing(random, _observation, _actions):
    """Forces of all sizes, including some beyond the limits."""
    return np.array([random.uniform(-1.5, 1.5)], dtype=np.float32)


def rocking_with_force(random, observation, _actions):
    return np.array([math.copysign(random.uniform(0.7, 1.1), observation[1])], dtype=np.float32)


@dataclass
class Case:
    name: str
    gymnasium_id: str
    usual: tuple  # bounds of each variable of the start state
    unusual: tuple  # bounds of any possible state
    policies: tuple[Callable, ...]
    tolerance: float = TOLERANCE


CASES = (
    Case("cartpole", "CartPole-v1", (0.05,) * 4, (2.4, 10.0, 12 * 2 * math.pi / 360, 5.0),
         (wandering, balancing, balancing)),
    Case("mountain_car", "MountainCar-v0", ((-0.6, -0.4), 0.0), ((-1.2, 0.6), 0.07),
         (wandering, rocking)),
    Case("acrobot", "Acrobot-v1", (0.1,) * 4, (math.pi, math.pi, 4 * math.pi, 9 * math.pi),
         (wandering, pumping)),
    Case("pendulum", "Pendulum-v1", (math.pi, 1.0), (100.0, 8.0), (turning, swinging)),
    Case("mountain_car_continuous", "MountainCarContinuous-v0", ((-0.6, -0.4), 0.0), ((-1.2, 0.6), 0.07),
         (pushing, rocking_with_force),
         tolerance=0),  # it forgets small differences, so that only exact ones show a wrong rounding
)


class LibraryTrigonometry:
    """NumPy, but with the C library's sine and cosine."""

    @staticmethod
    def sin(x):
        return np.float64(math.sin(x))

    @staticmethod
    def cos(x):
        return np.float64(math.cos(x))

    def __getattr__(self, name):
        return getattr(np, name)


def agree_on_trigonometry():
    sample = np.random.default_rng(SEED).uniform(-20, 20, 20_000)
    if all(np.sin(x) == math.sin(x) and np.cos(x) == math.cos(x) for x in sample):
        return
    print("NumPy's sine and cosine are not the C library's on this processor: replaced")
    acrobot.sin, acrobot.cos = LibraryTrigonometry.sin, LibraryTrigonometry.cos
    cartpole.np = pendulum.np = LibraryTrigonometry()


def draw_state(random, bounds):
    pairs = [bound if isinstance(bound, tuple) else (-bound, bound) for bound in bounds]
    return np.array([random.uniform(low, high) for low, high in pairs])


@dataclass
class Episode:
    start: np.ndarray
    first: np.ndarray  # observation
    actions: list
    steps: list  # (reward, terminated, truncated, observation)


def play(env, start, policy, random):
    """One episode of Gymnasium's environment."""
    env.reset(seed=0)
    env.unwrapped.state = start.copy()
    if env.spec.id == "Acrobot-v1":
        observation = env.unwrapped._get_ob()
    elif env.spec.id == "Pendulum-v1":
        observation = env.unwrapped._get_obs()
    else:
        observation = start.astype(np.float32)
    episode = Episode(start, observation, [], [])
    while not episode.steps or not (episode.steps[-1][1] or episode.steps[-1][2]):
        action = policy(random, observation, getattr(env.action_space, "n", 0))
        observation, reward, terminated, truncated, _ = env.step(action)
        episode.actions.append(float(np.ravel(action)[0]))
        episode.steps.append((float(reward), terminated, truncated, observation))
    return episode


def episodes(case):
    env = gymnasium.make(case.gymnasium_id)
    random = np.random.default_rng(SEED)
    played, steps = [], 0
    while steps < STEPS:
        # Every policy from usual and unusual states.
        policy = case.policies[len(played) // 2 % len(case.policies)]
        start = draw_state(random, case.unusual if len(played) % 2 else case.usual)
        played.append(play(env, start, policy, random))
        steps += len(played[-1].steps)
    return played


def ask(program, questions):
    run = subprocess.run([program], input="\n".join(questions) + "\n", text=True,
                         capture_output=True, check=False)
    if run.returncode != 0:
        sys.exit(f"classic_crosscheck: the program failed: {run.stderr}")
    return run.stdout.splitlines()


def numbers(line):
    return np.array([float(word) for word in line.split()])


def words(values):
    return " ".join(repr(float(value)) for value in values)


def spec_mismatches(program, case):
    spec = dict(line.split(" ", 1) for line in ask(program, [f"spec {case.name}"]))
    env = gymnasium.make(case.gymnasium_id)
    space, actions = env.observation_space, env.action_space
    if isinstance(actions, gymnasium.spaces.Discrete):
        expected_actions = f"discrete {actions.n}"
        assert actions.start == 0
    else:
        assert actions.shape == (1,) and actions.dtype == np.float32
        expected_actions = f"box {actions.low[0]:g} {actions.high[0]:g}"
    assert space.dtype == np.float32
    expected = {
        "id": f"classic/{case.name}",
        "shape": tuple(space.shape),
        "low": tuple(space.low.astype(float)),
        "high": tuple(space.high.astype(float)),
        "actions": expected_actions,
        "steps": (env.spec.max_episode_steps,),
        "fps": (env.metadata["render_fps"],),
    }
    for key, value in expected.items():
        found = tuple(numbers(spec[key])) if isinstance(value, tuple) else spec[key]
        if found != value:
            yield f"{key} is {found}, expected {value}"


class Comparison:
    """Compares trajectories and remembers the largest differences."""

    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.observation = self.reward = 0.0
        self.steps = self.terminated = self.truncated = 0

    def mismatch(self, episode, rows):
        """The first mismatch in an episode as text, or None."""
        expected = [(0.0, False, False, episode.first), *episode.steps]
        for t, (wanted, row) in enumerate(zip(expected, rows)):
            reward, terminated, truncated, observation = wanted
            self.observation = max(self.observation, abs(row[3:] - observation).max())
            self.reward = max(self.reward, abs(row[0] - reward))
            where = f"from {episode.start.tolist()}, step {t}"
            if not abs(row[3:] - observation).max() <= self.tolerance:
                return f"{where}: observation {row[3:]}, expected {observation}"
            if not abs(row[0] - reward) <= REWARD_TOLERANCE:
                return f"{where}: reward {row[0]!r}, expected {reward!r}"
            if (row[1], row[2]) != (terminated, truncated):
                return (f"{where}: terminated {row[1]:g}, truncated {row[2]:g}, "
                        f"expected {terminated:d}, {truncated:d}")
        if len(rows) != len(expected):
            return f"from {episode.start.tolist()}: {len(rows)} rows, expected {len(expected)}"
        self.steps += len(episode.steps)
        self.terminated += episode.steps[-1][1]
        self.truncated += episode.steps[-1][2]
        return None


def trajectory_mismatches(program, case, comparison):
    played = episodes(case)
    # A few more actions than the episode has: it must end on its own.
    questions = [f"run {case.name} {words(episode.start)} {words(episode.actions + [1.0] * 3)}"
                 for episode in played]
    rows = []
    answers = iter(played)
    for line in ask(program, questions):
        if line != "end":
            rows.append(numbers(line))
            continue
        mismatch = comparison.mismatch(next(answers), rows)
        rows = []
        if mismatch:
            yield mismatch
    if next(answers, None) is not None:
        yield "the program did not answer for every episode"
    if not comparison.truncated:
        yield "no episode reached the time limit: the comparison is too weak"
    if not comparison.terminated and case.name != "pendulum":
        yield "no episode terminated: the comparison is too weak"


def kolmogorov_distance(a, b):
    both = np.concatenate([a, b])
    share_a = np.searchsorted(np.sort(a), both, side="right") / a.size
    share_b = np.searchsorted(np.sort(b), both, side="right") / b.size
    return abs(share_a - share_b).max()


def start_mismatches(program, case):
    """Two-sample Kolmogorov-Smirnov tests of each variable of the start state."""
    env = gymnasium.make(case.gymnasium_id).unwrapped
    theirs = []
    for i in range(RESETS):
        env.reset(seed=SEED if i == 0 else None)
        theirs.append(np.array(env.state, dtype=float))
    theirs = np.array(theirs)
    lines = ask(program, [f"reset {case.name} {SEED} {RESETS}"])
    ours = np.array([numbers(line) for line in lines])
    if ours.shape != theirs.shape:
        yield f"start states of shape {ours.shape}, expected {theirs.shape}"
        return
    limit = math.sqrt(-math.log(FALSE_ALARM / 2) / 2 * 2 / RESETS)
    for i in range(ours.shape[1]):
        distance = kolmogorov_distance(ours[:, i], theirs[:, i])
        if not distance <= limit:
            yield (f"variable {i} of the start state is distributed differently: distance "
                   f"{distance:.3f}, at most {limit:.3f} by chance")
        if (ours[:, i] == ours[:, i].astype(np.float32)).all() != (
                theirs[:, i] == theirs[:, i].astype(np.float32)).all():
            yield f"variable {i} of the start state is rounded to float on one side only"


def main():
    agree_on_trigonometry()
    program = sys.argv[1]
    wrong = 0
    for case in CASES:
        comparison = Comparison(case.tolerance)
        mismatches = [*spec_mismatches(program, case), *start_mismatches(program, case),
                      *trajectory_mismatches(program, case, comparison)]
        for mismatch in mismatches:
            print(f"MISMATCH: {case.name}: {mismatch}")
        wrong += len(mismatches)
        print(f"{case.name}: {comparison.steps} steps, {comparison.terminated} terminations, "
              f"{comparison.truncated} truncations; largest difference of an observation "
              f"{comparison.observation:g}, of a reward {comparison.reward:g}")
    print(f"classic_crosscheck: {wrong} mismatches with Gymnasium {gymnasium.__version__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
