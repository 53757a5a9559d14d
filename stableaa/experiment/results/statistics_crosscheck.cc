// The statistics as a filter, for comparison with NumPy and SciPy (statistics_crosscheck.py).
//
// Reads problems as numbers separated by blanks,
//
//   SEED RESAMPLES CONFIDENCE TASKS
//   runs and scores of X by task, runs and scores of Y by task
//   thresholds: their number, then their values
//   a curve: number of points, then step and value of each
//   queries: their number, then steps
//
// and prints, for each problem, one line per result, `name number...`, and an empty line.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/experiment/results/statistics.h"

namespace {

using stableaa::BootstrapOptions;
using stableaa::Curve;
using stableaa::Interval;
using stableaa::TaskScores;

std::string Word() {
  std::string word;
  if (!(std::cin >> word)) throw stableaa::BadInput("the last problem is incomplete");
  return word;
}

// Unlike the stream, reads "inf" and "nan" too.
double Number() { return std::strtod(Word().c_str(), nullptr); }
std::size_t Count() { return std::stoul(Word()); }

std::vector<double> Numbers() {
  std::vector<double> numbers(Count());
  for (double& number : numbers) number = Number();
  return numbers;
}

TaskScores ReadScores(std::size_t tasks) {
  TaskScores scores(tasks);
  for (auto& runs : scores) runs = Numbers();
  return scores;
}

Curve ReadCurve() {
  Curve curve(Count());
  for (auto& point : curve) {
    point.step = std::stoll(Word());
    point.value = Number();
  }
  return curve;
}

void Print(const char* name, std::span<const double> values) {
  std::printf("%s", name);
  for (const double value : values) std::printf(" %.17g", value);
  std::printf("\n");
}

void Print(const char* name, double value) { Print(name, std::span(&value, 1)); }

void Print(const char* name, const std::vector<Interval>& intervals) {
  std::vector<double> ends;
  for (const Interval& interval : intervals) {
    ends.push_back(interval.low);
    ends.push_back(interval.high);
  }
  Print(name, ends);
}

double PooledIqm(const TaskScores& scores) { return stableaa::InterquartileMean(scores); }

void Solve(std::uint64_t seed) {
  BootstrapOptions options{.seed = seed};
  options.resamples = std::stoi(Word());
  options.confidence = Number();
  const std::size_t tasks = Count();
  const TaskScores x = ReadScores(tasks), y = ReadScores(tasks);
  const std::vector<double> thresholds = Numbers();
  const Curve curve = ReadCurve();
  std::vector<double> queries = Numbers();

  Print("iqm", PooledIqm(x));
  Print("iqm_interval", {stableaa::StratifiedBootstrap(x, PooledIqm, options)});
  Print("mean", stableaa::Mean(x));
  Print("mean_interval", {stableaa::StratifiedBootstrap(x, stableaa::Mean, options)});
  Print("improvement", stableaa::ProbabilityOfImprovement(x, y));
  Print("improvement_interval", {stableaa::ProbabilityOfImprovementInterval(x, y, options)});
  Print("profile", stableaa::PerformanceProfile(x, thresholds));
  Print("profile_intervals", stableaa::PerformanceProfileIntervals(x, thresholds, options));
  Print("height", stableaa::MeanHeight(curve));
  for (double& query : queries) query = stableaa::ValueAt(curve, static_cast<std::int64_t>(query));
  Print("values", queries);
  std::printf("\n");
}

}  // namespace

int main() {
  std::string seed;
  while (std::cin >> seed) Solve(std::stoull(seed));
  return 0;
}
