#include "stableaa/mdp/formats/cassandra_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/mdp/formats/text_format_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::cassandra_format_test {

Model Parse(const std::string& text) { return ParseCassandraModel(text, "m.mdp").model; }

std::string ErrorIn(const std::string& text) {
  return BadInputOf([&] { ParseCassandraModel(text, "m.mdp"); });
}

// The row of a state and an action as dense numbers.
std::vector<double> RowOf(const Model& model, std::uint64_t state, std::uint64_t action) {
  std::vector<double> dense(model.states());
  const std::uint64_t row = model.state_rows()[state] + action;
  for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1]; ++k) {
    dense[model.column(k)] = model.probabilities()[k];
  }
  return dense;
}

double RewardOf(const Model& model, std::uint64_t state, std::uint64_t action) {
  return model.rewards()[model.state_rows()[state] + action];
}

using Dense = std::vector<double>;

// Known files.

// Listening leaves the tiger where it is, opening a door puts it behind either one: the best-known
// example of the format.
constexpr const char* kTiger = R"(# the tiger
discount: 0.95
values: reward
states: tiger-left tiger-right
actions: listen open-left open-right
observations: tiger-left tiger-right

start: uniform

T: listen
identity

T:open-left
uniform
T:open-right
uniform

O:listen
0.85 0.15
0.15 0.85
O:open-left
uniform
O:open-right
uniform

R:listen : * : * : * -1
R:open-left : tiger-left : * : * -100
R:open-left : tiger-right : * : * 10
R:open-right : tiger-left : * : * 10
R:open-right : tiger-right : * : * -100
)";

TEST(CassandraFormat, ReadsTheMdpPartOfATextbookPomdp) {
  const LoadedModel loaded = ParseCassandraModel(kTiger, "tiger.pomdp");
  const Model& model = loaded.model;
  EXPECT_EQ(model.states(), 2u);
  EXPECT_EQ(model.rows(), 6u);
  EXPECT_EQ(model.discount(), 0.95);
  EXPECT_EQ(RowOf(model, 0, 0), (Dense{1, 0}));
  EXPECT_EQ(RowOf(model, 1, 0), (Dense{0, 1}));
  EXPECT_EQ(RowOf(model, 1, 1), (Dense{0.5, 0.5}));
  EXPECT_EQ(RewardOf(model, 0, 0), -1);
  EXPECT_EQ(RewardOf(model, 0, 1), -100);
  EXPECT_EQ(RewardOf(model, 1, 1), 10);
  EXPECT_EQ(RewardOf(model, 0, 2), 10);
  EXPECT_EQ(RewardOf(model, 1, 2), -100);
  EXPECT_EQ(loaded.dropped, (std::vector<std::string>{"2 observations", "where runs start",
                                                      "names of states", "names of actions"}));
}

TEST(CassandraFormat, ReadsAnMdpWithRewardsOfThreeFields) {
  const Model model = Parse(R"(
values: reward
states: 3
actions: 2
discount: 0.5
T: 0
0.5 0.5 0
0 1 0   # a comment
0 0 1
T: 1 : * : 2 1.0
R: 0 : 0 : 1 4
R: 1 : * : * -1
R: 1 : 2
1 2 3
)");
  EXPECT_EQ(RowOf(model, 0, 0), (Dense{0.5, 0.5, 0}));
  EXPECT_EQ(RowOf(model, 2, 0), (Dense{0, 0, 1}));
  EXPECT_EQ(RowOf(model, 1, 1), (Dense{0, 0, 1}));
  EXPECT_EQ(RewardOf(model, 0, 0), 2);
  EXPECT_EQ(RewardOf(model, 1, 0), 0);
  EXPECT_EQ(RewardOf(model, 1, 1), -1);
  EXPECT_EQ(RewardOf(model, 2, 1), 3);
}

