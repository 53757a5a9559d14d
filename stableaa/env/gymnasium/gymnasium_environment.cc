#include "stableaa/env/gymnasium/gymnasium_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "stableaa/base/machine.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/env/gymnasium/wrapper_call.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestId = 256;
constexpr std::size_t kMaxProtocol = 1024;
constexpr std::size_t kAlignment = 64;
constexpr int kMaxBridged = 1024;  // environments; each takes megabytes in its worker
constexpr std::size_t kMaxMessage = 400;
constexpr std::size_t kMaxFrame = 200;
constexpr std::size_t kShownKwargs = 200;
constexpr double kMaxClosingSeconds = 10;
constexpr std::int64_t kMaxSeed = std::numeric_limits<std::int32_t>::max();

Error NotUnderstood(const GymnasiumOptions& options, const std::string& line) {
  return WorkFailed(fmt::format("{}: its worker answered '{}', which is not understood", options.id,
                                Shorten(line)));
}

// "; raised at my_env.py:12 in step, called at my_env.py:7 in reset", or nothing.
std::string WhereRaised(const Json& answer) {
  std::vector<std::string> frames;
  for (const std::string frame : answer.at("frames")) frames.push_back(Shorten(frame, kMaxFrame));
  return frames.empty() ? "" : fmt::format("; raised at {}", fmt::join(frames, ", called at "));
}

