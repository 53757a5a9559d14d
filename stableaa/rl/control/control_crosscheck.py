"""Compares updates of DDPG, TD3 and SAC with mixed critics with NumPy, in double precision.

Usage: control_crosscheck.py PROGRAM, the program built from control_crosscheck.cc, which says what
it prints. Exits with 0 if all agree, 1 if any does not, 77 (skipped) without NumPy and SciPy.

The updates are written down a second time here, from the papers (DDPG: Lillicrap et al. 2016; TD3:
Fujimoto et al. 2018; SAC: Haarnoja et al. 2018, "Soft Actor-Critic Algorithms and Applications"),
and the mixing from docs/control.md. Only the states and the first parameters come from the program:
batches, samples for weights and noise are drawn from the same random streams, by NumPy's Philox.
Gradients by hand are checked against finite differences, once per case.
"""

import json
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path
from types import SimpleNamespace

for folder in ("core", "rl/value"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / folder))
# Both skip with 77 without NumPy or SciPy.
from random_crosscheck import expected_normals, hash_name  # noqa: E402
from target_mixer_crosscheck import expected_weights  # noqa: E402

import numpy as np  # noqa: E402

BATCH, SEED = 24, 5
COMMON = {
    "train.batch": BATCH, "train.seed": SEED, "train.threads": 1, "replay.size": 1000,
    # Smooth: float and double would now and then be on different sides of relu's kink.
    "network.layers": "linear(24) elu linear(17) elu",
    "optimizer.kind": "adam", "optimizer.learning_rate": 5e-3,
    # Larger than usual: with less, a step is the sign of a gradient, however uncertain that is.
    "optimizer.epsilon": 1e-4, "agent.discount": 0.97, "agent.loss": "squared",
    "agent.mixer": "single", "agent.targets": 4, "agent.damping": 0.1, "agent.eta": 0.1,
    "agent.target_interval_updates": 3, "agent.weights.refresh": "sync", "agent.weights.batch": 60,
    "agent.weights.safeguard": "false", "control.window": "spaced", "control.polyak": 0.3,
    "control.policy_delay": 1, "control.target_noise": 0.2, "control.target_noise_clip": 0.5,
    "control.first_temperature": 0.7, "control.actor_loss": "newest",
}
CONSECUTIVE = {"control.window": "consecutive", "agent.weights.refresh": "update"}
CASES = [  # algorithm, updates, keys that differ
    ("ddpg", 8, {}),
    ("ddpg", 12, {"agent.mixer": "stable"}),
    ("ddpg", 8, {"agent.mixer": "raa", **CONSECUTIVE, "control.actor_loss": "mixed"}),
    ("td3", 8, {"control.policy_delay": 2}),
    ("td3", 7, {"control.policy_delay": 3, "agent.loss": "huber", "agent.huber_delta": 0.3}),
    ("td3", 6, {"control.target_noise": 0.6, "control.target_noise_clip": 0.3}),
    ("td3", 6, {"control.actor_learning_rate": 3e-3, "control.polyak": 1}),
    ("td3", 14, {"agent.mixer": "average", "control.policy_delay": 2}),
    ("td3", 8, {"agent.mixer": "average", "control.window": "consecutive"}),
    ("td3", 16, {"agent.mixer": "stable", "control.policy_delay": 2}),
    ("td3", 16, {"agent.mixer": "stable", "agent.damping": 0, "agent.weights.eta": "auto"}),
    ("td3", 14, {"agent.mixer": "stable", "agent.weights.safeguard": "true"}),
    ("td3", 12, {"agent.mixer": "stable", "agent.weights.refresh": "update"}),
    ("td3", 9, {"agent.mixer": "stable", **CONSECUTIVE, "agent.weights.batch": 10}),
    ("td3", 9, {"agent.mixer": "stable", "control.window": "consecutive"}),
    ("td3", 10, {"agent.mixer": "raa", **CONSECUTIVE, "agent.eta": 1e-3,
                 "control.policy_delay": 2}),
    ("td3", 14, {"agent.mixer": "raa", "control.actor_loss": "mixed"}),
    ("td3", 9, {"agent.mixer": "stable", **CONSECUTIVE, "agent.targets": 1}),
    ("td3", 14, {"agent.mixer": "anderson", "control.policy_delay": 2}),
    ("td3", 7, {"agent.mixer": "stable", "agent.targets": 1}),
    ("sac", 8, {}),
    ("sac", 8, {"control.temperature": 0.2}),
    ("sac", 8, {"control.target_entropy": 1.5, "control.temperature_learning_rate": 1e-2,
                "control.policy_delay": 2}),
    ("sac", 14, {"agent.mixer": "average"}),
    ("sac", 16, {"agent.mixer": "stable"}),
    ("sac", 10, {"agent.mixer": "raa", **CONSECUTIVE, "agent.eta": 1e-3}),
    ("sac", 14, {"agent.mixer": "stable", "control.actor_loss": "mixed", "agent.damping": 0.4}),
]
ELEMENTS = 3
# Relative, or of a parameter's distance from where it began. The program computes in floats.
TOLERANCES = {"parameters": 1e-3, "alpha": 1e-3, "numbers": 1e-5, "targets": 1e-5}


