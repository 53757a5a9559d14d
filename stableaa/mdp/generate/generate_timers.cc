// Two stations that count down to their slots. Nothing in it is random: the seed only matters for
// `shuffle`.
//
// Compiled without contracting a·b + c into a single rounding: equal bytes on every platform.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "stableaa/mdp/generate/generator_kinds.h"

namespace stableaa {
namespace {

// The states of `timers` before they are numbered, with slots of attempt k counted from 0 to
// 2^k − 1 and `ticks` t from 0:
//   Draw(k)             neither station has a slot, attempt k
//   Half(k, i)          the first has slot i
//   Count(k, i, j, t)   slots i and j are left, t ticks of the current one have passed; if i or j is
//                       0, a station is sending
//   Left(k, i)          one is done, the other has slot i > 0 left: it waits or sends
//   Again(k)            the other draws again, as in attempt k
//   Rest(i, t)          the other has slot i left, t ticks of the current one have passed
//   Done()
class TimerStates {
 public:
  TimerStates(std::uint64_t attempts, std::uint64_t ticks) : attempts_(attempts), ticks_(ticks) {
    std::uint64_t start = 0;
    starts_.push_back(start);
    for (std::uint64_t k = 1; k <= attempts; ++k) {
      starts_.push_back(start);
      start += 2 * Slots(k) + Slots(k) * Slots(k) * ticks;
    }
    rest_ = start;
    again_ = rest_ + Slots(attempts) * ticks;
    done_ = again_ + attempts - FirstAgain() + 1;
  }

  static std::uint64_t Slots(std::uint64_t attempt) { return std::uint64_t{1} << attempt; }
  // How many more states there are with one more tick per slot.
  static std::uint64_t StatesPerTick(std::uint64_t attempts) {
    return TimerStates(attempts, 1).count() - TimerStates(attempts, 0).count();
  }

  std::uint64_t count() const { return done_ + 1; }
  std::uint64_t attempts() const { return attempts_; }
  std::uint64_t ticks() const { return ticks_; }
  std::uint64_t AttemptAfter(std::uint64_t k) const { return std::min(k + 1, attempts_); }
  // Nobody draws alone in the first attempt, unless it is the only one.
  std::uint64_t FirstAgain() const { return AttemptAfter(1); }

  // Each attempt: Draw, Half, Left, Count.
  std::uint64_t Draw(std::uint64_t k) const { return starts_[k]; }
  std::uint64_t Half(std::uint64_t k, std::uint64_t i) const { return starts_[k] + 1 + i; }
  std::uint64_t Left(std::uint64_t k, std::uint64_t i) const { return starts_[k] + Slots(k) + i; }
  std::uint64_t Count(std::uint64_t k, std::uint64_t i, std::uint64_t j, std::uint64_t t) const {
    return starts_[k] + 2 * Slots(k) + (i * Slots(k) + j) * ticks_ + t;
  }
  std::uint64_t Rest(std::uint64_t i, std::uint64_t t) const { return rest_ + i * ticks_ + t; }
  std::uint64_t Again(std::uint64_t k) const { return again_ + k - FirstAgain(); }
  std::uint64_t Done() const { return done_; }

 private:
  std::uint64_t attempts_;
  std::uint64_t ticks_;
  std::vector<std::uint64_t> starts_;  // of attempt k at k
  std::uint64_t rest_ = 0;
  std::uint64_t again_ = 0;
  std::uint64_t done_ = 0;
};

// Adds the states in the order of their numbers.
class TimerModel {
 public:
  TimerModel(const TimerStates& states, double loss, ModelBuilder& builder)
      : states_(states), loss_(loss), builder_(builder) {}