[[noreturn]] void ThrowProblem(const GymnasiumOptions& options, const Json& answer) try {
  const std::string kind = answer.at("error");
  const std::string message = answer.at("message");
  if (kind == "package") {
    const bool atari = options.family == "atari";
    throw WorkFailed(fmt::format(
        "{}: {} has no package {}; run scripts/atari, or: {} -m pip install gymnasium{}",
        options.id, Shorten(options.python), Shorten(message, kMaxMessage), options.python,
        atari ? " ale-py opencv-python-headless" : ""));
  }
  if (kind == "unknown") {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin < message.size();) {
      const std::size_t end = std::min(message.find(' ', begin), message.size());
      names.push_back(message.substr(begin, end - begin));
      begin = end + 1;
    }
    throw BadInput(fmt::format("{}: ale-py knows no game '{}'{}", options.id, Shorten(options.name),
                               DidYouMean(options.name, names)));
  }
  const std::string text =
      fmt::format("{}: {}{}", options.id, Shorten(message, kMaxMessage), WhereRaised(answer));
  throw kind == "input" ? BadInput(text) : WorkFailed(text);
} catch (const Json::exception&) {
  throw NotUnderstood(options, answer.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// The worker's answer about what it was told to make, or its problem; either way an object.
Json ParseAnswer(const GymnasiumOptions& options, const std::string& line) {
  Json answer = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (answer.is_object()) return answer;
  throw NotUnderstood(options, line);
}

std::vector<float> Bounds(const Json& values, float missing) {
  std::vector<float> bounds;
  for (const Json& value : values) {
    bounds.push_back(value.is_null() ? missing : value.get<float>());
  }
  return bounds;
}

Space ParseSpace(const Json& json) {
  if (json.contains("n")) return Space::Discrete(json.at("n"));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return {.kind = Space::Kind::kBox,
          .type = json.at("type") == "uint8" ? ElementType::kUint8 : ElementType::kFloat,
          .shape = json.at("shape"),
          .low = Bounds(json.at("low"), -kInfinity),
          .high = Bounds(json.at("high"), kInfinity)};
}

std::string WrappersText(const GymnasiumOptions& options) {
  return Shorten(fmt::format("{}", fmt::join(options.wrappers, ", ")), kShownKwargs);
}

std::string ProtocolText(const GymnasiumOptions& options) {
  std::string with =
      options.kwargs == "{}" ? "" : fmt::format(", with {}", Shorten(options.kwargs, kShownKwargs));
  if (!options.wrappers.empty()) {
    with += fmt::format(", in {}", WrappersText(options));
  }
  if (options.family != "atari") return fmt::format("as Gymnasium's{}", with);
  const AtariProtocol& protocol = options.protocol;
  std::string start = "no no-ops, no fire";
  if (protocol.authors) {
    start = fmt::format("each life begins with 1 to {} no-ops and fire", protocol.no_ops);
  } else if (protocol.no_ops > 0) {
    start = fmt::format("a game begins with fire and up to {} no-ops", protocol.no_ops - 1);
  }
  return fmt::format("{}: sticky {:g}, {}, {}, {}, {}{}", protocol.name, protocol.sticky,
                     protocol.lives_end ? "a lost life ends the episode" : "lives do not end it",
                     start, protocol.all_actions ? "all 18 actions" : "minimal actions",
                     protocol.authors ? "84x110 bilinear, rows 18 to 101" : "84x84 by area", with);
}

EnvironmentSpec ParseSpec(const GymnasiumOptions& options, const Json& json) try {
  EnvironmentSpec spec;
  spec.id = fmt::format("{}/{}", options.family, json.at("name").get<std::string>());
  spec.observation = ParseSpace(json.at("observation"));
  spec.action = ParseSpace(json.at("action"));
  spec.channel_axis = json.at("channel_axis");
  spec.is_stack = json.at("is_stack");
  if (!json.at("action_names").is_null()) spec.action_names = json.at("action_names");
  spec.max_episode_steps = json.at("max_episode_steps");
  if (const std::int64_t cut = options.max_episode_steps; cut > 0) {
    spec.max_episode_steps =
        spec.max_episode_steps == 0 ? cut : std::min(cut, spec.max_episode_steps);
  }
  if (!json.at("noop").is_null()) spec.noop = json.at("noop").get<double>();
  spec.frames_per_second = json.at("frames_per_second");
  spec.protocol = ProtocolText(options);
  return spec;
} catch (const Json::exception& problem) {
  throw WorkFailed(fmt::format("{}: its worker's description is not understood: {}", options.id,
                               problem.what()));
}

Json WhatToMake(const GymnasiumOptions& options, int count) {
  Json wrappers = Json::array();
  for (const WrapperCall& call : ParseWrappers(options.wrappers)) {
    wrappers.push_back({{"name", call.name}, {"arguments", call.arguments}});
  }
  const AtariProtocol& protocol = options.protocol;
  return {{"family", options.family},
          {"name", options.name},
          {"count", count},
          {"render", options.render},
          {"kwargs", Json::parse(options.kwargs)},
          {"wrappers", std::move(wrappers)},
          {"protocol",
           {{"sticky", protocol.sticky},
            {"lives_end", protocol.lives_end},
            {"no_ops", protocol.no_ops},
            {"fire", protocol.fire},
            {"all_actions", protocol.all_actions},
            {"authors", protocol.authors}}}};
}

// Positions of the shared arrays, one after another.
struct Layout {
  std::map<std::string, std::size_t> offsets;
  std::size_t size = 0;

  void Add(const std::string& name, std::size_t bytes) {
    offsets[name] = size;
    size += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
};

Layout PlanMemory(const EnvironmentSpec& spec, std::size_t count, std::size_t picture_bytes) {
  const std::size_t element = spec.observation.type == ElementType::kUint8 ? 1 : sizeof(float);
  const std::size_t observation = spec.observation.size() * element;
  Layout layout;
  layout.Add("actions", count * spec.action.size() * sizeof(float));  // or as many int32
  layout.Add("mask", count);
  layout.Add("anew", count);
  layout.Add("seeds", count * sizeof(std::int64_t));
  layout.Add("rewards", count * sizeof(double));
  layout.Add("terminated", count);
  layout.Add("truncated", count);
  layout.Add("new_game", count);
  layout.Add("bench", count * sizeof(double));
  layout.Add("observations", count * observation);
  layout.Add("final_observations", count * observation);
  if (picture_bytes > 0) {
    layout.Add("pictures", count * picture_bytes);
    layout.Add("final_pictures", count * picture_bytes);
  }
  return layout;
}

}  // namespace

AtariProtocol NamedAtariProtocol(const std::string& name) {
  if (name == "authors") {
    return {.name = name, .lives_end = true, .no_ops = 30, .fire = true, .authors = true};
  }
  if (name == "nature") return {.name = name, .lives_end = true, .no_ops = 30, .fire = true};
  if (name == "machado") return {.name = name, .sticky = .25, .all_actions = true};
  throw BadInput(
      fmt::format("expected a protocol authors, nature or machado, found '{}'", Shorten(name)));
}

std::unique_ptr<GymnasiumEnvironment> GymnasiumEnvironment::Make(const GymnasiumOptions& options) {
  if (options.num_envs < 1 || options.num_envs > kMaxBridged || options.workers < 1) {
    throw BadInput(
        fmt::format("{}: expected 1 to {} environments and at least one worker, found {} "
                    "and {}",
                    options.id, kMaxBridged, options.num_envs, options.workers));
  }
  const int workers = std::min(options.workers, options.num_envs);
  auto memory = std::make_unique<SharedMemory>();
  std::vector<Part> parts;
  for (int w = 0, begin = 0; w < workers; ++w) {
    const int count = (options.num_envs - begin) / (workers - w);
    parts.push_back({std::make_unique<WorkerProcess>(
                         WorkerProcess::Options{.name = options.id,
                                                .python = options.python,
                                                .timeout_seconds = options.timeout_seconds,
                                                .shared_memory = memory->descriptor()}),
                     begin, count});
    parts.back().worker->Send(WhatToMake(options, count).dump() + "\n");
    begin += count;
  }
  Json answer;
  for (const Part& part : parts) {
    Json next = ParseAnswer(options, part.worker->ReceiveLine());
    if (next.contains("error")) ThrowProblem(options, next);
    if (!answer.is_null() && answer != next) {
      throw WorkFailed(fmt::format("{}: the workers do not agree on what they made", options.id));
    }
    answer = std::move(next);
  }
  EnvironmentSpec spec = ParseSpec(options, answer);
  const int height = options.render ? answer.at("picture").at(0).get<int>() : 0;
  const int width = options.render ? answer.at("picture").at(1).get<int>() : 0;
  const std::size_t picture =
      std::size_t{3} * static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  const Layout layout = PlanMemory(spec, static_cast<std::size_t>(options.num_envs), picture);
  RequireMemory(options.id, layout.size, "try fewer environments");
  memory->Allocate(layout.size);
  for (const Part& part : parts) {
    const Json places = {{"size", layout.size},
                         {"total", options.num_envs},
                         {"begin", part.begin},
                         {"count", part.count},
                         {"offsets", layout.offsets}};
    part.worker->Send(places.dump() + "\n");
  }
  return std::unique_ptr<GymnasiumEnvironment>(new GymnasiumEnvironment(
      options, std::move(spec), std::move(memory), std::move(parts), height, width));
}

GymnasiumEnvironment::GymnasiumEnvironment(const GymnasiumOptions& options, EnvironmentSpec spec,
                                           std::unique_ptr<SharedMemory> memory,
                                           std::vector<Part> parts, int picture_height,
                                           int picture_width)
    : Environment(std::move(spec), options.num_envs),
      options_(options),
      memory_(std::move(memory)),
      parts_(std::move(parts)) {
  const auto count = static_cast<std::size_t>(options.num_envs);
  const std::size_t picture = std::size_t{3} * static_cast<std::size_t>(picture_height) *
                              static_cast<std::size_t>(picture_width);
  const Layout layout = PlanMemory(this->spec(), count, picture);
  const auto at = [&]<typename T>(const std::string& name, std::size_t per_env, T /*type*/) {
    return memory_->At<T>(layout.offsets.at(name), count * per_env);
  };
  const std::size_t row = this->spec().observation.size();
  if (this->spec().action.kind == Space::Kind::kDiscrete) {
    indices_ = at("actions", 1, std::int32_t{});
  } else {
    values_ = at("actions", this->spec().action.size(), float{});
  }
  mask_ = at("mask", 1, std::uint8_t{});
  anew_ = at("anew", 1, std::uint8_t{});
  next_seeds_ = at("seeds", 1, std::int64_t{});
  reward_ = at("rewards", 1, double{});
  term_ = at("terminated", 1, std::uint8_t{});
  trunc_ = at("truncated", 1, std::uint8_t{});
  new_game_ = at("new_game", 1, std::uint8_t{});
  bench_ = at("bench", 1, double{});
  if (this->spec().observation.type == ElementType::kUint8) {
    bytes_ = at("observations", row, std::uint8_t{});
    final_bytes_ = at("final_observations", row, std::uint8_t{});
  } else {
    floats_ = at("observations", row, float{});
    final_floats_ = at("final_observations", row, float{});
  }
  if (picture > 0) {
    pictures_ = at("pictures", picture, std::uint8_t{});
    final_pictures_ = at("final_pictures", picture, std::uint8_t{});
    frames_.assign(count, Picture(picture_width, picture_height));
    final_frames_ = frames_;
  }
  observations_ = {bytes_, floats_};
  final_observations_ = {final_bytes_, final_floats_};
  rewards_ = reward_;
  terminated_ = term_;
  truncated_ = trunc_;
}

GymnasiumEnvironment::~GymnasiumEnvironment() {
  try {
    CloseAll();
  } catch (const std::exception& problem) {
    LogWarning(fmt::format("when it was closed: {}", problem.what()));
  }
}

// Skips workers in the middle of a step, which nobody waits for any more. Atari has nothing to
// close.
void GymnasiumEnvironment::CloseAll() {
  if (awaiting_ || options_.family == "atari") return;
  std::erase_if(parts_, [](const Part& part) { return part.worker->has_failed(); });
  for (const Part& part : parts_) part.worker->set_most_seconds(kMaxClosingSeconds);
  Command('C');
  AwaitAnswers();
}

// What went wrong with a worker's command, as JSON; empty if nothing did.
std::optional<std::string> GymnasiumEnvironment::ProblemOf(WorkerProcess& worker) {
  if (worker.ReceiveByte() == 'k') return std::nullopt;
  return worker.ReceiveLine();
}

void GymnasiumEnvironment::Command(char command) {
  for (const Part& part : parts_) part.worker->Send({&command, 1});
  awaiting_ = true;
}

void GymnasiumEnvironment::AwaitAnswers() {
  std::optional<std::string> problem;
  // Reads all answers, so that none is left over for the next command.
  for (const Part& part : parts_) {
    if (auto found = ProblemOf(*part.worker)) problem = std::move(found);
  }
  awaiting_ = false;
  if (problem) ThrowProblem(options_, ParseAnswer(options_, *problem));
}

// Drops the answers to a step that nobody wants any more; it is an error only if a worker fails.
void GymnasiumEnvironment::ForgetAnswers() {
  if (!awaiting_) return;
  for (const Part& part : parts_) ProblemOf(*part.worker);
  awaiting_ = false;
}

// Seeds have 31 bits, which every environment accepts.
void GymnasiumEnvironment::DrawSeed(std::size_t i) {
  next_seeds_[i] = static_cast<std::int64_t>(slots_[i].seeds() >> 33);
}

void GymnasiumEnvironment::DoReset(std::uint64_t seed) {
  ForgetAnswers();
  seed_ = seed;
  slots_.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_envs()); ++i) {
    slots_.push_back({RandomStream(seed, fmt::format("env/{}", i)), {}});
    DrawSeed(i);
    slots_[i].game.seeds = {next_seeds_[i]};
    mask_[i] = anew_[i] = 1;
  }
  Command('R');
  AwaitAnswers();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    DrawSeed(i);
    mask_[i] = anew_[i] = 0;
    reward_[i] = 0;
    term_[i] = trunc_[i] = 0;
    RequireFinite(floats_, i, 0, slots_[i].game.seeds.back());
  }
  CopyPictures();
}