class Stream:
    """A RandomStream."""

    def __init__(self, name):
        self.source = np.random.Philox(key=np.array([SEED, hash_name(name)], np.uint64), counter=0)

    def below(self, n):
        """Lemire's multiplication; the numbers here are so small that it never has to repeat."""
        return int(self.source.random_raw()) * n >> 64

    def normals(self, rows):
        return expected_normals(self.source.random_raw(rows * ELEMENTS)).reshape(rows, ELEMENTS)


class Network:
    """Linear layers with elu between them."""

    def __init__(self, tensors, inputs):
        self.tensors = []
        for weight, bias in zip(tensors[::2], tensors[1::2], strict=True):
            self.tensors += [np.array(weight).reshape(len(bias), inputs), np.array(bias)]
            inputs = len(bias)

    def copy(self):
        other = Network([], 0)
        other.tensors = [tensor.copy() for tensor in self.tensors]
        return other

    def forward(self, x):
        """Outputs, and what the layers were given."""
        given = []
        for layer, (weight, bias) in enumerate(zip(self.tensors[::2], self.tensors[1::2])):
            x = np.where(x > 0, x, np.expm1(np.minimum(x, 0))) if layer else x
            given.append(x)
            x = x @ weight.T + bias
        return x, given

    def backward(self, given, slopes):
        """Gradients of the tensors and of the inputs."""
        gradients = []
        for layer in reversed(range(len(given))):
            gradients[:0] = [slopes.T @ given[layer], slopes.sum(axis=0)]
            slopes = slopes @ self.tensors[2 * layer]
            slopes = slopes * np.minimum(given[layer] + 1, 1) if layer else slopes
        return gradients, slopes

    def move_towards(self, other, tau):
        for mine, its in zip(self.tensors, other.tensors):
            mine += tau * (its - mine)


class Adam:
    def __init__(self, tensors, rate, epsilon):
        self.rate, self.epsilon, self.steps = rate, epsilon, 0
        self.mean = [np.zeros_like(tensor) for tensor in tensors]
        self.square = [np.zeros_like(tensor) for tensor in tensors]

    def step(self, tensors, gradients):
        self.steps += 1
        for tensor, g, m, v in zip(tensors, gradients, self.mean, self.square, strict=True):
            m += (1 - 0.9) * (g - m)
            v += (1 - 0.999) * (g * g - v)
            m_hat, v_hat = m / (1 - 0.9**self.steps), v / (1 - 0.999**self.steps)
            tensor -= self.rate * m_hat / (np.sqrt(v_hat) + self.epsilon)


