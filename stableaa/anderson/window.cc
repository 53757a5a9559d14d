#include "stableaa/anderson/window.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <type_traits>

#include "stableaa/anderson/scale.h"
#include "stableaa/anderson/triangle.h"
#include "stableaa/anderson/window_kernels.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/concat.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

// Partial sums are kept per chunk, so their order does not depend on the threads.
constexpr std::size_t kChunk = 1 << 14;
// Rows folded into a triangle at a time, and chunks that get their own triangle: few, because at
// large memory a triangle is large.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kMaxTriangles = 64;

std::size_t ChunkCount(std::size_t n, std::size_t size) { return (n + size - 1) / size; }

// QR of `rows`, whose top k rows hold the R so far; leaves the new R on top.
void FoldIntoTriangle(Eigen::Ref<Eigen::MatrixXd> rows) {
  const Eigen::Index k = rows.cols();
  internal::FactorizeInPlace(
      {.data = rows.data(), .rows = rows.rows(), .columns = k, .stride = rows.outerStride()});
  rows.topRows(k).triangularView<Eigen::StrictlyLower>().setZero();
}

// Prints three digits.
std::string Gigabytes(double bytes) {
  char text[32];
  const auto end =
      std::to_chars(std::begin(text), std::end(text), bytes / 1e9, std::chars_format::general, 3);
  return {text, end.ptr};
}

std::string ShapeText(std::uint64_t size, std::int64_t memory, double damping, bool is_float) {
  return Concat("size ", size, ", memory ", memory, ", damping ", damping, ", ",
                is_float ? "float" : "double", " history");
}

std::vector<double> ReadFinite(ByteReader& reader, std::size_t size, const char* what) {
  std::vector<double> values(size);
  reader.F64s(values);
  for (const double v : values) {
    if (!std::isfinite(v)) throw reader.Wrong(Concat(what, " has ", v));
  }
  return values;
}

void WriteColumn(ByteWriter& writer, std::span<const double> column) { writer.F64s(column); }
void WriteColumn(ByteWriter& writer, std::span<const float> column) { writer.F32s(column); }
void ReadColumn(ByteReader& reader, std::span<double> column) { reader.F64s(column); }
void ReadColumn(ByteReader& reader, std::span<float> column) { reader.F32s(column); }

}  // namespace

template <typename Work>
void Window::WithStorage(Work work) {
  shape_.precision == HistoryPrecision::kFloat ? work(floats_) : work(doubles_);
}

template <typename Work>
void Window::WithStorage(Work work) const {
  shape_.precision == HistoryPrecision::kFloat ? work(floats_) : work(doubles_);
}

template <typename Work>
void Window::ForEachChunk(std::size_t size, Work work) const {
  const auto chunks = static_cast<std::int64_t>(ChunkCount(shape_.size, size));
  const auto run = [&](std::int64_t chunk) {
    const std::size_t begin = static_cast<std::size_t>(chunk) * size;
    work(static_cast<std::size_t>(chunk), begin, std::min(begin + size, shape_.size));
  };
  if (shape_.threads == 1 || chunks == 1) {  // an `if` clause would still start a team: 1 µs
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) run(chunk);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(shape_.threads)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) run(chunk);
}

Window::Window(const Shape& shape, const Reduction& reduction)
    : shape_(shape), reduction_(reduction) {
  const std::size_t n = shape.size;
  const auto m = static_cast<std::size_t>(shape.memory);
  // With memory 0 one column is still written, so the pass needs no special case.
  const std::size_t slots = std::max<std::size_t>(m, 1);
  const std::size_t element =
      shape.precision == HistoryPrecision::kFloat ? sizeof(float) : sizeof(double);
  const double bytes =
      static_cast<double>(n) * static_cast<double>(2 * slots * element + 4 * sizeof(double));
  try {
    if (bytes > static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
      throw std::bad_alloc();
    }
    WithStorage([&](auto& storage) {
      storage.residual_differences.resize(n * slots);
      storage.step_differences.resize(n * slots);
    });
    for (auto* v : {&iterate_, &residual_, &previous_iterate_, &previous_residual_}) v->resize(n);
    const std::size_t sums = kOthers + 2 * m;
    sums_.resize(sums);
    chunk_sums_.resize(sums * ChunkCount(n, kChunk));
    gram_.reserve(m * m);
    cross_.reserve(m);
    steps_squared_.reserve(m + 1);
  } catch (const std::exception&) {  // bad_alloc, or length_error from a vector
    throw WorkFailed(Concat("no memory for an acceleration window of ", n, " × ", m, " (",
                            Gigabytes(bytes), " GB)"));
  }
}

