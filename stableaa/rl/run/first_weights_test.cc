#include "stableaa/rl/run/first_weights.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/base/terminal/log.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/agent.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/small_run_test.h"
#include "stableaa/rl/run/trainer.h"
#include "stableaa/testing/message.h"

namespace stableaa::first_weights_test {

namespace fs = std::filesystem;

class FirstWeightsTest : public ::testing::Test {
 protected:
  FirstWeightsTest() { SetLogLevel(LogLevel::kSilent); }
  ~FirstWeightsTest() override { SetLogLevel(LogLevel::kInfo); }

  static RunOptions Options(const std::vector<std::string>& assignments = {},
                            const std::string& preset = "stable-aa") {
    return SmallRunOptions("classic/cartpole", preset, assignments);
  }
  fs::path Source() const {
    const fs::path run = folder_ / "source";
    if (!fs::exists(run)) {
      EXPECT_TRUE(Trainer::Start(run, Options())->Run());
    }
    return run;
  }
  static std::vector<float> BlockOf(const fs::path& file) {
    const WeightsFile weights = ReadWeights(file);
    return {weights.parameters.block().begin(), weights.parameters.block().end()};
  }
  // What follows the header.
  static std::string DataOf(const fs::path& file) {
    const std::string content = FileContent(file);
    std::uint64_t length = 0;
    std::memcpy(&length, content.data(), sizeof(length));
    return content.substr(sizeof(length) + length);
  }

  FolderOfRuns folder_;
};

TEST_F(FirstWeightsTest, ARunBeginsWithThem) {
  const fs::path latest = Source() / "weights/latest.safetensors";
  for (const fs::path& from : {Source(), latest, Source() / "weights/best.safetensors"}) {
    const fs::path run = folder_ / "run";
    fs::remove_all(run);
    Trainer::Start(run, Options({"train.seed=5"}), from);
    EXPECT_EQ(BlockOf(run / "weights/latest.safetensors"),
              BlockOf(fs::is_directory(from) ? latest : from));
  }
  EXPECT_NE(BlockOf(folder_ / "run/weights/latest.safetensors"), BlockOf(latest))
      << "the best are the latest, so nothing was tested";
}

TEST_F(FirstWeightsTest, RunJsonSaysWhereTheyAreFrom) {
  const fs::path latest = Source() / "weights/latest.safetensors";
  Trainer::Start(folder_ / "run", Options({"train.seed=5"}), Source());
  const auto from = nlohmann::json::parse(FileContent(folder_ / "run/run.json"))["from"];
  const std::string data = DataOf(latest);
  const uLong sum = crc32(crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(data.data()),
                          static_cast<uInt>(data.size()));
  const nlohmann::json expected = {
      {"path", latest.string()}, {"step", 240}, {"env", "classic/cartpole"},
      {"preset", "stable-aa"},   {"seed", "1"}, {"crc32", fmt::format("{:08x}", sum)}};
  EXPECT_EQ(from, expected);
  Trainer::Start(folder_ / "plain", Options());
  EXPECT_FALSE(nlohmann::json::parse(FileContent(folder_ / "plain/run.json")).contains("from"));
}

// Nor is the source needed after the start.
TEST_F(FirstWeightsTest, StopsChangeNothing) {
  const RunOptions options = Options({"train.seed=5"});
  EXPECT_TRUE(Trainer::Start(folder_ / "straight", options, Source())->Run());
  EXPECT_TRUE(Trainer::Start(folder_ / "cold", options)->Run());
  EXPECT_NE(FileContent(folder_ / "straight/metrics.csv"),
            FileContent(folder_ / "cold/metrics.csv"));
  std::unique_ptr<Trainer> trainer = Trainer::Start(folder_ / "run", options, Source());
  trainer.reset();
  fs::remove_all(Source());
  fs::remove_all(folder_ / "source");
  for (std::int64_t step = 0; step < 240; step += 37) {
    trainer = Trainer::Resume(folder_ / "run");
    EXPECT_FALSE(trainer->Run({.stop = [&] { return trainer->step() >= step; }}));
    trainer.reset();
  }
  EXPECT_TRUE(Trainer::Resume(folder_ / "run")->Run());
  ExpectSameResults(folder_ / "run", folder_ / "straight");
}

TEST_F(FirstWeightsTest, TheTargetNetworkBeginsWithThemToo) {
  const RunOptions options = Options();
  const auto environment = MakeEnvironment(options.train.env, options.env);
  const auto agent = MakeAgent(options, environment->spec());
  Parameters first(AgentPlan(options, environment->spec()));
  RandomStream random(99, "other weights");
  first.Initialise(random);
  environment->Reset(1);
  agent->StartFrom(first);
  agent->Begin(0, environment->observations());
  ByteWriter saved, weights;
  agent->Save(saved);
  first.Save(weights);
  const auto text = [](const ByteWriter& out) {
    return std::string(reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size());
  };
  const std::string all = text(saved), wanted = text(weights);
  int count = 0;
  for (std::size_t at = all.find(wanted); at != all.npos; at = all.find(wanted, at + 1)) ++count;
  EXPECT_EQ(count, 2) << "online and target network";
}

TEST_F(FirstWeightsTest, WeightsOfAnotherNetworkMakeNothing) {
  const fs::path source = Source();
  const auto message = [&](const RunOptions& options, const fs::path& from) {
    std::string found = MessageOf([&] { Trainer::Start(folder_ / "a/run", options, from); });
    EXPECT_FALSE(fs::exists(folder_ / "a"));
    return found;
  };
  const std::string file = (source / "weights/latest.safetensors").string();
  EXPECT_EQ(message(Options({"network.hidden=[9]"}), source),
            file +
                ": tensor 'value.0.weight' [8, 4]: expected shape [9, 4]; the network is "
                "vector(4) dueling{linear(9) relu linear(1) | linear(9) relu linear(2)}");
  EXPECT_EQ(message(SmallRunOptions("classic/acrobot", "stable-aa", {}), source),
            file +
                ": tensor 'value.0.weight' [8, 4]: expected shape [8, 6]; the network is "
                "vector(6) dueling{linear(8) relu linear(1) | linear(8) relu linear(3)}");
  EXPECT_EQ(message(Options({}, "dqn"), source),
            file +
                ": there is no tensor 'layers.0.weight' [8, 4]; the network is vector(4) "
                "linear(8) relu linear(2)");
  EXPECT_NE(message(Options(), folder_ / "nowhere").find("no such run or weights file"),
            std::string::npos);
  EXPECT_NE(message(Options(), folder_.path()).find("has no config.toml"), std::string::npos);
  WriteContent(folder_ / "bad.safetensors", "not weights");
  EXPECT_NE(message(Options(), folder_ / "bad.safetensors").find("safetensors file"),
            std::string::npos);
}

}  // namespace stableaa::first_weights_test
