#include "stableaa/mdp/solve/component_policy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stableaa/core/stopwatch.h"

namespace stableaa {

OrderedModel::OrderedModel(const SolveRun& run, std::vector<double> start)
    : discount(run.discount()),
      state_rows(run.model().state_rows().data()),
      row_transitions(run.model().row_transitions().data()),
      columns(run.model().arrays().narrow_columns.data()),
      probabilities(run.model().probabilities().data()),
      rewards(run.model().rewards().data()),
      values(std::move(start)),
      actions(values.size()) {}

ComponentPolicy::ComponentPolicy(SolveRun& run, OrderedModel& model, ComponentBuffers& buffers,
                                 const StateRange& states)
    : run_(run), model_(model), buffers_(buffers), states_(states) {
  buffers_.gathered.clear();
}

void ComponentPolicy::Gather() {
  const std::span<const std::uint32_t> actions(model_.actions.data() + states_.first,
                                               states_.size());
  std::vector<std::uint32_t>& gathered = buffers_.gathered;
  if (gathered.size() == actions.size()) {
    std::uint64_t changed = 0;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      changed += static_cast<std::uint64_t>(actions[i] != gathered[i]);
    }
    changed_ = static_cast<double>(changed) / static_cast<double>(states_.size());
    if (changed == 0) return;  // contributions of other components are final, too
  }
  gathered.assign(actions.begin(), actions.end());
  factored_ = false;
  buffers_.policy.Clear();
  buffers_.policy.offsets.reserve(states_.size() + 1);
  buffers_.constants.clear();
  buffers_.constants.reserve(states_.size());
  for (std::uint64_t s = states_.first; s < states_.last; ++s) AddRow(s);
}

void ComponentPolicy::AddRow(std::uint64_t state) {
  SparseRows& policy = buffers_.policy;
  const std::uint32_t* const columns = model_.columns;
  const double* const probabilities = model_.probabilities;
  const double discount = model_.discount;
  const std::uint64_t row = model_.state_rows[state] + model_.actions[state];
  const std::uint64_t begin = model_.row_transitions[row];
  const std::uint64_t end = model_.row_transitions[row + 1];
  const auto self =
      static_cast<std::uint64_t>(std::lower_bound(columns + begin, columns + end, state) - columns);
  const double stay = self < end && columns[self] == state ? probabilities[self] : 0;
  const double factor = 1 / (1 - discount * stay);
  double constant = model_.rewards[row];
  for (std::uint64_t k = begin; k < end; ++k) {
    const std::uint32_t next = columns[k];
    if (next == state) continue;
    if (next < states_.first) {
      constant += discount * probabilities[k] * model_.values[next];
    } else {
      policy.columns.push_back(static_cast<std::uint32_t>(next - states_.first));
      policy.weights.push_back(discount * probabilities[k] * factor);
    }
  }
  policy.offsets.push_back(policy.columns.size());
  buffers_.constants.push_back(constant * factor);
}

double ComponentPolicy::Pass() {
  const Stopwatch watch;
  const SparseRows& policy = buffers_.policy;
  double* const values = model_.values.data() + states_.first;
  double change = 0;
  std::uint64_t k = 0;
  for (std::uint64_t i = 0; i < states_.size(); ++i) {
    double value = buffers_.constants[i];
    for (const std::uint64_t end = policy.offsets[i + 1]; k < end; ++k) {
      value += policy.weights[k] * values[policy.columns[k]];
    }
    change = std::max(change, std::abs(value - values[i]));
    values[i] = value;
  }
  run_.Count(states_.size(), 12 * policy.entries() + 24 * states_.size(), watch.Seconds());
  return change;
}

bool ComponentPolicy::EvaluateByKrylov(double relative, double goal) {
  const bool again = factored_;
  if (!factored_) Factor();
  return CorrectByKrylov(again ? kExactValues : relative, goal);
}

void ComponentPolicy::EvaluateExactly(double goal) {
  FindResidual();
  buffers_.correction.resize(states_.size());
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
  residual.resize(states_.size());
  Multiply(buffers_.policy, values(), residual, run_.options().threads);
  for (std::size_t i = 0; i < residual.size(); ++i) {
    residual[i] = buffers_.constants[i] - residual[i];
  }
}

// V ← V + A⁻¹(c − AV), approximately. False, with V untouched, if it made no progress.
bool ComponentPolicy::CorrectByKrylov(double relative, double goal) {
  FindResidual();
  buffers_.correction.resize(states_.size());
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
  const std::span<double> component = values();
  for (std::size_t i = 0; i < component.size(); ++i) component[i] += buffers_.correction[i];
}

std::span<double> ComponentPolicy::values() const {
  return {model_.values.data() + states_.first, states_.size()};
}

}  // namespace stableaa