def log_density(u, noise, log_deviation):
    """Of tanh(u), where u = mean + exp(log_deviation) · noise."""
    log_cosh = np.logaddexp(u, -u) - np.log(2)
    normal = -0.5 * noise**2 - log_deviation - 0.5 * np.log(2 * np.pi)
    return (normal + 2 * log_cosh).sum(axis=1)


class Reference:
    def __init__(self, algorithm, keys, states, before):
        self.algorithm, self.keys = algorithm, keys
        self.is_gaussian = algorithm == "sac"
        observed = len(states[0][0])
        self.observations = np.array([state[0] for state in states])
        self.acts = np.array([bool(state[1]) for state in states])
        self.actions = np.array([state[1] or [0] * ELEMENTS for state in states])
        self.rewards = np.array([state[2] for state in states])
        self.terminated = np.array([state[3] for state in states])
        self.actor = Network(before["actor"], observed)
        self.critics = [Network(tensors, observed + ELEMENTS) for tensors in before["critics"]]
        self.slow_actor = self.actor.copy()
        self.slow_critics = self.copies()
        rate, epsilon = keys["optimizer.learning_rate"], keys["optimizer.epsilon"]
        self.actor_adam = Adam(self.actor.tensors, keys.get("control.actor_learning_rate", rate),
                               epsilon)
        self.critic_adams = [Adam(critic.tensors, rate, epsilon) for critic in self.critics]
        self.log_temperature = np.log([keys["control.first_temperature"]])
        self.temperature_adam = Adam([self.log_temperature],
                                     keys.get("control.temperature_learning_rate", rate), epsilon)
        self.streams = {name: Stream(name) for name in ("replay", "weights", "policy")}
        self.mixer = keys["agent.mixer"]
        self.mixes = self.mixer not in ("single", "average")
        self.beta = keys["agent.damping"] if self.mixes else 0
        most = 1 if self.mixer == "single" else keys["agent.targets"]
        self.older = deque(maxlen=most - 1)
        self.waiting = None  # a copy that joins when the next is taken
        self.alpha = np.ones(1)
        self.updates = self.fallbacks = 0
        self.report = {"actor_value": 0, "entropy": 0}

    def copies(self):
        return [critic.copy() for critic in self.critics]

    def members(self):
        return [*self.older, self.slow_critics]

    def temperature(self):
        if not self.is_gaussian:
            return self.keys["control.first_temperature"]
        return self.keys.get("control.temperature", float(np.exp(self.log_temperature[0])))

    # ---- What an update looks at ----

    def draw(self, stream, count):
        """Ids of transitions; ends of episodes are none. The last state is not a candidate."""
        ids = []
        while len(ids) < count:
            state = self.streams[stream].below(len(self.acts) - 1)
            if self.acts[state]:
                ids.append(state)
        return np.array(ids, int)

    def next_actions(self, states):
        """a' and, for sac, log π(a'|s')."""
        if self.is_gaussian:
            sample = self.sample(self.actor.forward(states)[0])
            return sample.actions, sample.log_density
        actions = np.tanh(self.slow_actor.forward(states)[0])
        deviation, clip = (self.keys[f"control.target_noise{end}"] for end in ("", "_clip"))
        if self.algorithm == "td3" and deviation > 0:
            noise = deviation * self.streams["policy"].normals(len(states))
            actions = np.clip(actions + np.clip(noise, -clip, clip), -1, 1)
        return actions, np.zeros(len(states))

    def sample(self, outputs, noise=None):
        """Actions of a squashed Gaussian, with all that its gradient needs."""
        if noise is None:
            noise = self.streams["policy"].normals(len(outputs))
        mean, raw = outputs[:, :ELEMENTS], outputs[:, ELEMENTS:]
        log_deviation = np.clip(raw, -20, 2)
        u = mean + np.exp(log_deviation) * noise
        return SimpleNamespace(actions=np.tanh(u), log_density=log_density(u, noise, log_deviation),
                               noise=noise, deviation=np.exp(log_deviation),
                               free=raw == log_deviation)

    def columns(self, ids):
        """q_i(s, a) and R + g v_i, a column per member."""
        states, next_states = self.observations[ids], self.observations[ids + 1]
        next_actions, log_densities = self.next_actions(next_states)
        stored, backed_up = [], []
        for member in self.members():
            q_next = value_of(member, next_states, next_actions)
            v = q_next - (self.temperature() * log_densities if self.is_gaussian else 0)
            g = self.keys["agent.discount"] * ~self.terminated[ids]
            stored.append(value_of(member, states, self.actions[ids]))
            backed_up.append(self.rewards[ids] + g * v)
        return np.column_stack(stored), np.column_stack(backed_up)

    def fit(self, stored, backed_up):
        problem = SimpleNamespace(mixer=self.mixer, eta=self.keys["agent.eta"],
                                  eta_choice=self.keys.get("agent.weights.eta", "fixed"),
                                  safeguard=self.keys["agent.weights.safeguard"] == "true")
        weights = expected_weights(problem, backed_up - stored, np.diff(stored, axis=1))
        self.alpha = weights["alpha"]
        self.fallbacks += weights["fallback"]

    # ---- An update ----

    def update(self):
        refreshes = self.mixes and self.keys["agent.weights.refresh"] == "update"
        ids = self.draw("replay", BATCH)
        if refreshes:
            more = max(0, self.keys["agent.weights.batch"] - BATCH)
            ids = np.concatenate([ids, self.draw("weights", more)])
        stored, backed_up = self.columns(ids)
        if refreshes:
            self.fit(stored, backed_up)
        elif self.mixer == "average":
            self.alpha = np.full(len(self.members()), 1 / len(self.members()))
        alpha = self.padded_alpha()
        self.targets = (self.beta * stored @ alpha + (1 - self.beta) * backed_up @ alpha)[:BATCH]
        self.ids = ids
        self.learn_critics(self.observations[ids[:BATCH]], self.actions[ids[:BATCH]])
        self.updates += 1
        if self.updates % self.keys["control.policy_delay"] == 0:
            self.learn_actor(self.observations[ids[:BATCH]])
            if self.keys["control.window"] == "consecutive" and self.older.maxlen:
                self.older.append([critic.copy() for critic in self.slow_critics])
            tau = self.keys["control.polyak"]
            for slow, fast in zip([self.slow_actor, *self.slow_critics],
                                  [self.actor, *self.critics]):
                slow.move_towards(fast, tau)
        if self.updates % self.keys["agent.target_interval_updates"] == 0:
            self.take_copy()

    def padded_alpha(self):
        """By position from the newest member; consecutive averages move on between two fits."""
        missing = len(self.members()) - len(self.alpha)
        return np.concatenate([np.zeros(missing), self.alpha])

    def take_copy(self):
        if self.keys["control.window"] == "spaced" and self.older.maxlen:
            if self.waiting:
                self.older.append(self.waiting)
            self.waiting = [critic.copy() for critic in self.slow_critics]
        if self.mixes and self.keys["agent.weights.refresh"] == "sync" and self.older.maxlen:
            self.fit(*self.columns(self.draw("weights", self.keys["agent.weights.batch"])))

    def critic_loss(self, critic, states, actions):
        """Loss, gradients, differences and values of one critic."""
        q, given = critic.forward(np.hstack([states, actions]))
        d = q[:, 0] - self.targets
        if self.keys["agent.loss"] == "huber":
            delta = self.keys["agent.huber_delta"]
            inside = np.abs(d) <= delta
            losses = np.where(inside, d * d / 2, delta * (np.abs(d) - delta / 2))
            slopes = np.clip(d, -delta, delta)
        else:
            losses, slopes = d * d, 2 * d
        gradients, _ = critic.backward(given, slopes[:, None] / BATCH)
        return losses.mean(), gradients, d, q[:, 0]

    def learn_critics(self, states, actions):
        losses, differences, values = [], [], []
        for critic, adam in zip(self.critics, self.critic_adams):
            loss, gradients, d, q = self.critic_loss(critic, states, actions)
            if not self.updates:
                require_gradient(critic, gradients,
                                 lambda c=critic: self.critic_loss(c, states, actions)[0])
            adam.step(critic.tensors, gradients)
            losses.append(loss)
            differences.append(np.abs(d).mean())
            values.append(q.mean())
        self.report |= {"loss": np.mean(losses), "td_abs": np.mean(differences),
                        "q_mean": np.mean(values)}

    def objectives(self):
        """What the actor climbs: shares and sets of critics, of which the smaller value counts."""
        online = self.critics if self.is_gaussian else self.critics[:1]
        if self.keys["control.actor_loss"] == "newest" or not self.beta:
            return [(1, online)]
        return [(1 - self.beta, online), *((self.beta * alpha, member) for alpha, member in
                                           zip(self.padded_alpha(), self.members()))]

    def actor_loss(self, states, noise):
        """Loss, gradients, the mean of Q and the mean of −log π."""
        outputs, given = self.actor.forward(states)
        if self.is_gaussian:
            sample = self.sample(outputs, noise)
            actions = sample.actions
        else:
            actions = np.tanh(outputs)
        value, slopes = 0, np.zeros_like(actions)
        for share, critics in self.objectives():
            q, q_slopes = value_and_slopes(critics, states, actions)
            value += share * q.mean()
            slopes -= share * q_slopes / len(states)
        if not self.is_gaussian:
            gradients, _ = self.actor.backward(given, slopes * (1 - actions**2))
            return -value, gradients, value, 0.0
        # log π depends on the mean by tanh only, on the logarithm of the deviation also directly.
        temperature = self.temperature() / len(states)
        of_u = slopes * (1 - actions**2) + temperature * 2 * actions
        of_log = (of_u * sample.deviation * sample.noise - temperature) * sample.free
        gradients, _ = self.actor.backward(given, np.hstack([of_u, of_log]))
        entropy = -sample.log_density.mean()
        return -value - self.temperature() * entropy, gradients, value, entropy

    def learn_actor(self, states):
        noise = self.streams["policy"].normals(len(states)) if self.is_gaussian else None
        _, gradients, value, entropy = self.actor_loss(states, noise)
        if not self.actor_adam.steps:
            require_gradient(self.actor, gradients, lambda: self.actor_loss(states, noise)[0])
        self.actor_adam.step(self.actor.tensors, gradients)
        if self.is_gaussian and "control.temperature" not in self.keys:
            target = self.keys.get("control.target_entropy", -ELEMENTS)
            self.temperature_adam.step([self.log_temperature], [np.array([entropy - target])])
        self.report |= {"actor_value": value, "entropy": entropy}


