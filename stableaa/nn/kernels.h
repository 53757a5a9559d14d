// The hot loops of the native backend and of the optimisers, compiled once per instruction set and
// chosen at run time.
//
// Every pass of every layer is the same kind of loop: the product of a few rows of broadcast
// numbers with panels of 16 columns (PanelProduct). Only the memory layout of the operands differs:
//
//   pass                  rows           sum over (outer × inner)    columns (panels)
//   convolution, forward  output pixels  kernel row × (column, ch.)  filters
//     weight gradients    (column, ch.)  output pixels               filters
//     data gradients      output pixels  filters                     (column, ch.)
//   linear, forward       samples        inputs                      outputs
//     weight gradients    inputs         samples, 16 at a time       outputs
//     data gradients      inputs         outputs, 16 at a time       samples
//
// Values are stored by row, column, channel, so a kernel row of a convolution is one contiguous run
// of its input and nothing has to be rearranged (no im2col). Each result is summed by one
// accumulator in a fixed order, so it depends neither on the batch size nor on the number of
// threads.
#ifndef STABLEAA_NN_KERNELS_H_
#define STABLEAA_NN_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stableaa {

// For every row r and column j:
//
//   c[c_rows[r] + j/16 · c_panel + j%16]  =  Σ_{o < outer} Σ_{i < inner}
//       a[a_rows[r] + o · a_outer + i · a_inner] ·
//       b[j/16 · b_panel + o · b_outer + i · b_inner + j%16]
//
// plus bias[j]; optionally added to what is there, or replaced by its positive part. b is read in
// whole panels: up to 15 floats after the last column must be readable, and are not used. Rows of c
// may overlap when accumulating.
struct PanelProduct {
  const float* a = nullptr;
  const std::ptrdiff_t* a_rows = nullptr;
  std::ptrdiff_t a_outer = 0;
  std::ptrdiff_t a_inner = 1;
  const std::ptrdiff_t* a_places = nullptr;  // if given, a_places[i] instead of i · a_inner
  const float* b = nullptr;
  std::ptrdiff_t b_panel = 0;
  std::ptrdiff_t b_outer = 0;
  std::ptrdiff_t b_inner = 16;
  float* c = nullptr;
  const std::ptrdiff_t* c_rows = nullptr;
  std::ptrdiff_t c_panel = 16;

  int rows = 0;
  int columns = 0;
  int outer = 1;
  int inner = 0;

  const float* bias = nullptr;  // whole panels, or none
  bool accumulate = false;
  bool relu = false;  // not with accumulate
  // If set, handles all columns for one group of rows before the next, prefetching the next group
  // of rows; for an `a` that is larger than the caches. Otherwise handles all rows for one group of
  // columns, prefetching the next group of columns.
  bool rows_first = false;
};

// The constants of one optimiser step; `fresh` is one minus the decay above it.
struct RmspropStep {
  float learning_rate;
  float alpha;
  float fresh;
  float epsilon;
  bool epsilon_inside;  // √(v + ε) instead of √v + ε
  float scale;          // for clipping the gradients
};
struct AdamStep {
  float step_size;  // learning rate / (1 − β1^t)
  float beta1;
  float fresh1;
  float beta2;
  float fresh2;
  float root_scale;  // 1 / √(1 − β2^t)
  float epsilon;
  float scale;
};

struct Kernels {
  const char* name;  // "avx2"
  void (*multiply)(const PanelProduct& product);

  // floats[4·i + c] = frames[c][i] / divisor
  void (*interleave_four)(const std::uint8_t* const* frames, std::ptrdiff_t pixels, float divisor,
                          float* floats);

  // gradient = 0 where value <= 0
  void (*mask_relu)(const float* value, std::ptrdiff_t count, float* gradient);

  // lanes[k·16 + l] = values[l·stride + k] for l < rows, 0 for the other l up to 16; k < count
  void (*to_lanes)(const float* values, std::ptrdiff_t stride, int rows, std::ptrdiff_t count,
                   float* lanes);

  // values[l·stride + k] = or += lanes[k·16 + l] for l < rows; k < count
  void (*from_lanes)(const float* lanes, int rows, std::ptrdiff_t count, bool accumulate,
                     float* values, std::ptrdiff_t stride);

  // values += tau · (towards − values)
  void (*move_towards)(const float* towards, float tau, std::ptrdiff_t count, float* values);

  double (*sum_of_squares)(const float* values, std::ptrdiff_t count);

  // `mean` is the average of the gradients for the centred form, otherwise null.
  void (*rmsprop)(const RmspropStep& step, const float* gradient, std::ptrdiff_t count,
                  float* square, float* mean, float* parameter);
  void (*adam)(const AdamStep& step, const float* gradient, std::ptrdiff_t count, float* mean,
               float* square, float* parameter);
};

// The fastest kernels that this machine can run.
const Kernels& BestKernels();

// All kernels that this machine can run, the fastest first.
std::vector<const Kernels*> UsableKernels();

}  // namespace stableaa

#endif  // STABLEAA_NN_KERNELS_H_
