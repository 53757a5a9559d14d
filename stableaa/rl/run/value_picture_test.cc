#include "stableaa/rl/run/value_picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stableaa::value_picture_test {

constexpr Color kRed = {200, 10, 10}, kGreen = {10, 200, 10};

EnvironmentSpec Spec(int actions, std::vector<std::string> names = {}) {
  return {.id = "test/values",
          .observation = Space::Floats({4}, {0}, {1}),
          .action = Space::Discrete(actions),
          .action_names = std::move(names)};
}

Picture Frame(int width, int height) {
  Picture frame(width, height);
  frame.Fill(kRed);
  frame.Rectangle(0, 0, 1, 1, kGreen);
  return frame;
}

// The bars of a picture as (length, colour) from the top, found by their colours to the right of
// the frame.
struct Bar {
  int length = 0;
  bool chosen = false;
};

std::vector<Bar> BarsOf(const Picture& picture, int frame_width) {
  std::vector<Bar> bars;
  bool within = false;
  for (int y = 0; y < picture.height(); ++y) {
    int blue = 0, orange = 0;
    for (int x = frame_width; x < picture.width(); ++x) {
      const Color color = picture.at(x, y);
      blue += color == Color{74, 106, 158} ? 1 : 0;
      orange += color == Color{240, 164, 48} ? 1 : 0;
    }
    const bool is_bar = blue + orange > 0;
    if (is_bar && !within) bars.push_back({blue + orange, orange > 0});
    within = is_bar;
  }
  return bars;
}

TEST(ValuePicture, TheFrameStandsAtTheLeftEnlargedByAWholeNumber) {
  ValuePicture drawing(Spec(2));
  const Picture frame = Frame(160, 210);
  const std::vector<float> values = {1, 2};
  const Picture& picture = drawing.Draw({.values = values, .frame = &frame});
  EXPECT_EQ(picture.height(), 420);
  for (int y = 0; y < 420; ++y) {
    for (int x = 0; x < 320; ++x) ASSERT_EQ(picture.at(x, y), frame.at(x / 2, y / 2));
  }
  EXPECT_FALSE(picture.at(320, 210) == kRed);
}

TEST(ValuePicture, AHighPanelLeavesTheFrameInTheMiddle) {
  ValuePicture drawing(Spec(18));
  const Picture frame = Frame(160, 160);
  const std::vector<float> values(18, 1);
  const Picture& picture = drawing.Draw({.values = values, .frame = &frame});
  EXPECT_GT(picture.height(), 400);
  const int top = (picture.height() - 320) / 2;
  EXPECT_EQ(picture.at(0, top), kGreen);
  EXPECT_EQ(picture.at(319, top + 319), kRed);
  EXPECT_FALSE(picture.at(0, top - 1) == kGreen);
}

TEST(ValuePicture, BarsGrowWithTheValuesAndTheChosenOneIsMarked) {
  ValuePicture drawing(Spec(4));
  const Picture frame = Frame(10, 10);
  const std::vector<float> values = {1, 4, 2, 3};
  const auto bars = BarsOf(drawing.Draw({.values = values, .action = 2, .frame = &frame}), 320);
  ASSERT_EQ(bars.size(), 4U);
  EXPECT_LT(bars[0].length, 5);
  EXPECT_NEAR(bars[2].length, bars[1].length / 3., 1);
  EXPECT_NEAR(bars[3].length, bars[1].length * 2 / 3., 1);
  for (std::size_t a = 0; a < 4; ++a) EXPECT_EQ(bars[a].chosen, a == 2);
}