def value_of(critics, states, actions):
    pairs = np.hstack([states, actions])
    return np.min([critic.forward(pairs)[0][:, 0] for critic in critics], axis=0)


def value_and_slopes(critics, states, actions):
    """The smallest value of each pair, and its gradient by the action."""
    pairs = np.hstack([states, actions])
    found = [critic.forward(pairs) for critic in critics]
    values = np.column_stack([q[:, 0] for q, _ in found])
    smallest = values.argmin(axis=1)
    slopes = [critic.backward(given, (smallest == c).astype(float)[:, None])[1][:, -ELEMENTS:]
              for c, (critic, (_, given)) in enumerate(zip(critics, found))]
    return values.min(axis=1), np.sum(slopes, axis=0)


def require_gradient(network, gradients, loss):
    """Against finite differences along one direction; a mistake here is one of this file."""
    random = np.random.default_rng(0)
    step, ends = 1e-6, []
    direction = [random.standard_normal(tensor.shape) for tensor in network.tensors]
    for sign in (1, -2, 1):  # there, back to the other side, and home
        for tensor, d in zip(network.tensors, direction):
            tensor += sign * step * d
        ends.append(loss())
    found = (ends[0] - ends[1]) / (2 * step)
    expected = sum((g * d).sum() for g, d in zip(gradients, direction))
    scale = np.sqrt(sum((g * g).sum() for g in gradients))
    if not abs(found - expected) <= 1e-4 * scale:
        sys.exit(f"control_crosscheck: the reference's gradient is {expected} along a direction, "
                 f"finite differences give {found}")


