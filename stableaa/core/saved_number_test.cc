#include "stableaa/core/saved_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "stableaa/core/binary_io.h"
#include "stableaa/testing/message.h"

namespace stableaa::saved_number_test {

// The message `load` gives for what `save` writes.
template <typename Save, typename Load>
std::string MessageFor(const Save& save, const Load& load) {
  ByteWriter out;
  save(out);
  ByteReader in(out.bytes(), "state");
  return MessageOf([&] { load(in); });
}

TEST(SavedNumber, WholeNumbersLieInTheirRange) {
  for (const int value : {2, 7}) {
    ByteWriter out;
    SaveSmall(out, value);
    out.I64(-value);
    ByteReader in(out.bytes(), "state");
    EXPECT_EQ(LoadSmall(in, "a timer", 2, 7), value);
    EXPECT_EQ(LoadWhole(in, "a timer", -7, -2), -value);
    in.ExpectEnd();
  }
  for (const int value : {1, 8, 255}) {
    const std::string words = "expected a timer of 2 to 7, found " + std::to_string(value);
    EXPECT_NE(MessageFor([&](ByteWriter& out) { SaveSmall(out, value); },
                         [](ByteReader& in) { LoadSmall(in, "a timer", 2, 7); })
                  .find(words),
              std::string::npos);
    EXPECT_NE(MessageFor([&](ByteWriter& out) { out.I64(value); },
                         [](ByteReader& in) { LoadWhole(in, "a timer", 2, 7); })
                  .find(words),
              std::string::npos);
  }
  // Becomes 2 when truncated to 32 bits.
  EXPECT_NE(MessageFor([](ByteWriter& out) { out.I64((std::int64_t{1} << 32) + 2); },
                       [](ByteReader& in) { LoadWhole(in, "a timer", 2, 7); }),
            "no error");
}

TEST(SavedNumber, CountsAreNotNegativeAndAtMostTheMost) {
  for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{21}}) {
    EXPECT_NE(MessageFor([&](ByteWriter& out) { out.I64(count); },
                         [](ByteReader& in) { LoadCount(in, "episodes", 20); })
                  .find("expected 0 to 20 episodes, found " + std::to_string(count)),
              std::string::npos);
  }
  EXPECT_EQ(MessageFor([](ByteWriter& out) { out.I64(20); },
                       [](ByteReader& in) { EXPECT_EQ(LoadCount(in, "episodes", 20), 20); }),
            "no error");
  const ByteReader in({}, "state");
  EXPECT_EQ(MessageOf([&] { ExpectCount(in, "weights", 5, 5); }), "no error");
  EXPECT_NE(
      MessageOf([&] { ExpectCount(in, "weights", 5, 4); }).find("expected 5 weights, found 4"),
      std::string::npos);
}

TEST(SavedNumber, NumbersAreFiniteAndAtLeastTheLeast) {
  for (const double number :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_NE(MessageFor([&](ByteWriter& out) { out.F64(number); },
                         [](ByteReader& in) { LoadNumber(in, "0 seconds or more", 0); })
                  .find("expected 0 seconds or more, found"),
              std::string::npos);
  }
  EXPECT_EQ(MessageFor([](ByteWriter& out) { out.F64(0); },
                       [](ByteReader& in) { EXPECT_EQ(LoadNumber(in, "x", 0), 0); }),
            "no error");
}

}  // namespace stableaa::saved_number_test
