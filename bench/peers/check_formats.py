"""Checks with Storm that it reads the model files that stableaa writes.

Usage: check_formats.py MODEL.csv MODEL.drn MODEL.tra
       check_formats.py ORIGINAL.drn COPY.drn COPY.tra

With a CSV, the three files hold the same model, from `stableaa mdp convert`. Storm builds it from
the DRN and from the explicit files, and every transition and expected reward is compared with the
CSV's. With a DRN of Storm's own, the others are what `stableaa mdp convert` made of it: labels,
initial states, all reward models and the names of actions are compared as well.

Storm's explicit files are not quite PRISM's: it wants the word `mdp` instead of the counts in the
.tra, none in the .trew, and names in the .lab. The check puts them so. Storm also refuses negative
rewards in a .trew (not in a DRN), so take a model without.

Needs stormpy from PyPI; without it, exits with 77 (skipped).
"""

import csv
import pathlib
import re
import sys
import tempfile

try:
    import stormpy
    import stormpy.io
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


def read_drn(path):
    options = stormpy.io.DirectEncodingParserOptions()
    options.build_choice_labeling = True
    return stormpy.build_model_from_drn(str(path), options=options)


def first_row_of(model, state):
    return model.transition_matrix.get_row_group_start(state)


def expected_rewards(model, rewards):
    """Per row, the state's and the action's and the transitions'."""
    matrix = model.transition_matrix
    expected = [0.0] * model.nr_choices
    if rewards.has_state_action_rewards:
        expected = list(rewards.state_action_rewards)
    # Held here: rows of the temporary that the property returns do not outlive it.
    shared = rewards.transition_rewards if rewards.has_transition_rewards else None
    for state in range(model.nr_states):
        for row in range(first_row_of(model, state), matrix.get_row_group_end(state)):
            if rewards.has_state_rewards:
                expected[row] += rewards.state_rewards[state]
            if shared is not None:
                shares = {entry.column: entry.value for entry in shared.get_row(row)}
                entries = matrix.get_row(row)
                expected[row] += sum(e.value * shares.get(e.column, 0.0) for e in entries)
    return expected


def rows_of(model):
    """The same as read_csv, of a model of Storm's."""
    rewards = next(iter(model.reward_models.values()), None)
    expected = [0.0] * model.nr_choices
    if rewards is not None:
        expected = expected_rewards(model, rewards)
    matrix = model.transition_matrix
    rows = {}
    for state in range(model.nr_states):
        first = first_row_of(model, state)
        for row in range(first, matrix.get_row_group_end(state)):
            entries = {entry.column: entry.value for entry in matrix.get_row(row)}
            rows[state, row - first] = (entries, expected[row])
    return rows


def differ(a, b, tolerance):
    return abs(a - b) > tolerance * max(1.0, abs(a))


def check_rows(name, expected, found, tolerance=0.0):
    if expected.keys() != found.keys():
        sys.exit(f"{name}: {len(expected)} rows expected, {len(found)} found")
    for key, (transitions, reward) in expected.items():
        other, other_reward = found[key]
        same = transitions.keys() == other.keys()
        if not same or any(differ(p, other[s], tolerance) for s, p in transitions.items()):
            sys.exit(f"{name}: state, action {key}: expected {transitions}, found {other}")
        if reward is not None and differ(reward, other_reward, 1e-12):
            sys.exit(f"{name}: state, action {key}: expected {reward}, found {other_reward}")
    print(f"{name}: {len(expected)} rows agree")


def check_equal(name, expected, found):
    if expected != found:
        sys.exit(f"{name}: expected {str(expected)[:500]}, found {str(found)[:500]}")


def labels_of(model):
    """The states of each label that a state has."""
    labels = {name: list(model.labeling.get_states(name)) for name in model.labeling.get_labels()}
    return {name: states for name, states in sorted(labels.items()) if states}


def action_names_of(model):
    """Per row. An action's own number is none: files without names have these."""
    names = []
    for state in range(model.nr_states):
        first = first_row_of(model, state)
        for row in range(first, model.transition_matrix.get_row_group_end(state)):
            found = model.choice_labeling.get_labels_of_choice(row)
            names.append(sorted(found - {str(row - first)}))
    return names


