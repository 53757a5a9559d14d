"""Compares `stableaa` with Stable-Baselines3 and RLtools on continuous control, on one thread.

Usage: control.py [--stableaa PROGRAM] [--rounds N] [--seconds S] [--without sb3|rltools|loop ...]
                  [--json FILE]
       control.py --learn [--algorithms td3,sac] [--env HalfCheetah-v5] [--steps N] [--seeds K]
                  [--at STEP,STEP,...] [--values presets|zoo] [--csv FILE]

Without --learn it measures, in turns, and prints as Markdown:

  update  one update of TD3 and SAC with 256-256 networks, batch 256, 17 observed numbers and 6 per
          action (HalfCheetah's sizes). Stable-Baselines3 learns from a replay filled with noise.
          RLtools makes steps in a trivial environment, which adds about a hundredth of a
          millisecond. Ours is `stableaa bench update`; td3-stable and td3-raa are compared with our
          own td3.
  loop    whole steps per second on Pendulum with the values of the RL Zoo, once learning has begun;
          Stable-Baselines3 with Gymnasium's environment, ours with classic/pendulum. Each with
          batches of 256, Stable-Baselines3's default, and of 100, ours for Pendulum.

Medians over the rounds. `ours is × as fast` divides a peer's CPU time by our wall time, so a busy
machine counts against us; `by wall` divides wall times. `core` is the least share of a core that a
program got: both ratios mean little unless it is near 1. No round begins that would probably end
after --seconds.

--learn trains Stable-Baselines3 and writes evaluations (10 episodes, deterministic) as CSV, to set
beside our learning curves. With --values presets it gets the values of our presets, which are those
of TD3's and SAC's authors, with zoo those of the RL Zoo for MuJoCo. Takes hours.

RLtools compiles itself when first used; if that fails it is left out, with a message. Exits with 77
(skipped) without Stable-Baselines3.
"""

import argparse
import contextlib
import csv
import importlib.metadata
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import types
from pathlib import Path

THREAD_LIMITS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}
os.environ.update(THREAD_LIMITS)  # before anything that reads them is imported

TREE = Path(__file__).resolve().parents[2]
OBSERVED, ACTION_ELEMENTS = 17, 6
HIDDEN, BATCH = [256, 256], 256
ALGORITHMS = ("td3", "sac")
OWN_PRESETS = ("td3", "sac", "td3-stable", "td3-raa")
UPDATES = 100  # of a peer, in one turn
WARM_UP = 20
LOOP_BATCHES = (256, 100)
LOOP_STEPS = 400  # of Stable-Baselines3, in one turn
OWN_LOOP_STEPS = 2500  # of a run of ours; the first 1000 are random
COMPILE_SECONDS, TURN_SECONDS = 400, 120
EPISODES = 10

# The RL Zoo's for Pendulum-v1; the rest are Stable-Baselines3's defaults. Learning starts earlier,
# which does not change its speed.
ZOO_PENDULUM = {
    "td3": {"gamma": 0.98, "buffer_size": 200_000, "learning_rate": 1e-3, "learning_starts": 300,
            "policy_kwargs": {"net_arch": [400, 300]}},
    "sac": {"learning_rate": 1e-3, "buffer_size": 200_000, "learning_starts": 300},
}
LEARN_VALUES = {
    "presets": {
        "td3": {"learning_rate": 3e-4, "learning_starts": 25_000,
                "policy_kwargs": {"net_arch": HIDDEN}},
        "sac": {"learning_rate": 3e-4, "learning_starts": 10_000,
                "policy_kwargs": {"net_arch": HIDDEN}},
    },
    "zoo": {
        "td3": {"learning_rate": 1e-3, "learning_starts": 10_000,
                "policy_kwargs": {"net_arch": [400, 300]}},
        "sac": {"learning_starts": 10_000},
    },
}


def say(text):
    print(f"control: {text}", file=sys.stderr, flush=True)


def timed(work, count):
    """CPU and wall seconds for each of `count` pieces of work done by work()."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu / count, "wall": wall / count, "core": cpu / wall}


def noise_environment():
    """An environment of HalfCheetah's sizes that costs next to nothing, and its class."""
    import gymnasium
    import numpy as np

    class Noise(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (OBSERVED,), np.float32)
        action_space = gymnasium.spaces.Box(-1, 1, (ACTION_ELEMENTS,), np.float32)
        spec = types.SimpleNamespace(max_episode_steps=1000)  # RLtools asks for it
        random = np.random.default_rng(1)

        def observe(self):
            return self.random.random(OBSERVED, np.float32)

        def reset(self, seed=None, options=None):
            return self.observe(), {}

        def step(self, action):
            return self.observe(), float(action[0]), False, False, {}

    return Noise


# ---- Stable-Baselines3 ----


