// What control_reference_test.h is made of: networks, Adam and mixing weights in double precision,
// with plain loops.
#ifndef STABLEAA_RL_CONTROL_DOUBLE_NETWORK_TEST_H_
#define STABLEAA_RL_CONTROL_DOUBLE_NETWORK_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "stableaa/nn/parameters.h"

namespace stableaa::control_reference_test {

using Vector = std::vector<double>;

inline Vector Joined(const Vector& a, const Vector& b) {
  Vector joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  return joined;
}

inline double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// ---- Networks ----

// Linear layers with ReLU between them, and tanh at the end if asked for.
struct Mlp {
  struct Layer {
    std::size_t in = 0, out = 0;
    Vector weights, biases;  // out × in, out
  };
  std::vector<Layer> layers;
  bool ends_in_tanh = false;

  static Mlp Of(const Parameters& parameters, bool ends_in_tanh) {
    Mlp mlp{.layers = {}, .ends_in_tanh = ends_in_tanh};
    for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
      std::vector<float> values(tensor.size());
      parameters.Get(tensor, values);
      const Vector numbers(values.begin(), values.end());
      if (tensor.is_bias) {
        mlp.layers.back().biases = numbers;
      } else {
        mlp.layers.push_back({.in = static_cast<std::size_t>(tensor.shape[1]),
                              .out = static_cast<std::size_t>(tensor.shape[0]),
                              .weights = numbers,
                              .biases = {}});
      }
    }
    return mlp;
  }

  // A gradient or an average of the same sizes, all 0.
  Mlp Zeros() const {
    Mlp zeros = *this;
    zeros.ForEach([](double& number) { number = 0; });
    return zeros;
  }

  template <typename Change>
  void ForEach(const Change& change) {
    for (Layer& layer : layers) {
      for (double& weight : layer.weights) change(weight);
      for (double& bias : layer.biases) change(bias);
    }
  }

  Vector Numbers() const {
    Vector numbers;
    for (const Layer& layer : layers) {
      numbers.insert(numbers.end(), layer.weights.begin(), layer.weights.end());
      numbers.insert(numbers.end(), layer.biases.begin(), layer.biases.end());
    }
    return numbers;
  }

  void SetNumbers(const Vector& numbers) {
    auto next = numbers.begin();
    ForEach([&next](double& number) { number = *next++; });
  }

  // What went into each layer, and at last the output.
  std::vector<Vector> Trace(const Vector& input) const {
    std::vector<Vector> trace = {input};
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const Layer& layer = layers[l];
      const bool is_last = l + 1 == layers.size();
      Vector output = layer.biases;
      for (std::size_t o = 0; o < layer.out; ++o) {
        for (std::size_t k = 0; k < layer.in; ++k) {
          output[o] += layer.weights[o * layer.in + k] * trace.back()[k];
        }
        if (!is_last) output[o] = std::max(output[o], 0.0);
        if (is_last && ends_in_tanh) output[o] = std::tanh(output[o]);
      }
      trace.push_back(output);
    }
    return trace;
  }

  Vector operator()(const Vector& input) const { return Trace(input).back(); }

  // Adds the gradients of the weights to `gradients`; returns that of the input.
  Vector Backward(const std::vector<Vector>& trace, Vector slope, Mlp& gradients) const {
    for (std::size_t l = layers.size(); l-- > 0;) {
      const Layer& layer = layers[l];
      const bool is_last = l + 1 == layers.size();
      Vector below(layer.in, 0.0);
      for (std::size_t o = 0; o < layer.out; ++o) {
        const double out = trace[l + 1][o];
        if (!is_last && out <= 0) slope[o] = 0;
        if (is_last && ends_in_tanh) slope[o] *= 1 - out * out;
        gradients.layers[l].biases[o] += slope[o];
        for (std::size_t k = 0; k < layer.in; ++k) {
          gradients.layers[l].weights[o * layer.in + k] += slope[o] * trace[l][k];
          below[k] += slope[o] * layer.weights[o * layer.in + k];
        }
      }
      slope = below;
    }
    return slope;
  }
};

struct Adam {
  double rate = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  Vector mean = {}, square = {};
  int steps = 0;

