"""Compares `stableaa solve` with MDPSolver, quantecon and Storm on families of models.

Usage: solve.py [--program build/stableaa] [--families NAME,...] [--small] [--seed N]
                [--timeout S] [--give-up X] [--peers TEXT,...] [--no-peers] [--peers-from FILE]
                [--no-loading] [--json FILE] [--markdown]

For each family the program generates a model, every peer solves it in a process of its own on one
thread, and the program solves it: `--method auto` on one and two threads, then each single method.
All are asked for values within 1e-6 of the optimal ones (peer_solvers.py says how each peer is
told). Every answer is then checked in NumPy:

- ours by one backup: with d = TV - V, no value is off by more than max|d| / (1 - gamma);
- a peer's against ours: one that is off by more than the tolerance, a tenth of it for the peer's
  rounding and the bound of our own error is shown as wrong, with its error.

A peer's time is its CPU seconds of solving, without building its model from the arrays. Ours is the
time of solving that the program reports, the median of three runs, also without reading the model.
On one thread it is never more than the CPU seconds of the whole process, which differ from it by
little, because the model comes from a mapped file. Best on an idle machine. On a busy one, where a
run gets less than 85 % of a core (or of two, on two threads), it is repeated up to nine times and
the median of the best three counts.

Prints a JSON object per family, or tables with --markdown. --give-up X stops a peer at X times the
best right peer so far (3 seconds at least), which shortens the whole by far. Exits with 1 if one of
our answers is wrong, with 77 (skipped) without NumPy and SciPy.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

try:
    import numpy as np

    import peer_runs
    import peer_solvers
    from peer_runs import own_program_run, say
    from tables import markdown_table, number, peer_cell
except ImportError as error:
    print(f"solve: skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-6
RUNS = 3  # of ours, whose median counts
MOST_RUNS = 9  # when the machine is busy
LEAST_SHARE = 0.85  # of a core that a run must have got
WITHIN = 1.5  # auto against the best single method
LOADING_BAR = 3.0
METHODS = {"vi": ["vi"], "vi --anderson": ["vi", "--anderson"], "mpi": ["mpi"],
           "mpi --anderson": ["mpi", "--anderson"], "gs": ["gs"], "jacobi": ["jacobi"],
           "ipi": ["ipi"], "pi": ["pi"]}


@dataclasses.dataclass
class Family:
    """How to generate it, and what is asked of auto against the best right peer."""

    generate: str
    small: str  # the same with --small
    discount: float = 0.999
    bar: float | None = None  # times as fast, on one thread
    bar_two: float | None = None  # on two
    most_seconds: float | None = None
    # Parts of the names of peers that cannot be among the best and take long to find that out.
    without: tuple = ()


# Factors of a random graph fill up: these take hours or all memory on large garnets.
DIRECT = ("quantecon pi", "storm pi")
FAMILIES = {
    "garnet-100k": Family("garnet --states 100000", "garnet --states 5000", bar=1.5, bar_two=2.5,
                          without=DIRECT),
    "garnet-1m": Family("garnet --states 1000000", "garnet --states 20000", bar=1.5, bar_two=2.5,
                        without=(*DIRECT, "vi", "gs", "storm", "k=200")),
    "forest-10k": Family("forest --states 10000", "forest --states 1000", bar=3),
    "forest-10k-shuffled": Family("forest --states 10000 --shuffle",
                                  "forest --states 1000 --shuffle", bar=3),
    "chain-10k": Family("chain --states 10000", "chain --states 1000", bar=3),
    "chain-10k-shuffled": Family("chain --states 10000 --shuffle", "chain --states 1000 --shuffle",
                                 bar=3),
    "queues-100k": Family("queues --states 100000", "queues --states 2000", 0.995, bar=2),
    "queues-100k-shuffled": Family("queues --states 100000 --shuffle",
                                   "queues --states 2000 --shuffle", 0.995, bar=2),
    "inventory": Family("inventory", "inventory --capacity 199 --lot 50 --seasons 12"),
    "random-walk-100k": Family("random-walk --states 100000", "random-walk --states 2500"),
    "grid-300": Family("grid --width 300 --height 300", "grid --width 50 --height 50", bar=20),
    "grid-300-shuffled": Family("grid --width 300 --height 300 --shuffle",
                                "grid --width 50 --height 50 --shuffle", bar=20),
    "grid-1000": Family("grid --width 1000 --height 1000", "grid --width 80 --height 80",
                        most_seconds=12,
                        without=("quantecon", "mdpsolver vi", "discounted", "ovi", " pi")),
    "maze-500": Family("maze --width 500 --height 500", "maze --width 61 --height 61", bar=30),
    "maze-500-shuffled": Family("maze --width 500 --height 500 --shuffle",
                                "maze --width 61 --height 61 --shuffle", bar=30),
    # As verification tools build them.
    "layered-200k": Family("layered --states 200000", "layered --states 5000", bar=1),
    "rooms-200k": Family("rooms --states 200000", "rooms --states 5000", bar=1),
    "rooms-94-100k": Family("rooms --states 100000 --smallest 94 --largest 94",
                            "rooms --states 5000 --smallest 94 --largest 94", bar=1),
    "timers-100k": Family("timers --states 100000", "timers --states 5000", bar=1),
    "cycle-50k": Family("cycle --states 50000", "cycle --states 2000", bar=1),
    "cycle-50k-shuffled": Family("cycle --states 50000 --shuffle", "cycle --states 2000 --shuffle",
                                 bar=1),
}
LOADED = "garnet-1m"  # the family whose text files are loaded


def median_run(command, threads):
    """The median of three runs, of the best three if the machine was busy."""
    runs = []
    for _ in range(MOST_RUNS):
        runs.append(own_program_run(command, threads))
        if not runs[-1].get("converged"):
            return runs[-1]
        if sum(run["share"] >= LEAST_SHARE for run in runs) >= RUNS:
            break
    undisturbed = [run for run in runs if run["share"] >= LEAST_SHARE]
    best = undisturbed if len(undisturbed) >= RUNS else runs
    return sorted(best, key=lambda run: run["cpu"])[RUNS // 2]


class Ours:
    """The program on one model."""

    def __init__(self, program, model):
        self.program, self.model = program, model

    def command(self, method, threads, *more):
        return [self.program, "solve", str(self.model), "--method", *method, "--threads",
                str(threads), "--tolerance", str(TOLERANCE), "--json", *more]

    def auto(self, threads, timeout):
        return median_run(self.command(["auto"], threads, "--max-seconds", str(timeout)), threads)

    def values(self, folder, timeout):
        file = folder / "values.csv"
        own_program_run(self.command(["auto"], 2, "--max-seconds", str(timeout), "--values",
                                     str(file)), 2)
        return np.loadtxt(file, delimiter=",", skiprows=1, usecols=1, ndmin=1)

    def single_methods(self, limit):
        """Seconds by method, or what happened; the best two as carefully as auto."""
        found = {}
        for name, method in METHODS.items():
            run = own_program_run(self.command(method, 1, "--max-seconds", f"{limit:.3f}"), 1)
            if run.get("converged"):
                found[name] = run["cpu"]
            else:
                found[name] = run.get("failed", f"> {limit:.3g}")
        right = {name: seconds for name, seconds in found.items() if isinstance(seconds, float)}
        for name in sorted(right, key=right.get)[:2]:
            found[name] = median_run(self.command(METHODS[name], 1), 1)["cpu"]
        return found


def own_error(model, values):
    """Bound of the error of values, by one backup in NumPy."""
    return float(np.abs(model.backup(values) - values).max() / (1.0 - model.discount))


def run_peer(name, model_file, model, ours, folder, timeout):
    """What one peer took and how far off it is."""
    with peer_runs.PeerWorker(name, model_file, folder / "values.npy", TOLERANCE) as worker:
        row = worker.turn(timeout)
        if "ended" not in row:
            values = worker.values()
            row["error"] = float(np.abs(values - ours["values"]).max())
            row["certificate"] = own_error(model, values)
            row["right"] = row["error"] <= 1.1 * TOLERANCE + ours["bound"]
    return row


def peers_of(family, arguments):
    if arguments.no_peers:
        return []
    names = [name for name in peer_solvers.PEERS
             if not any(part in name for part in family.without)]
    if arguments.peers:
        names = [name for name in names if any(part in name for part in arguments.peers.split(","))]
    return names


def run_peers(names, model_file, model, ours, folder, arguments):
    rows = []
    for name in names:
        timeout = peer_runs.timeout_of_next(rows, arguments, least=3.0)
        rows.append(run_peer(name, model_file, model, ours, folder, timeout))
        say(f"  {name}: {peer_cell(rows[-1])}")
    return rows


def peers_of_earlier_run(row, file):
    """What the peers did on the same model in a run with --json FILE."""
    for earlier in json.loads(file.read_text()):
        if all(earlier.get(key) == row[key] for key in ("family", "seed", "states")):
            return earlier["peers"]
    return []


def generate(arguments, family, discount, output):
    spec = family.small if arguments.small else family.generate
    subprocess.run([arguments.program, "mdp", "generate", *spec.split(), "--discount",
                    str(discount), "--seed", str(arguments.seed), "-o", str(output)], check=True,
                   stdout=subprocess.DEVNULL)


def measure_family(name, arguments, folder):
    family = FAMILIES[name]
    model_file = folder / "model.npz"
    generate(arguments, family, family.discount, model_file)
    model = peer_solvers.Model(model_file)
    mapped_file = folder / "model.bin"
    subprocess.run([arguments.program, "mdp", "convert", str(model_file), str(mapped_file)],
                   check=True, stdout=subprocess.DEVNULL)
    program = Ours(arguments.program, mapped_file)
    row = {"family": name, "seed": arguments.seed, "states": model.states, "rows": model.rows,
           "transitions": int(model.matrix.nnz), "discount": family.discount,
           "load_average": os.getloadavg()[0]}
    say(f"{name}: {model.states} states, load {row['load_average']:.1f}")
    auto = row["auto"] = program.auto(1, arguments.timeout)
    if "failed" in auto:
        row["own_answer"] = "failed"
        return row
    row["auto_two"] = program.auto(2, arguments.timeout)
    values = program.values(folder, arguments.timeout)
    ours = {"values": values, "bound": own_error(model, values)}
    row["own_bound"] = ours["bound"]
    # The backup in NumPy rounds too, by some 1e-16 of the values; the bound divides by 1 - gamma.
    rounding = 8e-16 * float(np.abs(values).max()) / (1.0 - family.discount)
    good = auto["converged"] and ours["bound"] <= TOLERANCE + rounding
    row["own_answer"] = "right" if good else "wrong" if auto["converged"] else "not converged"
    say(f"  auto: {auto['cpu']:.4g} s (wall {auto['seconds']:.4g}), two threads "
        f"{row['auto_two']['seconds']:.4g} s, {auto['choice']}; {row['own_answer']}, bound "
        f"{ours['bound']:.2g}")
    row["methods"] = program.single_methods(2 * auto["seconds"] + 0.5)
    say(f"  {row['methods']}")
    if arguments.peers_from:
        row["peers"] = peers_of_earlier_run(row, arguments.peers_from)
    else:
        row["peers"] = run_peers(peers_of(family, arguments), model_file, model, ours, folder,
                                 arguments)
    judge(row, family)
    return row


def judge(row, family):
    """Adds ratios and whether the bars are met."""
    seconds, two = row["auto"]["cpu"], row["auto_two"]["cpu"]
    best = peer_runs.best_of(row["peers"])
    bars = row["bars"] = {}
    if best:
        row.update(best_peer=best["peer"], best_peer_seconds=best["seconds"],
                   times_as_fast=best["seconds"] / seconds, times_as_fast_two=best["seconds"] / two)
        if family.bar:
            bars[f">= {family.bar:g}x"] = row["times_as_fast"] >= family.bar
        if family.bar_two:
            bars[f">= {family.bar_two:g}x on two"] = row["times_as_fast_two"] >= family.bar_two
    if family.most_seconds:
        bars[f"<= {family.most_seconds:g} s"] = seconds <= family.most_seconds
    singles = {name: value for name, value in row["methods"].items() if isinstance(value, float)}
    if singles:
        row["best_single"] = min(singles, key=singles.get)
        row["auto_to_best_single"] = seconds / singles[row["best_single"]]
        bars[f"auto <= {WITHIN:g}x best single"] = row["auto_to_best_single"] <= WITHIN


def write_mdpsolver_files(table, model, transitions):
    """MDPSolver's own text: the CSV without its first line and last column, and the rewards."""
    with open(transitions, "w") as output:
        tail = subprocess.Popen(["tail", "-n", "+2", str(table)], stdout=subprocess.PIPE)
        subprocess.run(["cut", "-d,", "-f1-4"], stdin=tail.stdout, stdout=output, check=True)
        tail.wait()
    rewards = transitions.with_name(transitions.stem + "-rewards.csv")
    with open(rewards, "w") as output:
        output.writelines(f"{s},{a},{r!r}\n" for s, a, r in zip(
            model.row_states().tolist(), model.row_actions().tolist(), model.rewards.tolist()))


