#include "stableaa/mdp/solve/solve_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "stableaa/core/error.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// A number stored in a field of any of these types.
template <auto kField>
SolveOption::Number NumberIn(const std::string& symbol, const OptionRange& range) {
  using Field = std::remove_cvref_t<decltype(std::declval<SolveOptions>().*kField)>;
  SolveOption::Number number{.symbol = symbol, .range = range, .get = {}, .set = {}};
  number.whole = std::is_same_v<Field, int> || std::is_same_v<Field, std::optional<int>>;
  number.get = [](const SolveOptions& options) -> std::optional<double> { return options.*kField; };
  number.set = [](SolveOptions& options, double value) {
    if constexpr (std::is_same_v<Field, int> || std::is_same_v<Field, std::optional<int>>) {
      options.*kField = static_cast<int>(value);
    } else {
      options.*kField = value;
    }
  };
  return number;
}

// A choice among values by name. `field` returns a reference to the variable that holds it.
template <typename Enum, typename FieldOf, typename NameOf>
SolveOption::Choice OneOf(const std::vector<Enum>& values, const FieldOf& field,
                          const NameOf& name_of) {
  SolveOption::Choice choice;
  for (const Enum value : values) choice.names.emplace_back(name_of(value));
  choice.get = [values, field](const SolveOptions& options) {
    return static_cast<std::size_t>(std::ranges::find(values, field(options)) - values.begin());
  };
  choice.set = [values, field](SolveOptions& options, std::size_t index) {
    field(options) = values[index];
  };
  return choice;
}

template <auto kField, typename Enum>
SolveOption::Choice OneOf(const std::vector<Enum>& values) {
  const auto field = [](auto& options) -> auto& { return options.*kField; };
  return OneOf(values, field, [](Enum value) { return Name(value); });
}

SolveOption::Choice AnyOperator() {
  using enum BackupKind;
  const auto field = [](auto& options) -> auto& { return options.backup.kind; };
  return OneOf(std::vector{kMax, kMellowmax, kBoltzmann, kDynamicBoltzmann}, field, BackupName);
}

SolveOption::Number Omega() {
  return {.symbol = "W",
          .range = {.least = 0},
          .get = [](const SolveOptions& options) { return options.backup.omega; },
          .set = [](SolveOptions& options, double omega) { options.backup.omega = omega; }};
}

template <auto kField>
SolveOption::Switch TurnsOn() {
  return {[](SolveOptions& options) { options.*kField = true; }};
}

SolveOption::Number Whole(SolveOption::Number number) {
  number.whole = true;
  return number;
}

