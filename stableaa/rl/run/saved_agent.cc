#include "stableaa/rl/run/saved_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>

#include "stableaa/base/config/config.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/foreign_weights.h"
#include "stableaa/rl/agent.h"
#include "stableaa/rl/control/action_box.h"
#include "stableaa/rl/control/control_player.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/run/trust.h"
#include "stableaa/rl/value/actor.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

// Metadata of weights files.
constexpr const char* kPresetNote = "stableaa.preset";
constexpr const char* kAlgorithmNote = "stableaa.algorithm";  // not of dqn
constexpr const char* kKwargsNote = "stableaa.env.kwargs";
constexpr const char* kWrappersNote = "stableaa.env.wrappers";  // one per line

using Weights = SavedAgentSource::Weights;

bool IsDirectory(const fs::path& path) {
  std::error_code unknown;
  return fs::is_directory(path, unknown);
}

bool Exists(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

fs::path WeightsOfRun(const SavedAgentSource& source) {
  fs::path latest = source.path / "weights" / "latest.safetensors";
  fs::path best = source.path / "weights" / "best.safetensors";
  if (source.weights == Weights::kBest) {
    if (Exists(best)) return best;
    throw IncompleteSource(
        IncompleteSource::Lack::kBestWeights,
        fmt::format("{}: there are no best weights, since there has been no evaluation yet",
                    source.path.string()));
  }
  if (Exists(latest)) return latest;
  throw BadInput(fmt::format("{}: the run has no weights yet: expected {}", source.path.string(),
                             latest.string()));
}

// For a weights file: the environment asked for, or the one that training recorded there.
std::string EnvironmentOfFile(const SavedAgentSource& source, const WeightsMetadata& metadata) {
  if (source.env) return *source.env;
  if (const auto noted = metadata.find("stableaa.env"); noted != metadata.end()) {
    return noted->second;
  }
  throw IncompleteSource(
      IncompleteSource::Lack::kEnvironment,
      fmt::format("{}: these weights do not tell their environment", source.path.string()));
}

// For a weights file whose environment is the one of its training: with the same arguments and
// wrappers.
EnvironmentOptions EnvironmentOptionsOfFile(const fs::path& path, const WeightsMetadata& metadata) {
  EnvironmentOptions options;
  if (const auto kwargs = metadata.find(kKwargsNote); kwargs != metadata.end()) {
    options.kwargs = kwargs->second;
  }
  if (const auto wrappers = metadata.find(kWrappersNote); wrappers != metadata.end()) {
    std::istringstream lines(wrappers->second);
    for (std::string line; std::getline(lines, line);) options.wrappers.push_back(line);
  }
  try {
    options.Validate();
  } catch (const Error& error) {
    throw BadInput(fmt::format("{}: its metadata: {}", ShownPath(path), error.what()));
  }
  return options;
}

// Code named only by the files, not by the caller.
ForeignCode CodeOfFiles(const SavedAgentSource& source, const RunOptions& options,
                        const Config& config) {
  ForeignCode code = ForeignCodeOf(options);
  if (source.env) code.module.reset();
  for (const ConfigKey& key : config.Keys()) {
    if (key.key == "env.python" && key.origin != "default") code.python.reset();
    if (key.key == "env.wrappers" && key.origin != "default") code.wrappers.clear();
  }
  return code;
}

// Whether a setting is about the network.
bool IsOfNetwork(const std::string& setting) {
  return setting.starts_with("network.") || setting.starts_with("agent.head") ||
         setting.starts_with("agent.algorithm");
}

void RequireUsable(const std::string& setting, const SavedAgentSource& source,
                   const Safetensors& file) {
  if (setting.starts_with("eval.") || setting.starts_with("env.")) return;
  if (!IsOfNetwork(setting)) {
    throw BadInput(fmt::format("{}: expected a key eval.* or env.*; the others are about training",
                               Shorten(setting)));
  }
  if (IsDirectory(source.path)) {
    throw BadInput(fmt::format("{}: the network is the run's, as {} says", Shorten(setting),
                               ShownPath(source.path / "config.toml")));
  }
  const bool names_algorithm = setting.starts_with("agent.algorithm");
  if (names_algorithm ? IsActor(file.metadata).has_value() : DescribesNetwork(file)) {
    throw BadInput(
        fmt::format("{}: {} says itself which network it is of", Shorten(setting), file.name));
  }
}

bool IsControlName(const std::string& name) {
  AgentOptions options;
  Config config;
  Describe(config, options);
  try {
    config.Set("agent.algorithm=" + name);
  } catch (const Error&) {
    return false;  // as any text in a file
  }
  return IsControl(options.algorithm);
}

// For a weights file: what it or the settings say of the agent.
void ApplyAlgorithm(const SavedAgentSource& source, const Safetensors& file, Config& config) {
  constexpr std::string_view kSetting = "agent.algorithm=";
  std::string name;
  const auto noted = file.metadata.find(kAlgorithmNote);
  if (noted != file.metadata.end()) name = noted->second;
  for (const std::string& setting : source.settings) {
    if (setting.starts_with(kSetting)) name = setting.substr(kSetting.size());
  }
  if (!IsControlName(name)) return;
  config.Set(std::string(kSetting) + name, "weights file");
  config.Set("eval.epsilon=0", "weights file");  // as their presets say
}

RunOptions FindOptions(const SavedAgentSource& source, const Safetensors& file) {
  const bool is_run = IsDirectory(source.path);
  RunOptions options;
  if (is_run) {
    options = ReadRunOptions(source.path / "config.toml");
    if (source.env) options.train.env = NormalizedId(*source.env);
  } else if (!source.env) {
    options.env = EnvironmentOptionsOfFile(source.path, file.metadata);
  }
  Config config;
  Describe(config, options);
  if (!is_run) {
    LoadPreset(config, EnvironmentOfFile(source, file.metadata), "");
    ApplyAlgorithm(source, file, config);
  }
  for (const std::string& setting : source.settings) {
    RequireUsable(setting, source, file);
    config.Set(setting);
  }
  options.Validate();
  if (const ForeignCode code = CodeOfFiles(source, options, config); !source.trust) {
    RefuseForeignCode(code, is_run ? source.path / "config.toml" : source.path, options.train.env);
  }
  return options;
}

std::string InputText(const InputSpec& input) {
  const Shape& shape = input.shape;
  if (input.is_vector()) return fmt::format("{} numbers", shape.size());
  if (input.floats) {
    return fmt::format("{} planes of {}x{} floats divided by {:g}", shape.channels, shape.height,
                       shape.width, input.divisor);
  }
  return fmt::format("{} planes of {}x{} in [0, {:g}]", shape.channels, shape.height, shape.width,
                     input.divisor);
}

bool EndsInTanh(const Plan& plan) { return plan.steps.back().activation == Activation::kTanh; }

std::string OutputText(const Plan& plan, bool is_actor) {
  if (!is_actor) return fmt::format("values of {} actions", plan.outputs());
  return fmt::format("continuous actions ({})",
                     EndsInTanh(plan) ? plan.outputs() : plan.outputs() / 2);
}

// The network that the file describes, or else the one that the options give in their environment.
WeightsFile ReadNetwork(const Safetensors& file, const RunOptions& options) {
  if (DescribesNetwork(file)) return ReadWeights(file);
  EnvironmentOptions env = EvaluationEnvironment(options);
  env.num_envs = 1;
  const auto environment = MakeEnvironment(options.train.env, env);
  const EnvironmentSpec& spec = environment->spec();
  if (spec.action.kind == Space::Kind::kBox && !IsControl(options.agent.algorithm)) {
    throw BadInput(fmt::format(
        "{} does not say whose actor it is, and {} has continuous actions: set agent.algorithm to "
        "ddpg, td3 or sac",
        file.name, spec.id));
  }
  RequireAgentFits(options, spec);
  WeightsFile weights{.parameters = Parameters(AgentPlan(options, spec)),
                      .metadata = file.metadata};
  ReadWeightsOfAnyOrigin(file, weights.parameters);
  return weights;
}

}  // namespace

