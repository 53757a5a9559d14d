"""Models that others wrote, as explicit states, and discounted instances of their properties.

An ExplicitModel comes from a .drn file (plain, .gz or .xz), Storm's text for explicit models. It
has labels and reward models; a Property asks for the best or worst probability of reaching a set of
states, or for the expected reward until then:

    Pmax F finished & !agree            Pmin !collision U all_delivered
    Rmax steps F finished               Rmin 1 F deadlock

Sets of states are boolean expressions over the labels (`!`, `&`, `|`, parentheses, `true`,
`false`). Labels with other than letters, digits, `_`, `.` and `-` stand in double quotes. The
reward model `1` counts steps. Besides its own labels a model has these, unless it uses the names
itself:

    absorbing   states that no action leaves
    recurrent   states of strongly connected components that no action leaves
    furthest    the hundredth of all states that is found last in breadth-first order from state 0

The discounted instance of a property is a maximisation, whatever the property: goal and avoided
states keep one row, which stays there with reward 0; entering the goal has reward 1 (P), or the
rows have the rewards of the reward model (R); for min all rewards are negated.
"""

import dataclasses
import gzip
import lzma
import pathlib
import re

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph

OPENERS = {".xz": lzma.open, ".gz": gzip.open}


class BadModel(Exception):
    """A model, a property or a file that cannot be used; the message is for the user."""


@dataclasses.dataclass
class ExplicitModel:
    """Rows are pairs of state and action, in order; rewards are expected rewards of rows."""

    name: str
    state_rows: np.ndarray  # of length states + 1
    matrix: sparse.csr_matrix  # rows x states
    rewards: dict  # by reward model, one per row
    labels: dict  # one bool per state

    @property
    def states(self):
        return len(self.state_rows) - 1

    @property
    def rows(self):
        return self.matrix.shape[0]

    def row_states(self):
        return np.repeat(np.arange(self.states), np.diff(self.state_rows))

    def moves(self):
        """State and next state of every transition."""
        entries = self.matrix.tocoo()
        return self.row_states()[entries.row], entries.col

    def graph(self):
        """States x states, an entry where some action moves."""
        states, targets = self.moves()
        return sparse.csr_matrix((np.ones(len(states)), (states, targets)),
                                 shape=(self.states, self.states))

    def label(self, name):
        if name in self.labels:
            return self.labels[name]
        if name in EXTRA_LABELS:
            return EXTRA_LABELS[name](self)
        if name in ("true", "false"):
            return np.full(self.states, name == "true")
        known = ", ".join([*sorted(self.labels), *EXTRA_LABELS])
        raise BadModel(f"{self.name} has no label '{name}'; there are {known}")

    def reward(self, name):
        if name in self.rewards:
            return self.rewards[name]
        if name == "1":
            return np.ones(self.rows)
        known = ", ".join([*self.rewards, "1"])
        raise BadModel(f"{self.name} has no reward model '{name}'; there are {known}")


def absorbing(model):
    states, targets = model.moves()
    left = np.zeros(model.states, dtype=bool)
    left[states[states != targets]] = True
    return ~left


def recurrent(model):
    count, component = csgraph.connected_components(model.graph(), connection="strong")
    starts, ends = (component[side] for side in model.moves())
    left = np.zeros(count, dtype=bool)
    left[starts[starts != ends]] = True
    return ~left[component]


