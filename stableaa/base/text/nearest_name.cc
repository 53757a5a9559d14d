#include "stableaa/base/text/nearest_name.h"

#include <algorithm>
#include <cstddef>

namespace stableaa {
namespace {

constexpr std::size_t kMaxSlips = 3;
constexpr std::size_t kMaxSuggestions = 3;

// Restricted Damerau-Levenshtein distance, or kMaxSlips + 1 if the lengths alone rule out less.
std::size_t Slips(std::string_view a, std::string_view b) {
  const std::size_t difference = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
  if (difference > kMaxSlips) return kMaxSlips + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('.') + 1); }

template <typename Part>
std::vector<std::string> Nearest(std::string_view name, const std::vector<std::string>& names,
                                 Part part) {
  std::size_t allowed = std::min(kMaxSlips, (LastPart(name).size() + 1) / 3);
  std::vector<std::string> nearest;
  for (const std::string& candidate : names) {
    const std::size_t slips = Slips(part(name), part(candidate));
    if (slips > allowed) continue;
    if (slips < allowed) nearest.clear();
    allowed = slips;
    nearest.push_back(candidate);
  }
  if (nearest.size() > kMaxSuggestions) nearest.resize(kMaxSuggestions);
  return nearest;
}

}  // namespace

std::vector<std::string> NearestNames(std::string_view name,
                                      const std::vector<std::string>& names) {
  const auto whole = Nearest(name, names, [](std::string_view text) { return text; });
  return whole.empty() ? Nearest(name, names, LastPart) : whole;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& names) {
  const std::vector<std::string> nearest = NearestNames(name, names);
  if (nearest.empty()) return "";
  std::string question = "; did you mean '" + nearest[0] + "'";
  for (std::size_t i = 1; i < nearest.size(); ++i) question += " or '" + nearest[i] + "'";
  return question + "?";
}

}  // namespace stableaa
