#include "stableaa/rl/run/value_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "stableaa/env/pixel_font.h"
#include "stableaa/env/video.h"

namespace stableaa {
namespace {

constexpr Color kBackground = {22, 24, 30};
constexpr Color kTrack = {36, 39, 48};
constexpr Color kText = {222, 226, 233};
constexpr Color kFaintText = {128, 135, 148};
constexpr Color kBar = {74, 106, 158};
constexpr Color kChosenBar = {240, 164, 48};
constexpr Color kChosenText = {255, 206, 120};
constexpr Color kZero = {150, 156, 168};

constexpr int kTextScale = 2;
constexpr int kLetter = kGlyphAdvance * kTextScale;
constexpr int kMargin = 14, kGap = 10;
constexpr int kBarWidth = 130;
constexpr int kMinBar = 2;  // so that the lowest value is visible
constexpr std::size_t kMaxName = 13;
constexpr int kValueLetters = 8;
constexpr int kHeadlineHeight = 20, kHeadlines = 4;
constexpr int kMinRow = 19, kMaxRow = 28;
constexpr int kAxisHeight = kGlyphHeight + 6;
constexpr double kForget = .02;  // share of the distance to the present values, per step
constexpr std::size_t kLineLetters = 78;

bool IsContinuous(const EnvironmentSpec& spec) { return spec.action.kind == Space::Kind::kBox; }

// Of the actions or, where they are continuous, of their elements: a0, a1, ...
std::vector<std::string> ShortNames(const EnvironmentSpec& spec) {
  std::vector<std::string> names;
  if (IsContinuous(spec)) {
    for (std::size_t i = 0; i < spec.action.size(); ++i) names.push_back(fmt::format("a{}", i));
    return names;
  }
  for (int action = 0; action < spec.action.n; ++action) {
    std::string name = spec.action_name(action);
    if (name.size() > kMaxName) name = name.substr(0, kMaxName - 1) + ".";
    names.push_back(std::move(name));
  }
  return names;
}

// Where the value lies between two others, from 0 to 1; in the middle if these are equal.
double PositionBetween(double low, double high, double value) {
  return high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : .5;
}

// The actions that have a bar, in ascending order.
std::vector<std::size_t> ShownActions(const EvaluationStep& step, std::size_t bars) {
  std::vector<std::size_t> actions(step.values.size());
  std::iota(actions.begin(), actions.end(), std::size_t{0});
  const auto chosen = static_cast<std::size_t>(step.action);
  const auto before = [&](std::size_t a, std::size_t b) {
    if ((a == chosen) != (b == chosen)) return a == chosen;
    // NaN comes last: the comparison has to be consistent.
    const bool a_known = !std::isnan(step.values[a]), b_known = !std::isnan(step.values[b]);
    return a_known != b_known ? a_known : a_known && step.values[a] > step.values[b];
  };
  if (actions.size() > bars) {
    std::ranges::stable_sort(actions, before);
    actions.resize(bars);
    std::ranges::sort(actions);
  }
  return actions;
}

}  // namespace

std::string ShortValue(double value) {
  const double size = std::abs(value);
  if (!(size < 1e6)) return fmt::format("{:.1e}", value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, size < 10 ? 3 : size < 100 ? 2 : 1);
}

ValuePicture::ValuePicture(const EnvironmentSpec& spec)
    : spec_(spec), names_(ShortNames(spec)), bars_(std::min(kMaxBars, names_.size())) {
  if (!IsContinuous(spec)) return;
  low_ = static_cast<double>(std::ranges::min(spec.action.low));
  high_ = static_cast<double>(std::ranges::max(spec.action.high));
}

const Picture& ValuePicture::Draw(const EvaluationStep& step) {
  if (step.frame == nullptr) throw std::logic_error("ValuePicture::Draw without a frame");
  if (picture_.width() == 0) Arrange(*step.frame);
  FollowRange(step.values);
  picture_.Fill(kBackground);
  DrawFrame(*step.frame);
  DrawHeadline(step);
  const std::vector<Bar> bars =
      IsContinuous(spec_) ? BarsOfElements(step.action_values) : BarsOfValues(step);
  for (std::size_t row = 0; row < bars.size(); ++row) DrawBar(static_cast<int>(row), bars[row]);
  DrawAxis(names_.size() - bars.size());
  return picture_;
}

std::vector<ValuePicture::Bar> ValuePicture::BarsOfValues(const EvaluationStep& step) const {
  std::vector<Bar> bars;
  for (const std::size_t action : ShownActions(step, bars_)) {
    const auto value = static_cast<double>(step.values[action]);
    bars.push_back({names_[action], value, PositionBetween(low_, high_, value),
                    static_cast<std::size_t>(step.action) == action});
  }
  return bars;
}

std::vector<ValuePicture::Bar> ValuePicture::BarsOfElements(std::span<const float> elements) const {
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < bars_; ++i) {
    const auto value = static_cast<double>(elements[i]);
    const auto low = static_cast<double>(spec_.action.LowOf(i));
    const auto high = static_cast<double>(spec_.action.HighOf(i));
    bars.push_back({names_[i], value, PositionBetween(low, high, value)});
  }
  return bars;
}