void RequireRun(const fs::path& path) {
  if (!Exists(path)) throw BadInput(fmt::format("{}: there is no such run", ShownPath(path)));
  if (!Exists(path / "config.toml")) {
    throw BadInput(
        fmt::format("{} is not the directory of a run: it has no config.toml", ShownPath(path)));
  }
}

fs::path FindWeights(const SavedAgentSource& source) {
  if (source.path.empty()) throw BadInput("expected a run or a weights file, found an empty path");
  if (!Exists(source.path)) {
    throw BadInput(fmt::format("{}: there is no such run or weights file", source.path.string()));
  }
  if (!IsDirectory(source.path)) return source.path;
  RequireRun(source.path);
  return source.step ? FindKeptWeights(source.path, *source.step).file : WeightsOfRun(source);
}

void ReadWeightsOfAnyOrigin(const Safetensors& file, Parameters& parameters) {
  const std::vector<RenamedTensor> renamed = ReadMatchingWeightsInto(file, parameters);
  if (!renamed.empty()) LogInfo(fmt::format("{}: {}", file.name, RenamedText(renamed)));
}

EnvironmentOptions EvaluationEnvironment(const RunOptions& options) {
  using ActionSet = EnvironmentOptions::ActionSet;
  EnvironmentOptions env = options.env;
  const bool is_atari = options.train.env.starts_with("atari/");
  if (!is_atari || !options.eval.protocol || *options.eval.protocol == env.protocol) return env;
  if (env.actions == ActionSet::kUsual) {
    const bool all = env.protocol == EnvironmentOptions::Protocol::kMachado;
    env.actions = all ? ActionSet::kFull : ActionSet::kMinimal;
  }
  env.protocol = *options.eval.protocol;
  return env;
}

