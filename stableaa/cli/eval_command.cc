// stableaa eval: how well a saved agent plays.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/base/text/whole_number.h"
#include "stableaa/cli/agent_flags.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/report/weights_curve.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/run/kept_weights.h"
#include "stableaa/rl/run/saved_agent.h"
#include "stableaa/rl/run/trace.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

struct EvalFlags {
  AgentFlags agent;
  std::optional<double> epsilon;
  std::optional<std::string> at, trace, csv, plot;
  bool json = false;
};

// What was played, and how it went.
struct Evaluated {
  std::string weights_text;
  std::filesystem::path weights;
  std::optional<std::int64_t> weights_step;
  EvaluationResult result;
};

// The same games for all weights.
struct Games {
  std::int64_t episodes = 0;
  double epsilon = 0;
};

bool TakesAll(const EvalFlags& flags) { return flags.at == "all"; }

void CheckFlags(const EvalFlags& flags) {
  CheckEnding(flags.trace, "--trace", ".npz");
  CheckEnding(flags.csv, "--csv", ".csv");
  if (!flags.at && (flags.csv || flags.plot)) {
    throw BadInput(fmt::format("{}: it is for weights over time: give --at all, or --at STEP",
                               flags.csv ? "--csv" : "--plot"));
  }
  if (flags.trace && TakesAll(flags)) {
    throw BadInput("--trace: it holds the games of one evaluation: give --at STEP");
  }
  flags.agent.RequireOutputs(
      {{"--trace", flags.trace}, {"--csv", flags.csv}, {"--plot", flags.plot}});
}

// The kept weights to evaluate; none without --at.
std::vector<KeptWeights> ChosenWeights(const EvalFlags& flags) {
  if (!flags.at) return {};
  if (TakesAll(flags)) return FindKeptWeights(flags.agent.path);
  const std::optional<WholeNumber> number = ReadWholeNumber(*flags.at);
  const auto* const step = number ? std::get_if<std::int64_t>(&*number) : nullptr;
  if (step == nullptr || *step < 0) {
    throw BadInput(fmt::format("--at: expected a step or all, found '{}'", Shorten(*flags.at)));
  }
  return {FindKeptWeights(flags.agent.path, *step)};
}

Json ResultObject(const EvalFlags& flags, const EnvironmentSpec& spec, const Games& games,
                  const Evaluated& done) {
  return {{"env", spec.id},
          {"episodes", done.result.episodes},
          {"return_mean", done.result.return_mean},
          {"return_std", done.result.return_std},
          {"length_mean", done.result.length_mean},
          {"epsilon", games.epsilon},
          {"seed", flags.agent.seed},
          {"weights", done.weights.string()},
          {"weights_step", done.weights_step ? Json(*done.weights_step) : Json(nullptr)},
          {"returns", done.result.returns}};
}

std::string MeanAndSpread(const EvaluationResult& result) {
  const std::string spread =
      std::isnan(result.return_std) ? std::string() : fmt::format(" ± {:.5g}", result.return_std);
  return fmt::format("{:.6g}{}", result.return_mean, spread);
}

void PrintResult(const EvalFlags& flags, const EnvironmentSpec& spec, const Games& games,
                 const Evaluated& done) {
  PrintPlain("{}, weights {}\n", spec.id, done.weights_text);
  if (!spec.protocol.empty()) PrintPlain("protocol  {}\n", spec.protocol);
  fmt::print("episodes  {}, epsilon {:g}, seed {}\n", games.episodes, games.epsilon,
             flags.agent.seed);
  fmt::print("return    {}\nlength    {:.6g}\n", MeanAndSpread(done.result),
             done.result.length_mean);
}

void PrintTable(const EvalFlags& flags, const EnvironmentSpec& spec, const Games& games,
                const std::vector<WeightsCurvePoint>& points) {
  PrintPlain("{}, weights kept by {}\n", spec.id, flags.agent.path);
  if (!spec.protocol.empty()) PrintPlain("protocol  {}\n", spec.protocol);
  fmt::print("episodes  {} each, epsilon {:g}, seed {}\n", games.episodes, games.epsilon,
             flags.agent.seed);
  fmt::print("{:>12}  {:>10}  {:>10}  {:>10}\n", "step", "return", "std", "length");
  for (const auto& [step, result] : points) {
    const std::string spread =
        std::isnan(result.return_std) ? std::string("-") : fmt::format("{:.5g}", result.return_std);
    fmt::print("{:>12}  {:>10.6g}  {:>10}  {:>10.6g}\n", step, result.return_mean, spread,
               result.length_mean);
  }
}