class Errors:
    """The largest error of each kind, and what is too large."""

    def __init__(self):
        self.worst, self.wrong = dict.fromkeys(TOLERANCES, 0.0), []

    def add(self, kind, where, found, expected, scale):
        found, expected = np.asarray(found, float), np.asarray(expected, float)
        same = found.shape == expected.shape and np.isfinite(found).all()
        error = float(np.max(np.abs(found - expected)) / scale) if same else float("inf")
        self.worst[kind] = max(self.worst[kind], error)
        if not error <= TOLERANCES[kind]:
            self.wrong.append(f"{where}: error {error:.1e}")


def compare(name, reference, found, updates, diagnosis, errors):
    before = found["before"]
    for number, update in enumerate(found["updates"], 1):
        reference.update()
        where = f"{name}, update {number}"
        pairs = [("actor", reference.actor, update["actor"], before["actor"])]
        pairs += [(f"critic {c + 1}", *three) for c, three in enumerate(
            zip(reference.critics, update["critics"], before["critics"], strict=True))]
        for what, network, tensors, first in pairs:
            expected = np.concatenate([tensor.ravel() for tensor in network.tensors])
            flat = np.concatenate([np.array(tensor) for tensor in tensors])
            moved = np.max(np.abs(expected - np.concatenate([np.array(t) for t in first])))
            errors.add("parameters", f"{where}, {what}", flat, expected, moved or 1e-9)
        errors.add("alpha", f"{where}, alpha", update["alpha"], reference.alpha,
                   np.linalg.norm(reference.alpha))
        numbers = {**reference.report, "temperature": reference.temperature(),
                   "members": len(reference.members()), "fallbacks": reference.fallbacks}
        for key, expected in numbers.items():
            tolerance = 1 + abs(expected) if key != "fallbacks" else 1
            errors.add("numbers", f"{where}, {key}", update[key], expected, tolerance)
    errors.add("numbers", f"{name}, updates", len(found["updates"]), updates, 1)
    errors.add("numbers", f"{name}, ids", diagnosis["ids"], reference.ids, 1)
    errors.add("targets", f"{name}, targets", diagnosis["targets"], reference.targets, 1)


