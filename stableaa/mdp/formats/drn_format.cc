#include "stableaa/mdp/formats/drn_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "stableaa/base/files/mapped_file.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/mdp/formats/annotations_builder.h"
#include "stableaa/mdp/formats/text_scanner.h"
#include "stableaa/mdp/formats/text_writer.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

constexpr std::string_view kDrnComment = "//";
constexpr std::string_view kUnnamedAction = "__NOLABEL__";

struct DrnHeader {
  bool chain = false;  // DTMC
  std::map<std::string, double, std::less<>> placeholders;
  std::vector<std::string> reward_models;
  std::optional<std::size_t> unnamed_reward_model;  // its place among them, if there may be one
  std::uint64_t states = 0;
  std::optional<std::uint64_t> choices;
};

// Skips blanks; true before a comment, a line end or at the end of the text.
bool AtDrnLineEnd(TextScanner& in) {
  return in.AtLineEnd() || (in.Peek() == '/' && in.Rest().starts_with(kDrnComment));
}

// Expects nothing but a comment in the rest of the line.
void ExpectDrnLineEnd(TextScanner& in) {
  if (!AtDrnLineEnd(in)) throw in.Wrong("the end of the line");
  in.SkipLine();
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
  const char first = in.Peek();
  if (first == '[' || first == '(') throw in.Wrong("a probability, no interval and no expression");
  return first == '$' ? ReadValue(in, header, "a probability") : in.Probability();
}

