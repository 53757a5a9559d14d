// The implementation of kernels.h for one instruction set: included by kernels_*.cc, each of which
// is compiled with its own flags and defines
//
//   STABLEAA_KERNELS   the name of its table
//   STABLEAA_NAME      its text
//   STABLEAA_LANES     floats in a vector register: 4, 8 or 16
//   STABLEAA_ROWS      most rows of a tile
//   STABLEAA_GROUP     panels of a tile with that many rows
//
// Must not use anything from the standard library, not even inline functions: the linker would keep
// only one copy, which might contain instructions that the machine does not have.
//
// NOLINTBEGIN(llvm-header-guard)

#include "stableaa/nn/kernels.h"

namespace stableaa {
namespace {

constexpr int kLanes = STABLEAA_LANES;
constexpr int kPanelFloats = 16;
constexpr int kPerPanel = kPanelFloats / kLanes;  // vectors
constexpr int kMaxRows = STABLEAA_ROWS;
constexpr int kGroup = STABLEAA_GROUP;

// Aligned like a float, because rows can begin anywhere.
typedef float Vector __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));

inline Vector Load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
inline void Store(float* to, Vector v) { *reinterpret_cast<Vector*>(to) = v; }

// x·y + z, rounded once where the machine can. GCC always fuses it. clang, under sanitizers, does so
// in tiles of some heights and not in others, so that results would depend on the batch: it is told.
inline Vector MultiplyAdd(Vector x, Vector y, Vector z) {
#if defined __clang__ && STABLEAA_LANES == 16 && defined __AVX512F__
  return _mm512_fmadd_ps(x, y, z);
#elif defined __clang__ && STABLEAA_LANES == 8 && defined __FMA__
  return _mm256_fmadd_ps(x, y, z);
#else
  return x * y + z;
#endif
}

// Stores the last panels of a row, of which only p.columns columns exist.
void StorePart(const PanelProduct& p, const float* results, int panel, float* c) {
  for (int j = panel * kPanelFloats; j < p.columns; ++j) {
    const float result = results[j - panel * kPanelFloats];
    float& to = c[j / kPanelFloats * p.c_panel + j % kPanelFloats];
    if (p.accumulate) {
      to += result;
    } else {
      to = p.relu && result < 0 ? 0 : result;
    }
  }
}

// One tile of R rows and P panels: R · P · kPerPanel accumulators that fit the registers. Meanwhile
// it prefetches what is needed next: `next_rows` of a, and b by `ahead` floats.
template <int R, int P, bool kPlaces>
void Tile(const PanelProduct& p, const std::ptrdiff_t* a_rows, const std::ptrdiff_t* c_rows,
          const std::ptrdiff_t* next_rows, int panel, std::ptrdiff_t ahead) {
  constexpr int kVectors = P * kPerPanel;
  const float* const b = p.b + panel * p.b_panel;
  const auto place = [](std::ptrdiff_t v, std::ptrdiff_t panel_step) {
    return v / kPerPanel * panel_step + v % kPerPanel * kLanes;
  };

  const std::ptrdiff_t first_column = std::ptrdiff_t{panel} * kPanelFloats;
  Vector sum[R][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const Vector start =
        p.bias != nullptr ? Load(p.bias + first_column + place(v, kPanelFloats)) : Vector{};
    for (int r = 0; r < R; ++r) sum[r][v] = start;
  }
  const float* row[R];
  float* out[R];
  for (int r = 0; r < R; ++r) {
    row[r] = p.a + a_rows[r];
    out[r] = p.c + c_rows[r] + panel * p.c_panel;
    for (int q = 0; q < P; ++q) __builtin_prefetch(out[r] + q * p.c_panel, 1);
  }

  const int inner = p.inner;
  const std::ptrdiff_t a_inner = p.a_inner;
  const std::ptrdiff_t b_inner = p.b_inner;
  const std::ptrdiff_t b_panel = p.b_panel;
  for (int o = 0; o < p.outer; ++o) {
    std::ptrdiff_t at = o * p.a_outer;
    const float* from = b + o * p.b_outer;
    if (next_rows != nullptr) {
      for (int r = 0; r < R; ++r) __builtin_prefetch(p.a + next_rows[r] + at);
    }
#pragma GCC unroll 4
    for (int i = 0; i < inner; ++i) {
      Vector column[kVectors];
      for (int v = 0; v < kVectors; ++v) column[v] = Load(from + place(v, b_panel));
      if constexpr (kPlaces) {
        at = p.a_places[i];
      } else {
        __builtin_prefetch(from + ahead, 0, 2);
      }
      for (int r = 0; r < R; ++r) {
        const Vector x = row[r][at] - Vector{};
        for (int v = 0; v < kVectors; ++v) sum[r][v] = MultiplyAdd(x, column[v], sum[r][v]);
      }
      at += a_inner;
      from += b_inner;
    }
  }

  const std::ptrdiff_t c_panel = p.c_panel;
  if (p.columns < (panel + P) * kPanelFloats) {
    for (int r = 0; r < R; ++r) {
      float results[P * kPanelFloats];
      for (int v = 0; v < kVectors; ++v) Store(results + v * kLanes, sum[r][v]);
      StorePart(p, results, panel, p.c + c_rows[r]);
    }
  } else if (p.accumulate) {
    // One row after another, since rows of c may overlap.
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        float* const to = out[r] + place(v, c_panel);
        Store(to, Load(to) + sum[r][v]);
      }
    }
  } else {
    const Vector least = p.relu ? Vector{} : Vector{} - __builtin_inff();
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        // Keeps NaN.
        Store(out[r] + place(v, c_panel), sum[r][v] < least ? least : sum[r][v]);
      }
    }
  }
}

