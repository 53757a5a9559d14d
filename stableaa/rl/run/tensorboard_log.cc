#include "stableaa/rl/run/tensorboard_log.h"

#include <chrono>
#include <utility>

#include "stableaa/core/binary_io.h"
#include "stableaa/rl/run/crc32c.h"
#include "tensorboard_event.pb.h"

namespace stableaa {
namespace {

constexpr const char* kEventVersion = "brain.Event:2";

std::string Record(const tensorboard::Event& event) {
  const std::string message = event.SerializeAsString();
  ByteWriter length;
  length.U64(message.size());
  ByteWriter length_crc;
  length_crc.U32(MaskedCrc32c(length.bytes()));
  ByteWriter message_crc;
  message_crc.U32(MaskedCrc32c(std::as_bytes(std::span(message))));

  std::string record;
  const auto append = [&](std::span<const std::byte> bytes) {
    record.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  append(length.bytes());
  append(length_crc.bytes());
  record += message;
  append(message_crc.bytes());
  return record;
}

std::string ScalarsRecord(std::int64_t step, double wall_seconds, std::span<const Scalar> scalars) {
  tensorboard::Event event;
  event.set_wall_time(wall_seconds);
  event.set_step(step);
  tensorboard::Summary& summary = *event.mutable_summary();
  for (const Scalar& scalar : scalars) {
    tensorboard::Summary::Value& value = *summary.add_value();
    value.set_tag(scalar.tag);
    value.set_simple_value(static_cast<float>(scalar.value));
  }
  return Record(event);
}

}  // namespace

double SecondsSince1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

TensorboardLog::TensorboardLog(std::filesystem::path path, LogRows records)
    : log_(std::move(path), std::move(records)) {
  if (log_.size() > 0) return;
  tensorboard::Event event;
  event.set_wall_time(SecondsSince1970());  // TensorBoard takes it as the time when the run began
  event.set_file_version(kEventVersion);
  log_.Append(Record(event));
}

void TensorboardLog::Add(std::int64_t step, double wall_seconds, std::span<const Scalar> scalars) {
  log_.Append(ScalarsRecord(step, wall_seconds, scalars));
}

void TensorboardLog::AddUncounted(std::int64_t step, double wall_seconds,
                                  std::span<const Scalar> scalars) {
  log_.AppendUncounted(ScalarsRecord(step, wall_seconds, scalars));
}

}  // namespace stableaa
