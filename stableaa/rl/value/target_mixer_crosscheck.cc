// WeightFitter and TargetMixer as a filter, for comparison with NumPy (target_mixer_crosscheck.py).
//
// Reads problems, numbers and words separated by blanks,
//
//   MIXER BACKUP OMEGA ETA fixed|auto SAFEGUARD DAMPING TIME m n ACTIONS
//   rewards (n), discounts (n), actions (n), the online network's best actions (n),
//   Q(s, ·) (m × n × ACTIONS), Q(s', ·) (m × n × ACTIONS; anything where the discount is 0)
//
// and prints one JSON object per problem: targets, and for mixers with weights alpha, tau_norm,
// lambda, eta, gain, gain_held_out, residual and fallback.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/value/bootstrap.h"
#include "stableaa/rl/value/target_mixer.h"
#include "stableaa/rl/value/weight_fitter.h"

namespace {

using stableaa::AgentBackup;
using stableaa::AgentOptions;
using stableaa::FrozenState;
using stableaa::FrozenValues;
using stableaa::Mixing;
using stableaa::ReplayBatch;
using stableaa::TargetMixer;
using stableaa::WeightFitter;

struct Problem {
  AgentOptions options;
  std::int64_t time = 1;
  std::size_t networks = 0, actions = 0;
  ReplayBatch batch;
  std::vector<int> online_best;
  std::vector<float> now, next;
  std::vector<std::uint8_t> places;  // frame 2j represents state j, 2j + 1 its next state
};

std::string Word() {
  std::string word;
  if (!(std::cin >> word)) throw stableaa::BadInput("the last problem is incomplete");
  return word;
}

std::vector<float> Floats(std::size_t count) {
  std::vector<float> numbers(count);
  for (float& number : numbers) number = std::strtof(Word().c_str(), nullptr);
  return numbers;
}

std::vector<int> Ints(std::size_t count) {
  std::vector<int> numbers(count);
  for (int& number : numbers) number = std::stoi(Word());
  return numbers;
}

Problem ReadProblem(const std::string& mixer) {
  Problem problem;
  stableaa::Config config;
  Describe(config, problem.options);
  config.Set("agent.mixer=" + mixer);
  for (const char* const key : {"agent.backup=", "agent.omega=", "agent.eta=", "agent.weights.eta=",
                                "agent.weights.safeguard=", "agent.damping="}) {
    config.Set(key + Word());
  }
  problem.time = std::stoll(Word());
  problem.networks = std::stoul(Word());
  const std::size_t n = std::stoul(Word());
  problem.actions = std::stoul(Word());
  problem.places.resize(2 * n);
  problem.batch.rewards = Floats(n);
  problem.batch.discounts = Floats(n);
  problem.batch.actions = Ints(n);
  problem.online_best = Ints(n);
  problem.now = Floats(problem.networks * n * problem.actions);
  problem.next = Floats(problem.networks * n * problem.actions);
  for (std::size_t j = 0; j < n; ++j) {
    problem.batch.ids.push_back(static_cast<std::int64_t>(j));
    problem.batch.next_ids.push_back(static_cast<std::int64_t>(j + n));
    problem.batch.frames.push_back(&problem.places[2 * j]);
    problem.batch.next_frames.push_back(&problem.places[2 * j + 1]);
  }
  return problem;
}

FrozenValues Answer(const Problem& problem, bool with_states) {
  std::vector<FrozenState> states;
  CollectStates(problem.batch, 1, with_states, states);
  FrozenValues values;
  values.Resize(problem.networks, states.size(), problem.actions);
  for (std::size_t i = 0; i < problem.networks; ++i) {
    for (std::size_t k = 0; k < states.size(); ++k) {
      const auto place = static_cast<std::size_t>(states[k].frames[0] - problem.places.data());
      const std::vector<float>& from = place % 2 == 0 ? problem.now : problem.next;
      const std::size_t row = i * problem.batch.count() + place / 2;
      for (std::size_t a = 0; a < problem.actions; ++a) {
        values.Of(i, k)[a] = from[row * problem.actions + a];
      }
    }
  }
  return values;
}

template <typename T>
void PrintArray(const char* name, const std::vector<T>& values) {
  std::printf("\"%s\": [", name);
  const char* separator = "";
  for (const T value : values) {
    std::printf("%s%.17g", separator, static_cast<double>(value));
    separator = ", ";
  }
  std::printf("]");
}

void Solve(const Problem& problem) {
  Mixing mixing;
  std::printf("{");
  if (problem.options.mixes()) {
    mixing =
        WeightFitter(problem.options).Fit(problem.batch, Answer(problem, true), problem.time, 0);
    PrintArray("alpha", mixing.alpha);
    std::printf(
        ", \"tau_norm\": %.17g, \"lambda\": %.17g, \"eta\": %.17g, \"gain\": %.17g, "
        "\"gain_held_out\": %.17g, \"residual\": %.17g, \"fallback\": %s, ",
        mixing.tau_norm, mixing.lambda, mixing.eta, mixing.gain, mixing.gain_held_out,
        mixing.residual, mixing.fallback ? "true" : "false");
  }
  std::vector<float> targets(problem.batch.count());
  const bool is_double = problem.options.backup == AgentBackup::kDouble;
  TargetMixer(problem.options)
      .Targets(problem.batch, Answer(problem, problem.options.targets_need_states()), mixing.alpha,
               is_double ? std::span<const int>(problem.online_best) : std::span<const int>(),
               problem.time, problem.options.BetaAt(0), targets);
  PrintArray("targets", targets);
  std::printf("}\n");
}

}  // namespace

int main() {
  std::string mixer;
  while (std::cin >> mixer) Solve(ReadProblem(mixer));
  return 0;
}
