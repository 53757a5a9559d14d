#include "stableaa/mdp/formats/drn_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "stableaa/base/files/mapped_file.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/mdp/formats/text_scanner.h"
#include "stableaa/mdp/formats/text_writer.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

constexpr std::string_view kDrnComment = "//";
constexpr std::string_view kInitial = "init";
constexpr std::string_view kUnnamedAction = "__NOLABEL__";

struct DrnHeader {
  bool chain = false;  // DTMC
  std::map<std::string, double, std::less<>> placeholders;
  std::vector<std::string> reward_models;
  std::uint64_t states = 0;
  std::optional<std::uint64_t> choices;
};

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  TextScanner in(line, "");
  while (!in.AtLineEnd()) words.emplace_back(in.Word());
  return words;
}

// A probability or reward, which may be a placeholder.
double ReadValue(TextScanner& in, const DrnHeader& header, const char* what) {
  in.SkipBlanks();
  if (in.Peek() != '$') return in.NumberOrQuotient(what);
  const std::size_t start = in.offset();
  std::string_view name = in.Word();
  name = name.substr(1, name.find_first_of(",]") - 1);
  in.MoveTo(start + 1 + name.size());
  const auto found = header.placeholders.find(name);
  if (found == header.placeholders.end()) {
    in.MoveTo(start);
    throw in.Wrong("a placeholder that @placeholders defines");
  }
  return found->second;
}

double ReadProbability(TextScanner& in, const DrnHeader& header) {
  in.SkipBlanks();
  return in.Peek() == '$' ? ReadValue(in, header, "a probability") : in.Probability();
}

class HeaderParser {
 public:
  explicit HeaderParser(TextScanner& in) : in_(in) {}

  // Reads up to and including the @model line.
  DrnHeader Parse() {
    while (true) {
      if (!in_.SkipToContent(kDrnComment)) throw in_.Wrong("a section such as '@model'");
      const std::size_t start = in_.offset();
      const std::string section(in_.Word());
      if (!seen_.insert(section).second) {
        throw in_.FaultAt(start, fmt::format("{} is given twice", Shorten(section)));
      }
      if (section == "@model") {
        in_.ExpectLineEnd();
        CheckComplete(start);
        return std::move(header_);
      }
      in_.MoveTo(start);
      ReadSection(section);
    }
  }

 private:
  void ReadSection(std::string_view section) {
    if (section == "@type:") return ReadType();
    if (section == "@value_type:") return ReadValueType();
    if (section == "@placeholders") return ReadPlaceholders();
    if (section == "@parameters") {
      if (!SectionLine().empty()) throw Fault("parametric models are not supported");
    } else if (section == "@reward_models") {
      header_.reward_models = Words(SectionLine());
    } else if (section == "@nr_states") {
      header_.states = SectionNumber("the number of states");
    } else if (section == "@nr_choices") {
      header_.choices = SectionNumber("the number of choices");
    } else {
      throw in_.Wrong(
          "@type:, @value_type:, @parameters, @placeholders, @reward_models, @nr_states, "
          "@nr_choices or @model");
    }
  }

  void ReadType() {
    in_.Word();
    const std::string_view type = RestOfLine();
    header_.chain = type == "DTMC";
    if (header_.chain || type == "MDP") return;
    throw Fault(fmt::format("expected a model of type MDP or DTMC, found '{}'", Shorten(type)));
  }

  void ReadValueType() {
    in_.Word();
    const std::string_view type = RestOfLine();
    if (type == "double" || type == "rational") return;
    throw Fault(
        fmt::format("expected values of type double or rational, found '{}'", Shorten(type)));
  }

  void ReadPlaceholders() {
    in_.Word();
    in_.ExpectLineEnd();
    while (in_.SkipToContent(kDrnComment) && in_.Peek() == '$') {
      const std::size_t start = in_.offset();
      std::string_view name = in_.Word().substr(1);
      name = name.substr(0, name.find(':'));
      in_.MoveTo(start + 1 + name.size());
      in_.Expect(':');
      const double value = ReadValue(in_, header_, "a number");
      in_.ExpectLineEnd();
      if (!header_.placeholders.emplace(name, value).second) {
        throw in_.FaultAt(start, fmt::format("${} is defined twice", Shorten(name)));
      }
    }
  }

