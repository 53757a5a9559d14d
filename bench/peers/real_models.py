"""Compares `stableaa solve` with Storm, quantecon and MDPSolver on models that others wrote.

Usage: real_models.py [options] MODEL...

A MODEL is an explicit model (.drn, .drn.xz, .drn.gz), a source in PRISM's language (.prism, .nm,
.pm) or in JANI (.jani), which Storm builds, or a folder of such files. Each property of a model, at
each discount, is an instance: goal states absorb, and the reward of reaching them or the rewards
until then are discounted (explicit_models.py says how). The properties of a model come from the
first of these that has any:

- --property TEXT, for all models: 'Pmax F finished & !agree', 'Pmin safe U goal', 'Rmin steps F
  goal', with boolean expressions over the labels; the reward model 1 counts steps;
- the file of --instances, in TOML:

      ["consensus.2"]                  # the model's file without its ending
      constants = "K=16"               # of a source
      properties = ["Rmax steps F finished", "Pmin F finished & all_coins_equal_1"]

- for a source, the file of --properties, in PRISM's language, together with the JANI file itself;
- our choice: rewards until the model ends, and reaching each label, six at most.

Each instance is solved by `--method auto` on one thread, by each of our methods and by the peers,
all asked for values within the tolerance (peer_solvers.py says how each peer is told). Then auto
and the peers and methods that took less than twice the time of the best one run in turns on one
core, and the median of their runs counts: CPU seconds of solving, without reading or building the
model. Each of our runs is a new process, and a short one that another process interrupted is
repeated; a peer solves with new objects each time. `ratio` is the time of the best right peer
divided by ours.

No answer is taken on trust. reference_values.py computes the optimal values to about twelve digits:
a peer that is off by more than 1.1 times the tolerance is shown as wrong and does not compete, and
our certificate is honest if the error that it claims is at least the true one. Where our program
says that rounding keeps it from certifying the tolerance, because values are large and the discount
is close to 1, everybody gets one 10, 100, ... times as large, which counts as a bar missed.

Exits with 1 if one of our answers is wrong, with 2 on bad input, with 77 without the packages.
"""

import argparse
import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib

try:
    import numpy as np

    import explicit_models
    import peer_runs
    import peer_solvers
    import reference_values
    from explicit_models import BadModel
    from peer_runs import own_program_run, say
    from tables import markdown_table, number, peer_cell, text_table
except ImportError as error:
    print(f"real_models: skipped: {error}")
    sys.exit(77)

DISCOUNTS = ".99,.999,.99999"
PEERS = ("storm topological", "storm pi", "storm discounted", "quantecon mpi", "quantecon pi",
         "mdpsolver mpi")
PACKAGES = {"storm": "stormpy", "quantecon": "quantecon", "mdpsolver": "mdpsolver"}
METHODS = ("vi", "mpi", "gs", "jacobi", "ipi", "pi")
SOURCES = (".prism", ".nm", ".pm", ".jani")
EXPLICIT = (".drn", ".drn.xz", ".drn.gz")
MOST_PROPERTIES = 6  # of a model that comes without
CONTENDER = 2.0  # times the best, for all runs instead of one
LEAST_GIVE_UP = 1.0  # seconds
TRIES = 5  # of a run of ours that another process interrupts
LONG = 0.2  # seconds: so long a run is interrupted on any busy machine, and CPU seconds bound it
RAISED = 10.0  # the tolerance, where rounding forbids it
RAISES = 6
RATIO_BAR, GEOMEAN_BAR, SINGLE_BAR = 1.0, 2.0, 1.3


@dataclasses.dataclass
class Instance:
    """One property of one model, as files for the peers and for us."""

    model: str
    property: str
    npz: pathlib.Path
    mapped: pathlib.Path

    def name(self):
        return f"{self.model} {self.property}"


# From files to instances


