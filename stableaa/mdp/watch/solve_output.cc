#include "stableaa/mdp/watch/solve_output.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string_view>

#include "stableaa/base/files/mapped_file.h"
#include "stableaa/core/error.h"
#include "stableaa/mdp/formats/text_scanner.h"

namespace stableaa {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void Open(std::optional<AtomicFile>& file, const std::optional<std::filesystem::path>& path) {
  if (path) file.emplace(*path);
}

// Writes the header, then a line for each state using `print(buffer, state)`.
template <typename Print>
void WriteLines(AtomicFile& file, std::string_view header, std::size_t states, const Print& print) {
  constexpr std::size_t kFlushBytes = std::size_t{1} << 18;
  fmt::memory_buffer buffer;
  const auto flush = [&] {
    file.Write(std::string_view(buffer.data(), buffer.size()));
    buffer.clear();
  };
  file.Write(header);
  for (std::size_t s = 0; s < states; ++s) {
    print(std::back_inserter(buffer), s);
    if (buffer.size() >= kFlushBytes) flush();
  }
  flush();
  file.Commit();
}

// The sum may round to the wrong side.
double Below(double value, double lower) { return std::nextafter(value + lower, -kInfinity); }
double Above(double value, double upper) { return std::nextafter(value + upper, kInfinity); }

class PolicyReader {
 public:
  PolicyReader(std::string_view text, const std::string& name, const Model& model)
      : in_(text, name), model_(model), actions_(model.states(), kMissing) {}

  std::vector<std::uint32_t> Read() {
    if (!SkipEmptyLines()) throw in_.Wrong("the header state,action");
    in_.SkipBlanks();
    if (in_.RestOfLine() != "state,action") {
      throw in_.FaultAt(0, "expected the header state,action");
    }
    std::uint64_t count = 0;
    for (; SkipEmptyLines(); ++count) ReadLine();
    if (count < model_.states()) throw Incomplete(count);
    return std::move(actions_);
  }

 private:
  static constexpr std::uint32_t kMissing = std::numeric_limits<std::uint32_t>::max();

  bool SkipEmptyLines() { return in_.SkipToContent("#"); }

  void ReadLine() {
    const std::size_t start = in_.offset();
    const std::uint64_t state = in_.Unsigned("a state");
    if (state >= model_.states()) {
      throw in_.FaultAt(start,
                        fmt::format("expected a state below {}, found {}", model_.states(), state));
    }
    in_.Expect(',');
    const std::uint64_t action = in_.Unsigned("an action");
    if (action >= model_.actions(state)) {
      throw in_.FaultAt(start, fmt::format("expected an action of state {}, below {}, found {}",
                                           state, model_.actions(state), action));
    }
    if (actions_[state] != kMissing) {
      throw in_.FaultAt(start, fmt::format("state {} has an action already", state));
    }
    in_.ExpectLineEnd();
    actions_[state] = static_cast<std::uint32_t>(action);
  }

  Error Incomplete(std::uint64_t count) {
    std::uint64_t first = 0;
    while (actions_[first] != kMissing) ++first;
    return in_.Fault(
        fmt::format("expected an action for each of the {} states, found {}: the first "
                    "without one is state {}",
                    model_.states(), count, first));
  }

  TextScanner in_;
  const Model& model_;
  std::vector<std::uint32_t> actions_;
};

}  // namespace

SolutionFiles::SolutionFiles(const Paths& paths) {
  Open(values_, paths.values);
  Open(policy_, paths.policy);
  Open(bounds_, paths.bounds);
}

void SolutionFiles::Write(const Solution& solution) {
  const std::vector<double>& values = solution.values;
  if (values_) {
    WriteLines(*values_, "state,value\n", values.size(), [&](auto out, std::size_t s) {
      fmt::format_to(out, FMT_COMPILE("{},{:.17g}\n"), s, values[s]);
    });
  }
  if (policy_) {
    WriteLines(*policy_, "state,action\n", solution.policy.size(), [&](auto out, std::size_t s) {
      fmt::format_to(out, FMT_COMPILE("{},{}\n"), s, solution.policy[s]);
    });
  }
  if (!bounds_) return;
  const bool certified = !std::isnan(solution.lower) && !std::isnan(solution.upper);
  WriteLines(*bounds_, "state,lower,upper\n", values.size(), [&](auto out, std::size_t s) {
    if (certified) {
      fmt::format_to(out, FMT_COMPILE("{},{:.17g},{:.17g}\n"), s, Below(values[s], solution.lower),
                     Above(values[s], solution.upper));
    } else {
      fmt::format_to(out, FMT_COMPILE("{},,\n"), s);
    }
  });
}

std::vector<std::uint32_t> ReadPolicy(const std::filesystem::path& path, const Model& model) {
  const MappedFile file(path);
  return PolicyReader(file.text(), path.string(), model).Read();
}

}  // namespace stableaa
