// One of env.wrappers: a Gymnasium wrapper and its arguments, written as a call in Python without
// the environment:
//
//   TimeLimit(max_episode_steps=50)               one of Gymnasium's, gymnasium.wrappers.TimeLimit
//   GrayscaleObservation                          without arguments
//   my_module.Crop(top=10, sides=(4, 4))          anybody's, by the name of its module
//
// Arguments are Python's literals, on one line. Only the worker reads them.
#ifndef STABLEAA_ENV_GYMNASIUM_WRAPPER_CALL_H_
#define STABLEAA_ENV_GYMNASIUM_WRAPPER_CALL_H_

#include <string>
#include <string_view>
#include <vector>

namespace stableaa {

struct WrapperCall {
  std::string name;       // with its module: "gymnasium.wrappers.TimeLimit"
  std::string arguments;  // with parentheses: "(max_episode_steps=50)"

  // Whether it runs only Gymnasium's own code and writes no files, which RecordVideo does.
  bool is_harmless() const;
  // Whether it is one of Gymnasium's whose statistics outlive episodes, so that playing a game again
  // does not bring them back: NormalizeObservation, NormalizeReward.
  bool keeps_statistics() const;
  // Whether its class is called Normalize…, whoever wrote it.
  bool is_called_normalize() const;
};

// Throws BadInput that names env.wrappers.
WrapperCall ParseWrapper(std::string_view text);
std::vector<WrapperCall> ParseWrappers(const std::vector<std::string>& texts);

}  // namespace stableaa

#endif  // STABLEAA_ENV_GYMNASIUM_WRAPPER_CALL_H_