def model_files(paths):
    """Files, and whether they were found in a folder, where not every file needs to be of use."""
    for path in paths:
        if path.is_dir():
            found = sorted(file for file in path.iterdir()
                           if file.name.endswith((*SOURCES, *EXPLICIT)))
            if not found:
                raise BadModel(f"{path} has no {', '.join((*EXPLICIT, *SOURCES))}")
            yield from ((file, True) for file in found)
        elif not path.exists():
            raise BadModel(f"there is no {path}")
        elif not path.name.endswith((*SOURCES, *EXPLICIT)):
            raise BadModel(f"{path} is none of {', '.join((*EXPLICIT, *SOURCES))}")
        else:
            yield path, False


def read_table(path):
    if path is None:
        return {}
    try:
        table = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadModel(f"cannot read {path}: {error}") from error
    for name, entry in table.items():
        unknown = set(entry) - {"properties", "constants"} if isinstance(entry, dict) else {name}
        if unknown:
            raise BadModel(f"{path}: {name}: only properties and constants are known")
    return table


def read_model(path, entry, arguments):
    """The model and the properties that it comes with."""
    if path.name.endswith(EXPLICIT):
        return explicit_models.read_drn(path), []
    if not importlib.util.find_spec("stormpy"):
        print(f"real_models: skipped: {path.name} needs stormpy")
        sys.exit(77)
    import storm_sources
    text = arguments.properties.read_text() if arguments.properties else ""
    constants = entry.get("constants", arguments.constants)
    model, properties, skipped = storm_sources.build(path, constants, text)
    for line in skipped:
        say(f"skipped: {line}")
    return model, properties


def properties_of(model, own, entry, arguments):
    texts = arguments.property or entry.get("properties")
    if not texts and own:
        return own
    if not texts:
        texts = explicit_models.default_properties(model)[:MOST_PROPERTIES]
        say(f"{model.name} comes without properties: ours are {'; '.join(texts)}")
    return [explicit_models.parse_property(text, model) for text in texts]


class InstanceFolder:
    """Writes instances as files, each under a name of its own."""

    def __init__(self, program, discount, folder):
        self.program, self.discount, self.folder, self.names = program, discount, folder, set()

    def write(self, model, wanted):
        name = self.new_name(f"{model.name} {wanted.text}")
        instance = Instance(model.name, wanted.text, self.folder / f"{name}.npz",
                            self.folder / f"{name}.bin")
        np.savez(instance.npz, **explicit_models.discounted_instance(model, wanted, self.discount))
        subprocess.run([self.program, "mdp", "convert", str(instance.npz), str(instance.mapped)],
                       check=True, stdout=subprocess.DEVNULL)
        return instance

    def new_name(self, text):
        plain = re.sub(r"[^A-Za-z0-9_.]+", "-", text.replace("!", "not-")).strip("-")
        name, count = plain, 1
        while name in self.names:
            count += 1
            name = f"{plain}-{count}"
        self.names.add(name)
        return name


def instances_of_model(path, entry, arguments, folder):
    model, own = read_model(path, entry, arguments)
    if model.states < arguments.least_states:
        say(f"skipped: {model.name}: {model.states} states, fewer than --least-states "
            f"{arguments.least_states}")
        return
    for wanted in properties_of(model, own, entry, arguments):
        if arguments.only and not any(text in f"{model.name} {wanted.text}"
                                      for text in arguments.only.split(",")):
            continue
        if wanted.trivial():
            say(f"skipped: {model.name}: {wanted.text}: {wanted.trivial()}")
            continue
        yield folder.write(model, wanted)


def instances(arguments, folder):
    folder = InstanceFolder(arguments.program, arguments.discounts[0], folder)
    table, files = read_table(arguments.instances), list(model_files(arguments.models))
    if (arguments.constants or arguments.properties) and \
            not any(path.name.endswith(SOURCES) for path, _ in files):
        raise BadModel("--constants and --properties are for sources in PRISM or JANI")
    for path, in_folder in files:
        entry = table.get(explicit_models.model_name(path), {})
        try:
            yield from instances_of_model(path, entry, arguments, folder)
        except BadModel as error:
            if not in_folder:
                raise
            say(f"skipped: {error}")


# Measuring


