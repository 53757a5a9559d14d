"""Environments that misbehave, for the tests of the bridge; made by gymnasium.make, with ids such as
"faulty_environments_test:Raises-v0"."""

import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class Counter(gymnasium.Env):
    """Well-behaved: shows the seed of its episode (split in two), the steps so far and the last action."""

    observation_space = spaces.Box(0, 1e6, (4,), np.float64)
    action_space = spaces.Discrete(3, start=5)
    metadata = {"render_modes": ["rgb_array"], "render_fps": 7}

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def look(self):
        return np.array([self.seed // 65536, self.seed % 65536, self.steps, self.action], np.float64)

    def reset(self, seed=None, options=None):
        self.seed, self.steps, self.action = seed, 0, 0
        return self.look(), {}

    def step(self, action):
        self.steps += 1
        self.action = action
        return self.look(), 0.25 * self.steps, action == 7, False, {}

    def render(self):
        return np.full((6, 8, 3), min(self.steps, 255), np.uint8)


class Raises(Counter):
    def step(self, action):
        if self.steps == 2:
            raise ValueError("the third step\nis one too many")
        return super().step(action)


class NoRenderMode(Counter):
    """A constructor need not know render_mode."""

    def __init__(self):
        pass


class Configured(Counter):
    """Shows its arguments."""

    def __init__(self, start, names=("a",), render_mode=None):
        super().__init__(render_mode)
        if start < 0:
            raise ValueError(f"cannot start at {start}")
        self.start, self.names = start, names

    def look(self):
        return np.array([self.start, len(self.names), self.steps, 0], np.float64)


class RaisesInMake(Counter):
    def __init__(self, render_mode=None):
        self.prepare()

    def prepare(self):
        raise ValueError("no making\x1b[31m")


class LeavesInMake(Counter):
    def __init__(self):
        sys.exit("wrong arguments")


class RaisesInRender(Counter):
    def render(self):
        if self.steps == 1:
            raise ValueError("no picture")
        return super().render()


class GrowsInRender(Counter):
    def render(self):
        return np.zeros((6 + self.steps, 8, 3), np.uint8)


class RaisesInClose(Counter):
    def close(self):
        raise ValueError("no end")


class OldApi(Counter):
    """Uses the API of Gym, Gymnasium's predecessor."""

    def step(self, action):
        return self.look(), 0.0, False, {}


class Talks(Counter):
    def __init__(self, render_mode=None):
        print("made")

    def reset(self, seed=None, options=None):
        print("begun", file=sys.stderr)
        return super().reset(seed=seed)

    def step(self, action):
        print("\x1b[33mstep\x1b[0m\x07", self.steps)
        os.write(1, b"by C")
        os.write(1, b" itself\r\n")
        return super().step(action)

    def close(self):
        print("closed", end="")


class NotFinite(Counter):
    """Shows `value` in `where`: a reset, or the second step. It is text, since JSON has no such numbers."""

    def __init__(self, where, value="nan", render_mode=None):
        super().__init__(render_mode)
        self.where, self.value, self.resets = where, float(value), 0

    def reset(self, seed=None, options=None):
        self.resets += 1
        first, info = super().reset(seed=seed)
        if self.where == "reset" or self.where == "second reset" and self.resets == 2:
            first[1] = self.value
        return first, info

    def step(self, action):
        seen, reward, terminated, truncated, info = super().step(action)
        if self.where == "reward" and self.steps == 2:
            reward = self.value
        if self.where == "observation" and self.steps == 2:
            seen[3] = self.value
        return seen, reward, terminated, truncated, info


class RaisesInReset(Counter):
    def reset(self, seed=None, options=None):
        raise ValueError("no beginning")


class Hangs(Counter):
    def step(self, action):
        time.sleep(1000)


class HangsApart(Counter):
    """Hangs in another process group, where a signal to its own does not reach it."""

    def step(self, action):
        os.setpgid(0, os.getppid() if os.getpgid(os.getppid()) == os.getppid() else os.getpgid(os.getppid()))
        time.sleep(1000)


class Forks(Counter):
    """The copy continues as if it were the worker."""

    def step(self, action):
        if self.steps == 3:
            os.fork()
        return super().step(action)


class ForksAndDies(Counter):
    def step(self, action):
        if os.fork() == 0:
            time.sleep(1000)
        os.kill(os.getpid(), signal.SIGKILL)


class RaisesStrangely(Counter):
    metadata = {"render_modes": ["rgb_array"], "render_fps": "fast"}

    def step(self, action):
        raise ValueError("\ud800\x1b[31m")


class HangsInMake(Counter):
    def __init__(self, render_mode=None):
        time.sleep(1000)


class HangsInClose(Counter):
    def close(self):
        time.sleep(1000)


class Exits(Counter):
    def step(self, action):
        print("leaving now", file=sys.stderr)
        os._exit(3)


class Kills(Counter):
    def step(self, action):
        os.kill(os.getpid(), signal.SIGKILL)


class Spawns(Counter):
    """Shows the process id of a child that would outlive it, split in two."""

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.seed = subprocess.Popen(["sleep", "1000"]).pid
        return self.look(), {}


class Chatters(Counter):
    def step(self, action):
        sys.stdout.write("to stdout\n" * 30000)
        sys.stderr.write("to stderr\n" * 30000)
        return super().step(action)


class Forgets(Counter):
    """Not deterministic."""

    def look(self):
        return super().look() + [0, 0, 0, time.time_ns() % 1000]


class WrongShape(Counter):
    def step(self, action):
        return np.zeros(1), 0, False, False, {}


class SequenceObservation(Counter):
    observation_space = spaces.Sequence(spaces.Discrete(2))


class ScalarObservation(Counter):
    observation_space = spaces.Box(0, 1, (), np.float32)


class HugeDiscrete(Counter):
    action_space = spaces.Discrete(2**32 + 3)


class TupleAction(Counter):
    action_space = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)])


