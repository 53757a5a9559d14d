// The reader for Storm's DRN format: any text is a canonical model with sound annotations, or
// BadInput.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fuzz/canonical.h"
#include "stableaa/mdp/formats/drn_format.h"

namespace stableaa {
namespace {

void Try(std::string_view text) {
  std::optional<LoadedModel> loaded;
  if (!Accepts([&] { loaded = ParseDrnModel(text, "fuzz"); })) return;
  RequireSound(*loaded);
  Require(loaded->model.transitions() <= text.size());
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stableaa::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