class Contest:
    """One instance at one discount: our program, its methods and the peers."""

    def __init__(self, instance, discount, arguments, folder):
        self.instance, self.discount, self.arguments = instance, discount, arguments
        self.folder, self.tolerance = folder, arguments.tolerance
        self.model = peer_solvers.Model(instance.npz)
        self.model.discount = discount

    def measured(self):
        row = {"model": self.instance.model, "property": self.instance.property,
               "discount": self.discount, "states": self.model.states, "rows": self.model.rows,
               "transitions": int(self.model.matrix.nnz), "load_average": os.getloadavg()[0]}
        row.update(self.own_answer(), tolerance=self.tolerance)
        if row["answer"] in ("failed", "not converged"):
            return row
        limit = 2 * row["auto"]["cpu"] + 0.5
        methods = {method: [self.undisturbed_run(method, limit)] for method in METHODS}
        if self.arguments.peers_from or self.arguments.no_peers:
            row["peers"] = earlier_peers(row, self.arguments.peers_from)
            self.in_turns(row, methods, [])
        else:
            self.with_peers(row, methods)
        judge(row)
        return row

    def own_run(self, method, limit, *more):
        return own_program_run(
            [self.arguments.program, "solve", str(self.instance.mapped), "--method", method,
             "--discount", repr(self.discount), "--tolerance", repr(self.tolerance), "--threads",
             "1", "--max-seconds", f"{limit:.3f}", "--json", *more], 1)

    def undisturbed_run(self, method, limit):
        """What we time is wall time, so a run that had to wait for its core is repeated.

        The one that waited least often counts, not the fastest: peers have no second try.
        """
        runs = []
        for _ in range(TRIES):
            runs.append(self.own_run(method, limit))
            if not runs[-1].get("preempted") or runs[-1]["cpu"] > LONG:
                return runs[-1]
        return min(runs, key=lambda run: run["preempted"])

    def own_answer(self):
        """What auto finds, how far off it says it is, and how far off it is."""
        values_file, policy_file = self.folder / "values.csv", self.folder / "policy.csv"
        for _ in range(RAISES):
            run = self.own_run("auto", self.arguments.timeout, "--values", str(values_file),
                               "--policy", str(policy_file))
            if run.get("stopped") != "rounding":
                break
            self.tolerance *= RAISED
        if "failed" in run:
            return {"answer": "failed", "why": run["failed"]}
        found = {"auto": {key: run[key] for key in ("cpu", "method", "choice", "iterations")},
                 "claimed_error": run["error"]}
        if not run["converged"]:
            return {**found, "answer": "not converged", "why": run["stopped"]}
        values = second_column(values_file, float)
        self.reference = reference_values.reference_values(self.model,
                                                           second_column(policy_file, int))
        error, slack = self.reference.distance(values), self.reference.error
        return {**found, "true_error": error, "reference_error": slack,
                "backup_bound": reference_values.backup_bound(self.model, values),
                "largest_value": float(np.abs(self.reference.values).max()),
                "answer": "right" if error <= self.tolerance + slack else "wrong",
                "honest": bool(error <= run["error"] + slack)}

    def with_peers(self, row, methods):
        """One turn of each peer, then the rest for those that may be the best."""
        row["peers"], workers = [], {}
        try:
            for name in self.arguments.peers:
                worker = workers[name] = peer_runs.PeerWorker(
                    name, self.instance.npz, self.folder / "values.npy", self.tolerance,
                    self.discount)
                timeout = peer_runs.timeout_of_next(row["peers"], self.arguments, LEAST_GIVE_UP)
                row["peers"].append(self.peer_turn(worker, timeout))
                say(f"    {name}: {peer_cell(row['peers'][-1])}")
                close = close_to_best({peer["peer"]: peer["seconds"] for peer in row["peers"]
                                       if peer.get("right")})
                for beaten in set(workers) - set(close):
                    workers.pop(beaten).close()
            self.in_turns(row, methods, list(workers.values()))
        finally:
            for worker in workers.values():
                worker.close()

    def peer_turn(self, worker, timeout):
        row = worker.turn(timeout)
        if "ended" not in row:
            row["error"] = self.reference.distance(worker.values())
            row["right"] = row["error"] <= 1.1 * self.tolerance + self.reference.error
        return row

    def in_turns(self, row, methods, workers):
        """The runs of auto, and of methods and peers close to the best, one of each in turn."""
        limit = self.arguments.timeout
        close = close_to_best({method: runs[0]["cpu"] for method, runs in methods.items()
                               if runs[0].get("converged")})
        auto, turns = [], {worker.peer: [] for worker in workers}
        for turn in range(self.arguments.runs):
            for worker in workers if turn else []:  # their first was to find the contenders
                turns[worker.peer].append(self.peer_turn(worker, limit))
            auto.append(self.undisturbed_run("auto", limit))
            for method in close if turn else []:
                methods[method].append(self.undisturbed_run(method, limit))
        if not all(run.get("converged") for run in auto):
            row["answer"] = "not converged"
        row["auto"]["runs"] = [run.get("cpu", limit) for run in auto]
        row["auto"]["preempted"] = [run.get("preempted") for run in auto]
        row["auto"]["cpu"] = statistics.median(row["auto"]["runs"])
        row["methods"] = {name: median_of(runs) for name, runs in methods.items()}
        for peer in row["peers"]:
            add_turns(peer, turns.get(peer["peer"], []))