std::size_t Window::Slot(int age) const {
  return (newest_ + static_cast<std::size_t>(age)) % static_cast<std::size_t>(shape_.memory);
}

void Window::Clear() {
  DropColumns();
  has_previous_ = false;
  scale_ = 1;
  residual_squared_ = 0;
}

void Window::DropColumns() {
  columns_ = 0;
  gram_.clear();
  cross_.clear();
  steps_squared_.clear();
}

double Window::ResidualNorm() const { return std::sqrt(residual_squared_) / scale_; }

Window::Outcome Window::Append(std::span<const double> x, std::span<const double> image) {
  if (!has_previous_) {
    StoreFirst(x, image);
    if (!std::isfinite(residual_squared_)) return Outcome::kNonFinite;
    has_previous_ = true;
    return Outcome::kFirst;
  }
  const int others = std::max(0, std::min(columns_, shape_.memory - 1));
  const auto memory = static_cast<std::size_t>(shape_.memory);
  const std::size_t slot = memory > 0 ? (newest_ + memory - 1) % memory : 0;
  std::swap(iterate_, previous_iterate_);
  std::swap(residual_, previous_residual_);
  StoreNext(x, image, slot, others);
  if (!InRange(sums_[kResidual]) || !InRange(sums_[kNewStep])) return Outcome::kOutOfRange;
  residual_squared_ = sums_[kResidual];
  if (memory == 0) return Outcome::kFirst;
  newest_ = slot;
  Rotate(others);
  return Outcome::kExtended;
}

// Whether a sum of scaled squares has kept its digits and its terms fit the stored precision.
bool Window::InRange(double square) const {
  const double limit = shape_.precision == HistoryPrecision::kFloat ? 1e50 : 1e200;
  return square == 0 || (square >= 1 / limit && square <= limit);
}

// Computes the residual of a first pair, and the scale from it.
void Window::StoreFirst(std::span<const double> x, std::span<const double> image) {
  // Dividing by n first keeps the sum of finite magnitudes finite.
  const double weight = 1 / static_cast<double>(shape_.size);
  ForEachChunk(kChunk, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double e = image[i] - x[i];
      iterate_[i] = x[i];
      residual_[i] = e;
      sum += std::abs(e) * weight;
    }
    chunk_sums_[chunk] = sum;
  });
  SumOverChunksAndRanks(1);
  const double mean = sums_[0];
  if (!std::isfinite(mean)) {
    residual_squared_ = mean;
    return;
  }
  scale_ = ScaleFor(mean);
  ForEachChunk(kChunk, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double e = residual_[i] * scale_;
      sum += e * e;
    }
    chunk_sums_[chunk] = sum;
  });
  SumOverChunksAndRanks(1);
  residual_squared_ = sums_[0];
}

bool Window::Streams() const {
  // Below this, prefetching was measured to cost more than it saves.
  constexpr std::size_t kCachedBytes = std::size_t{8} << 20;
  return shape_.size * (2 * static_cast<std::size_t>(shape_.memory) + 6) * 8 > kCachedBytes;
}

// The first pass: writes the new columns to `slot` and computes every inner product with them.
void Window::StoreNext(std::span<const double> x, std::span<const double> image, std::size_t slot,
                       int others) {
  const std::size_t count = kOthers + 2 * static_cast<std::size_t>(others);
  WithStorage([&](auto& storage) {
    auto& h = storage.residual_differences;
    auto& w = storage.step_differences;
    using T = typename std::remove_reference_t<decltype(h)>::value_type;
    ForEachChunk(kChunk, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
      std::array<const T*, kMaxMemory> older;
      for (int j = 0; j < others; ++j) {
        older[static_cast<std::size_t>(j)] = &h[Slot(j) * shape_.size + begin];
      }
      AppendChunk<T>{.size = end - begin,
                     .x = &x[begin],
                     .image = &image[begin],
                     .previous_iterate = &previous_iterate_[begin],
                     .previous_residual = &previous_residual_[begin],
                     .iterate = &iterate_[begin],
                     .residual = &residual_[begin],
                     .new_h = &h[slot * shape_.size + begin],
                     .new_w = &w[slot * shape_.size + begin],
                     .older = std::span(older).first(static_cast<std::size_t>(others)),
                     .scale = scale_,
                     .damping = shape_.damping,
                     .streams = Streams(),
                     .sums = &chunk_sums_[chunk * count]}
          .Run();
    });
  });
  SumOverChunksAndRanks(count);
}

