"""Follows a run on a pipe, as a tracker would, and compares what it saw with the run's files.

usage: stableaa train ... --log-json - | log_json_reader.py

Every line has to be one JSON object. At the end, the rows have to be those of metrics.csv and
episodes.csv, column by column. Prints how many there were of each kind.
"""

import csv
import json
import math
import pathlib
import sys


def cell(text):
    number = float(text) if text else math.nan
    return number if math.isfinite(number) else None


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [{name: cell(text) for name, text in row.items()} for row in csv.DictReader(file)]


def main():
    run, *rows = [json.loads(line) for line in sys.stdin]
    assert run.pop("kind") == "run", run
    directory = pathlib.Path(run["directory"])
    seen = {"metrics": [], "episode": []}
    for row in rows:
        seen[row.pop("kind")].append(row)
    assert seen["metrics"] == rows_of(directory / "metrics.csv")
    assert seen["episode"] == rows_of(directory / "episodes.csv")
    steps = [row["step"] for row in rows]
    assert steps == sorted(steps) and all(isinstance(step, int) for step in steps)
    print(len(seen["metrics"]), "metrics,", len(seen["episode"]), "episodes, seed", run["seed"])


if __name__ == "__main__":
    main()
