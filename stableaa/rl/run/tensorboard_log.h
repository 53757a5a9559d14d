// Scalars for TensorBoard: an event file (events.out.tfevents.*) of records, each
//
//   u64 length n, u32 masked CRC-32C of these 8 bytes, n bytes of an Event message,
//   u32 masked CRC-32C of the message
//
// all little-endian. The message is written with protobuf from tensorboard_event.proto, which has
// the fields of TensorBoard's own Event and Summary that are used here, under the same numbers.
#ifndef STABLEAA_RL_RUN_TENSORBOARD_LOG_H_
#define STABLEAA_RL_RUN_TENSORBOARD_LOG_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "stableaa/rl/run/run_log.h"

namespace stableaa {

struct Scalar {
  std::string tag;  // "eval/return_mean"
  double value = 0;
};

// The wall clock in the format of events.
double SecondsSince1970();

class TensorboardLog {
 public:
  // Like RunLog; an empty file gets the record with the format's version.
  explicit TensorboardLog(std::filesystem::path path, LogRows records = {});

  // Adds one record with all scalars, even if they are not finite. wall_seconds:
  // SecondsSince1970().
  void Add(std::int64_t step, double wall_seconds, std::span<const Scalar> scalars);
  // Like RunLog::AppendUncounted.
  void AddUncounted(std::int64_t step, double wall_seconds, std::span<const Scalar> scalars);
  void Sync() { log_.Sync(); }
  const LogRows& records() const { return log_.rows(); }

 private:
  RunLog log_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TENSORBOARD_LOG_H_