void GymnasiumEnvironment::DoSend(Actions actions) {
  std::ranges::copy(actions.indices, indices_.begin());
  std::ranges::copy(actions.values, values_.begin());
  const std::int64_t cut = options_.max_episode_steps;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Game& game = slots_[i].game;
    anew_[i] = cut > 0 && game.steps_in_episode + 1 >= cut ? 1 : 0;
    if (indices_.empty()) {
      const std::size_t size = spec().action.size();
      const auto action = values_.subspan(i * size, size);
      game.values.insert(game.values.end(), action.begin(), action.end());
    } else {
      game.indices.push_back(indices_[i]);
    }
  }
  Command('S');
}

void GymnasiumEnvironment::DoRecv() {
  AwaitAnswers();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    RequireFiniteStep(i);
    Game& game = slots_[i].game;
    if (term_[i] != 0) trunc_[i] = 0;  // an episode that is over need not be cut
    ++game.steps_in_episode;
    if (term_[i] == 0 && trunc_[i] == 0) continue;
    if (new_game_[i] != 0) game = {};
    game.steps_in_episode = 0;
    game.seeds.push_back(next_seeds_[i]);
    DrawSeed(i);
  }
  CopyPictures();
}

// A NaN would be mistaken for a fault in the learner. Checked before the game is updated with this
// step.
void GymnasiumEnvironment::RequireFiniteStep(std::size_t i) const {
  const Game& game = slots_[i].game;
  const std::int64_t step = game.steps_in_episode + 1, seed = game.seeds.back();
  if (!std::isfinite(reward_[i])) {
    throw WorkFailed(fmt::format("{}: its reward is {} in step {} of the episode with seed {}",
                                 options_.id, reward_[i], step, seed));
  }
  const bool has_ended = term_[i] != 0 || trunc_[i] != 0;
  RequireFinite(has_ended ? final_floats_ : floats_, i, step, seed);
  if (has_ended) RequireFinite(floats_, i, 0, next_seeds_[i]);
}

