"""Compares the worker's Atari with two other implementations.

- For the protocols nature and machado the worker has two implementations: ale-py's vector environment and, for
  pictures, its own class. They must show the same frames, rewards and ends from the same seeds.
- For the authors' protocol it is compared with the chain of wrappers in the paper's code, reproduced here in
  the same order: lives around frames, no-ops around lives, skipping around no-ops, fire around skipping, and
  picture arithmetic in colour and real numbers.

Run by ctest with the Python of scripts/atari. Exits with 77 (skipped) without ale-py.
"""

import os
import sys

try:
    import ale_py
    import cv2
    import gymnasium  # noqa: F401 (the vector environment needs it)
    import numpy as np
    from ale_py import roms
except ImportError as problem:
    print(f"skipped: {problem} (scripts/atari sets it up)")
    sys.exit(77)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stableaa_worker as worker  # noqa: E402

worker.np, worker.cv2, worker.ale_py = np, cv2, ale_py

NATURE = dict(sticky=0.0, lives_end=True, no_ops=30, fire=True, all_actions=False, authors=False)
MACHADO = dict(sticky=0.25, lives_end=False, no_ops=0, fire=False, all_actions=True, authors=False)
AUTHORS = dict(sticky=0.0, lives_end=True, no_ops=30, fire=True, all_actions=False, authors=True)


class Memory:
    def __init__(self, seed):
        self.observations = np.zeros((1, 4, 84, 84), np.uint8)
        self.new_game, self.anew = np.zeros(1, bool), np.zeros(1, bool)
        self.seeds = np.array([seed])


def compare_own_with_vector(game, protocol, steps, max_frames):
    worker.MAX_FRAMES = max_frames
    vector = worker.AtariVector(game, protocol, 1)
    own = worker.Separate([worker.AtariGame(roms.get_rom_path(game), protocol)])
    random = np.random.default_rng(1)
    memories = Memory(5), Memory(5)
    all_of_them = np.ones(1, bool)
    games = lives = 0

    def restart():
        for which, memory in zip((vector, own), memories):
            which.restart(all_of_them, memory.anew, memory)
        assert (memories[0].observations == memories[1].observations).all(), f"{game}: starts differ"
        assert memories[0].new_game[0] == memories[1].new_game[0], f"{game}: one begins a new game"

    restart()
    for step in range(steps):
        action = random.integers(len(own.games[0].actions), size=1)
        seen, *rest = vector.step(action)
        own_seen, *own_rest = own.step(action)
        assert [r[0] for r in rest] == [r[0] for r in own_rest], f"{game}: step {step}: {rest} {own_rest}"
        # When the game is over, ale-py's newest frame is an old one.
        frames = 3 if own.games[0].game_over else 4
        assert (seen[0][:frames] == own_seen[0][:frames]).all(), f"{game}: step {step}: frames differ"
        if rest[1][0] or rest[2][0]:
            for memory, frame in zip(memories, (seen, own_seen)):
                memory.seeds += 1
                memory.observations[:] = frame
            memories[0].observations[:] = memories[1].observations  # that last frame again
            restart()
            games += memories[0].new_game[0]
            lives += 1
    return games, lives


class Frames:
    """The emulator, a frame at a time; then the wrappers of the paper's code."""

    def __init__(self, game):
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.rom = roms.get_rom_path(game)

    def reset(self, seed):
        self.ale.setInt("random_seed", seed)
        self.ale.loadROM(self.rom)
        self.ale.reset_game()
        self.actions = self.ale.getMinimalActionSet()
        return self.ale.getScreenRGB()

    def step(self, action):
        reward = self.ale.act(self.actions[action])
        return self.ale.getScreenRGB(), reward, self.ale.game_over(with_truncation=False)


class Lives:
    def __init__(self, inner):
        self.inner, self.lives, self.over = inner, 0, True

    def reset(self, seed):
        picture = self.inner.reset(seed) if self.over else self.inner.step(0)[0]
        self.over = False
        self.lives = self.inner.ale.lives()
        return picture

    def step(self, action):
        picture, reward, self.over = self.inner.step(action)
        lives = self.inner.ale.lives()
        lost = 0 < lives < self.lives
        self.lives = lives
        return picture, reward, self.over or lost


class NoOps:
    def __init__(self, inner):
        self.inner = inner

    def reset(self, seed):
        self.inner.reset(seed)
        for _ in range(np.random.RandomState(seed).randint(1, 31)):
            picture = self.inner.step(0)[0]
        return picture

    def step(self, action):
        return self.inner.step(action)


class Skip:
    def __init__(self, inner):
        self.inner = inner

    def reset(self, seed):
        return self.inner.reset(seed)

    def step(self, action):
        pictures, total = [], 0
        for _ in range(4):
            picture, reward, done = self.inner.step(action)
            pictures.append(picture)
            total += reward
            if done:
                break
        return np.max(pictures[-2:], axis=0), total, done


class Fire:
    def __init__(self, inner):
        self.inner = inner

    def reset(self, seed):
        self.inner.reset(seed)
        self.inner.step(1)
        return self.inner.step(2)[0]

    def step(self, action):
        return self.inner.step(action)


def grey84(picture):
    grey = picture.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)
    return cv2.resize(grey, (84, 110), interpolation=cv2.INTER_LINEAR)[18:102]


def compare_with_authors(game, steps):
    worker.MAX_FRAMES = 108_000
    theirs = Fire(Skip(NoOps(Lives(Frames(game)))))
    ours = worker.AtariGame(roms.get_rom_path(game), AUTHORS)
    random = np.random.default_rng(2)
    seed, ends, pixels, far, worst_reset = 9, 0, 0, 0, 0.0
    ours.restart(seed, True)
    worst_reset = np.abs(grey84(theirs.reset(seed)) - ours.observation[3]).mean()
    for step in range(steps):
        action = int(random.integers(len(ours.actions)))
        picture, reward, done = theirs.step(action)
        own_reward, terminated, truncated = ours.step(action)
        assert (reward, done) == (own_reward, terminated) and not truncated, f"{game}: step {step}"
        if not done:  # if a step is cut short, the worker shows only the last frame
            difference = np.abs(grey84(picture) - ours.observation[3])
            pixels += difference.size
            far += (difference > 2).sum()
        else:
            ends += 1
            seed += 1
            ours.restart(seed, False)
            worst_reset = max(worst_reset, np.abs(grey84(theirs.reset(seed)) - ours.observation[3]).mean())
    # Where a sprite flickers, the maximum of two greys may differ from the grey of the maximum colours.
    assert far <= 0.001 * pixels, f"{game}: {far} of {pixels} pixels are more than 2 levels away"
    # One frame where theirs has two; a moving ball takes a few pixels.
    assert worst_reset < 1, f"{game}: starts differ by {worst_reset} levels"
    return ends, far / pixels


def main():
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    for game, steps in (("breakout", 400), ("seaquest", 400), ("pong", 1000), ("assault", 100)):
        games, lives = compare_own_with_vector(game, NATURE, steps, 108_000)
        print(f"{game}: nature: {steps} steps, {lives} episodes, {games} games: the same")
        games, lives = compare_own_with_vector(game, MACHADO, steps, 1000)
        print(f"{game}: machado: {steps} steps, {lives} episodes, {games} games: the same")
    for game in ("breakout", "space_invaders"):
        ends, far = compare_with_authors(game, 600)
        print(f"{game}: authors: 600 steps, {ends} episodes: the same but for {far:.2g} of all pixels")


main()
