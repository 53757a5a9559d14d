#include "stableaa/experiment/results/run_filter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/results/comparison.h"

namespace stableaa {
namespace {

constexpr std::size_t kMostListed = 20;

const std::map<std::string, std::string> kShortKeys = {
    {"env", "train.env"}, {"preset", "train.preset"}, {"seed", "train.seed"}};

// "dqn, raa and 3 more"
std::string Listed(const std::set<std::string>& texts) {
  std::vector<std::string> listed;
  for (const std::string& text : texts) {
    if (listed.size() < kMostListed) listed.push_back(Shorten(text));
  }
  const std::size_t more = texts.size() - listed.size();
  return fmt::format("{}{}", fmt::join(listed, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

// The full configuration key.
std::string FullKey(const std::string& key, const std::vector<RunRecord>& records) {
  const auto full = kShortKeys.find(key);
  if (full != kShortKeys.end()) return full->second;
  if (records.front().settings.contains(key)) return key;
  std::vector<std::string> known;
  for (const auto& [name, value] : records.front().settings) known.push_back(name);
  for (const auto& [name, value] : kShortKeys) known.push_back(name);
  std::set<std::string> differing;
  for (const std::string& name : DifferingKeys(records)) differing.insert(name);
  throw BadInput(fmt::format(
      "no run has a key '{}'; there are env, preset, seed and all keys of the configuration{}{}",
      Shorten(key),
      differing.empty() ? "" : fmt::format(", and these runs differ in {}", Listed(differing)),
      DidYouMean(key, known)));
}

// The value as RunRecord::settings writes it.
std::string LiteralOf(const std::string& key, const std::string& value) {
  Config config;
  RunOptions options;
  Describe(config, options);
  config.Set(fmt::format("{}={}", key, value), "the filter");
  for (const ConfigKey& described : config.Keys()) {
    if (described.key == key) return described.value;
  }
  return value;
}

// Several values of one key are alternatives.
using Wanted = std::map<std::string, std::set<std::string>>;

bool Matches(const RunRecord& record, const Wanted& wanted) {
  return std::ranges::all_of(wanted, [&record](const auto& key_values) {
    return key_values.second.contains(record.settings.at(key_values.first));
  });
}

// "train.env is "minatar/breakout", ...": for the requested keys.
std::string WhatThereIs(const std::vector<RunRecord>& records, const Wanted& wanted) {
  std::vector<std::string> sentences;
  for (const auto& [key, values] : wanted) {
    std::set<std::string> there;
    for (const RunRecord& record : records) there.insert(record.settings.at(key));
    sentences.push_back(
        fmt::format("{} {} {}", key, there.size() == 1 ? "is" : "is one of", Listed(there)));
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace

void KeepMatching(const std::vector<RunFilter>& filters, std::vector<RunRecord>& records) {
  Wanted wanted;
  for (const RunFilter& filter : filters) {
    const std::string key = FullKey(filter.key, records);
    wanted[key].insert(LiteralOf(key, filter.value));
  }
  std::vector<RunRecord> kept;
  for (const RunRecord& record : records) {
    if (Matches(record, wanted)) kept.push_back(record);
  }
  if (kept.empty()) {
    std::vector<std::string> asked;
    for (const auto& [key, values] : wanted) {
      asked.push_back(fmt::format("{} = {}", key, fmt::join(values, " or ")));
    }
    throw BadInput(fmt::format("no run has {}; in these runs {}",
                               Shorten(fmt::format("{}", fmt::join(asked, " and ")), 200),
                               WhatThereIs(records, wanted)));
  }
  records = std::move(kept);
}

}  // namespace stableaa
