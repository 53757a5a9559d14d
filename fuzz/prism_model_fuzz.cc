// The reader for PRISM's explicit files: any texts are a canonical model or BadInput. The input is
// the .tra, .trew and .srew files, separated by NUL; files past the end are missing.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fuzz/accepts.h"
#include "stableaa/mdp/formats/prism_format.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

// Takes the text up to the next NUL, and the NUL; nothing if `text` has ended.
std::optional<std::string_view> TakePart(std::optional<std::string_view>& text) {
  if (!text) return std::nullopt;
  const std::size_t end = text->find('\0');
  const std::string_view part = text->substr(0, end);
  if (end == std::string_view::npos) {
    text.reset();
  } else {
    text->remove_prefix(end + 1);
  }
  return part;
}

void Try(std::optional<std::string_view> text) {
  PrismTexts texts;
  texts.transitions = *TakePart(text);
  texts.transition_rewards = TakePart(text);
  texts.state_rewards = TakePart(text);
  std::optional<LoadedModel> loaded;
  if (!Accepts([&] { loaded = ParsePrismModel(texts, "fuzz"); })) return;
  CheckCanonical(loaded->model.arrays(), "fuzz", 1);
  Require(loaded->model.transitions() <= texts.transitions.size());
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stableaa::Try(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
