"""Reads the files of a run with the programs they are meant for: TensorBoard, NumPy and safetensors.

usage: run_files_crosscheck.py PROGRAM     (the program built from run_files_crosscheck.cc)

Exits with 0 if everything is as written, 1 if not, 77 if one of these packages is missing.
"""

import logging
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

STEPS = 300
CUT_AFTER = 150  # what followed in the first part is gone
ODD = [np.inf, -np.inf, np.nan, 0.0, -0.0, np.inf, 0.0, 0.1]  # 1e300 and 1e-50 as floats

NETWORKS = {
    "nature": {
        "layers.0.weight": (32, 4, 8, 8),
        "layers.0.bias": (32,),
        "layers.2.weight": (64, 32, 4, 4),
        "layers.2.bias": (64,),
        "layers.4.weight": (64, 64, 3, 3),
        "layers.4.bias": (64,),
        "value.0.weight": (512, 3136),
        "value.0.bias": (512,),
        "value.2.weight": (1, 512),
        "value.2.bias": (1,),
        "advantage.0.weight": (512, 3136),
        "advantage.0.bias": (512,),
        "advantage.2.weight": (6, 512),
        "advantage.2.bias": (6,),
    },
    "mlp": {
        "layers.0.weight": (64, 4),
        "layers.0.bias": (64,),
        "layers.2.weight": (33, 64),
        "layers.2.bias": (33,),
        "layers.4.weight": (3, 33),
        "layers.4.bias": (3,),
    },
}
SPECS = {
    "nature": "frames(4, 84, 84, 255) conv(32, 8, 4) relu conv(64, 4, 2) relu conv(64, 3, 1) relu "
    "flatten dueling{linear(512) relu linear(1) | linear(512) relu linear(6)}",
    "mlp": "vector(4) linear(64) relu linear(33) relu linear(3)",
}

mismatches = []


def check(what, correct):
    if not correct:
        mismatches.append(what)