def make_model(algorithm, env, seed, values):
    import numpy as np
    import stable_baselines3
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.noise import NormalActionNoise

    values = {"batch_size": BATCH, "train_freq": 1, "gradient_steps": 1, **values}
    if algorithm == "td3":
        elements = env.action_space.shape[0]
        values["action_noise"] = NormalActionNoise(np.zeros(elements), np.full(elements, 0.1))
    make = {"td3": stable_baselines3.TD3, "sac": stable_baselines3.SAC}[algorithm]
    model = make("MlpPolicy", env, seed=seed, device="cpu", **values)
    model.set_logger(configure(None, []))
    return model


class Sb3Update:
    def __init__(self, algorithm):
        import numpy as np

        self.model = make_model(algorithm, noise_environment()(), 1,
                                {"buffer_size": 100_000, "policy_kwargs": {"net_arch": HIDDEN}})
        random = np.random.default_rng(1)
        replay = self.model.replay_buffer
        for array in (replay.observations, replay.next_observations, replay.actions):
            array[:] = random.uniform(-1, 1, array.shape)
        replay.rewards[:] = random.random(replay.rewards.shape)
        replay.full = True
        self.model.train(gradient_steps=WARM_UP, batch_size=BATCH)

    def turn(self):
        return timed(lambda: self.model.train(gradient_steps=UPDATES, batch_size=BATCH), UPDATES)

    def close(self):
        pass


class Sb3Loop:
    def __init__(self, algorithm, batch):
        import gymnasium

        self.model = make_model(algorithm, gymnasium.make("Pendulum-v1"), 1,
                                {**ZOO_PENDULUM[algorithm], "batch_size": batch})
        self.advance(self.model.learning_starts + WARM_UP)

    def advance(self, steps):
        self.model.learn(steps, reset_num_timesteps=False, log_interval=None)

    def turn(self):
        return timed(lambda: self.advance(LOOP_STEPS), LOOP_STEPS)

    def close(self):
        pass


# ---- RLtools: in a process of its own, because its MKL does not go with PyTorch ----


def rltools_worker(algorithm):
    """Answers each line of the input with one turn, as a JSON object."""
    import rltools

    # Its loop ends after STEP_LIMIT steps; the first N_WARMUP_STEPS are random.
    module = getattr(rltools, algorithm.upper())(
        noise_environment(), interface_name="stableaa", enable_evaluation=False,
        ACTOR_BATCH_SIZE=BATCH, CRITIC_BATCH_SIZE=BATCH, ACTOR_HIDDEN_DIM=HIDDEN[0],
        CRITIC_HIDDEN_DIM=HIDDEN[0], N_WARMUP_STEPS=500, STEP_LIMIT=100_000)
    state = module.State(1)

    def steps(count):
        for _ in range(count):
            state.step()

    steps(500 + WARM_UP)
    print("\nready", flush=True)
    for _ in sys.stdin:
        print("\nturn", json.dumps(timed(lambda: steps(UPDATES), UPDATES)), flush=True)


class RltoolsUpdate:
    def __init__(self, algorithm):
        self.complaint = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--rltools-worker", algorithm], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.complaint, text=True)
        try:
            self.answer("ready", COMPILE_SECONDS)
        except RuntimeError:
            self.close()
            raise

    def answer(self, word, seconds):
        """The rest of the line that begins with the word; RLtools prints lines of its own."""
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        try:
            for line in self.process.stdout:
                if line.startswith(word):
                    return line[len(word):]
        finally:
            timer.cancel()
        self.process.wait()
        self.complaint.seek(0)
        last = self.complaint.read().strip().splitlines()[-1:]
        why = last[0][:200] if last else f"code {self.process.returncode}"
        raise RuntimeError(f"RLtools ended: {why}")

    def turn(self):
        self.process.stdin.write("turn\n")
        self.process.stdin.flush()
        return json.loads(self.answer("turn", TURN_SECONDS))

    def close(self):
        self.process.kill()
        self.process.wait()
        self.complaint.close()


# ---- Ours ----


def run_program(command, limit=TURN_SECONDS):
    """Its output, and the share of a core that it got. RuntimeError if it fails."""
    before, wall = os.times(), time.perf_counter()
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"{command[0]}: {error}") from error
    wall, after = time.perf_counter() - wall, os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])  # of children
    if run.returncode:
        last = run.stderr.strip().splitlines()[-1:] or [f"exit code {run.returncode}"]
        raise RuntimeError(f"{' '.join(command)}: {last[0]}")
    return run.stdout, cpu / wall


class OwnUpdate:
    def __init__(self, program, preset):
        self.command = [program, "bench", "update", "--preset", preset, "--threads", "1", "--json"]

    def turn(self):
        output, core = run_program(self.command)
        row = [json.loads(line) for line in output.splitlines() if line.startswith("{")][-1]
        sgemm = row.get("sgemm_gflops")
        return {"wall": row["ms_per_update"] / 1e3, "core": core,
                "of_sgemm": row["gflops"] / sgemm if sgemm else None}

    def close(self):
        pass


