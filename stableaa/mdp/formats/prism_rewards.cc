#include "stableaa/mdp/formats/prism_rewards.h"

#include <fmt/format.h>

#include <algorithm>

namespace stableaa {
namespace {

std::string Describe(const PrismRow& row, bool choices) {
  return choices ? fmt::format("state {}, choice {}", row.state, row.choice)
                 : fmt::format("state {}", row.state);
}

}  // namespace

void CheckPrismCount(const TextScanner& in, std::size_t header, const char* what,
                     std::uint64_t count, std::uint64_t found) {
  if (count == found) return;
  throw in.FaultAt(header, fmt::format("the header says {} {}, found {}", count, what, found));
}

PrismRow ReadPrismRow(TextScanner& in, bool choices) {
  PrismRow row;
  row.state = in.Unsigned("a state");
  if (choices) row.choice = in.Unsigned("a choice");
  return row;
}

std::string_view PrismRewardName(std::string_view text) {
  for (TextScanner in(text, ""); in.Accept('#');) {
    std::string_view comment = in.RestOfLine();
    // Some versions of PRISM write a colon.
    for (const std::string_view start : {"Reward structure \"", "Reward structure: \""}) {
      if (!comment.starts_with(start) || !comment.ends_with('"')) continue;
      comment.remove_prefix(start.size());
      return comment.substr(0, comment.find('"'));
    }
  }
  return {};
}

PrismStateRewards::PrismStateRewards(std::string_view text, const std::string& name, bool counts)
    : in_(text, name), counts_(counts) {
  if (counts) {
    if (!in_.SkipToContent(kPrismComment)) throw in_.Wrong("the numbers of states and rewards");
    header_ = in_.offset();
    expected_.states = in_.Unsigned("the number of states");
    expected_.lines = in_.Unsigned("the number of rewards");
    in_.ExpectLineEnd();
  }
  Advance();
}

double PrismStateRewards::Of(std::uint64_t state) {
  if (at_end_ || state_ != state) return 0;
  const double reward = reward_;
  Advance();
  if (!at_end_ && state_ <= state) {
    throw in_.FaultAt(line_, fmt::format("expected a state above {}, found {}; the states ascend",
                                         state, state_));
  }
  return reward;
}

void PrismStateRewards::Finish(std::uint64_t states) const {
  if (!at_end_) {
    throw in_.FaultAt(line_, fmt::format("expected a state below {}, found {}", states, state_));
  }
  if (!counts_) return;
  CheckPrismCount(in_, header_, "states", expected_.states, states);
  CheckPrismCount(in_, header_, "rewards", expected_.lines, lines_);
}

void PrismStateRewards::Advance() {
  at_end_ = !in_.SkipToContent(kPrismComment);
  if (at_end_) return;
  line_ = in_.offset();
  state_ = in_.Unsigned("a state");
  reward_ = in_.NumberOrQuotient("a reward");
  in_.ExpectLineEnd();
  ++lines_;
}

PrismTransitionRewards::PrismTransitionRewards(std::string_view text, const std::string& name,
                                               PrismLayout layout)
    : in_(text, name), layout_(layout) {
  ReadHeader();
  Advance();
}

void PrismTransitionRewards::Assign(const PrismRow& number, std::span<PrismTransition> row) {
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

void PrismTransitionRewards::Finish(const PrismCounts& counts) const {
  if (!at_end_) throw NoTransition(line_, number_, reward_.next);
  if (!layout_.counts) return;
  CheckPrismCount(in_, header_, "states", expected_.states, counts.states);
  CheckPrismCount(in_, header_, "choices", expected_.choices, counts.choices);
  CheckPrismCount(in_, header_, "rewards", expected_.lines, lines_);
}

void PrismTransitionRewards::ReadHeader() {
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

void PrismTransitionRewards::Advance() {
  at_end_ = !in_.SkipToContent(kPrismComment);
  if (at_end_) return;
  line_ = in_.offset();
  number_ = ReadPrismRow(in_, layout_.choices);
  reward_.next = in_.Unsigned("a next state");
  reward_.reward = in_.NumberOrQuotient("a reward");
  reward_.line = line_;
  if (!in_.AtLineEnd()) in_.Word();  // an action name
  in_.ExpectLineEnd();
  ++lines_;
}

// For rewards of only some transitions, or in a different order.
void PrismTransitionRewards::AssignByNext(const PrismRow& number, std::span<PrismTransition> row) {
  std::ranges::stable_sort(rewards_, {}, &Reward::next);
  for (std::size_t i = 1; i < rewards_.size(); ++i) {
    if (rewards_[i - 1].next == rewards_[i].next) {
      throw in_.FaultAt(rewards_[i].line,
                        fmt::format("{}: the reward of next state {} is given twice",
                                    Describe(number, layout_.choices), rewards_[i].next));
    }
  }
  for (PrismTransition& transition : row) {
    const auto reward = std::ranges::lower_bound(rewards_, transition.next, {}, &Reward::next);
    if (reward == rewards_.end() || reward->next != transition.next) continue;
    transition.reward = reward->reward;
    reward->used = true;
  }
  for (const Reward& reward : rewards_) {
    if (!reward.used) throw NoTransition(reward.line, number, reward.next);
  }
}

Error PrismTransitionRewards::NoTransition(std::size_t line, const PrismRow& number,
                                           std::uint64_t next) const {
  return in_.FaultAt(line, fmt::format("{}: no transition leads to state {}, or the lines are not "
                                       "ordered by state and choice",
                                       Describe(number, layout_.choices), next));
}

}  // namespace stableaa