  void AddAttempt(std::uint64_t k) {
    const std::uint64_t slots = TimerStates::Slots(k);
    builder_.BeginState();
    AddDraw(k, [&](std::uint64_t i) { return states_.Half(k, i); });
    for (std::uint64_t i = 0; i < slots; ++i) {
      builder_.BeginState();
      AddDraw(k, [&](std::uint64_t j) { return states_.Count(k, i, j, 0); });
    }
    for (std::uint64_t i = 1; i < slots; ++i) AddLeft(k, i);
    for (std::uint64_t i = 0; i < slots; ++i) {
      for (std::uint64_t j = 0; j < slots; ++j) {
        AddTicks(states_.Count(k, i, j, 0));
        AddTick(AfterSlot(k, i, j));
      }
    }
  }

  void AddRest() {
    for (std::uint64_t i = 0; i < TimerStates::Slots(states_.attempts()); ++i) {
      AddTicks(states_.Rest(i, 0));
      if (i > 0) {
        AddTick(states_.Rest(i - 1, 0));
        continue;
      }
      builder_.BeginState();
      builder_.Transition(states_.Again(states_.attempts()), loss_);
      builder_.Transition(states_.Done(), 1 - loss_);
      builder_.EndRow(1);
    }
    for (std::uint64_t k = states_.FirstAgain(); k <= states_.attempts(); ++k) {
      builder_.BeginState();
      AddDraw(k, [&](std::uint64_t i) { return states_.Rest(i, 0); });
    }
    AddAbsorbing(states_.Done(), builder_);
  }

 private:
  static constexpr double kFailure = .5;

  // All slots of attempt k are equally likely.
  template <typename Next>
  void AddDraw(std::uint64_t k, const Next& next) {
    const std::uint64_t slots = TimerStates::Slots(k);
    for (std::uint64_t i = 0; i < slots; ++i) {
      builder_.Transition(next(i), 1 / static_cast<double>(slots));
    }
    builder_.EndRow(0);
  }

  void AddLeft(std::uint64_t k, std::uint64_t i) {
    builder_.BeginState();
    builder_.Transition(states_.Rest(i, 0), 1);
    builder_.EndRow(0);
    builder_.Transition(states_.Rest(0, 0), 1 - kFailure);
    builder_.Transition(states_.Again(states_.AttemptAfter(k)), kFailure);
    builder_.EndRow(0);
  }

  void AddTick(std::uint64_t next) {
    builder_.BeginState();
    builder_.Transition(next, 1);
    builder_.EndRow(1);
  }

  // All ticks of a slot but the last.
  void AddTicks(std::uint64_t first) {
    for (std::uint64_t t = 1; t < states_.ticks(); ++t) AddTick(first + t);
  }

  // What the last tick leads to.
  std::uint64_t AfterSlot(std::uint64_t k, std::uint64_t i, std::uint64_t j) const {
    if (i > 0 && j > 0) return states_.Count(k, i - 1, j - 1, 0);
    if (i == j) return states_.Draw(states_.AttemptAfter(k));
    return states_.Left(k, std::max(i, j));
  }

  const TimerStates& states_;
  double loss_;
  ModelBuilder& builder_;
};

}  // namespace

Model GenerateTimers(const GeneratorOptions& options) {
  const std::uint64_t attempts = *options.attempts;
  const std::uint64_t at_least = std::max(*options.states, TimerStates(attempts, 1).count());
  const std::uint64_t per_tick = TimerStates::StatesPerTick(attempts);
  const std::uint64_t others = TimerStates(attempts, 0).count();
  const TimerStates states(attempts, (at_least - others + per_tick - 1) / per_tick);
  // In attempt k there are 2^k draws of 2^k slots, and two more; per tick there are 4^k states.
  const std::uint64_t draws = 2 * per_tick;
  ModelBuilder builder =
      BuilderBeforeNumbering(options, {.states = states.count(),
                                       .rows = states.count() + others,
                                       .transitions = states.count() + others + draws});
  TimerModel model(states, *options.noise, builder);
  for (std::uint64_t k = 1; k <= attempts; ++k) model.AddAttempt(k);
  model.AddRest();
  return NumberBreadthFirst(builder.Finish(options.discount));
}

}  // namespace stableaa
