// The choices that make up one instance of a claim: numbers in [0, 1), in the order in which the
// instance's generator asks for them.
//
//   Choices choices(&stream);                  // new numbers, remembered
//   const int states = choices.Integer(1, 4);
//   const double discount = choices.Uniform(0, .99);
//
// A generator that draws everything from here can be searched for free: change a few of the numbers
// and generate again, and the result is a neighbour of the first instance (trials.cc). The
// generator need not know.
#ifndef STABLEAA_THEORY_CHOICES_H_
#define STABLEAA_THEORY_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stableaa {

class RandomStream;

class Choices {
 public:
  // All numbers come from `stream`, which must outlive this.
  explicit Choices(RandomStream* stream) : stream_(stream) {}
  // The first numbers come from `numbers`, any beyond them from `stream`.
  Choices(std::vector<double> numbers, RandomStream* stream)
      : numbers_(std::move(numbers)), stream_(stream) {}

  double Uniform();  // in [0, 1)
  double Uniform(double lo, double hi);
  double LogUniform(double lo, double hi);  // 0 < lo <= hi
  double Normal();                          // standard
  int Integer(int lo, int hi);              // both ends included
  std::uint64_t Seed();                     // 53 bits, for a generator with its own stream
  bool Chance(double probability);

  // All numbers requested so far, enough to repeat the instance.
  std::vector<double> Taken() const { return {numbers_.begin(), numbers_.begin() + used_}; }

 private:
  std::vector<double> numbers_;
  std::ptrdiff_t used_ = 0;
  RandomStream* stream_;
};

// A neighbour: some or all of the numbers are moved slightly or drawn anew.
std::vector<double> Neighbour(const std::vector<double>& numbers, RandomStream& stream);

}  // namespace stableaa

#endif  // STABLEAA_THEORY_CHOICES_H_