def furthest(model):
    start = np.flatnonzero(model.labels["init"])[0] if "init" in model.labels else 0
    order = csgraph.breadth_first_order(model.graph(), start, return_predecessors=False)
    last = np.zeros(model.states, dtype=bool)
    last[order[-max(1, model.states // 100):]] = True
    return last


EXTRA_LABELS = {"absorbing": absorbing, "recurrent": recurrent, "furthest": furthest}


class Expression:
    """A boolean expression over labels; states() of a model gives a bool per state."""

    TOKEN = re.compile(r'\s*(?:"([^"]+)"|([A-Za-z0-9_.\-]+)|([!&|()]))')

    def __init__(self, text):
        self.text, self.tokens, at = text.strip(), [], 0
        while at < len(self.text):
            match = self.TOKEN.match(self.text, at)
            if not match:
                self.complain(f"cannot read '{self.text[at:]}'")
            quoted, name, sign = match.groups()
            self.tokens.append((sign, quoted or name))
            at = match.end()
        self.tokens.append((None, None))  # the end

    def states(self, model):
        self.at, self.model = 0, model
        found = self.disjunction()
        if self.at < len(self.tokens) - 1:
            sign, label = self.tokens[self.at]
            self.complain(f"did not expect '{sign or label}'")
        return found

    def complain(self, what):
        raise BadModel(f"bad expression '{self.text}': {what}")

    def accept(self, sign):
        found = self.tokens[self.at][0] == sign
        self.at += found
        return found

    def disjunction(self):
        found = self.conjunction()
        while self.accept("|"):
            found = found | self.conjunction()
        return found

    def conjunction(self):
        found = self.term()
        while self.accept("&"):
            found = found & self.term()
        return found

    def term(self):
        if self.accept("!"):
            return ~self.term()
        if self.accept("("):
            found = self.disjunction()
            if not self.accept(")"):
                self.complain("a ) is missing")
            return found
        label = self.tokens[self.at][1]
        if label is None:
            self.complain("a label is missing")
        self.at += 1
        return self.model.label(label)


@dataclasses.dataclass
class Property:
    """What is asked: `goal` and `avoid` are bools per state, `reward` is per row, None for P."""

    text: str
    maximise: bool
    goal: np.ndarray
    avoid: np.ndarray
    reward: np.ndarray | None

    def trivial(self):
        """Why nobody needs to solve it, or None."""
        if self.goal.all():
            return "every state is a goal"
        if self.reward is None and not self.goal.any():
            return "no state is a goal"
        if self.reward is not None and not self.reward.any():
            return "all rewards are 0"
        return None


def reach_property(text, maximise, stay, goal):
    return Property(text, maximise, goal, ~stay & ~goal, None)


def reward_property(text, maximise, reward, goal):
    return Property(text, maximise, goal, np.zeros_like(goal), reward)


def parse_property(text, model):
    text = " ".join(text.split())
    if match := re.fullmatch(r"P(max|min) (?:F|(.+) U) (.+)", text):
        best, stay, goal = match.groups()
        return reach_property(text, best == "max", Expression(stay or "true").states(model),
                              Expression(goal).states(model))
    if match := re.fullmatch(r"R(max|min) (\S+) F (.+)", text):
        best, reward, goal = match.groups()
        return reward_property(text, best == "max", model.reward(reward),
                               Expression(goal).states(model))
    raise BadModel(f"cannot read the property '{text}'; write it like 'Pmax F goal', "
                   "'Pmin safe U goal' or 'Rmin steps F goal'")


def default_properties(model):
    """For a model that comes without: rewards until it ends, then reaching labels, rare first."""
    def some(label):
        return 0 < model.label(label).sum() < model.states

    own = [label for label in ("deadlock",) if label in model.labels]
    ends = [label for label in (*own, *EXTRA_LABELS) if some(label)]
    goals = sorted(label for label in model.labels
                   if label not in ("init", "deadlock") and some(label))
    goals.sort(key=lambda label: model.labels[label].sum())
    rewards = list(model.rewards) or ([] if goals else ["1"])
    asked = [f"{reward} F {ends[0]}" for reward in rewards if ends]
    bests = ("max", "min") if model.rows > model.states else ("max",)  # no choice, no difference
    return [*(f"R{best} {rest}" for rest in asked for best in bests),
            *(f'P{best} F "{goal}"' for goal in goals for best in bests)]


def discounted_instance(model, wanted, discount):
    """The arrays of an .npz of stableaa."""
    row_states, ends = model.row_states(), wanted.goal | wanted.avoid
    first = np.zeros(model.rows, dtype=bool)
    first[model.state_rows[:-1]] = True
    kept = np.flatnonzero(~ends[row_states] | first)
    owners = row_states[kept]
    ended = ends[owners]

    entries = model.matrix[kept].tocoo()
    moving = ~ended[entries.row]
    rows = np.concatenate([entries.row[moving], np.flatnonzero(ended)])
    columns = np.concatenate([entries.col[moving], owners[ended]])
    probabilities = np.concatenate([entries.data[moving], np.ones(ended.sum())])
    matrix = sparse.csr_matrix((probabilities, (rows, columns)), shape=(len(kept), model.states))

    rewards = model.matrix @ wanted.goal.astype(float) if wanted.reward is None else wanted.reward
    rewards = np.where(ended, 0.0, rewards[kept])
    counts = np.bincount(owners, minlength=model.states)
    return {"state_ptr": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            "indptr": matrix.indptr.astype(np.int64), "indices": matrix.indices.astype(np.int32),
            "data": matrix.data, "discount": np.float64(discount),
            "reward": rewards if wanted.maximise else 0.0 - rewards}


def numbers_and_rest(text):
    """'[1, 2] a b' gives ([1.0, 2.0], 'a b')."""
    text = text.strip()
    if not text.startswith("["):
        return [], text
    inside, _, rest = text[1:].partition("]")
    return [float(part) for part in inside.split(",") if part.strip()], rest.strip()


def model_name(path):
    """consensus.2-16 of consensus.2-16.drn.xz."""
    path = pathlib.Path(path)
    return path.with_suffix("").stem if path.suffix in OPENERS else path.stem


def read_drn(path):
    path = pathlib.Path(path)
    try:
        with OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8") as lines:
            return DrnReader(model_name(path), lines).model()
    except (ValueError, IndexError, EOFError, lzma.LZMAError) as error:
        raise BadModel(f"{path} is no model in DRN: {error}") from error
    except OSError as error:
        raise BadModel(f"cannot read {path}: {error.strerror or error}") from error


class DrnReader:
    """Reads lines of DRN: a header of @keys, then states, their actions and transitions."""

    LABEL = re.compile(r'"([^"]*)"|(\S+)')

    def __init__(self, name, lines):
        self.name, self.lines = name, iter(lines)
        self.state_rows, self.offsets, self.columns, self.probabilities = [], [], [], []
        self.state_rewards, self.row_rewards, self.labels = [], [], {}

    def model(self):
        reward_line = self.header().get("reward_models", "")
        for line in self.lines:
            words = line.split(None, 1)
            if not words or words[0].startswith("//"):
                continue
            if words[0] == "state":
                self.state(words[1])
            elif words[0] == "action":
                self.action(words[1])
            else:
                self.transition(line)
        return self.built(reward_line)

    def header(self):
        """A key's value stands behind its colon or on the next line."""
        keys, key = {}, None
        for line in self.lines:
            written, line = line, line.strip()
            if line == "@model":
                break
            if line.startswith("@"):
                key, _, value = line[1:].partition(":")
                keys[key] = value.strip()
            elif key and not line.startswith("//"):
                keys[key] = written if key == "reward_models" else f"{keys[key]} {line}".strip()
        if keys.get("type", "").upper() not in ("MDP", "DTMC"):
            raise ValueError(f"its type is {keys.get('type', 'missing')}, not MDP or DTMC")
        return keys

    def state(self, text):
        number, *rest = text.split(None, 1)
        if int(number) != len(self.state_rows):
            raise ValueError(f"state {number} is out of order")
        rewards, labels = numbers_and_rest(rest[0] if rest else "")
        self.state_rows.append(len(self.offsets))
        self.state_rewards.append(rewards)
        for quoted, plain in self.LABEL.findall(labels):
            self.labels.setdefault(quoted or plain, []).append(int(number))

    def action(self, text):
        _, *rest = text.split(None, 1)
        self.offsets.append(len(self.columns))
        self.row_rewards.append(numbers_and_rest(rest[0] if rest else "")[0])

    def transition(self, line):
        column, probability = line.split(":")
        self.columns.append(int(column))
        self.probabilities.append(float(probability))

    def built(self, reward_line):
        states, rows = len(self.state_rows), len(self.offsets)
        state_rows = np.append(self.state_rows, rows).astype(np.int64)
        offsets = np.append(self.offsets, len(self.columns)).astype(np.int64)
        if not states or not np.diff(state_rows).all() or not np.diff(offsets).all():
            raise ValueError("it has no states, or a state or an action without any transition")
        matrix = sparse.csr_matrix((self.probabilities, self.columns, offsets),
                                   shape=(rows, states))
        matrix.check_format()
        matrix.sum_duplicates()
        labels = {name: np.isin(np.arange(states), members)
                  for name, members in self.labels.items()}
        owner = np.repeat(np.arange(states), np.diff(state_rows))
        names = reward_names(reward_line,
                             max(map(len, self.state_rewards + self.row_rewards), default=0))
        rewards = {name: reward_column(self.state_rewards, place)[owner] +
                   reward_column(self.row_rewards, place) for place, name in enumerate(names)}
        return ExplicitModel(self.name, state_rows, normalised(matrix), rewards, labels)


def reward_names(line, count):
    """Storm writes a blank after each name, and nothing else for a reward model without one."""
    names = line.split()
    if len(names) + 1 == count:
        names = [name or "reward" for name in line.rstrip("\n").split(" ")][:count]
    return names


def reward_column(rows, place):
    """Rewards of one reward model; lines without a list have none."""
    return np.array([row[place] if row else 0.0 for row in rows])


def normalised(matrix):
    """Rows divided by their sums: text holds a few digits, so that sums are 1 only about."""
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    if np.abs(sums - 1.0).max() > 1e-6:
        raise ValueError(f"the probabilities of row {np.abs(sums - 1.0).argmax()} do not sum to 1")
    matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
    return matrix
