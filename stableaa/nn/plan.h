// A spec prepared for execution: the steps in order, with their shapes, the values they read and
// write, and where their parameters are. Every backend runs this.
#ifndef STABLEAA_NN_PLAN_H_
#define STABLEAA_NN_PLAN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "stableaa/nn/spec.h"

namespace stableaa {

enum class Operation { kConvolution, kLinear, kDueling };
enum class Activation { kNone, kRelu, kElu, kTanh };

// One step. Activations belong to the preceding convolution or linear step. Flatten is not a step:
// values are stored by row, column, channel, and a linear step's weights are kept in that order.
struct PlanStep {
  Operation operation = Operation::kLinear;
  Activation activation = Activation::kNone;
  std::string name = {};  // prefix of its parameters, "layers.0"; empty for dueling

  // Values: 0 is the network's input, and each step writes one of its own. For dueling, `input` is
  // the advantages and `value_input` the value.
  int input = 0;
  int value_input = 0;
  int output = 0;

  Shape in = {};  // for a linear step that flattens, the frames' shape
  Shape out = {};
  int kernel = 1;
  int stride = 1;

  // Number of inputs that each output sums over: kernel² × channels, or the size of a linear step's
  // input.
  int fan_in = 0;

  // Where the parameters begin in a Parameters block, in floats; see parameters.h.
  std::size_t weight = 0;
  std::size_t bias = 0;

  bool has_parameters() const { return operation != Operation::kDueling; }
};

struct Plan {
  NetworkSpec spec;
  std::vector<PlanStep> steps;
  std::vector<Shape> values;          // shape of each value; values[0] is the input's
  std::size_t parameters = 0;         // floats in a Parameters block
  double multiply_adds = 0;           // per sample, forward: convolution and linear steps
  double backward_multiply_adds = 0;  // per sample: weights and, except for the input, data

  int outputs() const { return values.back().size(); }
  // Per sample, of the gradient by one part of a vector input, without those by the weights.
  double InputMultiplyAdds(int part) const;
};

// Throws BadInput like NetworkSpec::Validate.
Plan MakePlan(const NetworkSpec& spec);

}  // namespace stableaa

#endif  // STABLEAA_NN_PLAN_H_
