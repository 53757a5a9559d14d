#include "stableaa/rl/run/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/saved_number.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/saved_agent.h"
#include "stableaa/rl/run/trust.h"

namespace stableaa {
namespace {

constexpr double kRecent = 20;  // episodes that the progress line averages over
constexpr double kNoReturn = -std::numeric_limits<double>::infinity();

RunOptions Checked(RunOptions options) {
  options.Validate();
  options.train.env = NormalizedId(options.train.env);
  return options;
}

std::unique_ptr<Environment> MakeTrainingEnvironment(const RunOptions& options) {
  EnvironmentOptions env = options.env;
  env.num_envs = 1;
  std::unique_ptr<Environment> environment = MakeEnvironment(options.train.env, env);
  if (environment->spec().action.kind != Space::Kind::kDiscrete) {
    throw BadInput(
        fmt::format("{} has continuous actions ({}); the agents of the DQN family need "
                    "discrete ones",
                    options.train.env, Describe(environment->spec().action)));
  }
  return environment;
}

NetworkSpec NetworkFor(const RunOptions& options, const EnvironmentSpec& spec) {
  return AgentNetwork(options.agent, ObservationLayout(spec).input(), spec.action.n);
}

struct RunMemory {
  std::uint64_t replay = 0, learner = 0;  // bytes

  RunMemory(const RunOptions& options, const EnvironmentSpec& spec)
      : replay(Replay::EstimateBytes(options.replay, ObservationLayout(spec).frames(),
                                     Learner::ReplayReserve(options))),
        learner(Learner::EstimateBytes(options, MakePlan(NetworkFor(options, spec)))) {}

  // Before anything large is made.
  void Require() const {
    const std::uint64_t sum = replay + learner;
    RequireMemory("this run", sum < replay ? std::numeric_limits<std::uint64_t>::max() : sum,
                  "try a smaller replay.size or replay.compression=lz4");
  }

  void Log() const {
    LogInfo(
        fmt::format("memory: about {:.0f} MB for the replay when full, {:.0f} MB for networks "
                    "and their cached values",
                    static_cast<double>(replay) / 1e6, static_cast<double>(learner) / 1e6));
  }
};

std::vector<std::byte> ReadCheckpoint(const RunDirectory& directory) {
  CheckedFile file = ReadCheckedFile(directory.state(), kCheckpointKind, kCheckpointVersion);
  if (file.version != kCheckpointVersion) {
    throw BadInput(fmt::format("{}: checkpoint of format version {}; this program reads version {}",
                               directory.state().string(), file.version, kCheckpointVersion));
  }
  return std::move(file.payload);
}

// With the options it was made with. Evaluations come every eval.interval_steps; the last one may
// have been stopped. Instead of a first one there may be that of the end.
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
  const std::int64_t due = interval == 0 ? 0 : head.step - head.step % interval;
  const bool was_stopped =
      due > 0 && head.step == due && head.evaluated_step == head.step - interval;
  const bool is_end = due == 0 && interval != 0 && head.evaluated_step == head.step;
  if (head.evaluated_step == due || was_stopped || is_end) return head;
  throw in.Wrong(fmt::format("expected {} as the last evaluated step in step {}, found {}", due,
                             head.step, head.evaluated_step));
}

// Before its row and weights go: a run that is killed then must not pass for complete.
void ForgetEndEvaluation(const RunDirectory& directory, std::vector<std::byte> checkpoint,
                         CheckpointHead head) {
  head.evaluated_step = 0;
  ByteWriter written;
  head.Write(written);
  std::ranges::copy(written.bytes(), checkpoint.begin());
  WriteCheckedFile(directory.state(), kCheckpointKind, kCheckpointVersion, checkpoint);
}

// Rows of metrics.csv: one per train.log_interval_steps and per evaluation, one for both.
std::uint64_t MetricRows(const RunOptions& options, std::int64_t logged_step,
                         std::int64_t evaluated_step) {
  const std::int64_t log = options.train.log_interval_steps, eval = options.eval.interval_steps;
  std::int64_t rows = logged_step / log;
  if (eval != 0) {
    const std::int64_t evaluations = evaluated_step / eval;
    rows += evaluations - evaluations / (log / std::gcd(log, eval));
  }
  return static_cast<std::uint64_t>(rows);
}

}  // namespace

