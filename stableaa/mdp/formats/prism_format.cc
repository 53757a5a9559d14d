#include "stableaa/mdp/formats/prism_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include "stableaa/base/files/mapped_file.h"
#include "stableaa/core/error.h"
#include "stableaa/mdp/formats/expected_reward.h"
#include "stableaa/mdp/formats/text_scanner.h"
#include "stableaa/mdp/formats/text_writer.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrismComment = "#";

// What the start of the .tra says about it and the files beside it.
struct PrismLayout {
  bool choices;  // lines have a choice: an MDP
  bool counts;   // headers have counts: PRISM's variant, not Storm's
};

// The numbers in a file's header. They are only compared; nothing is reserved for them.
struct Counts {
  std::uint64_t states = 0;
  std::uint64_t choices = 0;  // of states if lines have no choice
  std::uint64_t lines = 0;
};

// Throws unless the header's `count` equals `found`.
void CheckCount(const TextScanner& in, std::size_t header, const char* what, std::uint64_t count,
                std::uint64_t found) {
  if (count == found) return;
  throw in.FaultAt(header, fmt::format("the header says {} {}, found {}", count, what, found));
}

struct RowNumber {
  std::uint64_t state = 0;
  std::uint64_t choice = 0;

  bool operator==(const RowNumber&) const = default;
  bool operator<(const RowNumber& other) const {
    return state != other.state ? state < other.state : choice < other.choice;
  }
};

// Reads `state [choice]`; the choice is 0 if lines have none.
RowNumber ReadRowNumber(TextScanner& in, bool choices) {
  RowNumber row;
  row.state = in.Unsigned("a state");
  if (choices) row.choice = in.Unsigned("a choice");
  return row;
}

std::string Describe(const RowNumber& row, bool choices) {
  return choices ? fmt::format("state {}, choice {}", row.state, row.choice)
                 : fmt::format("state {}", row.state);
}

// Supplies the state rewards, state by state.
class StateRewards {
 public:
  StateRewards(std::string_view text, const std::string& name, bool counts) : in_(text, name) {
    if (counts) {
      if (!in_.SkipToContent(kPrismComment)) throw in_.Wrong("the numbers of states and rewards");
      header_ = in_.offset();
      expected_.states = in_.Unsigned("the number of states");
      expected_.lines = in_.Unsigned("the number of rewards");
      in_.ExpectLineEnd();
    }
    counts_ = counts;
    Advance();
  }

  // `state` increases by one from call to call.
  double Of(std::uint64_t state) {
    if (at_end_ || state_ != state) return 0;
    const double reward = reward_;
    Advance();
    if (!at_end_ && state_ <= state) {
      throw in_.FaultAt(line_, fmt::format("expected a state above {}, found {}; the states ascend",
                                           state, state_));
    }
    return reward;
  }

  void Finish(std::uint64_t states) const {
    if (!at_end_) {
      throw in_.FaultAt(line_, fmt::format("expected a state below {}, found {}", states, state_));
    }
    if (!counts_) return;
    CheckCount(in_, header_, "states", expected_.states, states);
    CheckCount(in_, header_, "rewards", expected_.lines, lines_);
  }

 private:
  void Advance() {
    at_end_ = !in_.SkipToContent(kPrismComment);
    if (at_end_) return;
    line_ = in_.offset();
    state_ = in_.Unsigned("a state");
    reward_ = in_.NumberOrQuotient("a reward");
    in_.ExpectLineEnd();
    ++lines_;
  }

  TextScanner in_;
  bool counts_ = false;
  Counts expected_;
  std::size_t header_ = 0;
  bool at_end_ = false;
  std::size_t line_ = 0;  // of the entry read last and not yet requested
  std::uint64_t state_ = 0;
  double reward_ = 0;
  std::uint64_t lines_ = 0;
};

struct Transition {
  std::uint64_t next;
  double probability;
  double reward;
};

// Supplies the transition rewards, row by row.
class TransitionRewards {
 public:
  TransitionRewards(std::string_view text, const std::string& name, PrismLayout layout)
      : in_(text, name), layout_(layout) {
    ReadHeader();
    Advance();
  }