class OwnLoop:
    """Runs of the program; steps per second by the rows of metrics.csv after learning has begun."""

    def __init__(self, program, preset, batch):
        self.program, self.preset, self.batch = program, preset, batch
        self.directory = Path(tempfile.mkdtemp(prefix="control-"))

    def turn(self):
        out = self.directory / "run"
        shutil.rmtree(out, ignore_errors=True)
        _, core = run_program(
            [self.program, "train", "--preset", self.preset, "--env", "classic/pendulum",
             "--steps", str(OWN_LOOP_STEPS), "--threads", "1", "--seed", "1", "--out", str(out),
             "--set", f"train.batch={self.batch}", "--set", "train.log_interval_steps=250", "--set",
             f"eval.interval_steps={OWN_LOOP_STEPS}", "--set",
             f"checkpoint.interval_steps={OWN_LOOP_STEPS}", "--set", "eval.episodes=1"])
        with open(out / "metrics.csv", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file)
                    if row["loss"] and not row["eval_return_mean"]]
        steps = int(rows[-1]["step"]) - int(rows[0]["step"])
        seconds = float(rows[-1]["wall_seconds"]) - float(rows[0]["wall_seconds"])
        return {"wall": seconds / steps, "core": core}

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)


# ---- Turns and tables ----


def measured(makers, arguments):
    """By name: the turns of each that could be measured at all."""
    begin = time.perf_counter()
    lanes, turns = {}, {}
    try:
        for name, make in makers.items():
            try:
                lanes[name] = make()
            except (RuntimeError, ImportError, OSError) as error:
                say(f"left out: {' '.join(name)}: {error}")
        begin = time.perf_counter()  # compiling and filling take as long as they take
        for done in range(arguments.rounds):
            if done and time.perf_counter() - begin > arguments.seconds * done / (done + 1):
                say(f"{done} of {arguments.rounds} rounds, for lack of time")
                break
            for name in list(lanes):
                try:
                    turns.setdefault(name, []).append(lanes[name].turn())
                except (RuntimeError, OSError, LookupError, ValueError) as error:
                    say(f"left out: {' '.join(name)}: {error}")
                    lanes.pop(name).close()
    finally:
        for lane in lanes.values():
            lane.close()
    return turns


def median_of(turns, key):
    values = [turn[key] for turn in turns if turn.get(key) is not None]
    return statistics.median(values) if values else None


def makers_of(arguments):
    makers = {}
    for algorithm in ALGORITHMS:
        if "sb3" not in arguments.without:
            makers["update", "sb3", algorithm] = lambda a=algorithm: Sb3Update(a)
        if "rltools" not in arguments.without:
            makers["update", "rltools", algorithm] = lambda a=algorithm: RltoolsUpdate(a)
    for preset in OWN_PRESETS:
        makers["update", "stableaa", preset] = lambda p=preset: OwnUpdate(arguments.stableaa, p)
    if "loop" not in arguments.without:
        for algorithm, batch in itertools.product(ALGORITHMS, LOOP_BATCHES):
            name = f"{algorithm}, batch {batch}"
            if "sb3" not in arguments.without:
                makers["loop", "sb3", name] = lambda a=algorithm, b=batch: Sb3Loop(a, b)
            makers["loop", "stableaa", name] = lambda a=algorithm, b=batch: OwnLoop(
                arguments.stableaa, a, b)
    return makers