// `step` of the episode with `seed`; 0: at its beginning.
void GymnasiumEnvironment::RequireFinite(std::span<const float> observations, std::size_t i,
                                         std::int64_t step, std::int64_t seed) const {
  if (observations.empty()) return;  // bytes
  const std::size_t size = spec().observation.size();
  const auto row = observations.subspan(i * size, size);
  const auto wrong = std::ranges::find_if(row, [](float value) { return !std::isfinite(value); });
  if (wrong == row.end()) return;
  throw WorkFailed(
      fmt::format("{}: element {} of its observation is {} {} of the episode with seed {}",
                  options_.id, wrong - row.begin(), *wrong,
                  step == 0 ? "at the beginning" : fmt::format("after step {}", step), seed));
}

// Workers also set these marks after Reset and Load, for games that begin when none has ended.
bool GymnasiumEnvironment::game_ended(int i) const {
  return ended(i) && new_game_[static_cast<std::size_t>(i)] != 0;
}

void GymnasiumEnvironment::CopyPictures() {
  if (!renders()) return;
  const std::size_t size = frames_.front().rgb().size();
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    std::ranges::copy(pictures_.subspan(i * size, size), frames_[i].rgb().begin());
    if (!ended(static_cast<int>(i))) continue;
    std::ranges::copy(final_pictures_.subspan(i * size, size), final_frames_[i].rgb().begin());
  }
}

