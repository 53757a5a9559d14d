#include "stableaa/mdp/formats/model_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <thread>
#include <vector>

#include "stableaa/mdp/formats/text_format_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::model_file_test {

// The same number of actions in every state, so that every format can hold it.
Model EvenModel() {
  ModelBuilder builder([] { return std::string("even"); });
  for (std::uint64_t state = 0; state < 5; ++state) {
    builder.BeginState();
    for (std::uint64_t action = 0; action < 2; ++action) {
      builder.Transition(state, 1.0 / 3);
      builder.Transition((state + action + 1) % 5, 2.0 / 3);
      builder.EndRow(0.1 * static_cast<double>(state) - static_cast<double>(action));
    }
  }
  return builder.Finish(0.9);
}

const std::vector<std::string> kEndings = {".tra",   ".drn", ".csv", ".mdp",
                                           ".pomdp", ".npz", ".bin"};

TEST(ModelFile, AChainOfConversionsLosesNothingButTheDiscount) {
  const TemporaryFolder directory;
  const Model model = EvenModel().WithDiscount(std::nullopt);
  Model last = model;
  for (const std::string& ending : kEndings) {
    WriteModel(last, directory / ("m" + ending));
    last = ReadModel(directory / ("m" + ending), 2).model;
  }
  EXPECT_TRUE(last == model);
}

// One with two reward structures, labels and names.
LoadedModel Annotated() {
  LoadedModel loaded = {EvenModel(), {}};
  loaded.annotations = AwkwardAnnotations(3, loaded.model);
  loaded.annotations.rewards.resize(1);
  for (const char* name : {"coins", "time"}) {
    loaded.annotations.rewards.push_back(
        {name, SharedArray(std::vector<double>(loaded.model.rows(), name[0]))});
  }
  return loaded;
}

TEST(ModelFile, AnnotationsSurviveAChainOfFormatsThatHoldThem) {
  const TemporaryFolder directory;
  const LoadedModel first = Annotated();
  LoadedModel last = first;
  for (const char* name : {"1.drn", "2.tra", "3.bin", "4.tra", "5.drn", "6.bin"}) {
    EXPECT_TRUE(
        WriteModel(last.model.WithDiscount({}), directory / name, last.annotations).empty());
    last = ReadModel(directory / name);
    EXPECT_TRUE(last.dropped.empty()) << name;
  }
  EXPECT_TRUE(last.model.WithDiscount(0.9) == first.model);
  EXPECT_TRUE(last.annotations == first.annotations);
}

TEST(ModelFile, AnotherRewardStructureBecomesTheModelsAndTheFirst) {
  LoadedModel loaded = Annotated();
  UseRewardStructure(loaded, "time", "reward");
  EXPECT_EQ(RewardNames(loaded.annotations), "time, steps, coins");
  EXPECT_EQ(loaded.model.rewards()[3], 't');
  EXPECT_EQ(loaded.model.discount(), 0.9);
  EXPECT_EQ(loaded.model.rewards().data(), loaded.annotations.rewards[0].rewards.span().data());
  EXPECT_NO_THROW(CheckCanonical(loaded.model.arrays(), "chosen", 1));

  // And back. Nothing is left of the first model but what the arrays share.
  UseRewardStructure(loaded, "steps", "reward");
  EXPECT_EQ(RewardNames(loaded.annotations), "steps, time, coins");
  EXPECT_TRUE(loaded.model == EvenModel());
  UseRewardStructure(loaded, "steps", "reward");
  EXPECT_TRUE(loaded.model == EvenModel());
}

TEST(ModelFile, AnUnknownRewardStructureBringsTheNamesAndTheNearest) {
  LoadedModel loaded = Annotated();
  EXPECT_EQ(BadInputOf([&] { return UseRewardStructure(loaded, "conis", "reward"), 0; }),
            "reward: expected one of steps, coins, time, found 'conis'; did you mean 'coins'?");
  loaded.annotations.rewards.clear();
  EXPECT_EQ(BadInputOf([&] { return UseRewardStructure(loaded, "steps", "reward"), 0; }),
            "reward: the rewards of this file have no names to choose from");
}

