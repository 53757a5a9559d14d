#include "stableaa/mdp/formats/prism_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>

#include "stableaa/base/files/mapped_file.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/mdp/formats/annotations_builder.h"
#include "stableaa/mdp/formats/expected_reward.h"
#include "stableaa/mdp/formats/prism_labels.h"
#include "stableaa/mdp/formats/prism_rewards.h"
#include "stableaa/mdp/formats/text_scanner.h"
#include "stableaa/mdp/formats/text_writer.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

// Reads the .tra and gets each row's rewards from the other files.
class PrismParser {
 public:
  PrismParser(const PrismTexts& texts, const std::string& stem)
      : texts_(texts),
        stem_(stem),
        in_(texts.transitions, fmt::format("{}.tra", stem)),
        builder_([this] { return in_.WhereAt(row_offset_); }) {
    layout_ = ReadHeader();
    structures_.reserve(texts.rewards.size());
    for (std::size_t i = 0; i < texts.rewards.size(); ++i) OpenRewards(i);
  }

  LoadedModel Parse() {
    while (in_.SkipToContent(kPrismComment)) ReadLine();
    if (!row_.empty()) EndRow();
    CheckStates();
    CheckCounts();
    LoadedModel loaded = {builder_.Finish(std::nullopt), {}};
    loaded.annotations.rewards = rewards_.Finish(loaded.model, RewardNames());
    loaded.annotations.actions = action_names_.Finish();
    if (texts_.labels) {
      ParsePrismLabels(*texts_.labels, fmt::format("{}.lab", stem_), loaded.model.states(),
                       loaded.annotations);
    }
    if (names_differ_) loaded.dropped.emplace_back("names of transitions");
    if (structures_.empty()) {
      loaded.dropped.emplace_back("no rewards: no .srew or .trew beside it");
    }
    return loaded;
  }

 private:
  // A reward structure.
  struct Structure {
    std::string name;  // may be empty
    std::optional<PrismStateRewards> of_states;
    std::optional<PrismTransitionRewards> of_transitions;
    double of_state = 0;  // in the current state
  };

  bool numbered() const { return texts_.numbered || texts_.rewards.size() > 1; }

  void OpenRewards(std::size_t i) {
    const PrismRewardTexts& texts = texts_.rewards[i];
    const std::string stem = numbered() ? fmt::format("{}{}", stem_, i + 1) : stem_;
    Structure& structure = structures_.emplace_back();
    if (texts.of_states) {
      structure.of_states.emplace(*texts.of_states, fmt::format("{}.srew", stem), layout_.counts);
      structure.name = PrismRewardName(*texts.of_states);
    }
    if (texts.of_transitions) {
      const std::string file = fmt::format("{}.trew", stem);
      structure.of_transitions.emplace(*texts.of_transitions, file, layout_);
      const std::string_view name = PrismRewardName(*texts.of_transitions);
      if (structure.name.empty()) structure.name = name;
      if (!name.empty() && name != structure.name) {
        throw RewardNameFault(
            *texts.of_transitions, file,
            fmt::format("expected reward structure '{}' as in {}.srew, found '{}'",
                        Shorten(structure.name), stem, Shorten(name)));
      }
    }
    for (std::size_t j = 0; j < i && !structure.name.empty(); ++j) {
      if (structures_[j].name != structure.name) continue;
      const bool in_states = texts.of_states && !PrismRewardName(*texts.of_states).empty();
      throw RewardNameFault(in_states ? *texts.of_states : *texts.of_transitions,
                            fmt::format("{}.{}", stem, in_states ? "srew" : "trew"),
                            fmt::format("reward structure '{}' is also that of {}{}",
                                        Shorten(structure.name), stem_, j + 1));
    }
  }

  // With the line of the name in the file.
  static Error RewardNameFault(std::string_view text, const std::string& file,
                               std::string_view sentence) {
    const auto offset = static_cast<std::size_t>(PrismRewardName(text).data() - text.data());
    return TextScanner(text, file).FaultAt(offset, sentence);
  }

