#include "stableaa/anderson/window_kernels.h"

#include <algorithm>
#include <array>

// The loops are also compiled for AVX2 and chosen at run time: twice as fast while the window fits
// in the caches. (Sanitizers do not get along with the resolver.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STABLEAA_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define STABLEAA_CLONES
#endif
#define STABLEAA_INLINE __attribute__((always_inline))

namespace stableaa {
namespace {

constexpr std::size_t kKernelBlock = 1024;
// Elements between two prefetches of the next block: a few cache lines per stream.
constexpr std::size_t kPart = 64;

// Calls work(begin, end) over [0, n): all at once or, if the vectors stream from memory, in parts,
// prefetching the corresponding part of the next block of `pointers` before each. (Prefetching
// beyond the end of a vector does no harm.)
template <typename Work, typename... Pointers>
inline STABLEAA_INLINE void ForEachPart(bool streams, std::size_t n, Work work,
                                        const Pointers*... pointers) {
  if (!streams) {
    work(0, n);
    return;
  }
  const auto fetch = [](const auto* p, std::size_t size) STABLEAA_INLINE {
    for (std::size_t i = 0; i < size; i += 64 / sizeof(*p)) __builtin_prefetch(p + i, 0, 2);
  };
  for (std::size_t begin = 0; begin < n; begin += kPart) {
    const std::size_t end = std::min(begin + kPart, n);
    (fetch(pointers + begin + kKernelBlock, end - begin), ...);
    work(begin, end);
  }
}

// The `simd reduction` pragmas let only these sums be added in vector order, which -ffast-math
// would allow for the whole file.

// Adds Σ a·c to sums[0] and Σ b·c to sums[1], reading c once.
template <typename A, typename B, typename C>
inline STABLEAA_INLINE void AddDots(const A* a, const B* b, const C* c, std::size_t n, bool streams,
                                    double* sums) {
  double a_sum = 0;
  double b_sum = 0;
  const auto add = [&](std::size_t begin, std::size_t end) STABLEAA_INLINE {
    double a_part = 0;
    double b_part = 0;
#pragma omp simd reduction(+ : a_part, b_part)
    for (std::size_t i = begin; i < end; ++i) {
      a_part += static_cast<double>(a[i]) * static_cast<double>(c[i]);
      b_part += static_cast<double>(b[i]) * static_cast<double>(c[i]);
    }
    a_sum += a_part;
    b_sum += b_part;
  };
  ForEachPart(streams, n, add, c);
  sums[0] += a_sum;
  sums[1] += b_sum;
}

// The scalars are copied into locals because stores through double pointers could change them.
template <typename T>
inline STABLEAA_INLINE void AppendBlocks(const AppendChunk<T>& chunk) {
  const double scale = chunk.scale;
  const double damping = chunk.damping;
  double* const sums = chunk.sums;
  std::fill_n(sums, kOthers + 2 * chunk.older.size(), 0.0);
  std::array<double, kKernelBlock> e;  // scaled residual
  for (std::size_t at = 0; at < chunk.size; at += kKernelBlock) {
    const std::size_t size = std::min(kKernelBlock, chunk.size - at);
    const double* __restrict const x = chunk.x + at;
    const double* __restrict const image = chunk.image + at;
    const double* __restrict const previous_iterate = chunk.previous_iterate + at;
    const double* __restrict const previous_residual = chunk.previous_residual + at;
    double* __restrict const iterate = chunk.iterate + at;
    double* __restrict const residual = chunk.residual + at;
    T* __restrict const h = chunk.new_h + at;
    T* __restrict const w = chunk.new_w + at;
    const auto store = [&](std::size_t begin, std::size_t end) STABLEAA_INLINE {
      double ee = 0;
      double dd = 0;
      double hh = 0;
      double he = 0;
#pragma omp simd reduction(+ : ee, dd, hh, he)
      for (std::size_t i = begin; i < end; ++i) {
        const double r = image[i] - x[i];
        const double scaled = r * scale;
        const double step = (x[i] - previous_iterate[i]) * scale;
        const T stored = static_cast<T>((r - previous_residual[i]) * scale);
        const auto difference = static_cast<double>(stored);
        residual[i] = r;
        iterate[i] = x[i];
        e[i] = scaled;
        h[i] = stored;
        w[i] = static_cast<T>(step + damping * difference);
        ee += scaled * scaled;
        dd += step * step;
        hh += difference * difference;
        he += difference * scaled;
      }
      sums[kResidual] += ee;
      sums[kNewStep] += dd;
      sums[kNewColumn] += hh;
      sums[kCross] += he;
    };
    ForEachPart(chunk.streams, size, store, x, image, previous_iterate, previous_residual, iterate,
                residual, h, w);
    for (std::size_t j = 0; j < chunk.older.size(); ++j) {
      AddDots(h, e.data(), chunk.older[j] + at, size, chunk.streams, sums + kOthers + 2 * j);
    }
  }
}

template <typename T>
inline STABLEAA_INLINE void MixBlocks(const MixChunk<T>& chunk) {
  const double damping = chunk.damping;
  for (std::size_t at = 0; at < chunk.size; at += kKernelBlock) {
    const std::size_t size = std::min(kKernelBlock, chunk.size - at);
    double* __restrict const out = chunk.x + at;
    const double* __restrict const residual = chunk.residual + at;
    const auto add_residual = [&](std::size_t begin, std::size_t end) STABLEAA_INLINE {
      for (std::size_t i = begin; i < end; ++i) out[i] += damping * residual[i];
    };
    ForEachPart(chunk.streams, size, add_residual, out, residual);
    std::size_t j = 0;
    for (; j + 4 <= chunk.columns.size(); j += 4) {  // four at a time: fewer trips to the cache
      const T* __restrict const a = chunk.columns[j] + at;
      const T* __restrict const b = chunk.columns[j + 1] + at;
      const T* __restrict const c = chunk.columns[j + 2] + at;
      const T* __restrict const d = chunk.columns[j + 3] + at;
      const std::array<double, 4> w = {chunk.weights[j], chunk.weights[j + 1], chunk.weights[j + 2],
                                       chunk.weights[j + 3]};
      const auto take_four = [&](std::size_t begin, std::size_t end) STABLEAA_INLINE {
        for (std::size_t i = begin; i < end; ++i) {
          out[i] -= (w[0] * static_cast<double>(a[i]) + w[1] * static_cast<double>(b[i])) +
                    (w[2] * static_cast<double>(c[i]) + w[3] * static_cast<double>(d[i]));
        }
      };
      ForEachPart(chunk.streams, size, take_four, a, b, c, d);
    }
    for (; j < chunk.columns.size(); ++j) {
      const T* __restrict const a = chunk.columns[j] + at;
      const double w = chunk.weights[j];
      const auto take = [&](std::size_t begin, std::size_t end) STABLEAA_INLINE {
        for (std::size_t i = begin; i < end; ++i) out[i] -= w * static_cast<double>(a[i]);
      };
      ForEachPart(chunk.streams, size, take, a);
    }
  }
}

STABLEAA_CLONES void Append(const AppendChunk<double>& chunk) { AppendBlocks(chunk); }
STABLEAA_CLONES void Append(const AppendChunk<float>& chunk) { AppendBlocks(chunk); }
STABLEAA_CLONES void Mix(const MixChunk<double>& chunk) { MixBlocks(chunk); }
STABLEAA_CLONES void Mix(const MixChunk<float>& chunk) { MixBlocks(chunk); }

}  // namespace

template <typename T>
void AppendChunk<T>::Run() const {
  Append(*this);
}

template <typename T>
void MixChunk<T>::Run() const {
  Mix(*this);
}

template struct AppendChunk<double>;
template struct AppendChunk<float>;
template struct MixChunk<double>;
template struct MixChunk<float>;

}  // namespace stableaa