std::vector<SolveOption> MakeDescription() {
  using enum SolveMethod;
  using Options = SolveOptions;
  return {
      {.name = "discount",
       .value = NumberIn<&Options::discount>("G", {.least = 0, .most = 1, .most_open = true}),
       .meaning = "Discount; wins over the file's",
       .by_default = "that of the file"},
      {.name = "tolerance",
       .value =
           NumberIn<&Options::tolerance>("E", {.least = 0, .least_open = true, .most_open = true}),
       .meaning = "Guaranteed bound on the error of every value",
       .by_default = "1e-6"},
      {.name = "method",
       .value = OneOf<&Options::method>(std::vector{kAuto, kVi, kGs, kJacobi, kPi, kMpi, kIpi}),
       .meaning = "Method",
       .by_default = "auto, which chooses and says why"},
      {.name = "operator",
       .value = AnyOperator(),
       .meaning = "How the values of actions become that of a state; other than max with vi only",
       .by_default = "max"},
      {.name = "omega",
       .value = Omega(),
       .meaning = "Inverse temperature of the operator; for dynamic-boltzmann c of c*t^2",
       .by_default = "5"},
      {.name = "order",
       .value = OneOf<&Options::order>(std::vector{StateOrder::kModel, StateOrder::kBfs}),
       .meaning = "Order of the states in gs, ipi, pi: as numbered, or by steps to the goal",
       .by_default = "bfs",
       .users = {kGs, kIpi, kPi, kAuto}},
      {.name = "evaluation_sweeps",
       .value = NumberIn<&Options::evaluation_sweeps>("N", {.least = 0, .most = 1'000'000}),
       .meaning = "Most sweeps of a policy between improvements, in mpi and gs",
       .by_default = "40 for mpi, 20 for gs",
       .users = {kMpi, kGs}},
      {.name = "inner",
       .value = OneOf<&Options::inner>(std::vector{InnerSolver::kBicgstab, InnerSolver::kGmres}),
       .meaning = "Krylov method of ipi and auto",
       .by_default = "bicgstab",
       .users = {kIpi, kAuto}},
      {.name = "preconditioner",
       .value = OneOf<&Options::preconditioner>(
           std::vector{Preconditioner::kIlu, Preconditioner::kGaussSeidel}),
       .meaning = "Of ipi and auto",
       .by_default = "ilu",
       .users = {kIpi, kAuto}},
      {.name = "anderson",
       .value = TurnsOn<&Options::anderson>(),
       .meaning = "Anderson acceleration of vi (the default) or mpi"},
      {.name = "minimize",
       .value = TurnsOn<&Options::minimize>(),
       .meaning = "Rewards are costs: the smallest value is best"},
      {.name = "threads",
       .value = NumberIn<&Options::threads>("N", {.least = 1, .most = 1024}),
       .meaning = "Threads; the result does not depend on it",
       .by_default = "1"},
      {.name = "max_seconds",
       .value = NumberIn<&Options::max_seconds>("S", {.least = 0}),
       .meaning = "Stop after this time with the best so far",
       .by_default = "none"},
      {.name = "max_iterations",
       .value = Whole(NumberIn<&Options::max_iterations>("N", {.least = 1})),
       .meaning = "Stop after so many sweeps with the best so far",
       .by_default = "none"},
  };
}

// "1 to 1024", "a number above 0".
std::string ExpectedNumber(const OptionRange& range) {
  if (range.most < kUnlimited) return fmt::format("{} to {}", range.least, range.most);
  return fmt::format("a number {} {}", range.least_open ? "above" : "of at least", range.least);
}

void CheckRanges(const SolveOptions& options) {
  for (const SolveOption& option : DescribeSolveOptions()) {
    const auto* const number = std::get_if<SolveOption::Number>(&option.value);
    if (number == nullptr) continue;
    const std::optional<double> value = number->get(options);
    if (value && !number->range.Contains(*value)) {
      throw BadInput(fmt::format("{}: expected {}, found {}", option.name,
                                 ExpectedNumber(number->range), *value));
    }
  }
}

std::string Joined(const std::vector<std::string>& names, std::string_view between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : std::string(between)) + name;
  return text;
}

}  // namespace

std::string_view Name(SolveMethod method) {
  switch (method) {
    case SolveMethod::kVi:
      return "vi";
    case SolveMethod::kJacobi:
      return "jacobi";
    case SolveMethod::kMpi:
      return "mpi";
    case SolveMethod::kGs:
      return "gs";
    case SolveMethod::kIpi:
      return "ipi";
    case SolveMethod::kPi:
      return "pi";
    case SolveMethod::kAuto:
      break;
  }
  return "auto";
}

std::string_view Name(StateOrder order) { return order == StateOrder::kModel ? "model" : "bfs"; }

std::string_view Name(InnerSolver solver) {
  return solver == InnerSolver::kGmres ? "gmres" : "bicgstab";
}

std::string_view Name(Preconditioner preconditioner) {
  return preconditioner == Preconditioner::kIlu ? "ilu" : "gs";
}

