// Compiled without contracting a * b + c into a single rounding (see CMakeLists.txt), so every
// platform computes the same bytes. Keep arithmetic whose rounding matters in this file.
#include "stableaa/core/random.h"

#include <bit>
#include <cmath>
#include <string>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/concat.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

__extension__ typedef unsigned __int128 Uint128;

uint64_t High(Uint128 x) { return static_cast<uint64_t>(x >> 64); }
uint64_t Low(Uint128 x) { return static_cast<uint64_t>(x); }

// FNV-1a alone leaves the high bits of short names alike; the finaliser spreads them.
uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x00000100000001b3;
  }
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

// Ten rounds of Philox4x64 on the counter words {counter, 0, 0, 0}. The multipliers and the key's
// Weyl increments are the paper's.
std::array<uint64_t, 4> EncryptCounter(uint64_t counter, std::array<uint64_t, 2> key) {
  constexpr int kRounds = 10;
  std::array<uint64_t, 4> x = {counter, 0, 0, 0};
  for (int round = 0; round < kRounds; ++round) {
    const Uint128 product0 = Uint128{0xD2E7470EE14C6C93} * x[0];
    const Uint128 product1 = Uint128{0xCA5A826395121157} * x[2];
    x = {High(product1) ^ x[1] ^ key[0], Low(product1), High(product0) ^ x[3] ^ key[1],
         Low(product0)};
    key[0] += 0x9E3779B97F4A7C15;
    key[1] += 0xBB67AE8584CAA73B;
  }
  return x;
}

// Numerator and denominator coefficients, in ascending powers.
struct Rational {
  std::array<double, 8> numerator;
  std::array<double, 8> denominator;

  double operator()(double x) const { return Horner(numerator, x) / Horner(denominator, x); }

  static double Horner(const std::array<double, 8>& c, double x) {
    double sum = c[7];
    for (size_t i = 7; i-- > 0;) sum = sum * x + c[i];
    return sum;
  }
};

constexpr Rational kCentral = {
    {3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
     1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
     3.3430575583588128105e+4, 2.5090809287301226727e+3},
    {1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
     2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4,
     5.2264952788528545610e+3}};
constexpr Rational kTail = {
    {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4},
    {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9}};
constexpr Rational kFarTail = {
    {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15}};

// Quantile at p, given as centred = p - 1/2 and tail = min(p, 1 - p): near 0 and 1 each keeps
// digits that the other has lost.
double NormalQuantile(double centred, double tail) {
  if (std::abs(centred) <= 0.425) return centred * kCentral(0.180625 - centred * centred);
  const double r = std::sqrt(-PortableLog(tail));
  const double magnitude = r <= 5.0 ? kTail(r - 1.6) : kFarTail(r - 5.0);
  return centred < 0.0 ? -magnitude : magnitude;
}

// atanh(s) = s + s^3 (1/3 + s^2/5 + s^4/7 + ...).
constexpr std::array<double, 11> kAtanhSeries = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                                 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17,
                                                 1.0 / 19, 1.0 / 21, 1.0 / 23};

void CheckRange(double lo, double hi) {
  if (lo <= hi && std::isfinite(hi - lo)) return;
  throw BadInput(Concat("uniform numbers need finite limits lo <= hi, found [", lo, ", ", hi, ")"));
}

// `value`, or the largest number below hi if rounding has made it hi.
template <typename T>
T KeepBelow(T value, T lo, T hi) {
  return value < hi || lo == hi ? value : std::nextafter(hi, lo);
}

// Sixteen digits each.
std::string Hex(const std::array<uint64_t, 2>& key) {
  std::string text;
  for (const uint64_t word : key) {
    if (!text.empty()) text += ' ';
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15];
  }
  return text;
}

double SumOfWeights(std::span<const double> weights) {
  double sum = 0.0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0.0 && std::isfinite(weights[i]))) {
      throw BadInput(Concat("weight ", i, " of ", weights.size(), " is ", weights[i],
                            ", expected a finite number >= 0"));
    }
    sum += weights[i];
  }
  if (!(sum > 0.0 && std::isfinite(sum))) {
    throw BadInput(
        Concat("the ", weights.size(), " weights sum to ", sum, ", expected a finite number > 0"));
  }
  return sum;
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, std::string_view name) : key_{seed, HashName(name)} {}

void RandomStream::NextBlock() {
  block_ = EncryptCounter(++counter_, key_);
  position_ = 0;
}

double RandomStream::Uniform(double lo, double hi) {
  CheckRange(lo, hi);
  return KeepBelow(lo + (hi - lo) * Uniform(), lo, hi);
}

void RandomStream::FillUniform(std::span<float> values, float lo, float hi) {
  CheckRange(lo, hi);
  const double low = lo;
  const double width = static_cast<double>(hi) - low;
  for (float& value : values) {
    value = KeepBelow(static_cast<float>(low + width * Uniform()), lo, hi);
  }
}

uint64_t RandomStream::Below(uint64_t n) {
  if (n == 0) throw BadInput("a random integer below n needs n > 0, found 0");
  Uint128 product = Uint128{(*this)()} * n;
  if (Low(product) < n) {
    // 2^64 mod n of the 2^64 words are left over and cannot be shared evenly.
    const uint64_t surplus = (0 - n) % n;
    while (Low(product) < surplus) product = Uint128{(*this)()} * n;
  }
  return High(product);
}

