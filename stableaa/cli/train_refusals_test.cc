// Damaged runs, divergence and bad options: what train refuses, without changing anything.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/cli/train_runs_test.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::train_refusals_test {

namespace fs = std::filesystem;

// --- Damage --------------------------------------------------------------------------------------

class DamagedRun : public TrainCommand {
 protected:
  static constexpr const char* kState = "checkpoint/state.bin";

  // An unfinished run: killed, so that its logs are longer than the checkpoint says.
  DamagedRun() {
    Arguments part = kCartpole + Sets({"replay.size=300"});
    *(std::ranges::find(part, "--steps") + 1) = "600";
    sound_ = Start("sound", part);
    other_ = Start("other", part + Arguments{"--seed", "2"});
    for (const char* const log : {"metrics.csv", "episodes.csv"}) {
      WriteContent(sound_ / log, FileContent(sound_ / log) + "601,half a row");
    }
    for (const auto& entry : fs::directory_iterator(sound_ / "checkpoint")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("segment-")) segments_.push_back("checkpoint/" + name);
    }
    std::ranges::sort(segments_);
  }

  // Copies the run, damages the copy, and expects an error that names `file`.
  void Expect(const std::string& file, const std::vector<std::string>& words,
              const std::function<void(const fs::path& run)>& damage) {
    SCOPED_TRACE(file);
    const fs::path run = Path("run");
    fs::remove_all(run);
    fs::copy(sound_, run, fs::copy_options::recursive);
    damage(run);
    const Snapshot before = SnapshotOf(run);
    const std::string message = ExpectError(Train({"--resume", run.string(), "--steps", "900"}), 2);
    ExpectWords(message, words);
    ExpectWords(message, {file.empty() ? run.string() : (run / file).string()});
    ExpectUnchanged(run, before);
  }

  // The same for all ways of damaging a file's bytes.
  void ExpectNoticed(const std::string& file) {
    const std::string content = FileContent(sound_ / file);
    const auto becomes = [&](const std::string& changed, const std::vector<std::string>& words) {
      Expect(file, words, [&](const fs::path& run) { WriteContent(run / file, changed); });
    };
    for (const std::size_t length : {std::size_t{0}, std::size_t{5}, std::size_t{20},
                                     std::size_t{31}, content.size() / 2, content.size() - 1}) {
      becomes(content.substr(0, length), {"truncated"});
    }
    becomes(content + "x", {"too many"});
    becomes(std::string(content.size(), '\0'), {"not a stableaa file"});
    for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{40},
                                 content.size() / 3, content.size() - 1}) {
      std::string flipped = content;
      flipped[at] = static_cast<char>(flipped[at] ^ 4);
      becomes(flipped, {});
    }
    Expect(file, {"not exist"}, [&](const fs::path& run) { fs::remove(run / file); });
    Expect(file, {"directory"}, [&](const fs::path& run) {
      fs::remove(run / file);
      fs::create_directory(run / file);
    });
  }

  fs::path sound_, other_;
  std::vector<std::string> segments_;
};

TEST_F(DamagedRun, IsSoundToBeginWith) {
  const fs::path straight = Start("straight", kCartpole + Sets({"replay.size=300"}));
  ExpectDone(Train({"--resume", sound_.string(), "--steps", "1500"}));
  ExpectSameResults(sound_, straight);
  EXPECT_GE(segments_.size(), 8U);
}

TEST_F(DamagedRun, TheStateIsChecked) { ExpectNoticed(kState); }

TEST_F(DamagedRun, TheStateIsOfThisRun) {
  const auto from = [&](const fs::path& source) {
    return [this, source](const fs::path& run) {
      fs::copy_file(source, run / kState, fs::copy_options::overwrite_existing);
    };
  };
  Expect(kState, {"another configuration"}, from(other_ / kState));
  Expect(kState, {"'replay' file", "expected 'run'"}, from(sound_ / segments_.front()));
  const std::vector<std::byte> payload =
      ReadCheckedFile(sound_ / kState, "run", kCheckpointVersion).payload;
  for (const std::uint32_t version : {0U, 99U}) {
    Expect(kState, {"version", std::to_string(version)},
           [&](const fs::path& run) { WriteCheckedFile(run / kState, "run", version, payload); });
  }
  // A valid frame around too little or too much.
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, payload.size() / 2,
                                 payload.size() - 1, payload.size() + 1}) {
    std::vector<std::byte> changed = payload;
    changed.resize(size);
    Expect(kState, {}, [&](const fs::path& run) {
      WriteCheckedFile(run / kState, "run", kCheckpointVersion, changed);
    });
  }
}