void CheckTrainable(const RunOptions& options) {
  const RunOptions checked = Checked(options);
  const std::string& env = checked.train.env;
  if (env.starts_with("atari/") || env.starts_with("gymnasium/")) return;
  (void)MakePlan(NetworkFor(checked, MakeTrainingEnvironment(checked)->spec()));
}

Trainer::Trainer(RunDirectory directory, const RunOptions& options,
                 std::unique_ptr<Environment> environment)
    : directory_(std::move(directory)),
      options_(options),
      fingerprint_(Fingerprint(options_)),
      environment_(std::move(environment)),
      layout_(environment_->spec()),
      plan_(std::make_shared<const Plan>(MakePlan(NetworkFor(options_, environment_->spec())))),
      replay_(options_.replay, {options_.agent.n_step, options_.agent.discount}, layout_.frames(),
              Learner::ReplayReserve(options_)),
      learner_(options_, plan_, layout_, replay_),
      actor_(plan_, layout_, options_.exploration.policy, options_.agent.omega, 1),
      exploration_random_(options_.train.seed, "exploration"),
      best_return_(kNoReturn),
      end_return_(kNoReturn),
      encoded_(layout_.frames().observation_bytes()) {}

Trainer::~Trainer() = default;

std::unique_ptr<Trainer> Trainer::Start(const std::filesystem::path& directory,
                                        const RunOptions& options) {
  const RunOptions checked = Checked(options);
  std::unique_ptr<Environment> environment = MakeTrainingEnvironment(checked);
  const RunMemory memory(checked, environment->spec());
  memory.Require();
  RunDirectory made = RunDirectory::Create(directory);
  memory.Log();
  std::unique_ptr<Trainer> trainer(new Trainer(std::move(made), checked, std::move(environment)));
  trainer->WriteDescription();
  trainer->Begin();
  trainer->Checkpoint();
  trainer->directory_.Publish();
  // By their final names, which errors give.
  trainer->logs_ = std::make_unique<RunLogs>(trainer->directory_, trainer->logs_->rows());
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
    RefuseForeignCode(
        ForeignCodeOf(options), directory.config(),
        fmt::format("to run it: stableaa train --resume {} --trust", ShellWord(path.string())));
  }
  std::unique_ptr<Environment> environment = MakeTrainingEnvironment(options);
  const RunMemory memory(options, environment->spec());
  memory.Require();
  std::unique_ptr<Trainer> trainer(
      new Trainer(std::move(directory), options, std::move(environment)));
  const RunLogs::Rows logged = trainer->LoadCheckpoint(in, head);
  memory.Log();
  // Nothing is changed before here.
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

void Trainer::WriteDescription() const {
  WriteTextFile(directory_.config(), ToToml(options_));

  const EnvironmentSpec& spec = environment_->spec();
  const nlohmann::ordered_json description = {
      {"version", LibraryVersion()},
      {"compiler", CompilerName()},
      {"machine", MachineName()},
      {"env", options_.train.env},
      {"preset", options_.train.preset},
      {"seed", options_.train.seed},
      {"protocol", spec.protocol},
      {"observation", Describe(spec.observation)},
      {"actions", Describe(spec.action)},
      {"network", ToText(plan_->spec)},
      {"parameters", ParameterCount(*plan_)},
      {"units",
       {{"step", options_.train.env.starts_with("atari/") ? "one action, 4 frames of the game"
                                                          : "one action of the environment"},
        {"update", "one step of the optimiser"},
        {"return", "sum of unclipped, undiscounted rewards of an episode"},
        {"episode", "training: as the protocol ends it (a lost life may); evaluation: whole games"},
        {"wall_seconds", "time of all parts of the run, evaluations included"}}}};
  WriteTextFile(directory_.run_json(), description.dump(2) + "\n");
}

void Trainer::Begin() {
  logs_ = std::make_unique<RunLogs>(directory_, RunLogs::Rows{});
  logs_->Begin(Row());
  environment_->Reset(options_.train.seed);
  layout_.Encode(environment_->observations(), 0, encoded_);
  replay_.Begin(encoded_);
}

