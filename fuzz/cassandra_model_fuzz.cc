// Cassandra's text format from arbitrary bytes: a BadInput, or a canonical model in which all
// states have the same number of actions.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fuzz/canonical.h"
#include "stableaa/mdp/formats/cassandra_format.h"

namespace stableaa {
namespace {

// A few words may describe a large model; those that are still too large are skipped here.
constexpr std::uint64_t kMostUnfolded = 5000;

void Try(std::string_view text) {
  std::optional<LoadedModel> loaded;
  if (!Accepts([&] { loaded = ParseCassandraModel(text, "fuzz", kMostUnfolded); })) return;
  const Model& model = loaded->model;
  RequireCanonical(model);
  Require(model.transitions() <= kMostUnfolded + text.size() / 2);
  Require(model.rows() == model.states() * model.actions(0));
  Require(model.most_actions() == model.actions(0));
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stableaa::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