// FNV-1a of the environment's observation.
std::uint64_t GymnasiumEnvironment::ObservationHash(std::size_t i) const {
  const std::size_t row = spec().observation.size();
  const std::span<const std::byte> bytes = bytes_.empty()
                                               ? std::as_bytes(floats_.subspan(i * row, row))
                                               : std::as_bytes(bytes_.subspan(i * row, row));
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

// Text id, Text protocol, U64 environments, U64 seed; then for each the stream of seeds, I64 the
// next seed, I64 steps in the episode, U64 and I64s the seeds of the game, U64 and I64s or F64s its
// actions, U64 the hash of its observation.
void GymnasiumEnvironment::Save(ByteWriter& out) const {
  if (!is_ready()) throw std::logic_error("Environment::Save before Reset");
  out.Text(spec().id);
  out.Text(spec().protocol);
  out.U64(slots_.size());
  out.U64(seed_);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Game& game = slots_[i].game;
    slots_[i].seeds.Save(out);
    out.I64(next_seeds_[i]);
    out.I64(game.steps_in_episode);
    out.U64(game.seeds.size());
    for (const std::int64_t seed : game.seeds) out.I64(seed);
    out.U64(game.indices.size() + game.values.size());
    for (const std::int32_t index : game.indices) out.I64(index);
    for (const float value : game.values) out.F64(static_cast<double>(value));
    out.U64(ObservationHash(i));
  }
}

