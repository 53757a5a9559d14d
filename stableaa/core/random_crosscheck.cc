// random_crosscheck SEED NAME N: prints a stream's key, then N lines with its first raw words,
// uniforms and normals, each column drawn from the start. random_crosscheck.py compares them.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "stableaa/core/random.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s SEED NAME N\n", argv[0]);
    return 2;
  }
  const stableaa::RandomStream start(std::strtoull(argv[1], nullptr, 10), argv[2]);
  const auto key = start.state().key;
  std::printf("%" PRIu64 " %" PRIu64 "\n", key[0], key[1]);
  stableaa::RandomStream raw = start;
  stableaa::RandomStream uniform = start;
  stableaa::RandomStream normal = start;
  for (long left = std::strtol(argv[3], nullptr, 10); left > 0; --left) {
    std::printf("%" PRIu64 " %.17g %.17g\n", raw(), uniform.Uniform(), normal.Normal());
  }
  return 0;
}
