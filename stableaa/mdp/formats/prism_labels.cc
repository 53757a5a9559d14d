#include "stableaa/mdp/formats/prism_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/mdp/formats/annotations_builder.h"
#include "stableaa/mdp/formats/prism_rewards.h"
#include "stableaa/mdp/formats/text_scanner.h"

namespace stableaa {
namespace {

// PRISM declares it in every file.
constexpr std::string_view kDeadlockLabel = "deadlock";

class PrismLabelParser {
 public:
  PrismLabelParser(std::string_view text, const std::string& name, std::uint64_t states)
      : in_(text, name), states_(states) {}

  void Parse(ModelAnnotations& annotations) {
    while (!in_.AtEnd() && in_.AtLineEnd()) in_.SkipLine();
    const bool of_storm = in_.AcceptWord("#DECLARATION");
    of_storm ? DeclareStormsNames() : DeclareNames();
    while (in_.SkipToContent(kPrismComment)) {
      const std::uint64_t state = ReadState();
      if (!of_storm) in_.Expect(':');
      while (!in_.AtLineEnd()) {
        labels_.Add(of_storm ? FindLabel() : ReadLabelNumber(), state);
      }
      in_.ExpectLineEnd();
    }
    labels_.Finish(annotations);
    std::erase_if(annotations.labels, [](const StateLabel& label) {
      return label.name == kDeadlockLabel && label.states.empty();
    });
  }

 private:
  // 0="init" 1="deadlock" ...
  void DeclareNames() {
    if (!in_.SkipToContent(kPrismComment)) throw in_.Wrong("the names of the labels");
    for (; !in_.AtLineEnd(); in_.SkipBlanks()) {
      const std::size_t start = in_.offset();
      if (in_.Unsigned("the number of a label") != labels_.size()) {
        in_.MoveTo(start);
        throw in_.Wrong(fmt::format("label {}", labels_.size()));
      }
      in_.Expect('=');
      Declare(in_.Quoted("the name of the label"), start);
    }
    in_.ExpectLineEnd();
  }

  void DeclareStormsNames() {
    constexpr std::string_view kEnd = "#END";
    while (true) {
      while (!in_.AtEnd() && in_.AtLineEnd()) in_.SkipLine();
      if (in_.AtEnd()) throw in_.Wrong(kEnd);
      const std::size_t start = in_.offset();
      const std::string_view name = in_.Word();
      if (name == kEnd) return;
      Declare(name, start);
    }
  }

  void Declare(std::string_view name, std::size_t start) {
    if (name.empty()) throw in_.FaultAt(start, "expected a label with a name");
    if (labels_.Find(name)) {
      throw in_.FaultAt(start, fmt::format("label '{}' is declared twice", Shorten(name)));
    }
    labels_.Declare(name);
  }

  std::uint64_t ReadState() {
    const std::size_t line = in_.offset();
    const std::uint64_t state = in_.Unsigned("a state");
    if (state >= states_) {
      throw in_.FaultAt(line, fmt::format("expected a state below {}, found {}", states_, state));
    }
    if (last_state_ && state <= *last_state_) {
      throw in_.FaultAt(line, fmt::format("expected a state above {}, found {}; the states ascend",
                                          *last_state_, state));
    }
    last_state_ = state;
    return state;
  }

  std::size_t ReadLabelNumber() {
    const std::size_t start = in_.offset();
    const std::uint64_t label = in_.Unsigned("the number of a label");
    if (label < labels_.size()) return label;
    in_.MoveTo(start);
    throw in_.Wrong(fmt::format("the number of one of {} labels", labels_.size()));
  }

  std::size_t FindLabel() {
    const std::size_t start = in_.offset();
    if (const std::optional<std::size_t> label = labels_.Find(in_.Word())) return *label;
    in_.MoveTo(start);
    throw in_.Wrong("a label that is declared");
  }

  TextScanner in_;
  const std::uint64_t states_;
  LabelBuilder labels_;
  std::optional<std::uint64_t> last_state_;
};

}  // namespace

void ParsePrismLabels(std::string_view text, const std::string& name, std::uint64_t states,
                      ModelAnnotations& annotations) {
  PrismLabelParser(text, name, states).Parse(annotations);
}

std::vector<std::string> WritePrismLabels(const ModelAnnotations& annotations, std::uint64_t states,
                                          TextWriter& out) {
  std::vector<std::string> dropped;
  const LabelsByState labels(annotations, states);
  // PRISM numbers init and deadlock first.
  out.Print(FMT_COMPILE("0=\"{}\" 1=\"{}\""), kInitialLabel, kDeadlockLabel);
  std::vector<std::optional<std::size_t>> numbers;
  std::size_t next = 2;
  for (const std::string_view name : labels.names()) {
    if (name == kInitialLabel || name == kDeadlockLabel) {
      numbers.emplace_back(name == kInitialLabel ? 0 : 1);
    } else if (name.find('"') != name.npos) {
      numbers.emplace_back();
      dropped.push_back(fmt::format("label '{}', which has a quote", Shorten(name)));
    } else {
      out.Print(FMT_COMPILE(" {}=\"{}\""), next, name);
      numbers.emplace_back(next++);
    }
  }
  out.Print(FMT_COMPILE("\n"));

  std::vector<std::size_t> of_state;
  for (std::uint64_t state = 0; state < states; ++state) {
    of_state.clear();
    for (const std::uint32_t label : labels.Of(state)) {
      if (numbers[label]) of_state.push_back(*numbers[label]);
    }
    if (of_state.empty()) continue;
    std::ranges::sort(of_state);
    out.Print(FMT_COMPILE("{}:"), state);
    for (const std::size_t number : of_state) out.Print(FMT_COMPILE(" {}"), number);
    out.Print(FMT_COMPILE("\n"));
  }
  return dropped;
}

}  // namespace stableaa
