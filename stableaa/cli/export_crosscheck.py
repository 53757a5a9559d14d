"""Exports agents that the program has trained, and compares their values in ONNX Runtime with those
that the program itself acts by; where actions are continuous, the actions, which have to be within
their bounds too.

Usage: export_crosscheck.py PROGRAM, which is stableaa. Each run is a short one; `eval --trace`
writes observations and values of some games. An error is the largest difference relative to the
largest value.

Exits with 0 if all agree, 1 if any does not, 77 (skipped) without onnx and onnxruntime.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"export_crosscheck: skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-5
SHORT = ["--steps", "300", "--threads", "1"]
SETTINGS = ["replay.start=50", "train.batch=8", "agent.weights.batch=16", "eval.interval_steps=100",
            "eval.episodes=1", "env.max_episode_steps=40"]
RUNS = {
    "mlp": ("classic/cartpole", "dqn", []),
    "mlp-dueling": ("classic/acrobot", "dueling-dqn", []),
    "minatar": ("minatar/breakout", "dqn", []),
    "minatar-dueling": ("minatar/seaquest", "stable-aa", []),
    "layers": ("minatar/asterix", "dqn",
               ["network.layers=conv(7, 4, 2) elu flatten linear(31) tanh linear(20) relu"]),
    "layers-dueling": ("classic/mountain_car", "dueling-dqn", ["network.layers=linear(9) tanh"]),
    "ddpg": ("classic/pendulum", "ddpg", ["network.hidden=[8]"]),
    "td3": ("classic/pendulum", "td3-stable", ["network.hidden=[24,16]"]),
    # Steps so large that the means are far outside of [-1, 1].
    "sac": ("classic/pendulum", "sac", ["network.hidden=[16]", "optimizer.learning_rate=0.3"]),
}
BOUNDS = (-2, 2)  # of pendulum's torque


def error_of_run(program, directory, name):
    env, preset, settings = RUNS[name]
    run, model, trace = directory / name, directory / f"{name}.onnx", directory / f"{name}.npz"

    def stableaa(*words):
        subprocess.run([program, *words], check=True, capture_output=True)

    sets = [word for setting in [*SETTINGS, *settings] for word in ("--set", setting)]
    stableaa("train", "--env", env, "--preset", preset, "--out", run, *SHORT, *sets)
    stableaa("export", run, "--weights", "best", "--onnx", model)
    stableaa("eval", run, "--weights", "best", "--episodes", "3", "--trace", trace)

    onnx.checker.check_model(onnx.load(model), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    metadata = session.get_modelmeta().custom_metadata_map
    assert (metadata["stableaa.env"], metadata["stableaa.preset"]) == (env, preset), metadata
    assert 0 < int(metadata["stableaa.step"]) <= 300, metadata
    output = "actions" if env == "classic/pendulum" else "q_values"
    with np.load(trace) as games:
        observations, expected = games["observations"], games[output]
    (made,) = session.get_outputs()
    assert (made.name, made.shape) == (output, ["batch", *expected.shape[1:]]), made
    found = np.concatenate([
        session.run([output], {"observation": observations[i : i + batch]})[0]
        for batch in (1, 7)
        for i in range(0, len(observations), batch)
    ])
    if output == "actions":
        assert BOUNDS[0] <= found.min() and found.max() <= BOUNDS[1], (found.min(), found.max())
    difference = np.abs(found - np.concatenate([expected, expected])).max()
    return difference / np.abs(expected).max(), len(expected)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: export_crosscheck.py PROGRAM")
    worst = 0
    with tempfile.TemporaryDirectory() as directory:
        for name in RUNS:
            error, steps = error_of_run(sys.argv[1], pathlib.Path(directory), name)
            worst = max(worst, error)
            verdict = "ok" if error <= TOLERANCE else "DIFFERS"
            print(f"{verdict:7} {name}: {error:.1e}, {steps} steps")
    print(f"{len(RUNS)} runs, worst {worst:.1e} (at most {TOLERANCE:.0e})")
    sys.exit(0 if worst <= TOLERANCE else 1)


if __name__ == "__main__":
    main()
