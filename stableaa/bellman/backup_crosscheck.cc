// The operators as a filter, for comparison with another implementation (backup_crosscheck.py).
//
// Reads lines "OPERATOR OMEGA q0 q1 ..." and prints "VALUE RHO g0 g1 ..." for each: the value, the
// root of the maximum-entropy policy (0 except for mellowmax with a finite omega) and the gradient.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/bellman/backup.h"
#include "stableaa/bellman/policy.h"

namespace {

using stableaa::Backup;
using stableaa::BackupKind;

// Not std::stod, which rejects denormal numbers.
double Number(const std::string& word) { return std::strtod(word.c_str(), nullptr); }

void Answer(const Backup& backup, const std::vector<double>& q) {
  const bool has_root = backup.kind == BackupKind::kMellowmax && std::isfinite(backup.omega);
  const double rho = has_root ? stableaa::FindMaxEntropyRoot(q, backup.omega).rho : 0;
  std::vector<double> gradient(q.size());
  backup.Gradient(q, gradient);
  std::printf("%.17g %.17g", backup.Value(q), rho);
  for (const double slope : gradient) std::printf(" %.17g", slope);
  std::printf("\n");
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string name;
    std::string number;
    words >> name >> number;
    const Backup backup{stableaa::ParseBackupKind(name), Number(number)};
    std::vector<double> q;
    while (words >> number) q.push_back(Number(number));
    Answer(backup, q);
  }
  return 0;
}
