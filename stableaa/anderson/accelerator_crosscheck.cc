// The accelerator as a filter, for comparison with other implementations
// (accelerator_crosscheck.py).
//
// Reads problems as blank-separated numbers and words,
//
//   MEMORY DAMPING RULE ETA SAFEGUARD_FACTOR STEPS MAP n, A (n×n, by rows), b (n), start (n)
//
// where a SAFEGUARD_FACTOR of 0 turns the safeguard off and MAP is `affine`, x → Ax + b, or `cos`,
// x → cos(Ax + b). Prints one JSON object per step: kind, gain, x, image and next, and for
// accelerated steps lambda, alpha and tau.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/core/error.h"

namespace {

using stableaa::Accelerator;
using stableaa::AcceleratorOptions;
using stableaa::StepKind;
using stableaa::StepReport;
using stableaa::WeightRule;

struct Problem {
  AcceleratorOptions options;
  int steps = 0;
  bool cosine = false;
  std::vector<double> matrix;
  std::vector<double> offset;
  std::vector<double> start;

  void Map(std::span<const double> x, std::span<double> image) const {
    for (std::size_t i = 0; i < x.size(); ++i) {
      double sum = offset[i];
      for (std::size_t j = 0; j < x.size(); ++j) sum += matrix[i * x.size() + j] * x[j];
      image[i] = cosine ? std::cos(sum) : sum;
    }
  }
};

std::string Word() {
  std::string word;
  if (!(std::cin >> word)) throw stableaa::BadInput("the last problem is incomplete");
  return word;
}

std::vector<double> Numbers(std::size_t count) {
  std::vector<double> numbers(count);
  for (double& number : numbers) number = std::strtod(Word().c_str(), nullptr);
  return numbers;
}

WeightRule RuleOf(const std::string& name) {
  for (const WeightRule rule :
       {WeightRule::kVanilla, WeightRule::kRaa, WeightRule::kStable, WeightRule::kRelative}) {
    if (name == stableaa::Name(rule)) return rule;
  }
  throw stableaa::BadInput("no rule of weights is called " + name);
}

Problem ReadProblem(const std::string& memory) {
  Problem problem;
  AcceleratorOptions& options = problem.options;
  options.memory = std::stoi(memory);
  options.damping = std::stod(Word());
  options.weights.rule = RuleOf(Word());
  options.weights.eta = std::stod(Word());
  const double factor = std::stod(Word());
  options.safeguard = factor != 0;
  if (options.safeguard) options.safeguard_factor = factor;
  problem.steps = std::stoi(Word());
  problem.cosine = Word() == "cos";
  const std::size_t n = std::stoul(Word());
  problem.matrix = Numbers(n * n);
  problem.offset = Numbers(n);
  problem.start = Numbers(n);
  return problem;
}

void PrintArray(const char* name, std::span<const double> values) {
  std::printf(", \"%s\": [", name);
  const char* separator = "";
  for (const double value : values) {
    std::printf("%s%.17g", separator, value);
    separator = ", ";
  }
  std::printf("]");
}

const char* Name(StepKind kind) {
  switch (kind) {
    case StepKind::kPlain:
      return "plain";
    case StepKind::kAccelerated:
      return "accelerated";
    case StepKind::kRejected:
      return "rejected";
  }
  return "unknown";
}

void Solve(const Problem& problem) {
  Accelerator accelerator(problem.start.size(), problem.options);
  std::vector<double> x = problem.start;
  std::vector<double> image(x.size());
  for (int step = 0; step < problem.steps; ++step) {
    problem.Map(x, image);
    const std::vector<double> before = x;
    const StepReport report = accelerator.Step(x, image);
    std::printf("{\"kind\": \"%s\", \"gain\": %.17g", Name(report.kind), report.gain);
    PrintArray("x", before);
    PrintArray("image", image);
    PrintArray("next", x);
    if (report.kind == StepKind::kAccelerated) {
      std::printf(", \"lambda\": %.17g", accelerator.weights().lambda);
      PrintArray("alpha", accelerator.weights().alpha);
      PrintArray("tau", accelerator.weights().tau);
    }
    std::printf("}\n");
  }
}

}  // namespace

int main() {
  std::string memory;
  while (std::cin >> memory) Solve(ReadProblem(memory));
  return 0;
}
