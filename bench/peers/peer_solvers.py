"""Solves one model with one peer, in a process of its own; peer_runs.py starts it.

Usage: peer_solvers.py PEER MODEL.npz VALUES.npy [--discount G] --tolerance E --memory BYTES
       peer_solvers.py --load READER FILE --timeout S --memory BYTES

Every line of standard input is a turn: it holds the CPU seconds that solving may take. For each the
peer solves the model from the start, with objects made anew.

Each peer is a function that takes the model and returns two others: solve() does the work that is
timed, values() takes the answer out of the peer's objects afterwards. The options that a peer gets
are those for which its documentation or source promises the tolerance in the sup norm:

- quantecon: `epsilon` twice the tolerance, because the values are within epsilon / 2 (value
  iteration by the usual stopping rule, modified policy iteration by the span, with the shift).
  `max_iter` out of reach: the default of 250 ends as if it had converged. Policy iteration is exact
  but goes round in circles between equally good policies: it keeps its limit of 250.
- MDPSolver: with standard updates it stops on the span and shifts by the lower bound (only with
  `postProcessing`), so `tolerance` is that of the values; with Gauss-Seidel updates on the sup norm
  with epsilon / 2. One thread (`parallel` off).
- Storm has discounted rewards of its own, by value iteration; `precision` is the tolerance when the
  criterion is absolute (the default is relative). Its other methods get the equivalent model
  without discount: probabilities times gamma, the rest to a sink, expected reward until the sink.
  Optimistic value iteration guarantees the precision; the topological one stops on the difference
  of two iterates, and policy iteration takes no improvement smaller than the precision, so both
  get the tolerance times 1 - gamma. They want no negative rewards: costs are negated and
  minimised, mixed rewards are shifted.

The time-out is in CPU seconds (ITIMER_PROF, whose signal ends the process), so that a busy machine
ends nothing early. Prints two JSON objects per turn: one when the peer is ready to solve, one with
the time that solving took, after the values are in VALUES.npy.
"""

import argparse
import json
import pathlib
import resource
import signal
import sys
import time

import numpy as np
import scipy.sparse as sparse

NEVER = 10**9  # iterations


class Model:
    """The arrays of an .npz of stableaa: rows are pairs of state and action, in order."""

    def __init__(self, path):
        arrays = np.load(path)
        self.discount = float(arrays["discount"])
        self.state_rows = arrays["state_ptr"]
        self.rewards = arrays["reward"]
        self.states, self.rows = len(self.state_rows) - 1, len(self.rewards)
        self.matrix = sparse.csr_matrix(
            (arrays["data"], arrays["indices"], arrays["indptr"].astype(np.int32)),
            shape=(self.rows, self.states))

    def row_states(self):
        return np.repeat(np.arange(self.states), np.diff(self.state_rows))

    def row_actions(self):
        return np.arange(self.rows) - np.repeat(self.state_rows[:-1], np.diff(self.state_rows))

    def backup(self, values):
        """T values, the best action of each state."""
        return np.maximum.reduceat(self.rewards + self.discount * (self.matrix @ values),
                                   self.state_rows[:-1])


def two_states():
    """A model small enough to compile quantecon's functions on."""
    model = Model.__new__(Model)
    model.discount, model.states, model.rows = 0.5, 2, 4
    model.state_rows = np.array([0, 2, 4])
    model.rewards = np.array([0.0, 1.0, 2.0, 0.5])
    model.matrix = sparse.csr_matrix(np.array([[1, 0], [0, 1], [1, 0], [0.5, 0.5]]))
    return model


def quantecon(method, sweeps=20):
    from quantecon.markov import DiscreteDP

    def prepare(model, tolerance):
        def problem_of(some):
            return DiscreteDP(some.rewards, some.matrix, some.discount, some.row_states(),
                              some.row_actions())

        options = {"method": method, "epsilon": 2 * tolerance, "k": sweeps,
                   "max_iter": 250 if method == "policy_iteration" else NEVER}
        problem_of(two_states()).solve(**options)
        problem = problem_of(model)
        return lambda: problem.solve(**options), lambda result: result.v

    return prepare


def nested(flat, offsets):
    return [flat[first:last] for first, last in zip(offsets[:-1], offsets[1:])]


def mdpsolver(algorithm, update):
    import mdpsolver as package

    def prepare(model, tolerance):
        offsets, states = model.matrix.indptr.tolist(), model.state_rows.tolist()
        solver = package.model()
        solver.mdp(discount=model.discount,
                   rewards=nested(model.rewards.tolist(), states),
                   tranMatProbs=nested(nested(model.matrix.data.tolist(), offsets), states),
                   tranMatColumns=nested(nested(model.matrix.indices.tolist(), offsets), states))
        epsilon = tolerance if update == "standard" else 2 * tolerance
        solve = lambda: solver.solve(algorithm=algorithm, update=update, tolerance=epsilon,
                                     parallel=False, verbose=False)
        return solve, lambda _: np.array(solver.getValueVector())

    return prepare


def storm_model(matrix, state_rows, rewards, sink=False):
    import stormpy
    entries = matrix.tocoo()
    builder = stormpy.datastructures.SparseMatrixBuilder[float](
        rows=matrix.shape[0], columns=matrix.shape[1], entries=matrix.nnz,
        has_custom_row_grouping=True, row_groups=matrix.shape[1])
    builder.add_next_values(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(),
                            state_rows[:-1].tolist())
    labels = stormpy.models.StateLabeling(matrix.shape[1])
    labels.add_label("init")
    labels.add_label_to_state("init", 0)
    if sink:
        labels.add_label("sink")
        labels.add_label_to_state("sink", matrix.shape[1] - 1)
    reward_model = stormpy.models.SparseRewardModel[float](
        optional_state_action_reward_vector=rewards.tolist())
    components = stormpy.models.SparseModelComponents[float](
        transition_matrix=builder.build(), state_labeling=labels,
        reward_models={"reward": reward_model})
    return stormpy.models.SparseMdp[float](components)


