#include "stableaa/rl/run/trust.h"

#include <fmt/format.h>

#include <vector>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/text/plain_text.h"
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
  return code;
}

void RefuseForeignCode(const ForeignCode& code, const std::filesystem::path& file,
                       const std::string& env) {
  std::vector<std::string> named;
  if (code.module) named.push_back(fmt::format("the Python module '{}'", Shorten(*code.module)));
  if (code.python) {
    named.push_back(fmt::format("the interpreter '{}' (env.python)", Shorten(*code.python, 200)));
  }
  if (named.empty()) return;
  throw UntrustedCode(fmt::format("{} names {}, whose code is not run because a file says so",
                                  ShownPath(file), fmt::join(named, " and ")),
                      code, env);
}

}  // namespace stableaa