void ValuePicture::Arrange(const Picture& frame) {
  std::size_t longest = 0;
  for (const std::string& name : names_) longest = std::max(longest, name.size());
  layout_.scale = WatchableScale(frame);
  const int frame_width = layout_.scale * frame.width();
  const int frame_height = layout_.scale * frame.height();
  layout_.left = frame_width + kMargin;
  layout_.name_width = static_cast<int>(longest) * kLetter;
  layout_.bar_left = layout_.left + layout_.name_width + kGap;
  layout_.bar_right = layout_.bar_left + kBarWidth;
  layout_.value_right = layout_.bar_right + kGap + kValueLetters * kLetter;
  layout_.bars_top = kMargin + kHeadlines * kHeadlineHeight + kGap;
  const auto rows = static_cast<int>(bars_);
  const int room = frame_height - layout_.bars_top - kAxisHeight - kMargin;
  layout_.row_height = std::clamp(room / rows, kMinRow, kMaxRow);
  const int needed = layout_.bars_top + rows * layout_.row_height + kAxisHeight + kMargin;
  picture_.Resize(layout_.value_right + kMargin, std::max(frame_height, needed));
}

void ValuePicture::DrawFrame(const Picture& frame) {
  const int scale = layout_.scale;
  const int top = (picture_.height() - scale * frame.height()) / 2;
  const auto width = static_cast<std::size_t>(picture_.width());
  const auto source_width = static_cast<std::size_t>(frame.width());
  const auto repeat = static_cast<std::size_t>(scale);
  for (int y = 0; y < scale * frame.height(); ++y) {
    const auto from = frame.rgb().subspan(static_cast<std::size_t>(y / scale) * source_width * 3,
                                          source_width * 3);
    const auto to = picture_.rgb().subspan(static_cast<std::size_t>(top + y) * width * 3,
                                           source_width * repeat * 3);
    for (std::size_t x = 0; x < source_width * repeat; ++x) {
      std::ranges::copy(from.subspan(x / repeat * 3, 3), to.subspan(x * 3, 3).begin());
    }
  }
}

void ValuePicture::DrawHeadline(const EvaluationStep& step) {
  constexpr int kLabelLetters = 7;
  int y = kMargin;
  const auto line = [&](std::string_view label, const std::string& value) {
    DrawText(picture_, layout_.left, y, label, {kTextScale, kFaintText});
    DrawText(picture_, layout_.left + kLabelLetters * kLetter, y, value, {kTextScale, kText});
    y += kHeadlineHeight;
  };
  line("game", std::to_string(step.game + 1));
  line("step", std::to_string(step.step + 1));
  line("reward", fmt::format("{:.6g}", step.reward));
  line("return", fmt::format("{:.6g}", step.return_so_far));
}

