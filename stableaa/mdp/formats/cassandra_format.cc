#include "stableaa/mdp/formats/cassandra_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "stableaa/base/files/mapped_file.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/mdp/formats/cassandra_tables.h"
#include "stableaa/mdp/formats/expected_reward.h"
#include "stableaa/mdp/formats/text_scanner.h"
#include "stableaa/mdp/formats/text_writer.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

constexpr double kObservationSumTolerance = 1e-9;

// States, actions or observations: how many, and their names if any.
struct Domain {
  const char* article_and_noun;  // "a state"
  const char* keyword;           // "states"
  std::uint64_t size = 0;        // 0: not given yet
  std::map<std::string, std::uint64_t, std::less<>> names = {};
};

// Where a run begins, for `reset`: `elsewhere` in every state except those listed.
struct Start {
  double elsewhere = 0;
  DistributionTable::Row listed;
};

class CassandraReader {
 public:
  CassandraReader(std::string_view text, const std::string& name, std::uint64_t most_unfolded)
      : text_(text), in_(text, name), limit_(most_unfolded + text.size() / 2) {}

  LoadedModel Read() {
    while (Skip()) ReadStatement();
    Prepare("the end of the file");
    return {BuildModel(), Dropped(), costs_};
  }

 private:
  // Words and numbers.

  // False at the end of the text.
  bool Skip() {
    in_.SkipBlanks();
    // Line ends and the comment sign sort before every character that starts a word or number.
    return in_.Peek() > '#' || in_.SkipToContent("#");
  }

  bool Accept(char c) {
    Skip();
    if (in_.Peek() != c || in_.AtEnd()) return false;
    in_.MoveTo(in_.offset() + 1);
    return true;
  }

  void ExpectColon() {
    if (!Accept(':')) throw in_.Wrong("':'");
  }

  // The text up to a blank, colon, asterisk or comment; may be empty.
  std::string_view Word() {
    Skip();
    const std::size_t begin = in_.offset();
    std::size_t end = begin;
    while (end < text_.size() && !EndsWord(text_[end])) ++end;
    in_.MoveTo(end);
    return text_.substr(begin, end - begin);
  }

  static bool EndsWord(char c) {
    return c == ' ' || c == ':' || c == '\n' || c == '\t' || c == '\r' || c == '*' || c == '#';
  }

  bool AcceptWord(std::string_view word) {
    const std::size_t begin = in_.offset();
    if (Word() == word) return true;
    in_.MoveTo(begin);
    return false;
  }

  bool AtNumber() {
    if (!Skip()) return false;
    const char c = in_.Peek();
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+';
  }

  double Probability() {
    Skip();
    return in_.Probability();
  }

  double Reward() {
    Skip();
    return in_.Number("a reward");
  }