  // Sets the rewards of the row's transitions. `number` ascends from call to call.
  void Assign(const RowNumber& number, std::span<Transition> row) {
    if (at_end_ || number < number_) return;
    if (number_ < number) throw NoTransition(line_, number_, reward_.next);
    rewards_.clear();
    do {
      rewards_.push_back(reward_);
      Advance();
    } while (!at_end_ && number_ == number);

    const auto next = [](const auto& entry) { return entry.next; };
    if (!std::ranges::equal(row, rewards_, {}, next, next)) return AssignByNext(number, row);
    for (std::size_t i = 0; i < row.size(); ++i) row[i].reward = rewards_[i].reward;
  }

  void Finish(const Counts& counts) const {
    if (!at_end_) throw NoTransition(line_, number_, reward_.next);
    if (!layout_.counts) return;
    CheckCount(in_, header_, "states", expected_.states, counts.states);
    CheckCount(in_, header_, "choices", expected_.choices, counts.choices);
    CheckCount(in_, header_, "rewards", expected_.lines, lines_);
  }

 private:
  struct Reward {
    std::uint64_t next = 0;
    double reward = 0;
    std::size_t line = 0;
    bool used = false;
  };

  void ReadHeader() {
    const bool content = in_.SkipToContent(kPrismComment);
    header_ = in_.offset();
    if (!layout_.counts) {
      if (content && !in_.AcceptWord("mdp")) in_.AcceptWord("dtmc");
      return;
    }
    expected_.states = in_.Unsigned("the number of states");
    expected_.choices = layout_.choices ? in_.Unsigned("the number of choices") : expected_.states;
    expected_.lines = in_.Unsigned("the number of rewards");
    in_.ExpectLineEnd();
  }

  void Advance() {
    at_end_ = !in_.SkipToContent(kPrismComment);
    if (at_end_) return;
    line_ = in_.offset();
    number_ = ReadRowNumber(in_, layout_.choices);
    reward_.next = in_.Unsigned("a next state");
    reward_.reward = in_.NumberOrQuotient("a reward");
    reward_.line = line_;
    if (!in_.AtLineEnd()) in_.Word();  // an action name
    in_.ExpectLineEnd();
    ++lines_;
  }

  // For rewards of only some transitions, or in a different order.
  void AssignByNext(const RowNumber& number, std::span<Transition> row) {
    std::ranges::stable_sort(rewards_, {}, &Reward::next);
    for (std::size_t i = 1; i < rewards_.size(); ++i) {
      if (rewards_[i - 1].next == rewards_[i].next) {
        throw in_.FaultAt(rewards_[i].line,
                          fmt::format("{}: the reward of next state {} is given twice",
                                      Describe(number, layout_.choices), rewards_[i].next));
      }
    }
    for (Transition& transition : row) {
      const auto reward = std::ranges::lower_bound(rewards_, transition.next, {}, &Reward::next);
      if (reward == rewards_.end() || reward->next != transition.next) continue;
      transition.reward = reward->reward;
      reward->used = true;
    }
    for (const Reward& reward : rewards_) {
      if (!reward.used) throw NoTransition(reward.line, number, reward.next);
    }
  }

  Error NoTransition(std::size_t line, const RowNumber& number, std::uint64_t next) const {
    return in_.FaultAt(line,
                       fmt::format("{}: no transition leads to state {}, or the lines are not "
                                   "ordered by state and choice",
                                   Describe(number, layout_.choices), next));
  }

  TextScanner in_;
  PrismLayout layout_;
  Counts expected_;
  std::size_t header_ = 0;
  bool at_end_ = false;
  std::size_t line_ = 0;  // of the entry read last and not yet assigned
  RowNumber number_;
  Reward reward_;
  std::uint64_t lines_ = 0;
  std::vector<Reward> rewards_;  // of the row
};

// Reads the .tra and gets each row's rewards from the other files.
class PrismParser {
 public:
  PrismParser(const PrismTexts& texts, const std::string& stem)
      : in_(texts.transitions, fmt::format("{}.tra", stem)),
        builder_([this] { return in_.WhereAt(row_offset_); }) {
    layout_ = ReadHeader();
    if (texts.state_rewards) {
      state_rewards_.emplace(*texts.state_rewards, fmt::format("{}.srew", stem), layout_.counts);
    }
    if (texts.transition_rewards) {
      transition_rewards_.emplace(*texts.transition_rewards, fmt::format("{}.trew", stem), layout_);
    }
  }

  LoadedModel Parse() {
    while (in_.SkipToContent(kPrismComment)) ReadLine();
    if (!row_.empty()) EndRow();
    CheckStates();
    CheckCounts();
    LoadedModel loaded = {builder_.Finish(std::nullopt), {}};
    if (action_names_) loaded.dropped.emplace_back("action names");
    if (!state_rewards_ && !transition_rewards_) {
      loaded.dropped.emplace_back("no rewards: no .srew or .trew beside it");
    }
    return loaded;
  }