def second_column(file, kind):
    return np.loadtxt(file, delimiter=",", skiprows=1, usecols=1, ndmin=1, dtype=kind)


def close_to_best(seconds):
    """The names that have at most twice the least seconds."""
    most = CONTENDER * min(seconds.values(), default=0.0)
    return [name for name, value in seconds.items() if value <= most]


def median_of(runs):
    """Seconds of one of our methods, or what happened."""
    failed = [run for run in runs if not run.get("converged")]
    if failed:
        return failed[0].get("failed") or f"not after {failed[0]['seconds']:.3g}"
    return statistics.median(run["cpu"] for run in runs)


def add_turns(peer, turns):
    """A peer that is wrong once is wrong."""
    bad = [turn for turn in turns if not turn.get("right")]
    if bad:
        peer.update({**bad[0], "right": False})
    elif turns:
        peer["runs"] = [peer["seconds"], *(turn["seconds"] for turn in turns)]
        peer["seconds"] = statistics.median(peer["runs"])


def earlier_peers(row, file):
    """What the peers did on the same instance in a run with --json FILE."""
    if file is None:
        return []
    keys = ("model", "property", "discount", "states", "transitions", "tolerance")
    for earlier in json.loads(file.read_text())["rows"]:
        if all(earlier.get(key) == row[key] for key in keys):
            return earlier.get("peers", [])
    say(f"    not in {file}")
    return []


def judge(row):
    """Adds ratios."""
    seconds, best = row["auto"]["cpu"], peer_runs.best_of(row["peers"])
    if best:
        row.update(best_peer=best["peer"], best_peer_seconds=best["seconds"],
                   ratio=best["seconds"] / seconds)
    singles = {name: value for name, value in row["methods"].items() if isinstance(value, float)}
    if singles:
        row["best_single"] = min(singles, key=singles.get)
        row["best_single_seconds"] = singles[row["best_single"]]
        row["auto_to_best_single"] = seconds / row["best_single_seconds"]


# Reporting


def title(row):
    return f"{row['model']} {row['property']} at {row['discount']:g}"


def summary(rows):
    """The geometric mean and the bars, each with the rows that miss it."""
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    found = {"instances": len(rows), "compared": len(ratios), "bars": {}}
    if ratios:
        found["geometric_mean"] = statistics.geometric_mean(ratios)
        found["below_1"] = sum(ratio < 1 for ratio in ratios)
        slow = sorted((row for row in rows if row.get("ratio", RATIO_BAR) < RATIO_BAR),
                      key=lambda row: row["ratio"])
        found["bars"][f"every ratio >= {RATIO_BAR:g}"] = [
            f"{title(row)} ({row['ratio']:.2g})" for row in slow]
        found["bars"][f"geometric mean >= {GEOMEAN_BAR:g}"] = \
            [] if found["geometric_mean"] >= GEOMEAN_BAR else [f"{found['geometric_mean']:.3g}"]
    worse = sorted((row for row in rows if row.get("auto_to_best_single", 0) > SINGLE_BAR),
                   key=lambda row: -row["auto_to_best_single"])
    found["bars"][f"auto <= {SINGLE_BAR:g}x best single"] = [
        f"{title(row)} ({row['auto_to_best_single']:.2g})" for row in worse]
    found["bars"]["tolerance as asked"] = [f"{title(row)} ({row['tolerance']:.0e})" for row in rows
                                           if row["tolerance"] != row["asked"]]
    found["bars"]["answers right"] = [f"{title(row)} ({row['answer']})" for row in rows
                                      if row["answer"] != "right"]
    found["bars"]["certificates honest"] = [
        f"{title(row)} (claims {row['claimed_error']:.2g}, is {row['true_error']:.2g})"
        for row in rows if not row.get("honest", True)]
    return found


