"""Compares the .npz models with NumPy and SciPy, both ways.

Random models are saved by NumPy in many ways (stored and deflated, all types of numbers, either
byte order, next states out of order, repeated and zero), converted by the program and loaded by
NumPy again: SciPy's own sorting and summing must give the same arrays.

Usage: npz_crosscheck.py PROGRAM, the program built from npz_crosscheck.cc.
Exits with 0 if all agree, 1 if any does not, 77 (skipped) without NumPy and SciPy.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy import sparse
except ImportError as error:
    print(f"npz_crosscheck: skipped: {error}")
    sys.exit(77)

SEED = 20210608
CASES = 300
INTEGERS = [order + kind for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8")]
SIXTEENTHS = 16  # probabilities are multiples of 1/16: exact in every type


def random_model(random):
    """State offsets, the transition matrix as SciPy takes it, rewards."""
    states = int(random.integers(1, 40))
    actions = random.integers(1, 4, states)
    state_ptr = np.concatenate([[0], np.cumsum(actions)])
    indptr, indices, data = [0], [], []
    for _ in range(state_ptr[-1]):
        next_states = random.integers(0, states, random.integers(1, 8))  # any order, repeated
        weights = random.multinomial(SIXTEENTHS, np.ones(len(next_states)) / len(next_states))
        indices.extend(next_states)
        data.extend(weights / SIXTEENTHS)  # zeros among them
        indptr.append(len(indices))
    matrix = sparse.csr_matrix((np.array(data), np.array(indices), np.array(indptr)),
                               shape=(state_ptr[-1], states))
    rewards = random.integers(-8, 8, state_ptr[-1]) / 4
    return state_ptr, matrix, rewards


def save(path, random, model):
    """Returns the discount, or None."""
    state_ptr, matrix, rewards = model
    integer = lambda: INTEGERS[random.integers(len(INTEGERS))]
    real = lambda: ("<f4", "<f8", ">f4", ">f8")[random.integers(4)]
    arrays = {
        "state_ptr": state_ptr.astype(integer()),
        "indptr": matrix.indptr.astype(integer()),
        "indices": matrix.indices.astype(integer()),
        "data": matrix.data.astype(real()),
        "reward": rewards.astype(real()),
    }
    discount = (None, 0.5, np.array([0.25]), np.float32(0.75), 0)[random.integers(5)]
    if discount is not None:
        arrays["discount"] = discount
    if random.integers(2):
        arrays["shape"] = np.array(matrix.shape)
    write = np.savez_compressed if random.integers(2) else np.savez
    write(path, **arrays)
    return None if discount is None else float(np.ravel(discount)[0])


def mismatches(path, model, discount):
    """The parts of what the program wrote that differ from SciPy's canonical form."""
    state_ptr, matrix, rewards = model
    expected = matrix.copy()
    expected.sum_duplicates()
    expected.eliminate_zeros()
    found = np.load(path)
    canonical = {"state_ptr": state_ptr, "indptr": expected.indptr, "indices": expected.indices,
                 "data": expected.data, "reward": rewards}
    for name, values in canonical.items():
        if not np.array_equal(found[name], values):
            yield f"{name}: {found[name]}, expected {values}"
    types = {"state_ptr": "<i8", "indptr": "<i8", "indices": "<i4", "data": "<f8", "reward": "<f8"}
    for name, dtype in types.items():
        if found[name].dtype.str != dtype:
            yield f"{name} is {found[name].dtype.str}, expected {dtype}"
    saved = float(found["discount"]) if "discount" in found else None
    if saved != discount:
        yield f"discount {saved}, expected {discount}"
    again = sparse.csr_matrix((found["data"], found["indices"], found["indptr"]),
                              shape=matrix.shape)
    if (again != expected).nnz != 0:
        yield "SciPy reads another matrix"


def main():
    random = np.random.default_rng(SEED)
    wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        models, discounts, lines = [], [], []
        for i in range(CASES):
            models.append(random_model(random))
            discounts.append(save(folder / f"in{i}.npz", random, models[-1]))
            lines.append(f"{folder}/in{i}.npz {folder}/out{i}.npz")
        # What the program wrote it must read again, bit by bit.
        lines += [f"{folder}/out{i}.npz {folder}/again{i}.npz" for i in range(CASES)]
        run = subprocess.run([sys.argv[1]], input="\n".join(lines) + "\n", text=True,
                             capture_output=True, check=True)
        answers = run.stdout.splitlines()
        assert len(answers) == len(lines), "an answer for every question"
        for i, answer in enumerate(answers):
            found = [] if answer.startswith("read") else [answer]
            if not found and i < CASES:
                with np.load(folder / f"in{i}.npz") as saved:
                    if answer != "read" + (" array 'shape'" if "shape" in saved else ""):
                        found.append(answer)
                found += mismatches(folder / f"out{i}.npz", models[i], discounts[i])
            elif not found:
                first = (folder / f"out{i - CASES}.npz").read_bytes()
                if first != (folder / f"again{i - CASES}.npz").read_bytes():
                    found.append("another file when read and written again")
            for mismatch in found:
                wrong += 1
                print(f"model {i}: {mismatch}")
    print(f"npz_crosscheck: {CASES} models, {wrong} mismatches")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