bool Trainer::Run(const RunHooks& hooks) {
  const Stopwatch watch;
  const auto stopped = [&hooks] { return hooks.stop && hooks.stop(); };
  bool complete = IsEndEvaluation(options_, evaluated_step_);
  while (!complete) {
    if (!EvaluateIfDue(hooks)) break;
    times_.total = watch.Seconds();
    if (step_ >= options_.train.steps && EndEvaluationIsDue(options_, step_, evaluated_step_)) {
      Checkpoint();
      complete = Evaluate(hooks);
      times_.total = watch.Seconds();
      if (complete) KeepEndEvaluation(hooks);
      break;
    }
    LogIfDue();
    if (step_ % options_.train.checkpoint_interval_steps == 0) Checkpoint();
    ReportProgress(hooks);
    complete = step_ >= options_.train.steps ||
               (hooks.enough_return && best_return_ >= *hooks.enough_return);
    if (complete || stopped()) break;
    Step();
  }
  Checkpoint();
  times_.total = watch.Seconds();
  return complete;
}

void Trainer::Step() {
  const std::int64_t step = step_ + 1;
  const Stopwatch acting_watch;
  std::span<const std::int32_t> actions;
  try {
    actions = actor_.Act(learner_.online(), environment_->observations(),
                         options_.exploration.Epsilon(step_), exploration_random_);
  } catch (const Error& error) {
    EndDiverged(step, error.what());
  }
  times_.acting += acting_watch.Seconds();
  const std::int32_t action = actions[0];

  const Stopwatch send_watch;
  environment_->Send({.indices = actions});
  times_.environment += send_watch.Seconds();

  if (step > options_.replay.start && step % options_.train.update_interval_steps == 0 &&
      replay_.transitions() > 0) {
    Learn(step);
  }

  const Stopwatch receive_watch;
  environment_->Recv();
  times_.environment += receive_watch.Seconds();
  step_ = step;
  const Stopwatch remember_watch;
  Remember(action);
  times_.sampling += remember_watch.Seconds();
}

void Trainer::Learn(std::int64_t step) {
  const UpdateTimes before = learner_.times();
  try {
    const UpdateReport report = learner_.Update(step);
    sums_.loss.Add(report.loss);
    sums_.td_abs.Add(report.td_abs);
    sums_.q_mean.Add(report.q_mean);
  } catch (const Error& error) {
    EndDiverged(step, error.what());
  }
  const UpdateTimes& after = learner_.times();
  times_.sampling += after.sampling - before.sampling;
  times_.targets += after.targets - before.targets;
  times_.gradient += after.gradient - before.gradient;
}

// With what helps to find out why, if there is room for it.
void Trainer::EndDiverged(std::int64_t step, const std::string& why) const {
  const std::filesystem::path diagnosis = directory_.path() / "diverged.npz";
  std::string where;
  try {
    learner_.WriteDiagnosis(diagnosis);
    where = fmt::format("; {} has the batch, the values and the parameters", diagnosis.string());
  } catch (const Error& error) {
    where = fmt::format("; {}", error.what());
  }
  throw WorkFailed(fmt::format("training diverged in step {}, after {} updates: {}{}", step,
                               learner_.counts().updates, why, where));
}

// No reader would take a file with them, and there is nothing to go on with.
void Trainer::RequireFiniteWeights() const {
  for (const float weight : learner_.online().block()) {
    if (!std::isfinite(weight)) EndDiverged(step_, fmt::format("a weight has become {}", weight));
  }
}