void ValuePicture::DrawBar(int row, const Bar& bar) {
  const int top = layout_.bars_top + row * layout_.row_height;
  const int text_top = top + (layout_.row_height - kCapitalHeight * kTextScale) / 2;
  const TextStyle style = {kTextScale, bar.is_chosen ? kChosenText : kText};
  DrawText(picture_, layout_.left, text_top, bar.name, style);
  const std::string text = ShortValue(bar.value);
  DrawText(picture_, layout_.value_right - TextWidth(text, kTextScale), text_top, text, style);

  const int inset = std::max(2, (layout_.row_height - kCapitalHeight * kTextScale) / 3);
  const int bar_top = top + inset, bar_bottom = top + layout_.row_height - inset;
  picture_.Rectangle(layout_.bar_left, bar_top, layout_.bar_right, bar_bottom, kTrack);
  if (!std::isfinite(bar.value)) return;
  const double length = std::max<double>(kMinBar, bar.position * kBarWidth);
  picture_.Rectangle(layout_.bar_left, bar_top, layout_.bar_left + length, bar_bottom,
                     bar.is_chosen ? kChosenBar : kBar);
}

void ValuePicture::DrawAxis(std::size_t hidden) {
  const int bottom = layout_.bars_top + static_cast<int>(bars_) * layout_.row_height;
  const int text_top = bottom + kAxisHeight - kGlyphHeight;
  const TextStyle style = {1, kFaintText};
  if (hidden > 0) {
    DrawText(picture_, layout_.left, text_top, fmt::format("+{} more", hidden), style);
  }
  if (!SharesAxis()) return;
  const std::string high = ShortValue(high_);
  DrawText(picture_, layout_.bar_left, text_top, ShortValue(low_), style);
  DrawText(picture_, layout_.bar_right - TextWidth(high, 1), text_top, high, style);
  if (low_ < 0 && high_ > 0) {
    const double zero = layout_.bar_left + std::round(PositionBetween(low_, high_, 0) * kBarWidth);
    picture_.Rectangle(zero, layout_.bars_top, zero + 1, bottom, kZero);
  }
}

void ValuePicture::FollowRange(std::span<const float> values) {
  double lowest = INFINITY, highest = -INFINITY;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    lowest = std::min<double>(lowest, static_cast<double>(value));
    highest = std::max<double>(highest, static_cast<double>(value));
  }
  if (lowest > highest) return;
  if (!has_range_) {
    low_ = lowest;
    high_ = highest;
    has_range_ = true;
  }
  low_ = std::min(lowest, std::lerp(low_, lowest, kForget));
  high_ = std::max(highest, std::lerp(high_, highest, kForget));
}

// Whether the same place means the same number in all rows.
bool ValuePicture::SharesAxis() const {
  const Space& space = spec_.action;
  return std::ranges::all_of(space.low, [&](float low) { return low == space.low.front(); }) &&
         std::ranges::all_of(space.high, [&](float high) { return high == space.high.front(); });
}

std::vector<std::string> ValueLines(const EnvironmentSpec& spec, const EvaluationStep& step) {
  const bool continuous = IsContinuous(spec);
  const std::string action =
      continuous ? "" : fmt::format("action {}  ", spec.action_name(step.action));
  std::vector<std::string> lines = {
      fmt::format("game {}  step {}  {}reward {:g}  return {:g}", step.game + 1, step.step + 1,
                  action, step.reward, step.return_so_far),
      ""};
  const std::vector<std::string> names = ShortNames(spec);
  const std::span<const float> numbers = continuous ? step.action_values : step.values;
  for (std::size_t a = 0; a < numbers.size(); ++a) {
    const bool chosen = !continuous && static_cast<std::size_t>(step.action) == a;
    const std::string value = ShortValue(static_cast<double>(numbers[a]));
    // A constant width, so that only the numbers move.
    const std::string entry =
        fmt::format("{}{} {:>6}{}", chosen ? '[' : ' ', names[a], value, chosen ? ']' : ' ');
    if (lines.back().size() + entry.size() > kLineLetters) lines.emplace_back();
    lines.back() += entry;
  }
  return lines;
}

}  // namespace stableaa