void Window::SumOverChunksAndRanks(std::size_t count) {
  const std::size_t chunks = ChunkCount(shape_.size, kChunk);
  for (std::size_t s = 0; s < count; ++s) {
    double sum = 0;
    for (std::size_t c = 0; c < chunks; ++c) sum += chunk_sums_[c * count + s];
    sums_[s] = sum;
  }
  if (reduction_.ranks > 1) reduction_.sum(std::span(sums_).first(count));
}

// Puts the new column at the front of the inner products and drops the oldest.
void Window::Rotate(int others) {
  const auto old_columns = static_cast<std::size_t>(columns_);
  columns_ = others + 1;
  const auto c = static_cast<std::size_t>(columns_);
  std::vector<double>& g = gram_;
  g.resize(c * c);
  for (std::size_t i = c; i-- > 1;) {  // backwards, since every entry moves to a higher index
    for (std::size_t j = c; j-- > 1;) g[i * c + j] = g[(i - 1) * old_columns + (j - 1)];
  }
  cross_.resize(c);
  g[0] = sums_[kNewColumn];
  cross_[0] = sums_[kCross];
  for (std::size_t j = 1; j < c; ++j) {
    g[j] = g[j * c] = sums_[kOthers + 2 * (j - 1)];
    cross_[j] = sums_[kOthers + 2 * (j - 1) + 1];
  }
  steps_squared_.insert(steps_squared_.begin(), sums_[kNewStep]);
  steps_squared_.resize(c);
}

WindowProducts Window::Products() const {
  double iterates_squared = 0;
  for (const double s : steps_squared_) iterates_squared += s;
  return {.differences = columns_,
          .gram = gram_,
          .cross = cross_,
          .residual_squared = residual_squared_,
          .iterates_squared = iterates_squared,
          .scale = scale_};
}

// The second pass.
void Window::Mix(std::span<const double> tau, std::span<double> x) const {
  std::array<double, kMaxMemory> weights;
  for (std::size_t j = 0; j < tau.size(); ++j) weights[j] = tau[j] / scale_;
  WithStorage([&](const auto& storage) {
    const auto& w = storage.step_differences;
    using T = typename std::remove_cvref_t<decltype(w)>::value_type;
    ForEachChunk(kChunk, [&](std::size_t, std::size_t begin, std::size_t end) {
      std::array<const T*, kMaxMemory> columns;
      for (std::size_t j = 0; j < tau.size(); ++j) {
        columns[j] = &w[Slot(static_cast<int>(j)) * shape_.size + begin];
      }
      MixChunk<T>{.size = end - begin,
                  .x = &x[begin],
                  .residual = &residual_[begin],
                  .columns = std::span(columns).first(tau.size()),
                  .weights = weights.data(),
                  .damping = shape_.damping,
                  .streams = Streams()}
          .Run();
    });
  });
}

void Window::StepBack(std::span<double> x) const {
  ForEachChunk(kChunk, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      x[i] = previous_iterate_[i] + shape_.damping * previous_residual_[i];
    }
  });
}

// Folds every block of rows of [H e] into its chunk's triangle, the chunks' triangles into one, and
// the ranks' triangles, gathered through sums with zeros elsewhere, into the final one.
WindowTriangle Window::Triangle() {
  const auto k = static_cast<Eigen::Index>(columns_) + 1;
  const auto entries = static_cast<std::size_t>(k * k);
  const std::size_t chunk_size =
      kChunk * ChunkCount(ChunkCount(shape_.size, kChunk), kMaxTriangles);
  const std::size_t chunks = ChunkCount(shape_.size, chunk_size);
  std::vector<double> triangles(entries * chunks);
  WithStorage([&](const auto& storage) {
    ForEachChunk(chunk_size, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
      Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(k + static_cast<Eigen::Index>(kBlock), k);
      for (std::size_t at = begin; at < end; at += kBlock) {
        const std::size_t size = std::min(kBlock, end - at);
        for (int j = 0; j < columns_; ++j) {
          const auto* const h = storage.residual_differences.data() + Slot(j) * shape_.size + at;
          for (std::size_t i = 0; i < size; ++i) {
            rows(k + static_cast<Eigen::Index>(i), j) = static_cast<double>(h[i]);
          }
        }
        for (std::size_t i = 0; i < size; ++i) {
          rows(k + static_cast<Eigen::Index>(i), k - 1) = residual_[at + i] * scale_;
        }
        FoldIntoTriangle(rows.topRows(k + static_cast<Eigen::Index>(size)));
      }
      Eigen::Map<Eigen::MatrixXd>(&triangles[chunk * entries], k, k) = rows.topRows(k);
    });
  });

  const auto fold_all = [&](std::span<const double> stack, std::size_t count) {
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(2 * k, k);
    for (std::size_t c = 0; c < count; ++c) {
      rows.bottomRows(k) = Eigen::Map<const Eigen::MatrixXd>(&stack[c * entries], k, k);
      FoldIntoTriangle(rows);
    }
    return Eigen::MatrixXd(rows.topRows(k));
  };
  Eigen::MatrixXd r = fold_all(triangles, chunks);
  if (reduction_.ranks > 1) {
    std::vector<double> gathered(entries * static_cast<std::size_t>(reduction_.ranks));
    std::copy_n(r.data(), entries, &gathered[entries * static_cast<std::size_t>(reduction_.rank)]);
    reduction_.sum(gathered);
    r = fold_all(gathered, static_cast<std::size_t>(reduction_.ranks));
  }
  r.transposeInPlace();  // WindowTriangle is row-major
  triangle_.assign(r.data(), r.data() + entries);
  return {.differences = columns_,
          .triangle = triangle_,
          .iterates_squared = Products().iterates_squared,
          .scale = scale_};
}