using TileFunction = void (*)(const PanelProduct&, const std::ptrdiff_t*, const std::ptrdiff_t*,
                              const std::ptrdiff_t*, int, std::ptrdiff_t);

// With few rows a tile takes more panels, to keep enough sums in flight.
constexpr int PanelsFor(int rows) {
  if (rows == 1) return 4 * kGroup;
  if (2 * rows < kMaxRows) return 2 * kGroup;
  return kGroup;
}

template <int R, bool kPlaces>
TileFunction TileOf(int panels) {
  constexpr int kWide = PanelsFor(R);
  if (panels == kWide) return Tile<R, kWide, kPlaces>;
  if constexpr (kWide > 4) {
    if (panels == 4) return Tile<R, 4, kPlaces>;
  }
  if constexpr (kWide > 2) {
    if (panels == 2) return Tile<R, 2, kPlaces>;
  }
  return Tile<R, 1, kPlaces>;
}

template <bool kPlaces>
TileFunction TileFor(int rows, int panels) {
  switch (rows) {
    case 1:
      return TileOf<1, kPlaces>(panels);
    case 2:
      return TileOf<2, kPlaces>(panels);
    case 3:
      return TileOf<3, kPlaces>(panels);
#if STABLEAA_ROWS > 3
    case 4:
      return TileOf<4, kPlaces>(panels);
    case 5:
      return TileOf<5, kPlaces>(panels);
    case 6:
      return TileOf<6, kPlaces>(panels);
#endif
#if STABLEAA_ROWS > 6
    case 7:
      return TileOf<7, kPlaces>(panels);
    case 8:
      return TileOf<8, kPlaces>(panels);
#endif
    default:
      __builtin_unreachable();
  }
}

TileFunction TileFor(const PanelProduct& p, int rows, int panels) {
  return p.a_places != nullptr ? TileFor<true>(rows, panels) : TileFor<false>(rows, panels);
}

// The largest number of panels, at most `panels`, available for a tile with this many rows.
int PanelsAtOnce(int rows, int panels) {
  int at_once = PanelsFor(rows);
  while (at_once > panels) at_once /= 2;
  return at_once;
}

void MultiplyColumns(const PanelProduct& p, int first_row, int rows, int next_rows) {
  const int panels = (p.columns + kPanelFloats - 1) / kPanelFloats;
  const std::ptrdiff_t* const a_rows = p.a_rows + first_row;
  for (int panel = 0; panel < panels;) {
    const int at_once = PanelsAtOnce(rows, panels - panel);
    TileFor(p, rows, at_once)(p, a_rows, p.c_rows + first_row,
                              panel == 0 && next_rows >= rows ? a_rows + rows : nullptr, panel, 0);
    panel += at_once;
  }
}

