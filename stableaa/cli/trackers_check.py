"""Runs the trackers that the documentation shows, with stand-ins for their packages, on a real run.

usage: trackers_check.py PROGRAM PAGE.md

Each block ```python track_NAME.py of the page becomes a script that reads `PROGRAM train --log-json
-`. The stand-in for its package notes every number it gets by step and name; they have to be those
of metrics.csv and episodes.csv.
"""

import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

# Each prints one line per number: [step, name, value], and one for the configuration.
STAND_INS = {
    "wandb": """
class Run:
    def log(self, values, step):
        for name, value in values.items(): note([step, name, value])

def init(project, name, config):
    note(["config", config])
    return Run()
""",
    "mlflow": """
config = {}

def log_param(key, value):
    config[key] = value

def log_metrics(values, step):
    if config: note(["config", dict(config)])
    config.clear()
    for name, value in values.items(): note([step, name, value])
""",
    "aim": """
class Run:
    def __init__(self, experiment): pass
    def __setitem__(self, name, value): note([name, value])
    def track(self, value, name, step, context): note([step, name, value])
""",
}
NOTE = "import json\ndef note(entry): print(json.dumps(entry), flush=True)\n"
SETTINGS = ["replay.start=50", "train.batch=8", "eval.interval_steps=100", "eval.episodes=1",
            "train.log_interval_steps=40", "env.max_episode_steps=50", "network.hidden=[8]"]


def numbers_of(directory):
    """Sorted [step, name, value] of all cells that hold a number."""
    numbers = []
    for name in ("metrics.csv", "episodes.csv"):
        with open(directory / name, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                cells = {column: float(text) for column, text in row.items() if text}
                numbers += [[int(row["step"]), column, value]
                            for column, value in cells.items() if math.isfinite(value)]
    return sorted(numbers)


def check(program, directory, package, script):
    (directory / f"{package}.py").write_text(NOTE + STAND_INS[package], encoding="utf-8")
    (directory / "tracker.py").write_text(script, encoding="utf-8")
    run = directory / "run"
    words = [program, "train", "--env", "classic/cartpole", "--steps", "300", "--threads", "1",
             "--out", run, "--log-json", "-"]
    for setting in SETTINGS:
        words += ["--set", setting]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as training:
        noted = subprocess.run([sys.executable, "tracker.py"], stdin=training.stdout, cwd=directory,
                               stdout=subprocess.PIPE, check=True, text=True).stdout
    assert training.returncode == 0, training.returncode
    (label, config), *numbers = [json.loads(line) for line in noted.splitlines()]
    assert label == "config" and config["train.steps"] == 300, config
    assert sorted(numbers) == numbers_of(run), package
    return len(numbers)


def main():
    program, page = sys.argv[1:]
    text = pathlib.Path(page).read_text(encoding="utf-8")
    scripts = dict(re.findall(r"^```python track_(\w+)\.py\n(.*?)^```$", text, re.M | re.S))
    assert scripts.keys() == STAND_INS.keys(), scripts.keys()
    for package, script in scripts.items():
        with tempfile.TemporaryDirectory() as directory:
            print(f"{package}: {check(program, pathlib.Path(directory), package, script)} numbers")


if __name__ == "__main__":
    main()