def line_of(algorithm, updates, keys):
    keys = {**COMMON, **keys, "agent.algorithm": algorithm}
    return "\t".join([str(updates), *(f"{key}={value}" for key, value in keys.items())])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    errors = Errors()
    mixed = 0
    with tempfile.TemporaryDirectory() as directory:
        text = "".join(line_of(*case) + "\n" for case in CASES)
        output = subprocess.run([sys.argv[1], directory], input=text, text=True,
                                stdout=subprocess.PIPE, check=True).stdout
        answers = [json.loads(line) for line in output.splitlines()]
        if len(answers) != len(CASES):
            sys.exit(f"MISMATCH: {len(CASES)} cases, {len(answers)} answers")
        for case, ((algorithm, updates, keys), found) in enumerate(zip(CASES, answers)):
            name = " ".join([algorithm, *(f"{key}={value}" for key, value in keys.items())])
            reference = Reference(algorithm, {**COMMON, **keys}, found["states"], found["before"])
            with np.load(Path(directory) / f"{case}.npz") as diagnosis:
                compare(name, reference, found, updates, diagnosis, errors)
            mixed += len(reference.alpha) > 1
    worst = ", ".join(f"{kind} {error:.1e}" for kind, error in errors.worst.items())
    if errors.wrong:
        print("MISMATCH:\n" + "\n".join(errors.wrong[:20]) + f"\nlargest errors: {worst}")
        sys.exit(1)
    print(f"{len(CASES)} cases ({mixed} end with several members): largest errors: {worst}")


if __name__ == "__main__":
    main()
