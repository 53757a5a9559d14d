// Classic control problems: chain, forest, queues, inventory. Nothing in them is random: the seed
// only matters for `shuffle`.
//
// Compiled without contracting a·b + c into a single rounding: equal bytes on every platform.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "stableaa/mdp/generate/generator_kinds.h"

namespace stableaa {
namespace {

// The queues' rates divided by the uniformised clock's rate: probabilities per step.
struct QueueRates {
  std::vector<double> arrival;
  std::vector<double> service;
  double fastest_service;
};

QueueRates UniformisedRates(std::uint64_t queues, double load) {
  QueueRates rates;
  const auto count = static_cast<double>(queues);
  double clock = 1;  // the fastest service, of queue 0
  for (std::uint64_t i = 0; i < queues; ++i) {
    const double service = 1 - static_cast<double>(i) / (2 * count);
    const double arrival = load * service / count;
    rates.service.push_back(service);
    rates.arrival.push_back(arrival);
    clock += arrival;
  }
  for (double& rate : rates.service) rate /= clock;
  for (double& rate : rates.arrival) rate /= clock;
  rates.fastest_service = rates.service[0];
  return rates;
}

class QueueSystem {
 public:
  QueueSystem(std::uint64_t queues, std::uint64_t capacity, double load)
      : rates_(UniformisedRates(queues, load)),
        capacity_(capacity),
        jobs_(queues, 0),
        strides_(queues) {
    std::uint64_t stride = 1;
    for (std::uint64_t i = queues; i > 0; --i, stride *= capacity + 1) strides_[i - 1] = stride;
  }

  void AddState(std::uint64_t state, ModelBuilder& builder) const {
    builder.BeginState();
    for (std::size_t served = 0; served < jobs_.size(); ++served) AddRow(state, served, builder);
  }

  // Advances to the next state's lengths: the last queue is the fastest digit.
  void NextState() {
    for (std::size_t i = jobs_.size(); i-- > 0;) {
      if (++jobs_[i] <= capacity_) return;
      jobs_[i] = 0;
    }
  }

 private:
  // In order of next states: a departure, nothing, arrivals from the last queue to the first.
  void AddRow(std::uint64_t state, std::size_t served, ModelBuilder& builder) const {
    const bool idle = jobs_[served] == 0;
    double stay = rates_.fastest_service - (idle ? 0 : rates_.service[served]);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (jobs_[i] == capacity_) stay += rates_.arrival[i];
    }
    if (!idle) builder.Transition(state - strides_[served], rates_.service[served]);
    builder.Transition(state, stay);
    for (std::size_t i = jobs_.size(); i-- > 0;) {
      if (jobs_[i] < capacity_) builder.Transition(state + strides_[i], rates_.arrival[i]);
    }
    builder.EndRow(-HoldingCost());
  }

  double HoldingCost() const {
    std::uint64_t cost = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) cost += (1 + i) * jobs_[i];
    return static_cast<double>(cost) / static_cast<double>(capacity_);
  }

  QueueRates rates_;
  std::uint64_t capacity_;
  std::vector<std::uint64_t> jobs_;
  std::vector<std::uint64_t> strides_;
};

// The probabilities of 0 … n buyers among n customers who each buy with probability p, computed one
// customer at a time.
std::vector<double> Binomial(std::uint64_t n, double p) {
  std::vector<double> probability(n + 1, 0.0);
  probability[0] = 1;
  for (std::uint64_t customers = 1; customers <= n; ++customers) {
    for (std::uint64_t buyers = customers; buyers > 0; --buyers) {
      probability[buyers] = probability[buyers] * (1 - p) + probability[buyers - 1] * p;
    }
    probability[0] *= 1 - p;
  }
  return probability;
}

// Rises from 1/4 to 3/4 in the middle of the year and falls again.
double BuyingProbability(std::uint64_t season, std::uint64_t seasons) {
  const std::uint64_t from_new_year = std::min(season, seasons - season);
  return .25 + static_cast<double>(from_new_year) / static_cast<double>(seasons);
}

constexpr double kPrice = 2;
constexpr double kPieceCost = 1;
constexpr double kOrderCost = 5;
constexpr double kHoldingCost = .002;