void Trainer::Remember(std::int32_t action) {
  const double reward = environment_->rewards()[0];
  const bool terminated = environment_->terminated()[0] != 0;
  const bool truncated = environment_->truncated()[0] != 0;
  const bool ended = environment_->ended(0);
  if (!(std::abs(reward) <= static_cast<double>(std::numeric_limits<float>::max()))) {
    throw WorkFailed(fmt::format(
        "{} gave a reward of {} in step {}; expected a number of at most 3.4e38 in magnitude",
        options_.train.env, reward, step_));
  }
  const double learnt =
      options_.train.clip_rewards ? static_cast<double>((reward > 0) - (reward < 0)) : reward;
  layout_.Encode(ended ? environment_->final_observations() : environment_->observations(), 0,
                 encoded_);
  replay_.Add(action, static_cast<float>(learnt), terminated, truncated, encoded_);
  episode_return_ += reward;
  ++episode_length_;
  if (!ended) return;

  layout_.Encode(environment_->observations(), 0, encoded_);
  replay_.Begin(encoded_);
  ++episodes_;
  logs_->Add(EpisodeRow{episodes_, step_, episode_return_, episode_length_, terminated, truncated});
  sums_.episode_return.Add(episode_return_);
  sums_.episode_length.Add(static_cast<double>(episode_length_));
  ++recent_episodes_;
  recent_return_ +=
      (episode_return_ - recent_return_) / std::min(kRecent, static_cast<double>(recent_episodes_));
  episode_return_ = 0;
  episode_length_ = 0;
}

// False if it was stopped: then it is due again.
bool Trainer::Evaluate(const RunHooks& hooks) {
  const EvaluationOptions& eval = options_.eval;
  const Stopwatch watch;
  RequireFiniteWeights();
  if (!evaluation_environment_) {
    EnvironmentOptions env = EvaluationEnvironment(options_);
    env.num_envs = static_cast<int>(std::min<std::int64_t>(eval.episodes, eval.parallel));
    evaluation_environment_ = MakeEnvironment(options_.train.env, env);
    evaluation_actor_ = std::make_unique<Actor>(plan_, layout_, PolicyKind::kGreedy,
                                                options_.agent.omega, env.num_envs);
  }
  struct Stopped {};
  const std::uint64_t seed =
      RandomStream(options_.train.seed, fmt::format("evaluation in step {}", step_))();
  try {
    evaluation_ =
        stableaa::Evaluate(*evaluation_environment_, *evaluation_actor_, learner_.online(),
                           eval.episodes, eval.epsilon, seed, [&](const EvaluationStep&) {
                             if (hooks.stop && hooks.stop()) throw Stopped{};
                           });
  } catch (const Stopped&) {
    return false;
  }
  evaluated_step_ = step_;
  checkpoint_step_ = -1;
  last_eval_ = evaluation_->return_mean;
  times_.evaluation += watch.Seconds();
  return true;
}

bool Trainer::EvaluateIfDue(const RunHooks& hooks) {
  if (!EvaluationIsDue(options_, step_, evaluated_step_)) return true;
  if (!Evaluate(hooks)) return false;
  if (evaluation_->return_mean > best_return_) {
    best_return_ = evaluation_->return_mean;
    WriteWeights(BestWeights(), learner_.online(), Metadata());
  }
  return true;
}

// A row and the best weights, of which the next checkpoint knows nothing but that they are there:
// it is that of a run which goes on, before the row of this step.
void Trainer::KeepEndEvaluation(const RunHooks& hooks) {
  end_return_ = evaluation_->return_mean;
  WriteWeights(BestWeights(), learner_.online(), Metadata());
  logs_->AddUncounted(Row(), step_);
  last_loss_ = sums_.loss.Mean();
  evaluation_.reset();
  ReportProgress(hooks);
}

std::filesystem::path Trainer::BestWeights() const {
  return directory_.weights() / "best.safetensors";
}

void Trainer::LogIfDue() {
  const bool due = step_ % options_.train.log_interval_steps == 0 || evaluation_;
  if (!due || step_ == logged_step_) return;
  logs_->Add(Row(), step_);
  last_loss_ = sums_.loss.Mean();
  sums_ = {};
  evaluation_.reset();
  logged_step_ = step_;
  checkpoint_step_ = -1;
}