  // An element of a domain, by number or name.
  std::uint64_t Element(const Domain& domain) {
    Skip();
    const std::size_t begin = in_.offset();
    const char c = in_.Peek();
    if ((c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.') {
      const std::uint64_t number = in_.Unsigned(domain.article_and_noun);
      if (number < domain.size) return number;
      throw in_.FaultAt(begin, fmt::format("expected {} below {}, found {}",
                                           domain.article_and_noun, domain.size, number));
    }
    const std::string_view word = Word();
    const auto found = domain.names.find(word);
    if (found != domain.names.end()) return found->second;
    in_.MoveTo(begin);
    throw in_.Wrong(domain.article_and_noun);
  }

  std::uint64_t ElementOrAny(const Domain& domain) { return Accept('*') ? kAny : Element(domain); }

  // True before another statement's keyword or at the end, which ends a list of names.
  bool AtStatement() {
    if (!Skip()) return true;
    const std::size_t begin = in_.offset();
    const std::string_view word = Word();
    const bool statement = word == "start" || Accept(':');
    in_.MoveTo(begin);
    return statement;
  }

  // Statements.

  void ReadStatement() {
    const std::size_t begin = in_.offset();
    const std::string_view keyword = Word();
    if (keyword == "T") return ReadTransitions(begin);
    if (keyword == "R") return ReadRewards(begin);
    if (keyword == "O") return ReadObservations(begin);
    if (keyword == "start") return ReadStart();
    if (transitions_ && IsPreamble(keyword)) {
      throw in_.FaultAt(begin,
                        fmt::format("'{}:' must come before the first T, O, R and start", keyword));
    }
    if (keyword == "discount") return ReadDiscount();
    if (keyword == "values") return ReadValues();
    for (Domain* domain : {&states_, &actions_, &observations_}) {
      if (keyword == domain->keyword) return ReadDomain(*domain);
    }
    in_.MoveTo(begin);
    throw in_.Wrong(
        "a statement (discount, values, states, actions, observations, start, T, O, R)");
  }

  bool IsPreamble(std::string_view keyword) const {
    return keyword == "discount" || keyword == "values" || keyword == states_.keyword ||
           keyword == actions_.keyword || keyword == observations_.keyword;
  }

  void ReadDiscount() {
    ExpectColon();
    if (discount_) throw in_.Fault("the discount is given twice");
    Skip();
    const double discount = in_.Number("a discount");
    CheckDiscount(discount, in_.Where());
    discount_ = discount;
  }

  void ReadValues() {
    ExpectColon();
    if (AcceptWord("cost")) {
      costs_ = true;
    } else if (!AcceptWord("reward")) {
      throw in_.Wrong("'reward' or 'cost'");
    }
  }

  void ReadDomain(Domain& domain) {
    ExpectColon();
    if (domain.size > 0) throw in_.Fault(fmt::format("'{}:' is given twice", domain.keyword));
    if (AtNumber()) {
      domain.size = in_.Unsigned("a number or names");
      if (domain.size == 0 || domain.size == kAny) {
        throw in_.Fault(fmt::format("expected at least one for '{}:', and fewer than 2^64 - 1",
                                    domain.keyword));
      }
      return;
    }
    while (!AtStatement()) {
      const std::size_t begin = in_.offset();
      const std::string_view name = Word();
      if (name.empty()) throw in_.Wrong("a name");
      if (!domain.names.emplace(name, domain.size).second) {
        throw in_.FaultAt(begin, fmt::format("the name '{}' is given twice", Shorten(name)));
      }
      ++domain.size;
    }
    if (domain.size == 0) throw in_.Wrong("a number or names");
  }

  // Creates the tables once the preamble is known.
  void Prepare(const char* before) {
    if (transitions_) return;
    if (states_.size == 0 || actions_.size == 0) {
      throw in_.Fault(fmt::format("expected '{}:' before {}",
                                  states_.size == 0 ? states_.keyword : actions_.keyword, before));
    }
    std::uint64_t rows = 0;
    if (__builtin_mul_overflow(states_.size, actions_.size, &rows) || rows > limit_) {
      throw in_.Fault(
          fmt::format("{} states and {} actions are more than the {} rows that a file of this "
                      "length may have",
                      states_.size, actions_.size, limit_));
    }
    transitions_.emplace(actions_.size, states_.size);
    constexpr std::size_t kUsualLineBytes = 40;
    transitions_->Reserve(text_.size() / kUsualLineBytes);
    rewards_.emplace(actions_.size);
    if (observations_.size > 0) observation_table_.emplace(actions_.size, observations_.size);
  }

  void ReadStart() {
    Prepare("'start'");
    if (start_) throw in_.Fault("'start' is given twice");
    Start start;
    if (AcceptWord("include")) {
      ExpectColon();
      ReadStartList(start, true);
    } else if (AcceptWord("exclude")) {
      ExpectColon();
      ReadStartList(start, false);
    } else {
      ExpectColon();
      ReadStartStates(start);
    }
    start_ = std::move(start);
  }

  // `start include: a b` or `start exclude: a b`: equal probability for these, or for all others.
  void ReadStartList(Start& start, bool include) {
    std::map<std::uint64_t, double> listed;
    while (!AtStatement()) listed.emplace(Element(states_), 0.0);
    const std::uint64_t count = include ? listed.size() : states_.size - listed.size();
    if (count == 0) throw in_.Fault("'start' leaves no state to start in");
    const double share = 1 / static_cast<double>(count);
    if (!include) start.elsewhere = share;
    for (const auto& [state, zero] : listed) start.listed.emplace_back(state, include ? share : 0);
  }

  // A distribution, or a single state.
  void ReadStartStates(Start& start) {
    if (AcceptWord("uniform")) {
      start.elsewhere = 1 / static_cast<double>(states_.size);
      return;
    }
    const std::size_t begin = in_.offset();
    if (!AtNumber()) {
      start.listed.emplace_back(Element(states_), 1);
      return;
    }
    std::uint64_t count = 0;
    for (; AtNumber(); ++count) {
      const double number = in_.Number("a probability");
      if (number != 0 && count < states_.size) start.listed.emplace_back(count, number);
    }
    if (count == states_.size) return;
    in_.MoveTo(begin);
    if (count != 1) {
      throw in_.Fault(
          fmt::format("expected {} probabilities or a state for 'start:', found {} "
                      "numbers",
                      states_.size, count));
    }
    start.listed = {{Element(states_), 1.0}};
  }

  void ReadTransitions(std::size_t begin) {
    Prepare("the first T");
    ReadDistributions(*transitions_, states_, begin);
  }

  void ReadObservations(std::size_t begin) {
    Prepare("the first O");
    if (!observation_table_)
      throw in_.FaultAt(begin, "expected 'observations:' before the first O");
    ReadDistributions(*observation_table_, observations_, begin);
  }

  // After T or O. Rows and matrices set zeros everywhere, then the entries that differ.
  void ReadDistributions(DistributionTable& table, const Domain& columns, std::size_t begin) {
    ExpectColon();
    const std::uint64_t action = ElementOrAny(actions_);
    if (!Accept(':')) return ReadMatrix(table, columns, action, begin);
    const std::uint64_t state = ElementOrAny(states_);
    if (!Accept(':')) return ReadRow(table, columns, action, state, begin);
    const std::uint64_t column = ElementOrAny(columns);
    const double probability = Probability();
    if (column == kAny) {
      table.SetAll(action, state, probability, begin);
    } else {
      table.Set(action, state, column, probability, begin);
    }
  }

  void ReadMatrix(DistributionTable& table, const Domain& columns, std::uint64_t action,
                  std::size_t begin) {
    if (AcceptWord("uniform")) {
      table.SetAll(action, kAny, 1 / static_cast<double>(columns.size), begin);
    } else if (AcceptWord("identity")) {
      if (columns.size != states_.size) {
        throw in_.Fault("expected as many observations as states for 'identity'");
      }
      table.SetIdentity(action, kAny, begin);
    } else {
      table.SetAll(action, kAny, 0, begin);
      for (std::uint64_t state = 0; state < states_.size; ++state) {
        ReadNumbers(table, columns, action, state);
      }
    }
  }

  void ReadRow(DistributionTable& table, const Domain& columns, std::uint64_t action,
               std::uint64_t state, std::size_t begin) {
    if (AcceptWord("uniform")) {
      table.SetAll(action, state, 1 / static_cast<double>(columns.size), begin);
    } else if (&columns == &states_ && AcceptWord("reset")) {
      Reset(action, state, begin);
    } else {
      table.SetAll(action, state, 0, begin);
      ReadNumbers(table, columns, action, state);
    }
  }

  void ReadNumbers(DistributionTable& table, const Domain& columns, std::uint64_t action,
                   std::uint64_t state) {
    for (std::uint64_t column = 0; column < columns.size; ++column) {
      Skip();
      const std::size_t at = in_.offset();
      const double probability = Probability();
      if (probability != 0) table.Set(action, state, column, probability, at);
    }
  }

  void Reset(std::uint64_t action, std::uint64_t state, std::size_t begin) {
    if (!start_) throw in_.Fault("expected 'start' before 'reset'");
    reset_budget_.Spend(start_->listed.size());
    transitions_->SetAll(action, state, start_->elsewhere, begin);
    for (const auto& [next, probability] : start_->listed) {
      transitions_->Set(action, state, next, probability, begin + 1);
    }
  }

  void ReadRewards(std::size_t begin) {
    Prepare("the first R");
    ExpectColon();
    const std::uint64_t action = ElementOrAny(actions_);
    const bool mdp = observations_.size == 0;
    if (!Accept(':')) {
      if (!mdp) throw in_.Wrong("':' and a state");
      rewards_->Set(action, kAny, kAny, kAny, 0, begin);
      for (std::uint64_t state = 0; state < states_.size; ++state) ReadRewardRow(action, state);
      return;
    }
    const std::uint64_t state = ElementOrAny(states_);
    if (!Accept(':')) {
      rewards_->Set(action, state, kAny, kAny, 0, begin);
      if (mdp) return ReadRewardRow(action, state);
      for (std::uint64_t next = 0; next < states_.size; ++next) {
        ReadRewardsOfObservations(action, state, next);
      }
      return;
    }
    const std::uint64_t next = ElementOrAny(states_);
    if (!Accept(':')) {
      if (mdp) return rewards_->Set(action, state, next, kAny, Reward(), begin);
      rewards_->Set(action, state, next, kAny, 0, begin);
      return ReadRewardsOfObservations(action, state, next);
    }
    const std::uint64_t observation = ElementOrAny(observations_);
    rewards_->Set(action, state, next, observation, Reward(), begin);
  }

  // Rewards by next state, for an MDP.
  void ReadRewardRow(std::uint64_t action, std::uint64_t state) {
    for (std::uint64_t next = 0; next < states_.size; ++next) {
      Skip();
      const std::size_t at = in_.offset();
      const double reward = Reward();
      if (reward != 0) rewards_->Set(action, state, next, kAny, reward, at);
    }
  }

  void ReadRewardsOfObservations(std::uint64_t action, std::uint64_t state, std::uint64_t next) {
    for (std::uint64_t observation = 0; observation < observations_.size; ++observation) {
      Skip();
      const std::size_t at = in_.offset();
      const double reward = Reward();
      if (reward != 0) rewards_->Set(action, state, next, observation, reward, at);
    }
  }

  // The model.

  Model BuildModel() {
    transitions_->Sort();
    rewards_->Sort();
    if (observation_table_) observation_table_->Sort();
    std::size_t last_statement = 0;
    ModelBuilder builder([&] { return in_.WhereAt(last_statement); });
    CheckSize();
    if (!transitions_->unfolds()) {  // then each row has an entry
      const std::uint64_t most = transitions_->entries();
      builder.Reserve(std::min(states_.size, most), std::min(states_.size * actions_.size, most),
                      most);
    }
    ExpansionBudget budget = TransitionBudget();
    DistributionTable::Row row;
    for (std::uint64_t state = 0; state < states_.size; ++state) {
      builder.BeginState();
      for (std::uint64_t action = 0; action < actions_.size; ++action) {
        const auto found = transitions_->Find(action, state, budget, row);
        if (!found) {
          throw BadInput(fmt::format("{}: no T says where action {} leads from state {}",
                                     in_.name(), action, state));
        }
        last_statement = *found;
        for (const auto& [next, probability] : row) builder.Transition(next, probability);
        const double reward = RewardOfRow(action, state, row);
        builder.EndRow(costs_ ? 0 - reward : reward);
      }
    }
    return builder.Finish(discount_);
  }

  ExpansionBudget TransitionBudget() const {
    return {limit_, fmt::format("{}: it describes more than {} transitions, too many for a file of "
                                "this length",
                                in_.name(), limit_)};
  }

  // Refuses a model that is too large before making any of it.
  void CheckSize() {
    if (!transitions_->unfolds()) return;
    ExpansionBudget budget = TransitionBudget();
    for (std::uint64_t state = 0; state < states_.size; ++state) {
      for (std::uint64_t action = 0; action < actions_.size; ++action) {
        budget.Spend(transitions_->Cost(action, state));
      }
    }
  }

  double RewardOfRow(std::uint64_t action, std::uint64_t state, const DistributionTable::Row& row) {
    rewards_->Select(action, state);
    ExpectedReward mean;
    for (const auto& [next, probability] : row) {
      mean.Add(probability, rewards_->by_observation() ? RewardOfObservations(action, next)
                                                       : rewards_->Reward(next, kAny));
    }
    return mean.Take();
  }

  // The mean over the observations in `next`.
  double RewardOfObservations(std::uint64_t action, std::uint64_t next) {
    const auto found = observation_table_->Find(action, next, observation_budget_, observed_);
    double sum = 0;
    ExpectedReward mean;
    for (const auto& [observation, probability] : observed_) {
      sum += probability;
      mean.Add(probability, rewards_->Reward(next, observation));
    }
    if (!(std::abs(sum - 1) <= kObservationSumTolerance)) {
      throw BadInput(
          fmt::format("{}: the observation probabilities (O) of action {} into state {} "
                      "sum to {} instead of 1, but rewards depend on them",
                      found ? in_.WhereAt(*found) : in_.name(), action, next, sum));
    }
    return mean.Take();
  }

  std::vector<std::string> Dropped() const {
    std::vector<std::string> dropped;
    if (observations_.size > 0)
      dropped.push_back(fmt::format("{} observations", observations_.size));
    if (start_) dropped.emplace_back("where runs start");
    for (const Domain* domain : {&states_, &actions_}) {
      if (!domain->names.empty()) dropped.push_back(fmt::format("names of {}", domain->keyword));
    }
    if (costs_) dropped.emplace_back("that values are costs (rewards are the negated costs)");
    return dropped;
  }

  std::string_view text_;
  TextScanner in_;
  std::uint64_t limit_;
  Domain states_ = {"a state", "states"};
  Domain actions_ = {"an action", "actions"};
  Domain observations_ = {"an observation", "observations"};
  std::optional<double> discount_;
  bool costs_ = false;
  std::optional<Start> start_;
  std::optional<DistributionTable> transitions_;
  std::optional<DistributionTable> observation_table_;
  std::optional<RewardTable> rewards_;
  ExpansionBudget reset_budget_{
      limit_, fmt::format("{}: 'reset' to so many states occurs too often", in_.name())};
  ExpansionBudget observation_budget_{
      16 * limit_,
      fmt::format("{}: rewards depend on too many observations to take the mean", in_.name())};
  DistributionTable::Row observed_;
};

// A number that pomdp-solve's scanner accepts: if it has an exponent, it needs digits on both sides
// of the point.
std::string Spelled(double value) {
  std::string text = fmt::format("{}", value);
  const std::size_t e = text.find('e');
  if (e != std::string::npos && text.find('.') == std::string::npos) text.insert(e, ".0");
  return text;
}

std::uint64_t ActionsOfAll(const Model& model, const std::filesystem::path& path) {
  const std::uint64_t actions = model.actions(0);
  for (std::uint64_t state = 1; state < model.states(); ++state) {
    if (model.actions(state) == actions) continue;
    throw BadInput(fmt::format(
        "cannot write {}: in this format all states have the same actions, but state 0 has {} and "
        "state {} has {}; .tra, .drn, .csv, .npz and .bin can hold this model",
        path.string(), actions, state, model.actions(state)));
  }
  return actions;
}

bool IsPomdpPath(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending == ".pomdp";
}

}  // namespace

