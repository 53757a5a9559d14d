#include "stableaa/mdp/formats/npz_model_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

#include "stableaa/base/files/mapped_file.h"
#include "stableaa/base/files/npz.h"
#include "stableaa/base/files/npz_reader.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

constexpr std::array<std::string_view, 6> kKeys = {"state_ptr", "indptr", "indices",
                                                   "data",      "reward", "discount"};
constexpr std::size_t kMostNamesDropped = 10;

// Reader.

NpyArray ReadList(const NpzReader& archive, const char* key) {
  NpyArray array = archive.Read(key);
  array.ExpectList();
  return array;
}

void ExpectElements(const NpyArray& array, std::uint64_t expected, const char* by) {
  if (array.elements() == expected) return;
  throw array.Wrong(
      fmt::format("expected {} elements by {}, found {}", expected, by, array.elements()));
}

// Non-decreasing offsets from 0 to `end`.
std::vector<std::uint64_t> ReadOffsets(const NpyArray& array, std::uint64_t end,
                                       const char* end_is) {
  if (array.elements() < 2) {
    throw array.Wrong(fmt::format("expected at least 2 elements, found {}", array.elements()));
  }
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(array.elements()));
  array.Integers(0, offsets);
  if (offsets.front() != 0) {
    throw array.Wrong(fmt::format("element 0: expected 0, found {}", offsets.front()));
  }
  const auto fall = std::ranges::adjacent_find(offsets, std::greater<>());
  if (fall != offsets.end()) {
    throw array.Wrong(fmt::format("element {}: expected at least the {} before it, found {}",
                                  fall - offsets.begin() + 1, *fall, *(fall + 1)));
  }
  if (offsets.back() != end) {
    throw array.Wrong(
        fmt::format("the last element: expected {}, {}, found {}", end, end_is, offsets.back()));
  }
  return offsets;
}

std::optional<double> ReadDiscount(const NpzReader& archive, const std::string& name) {
  if (!archive.Contains("discount")) return std::nullopt;
  const NpyArray array = archive.Read("discount");
  if (array.elements() != 1 || array.shape().size() > 1) {
    throw array.Wrong("expected one number, of shape () or (1,)");
  }
  std::array<double, 1> discount{};
  array.Numbers(0, discount);
  CheckDiscount(discount[0], fmt::format("{}: array 'discount'", name));
  return discount[0];
}

// Reads the transitions row by row into reused buffers.
class RowReader {
 public:
  RowReader(const NpyArray& indices, const NpyArray& data, std::uint64_t states)
      : indices_(indices), data_(data), states_(states) {}

  void Read(std::uint64_t begin, std::uint64_t end) {
    const auto size = static_cast<std::size_t>(end - begin);
    next_.resize(size);
    probabilities_.resize(size);
    indices_.Integers(begin, next_);
    data_.Numbers(begin, probabilities_);
    for (std::size_t i = 0; i < size; ++i) {
      if (next_[i] >= states_) {
        throw indices_.Wrong(fmt::format("element {}: expected a state below {}, found {}",
                                         begin + i, states_, next_[i]));
      }
    }
    if (data_.dtype().ends_with("f4")) Widen();
  }

  std::size_t size() const { return next_.size(); }
  std::uint64_t next(std::size_t i) const { return next_[i]; }
  double probability(std::size_t i) const { return probabilities_[i]; }

 private:
  // Divides by the sum if it is 1 within float32 precision.
  void Widen() {
    double sum = 0;
    for (const double probability : probabilities_) sum += probability;
    const double rounding =
        static_cast<double>(size() + 4) * std::numeric_limits<float>::epsilon() / 2;
    if (!(std::abs(sum - 1) <= std::min(rounding, 1e-3))) return;
    for (double& probability : probabilities_) probability /= sum;
  }

  const NpyArray& indices_;
  const NpyArray& data_;
  std::uint64_t states_;
  std::vector<std::uint64_t> next_;
  std::vector<double> probabilities_;
};

std::vector<std::string> OtherArrays(const NpzReader& archive) {
  std::vector<std::string> others;
  std::size_t unnamed = 0;
  for (const std::string& name : archive.names()) {
    if (std::ranges::find(kKeys, name) != kKeys.end()) continue;
    if (others.size() < kMostNamesDropped) {
      others.push_back(fmt::format("array '{}'", Shorten(name)));
    } else {
      ++unnamed;
    }
  }
  if (unnamed > 0) others.push_back(fmt::format("{} more arrays", unnamed));
  return others;
}