MetricRow Trainer::Row() {
  const Mixing& mixing = learner_.mixing();
  const LearnerCounts& counts = learner_.counts();
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const bool mixes = options_.agent.mixes();
  const auto if_mixing = [mixes](double value) {
    return mixes ? std::optional(value) : std::nullopt;
  };
  MetricRow row;
  row.Add("step", number(step_));
  row.Add("update", number(counts.updates));
  row.Add("epsilon", options_.exploration.Epsilon(step_));
  row.Add("loss", sums_.loss.Mean());
  row.Add("td_abs", sums_.td_abs.Mean());
  row.Add("q_mean", sums_.q_mean.Mean());
  // Of the weights in force; right after a shift those may still be of the former window.
  row.Add("targets", mixes ? number(std::ssize(mixing.alpha)) : number(learner_.targets()));
  row.Add("gain", if_mixing(mixing.gain));
  row.Add("gain_held_out", if_mixing(mixing.gain_held_out));
  row.Add("residual", if_mixing(mixing.residual));
  row.Add("tau_norm", if_mixing(mixing.tau_norm));
  row.Add("lambda", if_mixing(mixing.lambda));
  row.Add("eta", if_mixing(mixing.eta));
  row.Add("condition", if_mixing(mixing.condition));
  // alpha_m is always the newest network's.
  const auto window = static_cast<std::size_t>(options_.agent.window());
  for (std::size_t k = 0; mixes && k < window; ++k) {
    const std::size_t missing = window - mixing.alpha.size();
    row.Add(fmt::format("alpha_{}", k + 1),
            k >= missing ? std::optional(mixing.alpha[k - missing]) : std::nullopt);
  }
  row.Add("fallbacks", if_mixing(number(counts.fallbacks)));
  row.Add("restarts", number(counts.restarts));
  row.Add("episodes", number(episodes_));
  row.Add("return_mean", sums_.episode_return.Mean());
  row.Add("length_mean", sums_.episode_length.Mean());
  const auto of_evaluation = [this](double EvaluationResult::*member) {
    return evaluation_ ? std::optional((*evaluation_).*member) : std::nullopt;
  };
  row.Add("eval_return_mean", of_evaluation(&EvaluationResult::return_mean));
  row.Add("eval_return_std", of_evaluation(&EvaluationResult::return_std));
  row.Add("eval_length_mean", of_evaluation(&EvaluationResult::length_mean));
  row.Add("replay_states", number(replay_.states()));
  const double seconds = wall_seconds_before_ + times_.total;
  row.Add("wall_seconds", seconds);
  row.Add("wall_steps_per_second",
          seconds > rated_seconds_
              ? std::optional(number(step_ - rated_step_) / (seconds - rated_seconds_))
              : std::nullopt);
  row.Add("wall_memory_bytes", static_cast<double>(ResidentBytes()));
  row.Add("wall_replay_bytes_per_frame", replay_.bytes_per_frame());
  rated_step_ = step_;
  rated_seconds_ = seconds;
  return row;
}

WeightsMetadata Trainer::Metadata() const {
  return {{"stableaa.env", options_.train.env},
          {"stableaa.preset", options_.train.preset},
          {"stableaa.seed", std::to_string(options_.train.seed)},
          {"stableaa.step", std::to_string(step_)}};
}

// Each file is replaced as a whole, the state last: whatever happens in between, the former state
// and all that it names are still there.
void Trainer::Checkpoint() {
  if (checkpoint_step_ == step_) return;
  const Stopwatch watch;
  RequireFiniteWeights();
  WriteWeights(directory_.weights() / "latest.safetensors", learner_.online(), Metadata());
  replay_.SaveSegments(directory_.checkpoint());
  logs_->Sync();

  ByteWriter out;
  CheckpointHead{fingerprint_, step_, evaluated_step_}.Write(out);
  logs_->rows().Save(out);
  out.I64(episodes_);
  out.F64(episode_return_);
  out.I64(episode_length_);
  out.I64(logged_step_);
  sums_.Save(out);
  out.F64(best_return_);
  out.F64(wall_seconds_before_ + times_.total);
  exploration_random_.Save(out);
  environment_->Save(out);
  replay_.Save(out);
  learner_.Save(out);
  WriteCheckedFile(directory_.state(), kCheckpointKind, kCheckpointVersion, out.bytes());
  replay_.RemoveOldSegments(directory_.checkpoint());
  checkpoint_step_ = step_;
  times_.checkpoint += watch.Seconds();
}

