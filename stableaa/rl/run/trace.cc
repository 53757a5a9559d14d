#include "stableaa/rl/run/trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);  // as the dtypes below say

constexpr std::size_t kBufferBytes = std::size_t{1} << 24;  // for all environments together
constexpr std::size_t kMaxBlockSteps = 4096;

Error CannotWrite(const fs::path& path, int errno_value) {
  return SystemError(fmt::format("cannot write {}", path.string()), errno_value);
}

Descriptor OpenWithoutName(const fs::path& path) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  Descriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.is_open()) return file;
  // Not every file system supports it.
  std::string name = (directory / ".trace.XXXXXX").string();
  file = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.is_open()) throw CannotWrite(path, errno);
  ::unlink(name.c_str());
  return file;
}

void WriteAt(int file, std::span<const std::byte> bytes, std::uint64_t offset,
             const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw CannotWrite(path, written == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void ReadAt(int file, std::span<std::byte> bytes, std::uint64_t offset, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw CannotWrite(path, got == 0 ? EIO : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

}  // namespace

EvaluationTrace::EvaluationTrace(const fs::path& path, const EnvironmentSpec& spec,
                                 int environments)
    : path_(path), archive_(path), spool_(OpenWithoutName(path)) {
  const Space& space = spec.observation;
  const bool bytes = space.type == ElementType::kUint8;
  AddColumn("observations", bytes ? "|u1" : "<f4", bytes ? 1 : sizeof(float),
            {space.shape.begin(), space.shape.end()});
  if (spec.action.kind == Space::Kind::kDiscrete) {
    AddColumn("q_values", "<f4", sizeof(float), {static_cast<std::uint64_t>(spec.action.n)});
    AddColumn("actions", "<i4", sizeof(std::int32_t), {});
  } else {
    AddColumn("actions", "<f4", sizeof(float),
              {spec.action.shape.begin(), spec.action.shape.end()});
  }
  AddColumn("rewards", "<f8", sizeof(double), {});
  AddColumn("terminated", "|u1", 1, {});
  AddColumn("truncated", "|u1", 1, {});

  players_.resize(static_cast<std::size_t>(environments));
  block_steps_ =
      std::clamp<std::size_t>(kBufferBytes / players_.size() / step_bytes_, 1, kMaxBlockSteps);
  for (Column& column : columns_) column.offset *= block_steps_;
  for (Player& player : players_) player.block.resize(block_steps_ * step_bytes_);
}

void EvaluationTrace::AddColumn(const std::string& name, const std::string& dtype,
                                std::size_t element_bytes,
                                const std::vector<std::uint64_t>& shape) {
  std::size_t bytes = element_bytes;
  for (const std::uint64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
  columns_.push_back({name, dtype, shape, bytes, step_bytes_});
  step_bytes_ += bytes;
}

void EvaluationTrace::Add(const EvaluationStep& step) {
  Player& player = players_.at(step.environment);
  const auto number = static_cast<std::size_t>(step.game);
  if (games_.size() <= number) games_.resize(number + 1);
  Game& game = games_[number];
  if (step.step == 0) game = {step.environment, player.steps, 0};
  ++game.steps;

  const std::size_t row = player.steps % block_steps_;
  std::size_t next = 0;
  const auto put = [&]<typename T>(std::span<const T> values) {
    const Column& column = columns_[next++];
    if (values.size_bytes() != column.bytes) {
      throw std::logic_error(fmt::format("EvaluationTrace: {} of another size", column.name));
    }
    std::memcpy(player.block.data() + column.offset + row * column.bytes, values.data(),
                column.bytes);
  };
  const std::uint8_t terminated = step.terminated ? 1 : 0, truncated = step.truncated ? 1 : 0;
  if (step.before.floats.empty()) {
    put(step.before.bytes);
  } else {
    put(step.before.floats);
  }
  if (step.action_values.empty()) {
    put(step.values);
    put(std::span<const std::int32_t>(&step.action, 1));
  } else {
    put(step.action_values);
  }
  put(std::span<const double>(&step.reward, 1));
  put(std::span<const std::uint8_t>(&terminated, 1));
  put(std::span<const std::uint8_t>(&truncated, 1));
  ++player.steps;
  if (player.steps % block_steps_ == 0) Flush(player);
}

void EvaluationTrace::Flush(Player& player) {
  WriteAt(spool_.get(), player.block, blocks_ * player.block.size(), path_);
  player.written.push_back(blocks_++);
}

void EvaluationTrace::Finish() {
  std::uint64_t steps = 0;
  for (Player& player : players_) {
    steps += player.steps;
    if (player.steps % block_steps_ != 0) Flush(player);
  }
  for (const Column& column : columns_) {
    std::vector<std::uint64_t> shape = {steps};
    shape.insert(shape.end(), column.shape.begin(), column.shape.end());
    archive_.AddStream(column.name, shape, column.dtype,
                       [&](const NpzWriter::Sink& sink) { WriteColumn(column, sink); });
  }
  archive_.AddStream("game", {steps}, "<i8",
                     [this](const NpzWriter::Sink& sink) { WriteGames(sink); });
  archive_.Finish();
}

void EvaluationTrace::WriteColumn(const Column& column, const NpzWriter::Sink& sink) {
  std::vector<std::byte> part(block_steps_ * column.bytes);
  for (const Game& game : games_) {
    const std::vector<std::uint64_t>& written = players_[game.environment].written;
    const std::uint64_t end = game.begin + game.steps;
    for (std::uint64_t step = game.begin; step < end;) {
      const std::uint64_t row = step % block_steps_;
      const std::uint64_t count = std::min(block_steps_ - row, end - step);
      const auto bytes = std::span(part).first(static_cast<std::size_t>(count) * column.bytes);
      ReadAt(spool_.get(), bytes,
             written[static_cast<std::size_t>(step / block_steps_)] * block_steps_ * step_bytes_ +
                 column.offset + row * column.bytes,
             path_);
      sink(bytes);
      step += count;
    }
  }
}

void EvaluationTrace::WriteGames(const NpzWriter::Sink& sink) const {
  std::vector<std::int64_t> numbers;
  for (std::size_t game = 0; game < games_.size(); ++game) {
    for (std::uint64_t left = games_[game].steps; left > 0;) {
      numbers.assign(static_cast<std::size_t>(std::min<std::uint64_t>(left, kMaxBlockSteps)),
                     static_cast<std::int64_t>(game));
      sink(std::as_bytes(std::span(std::as_const(numbers))));
      left -= numbers.size();
    }
  }
}

}  // namespace stableaa
