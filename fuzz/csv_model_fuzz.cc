// The CSV model reader: any text is a canonical model or BadInput, and whatever follows the last
// line does not matter.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/accepts.h"
#include "stableaa/mdp/formats/csv_format.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

void Try(std::string_view text) {
  std::optional<LoadedModel> loaded;
  if (!Accepts([&] { loaded = ParseCsvModel(text, "fuzz"); })) return;
  CheckCanonical(loaded->model.arrays(), "fuzz", 1);
  Require(loaded->model.transitions() <= text.size());
  // Blank lines and comments change nothing.
  const std::string longer = std::string(text) + "\n\n# comment";
  Require(ParseCsvModel(longer, "fuzz").model == loaded->model);
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stableaa::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
