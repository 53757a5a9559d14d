#include "stableaa/mdp/formats/csv_format.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "stableaa/base/files/mapped_file.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/mdp/formats/expected_reward.h"
#include "stableaa/mdp/formats/text_scanner.h"
#include "stableaa/mdp/formats/text_writer.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

constexpr std::string_view kHeader = "s,a,next,p,r";
constexpr std::string_view kCsvComment = "#";

struct Line {
  std::uint64_t state;
  std::uint64_t action;
  std::uint64_t next;
  double probability;
  double reward;
  std::size_t offset;  // where it begins
};

void ExpectHeader(TextScanner& in) {
  if (!in.SkipToContent(kCsvComment)) throw in.Wrong(fmt::format("the header '{}'", kHeader));
  const std::size_t start = in.offset();
  const std::string_view line = in.RestOfLine();
  std::string names;
  for (const char c : line) {
    if (c != ' ' && c != '\t') names += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (names != kHeader) {
    throw in.FaultAt(start,
                     fmt::format("expected the header '{}', found '{}'", kHeader, Shorten(line)));
  }
}

// False at the end of the file.
bool ReadLine(TextScanner& in, Line& line) {
  if (!in.SkipToContent(kCsvComment)) return false;
  line.offset = in.offset();
  line.state = in.Unsigned("a state (s)");
  in.Expect(',');
  line.action = in.Unsigned("an action (a)");
  in.Expect(',');
  line.next = in.Unsigned("a next state (next)");
  in.Expect(',');
  line.probability = in.Probability();
  in.Expect(',');
  line.reward = in.Number("a reward (r)");
  in.ExpectLineEnd();
  return true;
}

// Builds the model from lines ordered by state and action; next_line(Line&) is false after the
// last.
template <typename NextLine>
Model Build(const TextScanner& in, NextLine next_line) {
  std::size_t row_offset = 0;
  ModelBuilder builder([&] { return in.WhereAt(row_offset); });
  ExpectedReward reward;
  Line line = {};
  std::uint64_t state = 0;
  std::uint64_t action = 0;
  bool begun = false;
  while (next_line(line)) {
    if (!begun || line.state != state || line.action != action) {
      if (begun) builder.EndRow(reward.Take());
      const bool new_state = !begun || line.state != state;
      if (new_state && line.state != builder.states()) {
        throw in.FaultAt(line.offset, fmt::format("expected state {}, found state {}",
                                                  builder.states(), line.state));
      }
      const std::uint64_t expected = new_state ? 0 : action + 1;
      if (line.action != expected) {
        throw in.FaultAt(line.offset,
                         fmt::format("state {} has an action {} but no action {}; the actions of a "
                                     "state are numbered 0, 1, 2, ...",
                                     line.state, line.action, expected));
      }
      row_offset = line.offset;
      if (new_state) builder.BeginState();
      state = line.state;
      action = line.action;
      begun = true;
    }
    builder.Transition(line.next, line.probability);
    reward.Add(line.probability, line.reward);
  }
  if (begun) builder.EndRow(reward.Take());
  if (!begun) row_offset = in.offset();
  return builder.Finish(std::nullopt);
}

Model ParseInOrder(std::string_view text, const std::string& name) {
  TextScanner in(text, name);
  ExpectHeader(in);
  return Build(in, [&](Line& line) { return ReadLine(in, line); });
}

// The number of lines per state. Throws unless every state up to the largest has one.
std::vector<std::size_t> CountLines(std::span<const Line> lines, const TextScanner& in) {
  // If no state is missing, there are at most as many states as lines.
  std::vector<std::size_t> counts(lines.size());
  for (const Line& line : lines) {
    if (line.state < counts.size()) ++counts[line.state];
  }
  const std::uint64_t states =
      static_cast<std::uint64_t>(std::ranges::find(counts, std::size_t{0}) - counts.begin());
  for (const Line& line : lines) {
    if (line.state > states) {
      throw in.FaultAt(line.offset,
                       fmt::format("there is a state {} but no state {}; states are numbered 0, 1, "
                                   "2, ..., and each has a line with s",
                                   line.state, states));
    }
  }
  counts.resize(states);
  return counts;
}

void CheckNextStates(std::span<const Line> lines, std::uint64_t states, const TextScanner& in) {
  for (const Line& line : lines) {
    if (line.next >= states) {
      throw in.FaultAt(line.offset,
                       fmt::format("next state {} has no action of its own; the states are 0 to {}",
                                   line.next, states - 1));
    }
  }
}

// The line numbers, sorted by state, action and position in the file.
std::vector<std::size_t> Order(std::span<const Line> lines, std::span<const std::size_t> counts) {
  std::vector<std::size_t> places(counts.size());  // in `order`, for the state's next line
  for (std::size_t s = 1; s < counts.size(); ++s) places[s] = places[s - 1] + counts[s - 1];
  std::vector<std::size_t> order(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) order[places[lines[i].state]++] = i;

  const auto action = [&](std::size_t i) { return lines[i].action; };
  auto begin = order.begin();
  for (const std::size_t count : counts) {
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    std::ranges::stable_sort(begin, end, {}, action);
    begin = end;
  }
  return order;
}

Model ParseInAnyOrder(std::string_view text, const std::string& name) {
  TextScanner in(text, name);
  ExpectHeader(in);
  std::vector<Line> lines;
  for (Line line = {}; ReadLine(in, line);) lines.push_back(line);
  const std::vector<std::size_t> counts = CountLines(lines, in);
  CheckNextStates(lines, counts.size(), in);
  const std::vector<std::size_t> order = Order(lines, counts);
  auto i = order.begin();
  return Build(in, [&](Line& line) {
    if (i == order.end()) return false;
    line = lines[*i++];
    return true;
  });
}

}  // namespace

// Most files are in order. An error in one that seems to be (a row that does not sum to 1) may be
// fixed by a later line, so only the second reading reports errors.
LoadedModel ParseCsvModel(std::string_view text, const std::string& name) {
  try {
    return {ParseInOrder(text, name), {}};
  } catch (const Error&) {
    return {ParseInAnyOrder(text, name), {}};
  }
}

LoadedModel ReadCsvModel(const std::filesystem::path& path) {
  const MappedFile file(path);
  return ParseCsvModel(file.text(), path.string());
}

std::vector<std::string> WriteCsvModel(const Model& model, const std::filesystem::path& path) {
  TextWriter out(path);
  out.Print(FMT_COMPILE("{}\n"), kHeader);
  std::string reward;
  model.VisitColumns([&](const auto columns) {
    for (std::uint64_t state = 0; state < model.states(); ++state) {
      const std::uint64_t first = model.state_rows()[state];
      for (std::uint64_t row = first; row < model.state_rows()[state + 1]; ++row) {
        reward = fmt::format(FMT_COMPILE("{}"), model.rewards()[row]);
        for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
             ++k) {
          out.Print(FMT_COMPILE("{},{},{},{},{}\n"), state, row - first, columns[k],
                    model.probabilities()[k], reward);
        }
      }
    }
  });
  out.Commit();
  return WithoutDiscount(model);
}

}  // namespace stableaa
