// stableaa mdp generate, convert and info: model files.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "stableaa/base/terminal/progress.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/base/text/whole_number.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/model_reading.h"
#include "stableaa/cli/option_flag.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/core/error.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/structure.h"
#include "stableaa/mdp/solve/passes.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

std::string Bytes(std::uint64_t bytes) {
  return fmt::format("{}B", HumanCount(static_cast<double>(bytes)));
}

Json OrNull(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

std::string Listed(const std::vector<std::string>& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ", ") + item;
  return list;
}

// ---- generate ----

struct GenerateFlags {
  GeneratorOptions options;
  std::string out;
  bool json = false;
};

double ParseNumber(const std::string& flag, const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) {
    throw BadInput(fmt::format("{}: expected a number, found '{}'", flag, Shorten(text)));
  }
  return number;
}

// 1000000, 1_000_000 or 1e6.
std::uint64_t ParseWhole(const std::string& flag, const std::string& text) {
  const std::optional<WholeNumber> number = ReadWholeNumber(text);
  const auto within = [](auto value) { return std::in_range<std::uint64_t>(value); };
  if (!number || !std::visit(within, *number)) {
    throw BadInput(
        fmt::format("{}: expected a whole number of at least 0, found '{}'", flag, Shorten(text)));
  }
  return std::visit([](auto value) { return static_cast<std::uint64_t>(value); }, *number);
}

std::string KindNames() {
  std::string names;
  for (const GeneratorKind& kind : GeneratorKinds()) {
    names += fmt::format("{}{}", names.empty() ? "" : "|", kind.name);
  }
  return names;
}

// "grid, maze": the kinds that have the option.
std::string KindsWith(std::string_view option) {
  std::vector<std::string> names;
  for (const GeneratorKind& kind : GeneratorKinds()) {
    if (std::ranges::find(kind.options, option, &GeneratorOption::name) != kind.options.end()) {
      names.emplace_back(kind.name);
    }
  }
  return Listed(names);
}

// Each kind with its options, their defaults and ranges.
std::string KindsForHelp() {
  std::string text = "Kinds and their options [default, range]:\n";
  for (const GeneratorKind& kind : GeneratorKinds()) {
    text += fmt::format("  {}: {}\n", kind.name, kind.description);
    for (const GeneratorOption& option : kind.options) {
      const std::string value =
          option.default_value ? fmt::format("{}, ", *option.default_value) : "";
      text += fmt::format("    {:<15} {} [{}{} to {}]\n", FlagOf(option.name), option.meaning,
                          value, option.least, option.most);
    }
  }
  return text;
}

void AddGeneratorFlags(CLI::App& command, GeneratorOptions& options) {
  for (const GeneratorField& field : GeneratorFields()) {
    const std::string flag = FlagOf(field.name);
    command
        .add_option_function<std::string>(
            flag,
            [&options, &field, flag](const std::string& text) {
              if (field.integer != nullptr) {
                options.*field.integer = ParseWhole(flag, text);
              } else {
                options.*field.real = ParseNumber(flag, text);
              }
            },
            fmt::format("for {}", KindsWith(field.name)))
        ->type_name(field.integer != nullptr ? "N" : "X");
  }
}

Model GenerateShowingProgress(const GeneratorOptions& options) {
  const Progress progress(
      {.label = fmt::format("generating {}", options.kind), .unit = "", .by_itself = true});
  return GenerateModel(options);
}

// Returns what could not be written. A discount can be given again when the file is read.
std::vector<std::string> WriteShowingProgress(const Model& model, const std::string& path,
                                              const ModelAnnotations& annotations = {}) {
  const Progress progress(
      {.label = fmt::format("writing {}", Shorten(path)), .unit = "", .by_itself = true});
  std::vector<std::string> dropped = WriteModel(model, path, annotations);
  for (std::string& item : dropped) {
    if (item.starts_with("the discount ")) item += " (pass --discount when reading it)";
  }
  return dropped;
}

