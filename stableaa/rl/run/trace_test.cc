#include "stableaa/rl/run/trace.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::trace_test {

namespace fs = std::filesystem;

// An array in an uncompressed archive, with only what the test needs.
struct Array {
  std::string header;
  std::string data;

  template <typename T>
  std::vector<T> As() const {
    std::vector<T> values(data.size() / sizeof(T));
    std::memcpy(values.data(), data.data(), values.size() * sizeof(T));
    return values;
  }
};

std::uint64_t Little(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t k = count; k-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes.at(at + k));
  }
  return value;
}

std::map<std::string, Array> ReadArchive(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  std::map<std::string, Array> arrays;
  for (std::size_t at = 0; Little(all, at, 4) == 0x04034b50;) {
    std::size_t size = Little(all, at + 18, 4);
    const std::size_t name_size = Little(all, at + 26, 2), extra = Little(all, at + 28, 2);
    const std::string name = all.substr(at + 30, name_size);
    if (size == 0xffffffff) size = Little(all, at + 30 + name_size + 4, 8);
    const std::size_t begin = at + 30 + name_size + extra;
    const std::size_t header = Little(all, begin + 8, 2);
    arrays[name.substr(0, name.find('.'))] = {all.substr(begin + 10, header),
                                              all.substr(begin + 10 + header, size - 10 - header)};
    at = begin + size;
  }
  return arrays;
}

class TraceTest : public ::testing::Test {
 protected:
  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }

  const TemporaryFolder folder_;
};

constexpr int kEnvs = 3;
constexpr std::size_t kGames = 7;

EnvironmentSpec Spec(const Space& observation) {
  return {.id = "test/trace", .observation = observation, .action = Space::Discrete(3)};
}

// Numbers that show where they come from.
struct Row {
  std::int64_t game = 0, step = 0;

  std::vector<float> Observation(std::size_t size) const {
    std::vector<float> values;
    for (std::size_t k = 0; k < size; ++k) {
      values.push_back(static_cast<float>(game * 31 + step * 7) + static_cast<float>(k));
    }
    return values;
  }
  std::vector<std::uint8_t> Bytes(std::size_t size) const {
    std::vector<std::uint8_t> values;
    for (const float v : Observation(size)) {
      values.push_back(static_cast<std::uint8_t>(static_cast<int>(v)));  // modulo 256
    }
    return values;
  }
  std::vector<float> Values() const {
    return {static_cast<float>(game), static_cast<float>(step), -.5F};
  }
  std::int32_t Action() const { return static_cast<std::int32_t>((game + step) % 3); }
  double Reward() const { return static_cast<double>(game) + static_cast<double>(step) / 1024; }
};

// Adds games of these lengths, side by side as an evaluation plays them.
void AddInterleaved(EvaluationTrace& trace, const std::vector<std::int64_t>& lengths,
                    const Space& space) {
  std::vector<Row> now(kEnvs);
  for (std::size_t i = 0; i < kEnvs; ++i) now[i].game = static_cast<std::int64_t>(i);
  for (std::size_t left = lengths.size(); left > 0;) {
    for (std::size_t i = 0; i < kEnvs; ++i) {
      Row& row = now[i];
      if (row.game >= static_cast<std::int64_t>(lengths.size())) continue;
      const bool last = row.step + 1 == lengths[static_cast<std::size_t>(row.game)];
      const std::vector<float> floats = row.Observation(space.size()), values = row.Values();
      const std::vector<std::uint8_t> bytes = row.Bytes(space.size());
      const bool is_bytes = space.type == ElementType::kUint8;
      trace.Add({.game = row.game,
                 .step = row.step,
                 .environment = i,
                 .before = is_bytes ? Observations{.bytes = bytes} : Observations{.floats = floats},
                 .values = values,
                 .action = row.Action(),
                 .reward = row.Reward(),
                 .terminated = last && row.game % 2 == 0,
                 .truncated = last && row.game % 2 == 1,
                 .game_ended = last});
      ++row.step;
      if (!last) continue;
      row = {row.game + kEnvs, 0};
      --left;
    }
  }
}