  // A structure that is the only one needs no name.
  std::vector<std::string> RewardNames() const {
    std::vector<std::string> names;
    for (const Structure& structure : structures_) {
      if (structure.name.empty() && !numbered()) continue;
      std::string name = structure.name;
      if (name.empty()) {
        name = fmt::to_string(names.size() + 1);
        while (std::ranges::find(structures_, name, &Structure::name) != structures_.end()) {
          name += '_';
        }
      }
      names.push_back(std::move(name));
    }
    return names;
  }

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
    const PrismRow number = ReadPrismRow(in_, layout_.choices);
    const bool new_row = row_.empty() || number != number_;
    if (new_row) BeginRow(number, line);
    const std::uint64_t next = in_.Unsigned("a next state");
    if (next > largest_next_) {
      largest_next_ = next;
      largest_next_offset_ = line;
      if (layout_.counts) CheckNext(expected_.states);
    }
    row_.push_back({next, in_.Probability(), 0});
    const std::string_view name = in_.AtLineEnd() ? std::string_view() : in_.Word();
    if (new_row) row_name_ = name;
    if (name != row_name_) row_names_differ_ = true;
    in_.ExpectLineEnd();
    ++lines_;
  }

  void BeginRow(const PrismRow& number, std::size_t line) {
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
    row_names_differ_ = false;
    if (!new_state) return;
    builder_.BeginState();
    for (Structure& structure : structures_) {
      structure.of_state = structure.of_states ? structure.of_states->Of(number.state) : 0;
    }
  }

  void EndRow() {
    const double reward = structures_.empty() ? 0 : RowReward(structures_.front());
    for (std::size_t i = 1; i < structures_.size(); ++i) {
      for (PrismTransition& transition : row_) transition.reward = 0;
      rewards_.Set(i, FiniteRowReward(structures_[i]));
    }
    for (const PrismTransition& transition : row_) {
      builder_.Transition(transition.next, transition.probability);
    }
    builder_.EndRow(reward);
    rewards_.EndRow();
    action_names_.AddRow(row_names_differ_ ? std::string_view() : row_name_);
    names_differ_ |= row_names_differ_;
    row_.clear();
  }

  double RowReward(Structure& structure) {
    if (structure.of_transitions) structure.of_transitions->Assign(number_, row_);
    ExpectedReward reward;
    for (const PrismTransition& transition : row_) {
      reward.Add(transition.probability, transition.reward);
    }
    const double expected = reward.Take();
    // Adding 0 would turn -0 into 0.
    return structure.of_state == 0 ? expected : expected + structure.of_state;
  }

  // ModelBuilder checks only its own rewards.
  double FiniteRowReward(Structure& structure) {
    const double reward = RowReward(structure);
    if (std::isfinite(reward)) return reward;
    throw in_.FaultAt(row_offset_,
                      fmt::format("state {}, action {}: expected a finite reward, found {}",
                                  number_.state, number_.choice, reward));
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
    const PrismCounts found = {builder_.states(), builder_.rows(), lines_};
    if (layout_.counts) {
      CheckPrismCount(in_, header_, "states", expected_.states, found.states);
      CheckPrismCount(in_, header_, "choices", expected_.choices, found.choices);
      CheckPrismCount(in_, header_, "transitions", expected_.lines, found.lines);
    }
    for (const Structure& structure : structures_) {
      if (structure.of_states) structure.of_states->Finish(found.states);
      if (structure.of_transitions) structure.of_transitions->Finish(found);
    }
  }

  const PrismTexts& texts_;
  const std::string& stem_;
  TextScanner in_;
  PrismLayout layout_ = {};
  PrismCounts expected_;
  std::size_t header_ = 0;
  std::vector<Structure> structures_;

  ModelBuilder builder_;
  PrismRow number_;                   // of the current row
  std::size_t row_offset_ = 0;        // where it begins
  std::vector<PrismTransition> row_;  // empty before the first
  std::string_view row_name_;
  bool row_names_differ_ = false;  // within the row
  std::uint64_t largest_next_ = 0;
  std::size_t largest_next_offset_ = 0;
  std::uint64_t lines_ = 0;
  bool names_differ_ = false;  // within any row
  RewardBuilder rewards_;
  ActionNameBuilder action_names_;
};

// ---- The files of a model ----