HEADS = ["model", "property", "discount", "states", "best right peer", "its s", "ours, s", "ratio",
         "auto took", "best single", "auto/best", "claimed error", "true error", "answer"]


def line_of(row):
    answer = row["answer"] if row.get("honest", True) else "dishonest"
    if row["tolerance"] != row["asked"]:
        answer += f" within {row['tolerance']:.0e}"
    return [row["model"], row["property"], f"{row['discount']:g}", row["states"],
            row.get("best_peer", "none"), number(row.get("best_peer_seconds", "")),
            number(row.get("auto", {}).get("cpu", "")), number(row.get("ratio", "")),
            row.get("auto", {}).get("method", ""), row.get("best_single", ""),
            number(row.get("auto_to_best_single", "")), number(row.get("claimed_error", "")),
            number(row.get("true_error", "")), answer]


def cells_of(row, peers):
    """What everybody took on one instance."""
    found = {peer["peer"]: peer_cell(peer) for peer in row.get("peers", [])}
    return [title(row), *(found.get(name, "") for name in peers),
            *(number(row.get("methods", {}).get(name, "")) for name in METHODS)]


def report(rows, found, markdown):
    table = markdown_table if markdown else text_table
    escaped = (lambda text: str(text).replace("|", "\\|")) if markdown else str
    parts = [table(HEADS, [[escaped(text) for text in line_of(row)] for row in rows])]
    peers = [name for name in peer_solvers.PEERS
             if any(peer["peer"] == name for row in rows for peer in row.get("peers", []))]
    parts.append(table(["CPU seconds", *peers, *METHODS],
                       [[escaped(text) for text in cells_of(row, peers)] for row in rows]))
    if "geometric_mean" in found:
        parts.append(f"Geometric mean of {found['compared']} ratios: "
                     f"{found['geometric_mean']:.3g}; {found['below_1']} are below 1.")
    parts.append("\n".join(
        f"{'- ' if markdown else ''}{bar}: {'met' if not missed else 'missed: '}"
        f"{'; '.join(missed)}" for bar, missed in found["bars"].items()))
    return "\n\n".join(parts)


def pin_to_one_core(core):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if core is None else core})


def measure_all(arguments, folder, scratch):
    """A row per instance and discount; the --json is written after each."""
    rows, found = [], summary([])
    for instance in instances(arguments, folder):
        say(instance.name())
        for discount in arguments.discounts:
            row = Contest(instance, discount, arguments, scratch).measured()
            rows.append({**row, "asked": arguments.tolerance})
            say(f"  {discount:g}: {row['answer']}, ours {number(row.get('auto', {}).get('cpu'))}, "
                f"ratio {number(row.get('ratio', '-'))} to {row.get('best_peer')}, auto/best "
                f"{number(row.get('auto_to_best_single', '-'))}")
            found = summary(rows)
            if arguments.json:
                arguments.json.write_text(json.dumps({"rows": rows, "summary": found}, indent=1) +
                                          "\n")
        if not arguments.keep:
            instance.npz.unlink()
            instance.mapped.unlink()
    return rows, found


def list_all(arguments, folder):
    for instance in instances(arguments, folder):
        model = peer_solvers.Model(instance.npz)
        print(f"{instance.npz.stem} {model.states} {model.rows} {model.matrix.nnz}", flush=True)


def chosen_peers(text):
    if not text:
        return list(PEERS)
    return [name for name in peer_solvers.PEERS if any(part in name for part in text.split(","))]


