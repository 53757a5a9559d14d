// A run's rows as they are logged, one JSON object per line, for programs that follow it: trackers
// of experiments, dashboards.
//
//   {"kind":"run","version":"0.1.0","env":"classic/cartpole",...,"config":{"train.seed":1,...}}
//   {"kind":"episode","episode":1,"step":23,"return":23,...}
//   {"kind":"metrics","step":1000,"update":900,...}
//
// docs/formats.md has the fields. Rows have the columns of metrics.csv and episodes.csv and the same
// digits; empty and non-finite cells are null. Text is ASCII. A line is complete once it is written,
// in one piece if the system takes it so.
#ifndef STABLEAA_RL_RUN_JSON_LOG_H_
#define STABLEAA_RL_RUN_JSON_LOG_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/rl/run/metrics.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

class JsonLog {
 public:
  enum class Part {
    kFirst,  // a new run: the file must be new or empty
    kLater,  // a resumed run: lines are appended; a last one that is not whole is cut off
  };

  // Throws now rather than after the work if the target cannot be opened: BadInput for a file that
  // holds something else, WorkFailed for one that cannot be written. Changes nothing.
  static void Require(const std::string& target, Part part);

  // For a run that goes on: BadInput if the last rows that a file holds are of another run, that is,
  // one with other options or another directory that still exists.
  static void RequireSameRun(const std::string& target, const RunOptions& options,
                             const std::filesystem::path& directory);

  // `target` is "-" for stdout, or a path. Named pipes and devices will do; a pipe waits for its
  // reader. Throws as Require does.
  JsonLog(const std::string& target, Part part);

  // Whether the lines go to stdout, where nothing else should go then.
  bool is_stdout() const;

  // The first line of each part. `step`: where it begins.
  void AddRun(const RunOptions& options, const std::filesystem::path& directory, std::int64_t step);
  // Both throw WorkFailed if the line cannot be written (disk full); a file then ends with the line
  // before. A reader of a pipe who has gone is no error: a warning, and all further lines are
  // dropped. One who does not read holds the caller up as soon as the pipe is full, until an
  // interrupt (interrupt.h), after which lines are dropped too.
  void Add(const MetricRow& row);
  void Add(const EpisodeRow& row);

 private:
  void Write(std::string line);
  bool WaitForRoom() const;
  void GiveUp(std::string_view why);

  std::string name_;  // for messages
  Descriptor file_;   // not open for stdout
  int fd_ = -1;
  bool is_regular_ = false;
  bool has_reader_ = true;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_JSON_LOG_H_