// Plays the games with the agent's weights or, one after the other, with the kept ones.
std::vector<Evaluated> PlayAll(const EvalFlags& flags, const std::vector<KeptWeights>& kept,
                               const Games& games, SavedAgent& agent, Environment& environment,
                               WeightsCurveTable* table) {
  const std::size_t count = std::max<std::size_t>(1, kept.size());
  const auto player = agent.MakePlayer(environment);
  const EnvironmentSpec& spec = environment.spec();
  std::optional<EvaluationTrace> trace;
  if (flags.trace) trace.emplace(*flags.trace, spec, environment.num_envs());
  Progress progress({.label = spec.id,
                     .unit = "games",
                     .total = count * static_cast<std::uint64_t>(games.episodes)});
  const InterruptGuard interrupt;
  std::vector<Evaluated> all;
  for (std::size_t i = 0; i < count; ++i) {
    if (!kept.empty()) agent.TakeWeights(kept[i]);
    if (count > 1) progress.Note(fmt::format("step {}", kept[i].step));
    EvaluationResult result =
        Evaluate(environment, *player, agent.parameters(), games.episodes, games.epsilon,
                 flags.agent.seed, [&](const EvaluationStep& step) {
                   interrupt.ThrowIfRequested();
                   if (trace) trace->Add(step);
                   progress.Advance(step.game_ended ? 1 : 0);
                 });
    if (table != nullptr) table->Add(kept[i].step, result);
    all.push_back(
        {agent.WeightsText(), agent.weights_file(), agent.weights_step(), std::move(result)});
  }
  if (trace) trace->Finish();
  return all;
}

void RunEval(EvalFlags flags) {
  CheckFlags(flags);
  const std::vector<KeptWeights> kept = ChosenWeights(flags);
  if (!kept.empty()) flags.agent.at = kept.front().step;
  SavedAgent agent = flags.agent.Load();
  for (const KeptWeights& one : kept) agent.TakeWeights(one);  // no game before all are sound
  const EvaluationOptions& options = agent.options().eval;
  const Games games{flags.agent.episodes.value_or(options.episodes),
                    flags.epsilon.value_or(options.epsilon)};
  const auto environment = agent.MakeEnvironment(
      static_cast<int>(std::min<std::int64_t>(options.parallel, games.episodes)));
  const EnvironmentSpec& spec = environment->spec();
  std::optional<WeightsCurvePlot> plot;
  std::optional<WeightsCurveTable> table;
  if (flags.plot) plot.emplace(*flags.plot);
  if (flags.csv) table.emplace(*flags.csv);

  std::vector<Evaluated> all;
  try {
    all = PlayAll(flags, kept, games, agent, *environment, table ? &*table : nullptr);
  } catch (...) {
    if (table && table->rows() > 0) table->Commit();  // hours of games may be in it
    throw;
  }
  if (table) table->Commit();
  std::vector<WeightsCurvePoint> points;
  for (std::size_t i = 0; i < kept.size(); ++i) points.push_back({kept[i].step, all[i].result});
  if (plot) plot->Draw(fmt::format("{}, {} games each", spec.id, games.episodes), points);

  for (std::size_t i = 0; i < all.size() && flags.json; ++i) {
    Json object = ResultObject(flags, spec, games, all[i]);
    if (!kept.empty()) object["step"] = kept[i].step;
    fmt::print("{}\n", JsonText(object));
  }
  if (flags.json) return;
  TakesAll(flags) ? PrintTable(flags, spec, games, points)
                  : PrintResult(flags, spec, games, all.front());
}

}  // namespace

void AddEvalCommand(CLI::App& program) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* eval =
      program.add_subcommand("eval", "Play games with a trained agent and sum them up");
  flags->agent.AddTo(*eval, "eval.episodes of the run, 10",
                     {.used = {"env.", "eval.", "network.", "agent.head", "agent.algorithm"},
                      .except = {{{"eval.interval_steps"}, "it evaluates once"},
                                 {{"env.num_envs"}, "eval.parallel says that"}}});
  eval->add_option("--at", flags->at,
                   "Weights that the run kept in this step, or all of them, one after the other "
                   "(checkpoint.keep_weights)")
      ->excludes(eval->get_option("--weights"))
      ->type_name("STEP|all");
  eval->add_option("--epsilon", flags->epsilon,
                   "Probability of a random action (default: eval.epsilon of the run, 0.01)")
      ->check(CLI::Range(0., 1.).description(""))
      ->type_name("E in [0, 1]");
  eval->add_option("--trace", flags->trace,
                   "NumPy archive of all steps, by game: observations, q_values, actions, rewards, "
                   "terminated, truncated, game")
      ->type_name("FILE.npz");
  eval->add_option("--csv", flags->csv,
                   "With --at: step, episodes, return_mean, return_std, length_mean; Ctrl-C leaves "
                   "the rows so far")
      ->type_name("FILE.csv");
  eval->add_option("--plot", flags->plot,
                   "With --at: draw the mean return, with its standard deviation, against the step "
                   "(needs gnuplot)")
      ->type_name("FILE.svg|FILE.png|FILE.pdf");
  eval->add_flag("--json", flags->json,
                 "A JSON object with the statistics; with --at one for each step");
  eval->footer(
      "A game is an episode, or all those of its lives where a lost life ends an episode. The\n"
      "standard deviation divides by n - 1. Equal seeds give equal games; training with the same\n"
      "seed, and the evaluations in it, draw other random numbers.\n"
      "Examples: stableaa eval runs/minatar-breakout-stable-aa-1 --weights best --episodes 100\n"
      "          stableaa eval best.safetensors --env minatar/breakout --trace trace.npz --json\n"
      "          stableaa eval runs/minatar-breakout-stable-aa-1 --at all --csv c.csv --plot "
      "c.svg\n");
  eval->callback([flags] { RunEval(*flags); });
}

}  // namespace stableaa
