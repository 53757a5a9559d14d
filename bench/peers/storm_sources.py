"""Models and properties from PRISM and JANI sources, built by Storm."""

import numpy as np
import scipy.sparse as sparse
import stormpy
from stormpy import logic
from stormpy.exceptions import StormError
from stormpy.models import ModelType

from explicit_models import (BadModel, ExplicitModel, model_name, normalised, reach_property,
                             reward_property)

UNNAMED = "reward"  # what we call a reward model without a name

# It would print to standard output what its exceptions say, too.
stormpy.developer.set_log_level(stormpy.developer.LogLevel.OFF)


def build(path, constants="", properties_text=""):
    """The model, its properties, and a line on each of those that are not of a kind we solve.

    The properties are those of the text, in PRISM's language, and those in the JANI file.
    """
    try:
        source, properties = parsed(path, constants, properties_text)
        options = stormpy.BuilderOptions(properties, source)
        options.set_build_all_labels()
        options.set_build_all_reward_models()
        built = stormpy.build_model(source, options=options)
        if built.model_type not in (ModelType.MDP, ModelType.DTMC):
            raise BadModel(f"{path} is a {built.model_type.name}, not an MDP or DTMC")
        name = model_name(path) + (f"[{constants}]" if constants else "")
        model = explicit(name, built)
        found, skipped = [], []
        for formula in (asked.get_raw_formula() for asked in properties):
            try:
                found.append(converted(formula, built, model))
            except BadModel as error:
                skipped.append(f"{name}: {formula}: {error}")
        return model, found, skipped
    except (StormError, RuntimeError, ValueError) as error:
        raise BadModel(f"Storm cannot build {path}: {' '.join(str(error).split())}") from error


def parsed(path, constants, properties_text):
    if path.suffix == ".jani":
        source, properties = stormpy.parse_jani_model(path)
    else:
        source, properties = stormpy.parse_prism_program(path, prism_compatibility=True), []
    if properties_text:
        properties = [*properties, *stormpy.parse_properties(properties_text, source)]
    source, properties = stormpy.instantiate_constants(source, constants, properties)
    missing = [constant.name for constant in source.constants if not constant.defined]
    if missing:
        raise BadModel(f"{path} wants --constants {','.join(name + '=...' for name in missing)}")
    return source, properties


def explicit(name, built):
    """The arrays of a sparse model of Storm's."""
    matrix = built.transition_matrix
    if matrix.has_trivial_row_grouping:
        state_rows = np.arange(built.nr_states + 1)
    else:
        state_rows = np.array([*map(matrix.get_row_group_start, range(built.nr_states)),
                               matrix.nr_rows])
    owners = np.repeat(np.arange(built.nr_states), np.diff(state_rows))
    transitions = sparse_rows(matrix)
    labels = {label: states_of(built.labeling.get_states(label), built.nr_states)
              for label in built.labeling.get_labels()}
    rewards = {reward_name or UNNAMED: expected_rewards(rewards, transitions, owners)
               for reward_name, rewards in built.reward_models.items()}
    return ExplicitModel(name, state_rows, normalised(transitions), rewards, labels)


def sparse_rows(matrix):
    columns, values, offsets = [], [], [0]
    for row in range(matrix.nr_rows):
        for entry in matrix.get_row(row):
            columns.append(entry.column)
            values.append(entry.value)
        offsets.append(len(columns))
    return sparse.csr_matrix((values, columns, offsets), shape=(matrix.nr_rows, matrix.nr_columns))


def states_of(bits, count):
    found = np.zeros(count, dtype=bool)
    found[list(bits)] = True
    return found


def expected_rewards(rewards, transitions, owners):
    """Of every row: of the state, of the action and of the transitions."""
    total = np.zeros(len(owners))
    if rewards.has_state_rewards:
        total += np.array(rewards.state_rewards)[owners]
    if rewards.has_state_action_rewards:
        total += np.array(rewards.state_action_rewards)
    if rewards.has_transition_rewards:
        # Held here: rows of the temporary that the property returns do not outlive it.
        of_transitions = rewards.transition_rewards
        total += np.asarray(transitions.multiply(sparse_rows(of_transitions)).sum(axis=1)).ravel()
    return total


def converted(formula, built, model):
    """A Property of a formula of Storm's."""
    maximise = direction(formula, built)
    path = formula.subformula

    def states(state_formula):
        checked = stormpy.model_checking(built, state_formula)
        return states_of(checked.get_truth_values_vector(), model.states)

    if isinstance(formula, logic.ProbabilityOperatorFormula):
        if isinstance(path, logic.EventuallyFormula):
            return reach_property(str(formula), maximise, model.label("true"),
                                  states(path.subformula))
        if isinstance(path, logic.UntilFormula):
            return reach_property(str(formula), maximise, states(path.left_subformula),
                                  states(path.right_subformula))
    if isinstance(path, logic.EventuallyFormula):
        if isinstance(formula, logic.RewardOperatorFormula):
            return reward_property(str(formula), maximise, named_rewards(formula, model),
                                   states(path.subformula))
        if isinstance(formula, logic.TimeOperatorFormula):
            return reward_property(str(formula), maximise, model.reward("1"),
                                   states(path.subformula))
    raise BadModel("only P [F], P [U], R [F] and T [F] without bounds are solved")


def direction(formula, built):
    """Whether it asks for the largest; either is as good on a Markov chain."""
    if not isinstance(formula, logic.OperatorFormula) or formula.has_bound:
        raise BadModel("it does not ask for a number")
    if formula.has_optimality_type:
        return formula.optimality_type == logic.OptimizationDirection.MAXIMIZE
    if built.model_type == ModelType.MDP:
        raise BadModel("neither max nor min")
    return True


def named_rewards(formula, model):
    if formula.has_reward_model_name():
        return model.reward(formula.reward_name)
    if len(model.rewards) != 1:
        raise BadModel("it names no reward model, and there is not just one")
    return next(iter(model.rewards.values()))
