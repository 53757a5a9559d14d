#include "stableaa/theory/choices.h"

#include <algorithm>
#include <cmath>

#include "stableaa/core/random.h"

namespace stableaa {
namespace {

// Reflects at 0 and 1, so that the ends are reached as easily as the middle.
double Reflected(double number) {
  const double folded = std::fmod(std::abs(number), 2.0);
  return std::min(folded > 1 ? 2 - folded : folded, std::nextafter(1.0, 0.0));
}

}  // namespace

double Choices::Uniform() {
  if (used_ == std::ssize(numbers_)) numbers_.push_back(stream_->Uniform());
  return numbers_[static_cast<std::size_t>(used_++)];
}

double Choices::Uniform(double lo, double hi) { return lo + (hi - lo) * Uniform(); }

double Choices::LogUniform(double lo, double hi) {
  return std::clamp(lo * std::pow(hi / lo, Uniform()), lo, hi);
}

double Choices::Normal() {
  constexpr double kLeast = 0x1p-53;
  return InverseNormalCdf(std::clamp(Uniform(), kLeast, 1 - kLeast));
}

int Choices::Integer(int lo, int hi) {
  return lo + static_cast<int>(Uniform() * (static_cast<double>(hi) - lo + 1));
}

std::uint64_t Choices::Seed() { return static_cast<std::uint64_t>(Uniform() * 0x1p53); }

bool Choices::Chance(double probability) { return Uniform() < probability; }

std::vector<double> Neighbour(const std::vector<double>& numbers, RandomStream& stream) {
  std::vector<double> moved = numbers;
  if (moved.empty()) return moved;
  const double width = std::pow(10.0, stream.Uniform(-5, -0.5));
  const auto move = [&](double& number) {
    number = stream.Bernoulli(0.1) ? stream.Uniform() : Reflected(number + width * stream.Normal());
  };
  if (stream.Bernoulli(0.2)) {
    for (double& number : moved) number = Reflected(number + width * stream.Normal());
    return moved;
  }
  for (std::uint64_t left = 1 + stream.Below(4); left > 0; --left) {
    move(moved[stream.Below(moved.size())]);
  }
  return moved;
}

}  // namespace stableaa