Error TooManyRewards(const TextScanner& in, std::size_t offset) {
  return in.FaultAt(offset,
                    fmt::format("expected at most {} reward models", kMostRewardStructures));
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
        ExpectDrnLineEnd(in_);
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
      BeginSection();
      if (!AtDrnLineEnd(in_)) throw in_.Fault("parametric models are not supported");
      in_.SkipLine();
    } else if (section == "@reward_models") {
      ReadRewardModels();
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
    const std::size_t start = in_.offset();
    const std::string_view type = RestWithoutComment();
    header_.chain = type == "DTMC";
    if (header_.chain || type == "MDP") return;
    throw in_.FaultAt(
        start, fmt::format("expected a model of type MDP or DTMC, found '{}'", Shorten(type)));
  }

  void ReadValueType() {
    in_.Word();
    const std::size_t start = in_.offset();
    const std::string_view type = RestWithoutComment();
    if (type == "double" || type == "rational") return;
    throw in_.FaultAt(start, fmt::format("expected values of type double or rational, found '{}'",
                                         Shorten(type)));
  }

  // The rest of the line, trimmed.
  std::string_view RestWithoutComment() {
    std::string_view rest = in_.RestOfLine();
    rest = rest.substr(0, rest.find(kDrnComment));
    while (rest.ends_with(' ') || rest.ends_with('\t')) rest.remove_suffix(1);
    return rest;
  }

  void ReadPlaceholders() {
    BeginSection();
    while (in_.SkipToContent(kDrnComment) && in_.Peek() == '$') {
      const std::size_t start = in_.offset();
      std::string_view name = in_.Word().substr(1);
      name = name.substr(0, name.find(':'));
      in_.MoveTo(start + 1 + name.size());
      in_.Expect(':');
      const double value = ReadValue(in_, header_, "a number");
      ExpectDrnLineEnd(in_);
      if (!header_.placeholders.emplace(name, value).second) {
        throw in_.FaultAt(start, fmt::format("${} is defined twice", Shorten(name)));
      }
    }
  }

  // Storm writes a blank after each name, and nothing else for a reward model without one. A blank
  // too many may stand for such a model: whether it does, the number of rewards tells at the end.
  void ReadRewardModels() {
    BeginSection();
    for (std::size_t blanks = 0;; blanks = 1) {
      const std::size_t before = in_.offset();
      const bool ended = AtDrnLineEnd(in_);
      const std::size_t start = in_.offset();
      if (start - before > blanks && !header_.unnamed_reward_model) {
        header_.unnamed_reward_model = header_.reward_models.size();
      }
      if (ended) break;
      std::string name(in_.Word());
      if (std::ranges::find(header_.reward_models, name) != header_.reward_models.end()) {
        throw in_.FaultAt(start, fmt::format("reward model '{}' is named twice", Shorten(name)));
      }
      if (header_.reward_models.size() == kMostRewardStructures) throw TooManyRewards(in_, start);
      header_.reward_models.push_back(std::move(name));
    }
    in_.SkipLine();
  }

  // Goes to the line after the section's name.
  void BeginSection() {
    in_.Word();
    ExpectDrnLineEnd(in_);
  }
  std::uint64_t SectionNumber(const char* what) {
    BeginSection();
    const std::uint64_t number = in_.Unsigned(what);
    ExpectDrnLineEnd(in_);
    return number;
  }

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
    LoadedModel loaded = {builder_.Finish(std::nullopt), {}};
    if (!rewards_seen_) loaded.dropped.emplace_back("no rewards: the file has none");
    labels_.Finish(loaded.annotations);
    loaded.annotations.rewards = rewards_.Finish(loaded.model, RewardModelNames());
    loaded.annotations.actions = action_names_.Finish();
    return loaded;
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
    if (NumberAfter('{')) throw in_.Wrong("no observation in an MDP");
    if (NumberAfter('!')) throw in_.Wrong("no exit rate in an MDP");
    ReadRewards(state_rewards_);
    while (!AtDrnLineEnd(in_)) ReadLabel(expected);
    in_.SkipLine();
  }

  void ReadAction(std::size_t line) {
    EndRow();
    if (builder_.states() == 0) throw in_.FaultAt(line, "expected a state before the first action");
    if (header_.chain && actions_ > 0) {
      throw in_.FaultAt(line, "a DTMC has one action for each state");
    }
    row_offset_ = line;
    const std::string_view name = ReadActionName();
    action_names_.AddRow(IsOwnNumber(name) || name == kUnnamedAction ? std::string_view() : name);
    row_begun_ = true;
    ReadRewards(row_rewards_);
    ExpectDrnLineEnd(in_);
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
    ExpectDrnLineEnd(in_);
  }

  void BeginUnnamedRow() {
    if (!header_.chain || builder_.states() == 0) {
      throw in_.Wrong(builder_.states() == 0 ? "'state'" : "'action' before the first transition");
    }
    if (actions_ > 0) throw in_.Wrong("'state'");
    row_begun_ = true;
    row_rewards_.clear();
    action_names_.AddRow({});
  }

  void EndRow() {
    if (!row_begun_) return;
    builder_.EndRow(RowReward(0));
    const std::size_t structures = std::max(state_rewards_.size(), row_rewards_.size());
    for (std::size_t i = 1; i < structures; ++i) rewards_.Set(i, FiniteRowReward(i));
    rewards_.EndRow();
    row_begun_ = false;
    ++actions_;
  }

  // The state's plus the action's.
  double RowReward(std::size_t structure) const {
    const double of_action = structure < row_rewards_.size() ? row_rewards_[structure] : 0;
    const double of_state = structure < state_rewards_.size() ? state_rewards_[structure] : 0;
    // Adding 0 would turn -0 into 0.
    return of_state == 0 ? of_action : of_state + of_action;
  }

  // ModelBuilder checks only its own rewards.
  double FiniteRowReward(std::size_t structure) const {
    const double reward = RowReward(structure);
    if (std::isfinite(reward)) return reward;
    throw in_.FaultAt(row_offset_,
                      fmt::format("state {}, action {}: expected a finite reward, found {}",
                                  builder_.states() - 1, actions_, reward));
  }

  // One for each reward model, or for the first few, or none.
  void ReadRewards(std::vector<double>& rewards) {
    rewards.clear();
    if (!in_.Accept('[')) return;
    rewards_seen_ = true;
    const std::size_t start = in_.offset();
    do {
      if (rewards.size() == kMostRewardStructures) throw TooManyRewards(in_, start);
      rewards.push_back(ReadValue(in_, header_, "a reward"));
    } while (in_.Accept(','));
    in_.Expect(']');
    most_rewards_ = std::max(most_rewards_, rewards.size());
  }

  // Skips blanks; true before `mark` and then a number.
  bool NumberAfter(char mark) {
    in_.SkipBlanks();
    if (in_.Peek() != mark) return false;
    const std::string_view rest = in_.Rest();
    return rest.size() > 1 && std::string_view("0123456789.-+$").find(rest[1]) != rest.npos;
  }

  void ReadLabel(std::uint64_t state) {
    // Rewards and labels in the wrong order; Storm refuses that too.
    if (in_.Peek() == '[') throw in_.Wrong("a label");
    const bool quoted = in_.Peek() == '"';
    const std::size_t start = in_.offset();
    const std::string_view label = quoted ? in_.Quoted("a label") : in_.Word();
    if (label.empty()) {
      in_.MoveTo(start);
      throw in_.Wrong("a label that is not empty");
    }
    labels_.Add(label, state);
  }

  // A word; or several, as Storm writes a name with blanks: up to the rewards, a comment or the end
  // of the line.
  std::string_view ReadActionName() {
    std::string_view name = in_.Word();
    if (name.empty()) throw in_.Wrong("the name of the action");
    while (!AtDrnLineEnd(in_) && in_.Peek() != '[') {
      const std::string_view word = in_.Word();
      name = {name.data(), word.data() + word.size()};
    }
    return name;
  }

  bool IsOwnNumber(std::string_view name) const {
    if (name.size() == 1) return static_cast<std::uint64_t>(name[0] - '0') == actions_;
    return name[0] >= '1' && name[0] <= '9' && name == fmt::to_string(actions_);
  }

  std::vector<std::string> RewardModelNames() const {
    std::vector<std::string> names = header_.reward_models;
    const auto unused = [&](std::string name) {
      while (std::ranges::find(names, name) != names.end()) name += '_';
      return name;
    };
    if (header_.unnamed_reward_model && names.size() + 1 == most_rewards_) {
      names.insert(names.begin() + static_cast<std::ptrdiff_t>(*header_.unnamed_reward_model),
                   unused("reward"));
    }
    while (names.size() < most_rewards_) {
      names.push_back(unused(fmt::format("rew{}", names.size())));
    }
    return names;
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

  TextScanner in_;
  DrnHeader header_;
  ModelBuilder builder_;
  std::size_t row_offset_ = 0;  // of the line where the current row or state begins
  bool row_begun_ = false;
  std::vector<double> row_rewards_;    // of the current action, by reward model
  std::vector<double> state_rewards_;  // of the current state
  std::uint64_t actions_ = 0;          // completed actions of the current state

  bool rewards_seen_ = false;
  std::size_t most_rewards_ = 0;
  LabelBuilder labels_;
  RewardBuilder rewards_;
  ActionNameBuilder action_names_;
};

