// Named random streams: from one seed, as many independent sequences as there are names.
//
//   RandomStream exploration(seed, "exploration");
//   RandomStream replay(seed, "replay");
//
// Each use of randomness owns a stream, so drawing more in one place changes nothing elsewhere. The
// same seed, name and order of calls give the same bytes on every platform: everything that can
// differ between platforms (libm, fused multiply-add, the standard library's distributions) is
// avoided.
//
// Generator: Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011),
// a block cipher applied to a counter, in NumPy's order: after construction
// numpy.random.Philox(key=[k0, k1], counter=0).random_raw() gives the same words, where
//
//   k0 = seed
//   k1 = Mix(FNV-1a(name)), with Mix the 64-bit finaliser of SplitMix64
//
// Block b = 0, 1, ... of four words is the encryption of the counter b + 1. A stream has 2^66
// words.
#ifndef STABLEAA_CORE_RANDOM_H_
#define STABLEAA_CORE_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace stableaa {

class ByteReader;
class ByteWriter;

// A std::uniform_random_bit_generator. Not thread-safe: use one stream per thread, with the
// thread's number in its name. A copy continues independently from the same position.
class RandomStream {
 public:
  using result_type = uint64_t;

  // A stream's position in its sequence.
  struct State {
    std::array<uint64_t, 2> key;
    uint64_t counter;   // blocks used up
    uint32_t position;  // words used of the next block, 0 to 3

    bool operator==(const State&) const = default;
  };

  RandomStream(uint64_t seed, std::string_view name);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  // The next 64 random bits x. Each draw below consumes exactly one word unless it says otherwise.
  result_type operator()() {
    if (position_ == block_.size()) NextBlock();
    return block_[position_++];
  }

  // In [0, 1): (x >> 11) / 2^53, NumPy's random().
  double Uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

  // In [0, 1): (x >> 40) / 2^24.
  float UniformFloat() { return static_cast<float>((*this)() >> 40) * 0x1p-24F; }

  // In [lo, hi), or lo if they are equal: lo + (hi - lo) Uniform(). Needs finite lo <= hi and a
  // finite hi - lo.
  double Uniform(double lo, double hi);

  // Each value is Uniform(lo, hi) rounded to float, never hi.
  void FillUniform(std::span<float> values, float lo, float hi);

  // In [0, n), every value equally likely; n > 0. Multiply-shift with rejection (Lemire 2019): one
  // word, or with probability below n / 2^64 more.
  uint64_t Below(uint64_t n);

  // In [lo, hi], both ends included, for any lo <= hi. Consumes words as Below does.
  int64_t Integer(int64_t lo, int64_t hi);

  // True with probability p, 0 <= p <= 1.
  bool Bernoulli(double p);

  // Standard normal: the quantile of ((x >> 11) + 1/2) / 2^53, within [-8.3, 8.3].
  double Normal();

  // Index i with probability weights[i] / sum. Weights must be finite and >= 0, their sum finite
  // and > 0; a weight of zero is never chosen. O(n).
  size_t Choice(std::span<const double> weights);

  // Every permutation is equally likely (Fisher-Yates). One Below per element except one.
  template <typename T>
  void Shuffle(std::span<T> values) {
    for (size_t i = values.size(); i > 1; --i) {
      using std::swap;
      swap(values[i - 1], values[Below(i)]);
    }
  }

  // Setting a saved state, in this or another stream, continues with the same words. Throws
  // BadInput for a position above 3.
  State state() const;
  void set_state(const State& state);

  // Writes the state: U64 k0, U64 k1, U64 counter, U8 position.
  void Save(ByteWriter& out) const;

  // Continues where the saved stream stopped. Throws BadInput if the saved bytes are not a state or
  // belong to a different seed or name than this stream's.
  void Load(ByteReader& in);

 private:
  void NextBlock();

  std::array<uint64_t, 2> key_;
  uint64_t counter_ = 0;  // blocks generated, including the one in block_
  size_t position_ = 4;   // next word in block_; 4: none left
  std::array<uint64_t, 4> block_ = {};
};

// The quantile of the standard normal distribution, for 0 < p < 1: Wichura's PPND16 (algorithm AS
// 241, 1988), relative error about 1e-15. Same bytes on every platform.
double InverseNormalCdf(double p);

// Natural logarithm of a positive finite x using only + - * /, with an error below 2 units in the
// last place. Slower than std::log, but the same bytes on every platform.
double PortableLog(double x);

}  // namespace stableaa

#endif  // STABLEAA_CORE_RANDOM_H_