// Adds one row: `stock` pieces after the order, next states starting at `next_season`.
void AddDemand(std::uint64_t stock, double order_cost, std::uint64_t next_season,
               const std::vector<double>& demand, ModelBuilder& builder) {
  const std::uint64_t most = std::min<std::uint64_t>(stock, demand.size() - 1);  // sold
  double sold_out = 0;  // all demands from `most` on, smallest probability first
  for (std::uint64_t d = demand.size(); d-- > most;) sold_out += demand[d];
  double sold = static_cast<double>(most) * sold_out;
  builder.Transition(next_season + stock - most, sold_out);
  for (std::uint64_t d = most; d-- > 0;) {
    builder.Transition(next_season + stock - d, demand[d]);
    sold += static_cast<double>(d) * demand[d];
  }
  const double left = static_cast<double>(stock) - sold;
  builder.EndRow(kPrice * sold - order_cost - kHoldingCost * left);
}

}  // namespace

Model GenerateChain(const GeneratorOptions& options) {
  constexpr double kNearReward = .01;
  constexpr double kFarReward = 1;
  const std::uint64_t states = *options.states;
  const std::uint64_t last = states - 1;
  ModelBuilder builder =
      BuilderFor(options, {.states = states, .rows = 2 * states, .transitions = 4 * states});
  for (std::uint64_t state = 0; state < states; ++state) {
    const std::uint64_t left = state == 0 ? 0 : state - 1;
    const std::uint64_t right = std::min(state + 1, last);
    builder.BeginState();
    builder.Transition(left, 1 - *options.noise);
    builder.Transition(right, *options.noise);
    builder.EndRow(state == 0 ? kNearReward : 0);
    builder.Transition(left, *options.noise);
    builder.Transition(right, 1 - *options.noise);
    builder.EndRow(state == last ? kFarReward : 0);
  }
  return builder.Finish(options.discount);
}

Model GenerateForest(const GeneratorOptions& options) {
  const std::uint64_t states = *options.states;
  const std::uint64_t oldest = states - 1;
  ModelBuilder builder =
      BuilderFor(options, {.states = states, .rows = 2 * states, .transitions = 3 * states});
  for (std::uint64_t age = 0; age < states; ++age) {
    builder.BeginState();
    builder.Transition(0, *options.fire);
    builder.Transition(std::min(age + 1, oldest), 1 - *options.fire);
    builder.EndRow(age == oldest ? *options.wait_reward : 0);
    builder.Transition(0, 1);
    const double between = age == 0 ? 0 : 1;
    builder.EndRow(age == oldest ? *options.cut_reward : between);
  }
  return builder.Finish(options.discount);
}

Model GenerateQueues(const GeneratorOptions& options) {
  const std::uint64_t queues = *options.queues;
  const std::uint64_t capacity =
      options.states ? SideOfVolume(*options.states, queues, 2) - 1 : *options.capacity;
  const std::uint64_t states = SaturatedPower(capacity + 1, queues);
  const std::uint64_t rows = SaturatedProduct(states, queues);
  ModelBuilder builder = BuilderFor(
      options, {.states = states, .rows = rows, .transitions = SaturatedProduct(rows, queues + 2)});
  QueueSystem system(queues, capacity, *options.load);
  for (std::uint64_t state = 0; state < states; ++state, system.NextState()) {
    system.AddState(state, builder);
  }
  return builder.Finish(options.discount);
}

Model GenerateInventory(const GeneratorOptions& options) {
  const std::uint64_t seasons = *options.seasons;
  const std::uint64_t levels =
      options.states ? std::max<std::uint64_t>(2, (*options.states + seasons - 1) / seasons)
                     : *options.capacity + 1;
  const std::uint64_t capacity = levels - 1;
  const std::uint64_t lot = *options.lot;
  const std::uint64_t customers = *options.customers;

  // Σ over stocks of (capacity − stock)/lot + 1, rounded up.
  const std::uint64_t rows_per_season = SaturatedProduct(levels, capacity / lot + 2) / 2 + levels;
  const std::uint64_t rows = SaturatedProduct(seasons, rows_per_season);
  ModelBuilder builder =
      BuilderFor(options, {.states = SaturatedProduct(seasons, levels),
                           .rows = rows,
                           .transitions = SaturatedProduct(rows, customers + 1)});
  for (std::uint64_t season = 0; season < seasons; ++season) {
    const std::vector<double> demand = Binomial(customers, BuyingProbability(season, seasons));
    const std::uint64_t next_season = (season + 1) % seasons * levels;
    for (std::uint64_t stock = 0; stock < levels; ++stock) {
      builder.BeginState();
      for (std::uint64_t order = 0; order <= capacity - stock; order += lot) {
        const double order_cost =
            order == 0 ? 0 : kOrderCost + kPieceCost * static_cast<double>(order);
        AddDemand(stock + order, order_cost, next_season, demand, builder);
      }
    }
  }
  return builder.Finish(options.discount);
}

}  // namespace stableaa