  // The rest of this line, which Fault refers to.
  std::string_view RestOfLine() {
    line_ = in_.offset();
    return in_.RestOfLine();
  }
  // The next line, which Fault refers to.
  std::string_view SectionLine() {
    in_.Word();
    in_.ExpectLineEnd();
    return RestOfLine();
  }
  std::uint64_t SectionNumber(const char* what) {
    in_.Word();
    in_.ExpectLineEnd();
    const std::uint64_t number = in_.Unsigned(what);
    in_.ExpectLineEnd();
    return number;
  }
  Error Fault(std::string_view sentence) const { return in_.FaultAt(line_, sentence); }

  void CheckComplete(std::size_t model) const {
    for (const char* needed : {"@type:", "@nr_states"}) {
      if (!seen_.contains(needed)) {
        throw in_.FaultAt(model, fmt::format("expected {} before @model", needed));
      }
    }
  }

  TextScanner& in_;
  DrnHeader header_;
  std::set<std::string, std::less<>> seen_;
  std::size_t line_ = 0;
};

class DrnParser {
 public:
  DrnParser(std::string_view text, const std::string& name)
      : in_(text, name), builder_([this] { return in_.WhereAt(row_offset_); }) {}

  LoadedModel Parse() {
    header_ = HeaderParser(in_).Parse();
    while (in_.SkipToContent(kDrnComment)) ReadLine();
    EndRow();
    CheckCounts();
    if (builder_.states() == 0) row_offset_ = in_.offset();
    return {builder_.Finish(std::nullopt), Dropped()};
  }

 private:
  void ReadLine() {
    const char first = in_.Peek();
    if (first >= '0' && first <= '9') return ReadTransition();
    const std::size_t line = in_.offset();
    if (in_.AcceptWord("state")) return ReadState(line);
    if (in_.AcceptWord("action")) return ReadAction(line);
    throw in_.Wrong("'state', 'action' or a transition");
  }

  void ReadState(std::size_t line) {
    EndRow();
    builder_.BeginState();
    row_offset_ = line;
    const std::uint64_t expected = builder_.states() - 1;
    if (in_.Unsigned("the number of the state") != expected) {
      throw in_.FaultAt(line, fmt::format("expected state {}; states are numbered 0, 1, 2, ..., in "
                                          "this order",
                                          expected));
    }
    if (expected >= header_.states) {
      throw in_.FaultAt(
          line, fmt::format("@nr_states is {}, found a state {}", header_.states, expected));
    }
    actions_ = 0;
    in_.SkipBlanks();
    if (in_.Peek() == '{') throw in_.Wrong("no observation in an MDP");
    state_reward_ = ReadRewards();
    in_.SkipBlanks();
    if (in_.Peek() == '!') throw in_.Wrong("no exit rate in an MDP");
    while (!AtLineEnd()) ReadLabel(expected);
    in_.SkipLine();
  }

  void ReadAction(std::size_t line) {
    EndRow();
    if (builder_.states() == 0) throw in_.FaultAt(line, "expected a state before the first action");
    if (header_.chain && actions_ > 0) {
      throw in_.FaultAt(line, "a DTMC has one action for each state");
    }
    row_offset_ = line;
    const std::string_view name = in_.Word();
    if (name.empty()) throw in_.Wrong("the name of the action");
    if (!action_names_) action_names_ = name != kUnnamedAction && name != fmt::to_string(actions_);
    row_begun_ = true;
    row_reward_ = ReadRewards();
    while (!AtLineEnd()) {
      in_.Word();
      action_names_ = true;
    }
    in_.SkipLine();
  }

  void ReadTransition() {
    if (!row_begun_) BeginUnnamedRow();
    const std::size_t line = in_.offset();
    const std::uint64_t next = in_.Unsigned("a next state");
    if (next >= header_.states) {
      throw in_.FaultAt(line, fmt::format("expected a next state below {} (@nr_states), found {}",
                                          header_.states, next));
    }
    in_.Expect(':');
    builder_.Transition(next, ReadProbability(in_, header_));
    if (!AtLineEnd()) throw in_.Wrong("the end of the line");
    in_.SkipLine();
  }

  void BeginUnnamedRow() {
    if (!header_.chain || builder_.states() == 0) {
      throw in_.Wrong(builder_.states() == 0 ? "'state'" : "'action' before the first transition");
    }
    if (actions_ > 0) throw in_.Wrong("'state'");
    row_begun_ = true;
    row_reward_ = 0;
  }

