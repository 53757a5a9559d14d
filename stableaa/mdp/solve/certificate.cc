#include "stableaa/mdp/solve/certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stableaa {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;

// The number of additions that one term goes through in passes.cc's sum over a row.
double LongestChain(std::uint64_t transitions) {
  const auto n = static_cast<double>(transitions);
  return transitions < 16 ? n : n / 4 + 6;
}

}  // namespace

bool Certificate::finite() const { return std::isfinite(shift) && std::isfinite(half); }

Certifier::Certifier(const Model& model, double discount, double operator_additions)
    : discount_(discount) {
  const auto [least, most] = std::ranges::minmax(model.rewards());
  least_reward_ = least;
  most_reward_ = most;
  largest_reward_ = std::max(std::abs(least), std::abs(most));
  const std::uint64_t longest = model.most_transitions();
  additions_ = LongestChain(longest) + 4 + operator_additions;
  row_sum_error_ = 3 * (static_cast<double>(longest) + 4) * kUnit;  // and of checking it
  underflow_ = (static_cast<double>(longest) + 4) * std::numeric_limits<double>::denorm_min();
}

double Certifier::Floor(double magnitude) const {
  const double numbers = largest_reward_ + magnitude;
  if (numbers == 0) return 0;
  const double backup = additions_ * kUnit * numbers + underflow_;
  return backup / (1 - discount_) + kUnit * magnitude;
}

double Certifier::least_value() const {
  const double value = least_reward_ / (1 - discount_);
  return value - std::abs(value) * (row_sum_error_ / (1 - discount_) + 8 * kUnit) - underflow_;
}

double Certifier::most_value() const {
  const double value = most_reward_ / (1 - discount_);
  return value + std::abs(value) * (row_sum_error_ / (1 - discount_) + 8 * kUnit) + underflow_;
}

Certificate Certifier::Certify(const Differences& differences) const {
  return Magnified(differences, discount_ / (1 - discount_));
}

Certificate Certifier::CertifyValues(const Differences& differences) const {
  return Magnified(differences, 1 / (1 - discount_));
}

Certificate Certifier::Magnified(const Differences& differences, double factor) const {
  const double low = factor * differences.least;
  const double high = factor * differences.largest;
  const double farthest = std::max(std::abs(low), std::abs(high));
  Certificate certificate;
  certificate.shift = low + (high - low) / 2;
  certificate.rounding = Floor(differences.values + differences.magnitude() + farthest) +
                         farthest * (row_sum_error_ / (1 - discount_) + 8 * kUnit);
  certificate.half = (high - low) / 2 + certificate.rounding;
  return certificate;
}

}  // namespace stableaa
