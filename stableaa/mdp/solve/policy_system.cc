#include "stableaa/mdp/solve/policy_system.h"

#include <Eigen/SparseLU>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace stableaa {
namespace {

constexpr std::uint64_t kAbsent = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kReductionBlock =
    4096;  // terms summed in one go; fixed, whatever the threads
constexpr std::size_t kLeastParallelUnknowns = 100'000;

// The most that half a step of BiCGSTAB leaves if the factors are exact. Others leave far more.
constexpr double kExactFactors = 1e-6;

bool Parallel(std::size_t size, int threads) {
  return threads > 1 && size >= kLeastParallelUnknowns;
}

std::int64_t Blocks(std::size_t size) {
  return static_cast<std::int64_t>((size + kReductionBlock - 1) / kReductionBlock);
}

double Dot(std::span<const double> a, std::span<const double> b) {
  double total = 0;
  for (std::size_t first = 0; first < a.size(); first += kReductionBlock) {
    const std::size_t last = std::min(a.size(), first + kReductionBlock);
    std::array<double, 4> part = {0, 0, 0, 0};
    std::size_t i = first;
    for (; i + 4 <= last; i += 4) {
      for (std::size_t j = 0; j < 4; ++j) part[j] += a[i + j] * b[i + j];
    }
    for (; i < last; ++i) part[0] += a[i] * b[i];
    total += (part[0] + part[1]) + (part[2] + part[3]);
  }
  return total;
}

double Norm(std::span<const double> a) { return std::sqrt(Dot(a, a)); }

double LargestMagnitude(std::span<const double> a) {
  double largest = 0;
  for (const double v : a) largest = std::max(largest, std::abs(v));
  return largest;
}

}  // namespace

void Multiply(const SparseRows& rows, std::span<const double> x, std::span<double> y, int threads) {
  const std::size_t n = rows.size();
#pragma omp parallel for num_threads(threads) schedule(static) if (Parallel(n, threads))
  for (std::int64_t block = 0; block < Blocks(n); ++block) {
    const std::size_t first = static_cast<std::size_t>(block) * kReductionBlock;
    for (std::size_t i = first; i < std::min(n, first + kReductionBlock); ++i) {
      double sum = 0;
      for (std::uint64_t k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) {
        sum += rows.weights[k] * x[rows.columns[k]];
      }
      y[i] = x[i] - sum;
    }
  }
}

void TriangularFactors::Take(const SparseRows& rows) {
  const std::size_t n = rows.size();
  rows_.offsets = rows.offsets;
  rows_.columns = rows.columns;
  rows_.weights.resize(rows.weights.size());
  for (std::size_t k = 0; k < rows.weights.size(); ++k) rows_.weights[k] = -rows.weights[k];
  upper_.resize(n);
  inverse_.assign(n, 1.0);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t k = rows.offsets[i];
    while (k < rows.offsets[i + 1] && rows.columns[k] < i) ++k;
    upper_[i] = k;
  }
}

void TriangularFactors::TakeParts(const SparseRows& rows) { Take(rows); }

void TriangularFactors::Factor(const SparseRows& rows) {
  Take(rows);
  const std::size_t n = rows_.size();
  place_.assign(n, kAbsent);
  const auto& offsets = rows_.offsets;
  const auto& columns = rows_.columns;
  auto& a = rows_.weights;
  for (std::size_t i = 0; i < n; ++i) {
    double diagonal = 1;
    for (std::uint64_t k = offsets[i]; k < offsets[i + 1]; ++k) place_[columns[k]] = k;
    for (std::uint64_t k = offsets[i]; k < upper_[i]; ++k) {
      const std::uint32_t j = columns[k];
      a[k] *= inverse_[j];
      for (std::uint64_t u = upper_[j]; u < offsets[j + 1]; ++u) {
        if (columns[u] == i) {
          diagonal -= a[k] * a[u];
        } else if (const std::uint64_t place = place_[columns[u]]; place != kAbsent) {
          a[place] -= a[k] * a[u];
        }
      }
    }
    for (std::uint64_t k = offsets[i]; k < offsets[i + 1]; ++k) place_[columns[k]] = kAbsent;
    inverse_[i] = 1 / diagonal;
  }
}

