#include "stableaa/nn/foreign_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/nn/spec.h"
#include "stableaa/testing/message.h"

namespace stableaa::foreign_weights_test {

constexpr char kDeep[] = "vector(3) linear(2) relu linear(2) relu linear(2) relu linear(4)";
constexpr char kDueling[] =
    "vector(3) linear(5) relu dueling{linear(6) relu linear(1) | linear(6) relu linear(4)}";

Parameters RandomParameters(std::string_view spec) {
  Parameters parameters(std::make_shared<const Plan>(MakePlan(ParseSpec(spec))));
  RandomStream random(7, "weights");
  parameters.Initialise(random);
  return parameters;
}

std::vector<float> ValuesOf(const Parameters& parameters, std::string_view name) {
  for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    if (tensor.name != name) continue;
    std::vector<float> values(tensor.size());
    parameters.Get(tensor, values);
    return values;
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// A file made here, not by WriteWeights. Each tensor's data are those of `network`.
struct Made {
  std::string header;  // without the braces
  std::string data = {};

  void Add(const std::string& name, const std::vector<std::int64_t>& shape,
           const std::string& bytes, const std::string& dtype = "F32") {
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          header.empty() ? "" : ",", name, dtype, fmt::join(shape, ","),
                          data.size(), data.size() + bytes.size());
    data += bytes;
  }
  // The whole network, under other names.
  static Made Of(const Parameters& network, const std::map<std::string, std::string>& names) {
    Made made;
    for (const ParameterTensor& tensor : ParameterTensors(network.plan())) {
      const std::size_t dot = tensor.name.rfind('.');
      const auto found = names.find(tensor.name.substr(0, dot));
      const std::string name = found == names.end() ? tensor.name.substr(0, dot) : found->second;
      made.Add(name + tensor.name.substr(dot), tensor.shape,
               BytesOf(ValuesOf(network, tensor.name)));
    }
    return made;
  }

  std::string bytes() const {
    const std::string text = '{' + header + '}';
    const std::uint64_t length = text.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + text + data;
  }
};

std::string ReadInto(const Made& made, Parameters& parameters) {
  const std::string bytes = made.bytes();
  return RenamedText(ReadMatchingWeightsInto(
      ParseSafetensors(std::as_bytes(std::span(bytes)), "w.st"), parameters));
}

// Reads the network back and expects the same weights; returns what was renamed.
std::string ExpectReadBack(std::string_view spec, const std::map<std::string, std::string>& names) {
  const Parameters network = RandomParameters(spec);
  Parameters read(std::make_shared<const Plan>(network.plan()));
  const std::string renamed = ReadInto(Made::Of(network, names), read);
  EXPECT_TRUE(std::ranges::equal(read.block(), network.block())) << renamed;
  return renamed;
}

// The parameters must not change.
std::string Refusal(const Made& made, std::string_view spec) {
  Parameters parameters = RandomParameters(spec);
  const std::string message = MessageOf([&] { ReadInto(made, parameters); });
  EXPECT_TRUE(std::ranges::equal(parameters.block(), RandomParameters(spec).block()));
  return message;
}

TEST(ForeignWeights, TheNetworksOwnNamesDecide) {
  EXPECT_EQ(ExpectReadBack(kDeep, {}), "");
  EXPECT_EQ(ExpectReadBack(kDueling, {}), "");
}

// Three layers have the same shape, so an order by characters would exchange them.
TEST(ForeignWeights, OtherNamesAreTakenInNaturalOrder) {
  EXPECT_EQ(ExpectReadBack(kDeep, {{"layers.0", "net.0"},
                                   {"layers.2", "net.2"},
                                   {"layers.4", "net.10"},
                                   {"layers.6", "net.11"}}),
            "net.0 as layers.0, net.2 as layers.2, net.10 as layers.4, net.11 as layers.6");
  EXPECT_EQ(
      ExpectReadBack("vector(3) linear(3) linear(3)", {{"layers.0", "fc9"}, {"layers.1", "fc010"}}),
      "fc9 as layers.0, fc010 as layers.1");
}

TEST(ForeignWeights, StreamsMayComeInAnyOrder) {
  for (const auto& [trunk, value, advantage] :
       std::vector<std::array<std::string, 3>>{{"features", "val", "adv"},
                                               {"a", "b", "c"},
                                               {"a", "c", "b"},
                                               {"b", "a", "c"},
                                               {"c", "a", "b"},
                                               {"c", "b", "a"}}) {
    ExpectReadBack(kDueling, {{"layers.0", trunk + ".0"},
                              {"value.0", value + ".0"},
                              {"value.2", value + ".2"},
                              {"advantage.0", advantage + ".0"},
                              {"advantage.2", advantage + ".2"}});
  }
}

TEST(ForeignWeights, WhatFitsInSeveralWaysIsRefused) {
  constexpr char kOneAction[] = "vector(3) linear(3) relu dueling{linear(1) | linear(1)}";
  const Made made = Made::Of(RandomParameters(kOneAction),
                             {{"layers.0", "a"}, {"value.0", "b"}, {"advantage.0", "c"}});
  EXPECT_NE(Refusal(made, kOneAction)
                .find("in several orders: 'b.weight' and 'c.weight' could be swapped; expected "
                      "numbered names, or the network's, such as 'layers.0.weight'; "),
            std::string::npos);
}

TEST(ForeignWeights, AnOrderOfLettersSaysNothing) {
  constexpr char kSquare[] = "vector(4) linear(4) relu linear(4) relu linear(2)";
  const auto refusal = [&](const std::map<std::string, std::string>& names) {
    return Refusal(Made::Of(RandomParameters(kSquare), names), kSquare);
  };
  EXPECT_NE(refusal({{"layers.0", "input"}, {"layers.2", "hidden"}, {"layers.4", "output"}})
                .find("'hidden.weight' and 'input.weight' could be swapped"),
            std::string::npos);
  EXPECT_NE(refusal({{"layers.0", "net.0"}, {"layers.2", "body.2"}, {"layers.4", "head"}})
                .find("'body.2.weight' and 'net.0.weight' could be swapped"),
            std::string::npos);
  // Streams whose layers have nothing in common.
  constexpr char kStreams[] =
      "vector(3) linear(5) relu dueling{linear(6) relu linear(1) | linear(6) relu linear(4)}";
  EXPECT_NE(Refusal(Made::Of(RandomParameters(kStreams), {{"layers.0", "b"},
                                                          {"advantage.0", "a"},
                                                          {"advantage.2", "ab"},
                                                          {"value.0", "c"},
                                                          {"value.2", "d"}}),
                    kStreams)
                .find("'a.weight' and 'c.weight' could be swapped"),
            std::string::npos);
}

TEST(ForeignWeights, ShapesThatFitInOneOrderDecide) {
  EXPECT_EQ(ExpectReadBack("vector(4) linear(8) relu linear(8) relu linear(2)",
                           {{"layers.0", "input"}, {"layers.2", "hidden"}, {"layers.4", "output"}}),
            "hidden as layers.2, input as layers.0, output as layers.4");
  EXPECT_EQ(ExpectReadBack("vector(4) linear(8) relu linear(2)",
                           {{"layers.0", "trunk.0"}, {"layers.2", "q_head"}}),
            "q_head as layers.2, trunk.0 as layers.0");
  // Whatever the alphabet says.
  EXPECT_EQ(ExpectReadBack("vector(4) linear(8) relu linear(2)",
                           {{"layers.0", "z_out"}, {"layers.2", "a_in"}}),
            "a_in as layers.2, z_out as layers.0");
}

TEST(ForeignWeights, NumbersTellLayersOfTheSameShapeApart) {
  ExpectReadBack("vector(4) linear(4) relu linear(4) relu linear(2)",
                 {{"layers.0", "trunk.0"}, {"layers.2", "trunk.2"}, {"layers.4", "a_head"}});
  ExpectReadBack("vector(4) linear(4) relu linear(4) relu linear(4)",
                 {{"layers.0", "dense"}, {"layers.2", "dense_1"}, {"layers.4", "dense_2"}});
  const Parameters network = RandomParameters("vector(4) linear(4) relu linear(4)");
  Made made;
  for (const std::string kind : {"weight", "bias"}) {
    for (const std::string layer : {"0", "2"}) {
      const std::string ours = "layers." + layer + "." + kind;
      made.Add(kind.substr(0, 1) + layer,
               kind == "bias" ? std::vector<std::int64_t>{4} : std::vector<std::int64_t>{4, 4},
               BytesOf(ValuesOf(network, ours)));
    }
  }
  Parameters read(std::make_shared<const Plan>(network.plan()));
  EXPECT_EQ(ReadInto(made, read),
            "b0 as layers.0.bias, b2 as layers.2.bias, w0 as layers.0.weight, w2 as "
            "layers.2.weight");
  EXPECT_TRUE(std::ranges::equal(read.block(), network.block()));
}

TEST(ForeignWeights, TwinsOfATargetNetworkAreIgnored) {
  constexpr char kSmall[] = "vector(3) linear(2) relu linear(4)";
  const Parameters network = RandomParameters(kSmall);
  const auto with_twins = [&](const std::string& first, const std::string& target,
                              const std::string& last = "2") {
    Made made = Made::Of(network, {{"layers.0", first + "0"}, {"layers.2", first + "2"}});
    for (const auto& [layer, in, out] :
         {std::tuple{std::string("0"), 3, 2}, std::tuple{last, 2, 4}}) {
      const auto floats = [](int count) {
        return BytesOf(std::vector<float>(static_cast<std::size_t>(count), 9));
      };
      made.Add(target + layer + ".weight", {out, in}, floats(in * out));
      made.Add(target + layer + ".bias", {out}, floats(out));
    }
    return made;
  };
  const auto renamed = [&](const Made& made) {
    Parameters read(std::make_shared<const Plan>(network.plan()));
    std::string text = ReadInto(made, read);
    EXPECT_TRUE(std::ranges::equal(read.block(), network.block()));
    return text;
  };
  EXPECT_EQ(renamed(with_twins("q_net.q_net.", "q_net_target.q_net.")),
            "q_net.q_net.0 as layers.0, q_net.q_net.2 as layers.2, without the target network's "
            "q_net_target.q_net.0, q_net_target.q_net.2");
  renamed(with_twins("online.", "target_network."));
  renamed(with_twins("", "target."));
  EXPECT_EQ(renamed(with_twins("layers.", "target.layers.")),
            "without the target network's target.layers.0, target.layers.2");
  // No twins: another network, or none of the same tensors.
  EXPECT_NE(Refusal(with_twins("online.", "target.", "4"), kSmall).find("no place"),
            std::string::npos);
  EXPECT_EQ(ExpectReadBack(kSmall, {{"layers.0", "target.0"}, {"layers.2", "target.2"}}),
            "target.0 as layers.0, target.2 as layers.2");
}

TEST(ForeignWeights, OtherTypesBecomeF32) {
  Made made;
  made.Add("a.bias", {2}, BytesOf(std::vector<double>{0.1, -1e-50}), "F64");
  // 1.5, -2, the smallest subnormal, the largest number, -0, 2^-14
  made.Add("a.weight", {2, 3},
           BytesOf(std::vector<std::uint16_t>{0x3E00, 0xC000, 0x0001, 0x7BFF, 0x8000, 0x0400}),
           "F16");
  made.Add("b.bias", {1}, BytesOf(std::vector<std::uint16_t>{0x3FC0}), "BF16");  // 1.5
  made.Add("b.weight", {1, 2}, BytesOf(std::vector<float>{3, -4}));
  Parameters read(
      std::make_shared<const Plan>(MakePlan(ParseSpec("vector(3) linear(2) linear(1)"))));
  EXPECT_EQ(ReadInto(made, read), "a as layers.0, b as layers.1");
  EXPECT_EQ(ValuesOf(read, "layers.0.bias"), (std::vector<float>{0.1F, 0}));
  const std::vector<float> weights = ValuesOf(read, "layers.0.weight");
  EXPECT_EQ(weights, (std::vector<float>{1.5, -2, 0x1p-24F, 65504, 0, 0x1p-14F}));
  EXPECT_TRUE(std::signbit(weights[4]));
  EXPECT_EQ(ValuesOf(read, "layers.1.bias"), (std::vector<float>{1.5}));
}

TEST(ForeignWeights, NumbersThatAreNoneAreRefused) {
  const auto refusal = [](const std::string& bytes, const std::string& dtype) {
    Made made;
    made.Add("bias", {1}, bytes, dtype);
    made.Add("weight", {1, 1}, BytesOf(std::vector<float>{1}));
    return Refusal(made, "vector(1) linear(1)");
  };
  const std::string range = "w.st: tensor 'bias': expected finite numbers of at most 3.4e38 in ";
  EXPECT_EQ(refusal(BytesOf(std::vector<double>{-1e300}), "F64"),
            range + "magnitude, found -inf at index 0");
  EXPECT_EQ(refusal(BytesOf(std::vector<std::uint16_t>{0x7C00}), "F16"),
            range + "magnitude, found inf at index 0");
  EXPECT_EQ(refusal(BytesOf(std::vector<std::uint16_t>{0x7FC0}), "BF16"),
            range + "magnitude, found nan at index 0");
  EXPECT_EQ(refusal(BytesOf(std::vector<std::int64_t>{1}), "I64"),
            "w.st: tensor 'bias': expected F32, F64, F16 or BF16, found I64");
}

TEST(ForeignWeights, TheFirstTensorThatDoesNotFitIsNamedWithBothShapes) {
  constexpr char kSmall[] = "vector(3) linear(2) relu linear(4)";
  const std::string network = "; the network is vector(3) linear(2) relu linear(4)";
  const auto refusal = [&](std::string_view other,
                           const std::map<std::string, std::string>& names) {
    return Refusal(Made::Of(RandomParameters(other), names), kSmall);
  };
  EXPECT_EQ(refusal("vector(3) linear(2) relu linear(6)", {{"layers.0", "a"}, {"layers.2", "b"}}),
            "w.st: tensor 'b.bias' [6] does not fit the network's 'layers.2.bias' [4]" + network);
  EXPECT_EQ(refusal("vector(5) linear(2) relu linear(4)", {{"layers.0", "a"}, {"layers.2", "b"}}),
            "w.st: tensor 'a.weight' [2, 5] does not fit the network's 'layers.0.weight' [2, 3]" +
                network);
  EXPECT_EQ(refusal("vector(3) linear(2)", {{"layers.0", "a"}}),
            "w.st: there is no tensor for 'layers.2.bias' [4]" + network);
  EXPECT_EQ(refusal("vector(3) linear(2) relu linear(4) linear(4)",
                    {{"layers.0", "a"}, {"layers.2", "b"}, {"layers.3", "c\\n"}}),
            "w.st: tensor 'c\\n.bias' [4] has no place in the network" + network);
  // The same names, another number of actions.
  EXPECT_EQ(refusal("vector(3) linear(2) relu linear(6)", {}),
            "w.st: tensor 'layers.2.weight' [6, 2]: expected shape [4, 2]" + network);
  EXPECT_EQ(Refusal({}, kSmall), "w.st: there is no tensor for 'layers.0.bias' [2]" + network);
}

// Names mean something in such a file, so their order is not used.
TEST(ForeignWeights, AFileThatDescribesItsNetworkIsTakenByName) {
  const auto described = [](std::string_view spec,
                            const std::map<std::string, std::string>& names) {
    Made made = Made::Of(RandomParameters(spec), names);
    made.header = fmt::format(R"("__metadata__":{{"stableaa.spec":"{}"}},{})", spec, made.header);
    return made;
  };
  constexpr char kSmall[] = "vector(3) linear(2) relu linear(4)";
  Parameters read = RandomParameters("vector(3) linear(2) tanh linear(4)");
  EXPECT_EQ(ReadInto(described(kSmall, {}), read), "");
  EXPECT_TRUE(std::ranges::equal(read.block(), RandomParameters(kSmall).block()));
  EXPECT_NE(Refusal(described(kSmall, {{"layers.2", "layers.3"}}), kSmall)
                .find("there is no tensor 'layers.2.weight' [4, 2]; "),
            std::string::npos);
  EXPECT_NE(Refusal(described("vector(3) linear(2) relu linear(4) linear(4)", {}), kSmall)
                .find("tensor 'layers.3.bias' [4] has no place in the network"),
            std::string::npos);
}

}  // namespace stableaa::foreign_weights_test