 private:
  PrismLayout ReadHeader() {
    const char* what = "the numbers of states, choices and transitions";
    if (!in_.SkipToContent(kPrismComment)) throw in_.Wrong(what);
    header_ = in_.offset();
    if (in_.AcceptWord("mdp")) return {.choices = true, .counts = false};
    if (in_.AcceptWord("dtmc")) return {.choices = false, .counts = false};
    expected_.states = in_.Unsigned(what);
    expected_.lines = in_.Unsigned("the number of transitions");
    const bool choices = !in_.AtLineEnd();
    expected_.choices = expected_.states;
    if (choices) {
      expected_.choices = expected_.lines;
      expected_.lines = in_.Unsigned("the number of transitions");
    }
    in_.ExpectLineEnd();
    return {.choices = choices, .counts = true};
  }

  void ReadLine() {
    const std::size_t line = in_.offset();
    const RowNumber number = ReadRowNumber(in_, layout_.choices);
    if (row_.empty() || number != number_) BeginRow(number, line);
    const std::uint64_t next = in_.Unsigned("a next state");
    if (next > largest_next_) {
      largest_next_ = next;
      largest_next_offset_ = line;
      if (layout_.counts) CheckNext(expected_.states);
    }
    row_.push_back({next, in_.Probability(), 0});
    if (!in_.AtLineEnd()) {
      in_.Word();
      action_names_ = true;
    }
    in_.ExpectLineEnd();
    ++lines_;
  }

  void BeginRow(const RowNumber& number, std::size_t line) {
    const bool first = row_.empty();
    if (!first) EndRow();
    const bool new_state = first || number.state != number_.state;
    const std::uint64_t state = builder_.states();
    if (new_state && number.state > state) {
      throw in_.FaultAt(line, fmt::format("found state {}, but state {} has no transition (a "
                                          "deadlock); give it an action, such as a loop",
                                          number.state, state));
    }
    if (new_state && number.state < state) {
      throw in_.FaultAt(line,
                        fmt::format("found state {} after state {}; the lines must be ordered "
                                    "by state and choice",
                                    number.state, number_.state));
    }
    const std::uint64_t choice = new_state ? 0 : number_.choice + 1;
    if (number.choice != choice) {
      throw in_.FaultAt(line,
                        fmt::format("state {}: expected choice {}, found {}; the choices of a "
                                    "state are numbered 0, 1, 2, ..., in this order",
                                    number.state, choice, number.choice));
    }
    number_ = number;
    row_offset_ = line;
    if (!new_state) return;
    builder_.BeginState();
    state_reward_ = state_rewards_ ? state_rewards_->Of(number.state) : 0;
  }

  void EndRow() {
    if (transition_rewards_) transition_rewards_->Assign(number_, row_);
    ExpectedReward reward;
    for (const Transition& transition : row_) {
      builder_.Transition(transition.next, transition.probability);
      reward.Add(transition.probability, transition.reward);
    }
    const double expected = reward.Take();
    // Adding 0 would turn -0 into 0.
    builder_.EndRow(state_reward_ == 0 ? expected : expected + state_reward_);
    row_.clear();
  }

  void CheckNext(std::uint64_t states) const {
    if (largest_next_ < states) return;
    throw in_.FaultAt(largest_next_offset_, fmt::format("expected a next state below {}, found {}",
                                                        states, largest_next_));
  }

  // Before Finish, whose messages have no line numbers.
  void CheckStates() const {
    if (layout_.counts && builder_.states() < expected_.states) {
      throw in_.Fault(fmt::format("the header says {} states, but state {} has no transition",
                                  expected_.states, builder_.states()));
    }
    if (builder_.states() > 0) CheckNext(builder_.states());
  }

  void CheckCounts() const {
    const Counts found = {builder_.states(), builder_.rows(), lines_};
    if (layout_.counts) {
      CheckCount(in_, header_, "states", expected_.states, found.states);
      CheckCount(in_, header_, "choices", expected_.choices, found.choices);
      CheckCount(in_, header_, "transitions", expected_.lines, found.lines);
    }
    if (state_rewards_) state_rewards_->Finish(found.states);
    if (transition_rewards_) transition_rewards_->Finish(found);
  }