TEST(CassandraFormat, ARewardMatrixOfAnMdpIsByStateAndNextState) {
  const Model model =
      Parse("states: 2\nactions: 1\nT: * uniform\nR: 0\n1 3\n5 7\nR: 0 : 1 : 1 : * 9\n");
  EXPECT_EQ(RewardOf(model, 0, 0), 2);
  EXPECT_EQ(RewardOf(model, 1, 0), 7);
  EXPECT_EQ(model.discount(), std::nullopt);
}

TEST(CassandraFormat, LaterStatementsOverrideEarlierOnes) {
  const std::string preamble = "states: a b c\nactions: x y\n";
  EXPECT_EQ(RowOf(Parse(preamble + "T: * identity\nT: x : a : a 0\nT: x : a : c 1\n"), 0, 0),
            (Dense{0, 0, 1}));
  EXPECT_EQ(RowOf(Parse(preamble + "T: x : a : c 1\nT: * identity\n"), 0, 0), (Dense{1, 0, 0}));
  EXPECT_EQ(RowOf(Parse(preamble + "T: * uniform T: * : a 0 1 0"), 0, 1), (Dense{0, 1, 0}));
  EXPECT_EQ(RowOf(Parse(preamble + "T: x : a 0 1 0 T: y identity T: * : * 0 0 1"), 0, 0),
            (Dense{0, 0, 1}));
  EXPECT_EQ(RowOf(Parse(preamble + "T: * : * 0 0 1 T: * : b : c 0.5 T: * : b : a 0.5"), 1, 1),
            (Dense{0.5, 0, 0.5}));
  const Model model = Parse(
      preamble + "T: * identity R: * : * : * 1 R: x : * : * 2 R: x : a : a 3 " + "R: * : b : * 4");
  EXPECT_EQ(RewardOf(model, 0, 0), 3);
  EXPECT_EQ(RewardOf(model, 0, 1), 1);
  EXPECT_EQ(RewardOf(model, 1, 0), 4);
  EXPECT_EQ(RewardOf(model, 2, 0), 2);
}

TEST(CassandraFormat, CostsAreNegatedRewards) {
  const LoadedModel loaded = ParseCassandraModel(
      "values: cost states: 2 actions: 1 T: 0 identity R: 0 : 0 : * 3", "m.mdp");
  EXPECT_EQ(RewardOf(loaded.model, 0, 0), -3);
  EXPECT_FALSE(std::signbit(RewardOf(loaded.model, 1, 0)));
  EXPECT_EQ(loaded.dropped,
            std::vector<std::string>{"that values are costs (rewards are the negated costs)"});
}

TEST(CassandraFormat, RewardsThatDependOnTheObservationAreMeans) {
  const std::string text = R"(
states: 2
actions: 1
observations: yes no maybe
T: 0 : 0 : 0 0.25
T: 0 : 0 : 1 0.75
T: 0 : 1 : 1 1
O: 0
0.5 0.5 0.0
0.0 0.2 0.8
R: 0 : 0 : 0
1 3 100
R: 0 : 0 : 1 : no 5
R: 0 : 0 : 1 : maybe 10
R: 0 : 1
0 0 0
2 2 7
)";
  const Model model = Parse(text);
  EXPECT_NEAR(RewardOf(model, 0, 0), 0.25 * 2 + 0.75 * 9, 1e-15);
  EXPECT_NEAR(RewardOf(model, 1, 0), 0.2 * 2 + 0.8 * 7, 1e-15);
  EXPECT_EQ(
      ErrorIn(Replaced(text, "0.0 0.2 0.8", "0.0 0.25 0.5")),
      "m.mdp:10: the observation probabilities (O) of action 0 into state 1 sum to 0.75 instead "
      "of 1, but rewards depend on them");
  // Their sum does not matter unless rewards need them.
  EXPECT_EQ(RewardOf(Parse("states: 2 actions: 1 observations: 2 T: 0 identity O: 0 : 0 : 1 0.5 "
                           "R: * : * : * : * 2"),
                     1, 0),
            2);
}

