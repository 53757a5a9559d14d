#include "stableaa/mdp/solve/solve_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "stableaa/core/error.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Below, `field` is a member of SolveOptions, or a function that returns a reference to one of its
// parts.

template <typename Field>
SolveOption::Number NumberIn(Field field, const std::string& symbol, const RealRange& range) {
  using Value = std::remove_cvref_t<std::invoke_result_t<Field, SolveOptions&>>;
  constexpr bool kWhole = std::is_same_v<Value, int> || std::is_same_v<Value, std::optional<int>>;
  return {.symbol = symbol,
          .range = range,
          .whole = kWhole,
          .get = [field](const SolveOptions& options) -> std::optional<double> {
            return std::invoke(field, options);
          },
          .set =
              [field](SolveOptions& options, double value) {
                std::invoke(field, options) =
                    static_cast<std::conditional_t<kWhole, int, double>>(value);
              }};
}

SolveOption::Number Whole(SolveOption::Number number) {
  number.whole = true;
  return number;
}

template <typename Field, typename Enum, typename NameOf>
SolveOption::Choice OneOf(Field field, const std::vector<Enum>& values, const NameOf& name_of) {
  SolveOption::Choice choice;
  for (const Enum value : values) choice.names.emplace_back(name_of(value));
  choice.get = [values, field](const SolveOptions& options) {
    const auto found = std::ranges::find(values, std::invoke(field, options));
    return static_cast<std::size_t>(found - values.begin());
  };
  choice.set = [values, field](SolveOptions& options, std::size_t index) {
    std::invoke(field, options) = values[index];
  };
  return choice;
}

template <typename Field, typename Enum>
SolveOption::Choice OneOf(Field field, const std::vector<Enum>& values) {
  return OneOf(field, values, [](Enum value) { return Name(value); });
}

template <typename Field>
SolveOption::Switch TurnsOn(Field field) {
  return {[field](SolveOptions& options) { std::invoke(field, options) = true; }};
}

// Without the defaults that the fields tell.
std::vector<SolveOption> MakeDescription() {
  using enum SolveMethod;
  using enum BackupKind;
  using Options = SolveOptions;
  const auto kind = [](auto& options) -> auto& { return options.backup.kind; };
  const auto omega = [](auto& options) -> auto& { return options.backup.omega; };
  return {
      {.name = "discount",
       .value = NumberIn(&Options::discount, "G", {.at_least = 0, .below = 1}),
       .meaning = "Discount; wins over the file's",
       .by_default = "that of the file"},
      {.name = "tolerance",
       .value = NumberIn(&Options::tolerance, "E", {.above = 0}),
       .meaning = "Guaranteed bound on the error of every value"},
      {.name = "method",
       .value = OneOf(&Options::method, std::vector{kAuto, kVi, kGs, kJacobi, kPi, kMpi, kIpi}),
       .meaning = "Method",
       .by_default = "auto, which chooses and says why"},
      {.name = "operator",
       .value =
           OneOf(kind, std::vector{kMax, kMellowmax, kBoltzmann, kDynamicBoltzmann}, BackupName),
       .meaning = "How the values of actions become that of a state; other than max with vi only"},
      {.name = "omega",
       .value = NumberIn(omega, "W", {.at_least = 0, .infinite = true}),
       .meaning = "Inverse temperature of the operator; for dynamic-boltzmann c of c*t^2"},
      {.name = "order",
       .value = OneOf(&Options::order, std::vector{StateOrder::kModel, StateOrder::kBfs}),
       .meaning = "Order of the states in gs, ipi, pi: as numbered, or by steps to the goal",
       .users = {kGs, kIpi, kPi, kAuto}},
      {.name = "evaluation_sweeps",
       .value = NumberIn(&Options::evaluation_sweeps, "N", {.at_least = 0, .at_most = 1'000'000}),
       .meaning = "Most sweeps of a policy between improvements, in mpi and gs",
       .by_default = "40 for mpi, 20 for gs",
       .users = {kMpi, kGs}},
      {.name = "inner",
       .value = OneOf(&Options::inner, std::vector{InnerSolver::kBicgstab, InnerSolver::kGmres}),
       .meaning = "Krylov method of ipi and auto",
       .users = {kIpi, kAuto}},
      {.name = "preconditioner",
       .value = OneOf(&Options::preconditioner,
                      std::vector{Preconditioner::kIlu, Preconditioner::kGaussSeidel}),
       .meaning = "Of ipi and auto",
       .users = {kIpi, kAuto}},
      {.name = "anderson",
       .value = TurnsOn(&Options::anderson),
       .meaning = "Anderson acceleration of vi (the default) or mpi"},
      {.name = "minimize",
       .value = TurnsOn(&Options::minimize),
       .meaning = "Rewards are costs: the smallest value is best"},
      {.name = "threads",
       .value = NumberIn(&Options::threads, "N", {.at_least = 1, .at_most = 1024}),
       .meaning = "Threads; the result does not depend on it"},
      {.name = "max_seconds",
       .value = NumberIn(&Options::max_seconds, "S", {.at_least = 0, .infinite = true}),
       .meaning = "Stop after this time with the best so far",
       .by_default = "none"},
      {.name = "max_iterations",
       .value = Whole(NumberIn(&Options::max_iterations, "N", {.at_least = 1, .infinite = true})),
       .meaning = "Stop after so many sweeps with the best so far",
       .by_default = "none"},
  };
}

// As people write it: 1e-6, where fmt has 1e-06.
std::string NumberText(double number) {
  std::string text = fmt::format("{}", number);
  const std::size_t at = text.find("e-0");
  if (at != std::string::npos) text.erase(at + 2, 1);
  return text;
}

std::vector<SolveOption> WithDefaultsOfFields(std::vector<SolveOption> description) {
  const SolveOptions defaults;
  for (SolveOption& option : description) {
    if (!option.by_default.empty()) continue;
    if (const auto* const number = std::get_if<SolveOption::Number>(&option.value)) {
      option.by_default = NumberText(number->get(defaults).value());
    } else if (const auto* const choice = std::get_if<SolveOption::Choice>(&option.value)) {
      option.by_default = choice->names.at(choice->get(defaults));
    }
  }
  return description;
}

// Infinite if the range ends only below.
double UpperEnd(const RealRange& range) { return std::min(range.at_most, range.below); }

// "1 to 1024", "a number above 0".
std::string ExpectedNumber(const RealRange& range) {
  const double most = UpperEnd(range);
  if (most < kUnlimited) return fmt::format("{} to {}", range.at_least, most);
  return range.above > range.at_least ? fmt::format("a number above {}", range.above)
                                      : fmt::format("a number of at least {}", range.at_least);
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

std::string SolveOption::TypeText() const {
  if (const auto* const choice = std::get_if<Choice>(&value)) return Joined(choice->names, "|");
  const auto* const number = std::get_if<Number>(&value);
  if (number == nullptr) return {};
  const RealRange& range = number->range;
  const std::string& symbol = number->symbol;
  if (UpperEnd(range) < kUnlimited) return fmt::format("{} in {}", symbol, range.Text());
  return range.above > range.at_least ? fmt::format("{} > {}", symbol, range.above)
                                      : fmt::format("{} >= {}", symbol, range.at_least);
}

const std::vector<SolveOption>& DescribeSolveOptions() {
  static const std::vector<SolveOption> description = WithDefaultsOfFields(MakeDescription());
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