TEST(ValuePicture, TheAxisHoldsWhatComesAndForgetsSlowly) {
  ValuePicture drawing(Spec(2));
  const Picture frame = Frame(10, 10);
  const auto length = [&](float first, float second) {
    const std::vector<float> values = {first, second};
    return BarsOf(drawing.Draw({.values = values, .frame = &frame}), 320)[0].length;
  };
  const int full = length(1, 0);
  EXPECT_LT(length(1, 10), full / 5);
  const int after = length(1, 0);
  EXPECT_LT(after, full / 5);
  int before = after;
  for (int k = 0; k < 150; ++k) {
    const int now = length(1, 0);
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_GT(before, full * .6);  // 9 * 0.98^150 is left of the old values
}

TEST(ValuePicture, EverythingThatTheStepSaysIsInThePicture) {
  const Picture frame = Frame(10, 10);
  const std::vector<float> values = {1, 2};
  const EvaluationStep step = {
      .game = 1, .step = 5, .values = values, .reward = 1, .return_so_far = 7, .frame = &frame};
  const auto picture_of = [&](const EvaluationStep& shown, std::vector<std::string> names = {}) {
    return ValuePicture(Spec(2, std::move(names))).Draw(shown);
  };
  const Picture picture = picture_of(step);
  EXPECT_TRUE(picture == picture_of(step));
  EvaluationStep other = step;
  other.game = 2;
  EXPECT_FALSE(picture == picture_of(other));
  other = step;
  other.step = 6;
  EXPECT_FALSE(picture == picture_of(other));
  other = step;
  other.reward = 2;
  EXPECT_FALSE(picture == picture_of(other));
  other = step;
  other.return_so_far = 8;
  EXPECT_FALSE(picture == picture_of(other));
  EXPECT_TRUE(picture == picture_of(step, {"0", "1"})) << "without names actions are numbers";
  EXPECT_FALSE(picture == picture_of(step, {"a", "b"}));
}

TEST(ValuePicture, ManyActionsShowTheBestOnesAndTheChosenOne) {
  ValuePicture drawing(Spec(500));
  const Picture frame = Frame(10, 10);
  std::vector<float> values(500);
  for (std::size_t a = 0; a < 500; ++a) values[a] = static_cast<float>(a);
  values[3] = NAN;
  const Picture& picture = drawing.Draw({.values = values, .action = 7, .frame = &frame});
  const auto bars = BarsOf(picture, 320);
  ASSERT_EQ(bars.size(), ValuePicture::kMaxBars);
  EXPECT_TRUE(bars[0].chosen);
  EXPECT_LT(bars[0].length, 10);
  for (std::size_t k = 1; k < bars.size(); ++k) EXPECT_GT(bars[k].length, bars[1].length - 1);
  EXPECT_LT(picture.height(), 600);
}

TEST(ValuePicture, ValuesThatAreNotFiniteHaveNoBar) {
  ValuePicture drawing(Spec(3));
  const Picture frame = Frame(10, 10);
  const std::vector<float> values = {NAN, 1, INFINITY}, none = {NAN, NAN, NAN};
  EXPECT_EQ(BarsOf(drawing.Draw({.values = values, .frame = &frame}), 320).size(), 1U);
  EXPECT_EQ(BarsOf(drawing.Draw({.values = none, .frame = &frame}), 320).size(), 0U);
}

// ---- Continuous actions ----

EnvironmentSpec BoxSpec(const std::vector<float>& low, const std::vector<float>& high) {
  const auto size = static_cast<int>(std::max(low.size(), high.size()));
  return {.id = "test/elements",
          .observation = Space::Floats({4}, {0}, {1}),
          .action = Space::Floats({size}, low, high)};
}

std::vector<Bar> BarsOfElements(const EnvironmentSpec& spec, const std::vector<float>& elements) {
  ValuePicture drawing(spec);
  const Picture frame = Frame(10, 10);
  return BarsOf(drawing.Draw({.action_values = elements, .frame = &frame}), 320);
}

TEST(ValuePicture, ElementsOfAnActionAreBarsBetweenTheirBounds) {
  const std::vector<Bar> bars =
      BarsOfElements(BoxSpec({-2, -1, 0, 10}, {2, 3, 1, 30}), {0, 0, .75F, 30});
  ASSERT_EQ(bars.size(), 4U);
  const int full = bars[3].length;
  EXPECT_NEAR(bars[0].length, full * .5, 1);
  EXPECT_NEAR(bars[1].length, full * .25, 1);
  EXPECT_NEAR(bars[2].length, full * .75, 1);
  for (const Bar& bar : bars) EXPECT_FALSE(bar.chosen);
  EXPECT_LT(BarsOfElements(BoxSpec({-2}, {2}), {-2})[0].length, 5);
}

TEST(ValuePicture, TheBarsOfElementsDoNotDependOnFormerOnes) {
  const EnvironmentSpec spec = BoxSpec({-2}, {2});
  ValuePicture drawing(spec);
  const Picture frame = Frame(10, 10);
  const auto length = [&](float element) {
    const std::vector<float> elements = {element};
    return BarsOf(drawing.Draw({.action_values = elements, .frame = &frame}), 320)[0].length;
  };
  const int first = length(.5F);
  EXPECT_GT(length(2), first);
  EXPECT_LT(length(-2), first);
  EXPECT_EQ(length(.5F), first);
}

TEST(ValuePicture, AnElementWithEqualBoundsIsInTheMiddle) {
  const std::vector<Bar> bars = BarsOfElements(BoxSpec({3, 0}, {3, 1}), {3, 1});
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_NEAR(bars[0].length, bars[1].length * .5, 1);
}

TEST(ValuePicture, OfManyElementsTheFirstOnesAreShown) {
  std::vector<float> elements(40, 1);
  elements[0] = -1;
  const std::vector<Bar> bars =
      BarsOfElements(BoxSpec(std::vector<float>(40, -1), std::vector<float>(40, 1)), elements);
  ASSERT_EQ(bars.size(), ValuePicture::kMaxBars);
  EXPECT_LT(bars[0].length, 5);
  for (std::size_t k = 1; k < bars.size(); ++k) EXPECT_GT(bars[k].length, 100);
  // Those beyond leave the picture as it is.
  ValuePicture drawing(BoxSpec(std::vector<float>(40, -1), std::vector<float>(40, 1)));
  const Picture frame = Frame(10, 10);
  const Picture before = drawing.Draw({.action_values = elements, .frame = &frame});
  elements.back() = -1;
  EXPECT_TRUE(before == drawing.Draw({.action_values = elements, .frame = &frame}));
}

TEST(ValueLines, TellTheElementsOfAnAction) {
  const std::vector<float> elements = {.5F, -12.25F};
  EXPECT_EQ(ValueLines(BoxSpec({-1, -20}, {1, 20}), {.game = 2,
                                                     .step = 119,
                                                     .action_values = elements,
                                                     .reward = -1,
                                                     .return_so_far = -12.5}),
            (std::vector<std::string>{"game 3  step 120  reward -1  return -12.5",
                                      " a0  0.500  a1 -12.25 "}));
  const std::vector<float> many(40, -1);
  for (const std::string& line :
       ValueLines(BoxSpec(many, std::vector<float>(40, 1)), {.action_values = many})) {
    EXPECT_LE(line.size(), 78U);
  }
}

TEST(ValuePicture, AllPicturesHaveOneSize) {
  ValuePicture drawing(Spec(6, {"a", "bb", "a very long name of an action", "d", "e", "f"}));
  const Picture frame = Frame(10, 10);
  std::optional<Picture> first;
  for (const float scale : {1.F, 1e-9F, 1e12F, -1e30F}) {
    const std::vector<float> values(6, scale);
    const Picture& picture = drawing.Draw(
        {.game = 999'999, .step = 1'000'000, .values = values, .reward = -1e300, .frame = &frame});
    if (!first) first = picture;
    EXPECT_EQ(picture.width(), first->width());
    EXPECT_EQ(picture.height(), first->height());
  }
  EXPECT_LT(first->width(), 800);
}

TEST(ValuePicture, NeedsAFrame) {
  const std::vector<float> values = {1, 2};
  EXPECT_THROW(ValuePicture(Spec(2)).Draw({.values = values}), std::logic_error);
}

TEST(ShortValue, HasAboutFourDigitsAndAtMostEightLetters) {
  EXPECT_EQ(ShortValue(0), "0.000");
  EXPECT_EQ(ShortValue(-1.23456), "-1.235");
  EXPECT_EQ(ShortValue(12.3456), "12.35");
  EXPECT_EQ(ShortValue(-123.456), "-123.5");
  EXPECT_EQ(ShortValue(12345.6), "12346");
  EXPECT_EQ(ShortValue(-1.25e7), "-1.2e+07");
  EXPECT_EQ(ShortValue(NAN), "nan");
  EXPECT_EQ(ShortValue(-INFINITY), "-inf");
  for (double value = 1e-9; value < 1e99; value *= -9.7) {
    EXPECT_LE(ShortValue(value).size(), 8U) << value;
  }
}

TEST(ValueLines, TellTheStepAndMarkTheChosenAction) {
  const std::vector<float> values = {.5F, -12.25F};
  const auto lines = ValueLines(
      Spec(2, {"left", "right"}),
      {.game = 2, .step = 119, .values = values, .action = 1, .reward = 1, .return_so_far = 12.5});
  EXPECT_EQ(lines,
            (std::vector<std::string>{"game 3  step 120  action right  reward 1  return 12.5",
                                      " left  0.500 [right -12.25]"}));
}

TEST(ValueLines, FitATerminalAndDoNotMove) {
  const std::vector<float> values(18, 1.5F);
  std::vector<std::string> names(18, "downrightfire");
  const EnvironmentSpec spec = Spec(18, names);
  const auto lines = ValueLines(spec, {.values = values, .action = 3});
  EXPECT_LE(lines.size(), 8U);
  const auto later = ValueLines(spec, {.values = values, .action = 17});
  ASSERT_EQ(later.size(), lines.size());
  for (std::size_t k = 0; k < lines.size(); ++k) {
    EXPECT_LE(lines[k].size(), 78U);
    EXPECT_TRUE(k == 0 || lines[k].size() == later[k].size());
  }
}

}  // namespace stableaa::value_picture_test
