// squashed_gaussian_crosscheck: samples and differentiates what it reads, for
// squashed_gaussian_crosscheck.py. Reads the number of elements, then for each sample means,
// log-deviations, noise, action slopes and the slope of the log-density; prints a line of JSON per
// sample.

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "stableaa/nn/squashed_gaussian.h"

namespace stableaa {
namespace {

bool Read(std::vector<float>& values) {
  for (float& value : values) std::cin >> value;
  return static_cast<bool>(std::cin);
}

void RunSquashedGaussian() {
  std::size_t elements = 0;
  std::cin >> elements;
  std::vector<float> outputs(2 * elements);
  std::vector<float> noise(elements);
  std::vector<float> action_slopes(elements);
  std::vector<float> actions(elements);
  std::vector<float> gradients(2 * elements);
  std::vector<double> log_density(1);
  std::vector<double> slope(1);
  while (Read(outputs) && Read(noise) && Read(action_slopes) && std::cin >> slope[0]) {
    SampleSquashedGaussian(elements, outputs, noise, actions, log_density);
    SquashedGaussianGradient(elements, outputs, noise, actions, action_slopes, slope, gradients);
    const nlohmann::json result = {
        {"actions", actions}, {"log_density", log_density[0]}, {"gradients", gradients}};
    std::puts(result.dump().c_str());
  }
}

}  // namespace
}  // namespace stableaa

int main() { stableaa::RunSquashedGaussian(); }