void GymnasiumEnvironment::Load(ByteReader& in) {
  const auto expect = [&in](const std::string& what, const std::string& expected,
                            const std::string& found) {
    if (found == expected) return;
    throw in.Wrong(fmt::format("expected the state of {} '{}', found '{}'", what, expected,
                               Shorten(found, kMaxMessage)));
  };
  expect("environment", spec().id, in.Text(kLongestId));
  expect("protocol", spec().protocol, in.Text(kMaxProtocol));
  expect("environments", std::to_string(num_envs()), std::to_string(in.U64()));
  const std::uint64_t seed = in.U64();

  // Checks every count against what is left, so that nothing absurd is reserved.
  const auto count_of = [&in](std::string_view what) {
    const std::uint64_t count = in.U64();
    if (count > in.remaining() / sizeof(std::uint64_t)) {
      throw in.Wrong(fmt::format("expected fewer {}, found {}", what, count));
    }
    return count;
  };
  std::vector<SavedSlot> saved;
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_envs()); ++i) {
    SavedSlot slot{RandomStream(seed, fmt::format("env/{}", i))};
    slot.seeds.Load(in);
    slot.next_seed = in.I64();
    slot.game.steps_in_episode = in.I64();
    slot.game.seeds.resize(count_of("seeds"));
    for (std::int64_t& value : slot.game.seeds) value = in.I64();
    const std::uint64_t actions = count_of("actions");
    for (std::uint64_t k = 0; k < actions; ++k) ReadAction(in, slot.game);
    slot.hash = in.U64();
    const bool seeds_fit =
        std::ranges::all_of(slot.game.seeds,
                            [](std::int64_t s) { return s >= 0 && s <= kMaxSeed; }) &&
        slot.next_seed >= 0 && slot.next_seed <= kMaxSeed;
    const auto steps = static_cast<std::int64_t>(actions / spec().action.size());
    const std::int64_t in_episode = slot.game.steps_in_episode;
    if (!seeds_fit || actions % spec().action.size() != 0 || in_episode < 0 || in_episode > steps ||
        slot.game.seeds.empty() || std::ssize(slot.game.seeds) > steps + 1) {
      throw in.Wrong(
          fmt::format("expected the seeds and actions of a game, found {} seeds and {} numbers of "
                      "actions, {} steps of them in the last episode",
                      slot.game.seeds.size(), actions, in_episode));
    }
    saved.push_back(std::move(slot));
  }

  // Rewards that are scaled otherwise cannot be told from the observations.
  for (const WrapperCall& call : ParseWrappers(options_.wrappers)) {
    if (!call.keeps_statistics()) continue;
    throw WorkFailed(fmt::format(
        "{}: env.wrappers: {} has statistics of earlier episodes, and only the present game can be "
        "played again",
        options_.id, call.name));
  }
  set_unready();
  ForgetAnswers();
  Replay(saved);
  seed_ = seed;
  slots_.clear();
  for (std::size_t i = 0; i < saved.size(); ++i) {
    next_seeds_[i] = saved[i].next_seed;
    slots_.push_back({saved[i].seeds, std::move(saved[i].game)});
    reward_[i] = 0;
    term_[i] = trunc_[i] = 0;
  }
  CopyPictures();
  set_ready();
}

void GymnasiumEnvironment::ReadAction(ByteReader& in, Game& game) const {
  const Space& space = spec().action;
  if (space.kind == Space::Kind::kDiscrete) {
    const std::int64_t index = in.I64();
    if (index < 0 || index >= space.n) {
      throw in.Wrong(fmt::format("expected an action from 0 to {}, found {}", space.n - 1, index));
    }
    game.indices.push_back(static_cast<std::int32_t>(index));
  } else {
    const double value = in.F64();
    if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) {
      throw in.Wrong("expected finite actions");
    }
    game.values.push_back(static_cast<float>(value));
  }
}

