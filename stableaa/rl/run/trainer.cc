#include "stableaa/rl/run/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/saved_number.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/env/gymnasium/wrapper_call.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/saved_agent.h"
#include "stableaa/rl/run/trust.h"

namespace stableaa {
namespace {

// Adds its lifetime to a total of seconds.
class ScopedTimer {
 public:
  explicit ScopedTimer(double& seconds) : seconds_(seconds) {}
  ~ScopedTimer() { seconds_ += watch_.Seconds(); }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& seconds_;
  const Stopwatch watch_;
};

RunOptions Checked(RunOptions options) {
  options.Validate();
  options.train.env = NormalizedId(options.train.env);
  return options;
}

std::unique_ptr<Environment> MakeTrainingEnvironment(const RunOptions& options) {
  std::unique_ptr<Environment> environment = MakeEnvironment(options.train.env, options.env);
  RequireAgentFits(options, environment->spec());
  return environment;
}

// Called before anything large is allocated.
void RequireRoomFor(const AgentMemory& memory) {
  const std::uint64_t sum = memory.replay + memory.networks;
  RequireMemory("this run", sum < memory.replay ? std::numeric_limits<std::uint64_t>::max() : sum,
                "try a smaller replay.size or replay.compression=lz4");
}

void LogMemory(const AgentMemory& memory) {
  LogInfo(fmt::format(
      "memory: about {:.0f} MB for the replay when full, {:.0f} MB for networks "
      "and their cached values",
      static_cast<double>(memory.replay) / 1e6, static_cast<double>(memory.networks) / 1e6));
}

std::vector<std::byte> ReadCheckpoint(const RunDirectory& directory) {
  CheckedFile file = ReadCheckedFile(directory.state(), kCheckpointKind, kCheckpointVersion);
  if (file.version != kCheckpointVersion) {
    throw BadInput(fmt::format("{}: checkpoint of format version {}; this program reads version {}",
                               directory.state().string(), file.version, kCheckpointVersion));
  }
  return std::move(file.payload);
}

// Reads the head and checks it against the options it was made with. Evaluations come every
// eval.interval_steps; the last one may have been stopped. Instead of a first one there may be the
// one at the end.
CheckpointHead ReadHead(ByteReader& in, const RunOptions& options, std::uint32_t fingerprint,
                        const RunDirectory& directory) {
  const CheckpointHead head = CheckpointHead::Read(in);
  if (head.fingerprint != fingerprint) {
    throw BadInput(
        fmt::format("{}: made with another configuration than that of {}; only "
                    "train.steps and train.threads may change",
                    directory.state().string(), directory.config().string()));
  }
  const std::int64_t interval = options.eval.interval_steps;
  const int envs = options.env.num_envs;
  if (head.step % envs != 0) {
    throw in.Wrong(fmt::format("expected a multiple of {} (env.num_envs) as the step, found {}",
                               envs, head.step));
  }
  const std::int64_t due = LastDueStep(interval, envs, head.step);
  const bool was_stopped = due > 0 && head.step == due &&
                           head.evaluated_step == LastDueStep(interval, envs, head.step - envs);
  const bool is_end = due == 0 && interval != 0 && head.evaluated_step == head.step;
  if (head.evaluated_step == due || was_stopped || is_end) return head;
  throw in.Wrong(fmt::format("expected {} as the last evaluated step in step {}, found {}", due,
                             head.step, head.evaluated_step));
}

// Done before its row and weights are removed: a run killed in between must not look complete.
void ForgetEndEvaluation(const RunDirectory& directory, std::vector<std::byte> checkpoint,
                         CheckpointHead head) {
  head.evaluated_step = 0;
  ByteWriter written;
  head.Write(written);
  std::ranges::copy(written.bytes(), checkpoint.begin());
  WriteCheckedFile(directory.state(), kCheckpointKind, kCheckpointVersion, checkpoint);
}

// Where the first weights come from, as far as is known.
nlohmann::ordered_json DescribeFirst(const FirstWeights& first) {
  constexpr std::size_t kMostText = 200;
  nlohmann::ordered_json from = {{"path", first.file().string()}};
  if (const auto step = StepOf(first.metadata())) from["step"] = *step;
  for (const char* const key : {"env", "preset", "seed"}) {
    const auto noted = first.metadata().find(fmt::format("stableaa.{}", key));
    if (noted != first.metadata().end()) from[key] = Shorten(noted->second, kMostText);
  }
  from["crc32"] = fmt::format("{:08x}", first.checksum());
  return from;
}

// The shape does not tell SAC's actor from a network of values.
void RequireSameKind(const FirstWeights& first, AgentAlgorithm algorithm) {
  const std::optional<bool> is_actor = IsActor(first.metadata());
  if (!is_actor || *is_actor == IsControl(algorithm)) return;
  constexpr const char *kActor = "an actor", *kValues = "a network of values";
  throw BadInput(fmt::format("{}: expected {}, as agent.algorithm = {} learns, found {}",
                             ShownPath(first.file()), *is_actor ? kValues : kActor,
                             NameOf(algorithm), *is_actor ? kActor : kValues));
}

void WarnOfStatistics(const RunOptions& options) {
  for (const WrapperCall& call : ParseWrappers(options.env.wrappers)) {
    if (!call.is_called_normalize()) continue;
    LogWarning(fmt::format(
        "env.wrappers: {}: {}this run cannot be resumed, and evaluations normalise by "
        "themselves, with statistics of their own",
        call.name, call.keeps_statistics() ? "" : "if its statistics outlive an episode, "));
  }
}

}  // namespace

void CheckTrainable(const RunOptions& options) {
  const RunOptions checked = Checked(options);
  if (IsNative(checked.train.env)) (void)MakeTrainingEnvironment(checked);
}

Trainer::Trainer(RunDirectory directory, const RunOptions& options,
                 std::unique_ptr<Environment> environment)
    : directory_(std::move(directory)),
      options_(options),
      fingerprint_(Fingerprint(options_)),
      environment_(std::move(environment)),
      agent_(MakeAgent(options_, environment_->spec())),
      exploration_random_(options_.train.seed, "exploration"),
      recorder_(directory_, options_, *agent_),
      evaluator_(directory_, options_, *agent_),
      keeper_(directory_, options_, *agent_) {}

Trainer::~Trainer() = default;

std::unique_ptr<Trainer> Trainer::Start(const std::filesystem::path& directory,
                                        const RunOptions& options,
                                        const std::optional<std::filesystem::path>& from) {
  const RunOptions checked = Checked(options);
  std::unique_ptr<Environment> environment = MakeTrainingEnvironment(checked);
  std::optional<FirstWeights> first;
  if (from) {
    first.emplace(*from, AgentPlan(checked, environment->spec()));
    RequireSameKind(*first, checked.agent.algorithm);
  }
  const AgentMemory memory = EstimateAgentMemory(checked, environment->spec());
  RequireRoomFor(memory);
  RunDirectory made = RunDirectory::Create(directory);
  std::unique_ptr<Trainer> trainer(new Trainer(std::move(made), checked, std::move(environment)));
  trainer->WriteDescription(first);
  if (first) trainer->agent_->StartFrom(first->parameters());
  trainer->Begin();
  WarnOfStatistics(checked);
  LogMemory(memory);  // not before an environment whose first episode cannot begin is refused
  trainer->Checkpoint();
  trainer->directory_.Publish();
  trainer->recorder_.Reopen();
  return trainer;
}

std::unique_ptr<Trainer> Trainer::Resume(const std::filesystem::path& path,
                                         const ResumeChanges& changes) {
  RunDirectory directory = RunDirectory::Open(path);
  RunOptions options = ReadRunOptions(directory.config());
  const std::string former = ToToml(options);
  if (changes.steps) options.train.steps = *changes.steps;
  if (changes.threads) options.train.threads = *changes.threads;
  options = Checked(options);
  const std::vector<std::byte> checkpoint = ReadCheckpoint(directory);
  ByteReader in(checkpoint, directory.state());
  const CheckpointHead head = ReadHead(in, options, Fingerprint(options), directory);
  if (head.IsComplete(options)) return nullptr;
  if (!changes.trust) {
    RefuseForeignCode(ForeignCodeOf(options), directory.config(), options.train.env);
  }
  std::unique_ptr<Environment> environment = MakeTrainingEnvironment(options);
  const AgentMemory memory = EstimateAgentMemory(options, environment->spec());
  RequireRoomFor(memory);
  std::unique_ptr<Trainer> trainer(
      new Trainer(std::move(directory), options, std::move(environment)));
  const RunLogs::Rows logged = trainer->LoadCheckpoint(in, head);
  LogMemory(memory);
  // Nothing has been changed up to here.
  if (IsEndEvaluation(options, head.evaluated_step)) {
    ForgetEndEvaluation(trainer->directory_, checkpoint, head);
  }
  if (const std::string config = ToToml(options); config != former) {
    WriteTextFile(trainer->directory_.config(), config);
  }
  trainer->OpenLogs(logged);
  return trainer;
}

bool Trainer::Load(std::span<const std::byte> payload) {
  ByteReader in(payload, directory_.state());
  const CheckpointHead head = ReadHead(in, options_, fingerprint_, directory_);
  if (head.IsComplete(options_)) return false;
  OpenLogs(LoadCheckpoint(in, head));
  return true;
}

void Trainer::WriteDescription(const std::optional<FirstWeights>& first) const {
  WriteTextFile(directory_.config(), ToToml(options_));

  const EnvironmentSpec& spec = environment_->spec();
  nlohmann::ordered_json description = {
      {"version", LibraryVersion()},
      {"compiler", CompilerName()},
      {"machine", MachineName()},
      {"env", options_.train.env},
      {"preset", options_.train.preset},
      {"seed", options_.train.seed},
      {"protocol", spec.protocol},
      {"observation", Describe(spec.observation)},
      {"actions", Describe(spec.action)},
      {"network", ToText(plan().spec)},
      {"parameters", ParameterCount(plan())},
      {"units",
       {{"step", options_.train.env.starts_with("atari/") ? "one action, 4 frames of the game"
                                                          : "one action of the environment"},
        {"update", "one step of the optimiser"},
        {"return", "sum of unclipped, undiscounted rewards of an episode"},
        {"episode", "training: as the protocol ends it (a lost life may); evaluation: whole games"},
        {"wall_seconds", "time of all parts of the run, evaluations included"}}}};
  if (first) description["from"] = DescribeFirst(*first);
  // A path need not be UTF-8.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  WriteTextFile(directory_.run_json(), description.dump(2, ' ', false, kReplace) + "\n");
}

void Trainer::Begin() {
  recorder_.Begin();
  environment_->Reset(options_.train.seed);
  for (int i = 0; i < environment_->num_envs(); ++i) {
    agent_->Begin(i, environment_->observations());
  }
}

bool Trainer::Run(const RunHooks& hooks) {
  const Stopwatch watch;
  const auto stopped = [&hooks] { return hooks.stop && hooks.stop(); };
  recorder_.ReportTo(hooks.rows);
  bool complete = evaluator_.EndIsDone();
  while (!complete) {
    if (!EvaluateIfDue(hooks)) break;
    times_.total = watch.Seconds();
    if (step_ >= options_.train.steps && evaluator_.EndIsDue(step_)) {
      Checkpoint();
      complete = EvaluateEnd(hooks);
      times_.total = watch.Seconds();
      if (!complete) break;
      recorder_.AddEndRow(Now(), *evaluator_.TakeResult());
      ReportProgress(hooks);
      break;
    }
    LogIfDue();
    if (IsDueStep(options_.train.checkpoint_interval_steps, options_.env.num_envs, step_)) {
      Checkpoint();
    }
    ReportProgress(hooks);
    complete = step_ >= options_.train.steps ||
               (hooks.enough_return && evaluator_.best_return() >= *hooks.enough_return);
    if (complete || stopped()) break;
    const std::int64_t before = step_;
    Step();
    KeepWeightsIfDue(before);
  }
  Checkpoint();
  times_.total = watch.Seconds();
  return complete;
}

void Trainer::Step() {
  const std::int64_t last = step_ + environment_->num_envs();
  Actions actions;
  try {
    const ScopedTimer timer(times_.acting);
    actions = agent_->Act(step_, environment_->observations(), exploration_random_);
  } catch (const Error& error) {
    EndDiverged(step_ + 1, error.what());
  }
  {
    const ScopedTimer timer(times_.environment);
    environment_->Send(actions);
  }
  for (std::int64_t step = step_ + 1; step <= last; ++step) Learn(step);
  {
    const ScopedTimer timer(times_.environment);
    environment_->Recv();
  }
  for (int i = 0; i < environment_->num_envs(); ++i) Remember(i);
  step_ = last;
}

void Trainer::Learn(std::int64_t step) {
  try {
    recorder_.AddUpdate(agent_->Update(step));
  } catch (const Error& error) {
    EndDiverged(step, error.what());
  }
}

void Trainer::Remember(int i) {
  const ScopedTimer timer(times_.sampling);
  const auto row = static_cast<std::size_t>(i);
  const std::int64_t step = step_ + 1 + i;
  const double reward = environment_->rewards()[row];
  const bool terminated = environment_->terminated()[row] != 0;
  const bool truncated = environment_->truncated()[row] != 0;
  const bool ended = environment_->ended(i);
  if (!(std::abs(reward) <= static_cast<double>(std::numeric_limits<float>::max()))) {
    throw WorkFailed(fmt::format(
        "{} gave a reward of {} in step {}; expected a number of at most 3.4e38 in magnitude",
        options_.train.env, reward, step));
  }
  const double sign = static_cast<double>((reward > 0) - (reward < 0));
  agent_->Remember(
      i, {.reward = options_.train.clip_rewards ? sign : reward,
          .terminated = terminated,
          .truncated = truncated,
          .next = ended ? environment_->final_observations() : environment_->observations()});
  if (ended) agent_->Begin(i, environment_->observations());
  recorder_.AddStep(
      i, {.step = step, .reward = reward, .terminated = terminated, .truncated = truncated});
}

// Returns false if it was stopped; it is then due again.
bool Trainer::EvaluateIfDue(const RunHooks& hooks) {
  if (!evaluator_.IsDue(step_)) return true;
  const ScopedTimer timer(times_.evaluation);
  RequireFiniteWeights();
  if (!evaluator_.Evaluate(step_, hooks.stop)) return false;
  if (keeper_.keeps_evaluations()) keeper_.Keep(step_);
  checkpoint_step_ = -1;
  return true;
}

bool Trainer::EvaluateEnd(const RunHooks& hooks) {
  const ScopedTimer timer(times_.evaluation);
  RequireFiniteWeights();
  if (!evaluator_.EvaluateEnd(step_, hooks.stop)) return false;
  if (keeper_.keeps_evaluations()) keeper_.Keep(step_);
  checkpoint_step_ = -1;
  return true;
}

// Comes before the checkpoint of this step, so that a run which resumes from there has the file.
void Trainer::KeepWeightsIfDue(std::int64_t before) {
  if (!keeper_.IsDue(before, step_)) return;
  const ScopedTimer timer(times_.checkpoint);
  RequireFiniteWeights();
  keeper_.Keep(step_);
}

void Trainer::LogIfDue() {
  if (!recorder_.RowIsDue(step_, evaluator_.result().has_value())) return;
  recorder_.AddRow(Now(), evaluator_.TakeResult());
  checkpoint_step_ = -1;
}

MetricsRecorder::Moment Trainer::Now() const {
  return {.step = step_, .seconds = wall_seconds_before_ + times_.total};
}

// Also writes diagnostics, if there is room for them.
void Trainer::EndDiverged(std::int64_t step, const std::string& why) const {
  const std::filesystem::path diagnosis = directory_.diagnosis();
  std::string where;
  try {
    agent_->WriteDiagnosis(diagnosis);
    where = fmt::format("; {} has the batch, the values and the parameters", diagnosis.string());
  } catch (const Error& error) {
    where = fmt::format("; {}", error.what());
  }
  throw WorkFailed(fmt::format("training diverged in step {}, after {} updates: {}{}", step,
                               agent_->updates(), why, where));
}

// No reader would accept a file with non-finite weights, and training could not continue.
void Trainer::RequireFiniteWeights() const {
  if (agent_->IsFinite()) return;
  for (const float weight : agent_->weights().block()) {
    if (!std::isfinite(weight)) EndDiverged(step_, fmt::format("a weight has become {}", weight));
  }
  EndDiverged(step_, "a weight of the critics or of an average is not finite");
}

// Each file is replaced as a whole, the state last. Whatever happens in between, the former state
// and all files that it names are still there.
void Trainer::Checkpoint() {
  if (checkpoint_step_ == step_) return;
  const ScopedTimer timer(times_.checkpoint);
  RequireFiniteWeights();
  WriteWeights(directory_.weights() / "latest.safetensors", agent_->weights(),
               DescribeWeights(options_, step_));
  agent_->SaveFiles(directory_.checkpoint());
  recorder_.Sync();

  ByteWriter out;
  CheckpointHead{fingerprint_, step_, evaluator_.evaluated_step()}.Write(out);
  recorder_.Save(out);
  evaluator_.Save(out);
  out.F64(Now().seconds);
  exploration_random_.Save(out);
  environment_->Save(out);
  agent_->Save(out);
  WriteCheckedFile(directory_.state(), kCheckpointKind, kCheckpointVersion, out.bytes());
  agent_->RemoveOldFiles(directory_.checkpoint());
  evaluator_.ConfirmWeights();
  checkpoint_step_ = step_;
}

// Loads what follows the head and returns the rows of the logs. Throws BadInput for numbers that no
// run with these options has, and for logs that differ from what they were then.
RunLogs::Rows Trainer::LoadCheckpoint(ByteReader& in, const CheckpointHead& head) {
  step_ = head.step;
  checkpoint_step_ = IsEndEvaluation(options_, head.evaluated_step) ? -1 : head.step;
  evaluator_.SetEvaluatedStep(head.evaluated_step);
  RunLogs::Rows logged = recorder_.Load(in, step_, evaluator_.evaluated_step());
  evaluator_.Load(in);
  wall_seconds_before_ = LoadNumber(in, "0 seconds or more", 0);
  recorder_.RateFrom({.step = step_, .seconds = wall_seconds_before_});
  exploration_random_.Load(in);
  environment_->Load(in);
  agent_->Load(in, directory_.checkpoint(),
               {.step = step_,
                .episodes = recorder_.episodes(),
                .observations = environment_->observations()});
  in.ExpectEnd();
  RunLogs::Require(directory_, logged);
  return logged;
}

void Trainer::OpenLogs(const RunLogs::Rows& logged) {
  recorder_.Open(logged);
  evaluator_.RestoreWeights();
  keeper_.RemoveLater(step_, evaluator_.evaluated_step());
}

TrainTimes Trainer::times() const {
  TrainTimes times = times_;
  const AgentTimes agent = agent_->times();
  times.sampling += agent.sampling;
  times.targets = agent.targets;
  times.gradient = agent.gradient;
  return times;
}

void Trainer::ReportProgress(const RunHooks& hooks) const {
  if (!hooks.progress) return;
  hooks.progress({.step = step_,
                  .episode_return = recorder_.recent_return(),
                  .loss = recorder_.last_loss(),
                  .eval_return = evaluator_.last_return()});
}

}  // namespace stableaa