def discounts(text):
    return [float(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.partition("Usage:")[0].strip(),
        epilog=__doc__.partition("MODEL...\n")[2], usage="real_models.py [options] MODEL...",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("models", nargs="+", type=pathlib.Path, metavar="MODEL", help="file or folder")
    add("--program", default="build/stableaa", help="ours (default: %(default)s)")
    add("--constants", default="", metavar="K=2,...", help="constants of the sources")
    add("--properties", type=pathlib.Path, metavar="FILE", help="properties of the sources")
    add("--property", action="append", metavar="TEXT", help="property; may be repeated")
    add("--instances", type=pathlib.Path, metavar="FILE", help="table of properties, TOML")
    add("--only", metavar="TEXT,...", help="only where 'model property' contains one of these")
    add("--least-states", type=int, default=1000, metavar="N",
        help="leave out smaller models (default: %(default)s)")
    add("--discounts", type=discounts, default=DISCOUNTS, metavar="G,...",
        help="(default: %(default)s)")
    add("--tolerance", type=float, default=1e-6, metavar="E", help="(default: %(default)s)")
    add("--runs", type=int, default=5, metavar="N", help="whose median counts (default: 5)")
    add("--timeout", type=float, default=120.0, metavar="S",
        help="CPU seconds of a peer (default: 120)")
    add("--give-up", type=float, metavar="X",
        help="stop a peer at X times the best right one so far")
    add("--peers", metavar="TEXT,...",
        help=f"those whose names contain one of these (default: {', '.join(PEERS)}; all: "
        f"{', '.join(peer_solvers.PEERS)})")
    add("--no-peers", action="store_true", help="measure only ours")
    add("--peers-from", type=pathlib.Path, metavar="FILE",
        help="take the peers' numbers from this --json of an earlier run")
    add("--core", type=int, metavar="N", help="core to run on (default: the last)")
    add("--keep", type=pathlib.Path, metavar="DIR", help="keep the instances there")
    add("--list", action="store_true",
        help="measure nothing: print name, states, rows, transitions of the instances")
    add("--json", type=pathlib.Path, metavar="FILE", help="write all numbers there")
    add("--markdown", action="store_true", help="tables in Markdown")
    arguments = parser.parse_args()
    arguments.peers = chosen_peers(arguments.peers)
    check(arguments, parser)
    return arguments


def check(arguments, parser):
    if not all(0.0 <= discount < 1.0 for discount in arguments.discounts):
        parser.error("--discounts are in [0, 1)")
    if arguments.tolerance <= 0.0:
        parser.error("--tolerance is above 0")
    if arguments.runs < 1:
        parser.error("--runs is at least 1")
    if not arguments.peers:
        parser.error(f"--peers: there are {', '.join(peer_solvers.PEERS)}")
    for file in (arguments.properties, arguments.instances, arguments.peers_from):
        if file and not file.is_file():
            parser.error(f"there is no file {file}")
    if not os.access(arguments.program, os.X_OK):
        parser.error(f"there is no program {arguments.program}: build it, or name it by --program")
    if arguments.core is not None and arguments.core not in os.sched_getaffinity(0):
        parser.error(f"--core: there are {sorted(os.sched_getaffinity(0))}")
    if not (arguments.no_peers or arguments.peers_from or arguments.list):
        wanted = {PACKAGES[name.split()[0]] for name in arguments.peers}
        missing = sorted(package for package in wanted if not importlib.util.find_spec(package))
        if missing:
            print(f"real_models: skipped: no {', '.join(missing)}; choose others by --peers")
            sys.exit(77)


def main():
    arguments = parse_arguments()
    pin_to_one_core(arguments.core)
    try:
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            if arguments.list:
                list_all(arguments, arguments.keep or scratch)
                return 0
            rows, found = measure_all(arguments, arguments.keep or scratch, scratch)
    except BadModel as error:
        print(f"real_models: {error}", file=sys.stderr)
        return 2
    if not rows:
        print("real_models: nothing to measure", file=sys.stderr)
        return 2
    print(report(rows, found, arguments.markdown))
    return 1 if found["bars"]["answers right"] or found["bars"]["certificates honest"] else 0


if __name__ == "__main__":
    sys.exit(main())
