#include "stableaa/mdp/formats/model_file.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <span>

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
  std::vector<std::string> (*write)(const Model& model, const fs::path& path);
};

// The text formats are read on one thread.
template <LoadedModel (*kRead)(const fs::path&)>
LoadedModel WithOneThread(const fs::path& path, int /*threads*/) {
  return kRead(path);
}

constexpr std::array<Format, 7> kFormats = {{
    {".tra", "PRISM explicit files", WithOneThread<ReadPrismModel>, WritePrismModel},
    {".drn", "DRN", WithOneThread<ReadDrnModel>, WriteDrnModel},
    {".csv", "CSV", WithOneThread<ReadCsvModel>, WriteCsvModel},
    {".mdp", "Cassandra text", WithOneThread<ReadCassandraModel>, WriteCassandraModel},
    {".pomdp", "Cassandra text", WithOneThread<ReadCassandraModel>, WriteCassandraModel},
    {".npz", "NumPy archive", ReadNpzModel, WriteNpzModel},
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

std::vector<std::string> WriteModel(const Model& model, const fs::path& path) {
  return FormatOf(path).write(model, path);
}

std::string_view FormatName(const fs::path& path) {
  return IsBinaryModel(path) ? kFormats.back().name : FormatOf(path).name;
}

void CheckModelPath(const fs::path& path) { FormatOf(path); }

}  // namespace stableaa