TEST_F(DamagedRun, SegmentsAreChecked) { ExpectNoticed(segments_[1]); }

TEST_F(DamagedRun, SegmentsAreOfThisRun) {
  for (const fs::path& source : {other_ / segments_[2], sound_ / segments_[3]}) {
    Expect(segments_[2], {"another run"}, [&](const fs::path& run) {
      fs::copy_file(source, run / segments_[2], fs::copy_options::overwrite_existing);
    });
  }
  Expect(segments_[2], {"'run' file"}, [&](const fs::path& run) {
    fs::copy_file(run / kState, run / segments_[2], fs::copy_options::overwrite_existing);
  });
}

TEST_F(DamagedRun, LogsMustNotBeShorter) {
  for (const std::string log : {"metrics.csv", "episodes.csv", "events.out.tfevents.0.stableaa"}) {
    Expect(log, {"not exist"}, [&](const fs::path& run) { fs::remove(run / log); });
    Expect(log, {"bytes"}, [&](const fs::path& run) { WriteContent(run / log, ""); });
    Expect(log, {"bytes"},
           [&](const fs::path& run) { fs::resize_file(run / log, fs::file_size(run / log) - 20); });
  }
}

TEST_F(DamagedRun, TheConfigurationIsThatOfTheCheckpoint) {
  const std::string config = FileContent(sound_ / "config.toml");
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return [text](const fs::path& run) { WriteContent(run / "config.toml", text); };
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\nseed = 1", "\nseed = 2"},
                                                        {"\nbatch = 8", "\nbatch = 9"},
                                                        {"\nsize = 300", "\nsize = 301"},
                                                        {"classic/cartpole", "minatar/breakout"},
                                                        {"[16.0, 16.0]", "[16.0, 17.0]"}}) {
    Expect("config.toml", {"another configuration"}, edited(from, to));
  }
  Expect("config.toml", {}, edited("\nseed = 1", "\nseed = "));
  Expect("config.toml", {"agent.eta"}, edited("\neta = 0.1", "\neta = -0.1"));
  Expect("config.toml", {"agent.etta", "did you mean"}, edited("\neta = 0.1", "\netta = 0.1"));
  Expect("config.toml", {"replay.size"}, edited("\nsize = 300", "\nsize = \"large\""));
  Expect("config.toml", {},
         [](const fs::path& run) { WriteContent(run / "config.toml", "\0\1["); });
  Expect("", {"config.toml"}, [](const fs::path& run) { fs::remove(run / "config.toml"); });
}

// --- What fails and what is refused --------------------------------------------------------------

TEST_F(TrainCommand, DivergenceIsToldAndLeavesTheCheckpoint) {
  const std::string out = Path("run");
  const Outcome outcome =
      Train(kCartpole + kOneThread + Arguments{"--out", out} +
            Sets({"agent.loss=squared", "optimizer.learning_rate=1000",
                  "optimizer.max_gradient_norm=0", "network.hidden=[32,32,32,32,32,32,32,32]",
                  "checkpoint.interval_steps=50", "agent.target_interval_updates=5"}));
  const std::string message = ErrorOf(outcome, 1);
  const std::string diagnosis = out + "/diverged.npz";
  ExpectWords(message, {"diverged in step 1", diagnosis});
  EXPECT_TRUE(FileContent(diagnosis).starts_with("PK\3\4"));
  EXPECT_NE(FileContent(diagnosis).find("parameters.npy"), std::string::npos);
  EXPECT_EQ(StepOf(out), 100);
  // The checkpoint is intact: resuming from it fails in the same way.
  const std::string again = ErrorOf(Train({"--resume", out}), 1);
  EXPECT_EQ(again, message);
  EXPECT_EQ(StepOf(out), 100);
}

