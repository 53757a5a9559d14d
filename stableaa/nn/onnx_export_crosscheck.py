"""Runs exported networks in ONNX Runtime and compares their values with the library's.

Usage: onnx_export_crosscheck.py PROGRAM, which is onnx_export_crosscheck.cc. Called as `PROGRAM
DIR`, it writes for each case
  DIR/<case>.onnx   the network
  DIR/<case>.json   {"shape": of an observation, "observations": [...], "q": [...]}, of 7 samples;
                    of actors "actions", "action_shape", "low" and "high" in the place of "q"
ONNX's own checker has to accept the model, and the values have to agree for all samples at once and
for each alone. An error is the largest difference relative to the largest value; of actions, each
element's relative to its largest. Actions have to be within their bounds, and at them where the library's are.

Exits with 0 if all agree, 1 if any does not, 77 (skipped) without onnx and onnxruntime.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"onnx_export_crosscheck: skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-5
COUNT = 7
TYPES = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32}


def check_model(path, shape, output):
    """Returns a session that runs the model. `output` is the name of its output."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    operators = [(entry.domain, entry.version) for entry in model.opset_import]
    assert model.ir_version == 8 and operators == [("", 17)]
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert metadata["case"] == path.stem
    assert metadata["stableaa.spec"] and metadata["stableaa.version"]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (given,), (made,) = session.get_inputs(), session.get_outputs()
    assert (given.name, given.shape) == ("observation", ["batch", *shape]), given
    assert (made.name, made.type, made.shape[0]) == (output, "tensor(float)", "batch"), made
    return session


def error_of_case(path):
    case = json.loads(path.with_suffix(".json").read_text())
    output = "actions" if "actions" in case else "q_values"
    session = check_model(path, case["shape"], output)
    observations = np.array(case["observations"], TYPES[session.get_inputs()[0].type])
    observations = observations.reshape(COUNT, *case["shape"])
    if output == "actions":
        expected = np.array(case["actions"]).reshape(COUNT, *case["action_shape"])
        assert session.get_outputs()[0].shape == ["batch", *case["action_shape"]]
        low, high = (np.array(case[bound], np.float32).reshape(case["action_shape"])
                     for bound in ("low", "high"))
        scale = np.maximum(np.abs(low), np.abs(high))
    else:
        expected = np.array(case["q"]).reshape(COUNT, -1)
        scale = np.abs(expected).max()

    def values(batch):
        return session.run([output], {"observation": batch})[0]

    together = values(observations)
    alone = np.concatenate([values(observations[i : i + 1]) for i in range(COUNT)])
    if output == "actions":
        assert np.all((low <= together) & (together <= high)), path.stem
        for bound in (low, high):  # reached where the program reaches it
            at = expected == bound.astype(np.float64)
            assert np.all((together == bound)[at]), path.stem
    return max((np.abs(found - expected) / scale).max() for found in (together, alone))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: onnx_export_crosscheck.py PROGRAM")
    errors = {}
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.argv[1], name], check=True)
        for path in sorted(pathlib.Path(name).glob("*.onnx")):
            error = errors[path.stem] = error_of_case(path)
            print(f"{'ok' if error <= TOLERANCE else 'DIFFERS':7} {path.stem}: {error:.1e}")
    if not errors:
        sys.exit("onnx_export_crosscheck: the program wrote no cases")
    worst = max(errors.values())
    print(f"{len(errors)} cases, worst {worst:.1e} (at most {TOLERANCE:.0e})")
    sys.exit(0 if worst <= TOLERANCE else 1)


if __name__ == "__main__":
    main()