// Any finite action.
float GymnasiumEnvironment::AnyValue(std::size_t element) const {
  return std::clamp(0.0F, spec().action.LowOf(element), spec().action.HighOf(element));
}

// All environments of a worker step together, so each starts late enough to finish with the
// longest; what they do before that does not matter.
void GymnasiumEnvironment::Replay(const std::vector<SavedSlot>& saved) {
  const std::size_t size = spec().action.size();
  const auto length = [&](std::size_t i) {
    const Game& game = saved[i].game;
    return indices_.empty() ? game.values.size() / size : game.indices.size();
  };
  std::size_t longest = 0;
  for (std::size_t i = 0; i < saved.size(); ++i) longest = std::max(longest, length(i));
  std::vector<std::size_t> episodes(saved.size(), 0);
  std::vector<std::int64_t> steps(saved.size(), 0);  // in the episode
  const auto diverged = [&](std::size_t i) {
    const std::string wrappers =
        options_.wrappers.empty()
            ? ""
            : fmt::format(", or one of its wrappers remembers earlier episodes ({})",
                          WrappersText(options_));
    return WorkFailed(
        fmt::format("{}: playing the {} actions of environment {} again led elsewhere; it is not "
                    "deterministic, or this is another version of it{}",
                    options_.id, length(i), i, wrappers));
  };

  for (std::size_t tick = 0; tick <= longest; ++tick) {
    bool any = tick == 0;  // all begin some game, since steps need one
    for (std::size_t i = 0; i < saved.size(); ++i) {
      const bool begins = tick + length(i) == longest;
      mask_[i] = anew_[i] = begins || tick == 0 ? 1 : 0;
      next_seeds_[i] = saved[i].game.seeds.front();
      any = any || begins;
    }
    if (any) {
      Command('R');
      AwaitAnswers();
    }
    if (tick == longest) break;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      const Game& game = saved[i].game;
      const bool began = tick + length(i) >= longest;
      const std::size_t step = began ? tick + length(i) - longest : 0;
      mask_[i] = anew_[i] = 0;
      if (indices_.empty()) {
        for (std::size_t k = 0; k < size; ++k) {
          values_[i * size + k] = began ? game.values[step * size + k] : AnyValue(k);
        }
      } else {
        indices_[i] = began ? game.indices[step] : 0;
      }
      const std::size_t next = episodes[i] + 1;
      next_seeds_[i] = next < game.seeds.size() ? game.seeds[next] : saved[i].next_seed;
    }
    Command('S');
    AwaitAnswers();
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (tick + length(i) < longest) continue;
      ++steps[i];
      if (term_[i] == 0 && trunc_[i] == 0) continue;
      steps[i] = 0;
      if (new_game_[i] != 0 || ++episodes[i] == saved[i].game.seeds.size()) throw diverged(i);
    }
  }
  for (std::size_t i = 0; i < saved.size(); ++i) {
    mask_[i] = anew_[i] = 0;
    if (episodes[i] + 1 != saved[i].game.seeds.size() ||
        steps[i] != saved[i].game.steps_in_episode || ObservationHash(i) != saved[i].hash) {
      throw diverged(i);
    }
  }
}

double GymnasiumEnvironment::MeasureInPython(std::int64_t steps) {
  if (!is_ready()) throw std::logic_error("Environment::MeasureInPython before Reset");
  bench_[0] = static_cast<double>(steps);
  WorkerProcess& worker = *parts_.front().worker;
  worker.Send("B");
  if (const auto problem = ProblemOf(worker)) {
    ThrowProblem(options_, ParseAnswer(options_, *problem));
  }
  return bench_[0];
}

void GymnasiumEnvironment::set_timeout_seconds(double seconds) {
  for (const Part& part : parts_) part.worker->set_timeout_seconds(seconds);
}

std::vector<pid_t> GymnasiumEnvironment::worker_pids() const {
  std::vector<pid_t> pids;
  for (const Part& part : parts_) pids.push_back(part.worker->pid());
  return pids;
}

}  // namespace stableaa
