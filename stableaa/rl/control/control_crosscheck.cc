// ControlLearner as a filter, for comparison with NumPy (control_crosscheck.py).
//
// control_crosscheck DIR reads cases, one per line, separated by tabs,
//
//   UPDATES KEY=VALUE ...            keys of the configuration
//
// and prints one JSON object per case:
//
//   states       all states of the replay, in order, of episodes that follow each other:
//                [observation, action, reward, terminated]; the action of an episode's last state is
//                empty, and that of the very last state
//   before       parameters of the networks before the first update, as in `updates`
//   updates      after each: {"actor": [weight, bias, ...], "critics": [[weight, bias, ...], ...],
//                "alpha", "members", "fallbacks", "temperature", and the numbers of ControlReport}
//
// Weights are rows of PyTorch's order. After the last update of case k it writes DIR/k.npz
// (ControlLearner::WriteDiagnosis).
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/control/control_agent.h"
#include "stableaa/rl/control/control_learner.h"

namespace stableaa {
namespace {

constexpr int kObserved = 5;
constexpr int kElements = 3;  // of an action
constexpr int kStates = 400;
constexpr int kEpisode = 13;  // steps
constexpr ActionShape kActions = {.count = 1, .floats = kElements};

EnvironmentSpec Environment() {
  return {.id = "crosscheck",
          .observation = Space::Floats({kObserved}, {-1e30F}, {1e30F}),
          .action = Space::Floats({kElements}, {-1}, {1})};
}

// Every other episode is terminated, the others are truncated, and the last one goes on.
nlohmann::json Fill(const ObservationLayout& layout, Replay& replay) {
  RandomStream random(1, "transitions");
  std::vector<float> observed(kObserved), action(kElements);
  std::vector<std::uint8_t> encoded(layout.frames().observation_bytes());
  const auto observe = [&] {
    random.FillUniform(observed, -1, 1);
    layout.Encode({.floats = observed}, 0, encoded);
  };
  nlohmann::json states = nlohmann::json::array();
  for (int episode = 0; static_cast<int>(states.size()) < kStates; ++episode) {
    observe();
    replay.Begin(encoded);
    const bool is_last = static_cast<int>(states.size()) + kEpisode + 1 >= kStates;
    for (int step = 1; step <= kEpisode; ++step) {
      const bool ends = step == kEpisode && !is_last;
      const bool terminates = ends && episode % 2 == 0;
      const std::vector<float> before = observed;
      random.FillUniform(action, -1, 1);
      const float reward = 2 * random.UniformFloat() - 1;
      observe();
      replay.Add({.values = action}, reward, terminates, ends && !terminates, encoded);
      states.push_back({before, action, reward, terminates});
    }
    states.push_back({observed, std::vector<float>(), 0.0F, false});
  }
  return states;
}

nlohmann::json AsJson(const Parameters& parameters) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    std::vector<float> values(tensor.size());
    parameters.Get(tensor, values);
    tensors.push_back(values);
  }
  return tensors;
}

nlohmann::json NetworksAsJson(const ControlLearner& learner) {
  nlohmann::json critics = nlohmann::json::array();
  for (const Parameters& critic : learner.critics()) critics.push_back(AsJson(critic));
  return {{"actor", AsJson(learner.actor())}, {"critics", critics}};
}

nlohmann::json UpdateAsJson(std::int64_t step, ControlLearner& learner) {
  const ControlReport report = learner.Update(step);
  nlohmann::json update = NetworksAsJson(learner);
  update.update({{"alpha", learner.mixing().alpha},
                 {"members", learner.members()},
                 {"fallbacks", learner.counts().fallbacks},
                 {"temperature", learner.temperature(step)},
                 {"loss", report.loss},
                 {"td_abs", report.td_abs},
                 {"q_mean", report.q_mean},
                 {"actor_value", report.actor_value},
                 {"entropy", report.entropy},
                 {"alpha_spread", report.alpha_spread}});
  return update;
}

void Run(const std::string& line, const std::filesystem::path& diagnosis) {
  std::istringstream words(line);
  std::string word;
  std::getline(words, word, '\t');
  const int updates = std::stoi(word);
  RunOptions run;
  Config config;
  Describe(config, run);
  while (std::getline(words, word, '\t')) config.Set(word);

  const ControlLearnerOptions options = ControlAgent::LearnerOptionsOf(run);
  const ObservationLayout layout(Environment());
  const ControlPlans plans(options.agent, layout, kElements);
  constexpr std::int64_t kNoReserve = 0;
  Replay replay(options.replay, {options.agent.n_step, options.agent.discount}, layout.frames(),
                kActions, kNoReserve);
  nlohmann::json result = {{"states", Fill(layout, replay)}};
  ControlLearner learner(options, plans, layout, replay);
  result["before"] = NetworksAsJson(learner);
  for (int update = 0; update < updates; ++update) {
    result["updates"].push_back(UpdateAsJson(update, learner));
  }
  learner.WriteDiagnosis(diagnosis);
  std::cout << result << "\n";
}

}  // namespace
}  // namespace stableaa

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: control_crosscheck DIR < CASES\n", stderr);
    return 2;
  }
  try {
    int cases = 0;
    for (std::string line; std::getline(std::cin, line); ++cases) {
      stableaa::Run(line, std::filesystem::path(argv[1]) / (std::to_string(cases) + ".npz"));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "control_crosscheck: %s\n", error.what());
    return 1;
  }
  return 0;
}