TEST_F(TraceTest, RowsAreSortedByGameAndThenTime) {
  // Large observations make small blocks (9 steps here): games begin and end within them.
  const std::vector<std::int64_t> lengths = {5, 1, 9, 2, 30, 4, 3};
  for (const Space& space : {Space::Floats({300, 500}, {0}, {1}), Space::Bytes({2, 2, 3}),
                             Space::Floats({4}, {0}, {1})}) {
    const fs::path path = folder_ / "t.npz";
    EvaluationTrace trace(path, Spec(space), kEnvs);
    AddInterleaved(trace, lengths, space);
    trace.Finish();
    auto arrays = ReadArchive(path);
    ASSERT_EQ(arrays.size(), 7U);
    const auto q = arrays["q_values"].As<float>();
    const auto actions = arrays["actions"].As<std::int32_t>();
    const auto rewards = arrays["rewards"].As<double>();
    const auto game = arrays["game"].As<std::int64_t>();
    const auto terminated = arrays["terminated"].As<std::uint8_t>();
    const auto truncated = arrays["truncated"].As<std::uint8_t>();
    const auto floats = arrays["observations"].As<float>();
    const auto bytes = arrays["observations"].As<std::uint8_t>();
    ASSERT_EQ(actions.size(), 54U);
    std::size_t k = 0;
    for (std::size_t g = 0; g < lengths.size(); ++g) {
      for (std::int64_t step = 0; step < lengths[g]; ++step, ++k) {
        const Row row = {static_cast<std::int64_t>(g), step};
        const bool last = step + 1 == lengths[g];
        ASSERT_EQ(game[k], row.game);
        ASSERT_EQ(actions[k], row.Action());
        ASSERT_EQ(rewards[k], row.Reward());
        ASSERT_EQ(terminated[k], last && g % 2 == 0 ? 1 : 0);
        ASSERT_EQ(truncated[k], last && g % 2 == 1 ? 1 : 0);
        for (std::size_t a = 0; a < 3; ++a) ASSERT_EQ(q[3 * k + a], row.Values()[a]);
        const std::size_t size = space.size();
        if (space.type == ElementType::kUint8) {
          ASSERT_TRUE(std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(k * size),
                                 bytes.begin() + static_cast<std::ptrdiff_t>((k + 1) * size),
                                 row.Bytes(size).begin()));
        } else {
          const auto expected = row.Observation(size);
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(),
                                 floats.begin() + static_cast<std::ptrdiff_t>(k * size)));
        }
      }
    }
    EXPECT_EQ(Files(), 1U) << "nothing but the archive";
  }
}

TEST_F(TraceTest, TypesAndShapesAreTheEnvironments) {
  const Space space = Space::Bytes({10, 10, 4});
  EvaluationTrace trace(folder_ / "t.npz", Spec(space), kEnvs);
  AddInterleaved(trace, {2, 2, 1}, space);
  trace.Finish();
  auto arrays = ReadArchive(folder_ / "t.npz");
  const auto says = [&](const std::string& name, const std::string& type,
                        const std::string& shape) {
    const std::string& header = arrays[name].header;
    EXPECT_NE(header.find("'" + type + "'"), std::string::npos) << name << header;
    EXPECT_NE(header.find(shape), std::string::npos) << name << header;
  };
  says("observations", "|u1", "(5, 10, 10, 4)");
  says("q_values", "<f4", "(5, 3)");
  says("actions", "<i4", "(5,)");
  says("rewards", "<f8", "(5,)");
  says("terminated", "|u1", "(5,)");
  says("truncated", "|u1", "(5,)");
  says("game", "<i8", "(5,)");
}