void RunGenerate(const GenerateFlags& flags) {
  if (flags.options.discount) CheckDiscount(*flags.options.discount, "--discount");
  CheckModelPath(flags.out);
  CheckWritable(flags.out);
  const Stopwatch watch;
  const Model model = GenerateShowingProgress(flags.options);
  const std::vector<std::string> dropped = WriteShowingProgress(model, flags.out);
  if (flags.json) {
    const Json object = {{"file", flags.out},
                         {"kind", flags.options.kind},
                         {"seed", flags.options.seed},
                         {"shuffle", flags.options.shuffle},
                         {"states", model.states()},
                         {"rows", model.rows()},
                         {"transitions", model.transitions()},
                         {"discount", OrNull(model.discount())},
                         {"bytes", model.bytes()},
                         {"seconds", watch.Seconds()},
                         {"not_written", dropped}};
    fmt::print("{}\n", JsonText(object));
    return;
  }
  PrintPlain("{}, {} in memory, {}\n", ModelSummary(flags.out, model), Bytes(model.bytes()),
             HumanDuration(watch.Seconds()));
  if (!dropped.empty()) PrintPlain("not written: {}\n", Listed(dropped));
}

void AddGenerate(CLI::App& mdp) {
  auto flags = std::make_shared<GenerateFlags>();
  flags->options.label = FlagOf;
  CLI::App* generate = mdp.add_subcommand("generate", "Make a model of a given kind and size");
  generate->add_option("KIND", flags->options.kind, "What kind of model")
      ->required()
      ->type_name(KindNames());
  generate->add_option("-o,--out", flags->out, "Model file; the ending names the format")
      ->required()
      ->type_name("FILE");
  AddSeedFlag(*generate, &flags->options.seed, "Seed of everything random (default: 1)");
  generate
      ->add_option("--discount", flags->options.discount,
                   "Discount to store, where the format has a place for it (default: none)")
      ->type_name("G in [0, 1)");
  generate->add_flag("--shuffle", flags->options.shuffle, "Number the states at random");
  AddGeneratorFlags(*generate, flags->options);
  generate->add_flag("--json", flags->json, "One JSON object");
  generate->footer(
      fmt::format("{}Endings: .tra .drn .csv .mdp .pomdp .npz .bin; .bin is the fastest to read.\n"
                  "Equal options give equal bytes.\n"
                  "Example: stableaa mdp generate grid --width 300 --height 300 --shuffle --seed 7 "
                  "-o grid.drn\n",
                  KindsForHelp()));
  generate->callback([flags] { RunGenerate(*flags); });
}

// ---- convert ----

struct ConvertFlags {
  std::string in, out;
  std::optional<std::string> reward;
  std::optional<double> discount;
  int threads = 1;
  bool json = false;
};

void RunConvert(const ConvertFlags& flags) {
  if (flags.discount) CheckDiscount(*flags.discount, "--discount");
  CheckModelPath(flags.out);
  CheckWritable(flags.out);
  const auto [loaded, seconds] = ReadModelShowingProgress(flags.in, flags.threads, flags.reward);
  const Model model = flags.discount ? loaded.model.WithDiscount(flags.discount) : loaded.model;
  const std::vector<std::string> dropped =
      WriteShowingProgress(model, flags.out, loaded.annotations);
  if (flags.json) {
    const Json object = {{"in", flags.in},
                         {"out", flags.out},
                         {"states", model.states()},
                         {"rows", model.rows()},
                         {"transitions", model.transitions()},
                         {"discount", OrNull(model.discount())},
                         {"load_seconds", seconds},
                         {"not_read", loaded.dropped},
                         {"not_written", dropped}};
    fmt::print("{}\n", JsonText(object));
    return;
  }
  PrintPlain("{}\n", ModelSummary(flags.out, model));
  if (!loaded.dropped.empty()) {
    PrintPlain("dropped on reading {}: {}\n", Shorten(flags.in, 200), Listed(loaded.dropped));
  }
  if (!dropped.empty()) {
    PrintPlain("dropped on writing {}: {}\n", Shorten(flags.out, 200), Listed(dropped));
  }
  if (loaded.dropped.empty() && dropped.empty()) PrintPlain("nothing was dropped\n");
}

void AddConvert(CLI::App& mdp) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* convert = mdp.add_subcommand(
      "convert", "Write a model in another format, and tell what that could not keep");
  convert->add_option("IN", flags->in, "Model file")->required()->type_name("FILE");
  convert->add_option("OUT", flags->out, "Model file; the ending names the format")
      ->required()
      ->type_name("FILE");
  convert
      ->add_option("--discount", flags->discount,
                   "Discount to store instead of IN's (default: that of IN, if it has one)")
      ->type_name("G in [0, 1)");
  AddRewardFlag(*convert, &flags->reward);
  AddThreadsFlag(*convert, &flags->threads, "Threads for checking the model");
  convert->add_flag("--json", flags->json, "One JSON object");
  convert->footer(
      "Endings: .tra (PRISM's explicit files, rewards in .srew and .trew beside it), .drn, .csv,\n"
      ".mdp, .pomdp (Cassandra's text), .npz, .bin (stableaa's own). Probabilities, rewards and\n"
      "structure are kept to the last bit; .tra, .drn and .bin also keep labels, initial states,\n"
      "all reward structures (--reward puts one first) and action names.\n"
      "Example: stableaa mdp convert model.tra model.bin --discount 0.99\n");
  convert->callback([flags] { RunConvert(*flags); });
}

