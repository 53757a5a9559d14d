#include "stableaa/mdp/solve/component_policy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace stableaa {

namespace {

// The rows of a component with at most this many states are near each other: copying those of a
// policy would take longer than a few passes gain.
constexpr std::uint64_t kMostPassedInModel = 30'000;

// Sorts a row by column. Rows are short and often in reverse order.
void SortRow(std::uint32_t* columns, double* weights, std::uint64_t length) {
  for (std::uint64_t i = 1; i < length; ++i) {
    const std::uint32_t column = columns[i];
    const double weight = weights[i];
    std::uint64_t j = i;
    for (; j > 0 && columns[j - 1] > column; --j) {
      columns[j] = columns[j - 1];
      weights[j] = weights[j - 1];
    }
    columns[j] = column;
    weights[j] = weight;
  }
}

}  // namespace

ComponentPolicy::ComponentPolicy(SolveRun& run, ComponentModel& model, ComponentBuffers& buffers)
    : run_(run), model_(model), buffers_(buffers) {
  buffers_.actions.clear();
}

void ComponentPolicy::Take() {
  const std::vector<std::uint32_t>& actions = model_.actions;
  std::vector<std::uint32_t>& taken = buffers_.actions;
  if (taken.size() == actions.size()) {
    std::uint64_t changed = 0;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      changed += static_cast<std::uint64_t>(actions[i] != taken[i]);
    }
    changed_ = static_cast<double>(changed) / static_cast<double>(actions.size());
    if (changed == 0) return;
  }
  taken.assign(actions.begin(), actions.end());
  copied_ = false;
  factored_ = false;
}

// Copies the policy's rows unless they are there. Twice over the states: growing vectors row by row
// would take as long as a pass.
void ComponentPolicy::CopyRows() {
  if (copied_) return;
  copied_ = true;
  const std::uint64_t states = model_.states();
  const std::uint64_t* const row_transitions = model_.row_transitions();
  SparseRows& policy = buffers_.policy;
  policy.offsets.resize(states + 1);
  buffers_.constants.resize(states);
  policy.offsets[0] = 0;
  for (std::uint64_t i = 0; i < states; ++i) {
    const std::uint64_t row = model_.state_rows()[i] + model_.actions[i];
    policy.offsets[i + 1] = policy.offsets[i] + row_transitions[row + 1] - row_transitions[row];
    buffers_.constants[i] = model_.constants()[row];
  }
  policy.columns.resize(policy.offsets.back());
  policy.weights.resize(policy.offsets.back());
  for (std::uint64_t i = 0; i < states; ++i) {
    const std::uint64_t from = row_transitions[model_.state_rows()[i] + model_.actions[i]];
    const std::uint64_t to = policy.offsets[i];
    const std::uint64_t length = policy.offsets[i + 1] - to;
    for (std::uint64_t k = 0; k < length; ++k) {
      policy.columns[to + k] = model_.columns()[from + k];
      policy.weights[to + k] = model_.weights()[from + k];
    }
    SortRow(policy.columns.data() + to, policy.weights.data() + to, length);
  }
}

double ComponentPolicy::Pass() {
  if (model_.states() <= kMostPassedInModel) return PassOverModel();
  CopyRows();
  return PassOverCopy();
}

double ComponentPolicy::PassOverModel() {
  const std::uint64_t states = model_.states();
  const CountedPass counted(run_, states,
                            12 * states * model_.transitions() / model_.rows() + 40 * states);
  const std::uint64_t* const state_rows = model_.state_rows();
  const std::uint64_t* const row_transitions = model_.row_transitions();
  const std::uint32_t* const columns = model_.columns();
  const double* const weights = model_.weights();
  const double* const constants = model_.constants();
  const std::uint32_t* const actions = model_.actions.data();
  double* const values = model_.values.data();
  double change = 0;
  for (std::uint64_t i = 0; i < states; ++i) {
    const std::uint64_t row = state_rows[i] + actions[i];
    double value = constants[row];
    const std::uint64_t end = row_transitions[row + 1];
    for (std::uint64_t k = row_transitions[row]; k < end; ++k) {
      value += weights[k] * values[columns[k]];
    }
    change = std::max(change, std::abs(value - values[i]));
    values[i] = value;
  }
  return change;
}

double ComponentPolicy::PassOverCopy() {
  const std::uint64_t states = model_.states();
  const SparseRows& policy = buffers_.policy;
  const CountedPass counted(run_, states, 12 * policy.entries() + 24 * states);
  double* const values = model_.values.data();
  double change = 0;
  std::uint64_t k = 0;
  for (std::uint64_t i = 0; i < states; ++i) {
    double value = buffers_.constants[i];
    for (const std::uint64_t end = policy.offsets[i + 1]; k < end; ++k) {
      value += policy.weights[k] * values[policy.columns[k]];
    }
    change = std::max(change, std::abs(value - values[i]));
    values[i] = value;
  }
  return change;
}

bool ComponentPolicy::EvaluateByKrylov(double relative, double goal) {
  const bool again = factored_;
  CopyRows();
  if (!factored_) Factor();
  return CorrectByKrylov(again ? kExactValues : relative, goal);
}

void ComponentPolicy::EvaluateExactly(double goal) {
  CopyRows();
  FindResidual();
  buffers_.correction.resize(model_.states());
  if (SolveDirectly(buffers_.policy, buffers_.residual, buffers_.correction)) {
    run_.CountInner(1);
    AddCorrection();
    return;
  }
  buffers_.factors.Factor(buffers_.policy);
  for (int round = 0; round < 20 && CorrectByKrylov(kExactValues, goal); ++round) {
    FindResidual();
    const auto [least, largest] = std::ranges::minmax(buffers_.residual);
    if (std::max(-least, largest) <= goal || run_.Interrupted()) return;
  }
}

void ComponentPolicy::Factor() {
  if (run_.options().preconditioner == Preconditioner::kIlu) {
    buffers_.factors.Factor(buffers_.policy);
  } else {
    buffers_.factors.TakeParts(buffers_.policy);
  }
  factored_ = true;
}

// residual ← c + W V − V.
void ComponentPolicy::FindResidual() {
  std::vector<double>& residual = buffers_.residual;
  residual.resize(model_.states());
  Multiply(buffers_.policy, model_.values, residual, run_.options().threads);
  for (std::size_t i = 0; i < residual.size(); ++i) {
    residual[i] = buffers_.constants[i] - residual[i];
  }
}

// V ← V + A⁻¹(c − AV), approximately. False, with V untouched, if it made no progress.
bool ComponentPolicy::CorrectByKrylov(double relative, double goal) {
  FindResidual();
  buffers_.correction.resize(model_.states());
  const KrylovOptions options{.relative = relative,
                              .absolute = goal / 4,
                              .threads = run_.options().threads,
                              .stop = [this] { return run_.Interrupted(); }};
  const KrylovResult result =
      run_.options().inner == InnerSolver::kBicgstab
          ? buffers_.krylov.Bicgstab(buffers_.policy, buffers_.factors, buffers_.residual,
                                     buffers_.correction, options)
          : buffers_.krylov.Gmres(buffers_.policy, buffers_.factors, buffers_.residual,
                                  buffers_.correction, options);
  run_.CountInner(result.iterations);
  if (!(result.reduction < 0.9)) return false;
  AddCorrection();
  return true;
}

void ComponentPolicy::AddCorrection() {
  for (std::size_t i = 0; i < model_.values.size(); ++i) {
    model_.values[i] += buffers_.correction[i];
  }
}

}  // namespace stableaa
