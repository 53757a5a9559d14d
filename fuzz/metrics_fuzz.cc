// The metrics.csv reader: any text is a table whose rows fit its columns, or BadInput.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/accepts.h"
#include "stableaa/experiment/results/run_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  stableaa::Accepts([text] {
    const stableaa::MetricTable table = stableaa::ParseMetrics(text, "metrics.csv");
    for (const auto& row : table.rows) stableaa::Require(row.size() == table.columns.size());
    std::int64_t before = -1;
    for (const stableaa::CurvePoint& point : table.CurveOf("step")) {
      stableaa::Require(point.step > before);
      before = point.step;
    }
  });
  return 0;
}
