// Anderson acceleration on four fixed-point problems, with five ways to choose the mixing weights.
//
//   fixed_points [--out DIR] [--seed N] [--set anderson.KEY=VALUE]...
//
// A tour of the library from the user's side: a problem is a map x -> g(x) and a start, a method is
// a struct of options, and SolveFixedPoint does the rest. To accelerate an iteration of your own,
// write a function like GarnetProblem() below and add it to AllProblems().
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "stableaa/anderson/fixed_point.h"
#include "stableaa/base/config/config.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/bellman/backup.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"

namespace stableaa {
namespace {

constexpr double kTolerance = 1e-8;
constexpr std::int64_t kMaxEvaluations = 50'000;
constexpr double kPaperEta = 0.1;

struct Problem {
  std::string name;        // in convergence.csv
  std::string title = {};  // above its table
  FixedPointMap map = {};
  std::vector<double> start = {};
  // Only if g is known to contract by this factor, and no faster.
  std::optional<double> discount = {};
};

// ---------------------------------------------------------------------------------------------
// Problems a and b: value iteration,
// V(s) <- backup_a [ r(s,a) + discount * sum_s' p(s'|s,a) V(s') ].

// Every row (s, a) has the same number of successors, so no row index is needed.
struct Mdp {
  std::size_t states = 0;
  std::size_t actions = 0;
  std::size_t branching = 0;  // successors of a row
  double discount = 0;
  std::vector<double> reward = {};       // [state][action]
  std::vector<std::size_t> next = {};    // [state][action][successor]
  std::vector<double> probability = {};  // the same order
};

void ActionValues(const Mdp& mdp, std::span<const double> values, std::span<double> q) {
  std::size_t entry = 0;
  for (std::size_t row = 0; row < q.size(); ++row) {
    double expected = 0;
    for (const std::size_t end = entry + mdp.branching; entry < end; ++entry) {
      expected += mdp.probability[entry] * values[mdp.next[entry]];
    }
    q[row] = mdp.reward[row] + mdp.discount * expected;
  }
}

FixedPointMap ValueIteration(Mdp mdp, const Backup& backup) {
  std::vector<double> q(mdp.states * mdp.actions);
  return [mdp = std::move(mdp), backup, q = std::move(q)](std::span<const double> values,
                                                          std::span<double> image) mutable {
    ActionValues(mdp, values, q);
    backup.Values(q, mdp.actions, image);
  };
}

// `count` distinct numbers below n, in random order.
std::vector<std::size_t> DrawDistinct(RandomStream& random, std::size_t n, std::size_t count) {
  std::vector<std::size_t> drawn;
  while (drawn.size() < count) {
    const auto candidate = static_cast<std::size_t>(random.Below(n));
    if (std::find(drawn.begin(), drawn.end(), candidate) == drawn.end()) drawn.push_back(candidate);
  }
  return drawn;
}

// The lengths of the pieces of [0, 1] between uniform cuts: uniform over all distributions.
std::vector<double> DrawDistribution(RandomStream& random, std::size_t count) {
  std::vector<double> cuts = {0, 1};
  while (cuts.size() < count + 1) cuts.push_back(random.Uniform());
  std::sort(cuts.begin(), cuts.end());
  std::vector<double> pieces(count);
  for (std::size_t i = 0; i < count; ++i) pieces[i] = cuts[i + 1] - cuts[i];
  return pieces;
}

// Generic Average Reward Non-stationary Environment Testbed (Archibald et al. 1995): random
// successors, so it mixes at once and only the discount makes it slow.
Mdp Garnet(std::uint64_t seed) {
  RandomStream random(seed, "example.garnet");
  Mdp mdp{.states = 1000, .actions = 4, .branching = 5, .discount = 0.99};
  for (std::size_t row = 0; row < mdp.states * mdp.actions; ++row) {
    mdp.reward.push_back(random.Uniform());
    for (const std::size_t s : DrawDistinct(random, mdp.states, mdp.branching)) {
      mdp.next.push_back(s);
    }
    for (const double p : DrawDistribution(random, mdp.branching)) mdp.probability.push_back(p);
  }
  return mdp;
}

// A walk along a line in which each of the two actions only favours its side. Information takes
// thousands of steps from one end to the other: many slow modes, unlike Garnet's one.
Mdp Chain(std::uint64_t seed) {
  RandomStream random(seed, "example.chain");
  constexpr double kLean = 0.55;
  Mdp mdp{.states = 300, .actions = 2, .branching = 2, .discount = 0.995};
  for (std::size_t s = 0; s < mdp.states; ++s) {
    const double reward = random.Uniform();
    const std::size_t left = s == 0 ? 0 : s - 1;
    const std::size_t right = std::min(s + 1, mdp.states - 1);
    for (const double to_left : {kLean, 1 - kLean}) {
      mdp.reward.push_back(reward);
      mdp.next.insert(mdp.next.end(), {left, right});
      mdp.probability.insert(mdp.probability.end(), {to_left, 1 - to_left});
    }
  }
  return mdp;
}

Problem MdpProblem(const std::string& name, const std::string& title, Mdp mdp,
                   const Backup& backup) {
  Problem problem{.name = name, .title = title};
  problem.start.assign(mdp.states, 0.0);
  problem.discount = mdp.discount;
  problem.map = ValueIteration(std::move(mdp), backup);
  return problem;
}

Problem GarnetProblem(std::uint64_t seed) {
  return MdpProblem("garnet", "Value iteration, Garnet MDP of 1000 states, discount 0.99",
                    Garnet(seed), {.kind = BackupKind::kMax});
}

Problem ChainProblem(std::uint64_t seed) {
  return MdpProblem("chain", "Soft value iteration, chain of 300 states, discount 0.995",
                    Chain(seed), {.kind = BackupKind::kMellowmax, .omega = 5});
}

// ---------------------------------------------------------------------------------------------
// Problem c: the Bratu equation -Laplace(u) = lambda exp(u) on the unit square, u = 0 on its edge,
// by Jacobi sweeps: each inner point becomes (sum of its four neighbours + h^2 lambda exp(u)) / 4.

// Solutions exist up to lambda = 6.81; near that the sweeps get ever slower.
constexpr double kBratuLambda = 6;
constexpr std::size_t kBratuSide = 40;  // inner points

void BratuSweep(std::span<const double> u, std::span<double> image) {
  constexpr double kSpacing = 1.0 / (kBratuSide + 1);
  constexpr double kSource = kSpacing * kSpacing * kBratuLambda;
  for (std::size_t row = 0; row < kBratuSide; ++row) {
    for (std::size_t column = 0; column < kBratuSide; ++column) {
      const std::size_t i = row * kBratuSide + column;
      const double above = row > 0 ? u[i - kBratuSide] : 0;
      const double below = row + 1 < kBratuSide ? u[i + kBratuSide] : 0;
      const double left = column > 0 ? u[i - 1] : 0;
      const double right = column + 1 < kBratuSide ? u[i + 1] : 0;
      image[i] = (above + below + left + right + kSource * std::exp(u[i])) / 4;
    }
  }
}

Problem BratuProblem() {
  return {.name = "bratu",
          .title = "Bratu equation by Jacobi sweeps, 40 x 40 grid, lambda = 6",
          .map = BratuSweep,
          .start = std::vector<double>(kBratuSide * kBratuSide, 0.0)};
}

// ---------------------------------------------------------------------------------------------
// Problem d: expectation maximisation for a mixture of two Gaussians in one dimension. The more
// they overlap, the less the data say which one a point came from, and the slower EM gets.

constexpr std::size_t kComponents = 2;

// The iterated vector: [logits, means, log standard deviations], one of each per component. A
// combination of such vectors is always a valid mixture, unlike one of shares and variances.
struct MixtureView {
  std::span<const double> x;
  double logit(std::size_t k) const { return x[k]; }
  double mean(std::size_t k) const { return x[kComponents + k]; }
  double log_deviation(std::size_t k) const { return x[2 * kComponents + k]; }
};

using Shares = std::array<double, kComponents>;

// The probability that each component produced the data point y. Subtracting the largest exponent
// keeps a point far from all components from giving 0/0.
Shares Responsibilities(const MixtureView& mixture, double y) {
  Shares share;
  for (std::size_t k = 0; k < kComponents; ++k) {
    const double distance = (y - mixture.mean(k)) * std::exp(-mixture.log_deviation(k));
    share[k] = mixture.logit(k) - mixture.log_deviation(k) - distance * distance / 2;
  }
  const double largest = *std::max_element(share.begin(), share.end());
  double sum = 0;
  for (double& s : share) sum += s = std::exp(s - largest);
  for (double& s : share) s /= sum;
  return share;
}

void ExpectationMaximisation(std::span<const double> data, std::span<const double> x,
                             std::span<double> image) {
  Shares count{}, sum{}, sum_of_squares{};
  for (const double y : data) {
    const Shares share = Responsibilities({x}, y);
    for (std::size_t k = 0; k < kComponents; ++k) {
      count[k] += share[k];
      sum[k] += share[k] * y;
      sum_of_squares[k] += share[k] * y * y;
    }
  }
  for (std::size_t k = 0; k < kComponents; ++k) {
    const double mean = sum[k] / count[k];
    image[k] = std::log(count[k] / static_cast<double>(data.size()));
    image[kComponents + k] = mean;
    image[2 * kComponents + k] = std::log(sum_of_squares[k] / count[k] - mean * mean) / 2;
  }
}

Problem MixtureProblem(std::uint64_t seed) {
  RandomStream random(seed, "example.mixture");
  std::vector<double> data(1000);
  for (double& y : data) y = (random.Bernoulli(0.4) ? -1 : 1) + random.Normal();
  return {.name = "mixture",
          .title = "EM, mixture of two overlapping Gaussians, 1000 points",
          .map = [data](std::span<const double> x,
                        std::span<double> image) { ExpectationMaximisation(data, x, image); },
          .start = {0, 0, -2, 2, 0, 0}};
}

std::vector<Problem> AllProblems(std::uint64_t seed) {
  return {GarnetProblem(seed), ChainProblem(seed), BratuProblem(), MixtureProblem(seed)};
}

// ---------------------------------------------------------------------------------------------
// Methods.

struct Method {
  std::string name;
  AcceleratorOptions options;
};

Method WithRule(WeightRule rule, double eta) {
  return {std::string(Name(rule)), {.weights = {.rule = rule, .eta = eta}}};
}

// Plain comes first: the others are measured against it. Ours comes last. Each keeps the default
// memory and safeguard, so that only the rule for the weights differs.
std::vector<Method> AllMethods(const AcceleratorOptions& ours, bool changed_by_user) {
  return {{"plain", {.memory = 0}},
          WithRule(WeightRule::kVanilla, 0),
          WithRule(WeightRule::kRaa, 0.1),
          WithRule(WeightRule::kStable, kPaperEta),
          {changed_by_user ? "custom" : "relative", ours}};
}

// ---------------------------------------------------------------------------------------------
// Running and reporting.

struct Point {
  std::int64_t evaluation;
  double residual;
};

struct Run {
  std::string method = {};
  FixedPointSummary summary = {};
  double milliseconds = 0;
  std::vector<Point> curve = {};
  std::vector<double> solution = {};
};

// Long curves are thinned to a point per 2 %; on a logarithmic axis no figure shows the difference.
bool WorthKeeping(const std::vector<Point>& curve, std::int64_t evaluation) {
  return curve.empty() ||
         static_cast<double>(evaluation) >= 1.02 * static_cast<double>(curve.back().evaluation);
}

Run Solve(const Problem& problem, const Method& method) {
  Run run{.method = method.name, .solution = problem.start};
  const FixedPointOptions options{
      .tolerance = kTolerance,
      .max_evaluations = kMaxEvaluations,
      .acceleration = method.options,
      .on_evaluation = [&run](std::int64_t evaluation, double residual) {
        const bool last = residual <= kTolerance || evaluation == kMaxEvaluations;
        if (last || WorthKeeping(run.curve, evaluation)) {
          run.curve.push_back({evaluation, residual});
        }
        return true;
      }};
  const Stopwatch watch;
  run.summary = SolveFixedPoint(problem.map, run.solution, options);
  run.milliseconds = 1e3 * watch.Seconds();
  return run;
}

std::vector<Run> SolveByAll(const Problem& problem, const std::vector<Method>& methods,
                            Progress& progress) {
  std::vector<Run> runs;
  for (const Method& method : methods) {
    progress.Note(fmt::format("{} {}", problem.name, method.name));
    runs.push_back(Solve(problem, method));
    progress.Advance();
  }
  return runs;
}

// Evaluations of plain over those of `run`; nothing if either hit the cap.
std::optional<double> SpeedUp(const Run& plain, const Run& run) {
  if (!plain.summary.converged || !run.summary.converged) return {};
  return static_cast<double>(plain.summary.evaluations) /
         static_cast<double>(run.summary.evaluations);
}

std::string TableRow(const Run& plain, const Run& run) {
  const std::string evaluations = run.summary.converged
                                      ? fmt::format("{}", run.summary.evaluations)
                                      : fmt::format("not within {}", kMaxEvaluations);
  const std::optional<double> speed_up = SpeedUp(plain, run);
  const AcceleratorStatistics& statistics = run.summary.statistics;
  const double rejected = statistics.steps == 0 ? 0
                                                : 100 * static_cast<double>(statistics.rejected) /
                                                      static_cast<double>(statistics.steps);
  return fmt::format("  {:<10} {:>16} {:>10} {:>9.1f} {:>8.1f} %\n", run.method, evaluations,
                     speed_up ? fmt::format("{:.2f}x", *speed_up) : "-", run.milliseconds,
                     rejected);
}

void PrintTable(const Problem& problem, const std::vector<Run>& runs) {
  fmt::print("{}\n  {:<10} {:>16} {:>10} {:>9} {:>10}\n", problem.title, "method", "evaluations",
             "speed-up", "ms", "rejected");
  for (const Run& run : runs) fmt::print("{}", TableRow(runs.front(), run));
  fmt::print("\n");
  std::fflush(stdout);
}

// Along a mode that contracts by the discount, the penalty of Eq. 9 is a constant share of what it
// is added to, however small the residual: docs/paper.md derives the limit printed here.
void PrintPaperRule(const Problem& problem, const std::vector<Run>& runs) {
  const auto stable =
      std::find_if(runs.begin(), runs.end(), [](const Run& run) { return run.method == "stable"; });
  const std::optional<double> measured = SpeedUp(runs.front(), *stable);
  if (!problem.discount || !measured) return;
  fmt::print("  {:<8} discount {:<5}  predicted {:.3f}x  measured {:.3f}x\n", problem.name,
             *problem.discount, 1 + (1 - *problem.discount) / kPaperEta, *measured);
}

void WriteCurves(AtomicFile& file, const Problem& problem, const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    for (const Point& point : run.curve) {
      file.Write(fmt::format("{},{},{},{:.6g}\n", problem.name, run.method, point.evaluation,
                             point.residual));
    }
  }
}

double Distance(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// A demonstration that shows the opposite of its claim must not pass for a success.
void CheckOurs(const Problem& problem, const std::vector<Run>& runs) {
  const Run& plain = runs.front();
  const Run& ours = runs.back();
  const auto fail = [&](const std::string& what) {
    throw WorkFailed(fmt::format("{}: '{}' {}", problem.name, ours.method, what));
  };
  if (!ours.summary.converged) {
    fail(fmt::format("did not converge within {} evaluations", kMaxEvaluations));
  }
  if (ours.summary.evaluations > plain.summary.evaluations) {
    fail(fmt::format("needed {} evaluations, more than the {} of plain", ours.summary.evaluations,
                     plain.summary.evaluations));
  }
  // Well above what the tolerance leaves open, well below the distance between two fixed points.
  if (plain.summary.converged && Distance(ours.solution, plain.solution) > 1e-3) {
    fail("found another fixed point than plain");
  }
}

// ---------------------------------------------------------------------------------------------
// The command line.

struct Arguments {
  std::string out;
  std::uint64_t seed = 10;  // a middling one: over seeds 1 to 12, EM gains 4x to 114x
  std::vector<std::string> overrides;
};

AcceleratorOptions ReadOptions(const std::vector<std::string>& overrides) {
  AcceleratorOptions options;
  Config config;
  Describe(config, options);  // binds the keys anderson.* to the fields of `options`
  for (const std::string& assignment : overrides) config.Set(assignment);
  return options;
}

// Opened before the work starts, so that an unwritable path is reported at once.
std::unique_ptr<AtomicFile> OpenCurves(const std::string& directory) {
  if (directory.empty()) return nullptr;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw BadInput(fmt::format("cannot make {}: {}", directory, error.message()));
  auto file = std::make_unique<AtomicFile>(std::filesystem::path(directory) / "convergence.csv");
  file->Write("problem,method,evaluation,residual\n");
  return file;
}

void RunExample(const Arguments& arguments) {
  const std::vector<Method> methods =
      AllMethods(ReadOptions(arguments.overrides), !arguments.overrides.empty());
  const std::unique_ptr<AtomicFile> curves = OpenCurves(arguments.out);
  const std::vector<Problem> problems = AllProblems(arguments.seed);

  fmt::print("Evaluations of the map until its largest residual is at most {:g}.\n\n", kTolerance);
  Progress progress(
      {.label = "fixed_points", .unit = "solves", .total = problems.size() * methods.size()});
  std::vector<std::vector<Run>> results;
  for (const Problem& problem : problems) {
    results.push_back(SolveByAll(problem, methods, progress));
    PrintTable(problem, results.back());
    if (curves) WriteCurves(*curves, problem, results.back());
  }
  progress.Note("");
  progress.Finish();
  if (curves) curves->Commit();

  fmt::print(
      "The paper's rule, 'stable' with eta = {}, gains about 1 + (1 - discount)/eta at most:\n",
      kPaperEta);
  for (std::size_t i = 0; i < problems.size(); ++i) PrintPaperRule(problems[i], results[i]);
  // 0.1 comes from deep learning, where the penalty has to fight noise; ours is 1e-10. Without this
  // remark the tables would seem to compare rules while comparing settings.
  fmt::print(
      "eta = 0.1 is not tuned for these maps. With a smaller one 'raa' and 'stable' catch up with\n"
      "'relative' or pass it: try --set anderson.weights=raa --set anderson.eta=1e-3.\n");
  for (std::size_t i = 0; i < problems.size(); ++i) CheckOurs(problems[i], results[i]);
}

int Fail(int exit_code, const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "fixed_points: error: {}\n", message);
  return exit_code;
}

int Main(int argc, char** argv) {
  CLI::App program("Anderson acceleration on four fixed-point problems.", "fixed_points");
  Arguments arguments;
  program.add_option("--out", arguments.out, "Write DIR/convergence.csv")->type_name("DIR");
  program.add_option("--seed", arguments.seed, "Seed of the random problems")
      ->capture_default_str()
      ->type_name("N");
  program
      .add_option("--set", arguments.overrides,
                  "Change an option of the last method, which is 'custom' then; may be repeated")
      ->type_name("anderson.KEY=VALUE")
      ->expected(1)
      ->take_all();
  program.footer(
      "Exit codes: 0 done, 1 the last method failed or lost to plain, 2 bad input or usage.\n"
      "Example: fixed_points --out demo --set anderson.memory=10\n");
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help
    return Fail(2, fmt::format("{}; see 'fixed_points --help'", error.what()));
  }
  RunExample(arguments);
  if (std::fflush(stdout) != 0) throw SystemError("cannot write the output", errno);
  return 0;
}

}  // namespace
}  // namespace stableaa

int main(int argc, char** argv) {
  try {
    return stableaa::Main(argc, argv);
  } catch (const stableaa::Error& error) {
    return stableaa::Fail(error.exit_code(), error.what());
  } catch (const std::exception& error) {
    return stableaa::Fail(1, error.what());
  }
}
