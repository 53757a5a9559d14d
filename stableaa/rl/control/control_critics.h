// The critics that learn: one or two networks Q(s, a) with the same targets, and their Polyak
// averages.
#ifndef STABLEAA_RL_CONTROL_CONTROL_CRITICS_H_
#define STABLEAA_RL_CONTROL_CONTROL_CRITICS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/nn/loss.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/rl/control/critic_values.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

struct ControlCriticsOptions {
  int critics = 2;
  LossOptions loss;
  OptimizerOptions optimizer;
  std::uint64_t seed = 1;
  int batch = 256;
  int threads = 1;  // at most one per critic is used
};

// Which of a set's critics a slope is of.
enum class SlopeOf { kFirst, kSmaller };

// Not thread-safe.
class ControlCritics {
 public:
  struct Report {
    double loss = 0;    // mean over the critics
    double td_abs = 0;  // mean of |Q(s, a) − y| over transitions and critics
    double q_mean = 0;
  };

  // Draws parameters from the seed's streams "critic 1" and "critic 2".
  ControlCritics(const ControlCriticsOptions& options, const std::shared_ptr<const Plan>& plan);

  // One step of each critic's optimiser towards the targets. `importance`: weights of the
  // transitions, or none. Throws WorkFailed if a value or target is not finite.
  Report Learn(const StateActions& pairs, std::span<const float> targets,
               std::span<const float> importance, std::int64_t step);

  // |Q(s, a) − y| of the last Learn, averaged over the critics.
  std::span<const float> errors() const { return mean_errors_; }

  // Adds scale · dQ/da of each pair, by a set of this kind, to its row of `slopes`; returns the mean
  // of Q.
  double AddSlopes(const CriticSet& set, SlopeOf of, const StateActions& pairs, double scale,
                   std::span<float> slopes);

  void MoveAverages(double polyak);

  const CriticSet& critics() const { return critics_; }
  const CriticSet& averages() const { return averages_; }
  // Whether all weights, and those of the averages, are.
  bool IsFinite() const;
  std::int64_t updates() const { return optimizers_.front().steps(); }
  // Multiplications and additions in all passes so far.
  double multiply_adds() const { return multiply_adds_; }
  static std::uint64_t Bytes(const ControlCriticsOptions& options, const Plan& plan);

  // Load throws BadInput for anything that no such critics saved.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  // Room for what one critic computes.
  struct Lane {
    std::unique_ptr<Network> network;
    Parameters gradients;
    std::vector<float> outputs = {}, output_gradients = {}, errors = {}, slopes = {};
    double loss = 0;
  };

  const ControlCriticsOptions options_;
  CriticSet critics_, averages_;
  std::vector<Optimizer> optimizers_;
  std::vector<Lane> lanes_;  // one per critic
  std::vector<int> first_;   // the one "action" of LossGradient
  std::vector<float> mean_errors_;
  double multiply_adds_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_CONTROL_CRITICS_H_