TEST_F(TrainCommand, BadOptionsMakeNothing) {
  struct Case {
    Arguments arguments;
    std::vector<std::string> words;
  };
  WriteContent(Path("bad.toml"), "[agent]\nomga = 3\n");
  const Snapshot before = SnapshotOf(folder_.path());
  for (const Case& c : std::vector<Case>{
           {{"--env", "classic/cartpol"}, {"did you mean 'classic/cartpole'"}},
           {{"--env", "cartpole"}, {"there is no environment 'cartpole'"}},
           {{"--preset", "stable"}, {"there is no preset 'stable'"}},
           {{"--preset", "stabel-aa"}, {"did you mean 'stable-aa'"}},
           {{"--preset", ""}, {"--preset: expected a name or a file, found nothing"}},
           {{"--from", ""}, {"--from: expected a file or the directory of a run, found nothing"}},
           {{"--set", "replay.sise=3"}, {"did you mean 'replay.size'"}},
           {{"--set", "replay.size"}, {"replay.size"}},
           {{"--set", "replay.size=0"}, {"replay.size"}},
           {{"--set", "agent.mixer=stabel"}, {"agent.mixer"}},
           {{"--set", "optimizer.learning_rate=linear(1e-3, -0.1, 1e3)"},
            {"optimizer.learning_rate", "[0, 1000]", "found -0.1 at step 1000"}},
           {{"--set", "exploration.epsilon=linear(1, 0)"}, {"linear(FROM, TO, STEPS)"}},
           {{"--set", "agent.n_step=5", "--set", "replay.size=5"}, {"replay.size"}},
           {{"--config", Path("bad.toml")}, {"bad.toml:2", "agent.omega"}},
           {{"--config", Path("none.toml")}, {"none.toml"}},
           {{"--env", "classic/pendulum"}, {"classic/pendulum", "continuous"}},
           {{"--env", "atari/pong", "--set", "env.protocol=nonsense"}, {"env.protocol"}},
           {{"--steps", "-1"}, {"--steps"}},
           {{"--steps", "many"}, {"--steps"}},
           {{"--threads", "0"}, {"--threads"}},
           {{"--seed", "-1"}, {"--seed"}},
           {{"--nonsense"}, {"--nonsense"}}}) {
    Arguments arguments = c.arguments;
    if (std::ranges::find(arguments, "--env") == arguments.end()) {
      arguments = arguments + Arguments{"--env", "classic/cartpole"};
    }
    ExpectWords(ExpectError(Train(arguments + Arguments{"--out", Path("made/run")}), 2), c.words);
  }
  for (const Arguments& large :
       {Sets({"replay.size=1000000000000"}),
        Sets({"replay.size=1000000000000", "replay.compression=lz4", "replay.prioritized=true"})}) {
    ExpectWords(
        ExpectError(
            Train(Arguments{"--env", "classic/cartpole", "--out", Path("made/run")} + large), 1),
        {"memory", "GB"});
  }
  ExpectUnchanged(folder_.path(), before);
}

TEST_F(TrainCommand, ARunOfNoSteps) {
  Arguments none = kCartpole;
  *(std::ranges::find(none, "--steps") + 1) = "0";
  const fs::path empty = Start("empty", none);
  EXPECT_EQ(StepOf(empty), 0);
  EXPECT_EQ(Table(empty / "metrics.csv").rows(), 0U);
  EXPECT_EQ(Table(empty / "episodes.csv").rows(), 0U);
  EXPECT_TRUE(fs::exists(empty / "weights/latest.safetensors"));
  EXPECT_FALSE(fs::exists(empty / "weights/best.safetensors"));
}

TEST_F(TrainCommand, WithoutEvaluationsThereIsNoBest) {
  const fs::path run = Start("run", kCartpole + Sets({"eval.interval_steps=0"}));
  EXPECT_FALSE(fs::exists(run / "weights/best.safetensors"));
  const Table metrics(run / "metrics.csv");
  EXPECT_EQ(metrics.rows(), 15U);
  for (const std::string& cell : metrics["eval_return_mean"]) EXPECT_EQ(cell, "");
}

}  // namespace stableaa::train_refusals_test
