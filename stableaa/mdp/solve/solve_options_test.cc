// What the options reject, and their description.
#include "stableaa/mdp/solve/solve_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/solver.h"
#include "stableaa/mdp/solve/solver_variants_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::solve_options_test {

TEST(SolveOptions, NamesTheBadOption) {
  const auto refusal = [](const std::function<void(SolveOptions&)>& change) {
    SolveOptions options;
    options.discount = 0.9;
    options.method = SolveMethod::kVi;
    change(options);
    return MessageOf([&] { Solve(TwoStates(1, 2), options); });
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, infinity, nan}) {
    EXPECT_TRUE(refusal([&](SolveOptions& o) {
                  o.tolerance = bad;
                }).starts_with("tolerance: expected a number above 0, found "));
  }
  for (const double bad : {-0.1, 1.5, nan}) {
    EXPECT_TRUE(refusal([&](SolveOptions& o) {
                  o.discount = bad;
                }).starts_with("discount: expected a discount in [0, 1), found "));
  }
  EXPECT_TRUE(refusal([](SolveOptions& o) {
                o.discount = 1;
              }).starts_with("discount: a discount of 1 (undiscounted models)"));
  for (const int bad : {0, -1, 1025}) {
    EXPECT_EQ(refusal([&](SolveOptions& o) { o.threads = bad; }),
              "threads: expected 1 to 1024, found " + std::to_string(bad));
  }
  for (const double bad : {-1.0, nan}) {
    EXPECT_TRUE(refusal([&](SolveOptions& o) {
                  o.max_seconds = bad;
                }).starts_with("max_seconds: expected a number of at least 0, found "));
    EXPECT_TRUE(refusal([&](SolveOptions& o) {
                  o.max_iterations = bad;
                }).starts_with("max_iterations: expected a number of at least 1, found "));
  }
  EXPECT_EQ(refusal([](SolveOptions& o) { o.max_iterations = 0.5; }),
            "max_iterations: expected a number of at least 1, found 0.5");
  for (const int bad : {-1, 1'000'001}) {
    EXPECT_EQ(refusal([&](SolveOptions& o) { o.evaluation_sweeps = bad; }),
              "evaluation_sweeps: expected 0 to 1000000, found " + std::to_string(bad));
  }
  EXPECT_NE(refusal([](SolveOptions& o) {
              o.backup = {BackupKind::kMellowmax, -1};
            }).find("omega"),
            std::string::npos);
  EXPECT_NE(refusal([](SolveOptions& o) {
              o.anderson = true;
              o.acceleration.memory = -1;
            }).find("memory"),
            std::string::npos);
  for (const SolveMethod method : {SolveMethod::kAuto, SolveMethod::kJacobi, SolveMethod::kGs,
                                   SolveMethod::kIpi, SolveMethod::kPi}) {
    EXPECT_EQ(refusal([&](SolveOptions& o) {
                o.method = method;
                o.anderson = true;
              }),
              "anderson: accelerates vi and mpi, not " + std::string(Name(method)));
  }
  EXPECT_EQ(refusal([](SolveOptions& o) {
              o.method = SolveMethod::kMpi;
              o.backup = {BackupKind::kMellowmax, 1};
            }),
            "operator: mellowmax needs the method vi, not mpi");
  EXPECT_EQ(refusal([](SolveOptions& o) {
              o.anderson = true;
              o.backup = {BackupKind::kDynamicBoltzmann, 1};
            }),
            "anderson: dynamic-boltzmann changes with every sweep and cannot be accelerated");
}

