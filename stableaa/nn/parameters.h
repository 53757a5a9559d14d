// The parameters of a network, or their gradients: one block of floats that every backend reads.
//
// Layout of a block. A step with N outputs that each sum over K inputs has
//
//   weights   ceil(N/16) panels, each K rows of 16 outputs: element (o, k) at
//             weight + (o/16 · K + k) · 16 + o%16
//   biases    16 · ceil(N/16) floats
//
// with k = (row · kernel + column) · channels + channel for a convolution and, for a linear step
// after flatten, (row · width + column) · channels + channel. The padding of N to a multiple of 16
// is zero and stays zero. oneDNN calls this layout Ohwi16o. It suits all passes at any batch size:
// no reordered copy is ever needed.
//
// Outside (files, PyTorch), tensors have PyTorch's shapes and order: weight [N, C, H, W] or [N, K]
// with K in the order channel, row, column; bias [N]. Get and Set translate.
#ifndef STABLEAA_NN_PARAMETERS_H_
#define STABLEAA_NN_PARAMETERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stableaa/nn/aligned_buffer.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class RandomStream;

inline constexpr int kPanel = 16;
inline constexpr std::int64_t PanelCount(std::int64_t outputs) {
  return (outputs + kPanel - 1) / kPanel;
}

// A tensor in its external form.
struct ParameterTensor {
  std::string name;                 // "layers.0.weight"
  std::vector<std::int64_t> shape;  // PyTorch's
  std::size_t step = 0;             // in Plan::steps
  bool is_bias = false;

  std::size_t size() const;
  bool operator==(const ParameterTensor&) const = default;
};

class Parameters {
 public:
  // Initially all zero.
  explicit Parameters(std::shared_ptr<const Plan> plan);

  // True if they belong to a network of this plan or an equal one.
  bool IsOf(const Plan& plan) const { return plan_.get() == &plan || plan_->spec == plan.spec; }

  // Both must have equal specs. A memcpy.
  void CopyFrom(const Parameters& other);

  // A Polyak average: this ← this + τ · (other − this), in floats, for target networks that follow
  // slowly. Both must have equal specs; τ has to be in [0, 1], otherwise BadInput. τ = 0 changes
  // nothing; τ = 1 copies, as CopyFrom does.
  void MoveTowards(const Parameters& other, double tau);

  // Uses PyTorch's defaults: weights and biases of a step uniform in ±1/√fan_in, drawn in the order
  // of the tensors' elements.
  void Initialise(RandomStream& random);

  // Throws BadInput unless the tensor belongs to this network and `values` has its size.
  void Get(const ParameterTensor& tensor, std::span<float> values) const;
  void Set(const ParameterTensor& tensor, std::span<const float> values);

  // The tensors' elements in order, without padding. Load restores exactly the same bytes; it
  // throws BadInput, without changing anything, for other sizes.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

  bool AllFinite() const;

  std::span<float> block() { return block_.span(); }
  std::span<const float> block() const { return block_.span(); }
  const Plan& plan() const { return *plan_; }

 private:
  std::shared_ptr<const Plan> plan_;
  AlignedBuffer block_;
};

// All tensors of a network, in the order of its steps, weight before bias.
std::vector<ParameterTensor> ParameterTensors(const Plan& plan);

// Number of elements in all tensors; a block has some more, for padding.
std::int64_t ParameterCount(const Plan& plan);

}  // namespace stableaa

#endif  // STABLEAA_NN_PARAMETERS_H_