def same(a, b):
    """Compares type, shape and every bit, so that signs of zeros count; NaNs equal NaNs."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape or not np.array_equal(a, b, a.dtype.kind == "f"):
        return False
    return a.dtype.kind != "f" or bool(np.all((np.signbit(a) == np.signbit(b)) | np.isnan(a)))


def expected_scalars():
    x = np.arange(1, STEPS + 1)
    part = np.where(x <= CUT_AFTER, 1, 2)
    return {
        "train/loss": (1 / x).astype(np.float32),
        "eval/return_mean": (1000 * part + x).astype(np.float32),
        "odd": np.array([ODD[i % len(ODD)] for i in x], dtype=np.float32),
    }


def check_events(path, began):
    events = EventAccumulator(str(path), size_guidance={"scalars": 0})
    events.Reload()
    check("the version of the event file", events.file_version == 2.0)
    check("the time of the first event", began <= events.FirstEventTimestamp() <= time.time())
    expected = expected_scalars()
    check("tags of the event file", sorted(events.Tags()["scalars"]) == sorted(expected))
    x = np.arange(1, STEPS + 1)
    for tag, values in expected.items():
        found = events.Scalars(tag)
        check(f"steps of {tag}", [event.step for event in found] == list(10 * x))
        check(f"times of {tag}", [event.wall_time for event in found] == list(1.7e9 + 0.5 * x))
        check(f"values of {tag}", same(np.array([e.value for e in found], np.float32), values))


def record_ends(content):
    ends, at = [], 0
    while at < len(content):
        at += 8 + 4 + int.from_bytes(content[at : at + 8], "little") + 4
        ends.append(at)
    check("records that fill the event file", at == len(content))
    return ends


def check_damage(path):
    """TensorBoard stops at a record with a wrong checksum, so it does check ours."""
    logging.getLogger("tensorboard").setLevel(logging.CRITICAL)
    content = path.read_bytes()
    ends = record_ends(content)
    check("the number of records", len(ends) == 1 + STEPS)
    damaged = path.with_name("damaged")
    begin, end = ends[99], ends[100]  # of record 100
    for at in range(begin, end):
        changed = bytearray(content)
        changed[at] ^= 1
        damaged.write_bytes(changed)
        read = sum(1 for _ in LegacyEventFileLoader(str(damaged)).Load())
        check(f"TensorBoard overlooks damage at byte {at - begin} of a record", read == 100)
    return end - begin


def check_arrays(path):
    expected = {
        "bytes": np.arange(256, dtype=np.uint8),
        "floats": (np.arange(24, dtype=np.float32) - np.float32(11.5)).reshape(2, 3, 4),
        "doubles": np.cumsum(np.array([0.1] + [1.0] * 34)).reshape(5, 7),
        "ints": np.arange(-4, 5, dtype=np.int32),
        "longs": (2**60 + np.arange(3, dtype=np.int64)).reshape(3, 1),
        "scalar": np.array(np.nan),
        "empty": np.zeros(0, np.float32),
        "empty rows": np.zeros((4, 0, 2), np.int64),
        "names/\u03b3": np.array([0.99], np.float32),
        "stream": np.repeat(np.arange(1000) % 256, 84).astype(np.uint8).reshape(1000, 84),
    }
    with np.load(path, allow_pickle=False) as arrays:
        check("names in arrays.npz", arrays.files == list(expected))
        check("checksums in arrays.npz", arrays.zip.testzip() is None)
        for name, array in expected.items():
            found = arrays[name]
            check(f"array {name}", same(found, array) and found.flags.c_contiguous)
    return len(expected)


def expected_tensor(index, shape):
    k = np.arange(np.prod(shape), dtype=np.int64)
    values = (1000003 * index + 7919 * k) % 65521 / 65536 - 0.5
    return values.astype(np.float32).reshape(shape)


def check_network(directory, name):
    shapes = NETWORKS[name]
    weights = load_file(directory / f"{name}.safetensors")
    check(f"tensors of {name}: {sorted(weights)}", sorted(weights) == sorted(shapes))
    with np.load(directory / f"{name}.npz", allow_pickle=False) as arrays:
        check(f"order of the tensors of {name}", arrays.files == list(shapes))
        for index, (tensor, shape) in enumerate(shapes.items()):
            expected = expected_tensor(index, shape)
            check(f"{tensor} of {name} in safetensors", same(weights.get(tensor), expected))
            check(f"{tensor} of {name} in npz", same(arrays[tensor], expected))
    with safe_open(directory / f"{name}.safetensors", framework="numpy") as file:
        metadata = file.metadata()
    version = metadata.pop("stableaa.version", "")
    check(f"version of {name}", version != "")
    wanted = {"format": "pt", "stableaa.spec": SPECS[name], "stableaa.steps": "50000"}
    check(f"metadata of {name}: {metadata}", metadata == wanted)
    return len(shapes)


def check_foreign(program, directory):
    """A file that safetensors writes, with other names and types, as this library reads it."""
    names = {"layers.0": "net.8", "layers.2": "net.9", "layers.4": "net.10"}
    random = np.random.default_rng(1)
    expected, written = {}, {}
    for index, (tensor, shape) in enumerate(NETWORKS["mlp"].items()):
        module, kind = tensor.rsplit(".", 1)
        values = random.normal(size=shape).astype([np.float32, np.float64, np.float16][index % 3])
        written[f"{names[module]}.{kind}"] = values
        expected[tensor] = values.astype(np.float32)
    save_file(written, directory / "foreign.safetensors")
    subprocess.run([program, str(directory), str(directory / "foreign.safetensors")], check=True)
    with np.load(directory / "foreign.npz", allow_pickle=False) as arrays:
        for tensor, values in expected.items():
            check(f"{tensor} of a foreign file", same(arrays[tensor], values))
    return len(expected)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        began = time.time()
        subprocess.run([sys.argv[1], temporary], check=True)
        check_events(directory / "events.out.tfevents.1", began)
        damages = check_damage(directory / "events.out.tfevents.1")
        arrays = check_arrays(directory / "arrays.npz")
        tensors = sum(check_network(directory, name) for name in NETWORKS)
        foreign = check_foreign(sys.argv[1], directory)
    if mismatches:
        print("MISMATCH: " + "; ".join(mismatches))
        sys.exit(1)
    print(
        f"TensorBoard reads {STEPS} events and notices {damages} damages, NumPy reads {arrays} "
        f"arrays and safetensors {tensors} tensors, all as written; its own {foreign} are read"
    )


if __name__ == "__main__":
    main()