def measure_loading(arguments, folder):
    """Seconds to read the text of one model, by reader."""
    family = FAMILIES[LOADED]
    files = {ending: folder / f"text.{ending}" for ending in ("npz", "drn", "csv", "tra")}
    generate(arguments, family, family.discount, files["npz"])
    row = {"loading": LOADED, "load_average": os.getloadavg()[0], "seconds": {}, "megabytes": {}}
    say(f"loading {LOADED}: load {row['load_average']:.1f}")
    for ending in ("drn", "csv", "tra"):
        subprocess.run([arguments.program, "mdp", "convert", str(files["npz"]),
                        str(files[ending])], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        command = [arguments.program, "solve", str(files[ending]), "--discount",
                   str(family.discount), "--method", "vi", "--max-iterations", "1", "--threads",
                   "1", "--json"]
        runs = [own_program_run(command, 1) for _ in range(RUNS)]
        row["seconds"][f"stableaa {ending}"] = statistics.median(
            min(run["load_seconds"], run["total_cpu"]) for run in runs)
        row["megabytes"][ending] = files[ending].stat().st_size / 1e6
    own_text = folder / "mdpsolver.csv"
    write_mdpsolver_files(files["csv"], peer_solvers.Model(files["npz"]), own_text)
    for reader, file in (("storm drn", files["drn"]), ("mdpsolver csv", own_text)):
        row["seconds"][reader] = peer_runs.load_seconds(reader, file, arguments.timeout)
    theirs = [row["seconds"][reader] for reader in peer_solvers.READERS
              if isinstance(row["seconds"][reader], float)]
    if theirs:
        slowest = max(value for key, value in row["seconds"].items() if key.startswith("stableaa"))
        row["times_as_fast"] = min(theirs) / slowest
        row["bars"] = {f">= {LOADING_BAR:g}x": row["times_as_fast"] >= LOADING_BAR}
    say(f"  {row['seconds']}")
    return row


def summary_line(row):
    bars = ", ".join(f"{bar} {'met' if met else '**missed**'}" for bar, met in row["bars"].items())
    return [row["family"], row.get("best_peer", "none"), number(row.get("best_peer_seconds", "")),
            number(row["auto"]["cpu"]), number(row["auto_two"]["cpu"]),
            number(row.get("times_as_fast", "")), number(row.get("times_as_fast_two", "")),
            row["auto"]["method"], row.get("best_single", ""),
            number(row.get("auto_to_best_single", "")), row["own_answer"], bars,
            f"{row['load_average']:.1f}"]


def markdown(rows):
    failed = [row for row in rows if row.get("own_answer") == "failed"]
    loads = [row for row in rows if "loading" in row]
    rows = [row for row in rows if "bars" in row and "family" in row]
    heads = ["family", "best right peer", "its s", "ours, s", "two threads", "ratio", "ratio two",
             "auto took", "best single", "auto/best", "answer", "bars", "load"]
    parts = [markdown_table(heads, map(summary_line, rows))]
    peers = [name for name in peer_solvers.PEERS
             if any(peer["peer"] == name for row in rows for peer in row["peers"])]
    if peers:
        cells = [{peer["peer"]: peer_cell(peer) for peer in row["peers"]} for row in rows]
        parts.append(markdown_table(
            ["family", *peers], ([row["family"], *(found.get(name, "") for name in peers)]
                                 for row, found in zip(rows, cells))))
    parts.append(markdown_table(
        ["family", "auto", *METHODS],
        ([row["family"], number(row["auto"]["cpu"]),
          *(number(row["methods"][name]) for name in METHODS)] for row in rows)))
    for row in loads:
        bars = "".join(f"; {bar} {'met' if met else '**missed**'}"
                       for bar, met in row.get("bars", {}).items())
        parts.append(f"Loading {row['loading']} from text, seconds: " + ", ".join(
            f"{reader} {number(value)}" for reader, value in row["seconds"].items()) +
            f"; ratio {number(row.get('times_as_fast', ''))}{bars}; load "
            f"{row['load_average']:.1f}")
    parts += [f"{row['family']}: ours failed: {row['auto']['failed']}" for row in failed]
    return "\n\n".join(parts)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/stableaa")
    parser.add_argument("--families", help=f"none, or of: {', '.join(FAMILIES)}")
    parser.add_argument("--small", action="store_true", help="small models, to try the script")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120.0, help="CPU seconds of a peer")
    parser.add_argument("--give-up", type=float, metavar="X",
                        help="stop a peer at X times the best right one so far")
    parser.add_argument("--peers", help="only those whose names contain one of these")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--peers-from", type=pathlib.Path, metavar="FILE",
                        help="take the peers' numbers from this --json of an earlier run")
    parser.add_argument("--no-loading", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all rows there")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    if arguments.families == "none":
        arguments.families = []
    else:
        arguments.families = (arguments.families or ",".join(FAMILIES)).split(",")
    unknown = set(arguments.families) - set(FAMILIES)
    if unknown:
        parser.error(f"no family {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    return arguments


def main():
    arguments = parse_arguments()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        works = [lambda name=name: measure_family(name, arguments, pathlib.Path(folder))
                 for name in arguments.families]
        if not arguments.no_loading:
            works.append(lambda: measure_loading(arguments, pathlib.Path(folder)))
        for work in works:
            rows.append(work())
            if arguments.json:
                arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
            if not arguments.markdown:
                print(json.dumps(rows[-1]), flush=True)
    if arguments.markdown:
        print(markdown(rows))
    return 1 if any(row.get("own_answer", "right") != "right" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
