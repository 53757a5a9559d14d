// The command-line flag of a layer's option; FlagOf is the OptionLabel (core/option_label.h) that
// commands pass.
#ifndef STABLEAA_CLI_OPTION_FLAG_H_
#define STABLEAA_CLI_OPTION_FLAG_H_

#include <algorithm>
#include <string>
#include <string_view>

namespace stableaa {

// "--evaluation-sweeps" for evaluation_sweeps.
inline std::string FlagOf(std::string_view option) {
  std::string flag = "--" + std::string(option);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

}  // namespace stableaa

#endif  // STABLEAA_CLI_OPTION_FLAG_H_
