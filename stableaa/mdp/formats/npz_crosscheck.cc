// Reads and writes .npz models for comparison with NumPy and SciPy (npz_crosscheck.py).
//
// Reads lines "IN OUT", converts each, and prints "read" with what was dropped, or "error" and the
// message.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "stableaa/core/error.h"
#include "stableaa/mdp/formats/npz_model_format.h"

namespace {

void Convert(const std::string& in, const std::string& out) {
  const stableaa::LoadedModel loaded = stableaa::ReadNpzModel(in, 1);
  stableaa::WriteNpzModel(loaded.model, out);
  std::printf("read");
  for (const std::string& dropped : loaded.dropped) std::printf(" %s", dropped.c_str());
  std::printf("\n");
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string in;
    std::string out;
    words >> in >> out;
    try {
      Convert(in, out);
    } catch (const stableaa::Error& error) {
      std::printf("error %s\n", error.what());
    }
  }
  return 0;
}