// Writer.

// The model's arrays of unsigned numbers as NumPy's signed ones, piece by piece.
template <typename Signed, typename Unsigned>
void AddIntegers(NpzWriter& out, const char* key, std::span<const Unsigned> values) {
  const auto write = [values](const NpzWriter::Sink& sink) {
    std::array<Signed, 4096> piece;
    for (std::size_t begin = 0; begin < values.size(); begin += piece.size()) {
      const std::size_t size = std::min(piece.size(), values.size() - begin);
      for (std::size_t i = 0; i < size; ++i) piece[i] = static_cast<Signed>(values[begin + i]);
      sink(std::as_bytes(std::span(piece).first(size)));
    }
  };
  constexpr char kByteOrder = std::endian::native == std::endian::little ? '<' : '>';
  out.AddStream(key, {values.size()}, fmt::format("{}i{}", kByteOrder, sizeof(Signed)), write);
}

void AddColumns(NpzWriter& out, const Model& model) {
  model.VisitColumns([&]<typename Column>(std::span<const Column> columns) {
    if (model.states() - 1 <= std::uint64_t{std::numeric_limits<std::int32_t>::max()}) {
      AddIntegers<std::int32_t>(out, "indices", columns);
    } else {
      AddIntegers<std::int64_t>(out, "indices", columns);
    }
  });
}

}  // namespace

LoadedModel ParseNpzModel(std::span<const std::byte> bytes, const std::string& name) {
  const NpzReader archive(bytes, name);
  const NpyArray state_ptr = ReadList(archive, "state_ptr");
  const NpyArray indptr = ReadList(archive, "indptr");
  const NpyArray indices = ReadList(archive, "indices");
  const NpyArray data = ReadList(archive, "data");
  const NpyArray reward = ReadList(archive, "reward");
  const std::optional<double> discount = ReadDiscount(archive, name);

  ExpectElements(data, indices.elements(), "the length of indices");
  const std::vector<std::uint64_t> row_transitions =
      ReadOffsets(indptr, indices.elements(), "the length of indices");
  const std::uint64_t rows = row_transitions.size() - 1;
  ExpectElements(reward, rows, "indptr, which has one more");
  const std::vector<std::uint64_t> state_rows =
      ReadOffsets(state_ptr, rows, "the length of reward");
  std::vector<double> rewards(static_cast<std::size_t>(rows));
  reward.Numbers(0, rewards);

  const std::size_t states = state_rows.size() - 1;
  RowReader transitions(indices, data, states);
  std::size_t row = 0;
  ModelBuilder builder([&] { return fmt::format("{}: row {}", name, row); });
  builder.Reserve(states, rewards.size(), static_cast<std::size_t>(indices.elements()));
  for (std::size_t state = 0; state < states; ++state) {
    builder.BeginState();
    for (row = state_rows[state]; row < state_rows[state + 1]; ++row) {
      transitions.Read(row_transitions[row], row_transitions[row + 1]);
      for (std::size_t i = 0; i < transitions.size(); ++i) {
        builder.Transition(transitions.next(i), transitions.probability(i));
      }
      builder.EndRow(rewards[row]);
    }
  }
  return {builder.Finish(discount), OtherArrays(archive)};
}

LoadedModel ReadNpzModel(const std::filesystem::path& path, [[maybe_unused]] int threads) {
  const MappedFile file(path);
  return ParseNpzModel(file.bytes(), path.string());
}

std::vector<std::string> WriteNpzModel(const Model& model, const std::filesystem::path& path) {
  NpzWriter out(path);
  AddIntegers<std::int64_t>(out, "state_ptr", model.state_rows());
  AddIntegers<std::int64_t>(out, "indptr", model.row_transitions());
  AddColumns(out, model);
  out.Add("data", {model.transitions()}, model.probabilities());
  out.Add("reward", {model.rows()}, model.rewards());
  if (model.discount()) out.Add("discount", {}, std::array{*model.discount()});
  out.Finish();
  return {};
}

}  // namespace stableaa