TEST_F(TraceTest, WithoutFinishNothingIsLeft) {
  const Space space = Space::Floats({100'000}, {0}, {1});
  {
    EvaluationTrace trace(folder_ / "t.npz", Spec(space), kEnvs);
    AddInterleaved(trace, std::vector<std::int64_t>(30, 2), space);
  }
  EXPECT_EQ(Files(), 0U);
}

TEST_F(TraceTest, APathThatCannotBeWrittenIsAnErrorBeforeAnyWork) {
  const EnvironmentSpec spec = Spec(Space::Floats({4}, {0}, {1}));
  EXPECT_THROW(EvaluationTrace(folder_ / "no/such/t.npz", spec, 1), Error);
  EXPECT_THROW(EvaluationTrace(folder_.path(), spec, 1), Error);
}

TEST_F(TraceTest, AFullDiskIsToldWithThePath) {
  rlimit former = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &former), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 1 << 20, .rlim_max = former.rlim_max};
  const Space space = Space::Floats({100'000}, {0}, {1});
  std::string message;
  {
    EvaluationTrace trace(folder_ / "t.npz", Spec(space), kEnvs);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    message =
        MessageOf([&] { AddInterleaved(trace, std::vector<std::int64_t>(kGames, 50), space); },
                  Error::Kind::kWorkFailed);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &former), 0);
  }
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, "cannot write " + (folder_ / "t.npz").string() + ": File too large");
  EXPECT_EQ(Files(), 0U);
}

TEST_F(TraceTest, ContinuousActionsTakeThePlaceOfNumbersAndValues) {
  for (const std::vector<int>& shape : {std::vector{2}, std::vector{2, 1}, std::vector{1, 2}}) {
    const fs::path path = folder_ / "t.npz";
    {
      EvaluationTrace trace(path,
                            {.id = "test/trace",
                             .observation = Space::Floats({1}, {0}, {1}),
                             .action = Space::Floats(shape, {-2}, {2})},
                            2);
      // Two games side by side.
      for (int step = 0; step < 3; ++step) {
        for (std::size_t game = 0; game < 2; ++game) {
          const std::vector<float> seen = {static_cast<float>(step)};
          const std::vector<float> action = {static_cast<float>(game) - .25F,
                                             static_cast<float>(step) / 2};
          trace.Add({.game = static_cast<std::int64_t>(game),
                     .step = step,
                     .environment = game,
                     .before = {.floats = seen},
                     .action_values = action,
                     .reward = -1,
                     .truncated = step == 2});
        }
      }
      trace.Finish();
    }
    const auto arrays = ReadArchive(path);
    EXPECT_FALSE(arrays.contains("q_values"));
    const Array& actions = arrays.at("actions");
    EXPECT_NE(actions.header.find("'<f4'"), std::string::npos) << actions.header;
    std::string sides = "(6,";
    for (const int side : shape) sides += " " + std::to_string(side) + ",";
    sides.back() = ')';
    EXPECT_NE(actions.header.find(sides), std::string::npos) << actions.header;
    EXPECT_EQ(actions.As<float>(), (std::vector<float>{-.25F, 0, -.25F, .5F, -.25F, 1,  //
                                                       .75F, 0, .75F, .5F, .75F, 1}));
    EXPECT_EQ(arrays.at("game").As<std::int64_t>(), (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1}));
  }
}

TEST_F(TraceTest, RowsOfAnotherSizeAreAMistake) {
  EvaluationTrace trace(folder_ / "t.npz", Spec(Space::Floats({4}, {0}, {1})), 1);
  const std::vector<float> three(3), four(4);
  EXPECT_THROW(trace.Add({.before = {.floats = three}, .values = three}), std::logic_error);
  EXPECT_THROW(trace.Add({.before = {.floats = four}, .values = four}), std::logic_error);
  trace.Add({.before = {.floats = four}, .values = three});
  EvaluationTrace continuous(folder_ / "c.npz",
                             {.id = "test/trace",
                              .observation = Space::Floats({4}, {0}, {1}),
                              .action = Space::Floats({4}, {0}, {1})},
                             1);
  EXPECT_THROW(continuous.Add({.before = {.floats = four}, .action_values = three}),
               std::logic_error);
  continuous.Add({.before = {.floats = four}, .action_values = four});
}

}  // namespace stableaa::trace_test