// ---- info ----

struct InfoFlags {
  std::string file;
  std::optional<std::string> reward;
  int threads = 1;
  bool json = false;
};

struct PassTime {
  double seconds = 0;
  double bytes_per_second = 0;
};

// The faster of two plain passes: the first may have to read the file's pages.
PassTime TimePass(const Model& model, int threads) {
  constexpr double kAnyDiscount = 0.9;  // the time does not depend on it
  const std::vector<double> values(model.states());
  std::vector<double> image(model.states());
  double seconds = HUGE_VAL;
  for (int run = 0; run < 2; ++run) {
    const Stopwatch watch;
    BackupPass(model, model.discount().value_or(kAnyDiscount), values, image, {}, threads);
    seconds = std::min(seconds, watch.Seconds());
  }
  return {seconds, seconds > 0 ? static_cast<double>(PassBytes(model)) / seconds : 0};
}

Json RewardStructuresJson(const ModelAnnotations& annotations) {
  Json list = Json::array();
  for (const RewardStructure& structure : annotations.rewards) {
    const auto [least, most] = std::ranges::minmax(structure.rewards);
    list.push_back({{"name", structure.name}, {"least", least}, {"most", most}});
  }
  return list;
}

Json LabelsJson(const ModelAnnotations& annotations) {
  Json counts = Json::object();
  for (const StateLabel& label : annotations.labels) counts[label.name] = label.states.size();
  return counts;
}

void PrintInfoJson(const InfoFlags& flags, const ReadingResult& reading, const ModelStructure& s,
                   const PassTime& pass) {
  const ModelAnnotations& annotations = reading.loaded.annotations;
  const Json object = {
      {"file", flags.file},
      {"format", FormatName(flags.file)},
      {"discount", OrNull(reading.loaded.model.discount())},
      {"load_seconds", reading.seconds},
      {"not_read", reading.loaded.dropped},
      {"states", s.states},
      {"rows", s.rows},
      {"transitions", s.transitions},
      {"bytes", s.bytes},
      {"least_actions", s.least_actions},
      {"most_actions", s.most_actions},
      {"mean_actions", s.mean_actions},
      {"least_transitions", s.least_transitions},
      {"most_transitions", s.most_transitions},
      {"mean_transitions", s.mean_transitions},
      {"density", s.density},
      {"deterministic", s.deterministic},
      {"self_loop_share", s.self_loop_share},
      {"reachable", s.reachable},
      {"absorbing", s.absorbing},
      {"components", s.components},
      {"largest_component", s.largest_component},
      {"closed_components", s.closed_components},
      {"least_reward", s.least_reward},
      {"most_reward", s.most_reward},
      {"reward_structures", RewardStructuresJson(annotations)},
      {"labels", LabelsJson(annotations)},
      {"initial", annotations.initial.size()},
      {"first_initial", annotations.initial.empty() ? Json() : Json(annotations.initial[0])},
      {"action_names", annotations.actions.names.size()},
      {"threads", flags.threads},
      {"sweep_seconds", pass.seconds},
      {"bytes_per_second", pass.bytes_per_second}};
  fmt::print("{}\n", JsonText(object));
}

void PrintAnnotations(const ModelAnnotations& annotations) {
  if (const std::size_t count = annotations.initial.size(); count > 0) {
    PrintPlain("initial      {} {}, {}{}\n", count, count == 1 ? "state" : "states",
               annotations.initial[0], count == 1 ? "" : " the first");
  }
  constexpr std::size_t kMostShown = 30;
  const std::vector<StateLabel>& labels = annotations.labels;
  for (std::size_t i = 0; i < std::min(labels.size(), kMostShown); ++i) {
    PrintPlain("{:<12} {}: {} {}\n", i == 0 ? "labels" : "", Shorten(labels[i].name),
               labels[i].states.size(), labels[i].states.size() == 1 ? "state" : "states");
  }
  if (labels.size() > kMostShown) {
    PrintPlain("{:<12} and {} more\n", "", labels.size() - kMostShown);
  }
  if (const std::size_t names = annotations.actions.names.size(); names > 0) {
    const auto unnamed = std::ranges::count(annotations.actions.rows, 0U);
    PrintPlain("action names {}, of {} rows\n", names,
               annotations.actions.rows.size() - static_cast<std::size_t>(unnamed));
  }
}

