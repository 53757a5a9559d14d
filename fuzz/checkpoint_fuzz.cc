// Checkpoints with correct checksums and arbitrary content: either a BadInput that names a file of
// the run, or a run that continues. Small runs are made at the start; the input's first byte
// chooses one, and the rest is a list of changes to the numbers in its state and segments. The
// state is loaded from memory or, occasionally, everything is resumed from files, as the program
// does. Occasionally a run that continues writes a checkpoint, which must then be accepted too.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/accepts.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/rl/run/checkpoint_fields_test.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/small_run_test.h"
#include "stableaa/rl/run/trainer.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kStops = 55;        // the step at which the runs are stopped
constexpr std::int64_t kGoesOn = 4;        // the steps that an accepted run makes
constexpr std::int64_t kReplaySize = 128;  // states
constexpr std::string_view kSegmentKind = "replay";
constexpr std::uint32_t kSegmentVersion = 1;

std::string Content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteContent(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::uint64_t Get(std::span<const std::byte> bytes, const CheckpointField& field) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < field.bytes; ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[field.offset + i]) << (8 * i);
  }
  return value;
}

void Set(std::span<std::byte> bytes, const CheckpointField& field, std::uint64_t value) {
  for (std::size_t i = 0; i < field.bytes; ++i) {
    bytes[field.offset + i] = static_cast<std::byte>(value >> (8 * i));
  }
}

RunOptions Options(const std::string& env, const std::string& preset,
                   const std::vector<std::string>& assignments) {
  std::vector<std::string> all = {"train.steps=1000",
                                  "train.log_interval_steps=10",
                                  "replay.start=16",
                                  "replay.size=128",
                                  "replay.compression=none",
                                  "agent.target_interval_updates=6",
                                  "agent.weights.batch=6",
                                  "agent.targets=3",
                                  "eval.interval_steps=50",
                                  "eval.episodes=1",
                                  "checkpoint.interval_steps=1000",
                                  "network.hidden=[2]",
                                  "exploration.epsilon_steps=40",
                                  "env.max_episode_steps=20"};
  all.insert(all.end(), assignments.begin(), assignments.end());
  return SmallRunOptions(env, preset, all);
}

// A file of the checkpoint: its payload and the places of its numbers.
struct Part {
  Bytes payload;
  std::vector<CheckpointField> fields;
};

// A stopped run, with everything needed to modify and restore it.
class SmallRun {
 public:
  enum class Way {
    kLoads,            // the state from memory, into an existing trainer
    kMakesCheckpoint,  // the same, then continues to a checkpoint
    kResumes,          // everything from files
  };

  explicit SmallRun(const RunOptions& options)
      : run_(directory_.path() / "run"), trainer_(Trainer::Start(run_, options)) {
    trainer_->Run({.stop = [&] { return trainer_->step() >= kStops; }});
    state_.payload = ReadState();
    const CheckpointFields fields(state_.payload, ShapeOfCheckpoint(options, kReplaySize / 8));
    // Two weights per tensor are enough: they make up most of the state, and may have any value.
    std::ranges::copy_if(fields.all(), std::back_inserter(state_.fields), [](const auto& field) {
      const std::size_t element = field.name.find("][");
      return element == std::string::npos || std::stoi(field.name.substr(element + 2)) < 2;
    });
    for (const auto& file : fs::recursive_directory_iterator(run_)) {
      if (file.is_regular_file()) files_[file.path()] = Content(file.path());
      const std::string name = file.path().filename().string();
      if (name.ends_with(".csv") || name.starts_with("events.")) logs_.push_back(file.path());
      if (!name.starts_with("segment-")) continue;
      Segment segment = {.file = file.path()};
      segment.part.payload = ReadCheckedFile(file.path(), kSegmentKind, kSegmentVersion).payload;
      segment.part.fields = CheckpointFields::OfSegment(segment.part.payload, fields.compressed(),
                                                        fields.action_floats());
      segment.checksum =
          fields["replay.checksum[" + std::to_string(std::stoll(name.substr(8))) + "]"];
      segments_.push_back(std::move(segment));
    }
    Require(!segments_.empty());
  }