  TextScanner in_;
  PrismLayout layout_ = {};
  Counts expected_;
  std::size_t header_ = 0;
  std::optional<StateRewards> state_rewards_;
  std::optional<TransitionRewards> transition_rewards_;

  ModelBuilder builder_;
  RowNumber number_;             // of the current row
  std::size_t row_offset_ = 0;   // where it begins
  std::vector<Transition> row_;  // empty before the first
  double state_reward_ = 0;      // of the current state
  std::uint64_t largest_next_ = 0;
  std::size_t largest_next_offset_ = 0;
  std::uint64_t lines_ = 0;
  bool action_names_ = false;
};

// The file beside x.tra with another extension, upper case for x.TRA.
fs::path Beside(fs::path path, std::string ending) {
  const std::string own = path.extension().string();
  const auto upper = [](unsigned char c) { return std::isupper(c) != 0; };
  if (std::ranges::any_of(own, upper)) {
    for (char& c : ending) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return path.replace_extension(ending);
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Rows with this reward need no line: readers assume it.
bool IsZero(double reward) { return std::bit_cast<std::uint64_t>(reward) == 0; }

// Calls print(state, action, row, k) for each transition k.
template <typename Print>
void VisitTransitions(const Model& model, const Print& print) {
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    const std::uint64_t first = model.state_rows()[state];
    for (std::uint64_t row = first; row < model.state_rows()[state + 1]; ++row) {
      for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
           ++k) {
        print(state, row - first, row, k);
      }
    }
  }
}

void WriteTransitionRewards(const Model& model, TextWriter& out) {
  std::uint64_t lines = 0;
  for (std::uint64_t row = 0; row < model.rows(); ++row) {
    if (IsZero(model.rewards()[row])) continue;
    lines += model.row_transitions()[row + 1] - model.row_transitions()[row];
  }
  out.Print(FMT_COMPILE("{} {} {}\n"), model.states(), model.rows(), lines);
  model.VisitColumns([&](const auto columns) {
    VisitTransitions(model, [&](auto state, auto action, auto row, auto k) {
      if (IsZero(model.rewards()[row])) return;
      out.Print(FMT_COMPILE("{} {} {} {}\n"), state, action, columns[k], model.rewards()[row]);
    });
  });
}

void WriteTransitions(const Model& model, TextWriter& out) {
  out.Print(FMT_COMPILE("{} {} {}\n"), model.states(), model.rows(), model.transitions());
  model.VisitColumns([&](const auto columns) {
    VisitTransitions(model, [&](auto state, auto action, auto, auto k) {
      out.Print(FMT_COMPILE("{} {} {} {}\n"), state, action, columns[k], model.probabilities()[k]);
    });
  });
}

}  // namespace

LoadedModel ParsePrismModel(const PrismTexts& texts, const std::string& stem) {
  return PrismParser(texts, stem).Parse();
}

LoadedModel ReadPrismModel(const fs::path& path) {
  const MappedFile transitions(path);
  PrismTexts texts = {
      .transitions = transitions.text(), .state_rewards = {}, .transition_rewards = {}};
  std::optional<MappedFile> state_rewards;
  std::optional<MappedFile> transition_rewards;
  if (const fs::path beside = Beside(path, ".srew"); Exists(beside)) {
    texts.state_rewards = state_rewards.emplace(beside).text();
  }
  if (const fs::path beside = Beside(path, ".trew"); Exists(beside)) {
    texts.transition_rewards = transition_rewards.emplace(beside).text();
  }
  LoadedModel loaded = ParsePrismModel(texts, fs::path(path).replace_extension().string());
  for (const auto& [what, ending] : {std::pair("state names", ".sta"), {"labels", ".lab"}}) {
    const fs::path beside = Beside(path, ending);
    if (!Exists(beside)) continue;
    loaded.dropped.push_back(fmt::format("{} in {}", what, beside.filename().string()));
  }
  return loaded;
}

std::vector<std::string> WritePrismModel(const Model& model, const fs::path& path) {
  if (const fs::path beside = Beside(path, ".srew"); Exists(beside)) {
    throw BadInput(
        fmt::format("cannot write {}: {} lies beside it and would be read with it; move it away or "
                    "choose another name",
                    path.string(), beside.filename().string()));
  }
  TextWriter rewards(Beside(path, ".trew"));
  TextWriter transitions(path);
  WriteTransitionRewards(model, rewards);
  WriteTransitions(model, transitions);
  rewards.Commit();
  transitions.Commit();
  return WithoutDiscount(model);
}

}  // namespace stableaa
