// The reader for PRISM's explicit files: any texts are a canonical model with sound annotations, or
// BadInput. The input is the .tra, .trew and .srew files, the .lab, and the .trew and .srew of
// further reward structures, separated by NUL; files past the end are missing.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fuzz/canonical.h"
#include "stableaa/mdp/formats/prism_format.h"

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
  const auto take_rewards = [&] {
    PrismRewardTexts rewards;
    rewards.of_transitions = TakePart(text);
    rewards.of_states = TakePart(text);
    texts.rewards.push_back(rewards);
  };
  if (text) take_rewards();
  texts.labels = TakePart(text);
  while (text && texts.rewards.size() < kMostRewardStructures) take_rewards();
  std::optional<LoadedModel> loaded;
  if (!Accepts([&] { loaded = ParsePrismModel(texts, "fuzz"); })) return;
  RequireSound(*loaded);
  Require(loaded->model.transitions() <= texts.transitions.size());
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stableaa::Try(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