  void Try(std::span<const std::uint8_t> changes, Way way) {
    Bytes state = state_.payload;
    Change(changes, state);
    bool went_on = false;
    if (way == Way::kResumes) {
      trainer_.reset();  // it holds the run's lock
      WriteState(state);
      went_on = Accepted([&] { trainer_ = Trainer::Resume(run_); }) && trainer_;
    } else {
      went_on = Loads(state);
    }
    if (went_on) GoOn(way == Way::kMakesCheckpoint);
    if (went_on) changed_.insert(logs_.begin(), logs_.end());
    Restore(way != Way::kLoads);
    if (trainer_) return;
    trainer_ = Trainer::Resume(run_);
    Require(trainer_ != nullptr);
  }

 private:
  struct Segment {
    fs::path file;
    Part part;
    CheckpointField checksum;  // in the state
  };
  struct Enough {};

  fs::path state_file() const { return run_ / "checkpoint/state.bin"; }
  Bytes ReadState() const {
    return ReadCheckedFile(state_file(), kCheckpointKind, kCheckpointVersion).payload;
  }
  void WriteState(const Bytes& state) const {
    WriteCheckedFile(state_file(), kCheckpointKind, kCheckpointVersion, state);
  }

  // Takes bytes from the front; zeros past the end.
  static std::uint64_t Take(std::span<const std::uint8_t>& bytes, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count && !bytes.empty(); ++i) {
      value |= std::uint64_t{bytes.front()} << (8 * i);
      bytes = bytes.subspan(1);
    }
    return value;
  }

  // Each change is one byte for what to change and how, two for the field, then its value.
  void Change(std::span<const std::uint8_t> changes, Bytes& state) {
    std::vector<CheckpointField> cuts;
    std::map<const Segment*, Bytes> changed;
    while (!changes.empty()) {
      const std::uint64_t how = Take(changes, 1);
      const std::uint64_t where = Take(changes, 2);
      const Segment* const segment = how % 4 == 3 ? &segments_[where % segments_.size()] : nullptr;
      const Part& part = segment != nullptr ? segment->part : state_;
      Bytes& payload =
          segment != nullptr ? changed.try_emplace(segment, part.payload).first->second : state;
      const CheckpointField& field = part.fields[where % part.fields.size()];
      if (segment == nullptr && how / 4 % 8 == 7) {
        cuts.push_back(field);
      } else {
        Set(payload, field, NewValue(how / 4, changes, payload, part, field));
      }
    }
    for (const auto& [segment, payload] : changed) {
      WriteCheckedFile(segment->file, kSegmentKind, kSegmentVersion, payload);
      changed_.insert(segment->file);
      Set(state, segment->checksum,
          crc32_z(0, reinterpret_cast<const Bytef*>(payload.data()), payload.size()));
    }
    // Done last, since cuts move the fields behind them.
    std::ranges::sort(cuts, std::greater(), &CheckpointField::offset);
    for (const CheckpointField& field : cuts) {
      const auto begin =
          state.begin() + static_cast<std::ptrdiff_t>(std::min(field.offset, state.size()));
      state.erase(begin, begin + std::min(std::distance(begin, state.end()),
                                          static_cast<std::ptrdiff_t>(field.bytes)));
    }
  }

  static std::uint64_t NewValue(std::uint64_t how, std::span<const std::uint8_t>& changes,
                                const Bytes& bytes, const Part& part,
                                const CheckpointField& field) {
    // The last four are infinity and NaN, as float and as double.
    static constexpr std::array<std::uint64_t, 16> kOdd = {0,
                                                           1,
                                                           2,
                                                           0x7f,
                                                           0x80,
                                                           0xff,
                                                           0x7fff'ffff,
                                                           0x8000'0000,
                                                           0xffff'ffff,
                                                           0x7fff'ffff'ffff'ffff,
                                                           0x8000'0000'0000'0000,
                                                           0xffff'ffff'ffff'ffff,
                                                           0x7f80'0000,
                                                           0x7fc0'0000,
                                                           0x7ff0'0000'0000'0000,
                                                           0x7ff8'0000'0000'0000};
    const std::uint64_t former = Get(bytes, field);
    switch (how % 8) {
      case 0:
        return Take(changes, 1);
      case 1:
        return former + Take(changes, 1) % 16;
      case 2:
        return former - Take(changes, 1) % 16;
      case 3:
        return kOdd[Take(changes, 1) % kOdd.size()];
      case 4:
        return former ^ (std::uint64_t{1} << Take(changes, 1) % (8 * field.bytes));
      case 5:
        return Get(bytes, part.fields[Take(changes, 2) % part.fields.size()]);
      default:
        return Take(changes, field.bytes);
    }
  }

  // False for a BadInput that names a file of the run.
  template <typename Work>
  bool Accepted(const Work& work) const {
    return Accepts([&] {
      try {
        work();
      } catch (const std::exception& error) {
        Require(std::string_view(error.what()).find(run_.string()) != std::string_view::npos);
        throw;
      }
    });
  }

  bool Loads(const Bytes& state) {
    bool has_more_to_do = false;
    return Accepted([&] { has_more_to_do = trainer_->Load(state); }) && has_more_to_do;
  }

  // Training may diverge, because weights may have any value; nothing else may go wrong.
  void GoOn(bool makes_checkpoint) {
    const std::int64_t last = trainer_->step() + kGoesOn;
    try {
      trainer_->Run({.stop = [&] {
        if (trainer_->step() < last) return false;
        return makes_checkpoint ? true : throw Enough();
      }});
    } catch (const Enough&) {
      return;
    } catch (const Error& error) {
      Require(error.kind() == Error::Kind::kWorkFailed);
      return;
    }
    Require(Loads(ReadState()));
  }

  void Restore(bool everything) {
    for (const auto& [path, content] : files_) {
      if (everything || changed_.contains(path)) WriteContent(path, content);
    }
    changed_.clear();
  }

  TemporaryFolder directory_{TemporaryFolder::InMemory()};  // every input is written to files
  fs::path run_;
  std::unique_ptr<Trainer> trainer_;
  Part state_;
  std::vector<Segment> segments_;
  std::map<fs::path, std::string> files_;  // originals
  std::vector<fs::path> logs_;
  std::set<fs::path> changed_;
};