void TriangularFactors::Solve(std::span<const double> b, std::span<double> x) const {
  const std::size_t n = rows_.size();
  const std::uint32_t* columns = rows_.columns.data();
  const double* a = rows_.weights.data();
  for (std::size_t i = 0; i < n; ++i) {
    double value = b[i];
    for (std::uint64_t k = rows_.offsets[i]; k < upper_[i]; ++k) value -= a[k] * x[columns[k]];
    x[i] = value;
  }
  for (std::size_t i = n; i-- > 0;) {
    double value = x[i];
    for (std::uint64_t k = upper_[i]; k < rows_.offsets[i + 1]; ++k) value -= a[k] * x[columns[k]];
    x[i] = value * inverse_[i];
  }
}

std::span<double> KrylovSolver::Work(std::size_t number, std::size_t size) {
  if (work_.size() <= number) work_.resize(number + 1);
  Vector& vector = work_[number];
  if (vector.size < size) {
    vector.values = std::make_unique_for_overwrite<double[]>(size);
    vector.size = size;
  }
  return {vector.values.get(), size};
}

// Van der Vorst 1992, preconditioned from the right: the residual is the true one.
KrylovResult KrylovSolver::Bicgstab(const SparseRows& rows, const TriangularFactors& factors,
                                    std::span<const double> b, std::span<double> x,
                                    const KrylovOptions& options) {
  const std::size_t n = rows.size();
  const std::span<double> r = Work(0, n);
  const std::span<double> p = Work(1, n);
  const std::span<double> v = Work(2, n);
  const std::span<double> t = Work(3, n);
  const std::span<double> h = Work(4, n);  // preconditioned p, then s, which takes the place of r
  std::ranges::fill(x, 0.0);
  std::ranges::copy(b, r.begin());
  std::ranges::copy(b, p.begin());
  const double start = Norm(b);
  KrylovResult result;
  if (start == 0) return result;
  double rho = start * start;
  while (result.iterations < options.max_iterations) {
    ++result.iterations;
    factors.Solve(p, h);
    Multiply(rows, h, v, options.threads);
    const double alpha = rho / Dot(b, v);
    if (!std::isfinite(alpha)) break;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += alpha * h[i];
      r[i] -= alpha * v[i];
    }
    if (result.iterations == 1) {  // with exact factors half a step is enough
      result.reduction = Norm(r) / start;
      if (result.reduction <= std::min(options.relative, kExactFactors)) break;
    }
    factors.Solve(r, h);
    Multiply(rows, h, t, options.threads);
    const double tt = Dot(t, t);
    const double omega = tt > 0 ? Dot(t, r) / tt : 0;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += omega * h[i];
      r[i] -= omega * t[i];
    }
    result.reduction = Norm(r) / start;
    if (result.reduction <= options.relative || LargestMagnitude(r) <= options.absolute) break;
    const double rho_next = Dot(b, r);
    const double beta = rho_next / rho * (alpha / omega);
    rho = rho_next;
    if (!std::isfinite(beta) || !std::isfinite(result.reduction)) break;
    for (std::size_t i = 0; i < n; ++i) p[i] = r[i] + beta * (p[i] - omega * v[i]);
    if (options.stop && options.stop()) break;
  }
  return result;
}