  void Step(const Vector& gradients, Vector& numbers) {
    mean.resize(numbers.size());
    square.resize(numbers.size());
    ++steps;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      mean[k] = beta1 * mean[k] + (1 - beta1) * gradients[k];
      square[k] = beta2 * square[k] + (1 - beta2) * gradients[k] * gradients[k];
      const double m = mean[k] / (1 - std::pow(beta1, steps));
      const double v = square[k] / (1 - std::pow(beta2, steps));
      numbers[k] -= rate * m / (std::sqrt(v) + epsilon);
    }
  }
  void Step(const Mlp& gradients, Mlp& mlp) {
    Vector numbers = mlp.Numbers();
    Step(gradients.Numbers(), numbers);
    mlp.SetNumbers(numbers);
  }
};

inline void MoveTowards(Mlp& average, const Mlp& online, double polyak) {
  Vector numbers = average.Numbers();
  const Vector goal = online.Numbers();
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    numbers[k] = (1 - polyak) * numbers[k] + polyak * goal[k];
  }
  average.SetNumbers(numbers);
}

// ---- Mixing weights ----

// Gaussian elimination with pivots.
inline Vector SolveLinear(std::vector<Vector> matrix, Vector right) {
  const std::size_t n = right.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::abs(matrix[i][k]) > std::abs(matrix[pivot][k])) pivot = i;
    }
    std::swap(matrix[k], matrix[pivot]);
    std::swap(right[k], right[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = matrix[i][k] / matrix[k][k];
      for (std::size_t j = k; j < n; ++j) matrix[i][j] -= factor * matrix[k][j];
      right[i] -= factor * right[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) right[k] -= matrix[k][j] * right[j];
    right[k] /= matrix[k][k];
  }
  return right;
}

// (EᵀE + λI)⁻¹ 1, scaled to the sum 1; λ = η · mean |EᵀE|.
inline Vector RaaWeights(const std::vector<Vector>& residuals, double eta) {
  const std::size_t m = residuals.size();
  std::vector<Vector> gram(m, Vector(m));
  double mean = 0;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      gram[i][j] = Dot(residuals[i], residuals[j]);
      mean += std::abs(gram[i][j]) / static_cast<double>(m * m);
    }
  }
  for (std::size_t i = 0; i < m; ++i) gram[i][i] += eta * mean;
  Vector alpha = SolveLinear(gram, Vector(m, 1.0));
  double sum = 0;
  for (const double weight : alpha) sum += weight;
  for (double& weight : alpha) weight /= sum;
  return alpha;
}

// τ = argmin ‖e_m − Hτ‖² + η(‖Δ‖² + ‖H‖²)‖τ‖²; each e_i and q_i oldest first.
inline Vector StableWeights(const std::vector<Vector>& residuals, const std::vector<Vector>& values,
                            double eta) {
  const std::size_t m = residuals.size(), n = residuals[0].size();
  if (m == 1) return {1};
  std::vector<Vector> h;  // newest first
  double lambda = 0;
  for (std::size_t i = m - 1; i > 0; --i) {
    h.emplace_back(n);
    for (std::size_t j = 0; j < n; ++j) {
      h.back()[j] = residuals[i][j] - residuals[i - 1][j];
      const double difference = values[i][j] - values[i - 1][j];
      lambda += eta * (h.back()[j] * h.back()[j] + difference * difference);
    }
  }
  std::vector<Vector> gram(m - 1, Vector(m - 1));
  Vector cross(m - 1);
  for (std::size_t i = 0; i + 1 < m; ++i) {
    for (std::size_t j = 0; j + 1 < m; ++j) gram[i][j] = Dot(h[i], h[j]) + (i == j ? lambda : 0);
    cross[i] = Dot(h[i], residuals.back());
  }
  const Vector tau = SolveLinear(gram, cross);
  Vector alpha(m);  // oldest first
  alpha[0] = tau[m - 2];
  for (std::size_t i = 1; i + 1 < m; ++i) alpha[i] = tau[m - 2 - i] - tau[m - 1 - i];
  alpha[m - 1] = 1 - tau[0];
  return alpha;
}

}  // namespace stableaa::control_reference_test

#endif  // STABLEAA_RL_CONTROL_DOUBLE_NETWORK_TEST_H_