TEST(SolveOptions, NeedsADiscountAndPrefersItsOwn) {
  const Model model = AbsorbingStates({1});
  EXPECT_EQ(MessageOf([&] { Solve(model, {}); }),
            "discount: the model has none, so the options have to give one");
  EXPECT_NEAR(Solve(model.WithDiscount(0.5), {}).values[0], 2, 1e-6);
  SolveOptions options;
  options.discount = 0.75;
  const Solution solution = Solve(model.WithDiscount(0.5), options);
  EXPECT_NEAR(solution.values[0], 4, 1e-6);
  EXPECT_EQ(solution.discount, 0.75);
  EXPECT_TRUE(MessageOf([&] {
                Solve(model.WithDiscount(1), {});
              }).starts_with("the model's discount: a discount of 1 "));
}

const SolveOption& Option(const std::string& name) {
  const std::vector<SolveOption>& all = DescribeSolveOptions();
  const auto found = std::ranges::find(all, name, &SolveOption::name);
  if (found == all.end()) throw std::logic_error(name);
  return *found;
}

std::string WithBrackets(std::string_view name) { return "<" + std::string(name) + ">"; }

TEST(SolveOptions, TheDescriptionTellsTheDefaultsThatTheFieldsHave) {
  const SolveOptions defaults;
  for (const SolveOption& option : DescribeSolveOptions()) {
    if (const auto* const choice = std::get_if<SolveOption::Choice>(&option.value)) {
      const std::string& name = choice->names.at(choice->get(defaults));
      EXPECT_EQ(option.by_default.substr(0, option.by_default.find(',')), name) << option.name;
    } else if (const auto* const number = std::get_if<SolveOption::Number>(&option.value)) {
      const std::optional<double> value = number->get(defaults);
      char* end = nullptr;
      const double told = std::strtod(option.by_default.c_str(), &end);
      if (*end == '\0') {
        EXPECT_EQ(value, told) << option.name;
      } else {  // in words, where the field has no number of its own
        EXPECT_TRUE(!value || std::isinf(*value)) << option.name;
      }
    } else {
      EXPECT_EQ(option.by_default, "") << option.name;
    }
    EXPECT_NE(option.meaning, "") << option.name;
  }
}

TEST(SolveOptions, WhatTheDescriptionSetsIsWhatItGets) {
  for (const SolveOption& option : DescribeSolveOptions()) {
    SolveOptions options;
    if (const auto* const choice = std::get_if<SolveOption::Choice>(&option.value)) {
      for (std::size_t i = 0; i < choice->names.size(); ++i) {
        choice->set(options, i);
        EXPECT_EQ(choice->get(options), i) << option.name;
      }
    } else if (const auto* const number = std::get_if<SolveOption::Number>(&option.value)) {
      const double some = option.name == "discount" ? 0.5 : 3;
      number->set(options, some);
      EXPECT_EQ(number->get(options), some) << option.name;
    }
  }
  SolveOptions options;
  std::get<SolveOption::Switch>(Option("minimize").value).turn_on(options);
  EXPECT_TRUE(options.minimize);
  EXPECT_FALSE(options.anderson);
  std::get<SolveOption::Switch>(Option("anderson").value).turn_on(options);
  EXPECT_TRUE(options.anderson);
}

TEST(SolveOptions, TypesTellTheRange) {
  EXPECT_EQ(Option("discount").TypeText(), "G in [0, 1)");
  EXPECT_EQ(Option("tolerance").TypeText(), "E > 0");
  EXPECT_EQ(Option("omega").TypeText(), "W >= 0");
  EXPECT_EQ(Option("evaluation_sweeps").TypeText(), "N in [0, 1000000]");
  EXPECT_EQ(Option("order").TypeText(), "model|bfs");
  EXPECT_EQ(Option("minimize").TypeText(), "");
}

TEST(SolveOptions, AnOperatorOrAndersonSettlesAuto) {
  SolveOptions options;
  EXPECT_EQ(SettleAuto(options), "");
  EXPECT_EQ(options.method, SolveMethod::kAuto);
  options.anderson = true;
  EXPECT_EQ(SettleAuto(options),
            "vi: anderson was asked for; mpi is the other method that takes it");
  EXPECT_EQ(options.method, SolveMethod::kVi);
  EXPECT_EQ(SettleAuto(options), "");
  options = {.backup = {BackupKind::kMellowmax, 5}};
  EXPECT_EQ(SettleAuto(options, WithBrackets), "vi: the one method for <operator> mellowmax");
  EXPECT_EQ(options.method, SolveMethod::kVi);
  options = {.method = SolveMethod::kMpi, .anderson = true};
  EXPECT_EQ(SettleAuto(options), "");
  EXPECT_EQ(options.method, SolveMethod::kMpi);
}

