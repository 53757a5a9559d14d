// One row of metrics.csv.
#ifndef STABLEAA_RL_RUN_METRIC_ROW_H_
#define STABLEAA_RL_RUN_METRIC_ROW_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stableaa {

// In the order of the columns. No value means an empty cell.
struct MetricRow {
  std::vector<std::pair<std::string, std::optional<double>>> cells = {};

  void Add(const std::string& column, std::optional<double> value) {
    cells.emplace_back(column, value);
  }
  void Append(const MetricRow& row) {
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
  }
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_METRIC_ROW_H_
