"""Wrappers and environments of images, for the tests of the bridge and of the program."""

import gymnasium
import numpy as np
from gymnasium import spaces


class Scale(gymnasium.ObservationWrapper):
    """Multiplies what it sees, and shows its arguments where they make a difference."""

    def __init__(self, env, by=1.0, sides=(0, 0), name="", extra=None):
        super().__init__(env)
        if not isinstance(sides, tuple):
            raise TypeError(f"sides must be a tuple, not {sides!r}")
        self.by, self.offset = by, sides[0] + len(name) + (0 if extra is None else extra["x"])

    def observation(self, observation):
        return self.by * observation + self.offset


class Raises(gymnasium.Wrapper):
    """Raises where it is told to."""

    def __init__(self, env, where="init"):
        super().__init__(env)
        self.where = where
        self.check("init")

    def check(self, where):
        if self.where == where:
            raise ValueError(f"no {where}\nat all")

    def reset(self, **kwargs):
        self.check("reset")
        return super().reset(**kwargs)

    def step(self, action):
        self.check("step")
        return super().step(action)


class NeedsPackage(Raises):
    """Its package is missing."""

    def check(self, where):
        if self.where == where:
            raise gymnasium.error.DependencyNotInstalled("paint is not installed")


class Leaves(gymnasium.Wrapper):
    def __init__(self, env):
        raise SystemExit(3)


class Unfinished(gymnasium.Wrapper):
    def __init__(self, env):
        pass


class Unlike(gymnasium.Wrapper):
    """Changes the observation space into one that is not supported."""

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = spaces.Sequence(spaces.Discrete(3))


class Remembers(gymnasium.ObservationWrapper):
    """Its state outlives episodes."""

    count = 0

    def observation(self, observation):
        self.count += 1
        return observation + self.count


def scaled_twice(env, by):
    return Scale(Scale(env, by), by)


def nothing(env):
    return 5


class Pixels(gymnasium.Env):
    """A bright spot to be followed: action 1 moves it right, 0 left; the reward says whether it is in the middle.
    `shape` is of the observations, whose last axis, or first, may count channels; bytes or floats."""

    action_space = spaces.Discrete(2)
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, shape=(40, 60, 3), floats=False, high=None, render_mode=None):
        self.render_mode = render_mode
        self.shape, self.dtype = tuple(shape), np.float32 if floats else np.uint8
        self.high = high if high is not None else 1 if floats else 255
        self.observation_space = spaces.Box(0, self.high, self.shape, self.dtype)
        self.size = int(np.prod(self.shape))

    def look(self):
        seen = np.zeros(self.size, self.dtype)
        seen[self.spot] = self.high
        return seen.reshape(self.shape)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.spot = int(self.np_random.integers(self.size))
        return self.look(), {}

    def step(self, action):
        self.spot = (self.spot + (7 if action else self.size - 7)) % self.size
        middle = self.size // 4 <= self.spot < 3 * self.size // 4
        return self.look(), float(middle), bool(self.np_random.random() < 0.05), False, {}

    def render(self):
        return np.full((16, 24, 3), self.spot % 256, np.uint8)


gymnasium.register("Pixels-v0", Pixels, max_episode_steps=30)
