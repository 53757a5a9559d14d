"""Checks with Storm that it reads the model files that stableaa writes.

Usage: check_formats.py MODEL.csv MODEL.drn MODEL.tra

The three files hold the same model, from `stableaa mdp convert`. Storm builds it from the DRN and
from the explicit files, and every transition and expected reward is compared with the CSV's.
Storm's explicit files are not quite PRISM's: it wants the word `mdp` instead of the counts in the
.tra, none in the .trew, and a .lab. The check puts them so. Storm also refuses negative rewards in
a .trew (not in a DRN), so take a model without.

Needs stormpy from PyPI; without it, exits with 77 (skipped).
"""

import csv
import pathlib
import sys
import tempfile

try:
    import stormpy
except ImportError:
    print("skipped: no stormpy")
    sys.exit(77)


def read_csv(path):
    """By (state, action): {next: probability}, and the reward that all lines of the row have."""
    rows = {}
    with open(path, newline="") as file:
        for line in csv.DictReader(file):
            row = rows.setdefault((int(line["s"]), int(line["a"])), ({}, float(line["r"])))
            row[0][int(line["next"])] = float(line["p"])
    return rows


def rows_of(model):
    """The same of a model of Storm's."""
    rewards = next(iter(model.reward_models.values()), None)
    expected = [0.0] * model.nr_choices
    if rewards is not None and rewards.has_state_action_rewards:
        expected = list(rewards.state_action_rewards)
    matrix = model.transition_matrix
    # Held here: rows of the temporary that the property returns do not outlive it.
    has_shared = rewards is not None and rewards.has_transition_rewards
    shared = rewards.transition_rewards if has_shared else None
    rows = {}
    for state in range(model.nr_states):
        first = matrix.get_row_group_start(state)
        for row in range(first, matrix.get_row_group_end(state)):
            entries = {entry.column: entry.value for entry in matrix.get_row(row)}
            reward = expected[row]
            if shared is not None:
                shares = {entry.column: entry.value for entry in shared.get_row(row)}
                reward = sum(p * shares.get(column, 0.0) for column, p in entries.items())
            rows[state, row - first] = (entries, reward)
    return rows


def check(name, expected, found):
    if expected.keys() != found.keys():
        sys.exit(f"{name}: {len(expected)} rows expected, {len(found)} found")
    for key, (transitions, reward) in expected.items():
        if found[key][0] != transitions:
            sys.exit(f"{name}: state, action {key}: expected {transitions}, found {found[key][0]}")
        if abs(found[key][1] - reward) > 1e-12 * max(1.0, abs(reward)):
            sys.exit(f"{name}: state, action {key}: expected {reward}, found {found[key][1]}")
    print(f"{name}: {len(expected)} rows agree")


def without_first_line(path):
    return path.read_text().split("\n", 1)[1]


def from_explicit(transitions):
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory) / "model"
        tra, trew, lab = (copy.with_suffix(ending) for ending in (".tra", ".trew", ".lab"))
        tra.write_text("mdp\n" + without_first_line(transitions))
        trew.write_text(without_first_line(transitions.with_suffix(".trew")))
        lab.write_text("#DECLARATION\ninit\n#END\n0 init\n")
        return stormpy.build_model_from_explicit(str(tra), str(lab), transition_rewards=str(trew))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    table, drn, transitions = map(pathlib.Path, sys.argv[1:])
    expected = read_csv(table)
    check("DRN", expected, rows_of(stormpy.build_model_from_drn(str(drn))))
    check("explicit", expected, rows_of(from_explicit(transitions)))


main()