class DictObservation(Counter):
    observation_space = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(-1, 1, (2,), np.float32)})

    def look(self):
        return {"a": 2, "b": np.array([0.5, -0.5], np.float32)}


class NoPicture(Counter):
    def render(self):
        return None


class ContinuousAction(Counter):
    action_space = spaces.Box(np.array([[-1.0, 0.0]]), np.array([[np.inf, 2.0]]), dtype=np.float64)

    def step(self, action):
        assert action.shape == (1, 2) and action.dtype == np.float64
        self.steps += 1
        return np.array([0, 0, action[0, 0], action[0, 1]]), 0.0, False, False, {}


class ShowsItsAction(Counter):
    """Shows its action, which must be in the space, and whether it is at the lower and the upper bound."""

    def __init__(self, action_space):
        self.action_space = action_space
        self.observation_space = spaces.Box(-np.inf, np.inf, (3, *action_space.shape), np.float64)

    def look(self):
        shown = np.zeros(self.observation_space.shape)
        if self.steps:
            shown[:] = self.action, self.action == self.action_space.low, self.action == self.action_space.high
        return np.clip(shown, -1e38, 1e38)

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        return super().step(action)[:1] + (0.0, False, False, {})


class Asymmetric(ShowsItsAction):
    def __init__(self):
        super().__init__(spaces.Box(np.array([-1.0, 0.5, -3.0], np.float32), np.array([4.0, 0.75, -2.0], np.float32)))


class Unbounded(ShowsItsAction):
    def __init__(self):
        super().__init__(spaces.Box(np.array([-np.inf, -np.inf, 2.0]), np.array([np.inf, -1.0, np.inf]),
                                    dtype=np.float64))


class ZeroWidth(ShowsItsAction):
    """In the second element, no float lies between the bounds."""

    def __init__(self):
        super().__init__(spaces.Box(np.array([0.25, 0.1, -1.0]), np.array([0.25, 0.1 + 1e-12, 1.0]), dtype=np.float64))


class BeyondFloats(ShowsItsAction):
    """The second element is beyond all floats."""

    def __init__(self):
        super().__init__(spaces.Box(np.array([0.0, 1e39]), np.array([1.0, 2e39]), dtype=np.float64))


class TwoByThree(ShowsItsAction):
    def __init__(self):
        high = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
        super().__init__(spaces.Box(-high, 2 * high))


class Integers(ShowsItsAction):
    def __init__(self):
        super().__init__(spaces.Box(np.array([-3, 2**24 + 1]), np.array([9, 2**24 + 7]), dtype=np.int64))


class Bytes(ShowsItsAction):
    def __init__(self):
        super().__init__(spaces.Box(0, 200, (2,), np.uint8))


class LongIntegers(ShowsItsAction):
    """The highest is no float, and the nearest float is no such integer."""

    def __init__(self):
        super().__init__(spaces.Box(0, 2**64 - 1, (2,), np.uint64))


class SignedIntegers(ShowsItsAction):
    def __init__(self):
        super().__init__(spaces.Box(-(2**63), 2**63 - 1, (2,), np.int64))


class Doubles(ShowsItsAction):
    """No bound but zero is a float."""

    def __init__(self):
        super().__init__(spaces.Box(np.array([0.1, -0.1, -1e300, 0.0]), np.array([0.3, 0.7, 1e300, 1 / 3]),
                                    dtype=np.float64))


class EndsByAction(ContinuousAction):
    def step(self, action):
        assert np.isfinite(action).all()
        self.steps += 1
        return np.array([0, 0, self.steps, 0.0]), 0.0, action[0, 0] == 1, False, {}


for kind in [value for value in globals().values() if isinstance(value, type) and issubclass(value, Counter)]:
    gymnasium.register(f"{kind.__name__}-v0", kind, max_episode_steps=20)