def check_annotations(name, original, copy, rewards):
    """`rewards` maps the copy's names of reward models to lists of rewards per row."""
    check_equal(f"{name}: labels", labels_of(original), labels_of(copy))
    expected = {
        title: expected_rewards(original, model) for title, model in original.reward_models.items()
    }
    # A model without rewards gets some that are zero, for the sake of the format.
    if not expected:
        expected = {title: [0.0] * original.nr_choices for title in rewards}
    check_equal(f"{name}: names of reward models", sorted(expected), sorted(rewards))
    for title, numbers in expected.items():
        for row, (a, b) in enumerate(zip(numbers, rewards[title], strict=True)):
            if differ(a, b, 1e-12):
                sys.exit(f"{name}: reward model {title}, row {row}: expected {a}, found {b}")
    print(f"{name}: {len(labels_of(original))} labels and {len(expected)} reward models agree")


def without_header(path):
    """The lines after the comments and the counts."""
    lines = path.read_text().split("\n")
    while lines[0].startswith("#"):
        lines.pop(0)
    return "\n".join(lines[1:])


def storms_labels(path):
    """A .lab of PRISM's as Storm wants it. Its names have no blanks: numbers stand for them."""
    if not path.exists():
        return "#DECLARATION\ninit\n#END\n0 init\n", ["init"]
    lines = path.read_text().strip().split("\n")
    names = re.findall(r'\d+="([^"]*)"', lines[0])
    words = ["init" if name == "init" else f"l{i}" for i, name in enumerate(names)]
    text = f"#DECLARATION\n{' '.join(words)}\n#END\n"
    for line in lines[1:]:
        state, numbers = line.split(":")
        text += f"{state} {' '.join(words[int(number)] for number in numbers.split())}\n"
    return text, names


def from_explicit(transitions, rewards):
    """Storm's model of the .tra with one .trew; and its labels by the names in the .lab."""
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory) / "model"
        tra, trew, lab = (copy.with_suffix(ending) for ending in (".tra", ".trew", ".lab"))
        tra.write_text("mdp\n" + without_header(transitions))
        trew.write_text(without_header(rewards))
        text, names = storms_labels(transitions.with_suffix(".lab"))
        lab.write_text(text)
        # Storm cannot open an empty file.
        rest = {"transition_rewards": str(trew)} if trew.stat().st_size > 0 else {}
        return stormpy.build_model_from_explicit(str(tra), str(lab), **rest), names


def reward_files(transitions):
    """The .trew files of a .tra, by name."""
    single = transitions.with_suffix(".trew")
    if single.exists():
        files = [single]
    else:
        numbered = (transitions.with_name(f"{transitions.stem}{i}.trew") for i in range(1, 101))
        files = [path for path in numbered if path.exists()]
    named = {}
    for path in files:
        found = re.match(r'# Reward structure "([^"]*)"', path.read_text())
        named[found.group(1) if found else "reward"] = path
    return named


def check_copy(original, drn, transitions):
    model = read_drn(original)
    copy = read_drn(drn)
    # Storm prints ten digits: rows that do not sum to 1 are normalised when they are read.
    expected = {key: (entries, None) for key, (entries, _) in rows_of(model).items()}
    check_rows("DRN", expected, rows_of(copy), 1e-9)
    rewards = {title: expected_rewards(copy, found) for title, found in copy.reward_models.items()}
    check_annotations("DRN", model, copy, rewards)
    check_equal("DRN: names of actions", action_names_of(model), action_names_of(copy))

    rewards = {}
    for title, path in reward_files(transitions).items():
        explicit, names = from_explicit(transitions, path)
        rewards[title] = [reward for _, reward in rows_of(explicit).values()]
    check_rows("explicit", expected, rows_of(explicit), 1e-9)
    words = ["init" if name == "init" else f"l{i}" for i, name in enumerate(names)]
    titles = dict(zip(words, names, strict=True))
    labels = {titles[word]: states for word, states in labels_of(explicit).items()}
    check_equal("explicit: labels", labels_of(model), labels)
    for title, found in model.reward_models.items():
        for row, a in enumerate(expected_rewards(model, found)):
            if differ(a, rewards[title][row], 1e-12):
                sys.exit(f"explicit: {title}, row {row}: expected {a}, found {rewards[title][row]}")
    print(f"explicit: {len(labels)} labels and {len(model.reward_models)} reward models agree")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    first, drn, transitions = map(pathlib.Path, sys.argv[1:])
    if first.suffix == ".drn":
        return check_copy(first, drn, transitions)
    expected = read_csv(first)
    check_rows("DRN", expected, rows_of(stormpy.build_model_from_drn(str(drn))))
    rewards = next(iter(reward_files(transitions).values()))
    check_rows("explicit", expected, rows_of(from_explicit(transitions, rewards)[0]))


main()
