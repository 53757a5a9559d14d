// The speed limit for memory-bound work, measured on the spot.
#ifndef STABLEAA_CORE_TRIAD_H_
#define STABLEAA_CORE_TRIAD_H_

#include <cstddef>
#include <vector>

namespace stableaa {

// Streams a = b + s·c over three arrays of doubles. One Run moves 24·size bytes by the usual count
// (two arrays read, one written); compare other work with the time for the same number of bytes.
class Triad {
 public:
  Triad(std::size_t size, int threads);

  // Seconds for `repeats` passes over the arrays.
  double Run(int repeats);

 private:
  int threads_;
  std::vector<double> a_, b_, c_;
};

}  // namespace stableaa

#endif  // STABLEAA_CORE_TRIAD_H_
