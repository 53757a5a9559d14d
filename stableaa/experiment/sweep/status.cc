#include "stableaa/experiment/sweep/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostStatusBytes = std::size_t{64} << 20;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;  // as train.steps

// Numbers and lists keep their type; anything else becomes text.
Json ValueJson(const std::string& text) {
  return Json::accept(text) ? Json::parse(text) : Json(text);
}

Json AsJson(const SweepRun& run, const RunJsonOptions& options) {
  const TrainOptions& train = run.run->options.train;
  Json values = Json::object();
  for (const auto& [key, text] : run.run->values) values[key] = ValueJson(text);
  Json object = {{"name", run.run->name},
                 {"directory", (options.directory / run.run->name).string()},
                 {"env", train.env},
                 {"preset", train.preset},
                 {"seed", train.seed},
                 {"values", values},
                 {"status", options.planned ? std::string_view("planned") : Name(run.state)},
                 {"steps", run.steps},
                 {"steps_wanted", run.StepsWanted()},
                 {"seconds", run.seconds},
                 {"eval_return", run.eval_return ? Json(*run.eval_return) : Json()},
                 {"message", run.message}};
  if (!run.run->label.empty()) object["label"] = run.run->label;
  if (run.run->draw > 0) object["draw"] = run.run->draw;
  if (options.estimate) {
    object["estimated_seconds"] = options.estimate->seconds;
    object["estimated_bytes"] = options.estimate->bytes;
  }
  return object;
}

// Directory names and messages need not be UTF-8.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string_view Name(SweepState state) {
  switch (state) {
    case SweepState::kPending:
      return "pending";
    case SweepState::kRunning:
      return "running";
    case SweepState::kDone:
      return "done";
    case SweepState::kStopped:
      return "stopped";
    case SweepState::kFailed:
      return "failed";
  }
  return "";
}

std::int64_t SweepRun::StepsWanted() const { return rung_steps.value_or(run->options.train.steps); }

std::int64_t SweepRun::StepsLeft() const {
  return std::max<std::int64_t>(0, StepsWanted() - steps);
}

double SweepRun::Share() const {
  const std::int64_t wanted = StepsWanted();
  if (wanted == 0) return state == SweepState::kDone ? 1 : 0;
  return std::clamp(static_cast<double>(steps) / static_cast<double>(wanted), 0., 1.);
}

SweepCounts Count(std::span<const SweepRun> runs) {
  const auto in = [runs](SweepState state) {
    return static_cast<std::size_t>(std::ranges::count(runs, state, &SweepRun::state));
  };
  return {.pending = in(SweepState::kPending),
          .running = in(SweepState::kRunning),
          .done = in(SweepState::kDone),
          .stopped = in(SweepState::kStopped),
          .failed = in(SweepState::kFailed)};
}

std::string RunJson(const SweepRun& run, const RunJsonOptions& options) {
  return PlainText(Dump(AsJson(run, options), -1));
}

void WriteSweepJson(const std::filesystem::path& file, const std::string& title,
                    std::span<const SweepRun> runs) {
  Json list = Json::array();
  for (const SweepRun& run : runs) list.push_back(AsJson(run, {}));
  WriteTextFile(file, Dump({{"title", title}, {"runs", std::move(list)}}, 1) + "\n");
}

namespace {

std::string TextOf(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>()
                                                         : std::string();
}

}  // namespace

SweepNotes ReadSweepJson(const std::filesystem::path& file) {
  SweepNotes notes;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return notes;
  const Json json =
      Json::parse(ReadTextFile(file, kMostStatusBytes), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("runs") || !json["runs"].is_array()) return notes;
  notes.title = TextOf(json, "title");
  for (const Json& run : json["runs"]) {
    const std::string name = TextOf(run, "name");
    if (name.empty()) continue;
    NotedRun& note = notes.runs[name];
    note = {.status = TextOf(run, "status"),
            .message = TextOf(run, "message"),
            .label = TextOf(run, "label")};
    if (run.contains("seconds") && run["seconds"].is_number()) {
      note.seconds = run["seconds"].get<double>();
    }
    if (run.contains("steps_wanted") && run["steps_wanted"].is_number_integer()) {
      const auto steps = run["steps_wanted"].get<std::int64_t>();
      if (steps >= 0 && steps <= kMostSteps) note.steps_wanted = steps;
    }
  }
  return notes;
}

}  // namespace stableaa
