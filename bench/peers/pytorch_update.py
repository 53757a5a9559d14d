"""Times PyTorch (CPU) on the networks of `stableaa bench nn`.

Usage: pytorch_update.py [--network NAME] [--pass update|forward|act] [--batch N] [--threads N]
                         [--memory-format fastest|contiguous|channels_last] [--against PROGRAM]

Pass update is one step of DQN: the target network's forward on the next states, the online
network's forward and backward on the states, and RMSprop. Pass forward is a forward without
gradients (batch 256 unless given), pass act the same for one state. Prints one JSON object per
line. PyTorch is given its best: the faster of its two memory formats, unless one is named, and of
its two implementations of RMSprop on a CPU.

--against PROGRAM runs `PROGRAM bench nn --network NAME --pass P --batch N --threads N --json` in
turns with PyTorch and prints how many times as fast it is, by the medians: a machine's speed
changes from minute to minute, so two numbers can be compared only if they come from the same
stretch of time.

Exits with 77 (skipped) without PyTorch.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time

try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"pytorch_update: skipped: {error}")
    sys.exit(77)

GAMMA = 0.99
WARM_UP = 5
ITERATIONS = 30  # at least
SECONDS = 1.0  # at least, of one measurement
ROUNDS = 5  # of taking turns


class Dueling(nn.Module):
    def __init__(self, body, features, hidden, actions):
        super().__init__()
        self.body = body
        self.value = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.advantage = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(),
                                       nn.Linear(hidden, actions))

    def forward(self, x):
        x = self.body(x)
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(dim=1, keepdim=True)


def with_head(body, features, hidden, actions, dueling):
    if dueling:
        return Dueling(nn.Sequential(*body), features, hidden, actions)
    return nn.Sequential(*body, nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, actions))


def nature(dueling):
    body = [nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten()]
    return with_head(body, 64 * 7 * 7, 512, 18, dueling)


def minatar(dueling):
    body = [nn.Conv2d(4, 16, 3, 1), nn.ReLU(), nn.Flatten()]
    return with_head(body, 16 * 8 * 8, 128, 6, dueling)


def mlp():
    return nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                         nn.Linear(128, 2))


# Name: module, shape of a state, what its bytes are divided by (None: floats), actions.
NETWORKS = {
    "nature": (lambda: nature(False), (4, 84, 84), 255, 18),
    "nature-dueling": (lambda: nature(True), (4, 84, 84), 255, 18),
    "minatar": (lambda: minatar(False), (4, 10, 10), 1, 6),
    "minatar-dueling": (lambda: minatar(True), (4, 10, 10), 1, 6),
    "mlp": (mlp, (4,), None, 2),
}
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


class Case:
    """One network, pass and variant; run() does the work once."""

    def __init__(self, network, which, batch, memory_format, foreach):
        make, self.shape, self.divisor, self.actions = NETWORKS[network]
        self.memory_format = FORMATS[memory_format]
        self.online = make().to(memory_format=self.memory_format)
        self.states = self.random_states(batch)
        if which == "update":
            self.prepare_update(make, batch, foreach)
            self.run = self.update
        else:
            self.run = self.forward

    def random_states(self, batch):
        if self.divisor is None:
            return torch.randn(batch, *self.shape)
        return torch.randint(0, 256 if self.divisor == 255 else 2, (batch, *self.shape),
                             dtype=torch.uint8)

    def prepare_update(self, make, batch, foreach):
        self.target = make().to(memory_format=self.memory_format)
        self.optimizer = torch.optim.RMSprop(self.online.parameters(), lr=2.5e-4, alpha=0.95,
                                             eps=0.01, foreach=foreach)
        self.next_states = self.random_states(batch)
        self.taken = torch.randint(0, self.actions, (batch, 1))
        self.rewards = torch.randn(batch)
        self.dones = (torch.rand(batch) < 0.1).float()

    def as_input(self, states):
        if self.divisor is None:
            return states
        states = states.to(torch.float32, memory_format=self.memory_format)
        return states.div_(self.divisor) if self.divisor != 1 else states

    @torch.no_grad()
    def forward(self):
        return self.online(self.as_input(self.states))

    def update(self):
        with torch.no_grad():
            best = self.target(self.as_input(self.next_states)).max(dim=1).values
            y = self.rewards + GAMMA * (1 - self.dones) * best
        q = self.online(self.as_input(self.states)).gather(1, self.taken).squeeze(1)
        loss = nn.functional.mse_loss(q, y)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def median_ms(self):
        for _ in range(WARM_UP):
            self.run()
        times = []
        begin = time.perf_counter()
        while len(times) < ITERATIONS or time.perf_counter() - begin < SECONDS:
            start = time.perf_counter()
            self.run()
            times.append(time.perf_counter() - start)
        return 1e3 * statistics.median(times)


def cases_of(arguments):
    """By (memory format, foreach)."""
    formats = [arguments.memory_format]
    if arguments.memory_format == "fastest":
        # A format of four sides says nothing to vectors.
        formats = ["contiguous"] if arguments.network == "mlp" else list(FORMATS)
    foreachs = [False, True] if arguments.which == "update" else [False]
    return {variant: Case(arguments.network, arguments.which, arguments.batch, *variant)
            for variant in itertools.product(formats, foreachs)}


def program_ms(arguments):
    """Milliseconds of the same work by the program, from its JSON lines."""
    command = [arguments.against, "bench", "nn", "--network", arguments.network, "--pass",
               arguments.which, "--batch", str(arguments.batch), "--threads",
               str(arguments.threads), "--json"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    for line in run.stdout.splitlines():
        row = json.loads(line) if line.startswith("{") else {}
        if (row.get("network"), row.get("pass"), row.get("batch"), row.get("threads")) == (
                arguments.network, arguments.which, arguments.batch, arguments.threads):
            return row["ms"]
    sys.exit(f"pytorch_update: no pass {arguments.which} at batch {arguments.batch} in the output "
             f"of: {' '.join(command)}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=NETWORKS, default="nature-dueling")
    parser.add_argument("--pass", dest="which", choices=["update", "forward", "act"],
                        default="update")
    parser.add_argument("--batch", type=int, help="default: 32, forward 256, act 1")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory-format", choices=["fastest", *FORMATS], default="fastest")
    parser.add_argument("--against", metavar="PROGRAM")
    arguments = parser.parse_args()
    if arguments.memory_format == "channels_last" and arguments.network == "mlp":
        parser.error("channels_last is for frames, mlp takes vectors")
    if arguments.batch is None:
        arguments.batch = {"update": 32, "forward": 256, "act": 1}[arguments.which]
    return arguments


def main():
    arguments = parse_arguments()
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    cases = cases_of(arguments)
    theirs = {variant: [] for variant in cases}
    ours = []
    for _ in range(ROUNDS if arguments.against else 1):
        for variant, case in cases.items():
            theirs[variant].append(case.median_ms())
        if arguments.against:
            ours.append(program_ms(arguments))
    medians = {variant: statistics.median(times) for variant, times in theirs.items()}
    fastest = min(medians, key=medians.get)
    work = {"network": arguments.network, "batch": arguments.batch, "pass": arguments.which,
            "threads": arguments.threads}
    print(json.dumps({"peer": "pytorch", "version": torch.__version__, **work,
                      "memory_format": fastest[0], "foreach": fastest[1],
                      "ms": round(medians[fastest], 5)}))
    if ours:
        ms = statistics.median(ours)
        print(json.dumps({"peer": "stableaa", **work, "ms": round(ms, 5),
                          "times_as_fast": round(medians[fastest] / ms, 3)}))


if __name__ == "__main__":
    main()