TEST(CassandraFormat, EveryWayToStartIsRead) {
  const std::string rest = "T: * identity\n";
  for (const std::string start :
       {"start: uniform", "start: b", "start: 2", "start: 0.5 0.25 0.25", "start include: a c",
        "start include: 0 1", "start exclude: a", "start: 1", ""}) {
    const std::string text = "states: a b c\nactions: 1\n" + start + "\n" + rest;
    EXPECT_EQ(RowOf(Parse(text), 2, 0), (Dense{0, 0, 1})) << start;
  }
}

TEST(CassandraFormat, ResetLeadsToWhereRunsStart) {
  const auto row = [](const std::string& start) {
    return RowOf(Parse("states: a b c d\nactions: 1\n" + start + "\nT: 0 uniform T: 0 : c reset"),
                 2, 0);
  };
  EXPECT_EQ(row("start: uniform"), (Dense{0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(row("start: b"), (Dense{0, 1, 0, 0}));
  EXPECT_EQ(row("start: 3"), (Dense{0, 0, 0, 1}));
  EXPECT_EQ(row("start: 0 0.5 0.5 0"), (Dense{0, 0.5, 0.5, 0}));
  EXPECT_EQ(row("start include: a d d"), (Dense{0.5, 0, 0, 0.5}));
  EXPECT_EQ(row("start exclude: a 3"), (Dense{0, 0.5, 0.5, 0}));
  EXPECT_EQ(ErrorIn("states: 2\nactions: 1\nT: 0 : 0 reset"),
            "m.mdp:3: expected 'start' before 'reset'");
}

TEST(CassandraFormat, BlanksLinesAndCommentsMayStandAnywhere) {
  EXPECT_EQ(
      RowOf(Parse("states:2#\n#x\nactions\n:\n1 T:0:0#c\n0.5\r\n0.5\tT :\n 0 : 1 : 1\n1"), 0, 0),
      (Dense{0.5, 0.5}));
}

// Against an interpreter that keeps everything dense.

class Dense4 {
 public:
  Dense4(std::size_t a, std::size_t s, std::size_t n, std::size_t o)
      : n1_(s), n2_(n), n3_(o), values_(a * s * n * o) {}
  double& at(std::size_t a, std::size_t s, std::size_t n, std::size_t o) {
    return values_[((a * n1_ + s) * n2_ + n) * n3_ + o];
  }

 private:
  std::size_t n1_, n2_, n3_;
  std::vector<double> values_;
};

constexpr std::size_t kStar = static_cast<std::size_t>(-1);

// Writes random statements and applies them immediately.
class RandomFile {
 public:
  explicit RandomFile(std::uint64_t seed)
      : random_(seed, "cassandra"),
        states_(1 + Below(5)),
        actions_(1 + Below(3)),
        observations_(Below(2) * (1 + Below(3))),
        columns_(std::max<std::size_t>(1, observations_)),
        transitions_(actions_, states_, states_, 1),
        seen_(actions_, states_, columns_, 1),
        rewards_(actions_, states_, states_, columns_) {
    text_ = fmt::format("discount: 0.5\nstates: {}\nactions: {}\n", states_, actions_);
    if (observations_ > 0) text_ += fmt::format("observations: {}\n", observations_);
    AddDistribution('T', kStar, kStar, states_, transitions_);
    if (observations_ > 0) AddDistribution('O', kStar, kStar, columns_, seen_);
    for (std::size_t i = 0; i < 12; ++i) {
      AddDistribution('T', Pick(actions_), Pick(states_), states_, transitions_);
      if (observations_ > 0) AddDistribution('O', Pick(actions_), Pick(states_), columns_, seen_);
      AddReward();
    }
  }

  const std::string& text() const { return text_; }

  void ExpectModel(const Model& model) {
    ASSERT_EQ(model.states(), states_);
    for (std::size_t s = 0; s < states_; ++s) {
      ASSERT_EQ(model.actions(s), actions_);
      for (std::size_t a = 0; a < actions_; ++a) {
        const Dense row = RowOf(model, s, a);
        double reward = 0;
        for (std::size_t n = 0; n < states_; ++n) {
          const double p = transitions_.at(a, s, n, 0);
          EXPECT_NEAR(row[n], p, 1e-14);
          for (std::size_t o = 0; o < columns_; ++o) {
            const double q = observations_ > 0 ? seen_.at(a, n, o, 0) : 1;
            reward += p * q * rewards_.at(a, s, n, o);
          }
        }
        EXPECT_NEAR(RewardOf(model, s, a), reward, 1e-12) << text_;
      }
    }
  }

 private:
  std::size_t Below(std::size_t n) { return static_cast<std::size_t>(random_.Below(n)); }
  std::size_t Pick(std::size_t n) { return Below(3) == 0 ? kStar : Below(n); }
  static std::string Name(std::size_t i) { return i == kStar ? "*" : std::to_string(i); }
  static bool Meant(std::size_t i, std::size_t name) { return name == kStar || name == i; }

  std::string Numbers(const std::vector<double>& numbers) const {
    std::string text;
    for (const double number : numbers) text += fmt::format(" {}", number);
    return text + "\n";
  }

  // Sums to exactly 1: eighths.
  std::vector<double> RandomRow(std::size_t columns) {
    std::vector<double> row(columns);
    for (int i = 0; i < 8; ++i) row[Below(columns)] += 0.125;
    return row;
  }

  void SetRow(Dense4& table, std::size_t a, std::size_t s, const std::vector<double>& row) {
    for (std::size_t i = 0; i < actions_; ++i) {
      for (std::size_t j = 0; j < states_; ++j) {
        if (!Meant(i, a) || !Meant(j, s)) continue;
        for (std::size_t c = 0; c < row.size(); ++c) table.at(i, j, c, 0) = row[c];
      }
    }
  }

  // A statement that leaves the affected rows as distributions.
  void AddDistribution(char kind, std::size_t a, std::size_t s, std::size_t columns,
                       Dense4& table) {
    const std::vector<double> uniform(columns, 1.0 / static_cast<double>(columns));
    const std::string start = fmt::format("{}: {}", kind, Name(a));
    switch (Below(5)) {
      case 0:
        text_ += fmt::format("{} : {} uniform\n", start, Name(s));
        return SetRow(table, a, s, uniform);
      case 1: {  // one by one
        const std::vector<double> row = RandomRow(columns);
        text_ += fmt::format("{} : {} : * 0\n", start, Name(s));
        for (std::size_t c = columns; c-- > 0;) {
          if (row[c] == 0 && Below(2) == 0) continue;
          text_ += fmt::format("{} : {} : {} {}\n", start, Name(s), c, row[c]);
        }
        return SetRow(table, a, s, row);
      }
      case 2: {
        text_ += start + "\n";
        for (std::size_t j = 0; j < states_; ++j) {
          const std::vector<double> row = RandomRow(columns);
          text_ += Numbers(row);
          SetRow(table, a, j, row);
        }
        return;
      }
      case 3:
        if (kind == 'T') {
          text_ += start + " identity\n";
          for (std::size_t j = 0; j < states_; ++j) {
            std::vector<double> row(columns);
            row[j] = 1;
            SetRow(table, a, j, row);
          }
          return;
        }
        text_ += start + " uniform\n";
        return SetRow(table, a, kStar, uniform);
      default: {
        const std::vector<double> row = RandomRow(columns);
        text_ += fmt::format("{} : {}\n", start, Name(s)) + Numbers(row);
        return SetRow(table, a, s, row);
      }
    }
  }

  void SetReward(std::size_t a, std::size_t s, std::size_t n, std::size_t o, double reward) {
    for (std::size_t i = 0; i < actions_; ++i) {
      for (std::size_t j = 0; j < states_; ++j) {
        for (std::size_t k = 0; k < states_; ++k) {
          for (std::size_t l = 0; l < columns_; ++l) {
            if (Meant(i, a) && Meant(j, s) && Meant(k, n) && Meant(l, o)) {
              rewards_.at(i, j, k, l) = reward;
            }
          }
        }
      }
    }
  }

  double RandomReward() { return static_cast<double>(Below(5)) - 2; }

  void AddReward() {
    const std::size_t a = Pick(actions_);
    const std::size_t s = Pick(states_);
    const std::size_t n = Pick(states_);
    const std::string start = fmt::format("R: {} : {}", Name(a), Name(s));
    // For each combination of the remaining fields, in order.
    const auto row = [&](std::size_t state, std::size_t next, bool by_observation) {
      std::vector<double> numbers;
      for (std::size_t i = 0; i < (by_observation ? columns_ : states_); ++i) {
        numbers.push_back(RandomReward());
        SetReward(a, state, by_observation ? next : i, by_observation ? i : kStar, numbers.back());
      }
      text_ += Numbers(numbers);
    };
    const std::size_t form = Below(3);
    if (form == 0) {
      const std::size_t o = observations_ > 0 ? Pick(columns_) : kStar;
      const double reward = RandomReward();
      const bool field = observations_ > 0 || Below(2) == 0;
      text_ += fmt::format("{} : {}{} {}\n", start, Name(n), field ? " : " + Name(o) : "", reward);
      SetReward(a, s, n, o, reward);
    } else if (observations_ > 0 && form == 1) {
      text_ += fmt::format("{} : {}\n", start, Name(n));
      row(s, n, true);
    } else if (observations_ > 0) {
      text_ += start + "\n";
      for (std::size_t next = 0; next < states_; ++next) row(s, next, true);
    } else if (form == 1) {
      text_ += start + "\n";
      row(s, kStar, false);
    } else {
      text_ += fmt::format("R: {}\n", Name(a));
      for (std::size_t state = 0; state < states_; ++state) row(state, kStar, false);
    }
  }

  RandomStream random_;
  std::size_t states_;
  std::size_t actions_;
  std::size_t observations_;  // 0: an MDP
  std::size_t columns_;       // observations, at least 1
  Dense4 transitions_;
  Dense4 seen_;
  Dense4 rewards_;
  std::string text_;
};

TEST(CassandraFormat, AgreesWithADenseInterpreterOnRandomFiles) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomFile file(seed);
    SCOPED_TRACE(seed);
    file.ExpectModel(Parse(file.text()));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

// Writing.

TEST(CassandraFormat, WritesAnMdpOrAFullyObservablePomdp) {
  const TemporaryFolder directory;
  const Model model =
      Parse("discount: 0.5 states: 2 actions: 1 T: 0 : 0 uniform T: 0 : 1 : 1 1 R: 0 : 0 : * 1e-7");
  WriteCassandraModel(model, directory / "m.mdp");
  EXPECT_EQ(ReadText(directory / "m.mdp"), R"(discount: 0.5
values: reward
states: 2
actions: 1
T: 0 : 0 : 0 0.5
T: 0 : 0 : 1 0.5
R: 0 : 0 : * 1.0e-07
T: 0 : 1 : 1 1
R: 0 : 1 : * 0
)");
  WriteCassandraModel(model, directory / "m.pomdp");
  EXPECT_EQ(ReadText(directory / "m.pomdp"), R"(discount: 0.5
values: reward
states: 2
actions: 1
observations: 2
O: * : 0 : 0 1
O: * : 1 : 1 1
T: 0 : 0 : 0 0.5
T: 0 : 0 : 1 0.5
R: 0 : 0 : * : * 1.0e-07
T: 0 : 1 : 1 1
R: 0 : 1 : * : * 0
)");
}

TEST(CassandraFormat, AModelWithRaggedActionsIsNotWritten) {
  const TemporaryFolder directory;
  ModelBuilder builder([] { return std::string("ragged"); });
  for (int state = 0; state < 2; ++state) {
    builder.BeginState();
    for (int action = 0; action <= state; ++action) {
      builder.Transition(0, 1);
      builder.EndRow(0);
    }
  }
  const Model model = builder.Finish(std::nullopt);
  EXPECT_EQ(BadInputOf([&] { WriteCassandraModel(model, directory / "m.mdp"); }),
            "cannot write " + (directory / "m.mdp").string() +
                ": in this format all states have the same actions, but state 0 has 1 and state 1 "
                "has 2; .tra, .drn, .csv, .npz and .bin can hold this model");
  EXPECT_FALSE(std::filesystem::exists(directory / "m.mdp"));
}

// Errors.

TEST(CassandraFormat, ErrorsNameTheLine) {
  const std::string ok = "states: a b\nactions: 2\n";
  EXPECT_EQ(ErrorIn(""), "m.mdp:1: expected 'states:' before the end of the file");
  EXPECT_EQ(ErrorIn("states: 2\n"), "m.mdp:2: expected 'actions:' before the end of the file");
  EXPECT_EQ(ErrorIn(ok), "m.mdp: no T says where action 0 leads from state 0");
  EXPECT_EQ(ErrorIn("states: 2\nT: 0 identity"), "m.mdp:2: expected 'actions:' before the first T");
  EXPECT_EQ(ErrorIn(ok + "\nT: 2 identity"), "m.mdp:4: expected an action below 2, found 2");
  EXPECT_EQ(ErrorIn(ok + "T: 0 : c uniform"), "m.mdp:3: expected a state, found 'c'");
  EXPECT_EQ(ErrorIn(ok + "T: 0 : a : b\n1.5"),
            "m.mdp:4: expected a probability in [0, 1], found '1.5'");
  EXPECT_EQ(ErrorIn(ok + "T: 0\n1 0\n1"),
            "m.mdp:5: expected a probability, found the end of the file");
  EXPECT_EQ(
      ErrorIn(ok + "T: 0\n1 0\n1 0\n1 0\n"),
      "m.mdp:6: expected a statement (discount, values, states, actions, observations, start, "
      "T, O, R), found '1'");
  EXPECT_EQ(ErrorIn(ok + "T: * identity\nT: 1 : b : a\n0.5"),
            "m.mdp:4: state 1, action 1: the probabilities sum to 1.5 instead of 1");
  EXPECT_EQ(ErrorIn(ok + "T: * identity\nR: 0 : a : b : 0 1"),
            "m.mdp:4: expected an observation below 0, found 0");
  EXPECT_EQ(ErrorIn(ok + "observations: 2\nT: * identity\nR: 0 1 2 3 4"),
            "m.mdp:5: expected ':' and a state, found '1'");
  EXPECT_EQ(ErrorIn(ok + "observations: 2\nT: * identity\nR: 0 : a : b 1\n"),
            "m.mdp:6: expected a reward, found the end of the file");
  EXPECT_EQ(ErrorIn(ok + "O: * uniform"), "m.mdp:3: expected 'observations:' before the first O");
  EXPECT_EQ(ErrorIn(ok + "T: * identity\ndiscount: 0.5"),
            "m.mdp:4: 'discount:' must come before the first T, O, R and start");
  EXPECT_EQ(ErrorIn("states: 2\nstates: 3"), "m.mdp:2: 'states:' is given twice");
  EXPECT_EQ(ErrorIn("states: a b a\n"), "m.mdp:1: the name 'a' is given twice");
  EXPECT_EQ(ErrorIn("states:\nactions: 1"),
            "m.mdp:2: expected a number or names, found 'actions:'");
  EXPECT_EQ(ErrorIn("states: 0"),
            "m.mdp:1: expected at least one for 'states:', and fewer than 2^64 - 1");
  EXPECT_EQ(ErrorIn("values: rewards"), "m.mdp:1: expected 'reward' or 'cost', found 'rewards'");
  EXPECT_EQ(ErrorIn("\ndiscount: 2"), "m.mdp:2: expected a discount in [0, 1), found 2");
  EXPECT_NE(ErrorIn("discount: 1.0").find("undiscounted"), std::string::npos);
  EXPECT_EQ(ErrorIn(ok + "start: 0.5 0.25 0.25\n"),
            "m.mdp:3: expected 2 probabilities or a state for 'start:', found 3 numbers");
  EXPECT_EQ(ErrorIn(ok + "start exclude: a b\n"), "m.mdp:4: 'start' leaves no state to start in");
}

TEST(CassandraFormat, EveryTruncationIsReadOrRefused) {
  const std::string text = kTiger;
  for (std::size_t size = 0; size < text.size(); ++size) ErrorIn(text.substr(0, size));
  RandomStream random(1, "cassandra damage");
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    damaged[random.Below(text.size())] = static_cast<char>(random.Below(256));
    BadInputOf([&] { ParseCassandraModel(damaged, "m.mdp", 10000); });
  }
}

// Size.

TEST(CassandraFormat, WildcardsAreNotUnfoldedBeforeTheyAreNeeded) {
  const Stopwatch watch;
  const Model model = Parse(
      "states: 100000\nactions: 2\nT: * identity\nT: 1 : * : * 0\nT: 1 : * : 7 1\n"
      "R: * : * : * 1\nR: 0 : 5 : * 2\n");
  EXPECT_EQ(model.transitions(), 200000u);
  EXPECT_EQ(model.column(2 * 99999), 99999u);
  EXPECT_EQ(model.column(2 * 99999 + 1), 7u);
  EXPECT_EQ(RewardOf(model, 5, 0), 2);
  EXPECT_LT(watch.Seconds(), 60);  // expanded, it would have 10^10 transitions
}

TEST(CassandraFormat, WhatUnfoldsToTooMuchIsRefusedAtOnce) {
  const Stopwatch watch;
  const std::string uniform = ErrorIn("states: 100000\nactions: 2\nT: * uniform\n");
  EXPECT_NE(uniform.find("m.mdp: it describes more than 67108883 transitions"), std::string::npos)
      << uniform;
  EXPECT_NE(ErrorIn("states: 1000000000000000000\nactions: 1\nT: * identity").find("more than the"),
            std::string::npos);
  EXPECT_NE(ErrorIn("states: 4294967296\nactions: 4294967296\nT: * identity").find("more than the"),
            std::string::npos);
  EXPECT_NE(ErrorIn("states: 18446744073709551615\nactions: 1\n"), "");
  EXPECT_NE(ErrorIn("states: 10000000\nactions: 1\nT: 0 : * : * 0.0000001\n"), "");
  EXPECT_NE(
      ErrorIn("states: 2\nactions: 1\nobservations: 1000000000000\nT: * identity O: * uniform "
              "R: 0 : 0 : 0 : 7 1"),
      "");
  EXPECT_LT(watch.Seconds(), 60);
}

// Wildcards that name many columns, over many states, repeatedly.
TEST(CassandraFormat, RepeatedWildcardsDoNotTakeForEver) {
  std::string text = "states: 20000\nactions: 1\n";
  for (int i = 0; i < 20000; ++i) text += fmt::format("T: * : * : {} 0\n", i % 50);
  EXPECT_NE(ErrorIn(text), "");
}

TEST(BenchCassandraFormat, ReadsAsFastAsADiskDelivers) {
  if (!kOptimised) GTEST_SKIP() << "measured in optimised builds only";
  const TemporaryFolder directory;
  WriteCassandraModel(LargeModel(30000), directory / "m.mdp");
  EXPECT_LE(TimesTheYardstick({directory / "m.mdp"}, kMostTimesTheYardstick,
                              [&] { return ReadCassandraModel(directory / "m.mdp"); }),
            kMostTimesTheYardstick);
}

}  // namespace stableaa::cassandra_format_test