// What follows the head. BadInput for numbers that no run with these options has, and for logs that
// are not as they were then. Gives their rows.
RunLogs::Rows Trainer::LoadCheckpoint(ByteReader& in, const CheckpointHead& head) {
  // The evaluation of a former end is none of a run that goes on.
  const bool had_ended = IsEndEvaluation(options_, head.evaluated_step);
  step_ = head.step;
  checkpoint_step_ = had_ended ? -1 : head.step;
  evaluated_step_ = had_ended ? 0 : head.evaluated_step;
  end_return_ = kNoReturn;
  RunLogs::Rows logged;
  logged.Load(in);
  LoadProgress(in, logged);
  exploration_random_.Load(in);
  environment_->Load(in);
  replay_.Load(in, directory_.checkpoint(), actor_.num_actions());
  learner_.Load(in);
  in.ExpectEnd();
  CheckLoaded(in);
  RunLogs::Require(directory_, logged);
  return logged;
}

void Trainer::LoadProgress(ByteReader& in, const RunLogs::Rows& logged) {
  episodes_ = LoadCount(in, "episodes", step_);
  ExpectCount(in, "lines of episodes.csv", static_cast<std::uint64_t>(episodes_) + 1,
              logged.episodes.count());
  episode_return_ = LoadNumber(in, "a finite return", std::numeric_limits<double>::lowest());
  episode_length_ = LoadCount(in, "steps of the present episode", step_ - episodes_);
  logged_step_ = in.I64();
  // A stopped evaluation, and that of the end, come before the row of their step.
  const std::int64_t interval = options_.train.log_interval_steps;
  const auto last_row = [&](std::int64_t step) {
    return std::max(step - step % interval, evaluated_step_);
  };
  if (logged_step_ != last_row(step_) &&
      logged_step_ != last_row(std::max<std::int64_t>(step_ - 1, 0))) {
    throw in.Wrong(fmt::format("expected {} as the last step with a row of metrics.csv, found {}",
                               last_row(step_), logged_step_));
  }
  const std::uint64_t rows = MetricRows(options_, logged_step_, evaluated_step_);
  ExpectCount(in, "lines of metrics.csv", rows + 1, logged.metrics.count());
  ExpectCount(in, "records for TensorBoard", rows + 1, logged.events.count());
  sums_.Load(in, step_ - logged_step_);
  best_return_ = in.F64();
  if (evaluated_step_ > 0 ? !std::isfinite(best_return_) : best_return_ != kNoReturn) {
    throw in.Wrong(fmt::format(
        "expected {}, found {}",
        evaluated_step_ > 0 ? "a finite best return" : "no best return before the first evaluation",
        best_return_));
  }
  wall_seconds_before_ = rated_seconds_ = LoadNumber(in, "0 seconds or more", 0);
  rated_step_ = step_;
}

// What one part says against another.
void Trainer::CheckLoaded(const ByteReader& in) {
  ExpectCount(in, "states that the replay has met",
              static_cast<std::uint64_t>(step_ + episodes_ + 1),
              static_cast<std::uint64_t>(replay_.next_id()));
  layout_.Encode(environment_->observations(), 0, encoded_);
  if (!replay_.in_episode() || !std::ranges::equal(encoded_, replay_.newest_observation())) {
    throw in.Wrong("expected the environment's observation as the newest of the replay");
  }
  const std::int64_t interval = options_.train.update_interval_steps;
  const std::int64_t due = step_ / interval - std::min(step_, options_.replay.start) / interval;
  if (learner_.counts().updates > due) {
    throw in.Wrong(fmt::format("expected at most {} updates in {} steps, found {}", due, step_,
                               learner_.counts().updates));
  }
}

void Trainer::OpenLogs(const RunLogs::Rows& logged) {
  logs_ = std::make_unique<RunLogs>(directory_, logged);
  std::error_code error;
  if (evaluated_step_ == 0) std::filesystem::remove(BestWeights(), error);
  if (error) {
    throw SystemError(fmt::format("cannot remove {}", BestWeights().string()), error.value());
  }
}

void Trainer::ReportProgress(const RunHooks& hooks) const {
  if (!hooks.progress) return;
  TrainProgress progress{.step = step_, .loss = last_loss_, .eval_return = last_eval_};
  if (recent_episodes_ > 0) progress.episode_return = recent_return_;
  hooks.progress(progress);
}

}  // namespace stableaa
