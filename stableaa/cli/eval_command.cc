// stableaa eval: how well a saved agent plays.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/cli/agent_flags.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/run/saved_agent.h"
#include "stableaa/rl/run/trace.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

struct EvalFlags {
  AgentFlags agent;
  std::optional<double> epsilon;
  std::optional<std::string> trace;
  bool json = false;
};

void PrintResult(const EvalFlags& flags, const SavedAgent& agent, const EnvironmentSpec& spec,
                 double epsilon, const EvaluationResult& result) {
  if (flags.json) {
    const std::optional<std::int64_t> step = agent.weights_step();
    const Json object = {{"env", spec.id},
                         {"episodes", result.episodes},
                         {"return_mean", result.return_mean},
                         {"return_std", result.return_std},
                         {"length_mean", result.length_mean},
                         {"epsilon", epsilon},
                         {"seed", flags.agent.seed},
                         {"weights", agent.weights_file().string()},
                         {"weights_step", step ? Json(*step) : Json(nullptr)},
                         {"returns", result.returns}};
    fmt::print("{}\n", JsonText(object));
    return;
  }
  PrintPlain("{}, weights {}\n", spec.id, agent.WeightsText());
  if (!spec.protocol.empty()) PrintPlain("protocol  {}\n", spec.protocol);
  fmt::print("episodes  {}, epsilon {:g}, seed {}\n", result.episodes, epsilon, flags.agent.seed);
  const std::string spread =
      std::isnan(result.return_std) ? std::string() : fmt::format(" ± {:.5g}", result.return_std);
  fmt::print("return    {:.6g}{}\nlength    {:.6g}\n", result.return_mean, spread,
             result.length_mean);
}

void RunEval(const EvalFlags& flags) {
  CheckEnding(flags.trace, "--trace", ".npz");
  const SavedAgent agent = flags.agent.Load();
  const EvaluationOptions& options = agent.options().eval;
  const std::int64_t episodes = flags.agent.episodes.value_or(options.episodes);
  const double epsilon = flags.epsilon.value_or(options.epsilon);
  const auto environment =
      agent.MakeEnvironment(static_cast<int>(std::min<std::int64_t>(options.parallel, episodes)));
  const EnvironmentSpec& spec = environment->spec();
  const auto actor = agent.MakeActor(*environment);
  std::optional<EvaluationTrace> trace;
  if (flags.trace) trace.emplace(*flags.trace, spec, environment->num_envs());

  EvaluationResult result;
  {
    Progress progress(
        {.label = spec.id, .unit = "games", .total = static_cast<std::uint64_t>(episodes)});
    const InterruptGuard interrupt;
    result = Evaluate(*environment, *actor, agent.parameters(), episodes, epsilon, flags.agent.seed,
                      [&](const EvaluationStep& step) {
                        interrupt.ThrowIfRequested();
                        if (trace) trace->Add(step);
                        progress.Advance(step.game_ended ? 1 : 0);
                      });
    if (trace) trace->Finish();
  }
  PrintResult(flags, agent, spec, epsilon, result);
}

}  // namespace

void AddEvalCommand(CLI::App& program) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* eval =
      program.add_subcommand("eval", "Play games with a trained agent and sum them up");
  flags->agent.AddTo(*eval, "eval.episodes of the run, 10",
                     {.used = {"env.", "eval."},
                      .except = {{{"eval.interval_steps"}, "it evaluates once"},
                                 {{"env.num_envs"}, "eval.parallel says that"}}});
  eval->add_option("--epsilon", flags->epsilon,
                   "Probability of a random action (default: eval.epsilon of the run, 0.01)")
      ->check(CLI::Range(0., 1.).description(""))
      ->type_name("E in [0, 1]");
  eval->add_option("--trace", flags->trace,
                   "NumPy archive of all steps, by game: observations, q_values, actions, rewards, "
                   "terminated, truncated, game")
      ->type_name("FILE.npz");
  eval->add_flag("--json", flags->json, "One JSON object with the statistics");
  eval->footer(
      "A game is an episode, or all those of its lives where a lost life ends an episode. The\n"
      "standard deviation divides by n - 1. Equal seeds give equal games; training with the same\n"
      "seed, and the evaluations in it, draw other random numbers.\n"
      "Examples: stableaa eval runs/minatar-breakout-stable-aa-1 --weights best --episodes 100\n"
      "          stableaa eval best.safetensors --env minatar/breakout --trace trace.npz --json\n");
  eval->callback([flags] { RunEval(*flags); });
}

}  // namespace stableaa