// The file beside x.tra with another extension, upper case for x.TRA.
fs::path Beside(fs::path path, std::string ending) {
  const std::string own = path.extension().string();
  const auto upper = [](unsigned char c) { return std::isupper(c) != 0; };
  if (std::ranges::any_of(own, upper)) {
    for (char& c : ending) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return path.replace_extension(ending);
}

// x2.tra for x.tra.
fs::path Numbered(const fs::path& path, std::size_t number) {
  fs::path numbered = path;
  return numbered.replace_filename(
      fmt::format("{}{}{}", path.stem().string(), number, path.extension().string()));
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

struct PrismRewardFiles {
  std::optional<fs::path> of_states;
  std::optional<fs::path> of_transitions;
};

// What is read with a .tra.
struct PrismFiles {
  std::vector<PrismRewardFiles> rewards;
  bool numbered = false;
  std::optional<fs::path> labels;
};

// `exists` tells which files there are.
template <typename Existence>
PrismFiles FilesOf(const fs::path& path, const Existence& exists) {
  const auto existing = [&](const fs::path& tra, const char* ending) {
    fs::path file = Beside(tra, ending);
    return exists(file) ? std::optional(std::move(file)) : std::nullopt;
  };
  const auto add = [&](const fs::path& tra, PrismFiles& files) {
    PrismRewardFiles rewards = {existing(tra, ".srew"), existing(tra, ".trew")};
    const bool any = rewards.of_states || rewards.of_transitions;
    if (any) files.rewards.push_back(std::move(rewards));
    return any;
  };
  PrismFiles files;
  files.labels = existing(path, ".lab");
  if (add(path, files)) return files;
  files.numbered = true;
  for (std::size_t number = 1;; ++number) {
    const fs::path numbered = Numbered(path, number);
    if (exists(numbered) || !add(numbered, files)) return files;
    if (files.rewards.size() > kMostRewardStructures) {
      throw BadInput(fmt::format("{}: expected at most {} reward structures beside it",
                                 path.string(), kMostRewardStructures));
    }
  }
}

// ---- Writing ----

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

void WriteTransitionRewards(const Model& model, std::string_view name,
                            std::span<const double> rewards, TextWriter& out) {
  if (!name.empty()) {
    out.Print(FMT_COMPILE("# Reward structure \"{}\"\n# Transition rewards\n"), name);
  }
  std::uint64_t lines = 0;
  for (std::uint64_t row = 0; row < model.rows(); ++row) {
    if (IsZero(rewards[row])) continue;
    lines += model.row_transitions()[row + 1] - model.row_transitions()[row];
  }
  out.Print(FMT_COMPILE("{} {} {}\n"), model.states(), model.rows(), lines);
  model.VisitColumns([&](const auto columns) {
    VisitTransitions(model, [&](auto state, auto action, auto row, auto k) {
      if (IsZero(rewards[row])) return;
      out.Print(FMT_COMPILE("{} {} {} {}\n"), state, action, columns[k], rewards[row]);
    });
  });
}

// `names[i]` is printed for ActionNames::names[i]; empty for one that cannot be held.
void WriteTransitions(const Model& model, const ActionNames& actions,
                      const std::vector<std::string>& names, TextWriter& out) {
  out.Print(FMT_COMPILE("{} {} {}\n"), model.states(), model.rows(), model.transitions());
  model.VisitColumns([&](const auto columns) {
    VisitTransitions(model, [&](auto state, auto action, auto row, auto k) {
      const std::uint32_t name = actions.rows.empty() ? 0 : actions.rows[row];
      out.Print(FMT_COMPILE("{} {} {} {}{}\n"), state, action, columns[k], model.probabilities()[k],
                name == 0 ? std::string_view("") : names[name - 1]);
    });
  });
}

class PrismWriter {
 public:
  PrismWriter(const Model& model, const fs::path& path, const ModelAnnotations& annotations)
      : model_(model), path_(path), annotations_(annotations), dropped_(WithoutDiscount(model)) {
    const std::size_t structures = std::max<std::size_t>(annotations.rewards.size(), 1);
    for (std::size_t i = 1; i <= structures; ++i) {
      reward_paths_.push_back(Beside(structures == 1 ? path : Numbered(path, i), ".trew"));
    }
    if (!annotations.labels.empty() || !annotations.initial.empty()) {
      labels_path_ = Beside(path, ".lab");
    }
    CheckNeighbours();
  }

  std::vector<std::string> Write() {
    std::deque<TextWriter> files;
    for (std::size_t i = 0; i < reward_paths_.size(); ++i) {
      const bool named = !annotations_.rewards.empty();
      WriteTransitionRewards(model_,
                             named ? RewardName(annotations_.rewards[i].name) : std::string_view(),
                             named ? annotations_.rewards[i].rewards.span() : model_.rewards(),
                             files.emplace_back(reward_paths_[i]));
    }
    if (labels_path_) {
      Drop(WritePrismLabels(annotations_, model_.states(), files.emplace_back(*labels_path_)));
    }
    WriteTransitions(model_, annotations_.actions, ActionWords(), files.emplace_back(path_));
    for (TextWriter& file : files) file.Commit();
    return std::move(dropped_);
  }

 private:
  // No file may be read with the new ones that does not belong to them, nor the other way round.
  void CheckNeighbours() const {
    const auto is_new = [&](const fs::path& file) {
      return std::ranges::find(reward_paths_, file) != reward_paths_.end() || file == labels_path_;
    };
    const auto check = [&](const std::optional<fs::path>& file) {
      if (!file || is_new(*file)) return;
      throw BadInput(
          fmt::format("cannot write {}: {} lies beside it and would be read with it; "
                      "move it away or choose another name",
                      path_.string(), file->filename().string()));
    };
    for (std::size_t i = 1; reward_paths_.size() > 1 && i <= reward_paths_.size(); ++i) {
      const fs::path other = Numbered(path_, i);
      if (!Exists(other)) continue;
      throw BadInput(
          fmt::format("cannot write {}: its rewards would be read with {}; choose "
                      "another name",
                      path_.string(), other.filename().string()));
    }
    const PrismFiles files =
        FilesOf(path_, [&](const fs::path& file) { return is_new(file) || Exists(file); });
    for (const PrismRewardFiles& rewards : files.rewards) {
      check(rewards.of_states);
      check(rewards.of_transitions);
    }
    check(files.labels);
  }

  std::string_view RewardName(const std::string& name) {
    if (name.find('"') == name.npos) return name;
    dropped_.push_back(fmt::format("the name of reward structure '{}'", Shorten(name)));
    return {};
  }

  // The words at the ends of lines, each with a blank in front.
  std::vector<std::string> ActionWords() {
    std::vector<std::string> words;
    for (const std::string& name : annotations_.actions.names) {
      const bool word = name.find_first_of(" \t\r") == name.npos;
      words.push_back(word ? fmt::format(" {}", name) : "");
      if (!word) dropped_.push_back(fmt::format("action name '{}'", Shorten(name)));
    }
    return words;
  }

  void Drop(std::vector<std::string> items) {
    std::ranges::move(items, std::back_inserter(dropped_));
  }

  const Model& model_;
  const fs::path& path_;
  const ModelAnnotations& annotations_;
  std::vector<fs::path> reward_paths_;
  std::optional<fs::path> labels_path_;
  std::vector<std::string> dropped_;
};

}  // namespace

LoadedModel ParsePrismModel(const PrismTexts& texts, const std::string& stem) {
  return PrismParser(texts, stem).Parse();
}

LoadedModel ReadPrismModel(const fs::path& path) {
  std::deque<MappedFile> mapped;
  const auto text = [&](const std::optional<fs::path>& file) {
    return file ? std::optional(mapped.emplace_back(*file).text()) : std::nullopt;
  };
  const PrismFiles files = FilesOf(path, Exists);
  PrismTexts texts = {.transitions = *text(path)};
  texts.numbered = files.numbered;
  for (const PrismRewardFiles& rewards : files.rewards) {
    texts.rewards.push_back({text(rewards.of_states), text(rewards.of_transitions)});
  }
  texts.labels = text(files.labels);
  LoadedModel loaded = ParsePrismModel(texts, fs::path(path).replace_extension().string());
  if (const fs::path beside = Beside(path, ".sta"); Exists(beside)) {
    loaded.dropped.push_back(fmt::format("state names in {}", beside.filename().string()));
  }
  return loaded;
}

std::vector<std::string> WritePrismModel(const Model& model, const fs::path& path,
                                         const ModelAnnotations& annotations) {
  return PrismWriter(model, path, annotations).Write();
}

}  // namespace stableaa
