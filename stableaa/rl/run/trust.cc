#include "stableaa/rl/run/trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/env/gymnasium/wrapper_call.h"
#include "stableaa/env/registry.h"

namespace stableaa {

ForeignCode ForeignCodeOf(const RunOptions& options) {
  if (IsNative(options.train.env)) return {};
  ForeignCode code;
  const std::string id = NormalizedId(options.train.env);
  if (const std::size_t colon = id.rfind(':'); colon != id.npos) {
    const std::size_t begin = id.find('/') + 1;
    code.module = id.substr(begin, colon - begin);
  }
  if (!IsDefaultPython(options.env.python)) code.python = options.env.python;
  const auto is_harmless = [](const std::string& text) { return ParseWrapper(text).is_harmless(); };
  if (!std::ranges::all_of(options.env.wrappers, is_harmless)) code.wrappers = options.env.wrappers;
  return code;
}

void RefuseForeignCode(const ForeignCode& code, const std::filesystem::path& file,
                       const std::string& env) {
  std::vector<std::string> named;
  if (code.module) named.push_back(fmt::format("the Python module '{}'", Shorten(*code.module)));
  if (code.python) {
    named.push_back(fmt::format("the interpreter '{}' (env.python)", Shorten(*code.python, 200)));
  }
  for (const std::string& text : code.wrappers) {
    const WrapperCall call = ParseWrapper(text);
    if (call.is_harmless()) continue;
    named.push_back(fmt::format("the wrapper '{}' (env.wrappers)", Shorten(call.name)));
  }
  if (named.empty()) return;
  throw UntrustedCode(fmt::format("{} names {}, whose code is not run because a file says so",
                                  ShownPath(file), fmt::join(named, " and ")),
                      code, env);
}

}  // namespace stableaa
