"""Plays an environment in Gymnasium alone, without the bridge, for comparison with it.

Usage: gymnasium_alone_test.py ID ACTIONS SEED...
ACTIONS is a file of 32-bit floats, one action after another. Each episode begins with the next seed. Prints
a line per step: reward, terminated, truncated and the observation, in hexadecimal; the observation as 32-bit
floats, and after an episode's end the first one of the next.
"""

import sys

import gymnasium
import numpy as np

name, actions, *seeds = sys.argv[1:]
env = gymnasium.make(name, disable_env_checker=True)
seeds = iter(seeds)
env.reset(seed=int(next(seeds)))
for action in np.fromfile(actions, np.float32).reshape(-1, *env.action_space.shape):
    observation, reward, terminated, truncated, _ = env.step(action)
    if terminated or truncated:
        observation, _ = env.reset(seed=int(next(seeds)))
    row = [reward, terminated, truncated, *observation.astype(np.float32)]
    print(*(float(value).hex() for value in row))
