"""Compares outputs and gradients of networks with PyTorch's automatic differentiation.

Usage: network_crosscheck.py PROGRAM, which is network_crosscheck.cc. Called as `PROGRAM DIR`, it
writes for each case
  DIR/<case>.safetensors            weights by PyTorch's names, the spec in metadata "stableaa.spec"
  DIR/<case>.json                   {"count": n, "input": [...], "outputs": [...],
                                    "output_gradients": [...], "input_gradients": [[...], ...]};
                                    frames as bytes in the order sample, channel, row, column,
                                    vectors as floats, their parts joined; gradients with respect
                                    to the input by part, of vectors only
  DIR/<case>.gradients.safetensors  gradients by the weights' names
The spec becomes a PyTorch module, which loads exactly these weights and runs in double precision.
An error is the largest difference in a tensor relative to its largest value.

Exits with 0 if all agree, 1 if any does not, 77 (skipped) without PyTorch and safetensors.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors import safe_open
    from torch import nn
except ImportError as error:
    print(f"network_crosscheck: skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-5
SPEC_KEY = "stableaa.spec"
ACTIVATIONS = {"relu": nn.ReLU, "elu": nn.ELU, "tanh": nn.Tanh, "flatten": nn.Flatten}


class SpecReader:
    """Reads the text form of a network: an input, then layers."""

    def __init__(self, text):
        self.tokens = re.findall(r"[a-z]+|[-+.\de]+|[(){}|,]", text)
        self.parts = []  # sizes of a vector's parts
        self.shape, self.divisor = self.read_input()
        self.layers, self.streams = self.read_layers(self.shape)
        if self.tokens:
            raise ValueError(f"unexpected {self.tokens[0]} in the spec")

    def take(self, expected=None):
        if not self.tokens:
            raise ValueError(f"the spec ends where {expected or 'a word'} has to be")
        token = self.tokens.pop(0)
        if expected not in (None, token):
            raise ValueError(f"expected {expected} in the spec, found {token}")
        return token

    def arguments(self):
        self.take("(")
        values = [float(self.take())]
        while (token := self.take()) == ",":
            values.append(float(self.take()))
        if token != ")":
            raise ValueError(f"expected ) in the spec, found {token}")
        return values

    def read_input(self):
        kind = self.take()
        values = self.arguments()
        if kind in ("frames", "images"):
            return tuple(int(v) for v in values[:3]), values[3]
        if kind == "vector":
            self.parts = [int(v) for v in values]
            return (sum(self.parts),), None
        raise ValueError(f"unknown input {kind}")

    def read_layers(self, shape):
        """Modules up to the end of the text or stream, and the two streams of dueling."""
        modules = []
        while self.tokens and self.tokens[0] not in "|}":
            name = self.take()
            if name == "dueling":
                return modules, self.read_streams(shape)
            module, shape = self.read_layer(name, shape)
            modules.append(module)
        return modules, None

    def read_layer(self, name, shape):
        if name == "conv":
            filters, kernel, stride = (int(v) for v in self.arguments())
            sides = tuple((side - kernel) // stride + 1 for side in shape[1:])
            return nn.Conv2d(shape[0], filters, kernel, stride), (filters, *sides)
        if name == "linear":
            outputs = int(self.arguments()[0])
            return nn.Linear(shape[0], outputs), (outputs,)
        if name == "flatten":
            return nn.Flatten(), (torch.Size(shape).numel(),)
        return ACTIVATIONS[name](), shape

    def read_streams(self, shape):
        self.take("{")
        value, _ = self.read_layers(shape)
        self.take("|")
        advantage, _ = self.read_layers(shape)
        self.take("}")
        return value, advantage


class Network(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.layers = nn.Sequential(*spec.layers)
        self.dueling = spec.streams is not None
        if self.dueling:
            self.value = nn.Sequential(*spec.streams[0])
            self.advantage = nn.Sequential(*spec.streams[1])

    def forward(self, x):
        x = self.layers(x)
        if not self.dueling:
            return x
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(dim=1, keepdim=True)


def read_tensors(path):
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name).double() for name in file.keys()}
        return tensors, file.metadata() or {}


def error_of(found, expected):
    found, expected = found.double(), expected.detach().double()
    if found.shape != expected.shape or not torch.isfinite(found).all():
        return float("inf")
    scale = expected.abs().max().item()
    return (found - expected).abs().max().item() / (scale if scale > 0 else 1.0)


def errors_of_case(directory, case):
    """Returns (spec, {tensor name: error})."""
    weights, metadata = read_tensors(directory / f"{case}.safetensors")
    gradients, _ = read_tensors(directory / f"{case}.gradients.safetensors")
    run = json.loads((directory / f"{case}.json").read_text())
    spec = SpecReader(metadata[SPEC_KEY])
    network = Network(spec).double()
    network.load_state_dict(weights, strict=True)
    states = torch.tensor(run["input"], dtype=torch.float64).reshape(run["count"], *spec.shape)
    states.requires_grad_()
    outputs = network(states if spec.divisor is None else states / spec.divisor)
    outputs.backward(torch.tensor(run["output_gradients"], dtype=torch.float64).reshape_as(outputs))

    found = torch.tensor(run["outputs"], dtype=torch.float64)
    errors = {"outputs": error_of(found, outputs.reshape(-1))}
    for name, parameter in network.named_parameters():
        missing = name not in gradients
        errors[name] = float("inf") if missing else error_of(gradients[name], parameter.grad)
    if spec.parts:
        parts = states.grad.split(spec.parts, dim=1)
        for i, (found, part) in enumerate(zip(run["input_gradients"], parts, strict=True)):
            found = torch.tensor(found, dtype=torch.float64)
            errors[f"input, part {i}"] = error_of(found, part.reshape(-1))
    for name in gradients.keys() - {name for name, _ in network.named_parameters()}:
        errors[f"{name}, which no layer has"] = float("inf")
    return metadata[SPEC_KEY], errors


def check_all(directory):
    """Prints a line per case; returns their worst errors."""
    worst_errors = []
    for path in sorted(directory.glob("*.json")):
        spec, errors = errors_of_case(directory, path.stem)
        where = max(errors, key=errors.get)
        worst_errors.append(errors[where])
        verdict = "ok" if errors[where] <= TOLERANCE else "DIFFERS"
        print(f"{verdict:7} {path.stem}: {len(errors)} tensors, outputs {errors['outputs']:.1e}, "
              f"worst {errors[where]:.1e} ({where}): {spec}")
    return worst_errors


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: network_crosscheck.py PROGRAM")
    torch.set_num_threads(1)  # the networks are small
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.argv[1], name], check=True)
        worst_errors = check_all(pathlib.Path(name))
    if not worst_errors:
        sys.exit("network_crosscheck: the program wrote no cases")
    print(f"{len(worst_errors)} cases, worst {max(worst_errors):.1e} (at most {TOLERANCE:.0e})")
    sys.exit(0 if max(worst_errors) <= TOLERANCE else 1)


if __name__ == "__main__":
    main()
