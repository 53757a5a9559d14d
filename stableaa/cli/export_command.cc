// stableaa export: a saved agent's network for other programs.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/cli/agent_flags.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/nn/onnx_export.h"
#include "stableaa/rl/run/saved_agent_export.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

struct ExportFlags {
  AgentFlags agent;
  std::optional<std::string> onnx;
  bool json = false;
};

void RunExport(const ExportFlags& flags) {
  CheckEnding(flags.onnx, "--onnx", ".onnx");
  flags.agent.RequireOutputs({{"--onnx", flags.onnx}});
  const SavedAgent agent = flags.agent.Load();
  const EnvironmentSpec spec = ExportOnnx(agent, *flags.onnx);
  const bool is_bytes = spec.observation.type == ElementType::kUint8;
  const bool is_continuous = spec.action.kind == Space::Kind::kBox;
  const char* const output = is_continuous ? "actions" : "q_values";
  if (flags.json) {
    const std::optional<std::int64_t> step = agent.weights_step();
    const Json object = {
        {"onnx", *flags.onnx},
        {"operators", kOnnxOperators},
        {"env", spec.id},
        {"observation_type", is_bytes ? "uint8" : "float32"},
        {"observation_shape", spec.observation.shape},
        {"output", output},
        is_continuous ? Json{"action_shape", spec.action.shape} : Json{"actions", spec.action.n},
        {"parameters", ParameterCount(agent.parameters().plan())},
        {"weights", agent.weights_file().string()},
        {"weights_step", step ? Json(*step) : Json()}};
    fmt::print("{}\n", JsonText(object));
    return;
  }
  PrintPlain("{}, weights {}\n", spec.id, agent.WeightsText());
  fmt::print("observation  {} [batch, {}]\n{:<12} float32 [batch, {}]\n",
             is_bytes ? "uint8" : "float32", fmt::join(spec.observation.shape, ", "), output,
             fmt::join(is_continuous ? spec.action.shape : std::vector{spec.action.n}, ", "));
  PrintPlain("written      {}\n", *flags.onnx);
}

}  // namespace

void AddExportCommand(CLI::App& program) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command =
      program.add_subcommand("export", "Write a trained agent's network for other programs");
  flags->agent.AddSourceTo(
      *command, {.used = {"env.", "eval.protocol", "network.", "agent.head", "agent.algorithm"},
                 .except = {{{"eval.", "env.num_envs"}, "no games are played"}}});
  flags->agent.AddAtTo(*command);
  command
      ->add_option(
          "--onnx", flags->onnx,
          "ONNX model from raw observations to the values of the actions, or to continuous "
          "actions; replaces a file")
      ->required()
      ->type_name("FILE.onnx");
  command->add_flag("--json", flags->json, "One JSON object: inputs, outputs, weights");
  command->footer(
      "Input 'observation': the environment's own observations, any number at once; scaling them\n"
      "is part of the model. Output 'q_values': a value per action; or, where actions are\n"
      "continuous, 'actions': those of an evaluation, within their bounds. Operators of opset 17.\n"
      "Examples: stableaa export runs/minatar-breakout-stable-aa-1 --weights best --onnx q.onnx\n"
      "          stableaa export best.safetensors --env minatar/breakout --onnx q.onnx\n");
  command->callback([flags] { RunExport(*flags); });
}

}  // namespace stableaa