// The first structure is the model's.
void PrintRewards(const ModelAnnotations& annotations, const ModelStructure& s) {
  if (annotations.rewards.empty()) {
    PrintPlain("rewards      {:.6g} to {:.6g}\n", s.least_reward, s.most_reward);
  }
  for (std::size_t i = 0; i < annotations.rewards.size(); ++i) {
    const RewardStructure& structure = annotations.rewards[i];
    const auto [least, most] = std::ranges::minmax(structure.rewards);
    PrintPlain("{:<12} {:.6g} to {:.6g} in {}\n", i == 0 ? "rewards" : "", least, most,
               Shorten(structure.name));
  }
}

void PrintInfo(const InfoFlags& flags, const ReadingResult& reading, const ModelStructure& s,
               const PassTime& pass) {
  const std::optional<double> discount = reading.loaded.model.discount();
  PrintPlain("{}: {}, read in {:.3g} s\n", Shorten(flags.file, 200), FormatName(flags.file),
             reading.seconds);
  PrintPlain("states       {}, of which state 0 reaches {}\n", s.states, s.reachable);
  PrintPlain("absorbing    {}\n", s.absorbing);
  PrintPlain("actions      {} to {} per state, {:.4g} on average; {} rows\n", s.least_actions,
             s.most_actions, s.mean_actions, s.rows);
  PrintPlain("transitions  {}; {} to {} per row, {:.4g} on average; density {:.3g}\n",
             s.transitions, s.least_transitions, s.most_transitions, s.mean_transitions, s.density);
  PrintPlain("moves        {}, {:.3g}% of the rows may stay in their state\n",
             s.deterministic ? "deterministic" : "random", 100 * s.self_loop_share);
  PrintPlain("components   {} strongly connected, the largest with {} states; {} closed\n",
             s.components, s.largest_component, s.closed_components);
  PrintAnnotations(reading.loaded.annotations);
  PrintRewards(reading.loaded.annotations, s);
  PrintPlain("discount     {}\n",
             discount ? fmt::format("{}", *discount) : "none in the file: solve needs --discount");
  PrintPlain("memory       {}\n", Bytes(s.bytes));
  PrintPlain("sweep        {:.3g} ms with {} {}, {:.3g} GB/s\n", 1e3 * pass.seconds, flags.threads,
             flags.threads == 1 ? "thread" : "threads", 1e-9 * pass.bytes_per_second);
  if (!reading.loaded.dropped.empty()) {
    PrintPlain("not read     {}\n", Listed(reading.loaded.dropped));
  }
}

void RunInfo(const InfoFlags& flags) {
  const ReadingResult reading = ReadModelShowingProgress(flags.file, flags.threads, flags.reward);
  ModelStructure structure;
  PassTime pass;
  {
    const Progress progress({.label = fmt::format("looking at {}", Shorten(flags.file)),
                             .unit = "",
                             .by_itself = true});
    structure = Analyse(reading.loaded.model);
    pass = TimePass(reading.loaded.model, flags.threads);
  }
  flags.json ? PrintInfoJson(flags, reading, structure, pass)
             : PrintInfo(flags, reading, structure, pass);
}

void AddInfo(CLI::App& mdp) {
  auto flags = std::make_shared<InfoFlags>();
  CLI::App* info =
      mdp.add_subcommand("info", "Size, graph, labels, rewards and the time of a sweep of a model");
  info->add_option("FILE", flags->file, "Model file")->required()->type_name("FILE");
  AddRewardFlag(*info, &flags->reward);
  AddThreadsFlag(*info, &flags->threads, "Threads for checking the model and for the sweep");
  info->add_flag("--json", flags->json, "One JSON object");
  info->footer("Example: stableaa mdp info grid.drn\n");
  info->callback([flags] { RunInfo(*flags); });
}

}  // namespace

void AddMdpCommand(CLI::App& program) {
  CLI::App* mdp = program.add_subcommand("mdp", "Make, convert and describe model files");
  mdp->require_subcommand(1);
  mdp->footer(
      "Example: stableaa mdp generate garnet --states 1000 --discount 0.99 -o garnet.npz\n");
  AddGenerate(*mdp);
  AddConvert(*mdp);
  AddInfo(*mdp);
}

}  // namespace stableaa
