#include "stableaa/rl/run/value_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string_view>

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

std::string ShortName(const EnvironmentSpec& spec, std::size_t action) {
  std::string name = spec.action_name(static_cast<int>(action));
  if (name.size() > kMaxName) name = name.substr(0, kMaxName - 1) + ".";
  return name;
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
    : spec_(spec), bars_(std::min(kMaxBars, static_cast<std::size_t>(spec.action.n))) {}

const Picture& ValuePicture::Draw(const EvaluationStep& step) {
  if (step.frame == nullptr) throw std::logic_error("ValuePicture::Draw without a frame");
  if (picture_.width() == 0) Arrange(*step.frame);
  FollowRange(step.values);
  picture_.Fill(kBackground);
  DrawFrame(*step.frame);
  DrawHeadline(step);
  const std::vector<std::size_t> actions = ShownActions(step, bars_);
  for (std::size_t row = 0; row < actions.size(); ++row) {
    DrawBar(static_cast<int>(row), actions[row], step);
  }
  DrawAxis(step.values.size() - actions.size());
  return picture_;
}

void ValuePicture::Arrange(const Picture& frame) {
  std::size_t longest = 0;
  for (int a = 0; a < spec_.action.n; ++a) {
    longest = std::max(longest, ShortName(spec_, static_cast<std::size_t>(a)).size());
  }
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

void ValuePicture::DrawBar(int row, std::size_t action, const EvaluationStep& step) {
  const bool chosen = static_cast<std::size_t>(step.action) == action;
  const int top = layout_.bars_top + row * layout_.row_height;
  const int text_top = top + (layout_.row_height - kCapitalHeight * kTextScale) / 2;
  const TextStyle style = {kTextScale, chosen ? kChosenText : kText};
  const auto value = static_cast<double>(step.values[action]);
  DrawText(picture_, layout_.left, text_top, ShortName(spec_, action), style);
  const std::string text = ShortValue(value);
  DrawText(picture_, layout_.value_right - TextWidth(text, kTextScale), text_top, text, style);

  const int inset = std::max(2, (layout_.row_height - kCapitalHeight * kTextScale) / 3);
  const int bar_top = top + inset, bar_bottom = top + layout_.row_height - inset;
  picture_.Rectangle(layout_.bar_left, bar_top, layout_.bar_right, bar_bottom, kTrack);
  if (!std::isfinite(value)) return;
  const double length = std::max<double>(kMinBar, AxisPosition(value) * kBarWidth);
  picture_.Rectangle(layout_.bar_left, bar_top, layout_.bar_left + length, bar_bottom,
                     chosen ? kChosenBar : kBar);
}

void ValuePicture::DrawAxis(std::size_t hidden) {
  const int bottom = layout_.bars_top + static_cast<int>(bars_) * layout_.row_height;
  const int text_top = bottom + kAxisHeight - kGlyphHeight;
  const TextStyle style = {1, kFaintText};
  const std::string high = ShortValue(high_);
  DrawText(picture_, layout_.bar_left, text_top, ShortValue(low_), style);
  DrawText(picture_, layout_.bar_right - TextWidth(high, 1), text_top, high, style);
  if (hidden > 0) {
    DrawText(picture_, layout_.left, text_top, fmt::format("+{} more", hidden), style);
  }
  if (low_ < 0 && high_ > 0) {
    const double zero = layout_.bar_left + std::round(AxisPosition(0) * kBarWidth);
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

// From 0 at the left end to 1 at the right one.
double ValuePicture::AxisPosition(double value) const {
  return high_ > low_ ? std::clamp((value - low_) / (high_ - low_), 0.0, 1.0) : .5;
}

std::vector<std::string> ValueLines(const EnvironmentSpec& spec, const EvaluationStep& step) {
  std::vector<std::string> lines = {
      fmt::format("game {}  step {}  action {}  reward {:g}  return {:g}", step.game + 1,
                  step.step + 1, spec.action_name(step.action), step.reward, step.return_so_far),
      ""};
  for (std::size_t a = 0; a < step.values.size(); ++a) {
    const bool chosen = static_cast<std::size_t>(step.action) == a;
    const std::string value = ShortValue(static_cast<double>(step.values[a]));
    // A constant width, so that only the numbers move.
    const std::string entry = fmt::format("{}{} {:>6}{}", chosen ? '[' : ' ', ShortName(spec, a),
                                          value, chosen ? ']' : ' ');
    if (lines.back().size() + entry.size() > kLineLetters) lines.emplace_back();
    lines.back() += entry;
  }
  return lines;
}

}  // namespace stableaa