def rows_of(turns):
    """A dictionary for each line of the tables. `ratio`: how many times as fast ours is."""
    rows = []
    for (what, who, name), found in turns.items():
        own = turns.get((what, "stableaa", name))
        cpu, wall = median_of(found, "cpu"), median_of(found, "wall")
        row = {"what": what, "program": who, "name": name, "wall": wall, "cpu": cpu,
               "core": min(turn["core"] for turn in found), "turns": len(found),
               "of_sgemm": median_of(found, "of_sgemm"), "ratio": None, "wall_ratio": None,
               "of_plain": None}
        if who != "stableaa" and own:
            row["ratio"] = cpu / median_of(own, "wall")
            row["wall_ratio"] = wall / median_of(own, "wall")
        plain = turns.get((what, who, name.partition("-")[0]))
        if "-" in name and plain:
            row["of_plain"] = wall / median_of(plain, "wall")
        rows.append(row)
    return rows


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def print_tables(rows):
    print("\n| update | program | wall ms | CPU ms | core | of sgemm | ours is × as fast "
          "| by wall | × plain |")
    print("|---|---|---|---|---|---|---|---|---|")
    updates = [row for row in rows if row["what"] == "update"]
    for row in sorted(updates, key=lambda row: (OWN_PRESETS.index(row["name"]), row["program"])):
        cpu = None if row["cpu"] is None else 1e3 * row["cpu"]
        print(f"| {row['name']} | {row['program']} | {number(1e3 * row['wall'])} "
              f"| {number(cpu)} | {number(row['core'])} | {number(row['of_sgemm'])} "
              f"| {number(row['ratio'])} | {number(row['wall_ratio'])} "
              f"| {number(row['of_plain'])} |")
    if not any(row["what"] == "loop" for row in rows):
        return
    print("\n| loop on Pendulum | program | steps/s (wall) | steps per CPU s | core "
          "| ours is × as fast | by wall |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        if row["what"] == "loop":
            per_cpu = None if row["cpu"] is None else 1 / row["cpu"]
            print(f"| {row['name']} | {row['program']} | {1 / row['wall']:.0f} "
                  f"| {number(per_cpu, 0)} | {number(row['core'])} | {number(row['ratio'])} "
                  f"| {number(row['wall_ratio'])} |")


def compare(arguments):
    turns = measured(makers_of(arguments), arguments)
    if not turns:
        sys.exit("control: nothing could be measured")
    rows = rows_of(turns)
    print_tables(rows)
    if any(row["core"] < 0.9 for row in rows):
        say("the machine is busy: a program got less than 0.9 of a core")
    if arguments.json:
        versions = {}
        for package in ("stable_baselines3", "torch", "gymnasium", "rltools", "mkl"):
            try:
                versions[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                versions[package] = None
        Path(arguments.json).write_text(json.dumps({"versions": versions, "rows": rows}, indent=1)
                                        + "\n", encoding="utf-8")


# ---- Learning curves of Stable-Baselines3 ----


def learn(arguments):
    import gymnasium
    from stable_baselines3.common.evaluation import evaluate_policy

    times = sorted({int(step) for step in arguments.at.split(",")} if arguments.at
                   else {arguments.steps})
    if times[0] < 1 or times[-1] > arguments.steps:
        sys.exit(f"control: --at: steps have to be 1 to {arguments.steps}")
    file = open(arguments.csv, "w", newline="", encoding="utf-8") if arguments.csv else sys.stdout
    with file, tempfile.TemporaryDirectory() as log, contextlib.chdir(log):  # MuJoCo's warnings
        out = csv.writer(file)
        out.writerow(["algorithm", "env", "values", "seed", "step", "return_mean", "return_std",
                      "wall_seconds"])
        for seed in range(1, arguments.seeds + 1):  # a seed of each first: it may be stopped
            for algorithm in arguments.algorithms.split(","):
                model = make_model(algorithm, gymnasium.make(arguments.env), seed,
                                   {"buffer_size": min(1_000_000, max(arguments.steps, 1000)),
                                    **LEARN_VALUES[arguments.values][algorithm]})
                test = gymnasium.make(arguments.env)
                test.reset(seed=10_000 + seed)
                begin = time.perf_counter()
                for step in times:
                    model.learn(step - model.num_timesteps, reset_num_timesteps=False,
                                log_interval=None)
                    seconds = time.perf_counter() - begin
                    mean, deviation = evaluate_policy(model, test, EPISODES, deterministic=True,
                                                      warn=False)
                    out.writerow([algorithm, arguments.env, arguments.values, seed,
                                  model.num_timesteps, f"{mean:.3f}", f"{deviation:.3f}",
                                  f"{seconds:.1f}"])
                    file.flush()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stableaa", metavar="PROGRAM", default=str(TREE / "build/stableaa"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=200,
                        help="roughly the most that the rounds take")
    parser.add_argument("--without", nargs="+", choices=["sb3", "rltools", "loop"], default=[])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--algorithms", default="td3,sac")
    parser.add_argument("--env", default="HalfCheetah-v5")
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--at", help="steps to evaluate at, separated by commas; default: the last")
    parser.add_argument("--values", choices=LEARN_VALUES, default="presets")
    parser.add_argument("--csv", metavar="FILE", help="default: the standard output")
    parser.add_argument("--rltools-worker", choices=ALGORITHMS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = set(arguments.algorithms.split(",")) - set(ALGORITHMS)
    if unknown:
        parser.error(f"--algorithms: expected td3 or sac, found {', '.join(sorted(unknown))}")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.rltools_worker:
        rltools_worker(arguments.rltools_worker)
        return
    if arguments.learn or "sb3" not in arguments.without:
        try:
            import stable_baselines3  # noqa: F401
            import torch
        except ImportError as error:
            print(f"control: skipped: {error}")
            sys.exit(77)
        torch.set_num_threads(1)
    (learn if arguments.learn else compare)(arguments)


if __name__ == "__main__":
    main()
