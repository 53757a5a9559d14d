#include "stableaa/mdp/model/annotations.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "stableaa/testing/message.h"

namespace stableaa::annotations_test {

// Of a model with three states and four rows.
ModelAnnotations Sound() {
  ModelAnnotations annotations;
  annotations.labels = {{"a", SharedArray<std::uint64_t>({0, 2})},
                        {"b", SharedArray<std::uint64_t>()}};
  annotations.initial = SharedArray<std::uint64_t>({1});
  annotations.rewards = {{"r", SharedArray<double>({1, 2, 3, 4})},
                         {"s", SharedArray<double>({0, -0.0, 5, 6})}};
  annotations.actions = {{"go", "stay"}, SharedArray<std::uint32_t>({1, 0, 2, 1})};
  return annotations;
}

std::string FaultWith(const std::function<void(ModelAnnotations&)>& change) {
  ModelAnnotations annotations = Sound();
  change(annotations);
  const std::string message = MessageOf([&] {
    CheckAnnotations(annotations, 3, 4, "m");
    return 0;
  });
  return message == "no error" ? "" : message;
}

TEST(Annotations, RowsKnowTheirNames) {
  const ActionNames actions = Sound().actions;
  EXPECT_EQ(actions.Of(0), "go");
  EXPECT_EQ(actions.Of(1), "");
  EXPECT_EQ(actions.Of(2), "stay");
  EXPECT_EQ(ActionNames().Of(7), "");
}

TEST(Annotations, CopiesShareTheirNumbers) {
  const ModelAnnotations annotations = Sound();
  const ModelAnnotations copy = annotations;
  EXPECT_EQ(copy.rewards[1].rewards.span().data(), annotations.rewards[1].rewards.span().data());
  EXPECT_TRUE(copy == annotations);
}

TEST(Annotations, AreEqualIfAllBitsAre) {
  ModelAnnotations other = Sound();
  other.rewards[1].rewards = SharedArray<double>({0, 0.0, 5, 6});
  EXPECT_FALSE(other == Sound());
  other = Sound();
  other.labels.pop_back();
  EXPECT_FALSE(other == Sound());
  EXPECT_TRUE(ModelAnnotations().empty());
  EXPECT_FALSE(Sound().empty());
}

TEST(Annotations, EveryFaultIsNamed) {
  using A = ModelAnnotations;
  EXPECT_EQ(FaultWith([](A&) {}), "");
  EXPECT_EQ(FaultWith([](A& a) { a.labels[1].name = "a"; }),
            "m: expected labels sorted by name, without repetition");
  EXPECT_EQ(FaultWith([](A& a) { a.labels[0].name = "c"; }),
            "m: expected labels sorted by name, without repetition");
  EXPECT_EQ(FaultWith([](A& a) { a.labels[0].name = ""; }), "m: found an empty text as label");
  EXPECT_EQ(FaultWith([](A& a) { a.labels[1].name = "b\nc"; }),
            "m: found a line end in the label 'b\\nc'");
  EXPECT_EQ(FaultWith([](A& a) { a.labels[1].name = "init"; }), "m: 'init' is among the labels");
  EXPECT_EQ(FaultWith([](A& a) {
              a.labels[0].states = SharedArray<std::uint64_t>({2, 2});
            }),
            "m: label 'a': expected ascending states");
  EXPECT_EQ(FaultWith([](A& a) {
              a.labels[0].states = SharedArray<std::uint64_t>({0, 3});
            }),
            "m: label 'a': expected states below 3, found 3");
  EXPECT_EQ(FaultWith([](A& a) {
              a.initial = SharedArray<std::uint64_t>({1, 0});
            }),
            "m: initial states: expected ascending states");
  EXPECT_EQ(FaultWith([](A& a) { a.rewards[1].name = "r"; }),
            "m: the reward structure 'r' is there twice");
  EXPECT_EQ(FaultWith([](A& a) {
              a.rewards[1].rewards = SharedArray<double>({1, 2, 3});
            }),
            "m: reward structure 's': expected 4 finite rewards");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(FaultWith([&](A& a) {
              a.rewards[0].rewards = SharedArray<double>({1, 2, infinity, 4});
            }),
            "m: reward structure 'r': expected 4 finite rewards");
  EXPECT_EQ(FaultWith([](A& a) { a.rewards.resize(kMostRewardStructures + 1); }),
            "m: expected at most 100 reward structures, found 101");
  EXPECT_EQ(FaultWith([](A& a) { a.actions.names[1] = "go"; }),
            "m: the action name 'go' is there twice");
  EXPECT_EQ(FaultWith([](A& a) {
              a.actions.rows = SharedArray<std::uint32_t>({1, 0, 3, 1});
            }),
            "m: action names: expected numbers up to 2, found 3");
  EXPECT_EQ(FaultWith([](A& a) {
              a.actions.rows = SharedArray<std::uint32_t>({1, 0});
            }),
            "m: action names: expected 4 rows");
}

}  // namespace stableaa::annotations_test