void MultiplyRows(const PanelProduct& p, int tiles) {
  const int panels = (p.columns + kPanelFloats - 1) / kPanelFloats;
  const int smallest = p.rows / tiles;
  const int larger = p.rows % tiles;  // this many tiles have one more row
  for (int panel = 0; panel < panels;) {
    const int at_once = PanelsAtOnce(smallest, panels - panel);
    const std::ptrdiff_t ahead = panel + at_once < panels ? at_once * p.b_panel : 0;
    const TileFunction small_tile = TileFor(p, smallest, at_once);
    const TileFunction large_tile = larger > 0 ? TileFor(p, smallest + 1, at_once) : nullptr;
    int row = 0;
    for (int t = 0; t < tiles; ++t) {
      (t < larger ? large_tile : small_tile)(p, p.a_rows + row, p.c_rows + row, nullptr, panel,
                                             t == 0 ? ahead : 0);
      row += t < larger ? smallest + 1 : smallest;
    }
    panel += at_once;
  }
}

// Uses tiles of nearly equal height: a last one of one or two rows would leave the units idle. If
// there are several, each has at least half of kMaxRows, so all take the same number of panels.
void Multiply(const PanelProduct& p) {
  const int tiles = (p.rows + kMaxRows - 1) / kMaxRows;
  if (tiles == 0) return;
  if (!p.rows_first) return MultiplyRows(p, tiles);
  const auto begin = [&](int t) {
    return t * (p.rows / tiles) + (t < p.rows % tiles ? t : p.rows % tiles);
  };
  for (int t = 0; t < tiles; ++t) {
    const int next = t + 1 < tiles ? begin(t + 2) - begin(t + 1) : 0;
    MultiplyColumns(p, begin(t), begin(t + 1) - begin(t), next);
  }
}

void InterleaveFour(const std::uint8_t* const* frames, std::ptrdiff_t pixels, float divisor,
                    float* __restrict floats) {
  const std::uint8_t* const f0 = frames[0];
  const std::uint8_t* const f1 = frames[1];
  const std::uint8_t* const f2 = frames[2];
  const std::uint8_t* const f3 = frames[3];
  for (std::ptrdiff_t i = 0; i < pixels; ++i) {
    floats[4 * i] = static_cast<float>(f0[i]) / divisor;
    floats[4 * i + 1] = static_cast<float>(f1[i]) / divisor;
    floats[4 * i + 2] = static_cast<float>(f2[i]) / divisor;
    floats[4 * i + 3] = static_cast<float>(f3[i]) / divisor;
  }
}

void MaskRelu(const float* __restrict value, std::ptrdiff_t count, float* __restrict gradient) {
  for (std::ptrdiff_t i = 0; i < count; ++i) gradient[i] = value[i] <= 0 ? 0 : gradient[i];
}

inline Four LoadFour(const float* from) { return *reinterpret_cast<const Four*>(from); }
inline void StoreFour(float* to, Four v) { *reinterpret_cast<Four*>(to) = v; }

