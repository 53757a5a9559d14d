// Shows a game and what the agent thinks of it: the frame, and beside it the value of every action
// as a bar, with the chosen one marked. Where actions are continuous, the bars are their elements,
// each between its bounds.
//
// The axis of values covers recent ones: it grows at once to hold any new value and slowly forgets
// old ones. This keeps small differences between actions visible without making the bars jump. Its
// ends are printed below, and zero is a thin line.
#ifndef STABLEAA_RL_RUN_VALUE_PICTURE_H_
#define STABLEAA_RL_RUN_VALUE_PICTURE_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stableaa/env/environment.h"
#include "stableaa/env/picture.h"
#include "stableaa/rl/run/evaluation.h"

namespace stableaa {

// The pictures of one video, all of the same size. If there are more than kMaxBars actions, those
// of largest value are shown, and the chosen one; of more elements the first ones.
class ValuePicture {
 public:
  static constexpr std::size_t kMaxBars = 18;

  explicit ValuePicture(const EnvironmentSpec& spec);

  // The step must have its frame. Valid until the next call.
  const Picture& Draw(const EvaluationStep& step);

 private:
  // Where things are, in pixels. `left` is the panel's edge, to the right of the frame.
  struct Layout {
    int scale = 1;  // of the frame
    int left = 0, name_width = 0, bar_left = 0, bar_right = 0, value_right = 0;
    int bars_top = 0, row_height = 0;
  };

  // What a row of the panel shows.
  struct Bar {
    std::string name;
    double value = 0;
    double position = 0;  // on the axis, from 0 at the left end to 1 at the right one
    bool is_chosen = false;
  };

  void Arrange(const Picture& frame);
  void DrawFrame(const Picture& frame);
  void DrawHeadline(const EvaluationStep& step);
  std::vector<Bar> BarsOfValues(const EvaluationStep& step) const;
  std::vector<Bar> BarsOfElements(std::span<const float> elements) const;
  void DrawBar(int row, const Bar& bar);
  void DrawAxis(std::size_t hidden);
  void FollowRange(std::span<const float> values);
  bool SharesAxis() const;

  const EnvironmentSpec spec_;
  const std::vector<std::string> names_;  // of the actions or elements
  const std::size_t bars_;
  Layout layout_;
  Picture picture_;
  bool has_range_ = false;
  double low_ = 0, high_ = 0;  // of the axis
};

// The same as text, for the lines below a picture in a terminal: first game, step, action, reward
// and return, then the values, with the chosen one in brackets, or the elements of the action.
std::vector<std::string> ValueLines(const EnvironmentSpec& spec, const EvaluationStep& step);

// A value in at most 8 characters: 0.123, -12.34, 1.2e+07.
std::string ShortValue(double value);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_VALUE_PICTURE_H_