void SolveOptions::Validate() const {
  if (discount) CheckDiscount(*discount, "discount");  // has its own message for 1
  backup.Validate();
  CheckRanges(*this);
  if (anderson) acceleration.Validate();
  const bool vi = method == SolveMethod::kVi;
  if (anderson && !vi && method != SolveMethod::kMpi) {
    throw BadInput(fmt::format("anderson: accelerates vi and mpi, not {}", Name(method)));
  }
  if (backup.kind != BackupKind::kMax && !vi) {
    throw BadInput(fmt::format("operator: {} needs the method vi, not {}", BackupName(backup.kind),
                               Name(method)));
  }
  if (backup.kind == BackupKind::kDynamicBoltzmann && backup.omega == 0) {
    throw BadInput("omega: dynamic-boltzmann needs a factor above 0");
  }
  if (anderson && backup.kind == BackupKind::kDynamicBoltzmann) {
    throw BadInput(
        "anderson: dynamic-boltzmann changes with every sweep and cannot be accelerated");
  }
}

bool OptionRange::Contains(double number) const {
  return (least_open ? number > least : number >= least) &&
         (most_open ? number < most : number <= most);
}

std::string SolveOption::TypeText() const {
  if (const auto* const choice = std::get_if<Choice>(&value)) return Joined(choice->names, "|");
  const auto* const number = std::get_if<Number>(&value);
  if (number == nullptr) return {};
  const OptionRange& range = number->range;
  if (range.most == kUnlimited) {
    return fmt::format("{} {} {}", number->symbol, range.least_open ? ">" : ">=", range.least);
  }
  return fmt::format("{} in {}{}, {}{}", number->symbol, range.least_open ? '(' : '[', range.least,
                     range.most, range.most_open ? ')' : ']');
}

const std::vector<SolveOption>& DescribeSolveOptions() {
  static const std::vector<SolveOption> description = MakeDescription();
  return description;
}

std::string SettleAuto(SolveOptions& options, const OptionLabel& label) {
  if (options.method != SolveMethod::kAuto) return {};
  if (options.backup.kind != BackupKind::kMax) {
    options.method = SolveMethod::kVi;
    return fmt::format("vi: the one method for {} {}", label("operator"),
                       BackupName(options.backup.kind));
  }
  if (options.anderson) {
    options.method = SolveMethod::kVi;
    return fmt::format("vi: {} was asked for; mpi is the other method that takes it",
                       label("anderson"));
  }
  return {};
}

void CheckUse(const SolveOptions& options, std::span<const std::string> given,
              const OptionLabel& label) {
  for (const SolveOption& option : DescribeSolveOptions()) {
    if (std::ranges::find(given, option.name) == given.end()) continue;
    if (option.name == "omega" && options.backup.kind == BackupKind::kMax) {
      throw BadInput(fmt::format("{}: needs {} mellowmax, boltzmann or dynamic-boltzmann",
                                 label("omega"), label("operator")));
    }
    if (option.users.empty() ||
        std::ranges::find(option.users, options.method) != option.users.end()) {
      continue;
    }
    std::vector<std::string> users;
    for (const SolveMethod user : option.users) users.emplace_back(Name(user));
    throw BadInput(fmt::format("{}: {} {} does not use it; these do: {}", label(option.name),
                               label("method"), Name(options.method), Joined(users, ", ")));
  }
}

std::string SlowWeightsWarning(const SolveOptions& options, double discount,
                               const OptionLabel& label) {
  const WeightOptions& weights = options.acceleration.weights;
  const bool slow =
      options.anderson && weights.rule == WeightRule::kStable && weights.eta >= 1 - discount;
  if (!slow) return {};
  return fmt::format(
      "{} stable with eta = {} and discount {}: the gain over plain iteration is at most "
      "about 1 + (1 - discount)/eta = {:.3g}; it is full for eta up to (1 - discount)^2 = {:.2g}",
      label("weights"), weights.eta, discount, 1 + (1 - discount) / weights.eta,
      (1 - discount) * (1 - discount));
}

}  // namespace stableaa