// Saad and Schultz 1986, with right preconditioning, modified Gram–Schmidt and Givens rotations.
KrylovResult KrylovSolver::Gmres(const SparseRows& rows, const TriangularFactors& factors,
                                 std::span<const double> b, std::span<double> x,
                                 const KrylovOptions& options) {
  constexpr std::size_t kRestart = 30;
  const std::size_t n = rows.size();
  const auto basis = [&](std::size_t j) { return Work(j, n); };
  const std::span<double> scratch = Work(kRestart + 1, n);
  std::ranges::fill(x, 0.0);
  const double start = Norm(b);
  KrylovResult result;
  if (start == 0) return result;
  std::array<std::array<double, kRestart>, kRestart + 1> h{};
  std::array<double, kRestart> cosine{};
  std::array<double, kRestart> sine{};
  bool stopped = false;
  while (!stopped && result.iterations < options.max_iterations) {
    Multiply(rows, x, scratch, options.threads);
    const std::span<double> start_vector = basis(0);
    for (std::size_t i = 0; i < n; ++i) start_vector[i] = b[i] - scratch[i];
    const double norm = Norm(start_vector);
    result.reduction = norm / start;
    if (result.reduction <= options.relative ||
        LargestMagnitude(start_vector) <= options.absolute) {
      break;
    }
    for (double& value : start_vector) value /= norm;
    std::array<double, kRestart + 1> g{};
    g[0] = norm;
    std::size_t used = 0;
    while (used < kRestart && result.iterations < options.max_iterations && !stopped) {
      const std::size_t j = used++;
      ++result.iterations;
      factors.Solve(basis(j), scratch);
      const std::span<double> w = basis(j + 1);
      Multiply(rows, scratch, w, options.threads);
      for (std::size_t i = 0; i <= j; ++i) {
        const std::span<const double> earlier = basis(i);
        h[i][j] = Dot(w, earlier);
        for (std::size_t k = 0; k < n; ++k) w[k] -= h[i][j] * earlier[k];
      }
      const double length = Norm(w);
      if (length > 0) {
        for (double& value : w) value /= length;
      }
      for (std::size_t i = 0; i < j; ++i) {
        const double above = h[i][j];
        h[i][j] = cosine[i] * above + sine[i] * h[i + 1][j];
        h[i + 1][j] = cosine[i] * h[i + 1][j] - sine[i] * above;
      }
      const double radius = std::hypot(h[j][j], length);
      if (radius == 0) {
        --used;
        stopped = true;
        break;
      }
      cosine[j] = h[j][j] / radius;
      sine[j] = length / radius;
      h[j][j] = radius;
      g[j + 1] = -sine[j] * g[j];
      g[j] *= cosine[j];
      stopped = options.stop && options.stop();
      // The 2-norm bounds the largest entry.
      if (std::abs(g[j + 1]) <= std::max(options.relative * start, options.absolute)) break;
    }
    result.reduction = std::abs(g[used]) / start;
    std::ranges::fill(scratch, 0.0);
    for (std::size_t j = used; j-- > 0;) {
      double y = g[j];
      for (std::size_t i = j + 1; i < used; ++i) y -= h[j][i] * g[i];
      g[j] = y / h[j][j];
      const std::span<const double> vector = basis(j);
      for (std::size_t k = 0; k < n; ++k) scratch[k] += g[j] * vector[k];
    }
    factors.Solve(scratch, scratch);
    for (std::size_t k = 0; k < n; ++k) x[k] += scratch[k];
  }
  return result;
}

bool SolveDirectly(const SparseRows& rows, std::span<const double> b, std::span<double> x) {
  // The most entries in the factors: n·(2·bandwidth + 1) as numbered, n² in any order.
  constexpr std::uint64_t kMostEntries = 20'000'000;
  const std::size_t n = rows.size();
  std::uint64_t bandwidth = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::uint64_t k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) {
      const std::uint64_t j = rows.columns[k];
      bandwidth = std::max(bandwidth, j > i ? j - i : i - j);
    }
  }
  const bool banded = bandwidth < kMostEntries && n <= kMostEntries / (2 * bandwidth + 1);
  if (!banded && n > 4000) return false;

  using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
  std::vector<Eigen::Triplet<double, int>> entries;
  entries.reserve(n + rows.entries());
  for (std::size_t i = 0; i < n; ++i) {
    entries.emplace_back(static_cast<int>(i), static_cast<int>(i), 1.0);
    for (std::uint64_t k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) {
      entries.emplace_back(static_cast<int>(i), static_cast<int>(rows.columns[k]),
                           -rows.weights[k]);
    }
  }
  Matrix matrix(static_cast<int>(n), static_cast<int>(n));
  matrix.setFromTriplets(entries.begin(), entries.end());
  const Eigen::Map<const Eigen::VectorXd> right(b.data(), static_cast<Eigen::Index>(n));
  Eigen::Map<Eigen::VectorXd> left(x.data(), static_cast<Eigen::Index>(n));
  const auto solve = [&](auto& lu) {
    lu.compute(matrix);
    if (lu.info() != Eigen::Success) return false;
    left = lu.solve(right);
    return true;
  };
  if (banded) {
    Eigen::SparseLU<Matrix, Eigen::NaturalOrdering<int>> lu;
    return solve(lu);
  }
  Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<int>> lu;
  return solve(lu);
}

}  // namespace stableaa