// Few inputs take the ways that write whole checkpoints or make whole trainers, which take a
// hundred times as long. The choice must not be one that the fuzzer can learn, or it would take
// little else for the code they reach.
SmallRun::Way WayOf(std::span<const std::uint8_t> input) {
  const auto chance = crc32_z(0, reinterpret_cast<const Bytef*>(input.data()), input.size()) % 1024;
  if (chance == 0) return SmallRun::Way::kResumes;
  return chance <= 8 ? SmallRun::Way::kMakesCheckpoint : SmallRun::Way::kLoads;
}

void Try(std::span<const std::uint8_t> input) {
  static const bool is_silent = (SetLogLevel(LogLevel::kSilent), true);
  Require(is_silent);
  static std::array<SmallRun, 7> runs = {
      SmallRun(Options("classic/cartpole", "stable-aa",
                       {"agent.n_step=3", "replay.prioritized=true", "train.lookahead_updates=2",
                        "agent.weights.refresh=update"})),
      SmallRun(Options("classic/cartpole", "stable-aa",
                       {"agent.restart=growth", "optimizer.kind=adam", "replay.compression=lz4"})),
      SmallRun(Options("classic/acrobot", "double-dqn", {"optimizer.kind=rmsprop-centred"})),
      SmallRun(Options("minatar/breakout", "averaged-dqn",
                       {"network.layers=flatten linear(1) relu", "replay.compression=zstd"})),
      SmallRun(Options("classic/cartpole", "stable-aa",
                       {"exploration.policy=softmax", "agent.backup=dynamic-boltzmann",
                        "agent.restart=interval", "agent.restart_interval_updates=9"})),
      SmallRun(
          Options("classic/pendulum", "td3-stable",
                  {"agent.n_step=3", "replay.prioritized=true", "control.noise_correlation=0.5"})),
      SmallRun(Options("classic/pendulum", "sac-raa", {"replay.compression=lz4"}))};
  runs[input.front() % runs.size()].Try(input.subspan(1), WayOf(input));
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) stableaa::Try(std::span(data, size));
  return 0;
}