// Writer.

bool HasBlank(std::string_view text) { return text.find_first_of(" \t\r") != text.npos; }

// A label as the file has it.
std::string DrnLabel(std::string_view name) {
  // Storm's reader takes these for something else than a label.
  const bool odd = std::string_view("[{!").find(name[0]) != std::string_view::npos;
  const bool quotes = odd || HasBlank(name) || name.starts_with(kDrnComment);
  return quotes ? fmt::format("\"{}\"", name) : std::string(name);
}

// Prints the states and actions, and lists what it has to leave out.
class DrnWriter {
 public:
  DrnWriter(const Model& model, const ModelAnnotations& annotations, TextWriter& out)
      : model_(model),
        annotations_(annotations),
        labels_(annotations, model.states()),
        named_(AnyHeldName()),
        out_(out),
        dropped_(WithoutDiscount(model)) {}

  std::vector<std::string> Write() {
    const std::string names = RewardModelNames();
    FormatLabels();
    out_.Print(FMT_COMPILE("// Exported by stableaa\n@type: MDP\n@parameters\n\n@reward_models\n"
                           "{}\n@nr_states\n{}\n@nr_choices\n{}\n@model\n"),
               names, model_.states(), model_.rows());
    model_.VisitColumns([&](const auto columns) { WriteStates(columns); });
    if (action_names_left_out_ > 0) {
      dropped_.push_back(fmt::format("the names of {} action{}: blanks or a number",
                                     action_names_left_out_,
                                     action_names_left_out_ == 1 ? "" : "s"));
    }
    return std::move(dropped_);
  }

 private:
  std::string RewardModelNames() {
    if (annotations_.rewards.empty()) return "reward";
    std::vector<std::string> names;
    std::string line;
    for (const RewardStructure& structure : annotations_.rewards) {
      std::string name = structure.name;
      std::ranges::replace_if(
          name,
          [](char c) {
            return HasBlank({&c, 1});
          },
          '_');
      if (name.starts_with(kDrnComment)) name[0] = '_';
      while (std::ranges::find(names, name) != names.end()) name += '_';
      if (name != structure.name) {
        dropped_.push_back(fmt::format("the name of reward structure '{}', now {}",
                                       Shorten(structure.name), Shorten(name)));
      }
      line += fmt::format("{}{}", line.empty() ? "" : " ", name);
      names.push_back(std::move(name));
    }
    return line;
  }

