// What messages call an option: by default its name, "evaluation_sweeps". A caller whose users set
// it differently (by a flag or a key) can have messages show that instead.
#ifndef STABLEAA_CORE_OPTION_LABEL_H_
#define STABLEAA_CORE_OPTION_LABEL_H_

#include <functional>
#include <string>
#include <string_view>

namespace stableaa {

using OptionLabel = std::function<std::string(std::string_view name)>;

inline std::string NameAsLabel(std::string_view name) { return std::string(name); }

}  // namespace stableaa

#endif  // STABLEAA_CORE_OPTION_LABEL_H_
