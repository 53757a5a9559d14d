#include "stableaa/nn/network_benchmark.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "stableaa/core/median.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/nn/loss.h"
#include "stableaa/nn/random_input.h"
#include "stableaa/nn/sgemm.h"

namespace stableaa {
namespace {

// A network with everything its passes need.
class Subject {
 public:
  Subject(const NetworkSpec& spec, const NetworkOptions& options, const OptimizerOptions& optimizer)
      : plan_(std::make_shared<const Plan>(MakePlan(spec))),
        network_(CompileNetwork(plan_, options)),
        online_(plan_),
        target_(plan_),
        gradients_(plan_),
        optimizer_(plan_, optimizer, options.threads),
        random_(1, "bench nn"),
        states_(spec.input, options.batch, random_),
        next_states_(spec.input, options.batch, random_) {
    online_.Initialise(random_);
    target_.CopyFrom(online_);
    const auto batch = static_cast<std::size_t>(options.batch);
    const auto actions = static_cast<std::size_t>(plan_->outputs());
    outputs_.resize(batch * actions);
    output_gradients_.resize(batch * actions);
    input_gradients_.resize(batch * static_cast<std::size_t>(spec.input.part_size(LastPart())));
    targets_.resize(batch);
    rewards_.resize(batch);
    random_.FillUniform(rewards_, -1, 1);
    random_.FillUniform(output_gradients_, -1, 1);
    for (std::size_t i = 0; i < batch; ++i) {
      chosen_.push_back(static_cast<int>(random_.Below(actions)));
    }
  }

  void Run(NetworkPass pass) {
    switch (pass) {
      case NetworkPass::kForward:
      case NetworkPass::kAct:
        return network_->Forward(online_, states_.view(), outputs_);
      case NetworkPass::kTrain:
        network_->Forward(online_, states_.view(), outputs_);
        return network_->Backward(online_, output_gradients_, gradients_);
      case NetworkPass::kInput:
        network_->Forward(online_, states_.view(), outputs_);
        return network_->BackwardToInput(online_, output_gradients_, LastPart(), input_gradients_);
      case NetworkPass::kUpdate:
        return Update();
    }
  }

  double MultiplyAdds(NetworkPass pass) const {
    double per_sample = plan_->multiply_adds;
    if (pass == NetworkPass::kTrain) per_sample += plan_->backward_multiply_adds;
    if (pass == NetworkPass::kInput) per_sample += plan_->InputMultiplyAdds(LastPart());
    if (pass == NetworkPass::kUpdate) {
      per_sample += plan_->multiply_adds + plan_->backward_multiply_adds;
    }
    return per_sample * network_->batch();
  }

 private:
  int LastPart() const { return plan_->spec.input.part_count() - 1; }

  // Like DQN.
  void Update() {
    const std::size_t actions = outputs_.size() / targets_.size();
    network_->Forward(target_, next_states_.view(), outputs_);
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const float* const q = outputs_.data() + i * actions;
      targets_[i] = rewards_[i] + 0.99F * *std::max_element(q, q + actions);
    }
    network_->Forward(online_, states_.view(), outputs_);
    LossGradient({}, {static_cast<int>(actions), outputs_, chosen_, targets_}, output_gradients_);
    network_->Backward(online_, output_gradients_, gradients_);
    optimizer_.Step(gradients_, online_);
  }

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Network> network_;
  Parameters online_, target_, gradients_;
  Optimizer optimizer_;
  RandomStream random_;
  RandomInput states_, next_states_;
  std::vector<float> outputs_, output_gradients_, input_gradients_, targets_, rewards_;
  std::vector<int> chosen_;
};

void SetNeeds(NetworkPass pass, NetworkOptions& options) {
  options.input_gradients = pass == NetworkPass::kInput;
  options.training =
      pass == NetworkPass::kTrain || pass == NetworkPass::kUpdate || pass == NetworkPass::kInput;
}

}  // namespace

bool HasPass(const NetworkSpec& spec, NetworkPass pass) {
  return pass != NetworkPass::kInput || spec.input.is_vector();
}

std::uint64_t NetworkBenchmarkBytes(const NetworkSpec& spec, NetworkPass pass,
                                    NetworkOptions options) {
  constexpr std::uint64_t kSgemm = std::uint64_t{3} * 2048 * 2048;
  const Plan plan = MakePlan(spec);
  SetNeeds(pass, options);
  const auto input = static_cast<std::uint64_t>(spec.input.shape.size()) *
                     (spec.input.takes_floats() ? sizeof(float) : 1);
  // Three sets of parameters, the optimiser's two averages, states and next states.
  return NetworkBytes(plan, options) + sizeof(float) * (5 * plan.parameters + kSgemm) +
         2 * input * static_cast<std::uint64_t>(options.batch);
}

NetworkTiming MeasureNetwork(const NetworkSpec& spec, NetworkPass pass, NetworkOptions options,
                             const OptimizerOptions& optimizer, double seconds) {
  constexpr double kRoundSeconds = 0.05;  // between samples of the matrix product
  SetNeeds(pass, options);
  Subject subject(spec, options, optimizer);
  SgemmMeter meter(options.threads);
  meter.SampleAllSizes();
  std::vector<double> times;
  const Stopwatch total;
  do {
    meter.Sample();
    subject.Run(pass);  // restores the caches after the matrix product
    const Stopwatch round;
    do {
      const Stopwatch watch;
      subject.Run(pass);
      times.push_back(watch.Seconds());
    } while (round.Seconds() < kRoundSeconds);
  } while (total.Seconds() < seconds);

  const double median = Median(times);
  return {.ms = 1e3 * median,
          .gflops = 2e-9 * subject.MultiplyAdds(pass) / median,
          .sgemm_gflops = meter.gflops()};
}

}  // namespace stableaa