  void EndRow() {
    if (!row_begun_) return;
    // Adding 0 would turn -0 into 0.
    builder_.EndRow(state_reward_ == 0 ? row_reward_ : state_reward_ + row_reward_);
    row_begun_ = false;
    ++actions_;
  }

  // The reward in the first reward model; 0 if there are none.
  double ReadRewards() {
    if (!in_.Accept('[')) return 0;
    rewards_seen_ = true;
    const double first = ReadValue(in_, header_, "a reward");
    std::size_t count = 1;
    for (; in_.Accept(','); ++count) ReadValue(in_, header_, "a reward");
    in_.Expect(']');
    most_rewards_ = std::max(most_rewards_, count);
    return first;
  }

  void ReadLabel(std::uint64_t state) {
    const std::size_t start = in_.offset();
    std::string_view label = in_.Word();
    if (label.starts_with('"')) {
      in_.MoveTo(start);
      label = in_.Quoted("a label");
    }
    if (label == kInitial) {
      initial_elsewhere_ |= state != 0;
    } else if (!labels_.contains(label)) {
      labels_.emplace(label);
    }
  }

  // Before a line end or a comment.
  bool AtLineEnd() {
    if (in_.AtLineEnd()) return true;
    return in_.Peek() == '/' && in_.Rest().starts_with(kDrnComment);
  }

  void CheckCounts() {
    if (builder_.states() != header_.states) {
      throw in_.Fault(fmt::format("@nr_states is {}, but the file ends after {} states",
                                  header_.states, builder_.states()));
    }
    if (header_.choices && builder_.rows() != *header_.choices) {
      throw in_.Fault(fmt::format("@nr_choices is {}, but the file has {} actions",
                                  *header_.choices, builder_.rows()));
    }
  }

  std::vector<std::string> Dropped() const {
    std::vector<std::string> dropped;
    const std::size_t models = std::max(header_.reward_models.size(), most_rewards_);
    for (std::size_t i = 1; i < models; ++i) {
      const bool named = i < header_.reward_models.size();
      dropped.push_back(named ? fmt::format("reward model '{}'", Shorten(header_.reward_models[i]))
                              : fmt::format("reward model {}", i + 1));
    }
    if (!rewards_seen_) dropped.emplace_back("no rewards: the file has none");
    if (!labels_.empty()) {
      dropped.push_back(fmt::format("{} label{}", labels_.size(), labels_.size() == 1 ? "" : "s"));
    }
    if (initial_elsewhere_) dropped.emplace_back("the initial states");
    if (action_names_) dropped.emplace_back("action names");
    return dropped;
  }

  TextScanner in_;
  DrnHeader header_;
  ModelBuilder builder_;
  std::size_t row_offset_ = 0;  // of the line where the current row or state begins
  bool row_begun_ = false;
  double row_reward_ = 0;
  double state_reward_ = 0;
  std::uint64_t actions_ = 0;  // completed actions of the current state

  bool rewards_seen_ = false;
  std::size_t most_rewards_ = 0;
  std::set<std::string, std::less<>> labels_;
  bool initial_elsewhere_ = false;
  bool action_names_ = false;
};

}  // namespace

LoadedModel ParseDrnModel(std::string_view text, const std::string& name) {
  return DrnParser(text, name).Parse();
}

LoadedModel ReadDrnModel(const std::filesystem::path& path) {
  const MappedFile file(path);
  return ParseDrnModel(file.text(), path.string());
}

std::vector<std::string> WriteDrnModel(const Model& model, const std::filesystem::path& path) {
  TextWriter out(path);
  out.Print(FMT_COMPILE("// Exported by stableaa\n@type: MDP\n@parameters\n\n@reward_models\n"
                        "reward\n@nr_states\n{}\n@nr_choices\n{}\n@model\n"),
            model.states(), model.rows());
  model.VisitColumns([&](const auto columns) {
    for (std::uint64_t state = 0; state < model.states(); ++state) {
      out.Print(FMT_COMPILE("state {}{}\n"), state, state == 0 ? " init" : "");
      const std::uint64_t first = model.state_rows()[state];
      for (std::uint64_t row = first; row < model.state_rows()[state + 1]; ++row) {
        out.Print(FMT_COMPILE("\taction {} [{}]\n"), row - first, model.rewards()[row]);
        for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
             ++k) {
          out.Print(FMT_COMPILE("\t\t{} : {}\n"), columns[k], model.probabilities()[k]);
        }
      }
    }
  });
  out.Commit();
  return WithoutDiscount(model);
}

}  // namespace stableaa
