// The classic environments as a filter, for comparison with Gymnasium (classic_crosscheck.py).
//
//   spec NAME
//       -> "FIELD VALUE..." lines: id, shape, low, high, actions (discrete N or box LOW HIGH),
//          steps, fps
//   reset NAME SEED COUNT
//       -> COUNT lines, the state after each of COUNT resets
//   run NAME STATE... ACTION...
//       -> a line for the state itself, then "REWARD TERMINATED TRUNCATED OBSERVATION..." for each
//          action up to the end of the episode, then "end"
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/classic/acrobot.h"
#include "stableaa/env/classic/car_in_valley.h"
#include "stableaa/env/classic/cartpole.h"
#include "stableaa/env/classic/classic.h"
#include "stableaa/env/classic/pendulum.h"

namespace {

using stableaa::EnvironmentSpec;
using stableaa::RandomStream;
using stableaa::Simulation;
using stableaa::Space;

template <typename Number>
void PrintRow(const char* title, const std::vector<Number>& numbers) {
  std::printf("%s", title);
  for (const Number number : numbers) std::printf(" %.17g", static_cast<double>(number));
  std::printf("\n");
}

// The state as numbers, without the pendulum's torque, which Gymnasium's state does not have.
std::vector<double> StateOf(const Simulation& simulation) {
  if (const auto* cart = dynamic_cast<const stableaa::CartPole*>(&simulation)) {
    const auto [x, x_dot, theta, theta_dot] = cart->state();
    return {x, x_dot, theta, theta_dot};
  }
  if (const auto* car = dynamic_cast<const stableaa::CarInValley*>(&simulation)) {
    return {car->state().position, car->state().velocity};
  }
  if (const auto* acrobot = dynamic_cast<const stableaa::Acrobot*>(&simulation)) {
    const auto [theta1, theta2, theta1_dot, theta2_dot] = acrobot->state();
    return {theta1, theta2, theta1_dot, theta2_dot};
  }
  const auto& pendulum = dynamic_cast<const stableaa::Pendulum&>(simulation);
  return {pendulum.state().theta, pendulum.state().theta_dot};
}

void SetState(Simulation& simulation, std::istream& words) {
  std::vector<double> values(StateOf(simulation).size());
  for (double& value : values) words >> value;
  if (auto* cart = dynamic_cast<stableaa::CartPole*>(&simulation)) {
    cart->set_state({values[0], values[1], values[2], values[3]});
  } else if (auto* car = dynamic_cast<stableaa::CarInValley*>(&simulation)) {
    car->set_state({values[0], values[1]});
  } else if (auto* acrobot = dynamic_cast<stableaa::Acrobot*>(&simulation)) {
    acrobot->set_state({values[0], values[1], values[2], values[3]});
  } else {
    dynamic_cast<stableaa::Pendulum&>(simulation).set_state({values[0], values[1], 0});
  }
}

void PrintSpec(const std::string& name) {
  const EnvironmentSpec spec = stableaa::ClassicEnvironmentSpec(name);
  std::printf("id %s\n", spec.id.c_str());
  PrintRow("shape", spec.observation.shape);
  PrintRow("low", spec.observation.low);
  PrintRow("high", spec.observation.high);
  if (spec.action.kind == Space::Kind::kDiscrete) {
    PrintRow<int>("actions discrete", {spec.action.n});
  } else {
    PrintRow<float>("actions box", {spec.action.low[0], spec.action.high[0]});
  }
  PrintRow<double>("steps", {static_cast<double>(spec.max_episode_steps)});
  PrintRow<double>("fps", {spec.frames_per_second});
}

void PrintResets(const std::string& name, std::istream& words) {
  std::uint64_t seed = 0;
  int count = 0;
  words >> seed >> count;
  RandomStream random(seed, "classic_crosscheck");
  const auto simulation = stableaa::MakeClassic(name);
  for (int i = 0; i < count; ++i) {
    simulation->Reset(random);
    PrintRow("", StateOf(*simulation));
  }
}

void PrintStep(const Simulation& simulation, std::size_t size, Simulation::Outcome outcome,
               bool truncated) {
  std::vector<float> observation(size);
  simulation.Observe({.floats = observation});
  std::printf("%.17g %d %d", outcome.reward, outcome.terminated, truncated);
  PrintRow("", observation);
}

void Run(const std::string& name, std::istream& words) {
  const EnvironmentSpec spec = stableaa::ClassicEnvironmentSpec(name);
  const std::size_t size = spec.observation.size();
  const auto simulation = stableaa::MakeClassic(name);
  SetState(*simulation, words);
  PrintStep(*simulation, size, {}, false);
  RandomStream random(0, "unused");
  float action = 0;
  for (std::int64_t step = 1; words >> action; ++step) {
    const auto outcome = simulation->Step(
        {.index = static_cast<int>(action), .values = std::span(&action, 1)}, random);
    const bool truncated = step == spec.max_episode_steps;
    PrintStep(*simulation, size, outcome, truncated);
    if (outcome.terminated || truncated) break;
  }
  std::printf("end\n");
}

}  // namespace

int main() {
  try {
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string command, name;
      words >> command >> name;
      if (command == "spec") {
        PrintSpec(name);
      } else if (command == "reset") {
        PrintResets(name, words);
      } else if (command == "run") {
        Run(name, words);
      } else {
        throw stableaa::BadInput("expected spec, reset or run");
      }
    }
  } catch (const stableaa::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
  return 0;
}