LoadedModel ParseCassandraModel(std::string_view text, const std::string& name,
                                std::uint64_t most_unfolded) {
  return CassandraReader(text, name, most_unfolded).Read();
}

LoadedModel ReadCassandraModel(const std::filesystem::path& path) {
  const MappedFile file(path);
  return ParseCassandraModel(file.text(), path.string());
}

std::vector<std::string> WriteCassandraModel(const Model& model,
                                             const std::filesystem::path& path) {
  const std::uint64_t actions = ActionsOfAll(model, path);
  const bool pomdp = IsPomdpPath(path);
  TextWriter out(path);
  if (model.discount()) out.Print(FMT_COMPILE("discount: {}\n"), Spelled(*model.discount()));
  out.Print(FMT_COMPILE("values: reward\nstates: {}\nactions: {}\n"), model.states(), actions);
  if (pomdp) {
    out.Print(FMT_COMPILE("observations: {}\n"), model.states());
    for (std::uint64_t state = 0; state < model.states(); ++state) {
      out.Print(FMT_COMPILE("O: * : {0} : {0} 1\n"), state);
    }
  }
  std::uint64_t row = 0;
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    for (std::uint64_t action = 0; action < actions; ++action, ++row) {
      for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
           ++k) {
        out.Print(FMT_COMPILE("T: {} : {} : {} {}\n"), action, state, model.column(k),
                  Spelled(model.probabilities()[k]));
      }
      out.Print(FMT_COMPILE("R: {} : {} : *{} {}\n"), action, state, pomdp ? " : *" : "",
                Spelled(model.rewards()[row]));
    }
  }
  out.Commit();
  return {};
}

}  // namespace stableaa
