// Generates and solves models, for comparison with policy iteration in SciPy
// (solver_crosscheck.py).
//
// Reads lines "KIND STATES SEED SHUFFLE DISCOUNT TOLERANCE FILE". For each it writes the model to
// FILE (.npz) and prints, for every method, a line
//   "METHOD END LOWER UPPER ERROR POLICY_ERROR RESIDUAL", the values of all states, their actions
// and then an empty line.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/mdp/formats/npz_model_format.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/solve/solver.h"

namespace {

using stableaa::Model;
using stableaa::Solution;
using stableaa::SolveMethod;
using stableaa::SolveOptions;

struct Question {
  stableaa::GeneratorOptions model;
  double discount = 0;
  double tolerance = 0;
  std::string file;
};

Question Parse(const std::string& line) {
  Question question;
  std::istringstream words(line);
  std::uint64_t states = 0;
  words >> question.model.kind >> states >> question.model.seed >> question.model.shuffle >>
      question.discount >> question.tolerance >> question.file;
  question.model.states = states;
  return question;
}

void Answer(const Model& model, const std::string& name, SolveOptions options) {
  options.max_iterations = 20'000;  // the slowest methods report reaching it
  const Solution solution = Solve(model, options);
  std::printf("%s %d %.17g %.17g %.17g %.17g %.17g", name.c_str(), static_cast<int>(solution.end),
              solution.lower, solution.upper, solution.error, solution.policy_error,
              solution.residual);
  for (const double value : solution.values) std::printf(" %.17g", value);
  for (const std::uint32_t action : solution.policy) std::printf(" %u", action);
  std::printf("\n");
}

void AnswerByAllMethods(const Question& question) {
  const Model model = GenerateModel(question.model);
  stableaa::WriteNpzModel(model, question.file);
  SolveOptions options;
  options.discount = question.discount;
  options.tolerance = question.tolerance;
  for (const SolveMethod method :
       {SolveMethod::kAuto, SolveMethod::kVi, SolveMethod::kJacobi, SolveMethod::kMpi,
        SolveMethod::kGs, SolveMethod::kIpi, SolveMethod::kPi}) {
    options.method = method;
    Answer(model, std::string(Name(method)), options);
  }
  options.method = SolveMethod::kIpi;
  options.inner = stableaa::InnerSolver::kGmres;
  Answer(model, "ipi-gmres", options);
  options.preconditioner = stableaa::Preconditioner::kGaussSeidel;
  Answer(model, "ipi-gmres-gs", options);
  options.method = SolveMethod::kGs;
  options.order = stableaa::StateOrder::kModel;
  Answer(model, "gs-model", options);
  options.anderson = true;
  options.method = SolveMethod::kVi;
  Answer(model, "vi-anderson", options);
  options.method = SolveMethod::kMpi;
  Answer(model, "mpi-anderson", options);
  std::printf("\n");
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) AnswerByAllMethods(Parse(line));
  return 0;
}
