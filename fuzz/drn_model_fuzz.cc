// The reader for Storm's DRN format: any text is a canonical model or BadInput.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fuzz/accepts.h"
#include "stableaa/mdp/formats/drn_format.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

void Try(std::string_view text) {
  std::optional<LoadedModel> loaded;
  if (!Accepts([&] { loaded = ParseDrnModel(text, "fuzz"); })) return;
  CheckCanonical(loaded->model.arrays(), "fuzz", 1);
  Require(loaded->model.transitions() <= text.size());
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stableaa::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