SavedAgent::SavedAgent(const SavedAgentSource& source) : SavedAgent(source, FindWeights(source)) {}

SavedAgent::SavedAgent(const SavedAgentSource& source, const fs::path& file)
    : SavedAgent(source, file, SafetensorsFile(file)) {}

SavedAgent::SavedAgent(const SavedAgentSource& source, const fs::path& file,
                       const SafetensorsFile& content)
    : weights_file_(file),
      weights_kind_(IsDirectory(source.path) && !source.step ? file.stem().string() : ""),
      options_(FindOptions(source, content.content())),
      weights_(ReadNetwork(content.content(), options_)) {
  if (IsDirectory(source.path) && source.step) {
    RequireOwnStep({*source.step, file}, weights_.metadata);
  }
}

void SavedAgent::TakeWeights(const KeptWeights& kept) {
  const SafetensorsFile content(kept.file);
  RequireOwnStep(kept, content.content().metadata);
  ReadMatchingWeightsInto(content.content(), weights_.parameters);
  weights_.metadata = content.content().metadata;
  weights_file_ = kept.file;
}

WeightsMetadata DescribeWeights(const RunOptions& options, std::int64_t step) {
  WeightsMetadata metadata = {{"stableaa.env", options.train.env},
                              {kPresetNote, options.train.preset},
                              {"stableaa.seed", std::to_string(options.train.seed)},
                              {"stableaa.step", std::to_string(step)}};
  if (IsControl(options.agent.algorithm)) {
    metadata[kAlgorithmNote] = NameOf(options.agent.algorithm);
  }
  const EnvironmentOptions& env = options.env;
  const std::vector<std::string> used = EnvironmentKeys(options.train.env);
  if (env.kwargs != EnvironmentOptions().kwargs &&
      std::ranges::find(used, "env.kwargs") != used.end()) {
    metadata[kKwargsNote] = env.kwargs;
  }
  if (!env.wrappers.empty()) {
    metadata[kWrappersNote] = fmt::format("{}", fmt::join(env.wrappers, "\n"));
  }
  return metadata;
}

std::optional<bool> IsActor(const WeightsMetadata& metadata) {
  const auto noted = metadata.find(kAlgorithmNote);
  if (noted != metadata.end()) return IsControlName(noted->second);
  if (metadata.contains(kPresetNote)) return false;
  return std::nullopt;
}

std::optional<std::int64_t> StepOf(const WeightsMetadata& metadata) {
  const auto noted = metadata.find("stableaa.step");
  if (noted == metadata.end()) return std::nullopt;
  const std::string& text = noted->second;
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || end != text.data() + text.size() || step < 0) return std::nullopt;
  return step;
}

std::string SavedAgent::WeightsText() const {
  std::vector<std::string> notes;
  if (!weights_kind_.empty()) notes.push_back(weights_kind_);
  if (const auto step = weights_step()) notes.push_back(fmt::format("step {}", *step));
  const std::string path = ShownPath(weights_file_);
  return notes.empty() ? path : fmt::format("{} ({})", path, fmt::join(notes, ", "));
}

std::unique_ptr<Environment> SavedAgent::MakeEnvironment(int num_envs, bool render) const {
  EnvironmentOptions options = EvaluationEnvironment(options_);
  options.num_envs = num_envs;
  options.render = render;
  auto environment = stableaa::MakeEnvironment(options_.train.env, options);
  CheckFit(environment->spec());
  return environment;
}

void SavedAgent::CheckFit(const EnvironmentSpec& spec) const {
  const Plan& plan = parameters().plan();
  const InputSpec seen = ObservationLayout(spec).input();
  const bool continuous = spec.action.kind == Space::Kind::kBox;
  // The shape does not tell SAC's actor from a network of values.
  const bool is_actor = EndsInTanh(plan) || IsControl(options_.agent.algorithm);
  const bool acts = is_actor == continuous && (continuous ? IsActorFor(plan, ActionBox(spec).size())
                                                          : plan.outputs() == spec.action.n);
  if (plan.spec.input == seen && acts) return;
  throw BadInput(fmt::format("{}: the network takes {} and gives {}, but {} shows {} and has {}",
                             weights_file_.string(), InputText(plan.spec.input),
                             OutputText(plan, is_actor), spec.id, InputText(seen),
                             continuous ? fmt::format("continuous actions ({})", spec.action.size())
                                        : fmt::format("{} actions", spec.action.n)));
}

std::unique_ptr<Player> SavedAgent::MakePlayer(const Environment& environment) const {
  auto plan = std::make_shared<const Plan>(parameters().plan());
  const EnvironmentSpec& spec = environment.spec();
  if (spec.action.kind == Space::Kind::kBox) {
    return std::make_unique<ControlPlayer>(plan, spec, environment.num_envs());
  }
  return std::make_unique<Actor>(std::move(plan), ObservationLayout(spec), PolicyKind::kGreedy,
                                 options_.agent.omega, environment.num_envs());
}

}  // namespace stableaa