TEST(ModelFile, EndingsMayBeInCapitals) {
  const TemporaryFolder directory;
  for (const std::string name : {"m.BIN", "m.Npz", "m.MDP", "m.POMDP", "m.CSV", "m.DRN"}) {
    EXPECT_NO_THROW(CheckModelPath(directory / name));
    WriteModel(EvenModel(), directory / name);
    EXPECT_EQ(ReadModel(directory / name).model.states(), 5u) << name;
  }
}

TEST(ModelFile, ABinaryModelIsKnownWhateverItsEnding) {
  const TemporaryFolder directory;
  WriteModel(EvenModel(), directory / "m.bin");
  for (const std::string name : {"m", "m.model", "m.csv"}) {
    std::filesystem::copy_file(directory / "m.bin", directory / name);
    EXPECT_TRUE(ReadModel(directory / name).model == EvenModel()) << name;
  }
}

TEST(ModelFile, AFileThatOnlyClaimsToBeBinaryIsNot) {
  const TemporaryFolder directory;
  WriteText(directory / "m.bin", "s,a,next,p,r\n0,0,0,1,0\n");
  EXPECT_NE(BadInputOf([&] { ReadModel(directory / "m.bin"); }).find("not a stableaa model"),
            std::string::npos);
}

TEST(ModelFile, OtherEndingsAreRefusedWithAListOfThoseThereAre) {
  const TemporaryFolder directory;
  WriteText(directory / "m.txt", "text");
  const std::string list =
      ": expected a model file with one of the endings .tra, .drn, .csv, .mdp, .pomdp, .npz, .bin";
  for (const std::string name : {"m.txt", "m", "m.", "csv", ".csv"}) {
    const std::string expected = (directory / name).string() + list;
    EXPECT_EQ(BadInputOf([&] { CheckModelPath(directory / name); }), expected);
    EXPECT_EQ(BadInputOf([&] { ReadModel(directory / name); }), expected);
    EXPECT_EQ(BadInputOf([&] { WriteModel(EvenModel(), directory / name); }), expected);
  }
}

TEST(ModelFile, MissingFilesDirectoriesAndEmptyFilesAreBadInput) {
  const TemporaryFolder directory;
  for (const std::string& ending : kEndings) {
    const auto path = directory / ("none" + ending);
    EXPECT_NE(BadInputOf([&] { ReadModel(path); }).find("does not exist"), std::string::npos)
        << ending;
    WriteText(path, "");
    EXPECT_NE(BadInputOf([&] { ReadModel(path); }), "") << ending;
    std::filesystem::create_directory(directory / ("directory" + ending));
    EXPECT_NE(
        BadInputOf([&] { ReadModel(directory / ("directory" + ending)); }).find("is a directory"),
        std::string::npos)
        << ending;
  }
}

// Like /dev/stdin and the shell's <(...).
TEST(ModelFile, APipeWithoutAnEndingIsRefusedWithAWayOut) {
  const TemporaryFolder directory;
  const auto pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string message = BadInputOf([&] { ReadModel(pipe); });
  EXPECT_NE(message.find("a pipe needs one too"), std::string::npos) << message;
  EXPECT_NE(message.find("ln -s /dev/stdin model.csv"), std::string::npos) << message;

  // And that works.
  const auto link = directory / "link.csv";
  std::filesystem::create_symlink(pipe, link);
  WriteModel(EvenModel(), directory / "m.csv");
  std::thread writer([&] { WriteText(pipe, ReadText(directory / "m.csv")); });
  const Model model = ReadModel(link).model;
  writer.join();
  EXPECT_TRUE(model.WithDiscount(0.9) == EvenModel());
}

TEST(ModelFile, AModelMayComeThroughAPipe) {
  const TemporaryFolder directory;
  for (const std::string ending : {".csv", ".mdp", ".npz", ".bin"}) {
    WriteModel(EvenModel(), directory / ("m" + ending));
    const std::string bytes = ReadText(directory / ("m" + ending));
    const auto pipe = directory / ("pipe" + ending);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] { WriteText(pipe, bytes); });
    const Model model = ReadModel(pipe).model;
    writer.join();
    EXPECT_TRUE(model.WithDiscount(0.9) == EvenModel()) << ending;
  }
}

}  // namespace stableaa::model_file_test
