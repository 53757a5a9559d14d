// A game with what the agent thinks of it: the frame, and beside it the value of every action as a
// bar, with the one that was chosen marked.
//
// Bars reach over the values of the last moments: the axis holds at once whatever comes, and
// forgets slowly what is gone, so that small differences between actions are seen without bars that
// jump. Its ends are written below, and zero is a thin line.
#ifndef STABLEAA_RL_RUN_VALUE_PICTURE_H_
#define STABLEAA_RL_RUN_VALUE_PICTURE_H_

#include <string>
#include <vector>

#include "stableaa/env/environment.h"
#include "stableaa/env/picture.h"
#include "stableaa/rl/run/evaluation.h"

namespace stableaa {

// The pictures of one video; all have the same size. Of more than kMaxBars actions those of largest
// value are shown, and the chosen one.
class ValuePicture {
 public:
  static constexpr std::size_t kMaxBars = 18;

  explicit ValuePicture(const EnvironmentSpec& spec);

  // The step needs its frame. Valid until the next call.
  const Picture& Draw(const EvaluationStep& step);

 private:
  // Where things are, in pixels; right of the frame `left` is the panel's edge.
  struct Layout {
    int scale = 1;  // of the frame
    int left = 0, name_width = 0, bar_left = 0, bar_right = 0, value_right = 0;
    int bars_top = 0, row_height = 0;
  };

  void Arrange(const Picture& frame);
  void DrawFrame(const Picture& frame);
  void DrawHeadline(const EvaluationStep& step);
  void DrawBar(int row, std::size_t action, const EvaluationStep& step);
  void DrawAxis(std::size_t hidden);
  void FollowRange(std::span<const float> values);
  double AxisPosition(double value) const;

  const EnvironmentSpec spec_;
  const std::size_t bars_;
  Layout layout_;
  Picture picture_;
  bool has_range_ = false;
  double low_ = 0, high_ = 0;  // of the axis
};

// The same as text, for the lines below a picture in a terminal: first game, step, action, reward
// and return, then the values, the chosen one in brackets.
std::vector<std::string> ValueLines(const EnvironmentSpec& spec, const EvaluationStep& step);

// A value in at most 8 characters: 0.123, -12.34, 1.2e+07.
std::string ShortValue(double value);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_VALUE_PICTURE_H_