int64_t RandomStream::Integer(int64_t lo, int64_t hi) {
  if (lo > hi) {
    throw BadInput(Concat("a random integer in [", lo, ", ", hi, "] needs lo <= hi"));
  }
  // Unsigned arithmetic wraps, so ranges wider than int64_t come out right.
  const uint64_t base = static_cast<uint64_t>(lo);
  const uint64_t last = static_cast<uint64_t>(hi) - base;
  const uint64_t offset = last == max() ? (*this)() : Below(last + 1);
  return static_cast<int64_t>(base + offset);
}

bool RandomStream::Bernoulli(double p) {
  if (!(p >= 0.0 && p <= 1.0)) {
    throw BadInput(Concat("a probability lies in [0, 1], found ", p));
  }
  return Uniform() < p;
}

double RandomStream::Normal() {
  // The 54 bits of p = odd / 2^54 do not fit in a double, but those of p - 1/2 and min(p, 1 - p)
  // do, so both are exact and the distribution is symmetric to the last bit.
  const uint64_t odd = (((*this)() >> 11) << 1) + 1;
  constexpr uint64_t kOne = uint64_t{1} << 54;
  const int64_t centred = static_cast<int64_t>(odd) - static_cast<int64_t>(kOne / 2);
  const uint64_t tail = centred < 0 ? odd : kOne - odd;
  return NormalQuantile(static_cast<double>(centred) * 0x1p-54,
                        static_cast<double>(tail) * 0x1p-54);
}

size_t RandomStream::Choice(std::span<const double> weights) {
  const double target = Uniform() * SumOfWeights(weights);
  double sum = 0.0;
  size_t last_positive = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (target < sum) return i;
    if (weights[i] > 0.0) last_positive = i;
  }
  // Reached only when the product rounds up to the sum, which subnormal weights can cause.
  return last_positive;
}

RandomStream::State RandomStream::state() const {
  if (position_ == block_.size()) return {key_, counter_, 0};
  return {key_, counter_ - 1, static_cast<uint32_t>(position_)};
}

void RandomStream::set_state(const State& state) {
  if (state.position >= block_.size()) {
    throw BadInput(Concat("position of a random stream is ", state.position, ", expected 0 to 3"));
  }
  key_ = state.key;
  counter_ = state.counter;
  position_ = block_.size();
  if (state.position > 0) {
    NextBlock();
    position_ = state.position;
  }
}

void RandomStream::Save(ByteWriter& out) const {
  const State now = state();
  out.U64(now.key[0]);
  out.U64(now.key[1]);
  out.U64(now.counter);
  out.U8(static_cast<uint8_t>(now.position));
}

void RandomStream::Load(ByteReader& in) {
  State saved = {};
  saved.key[0] = in.U64();
  saved.key[1] = in.U64();
  if (saved.key != key_) {
    throw in.Wrong(Concat("expected the random stream with key ", Hex(key_), ", found ",
                          Hex(saved.key), ": saved with another seed or under another name"));
  }
  saved.counter = in.U64();
  saved.position = in.U8();
  if (saved.position >= block_.size()) {
    throw in.Wrong(Concat("expected a random stream's position of 0 to 3, found ", saved.position));
  }
  set_state(saved);
}

double InverseNormalCdf(double p) {
  if (!(p > 0.0 && p < 1.0)) {
    throw BadInput(Concat("a normal quantile needs 0 < p < 1, found ", p));
  }
  return NormalQuantile(p - 0.5, p < 0.5 ? p : 1.0 - p);
}

double PortableLog(double x) {
  if (!(x > 0.0 && std::isfinite(x))) {
    throw BadInput(Concat("the logarithm needs a positive finite number, found ", x));
  }
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {  // subnormal
    x *= 0x1p54;
    exponent = -54;
  }
  // x = 2^exponent m with m in [sqrt(1/2), sqrt(2)). Subtracting the bits of sqrt(1/2) first makes
  // the exponent field count powers of two from there.
  constexpr uint64_t kSqrtHalf = std::bit_cast<uint64_t>(0x1.6a09e667f3bcdp-1);
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const int64_t power = (static_cast<int64_t>(bits) - static_cast<int64_t>(kSqrtHalf)) >> 52;
  exponent += static_cast<int>(power);
  const double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(power) << 52));

  // log m = 2 atanh(s) with s = (m - 1) / (m + 1), |s| < 0.172: the first omitted term of the
  // series is below 2^-60 of the sum.
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = kAtanhSeries.back();
  for (size_t i = kAtanhSeries.size() - 1; i-- > 0;) series = series * z + kAtanhSeries[i];

  // log 2 in two parts; the first has 29 bits, so its product with the exponent is exact.
  constexpr double kLog2High = 0x1.62e42ffp-1;
  constexpr double kLog2Low = -0x1.718432a1b0e26p-35;
  return exponent * kLog2High + (2.0 * s + (2.0 * s * (z * series) + exponent * kLog2Low));
}

}  // namespace stableaa