inline void Transpose(Four v[4]) {
  const Four low01 = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
  const Four low23 = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const Four high23 = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

// Takes four rows at a time: all sixteen would fall into the same cache set if they are a multiple
// of 4 KiB apart.
void ToLanes(const float* values, std::ptrdiff_t stride, int rows, std::ptrdiff_t count,
             float* lanes) {
  const std::ptrdiff_t whole = rows == kPanelFloats ? count / 4 * 4 : 0;
  for (int l = 0; l < kPanelFloats; l += 4) {
    for (std::ptrdiff_t k = 0; k < whole; k += 4) {
      Four block[4];
      for (int j = 0; j < 4; ++j) block[j] = LoadFour(values + (l + j) * stride + k);
      Transpose(block);
      for (int j = 0; j < 4; ++j) StoreFour(lanes + (k + j) * kPanelFloats + l, block[j]);
    }
  }
  for (std::ptrdiff_t k = whole; k < count; ++k) {
    for (int l = 0; l < kPanelFloats; ++l) {
      lanes[k * kPanelFloats + l] = l < rows ? values[l * stride + k] : 0;
    }
  }
}

void FromLanes(const float* lanes, int rows, std::ptrdiff_t count, bool accumulate, float* values,
               std::ptrdiff_t stride) {
  const std::ptrdiff_t whole = rows == kPanelFloats ? count / 4 * 4 : 0;
  for (int l = 0; l < kPanelFloats; l += 4) {
    for (std::ptrdiff_t k = 0; k < whole; k += 4) {
      Four block[4];
      for (int j = 0; j < 4; ++j) block[j] = LoadFour(lanes + (k + j) * kPanelFloats + l);
      Transpose(block);
      for (int j = 0; j < 4; ++j) {
        float* const to = values + (l + j) * stride + k;
        StoreFour(to, accumulate ? LoadFour(to) + block[j] : block[j]);
      }
    }
  }
  for (std::ptrdiff_t k = whole; k < count; ++k) {
    for (int l = 0; l < rows; ++l) {
      float& to = values[l * stride + k];
      to = accumulate ? to + lanes[k * kPanelFloats + l] : lanes[k * kPanelFloats + l];
    }
  }
}

void MoveTowards(const float* __restrict towards, float tau, std::ptrdiff_t count,
                 float* __restrict values) {
  for (std::ptrdiff_t i = 0; i < count; ++i) values[i] += tau * (towards[i] - values[i]);
}

// In double: the squares of very large or small gradients exceed the range of floats.
double SumOfSquares(const float* values, std::ptrdiff_t count) {
  double sums[16] = {};
  std::ptrdiff_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (int l = 0; l < 16; ++l) {
      const auto x = static_cast<double>(values[i + l]);
      sums[l] += x * x;
    }
  }
  for (int l = 0; i < count; ++i, ++l) sums[l] += static_cast<double>(values[i]) * values[i];
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

// Averages of values that have long been zero (dead units) shrink to denormals and would stay
// there, since the smallest denormal times α rounds to itself. Denormals are slow on many machines,
// so this sets them to zero.
inline float Flush(float x) {
  constexpr float kSmallest = 0x1p-126F;
  return __builtin_fabsf(x) < kSmallest ? 0 : x;
}

template <bool kInside>
void RmspropLoop(const RmspropStep& s, const float* __restrict gradient, std::ptrdiff_t count,
                 float* __restrict square, float* __restrict parameter) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const float g = s.scale * gradient[i];
    const float v = Flush(s.alpha * square[i] + s.fresh * g * g);
    square[i] = v;
    const float root = kInside ? __builtin_sqrtf(v + s.epsilon) : __builtin_sqrtf(v) + s.epsilon;
    parameter[i] -= s.learning_rate * g / root;
  }
}

template <bool kInside>
void CentredLoop(const RmspropStep& s, const float* __restrict gradient, std::ptrdiff_t count,
                 float* __restrict square, float* __restrict mean, float* __restrict parameter) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const float g = s.scale * gradient[i];
    const float v = Flush(s.alpha * square[i] + s.fresh * g * g);
    const float m = Flush(s.alpha * mean[i] + s.fresh * g);
    square[i] = v;
    mean[i] = m;
    // Rounding can make the variance of nearly equal gradients negative.
    const float difference = v - m * m;
    const float variance = difference > 0 ? difference : 0;
    const float root =
        kInside ? __builtin_sqrtf(variance + s.epsilon) : __builtin_sqrtf(variance) + s.epsilon;
    parameter[i] -= s.learning_rate * g / root;
  }
}

void Rmsprop(const RmspropStep& s, const float* gradient, std::ptrdiff_t count, float* square,
             float* mean, float* parameter) {
  if (mean == nullptr) {
    (s.epsilon_inside ? RmspropLoop<true> : RmspropLoop<false>)(s, gradient, count, square,
                                                                parameter);
  } else {
    (s.epsilon_inside ? CentredLoop<true> : CentredLoop<false>)(s, gradient, count, square, mean,
                                                                parameter);
  }
}

void Adam(const AdamStep& s, const float* __restrict gradient, std::ptrdiff_t count,
          float* __restrict mean, float* __restrict square, float* __restrict parameter) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const float g = s.scale * gradient[i];
    const float m = Flush(s.beta1 * mean[i] + s.fresh1 * g);
    const float v = Flush(s.beta2 * square[i] + s.fresh2 * g * g);
    mean[i] = m;
    square[i] = v;
    parameter[i] -= s.step_size * m / (__builtin_sqrtf(v) * s.root_scale + s.epsilon);
  }
}

}  // namespace

extern const Kernels STABLEAA_KERNELS;
const Kernels STABLEAA_KERNELS = {
    .name = STABLEAA_NAME,
    .multiply = Multiply,
    .interleave_four = InterleaveFour,
    .mask_relu = MaskRelu,
    .to_lanes = ToLanes,
    .from_lanes = FromLanes,
    .move_towards = MoveTowards,
    .sum_of_squares = SumOfSquares,
    .rmsprop = Rmsprop,
    .adam = Adam,
};

}  // namespace stableaa

// NOLINTEND(llvm-header-guard)