TEST(SolveOptions, OnesThatWouldChangeNothingAreRefused) {
  const auto refusal = [](SolveMethod method, const std::string& name) {
    const std::vector<std::string> given = {"tolerance", name};
    return MessageOf([&] { CheckUse({.method = method}, given); });
  };
  EXPECT_EQ(refusal(SolveMethod::kVi, "order"),
            "order: method vi does not use it; these do: gs, ipi, pi, auto");
  EXPECT_EQ(refusal(SolveMethod::kAuto, "evaluation_sweeps"),
            "evaluation_sweeps: method auto does not use it; these do: mpi, gs");
  EXPECT_EQ(refusal(SolveMethod::kPi, "inner"),
            "inner: method pi does not use it; these do: ipi, auto");
  EXPECT_EQ(refusal(SolveMethod::kVi, "omega"),
            "omega: needs operator mellowmax, boltzmann or dynamic-boltzmann");
  EXPECT_EQ(refusal(SolveMethod::kGs, "order"), "no error");
  EXPECT_EQ(refusal(SolveMethod::kIpi, "preconditioner"), "no error");
  const std::vector<std::string> given = {"order"};
  EXPECT_EQ(MessageOf([&] { CheckUse({.method = SolveMethod::kVi}, given, WithBrackets); }),
            "<order>: <method> vi does not use it; these do: gs, ipi, pi, auto");
}

TEST(SolveOptions, WeightsThatCannotGainMuchGetAWarning) {
  SolveOptions options{.method = SolveMethod::kVi, .anderson = true};
  options.acceleration.weights = {.rule = WeightRule::kStable, .eta = 0.5};
  EXPECT_EQ(SlowWeightsWarning(options, 0.5),
            "weights stable with eta = 0.5 and discount 0.5: the gain over plain iteration is at "
            "most about 1 + (1 - discount)/eta = 2; it is full for eta up to (1 - discount)^2 = "
            "0.25");
  EXPECT_EQ(SlowWeightsWarning(options, 0.4), "");
  options.acceleration.weights.rule = WeightRule::kRelative;
  EXPECT_EQ(SlowWeightsWarning(options, 0.5), "");
  options.acceleration.weights.rule = WeightRule::kStable;
  options.anderson = false;
  EXPECT_EQ(SlowWeightsWarning(options, 0.5), "");
}

TEST(SolveOptions, TheManualHasTheTableOfThem) {
  std::string table = "| option | values | default | meaning |\n|---|---|---|---|\n";
  for (const SolveOption& option : DescribeSolveOptions()) {
    std::string values = option.TypeText();
    for (std::size_t at = 0; (at = values.find('|', at)) != std::string::npos; at += 2) {
      values.insert(at, "\\");  // else it would end the cell
    }
    table += "| `" + option.name + "` | " + values + " | " + option.by_default + " | " +
             option.meaning + " |\n";
  }
  std::ifstream file(STABLEAA_DOCS_PATH "/mdps.md");
  ASSERT_TRUE(file) << "docs/mdps.md is missing";
  std::stringstream manual;
  manual << file.rdbuf();
  const std::string begin = "<!-- options: begin -->\n", end = "<!-- options: end -->\n";
  const std::size_t from = manual.str().find(begin), to = manual.str().find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  EXPECT_EQ(manual.str().substr(from + begin.size(), to - from - begin.size()), table)
      << "paste the table between the two marks";
}

}  // namespace stableaa::solve_options_test