  void FormatLabels() {
    for (const std::string_view name : labels_.names()) {
      const bool holds = name.find('"') == name.npos;
      // An empty text for a label that is left out.
      label_texts_.push_back(holds ? fmt::format(" {}", DrnLabel(name)) : "");
      if (!holds) {
        dropped_.push_back(fmt::format("label '{}', which has a quote", Shorten(name)));
      }
    }
    for (const StateLabel& label : annotations_.labels) {
      if (!label.states.empty()) continue;
      dropped_.push_back(fmt::format("label '{}', which no state has", Shorten(label.name)));
    }
  }

  template <typename Columns>
  void WriteStates(const Columns& columns) {
    for (std::uint64_t state = 0; state < model_.states(); ++state) {
      out_.Print(FMT_COMPILE("state {}"), state);
      for (const std::uint32_t label : labels_.Of(state)) {
        out_.Print(FMT_COMPILE("{}"), label_texts_[label]);
      }
      out_.Print(FMT_COMPILE("\n"));
      const std::uint64_t first = model_.state_rows()[state];
      for (std::uint64_t row = first; row < model_.state_rows()[state + 1]; ++row) {
        WriteAction(row, row - first);
        for (std::uint64_t k = model_.row_transitions()[row]; k < model_.row_transitions()[row + 1];
             ++k) {
          out_.Print(FMT_COMPILE("\t\t{} : {}\n"), columns[k], model_.probabilities()[k]);
        }
      }
    }
  }

  // The name of a row that has one which the format can hold; otherwise empty.
  std::string_view HeldName(std::uint64_t row, std::uint64_t action) const {
    const std::string_view name = annotations_.actions.Of(row);
    const bool held = !HasBlank(name) && name != kUnnamedAction && name != fmt::to_string(action);
    return held ? name : std::string_view();
  }

  // True if a row has such a name.
  bool AnyHeldName() const {
    if (annotations_.actions.names.empty()) return false;
    for (std::uint64_t state = 0; state < model_.states(); ++state) {
      const std::uint64_t first = model_.state_rows()[state];
      for (std::uint64_t row = first; row < model_.state_rows()[state + 1]; ++row) {
        if (!HeldName(row, row - first).empty()) return true;
      }
    }
    return false;
  }

  void WriteAction(std::uint64_t row, std::uint64_t action) {
    const std::string_view name =
        annotations_.actions.names.empty() ? std::string_view() : HeldName(row, action);
    if (name.empty() && !annotations_.actions.Of(row).empty()) ++action_names_left_out_;
    if (named_) {
      out_.Print(FMT_COMPILE("\taction {} [{}"), name.empty() ? kUnnamedAction : name,
                 model_.rewards()[row]);
    } else {
      out_.Print(FMT_COMPILE("\taction {} [{}"), action, model_.rewards()[row]);
    }
    for (std::size_t i = 1; i < annotations_.rewards.size(); ++i) {
      out_.Print(FMT_COMPILE(", {}"), annotations_.rewards[i].rewards[row]);
    }
    out_.Print(FMT_COMPILE("]\n"));
  }

  const Model& model_;
  const ModelAnnotations& annotations_;
  const LabelsByState labels_;
  const bool named_;  // actions are called by their names; otherwise by their numbers
  std::vector<std::string> label_texts_;
  TextWriter& out_;
  std::vector<std::string> dropped_;
  std::uint64_t action_names_left_out_ = 0;
};

}  // namespace

LoadedModel ParseDrnModel(std::string_view text, const std::string& name) {
  return DrnParser(text, name).Parse();
}

LoadedModel ReadDrnModel(const std::filesystem::path& path) {
  const MappedFile file(path);
  return ParseDrnModel(file.text(), path.string());
}

std::vector<std::string> WriteDrnModel(const Model& model, const std::filesystem::path& path,
                                       const ModelAnnotations& annotations) {
  TextWriter out(path);
  std::vector<std::string> dropped = DrnWriter(model, annotations, out).Write();
  out.Commit();
  return dropped;
}

}  // namespace stableaa
