#include "stableaa/mdp/formats/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/mdp/formats/binary_format.h"
#include "stableaa/mdp/formats/cassandra_format.h"
#include "stableaa/mdp/formats/csv_format.h"
#include "stableaa/mdp/formats/drn_format.h"
#include "stableaa/mdp/formats/npz_model_format.h"
#include "stableaa/mdp/formats/prism_format.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

struct Format {
  std::string_view ending;
  std::string_view name;
  LoadedModel (*read)(const fs::path& path, int threads);
  std::vector<std::string> (*write)(const Model& model, const fs::path& path,
                                    const ModelAnnotations& annotations);
};

// The text formats are read on one thread.
template <LoadedModel (*kRead)(const fs::path&)>
LoadedModel WithOneThread(const fs::path& path, int /*threads*/) {
  return kRead(path);
}

// For formats that hold no annotations.
template <std::vector<std::string> (*kWrite)(const Model&, const fs::path&)>
std::vector<std::string> WithoutAnnotations(const Model& model, const fs::path& path,
                                            const ModelAnnotations& annotations) {
  std::vector<std::string> dropped = kWrite(model, path);
  for (std::size_t i = 1; i < annotations.rewards.size(); ++i) {
    dropped.push_back(fmt::format("reward structure '{}'", Shorten(annotations.rewards[i].name)));
  }
  if (const std::size_t labels = annotations.labels.size(); labels > 0) {
    dropped.push_back(fmt::format("{} label{}", labels, labels == 1 ? "" : "s"));
  }
  // State 0 alone is what everyone assumes.
  const std::span<const std::uint64_t> initial = annotations.initial.span();
  if (initial.size() > 1 || (initial.size() == 1 && initial.front() != 0)) {
    dropped.emplace_back("the initial states");
  }
  if (!annotations.actions.names.empty()) dropped.emplace_back("action names");
  return dropped;
}

constexpr std::array<Format, 7> kFormats = {{
    {".tra", "PRISM explicit files", WithOneThread<ReadPrismModel>, WritePrismModel},
    {".drn", "DRN", WithOneThread<ReadDrnModel>, WriteDrnModel},
    {".csv", "CSV", WithOneThread<ReadCsvModel>, WithoutAnnotations<WriteCsvModel>},
    {".mdp", "Cassandra text", WithOneThread<ReadCassandraModel>,
     WithoutAnnotations<WriteCassandraModel>},
    {".pomdp", "Cassandra text", WithOneThread<ReadCassandraModel>,
     WithoutAnnotations<WriteCassandraModel>},
    {".npz", "NumPy archive", ReadNpzModel, WithoutAnnotations<WriteNpzModel>},
    {".bin", "stableaa binary", ReadBinaryModel, WriteBinaryModel},
}};

const Format& FormatOf(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string endings;
  for (const Format& format : kFormats) {
    if (format.ending == ending) return format;
    endings += fmt::format("{}{}", endings.empty() ? "" : ", ", format.ending);
  }
  std::error_code error;
  const bool pipe = fs::is_fifo(path, error) || fs::is_character_file(path, error);
  throw BadInput(fmt::format("{}: expected a model file with one of the endings {}{}",
                             path.string(), endings,
                             pipe ? "; a pipe needs one too, to tell the format: give it a name "
                                    "with mkfifo or a link (ln -s /dev/stdin model.csv)"
                                  : ""));
}

// Only peeks into regular files: what is read from a pipe is gone.
bool IsBinaryModel(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::array<char, 8> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return file.good() && HasBinaryModelMagic(std::as_bytes(std::span(start)));
}

}  // namespace

LoadedModel ReadModel(const fs::path& path, int threads) {
  if (IsBinaryModel(path)) return ReadBinaryModel(path, threads);
  return FormatOf(path).read(path, threads);
}

void UseRewardStructure(LoadedModel& loaded, const std::string& name, const std::string& label) {
  std::vector<RewardStructure>& structures = loaded.annotations.rewards;
  if (structures.empty()) {
    throw BadInput(fmt::format("{}: the rewards of this file have no names to choose from", label));
  }
  const auto chosen = std::ranges::find(structures, name, &RewardStructure::name);
  if (chosen == structures.end()) {
    std::vector<std::string> names;
    for (const RewardStructure& structure : structures) names.push_back(Shorten(structure.name));
    throw BadInput(fmt::format("{}: expected one of {}, found '{}'{}", label,
                               RewardNames(loaded.annotations), Shorten(name),
                               DidYouMean(name, names)));
  }
  std::rotate(structures.begin(), chosen, chosen + 1);
  ModelArrays arrays = loaded.model.arrays();
  arrays.rewards = structures.front().rewards.span();
  auto owner = std::make_shared<const std::pair<Model, SharedArray<double>>>(
      loaded.model, structures.front().rewards);
  loaded.model = Model(arrays, std::move(owner), loaded.model.discount());
}

std::string RewardNames(const ModelAnnotations& annotations) {
  std::string list;
  for (const RewardStructure& structure : annotations.rewards) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", Shorten(structure.name));
  }
  return Shorten(list, 1000);
}

std::vector<std::string> WriteModel(const Model& model, const fs::path& path,
                                    const ModelAnnotations& annotations) {
  return FormatOf(path).write(model, path, annotations);
}

std::string_view FormatName(const fs::path& path) {
  return IsBinaryModel(path) ? kFormats.back().name : FormatOf(path).name;
}

void CheckModelPath(const fs::path& path) { FormatOf(path); }

}  // namespace stableaa