void Window::Save(ByteWriter& writer) const {
  writer.U64(shape_.size);
  writer.I64(shape_.memory);
  writer.F64(shape_.damping);
  writer.Bool(shape_.precision == HistoryPrecision::kFloat);
  writer.Bool(has_previous_);
  if (!has_previous_) return;
  writer.F64(scale_);
  writer.F64s(iterate_);
  writer.F64s(residual_);
  writer.F64(residual_squared_);
  writer.I64(columns_);
  writer.F64s(gram_);
  writer.F64s(cross_);
  writer.F64s(steps_squared_);
  WithStorage([&](const auto& storage) {
    for (int age = 0; age < columns_; ++age) {
      const std::size_t at = Slot(age) * shape_.size;
      WriteColumn(writer, std::span(storage.residual_differences).subspan(at, shape_.size));
      WriteColumn(writer, std::span(storage.step_differences).subspan(at, shape_.size));
    }
  });
}

void Window::Load(ByteReader& reader, int least_columns) {
  const std::uint64_t size = reader.U64();
  const std::int64_t memory = reader.I64();
  const double damping = reader.F64();
  const bool is_float = reader.Bool();
  if (size != shape_.size || memory != shape_.memory || damping != shape_.damping ||
      is_float != (shape_.precision == HistoryPrecision::kFloat)) {
    throw reader.Wrong(Concat("expected an acceleration window of ",
                              ShapeText(shape_.size, shape_.memory, shape_.damping,
                                        shape_.precision == HistoryPrecision::kFloat),
                              ", found ", ShapeText(size, memory, damping, is_float)));
  }
  if (!reader.Bool()) {
    if (least_columns > 0) throw reader.Wrong("expected an acceleration window, found none");
    Clear();
    return;
  }
  Window loaded(shape_, reduction_);
  loaded.has_previous_ = true;
  loaded.scale_ = reader.F64();
  int exponent = 0;
  if (!(loaded.scale_ > 0) || std::frexp(loaded.scale_, &exponent) != 0.5) {
    throw reader.Wrong(Concat("expected a power of two as scale, found ", loaded.scale_));
  }
  loaded.iterate_ = ReadFinite(reader, shape_.size, "the iterate");
  loaded.residual_ = ReadFinite(reader, shape_.size, "the residual");
  loaded.residual_squared_ = reader.F64();
  if (!(loaded.residual_squared_ >= 0)) {
    throw reader.Wrong(Concat("a squared norm is ", loaded.residual_squared_));
  }
  const std::int64_t columns = reader.I64();
  if (columns < least_columns || columns > shape_.memory) {
    throw reader.Wrong(
        Concat("expected ", least_columns, " to ", shape_.memory, " columns, found ", columns));
  }
  loaded.columns_ = static_cast<int>(columns);
  const auto c = static_cast<std::size_t>(columns);
  loaded.gram_ = ReadFinite(reader, c * c, "the Gram matrix");
  loaded.cross_ = ReadFinite(reader, c, "a cross product");
  loaded.steps_squared_ = ReadFinite(reader, c, "a step norm");
  loaded.WithStorage([&](auto& storage) {
    for (int age = 0; age < loaded.columns_; ++age) {
      const std::size_t at = loaded.Slot(age) * shape_.size;
      for (auto* part : {&storage.residual_differences, &storage.step_differences}) {
        const auto column = std::span(*part).subspan(at, shape_.size);
        ReadColumn(reader, column);
        for (const auto v : column) {
          if (!std::isfinite(v)) throw reader.Wrong(Concat("a column has ", v));
        }
      }
    }
  });
  *this = std::move(loaded);
}

}  // namespace stableaa