def storm_environment(precision, method=None, equations=None):
    import stormpy
    environment = stormpy.Environment()
    settings = environment.solver().min_max()
    settings.precision = stormpy.Rational(precision)
    settings.relative_termination_criterion = False
    if method:
        settings.method = getattr(stormpy.environments.MinMaxMethod, method)
    if equations:
        environment.solver().set_linear_equation_solver_type(
            getattr(stormpy.environments.EquationSolverType, equations))
    return environment


def storm_solve(model, formula, environment):
    import stormpy
    formula = stormpy.parse_properties(formula)[0]
    return lambda: stormpy.model_checking(model, formula, environment=environment)


def storm_discounted():
    def prepare(model, tolerance):
        problem = storm_model(model.matrix, model.state_rows, model.rewards)
        solve = storm_solve(problem, f"Rmax=? [Cdiscount={model.discount!r}]",
                            storm_environment(tolerance))
        return solve, lambda result: np.array(result.get_value_vector())

    return prepare


def storm_sink(method, equations=None, guaranteed=False):
    def prepare(model, tolerance):
        scale = 1.0 - model.discount
        column = np.concatenate([np.full(model.rows, scale), [1.0]])[:, None]
        moves = sparse.vstack([model.discount * model.matrix, sparse.csr_matrix((1, model.states))])
        matrix = sparse.hstack([moves, sparse.csr_matrix(column)], format="csr")
        costs = model.rewards.max() <= 0.0
        shift = 0.0 if costs or model.rewards.min() >= 0.0 else model.rewards.min()
        rewards = -model.rewards if costs else model.rewards - shift
        problem = storm_model(matrix, np.append(model.state_rows, model.rows + 1),
                              np.append(rewards, 0.0), sink=True)
        precision = tolerance if guaranteed else tolerance * scale
        solve = storm_solve(problem, f"R{'min' if costs else 'max'}=? [F \"sink\"]",
                            storm_environment(precision, method, equations))

        def values(result):
            answer = np.array(result.get_value_vector())[:-1]
            return -answer if costs else answer + shift / scale

        return solve, values

    return prepare


# The ones that are often the fastest first, so that --give-up of solve.py knows early when to.
PEERS = {
    "storm topological": lambda: storm_sink("TOPOLOGICAL"),
    "quantecon mpi": lambda: quantecon("modified_policy_iteration"),
    "quantecon mpi k=200": lambda: quantecon("modified_policy_iteration", 200),
    "quantecon pi": lambda: quantecon("policy_iteration"),
    "quantecon vi": lambda: quantecon("value_iteration"),
    "mdpsolver mpi": lambda: mdpsolver("mpi", "standard"),
    "mdpsolver mpi gs": lambda: mdpsolver("mpi", "gs"),
    "mdpsolver vi": lambda: mdpsolver("vi", "standard"),
    "storm discounted": storm_discounted,
    "storm ovi": lambda: storm_sink("OPTIMISTIC_VALUE_ITERATION", guaranteed=True),
    "storm pi": lambda: storm_sink("POLICY_ITERATION", "EIGEN"),
}


def load_drn(path):
    import stormpy
    return lambda: stormpy.build_model_from_drn(str(path))


def load_mdpsolver(path):
    """Transitions beside rewards, in the files that MDPSolver reads."""
    import mdpsolver as package
    rewards = path.with_name(path.stem + "-rewards.csv")
    return lambda: package.model().mdp(discount=0.5, tranMatFromFile=str(path),
                                       rewardsFromFile=str(rewards))


READERS = {"storm drn": load_drn, "mdpsolver csv": load_mdpsolver}


def cpu_seconds():
    """Of this process. While ITIMER_PROF runs, time.process_time() moves only once per tick."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def timed(work):
    """Result, CPU seconds, wall seconds."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    result = work()
    return result, cpu_seconds() - cpu, time.perf_counter() - wall


def limit_cpu(seconds):
    """The process ends by SIGPROF after so many CPU seconds from now."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def report(**row):
    print(json.dumps(row), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="+", metavar="PEER MODEL.npz VALUES.npy | FILE")
    parser.add_argument("--load", choices=READERS)
    parser.add_argument("--discount", type=float, help="wins over the model's")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--memory", type=int, default=12 * 10**9)
    return parser.parse_args()


def load(arguments):
    read = READERS[arguments.load](pathlib.Path(arguments.what[0]))
    limit_cpu(arguments.timeout)
    _, cpu, wall = timed(read)
    report(stage="load", cpu=cpu, wall=wall)


def solve_in_turns(peer, model, values_file, tolerance):
    for turn in sys.stdin:
        # Building a peer's model may take longer than solving it; that is not what is measured.
        limit_cpu(max(300.0, float(turn)))
        (solve, values), cpu, wall = timed(lambda: PEERS[peer]()(model, tolerance))
        report(stage="ready", cpu=cpu, wall=wall)
        limit_cpu(float(turn))
        result, cpu, wall = timed(solve)
        limit_cpu(0)
        np.save(values_file, values(result))
        report(stage="solved", cpu=cpu, wall=wall)


def main():
    arguments = parse_arguments()
    resource.setrlimit(resource.RLIMIT_AS, (arguments.memory, arguments.memory))
    if arguments.load:
        load(arguments)
        return
    peer, model_file, values_file = arguments.what
    model = Model(model_file)
    if arguments.discount is not None:
        model.discount = arguments.discount
    solve_in_turns(peer, model, values_file, arguments.tolerance)


if __name__ == "__main__":
    main()
