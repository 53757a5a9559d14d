// Saved state from arbitrary bytes: either a BadInput, or a state that saves to the same bytes and
// works. The first byte chooses the reader.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "fuzz/accepts.h"
#include "stableaa/anderson/accelerator.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"

namespace stableaa {
namespace {

using Bytes = std::span<const std::byte>;

// True if `object` loads the bytes. It must then save what it read, or, after a refusal, what it
// held before.
template <typename T>
bool Loads(T& object, Bytes bytes) {
  ByteWriter before;
  object.Save(before);
  ByteReader reader(bytes, "fuzz");
  const bool accepted = Accepts([&] { object.Load(reader); });
  ByteWriter after;
  object.Save(after);
  Require(std::ranges::equal(after.bytes(),
                             accepted ? bytes.first(reader.position()) : before.bytes()));
  return accepted;
}

// An overflowing iterate is allowed, but the next step must then refuse it.
void TryAccelerator(Bytes bytes, Accelerator& accelerator, std::size_t size) {
  std::vector<double> x(size, 1.0);
  std::vector<double> image(size, 0.5);
  accelerator.Reset();
  accelerator.Step(x, image);
  if (!Loads(accelerator, bytes)) return;
  for (int step = 0; step < 4; ++step) {
    for (std::size_t i = 0; i < size; ++i) image[i] = std::cos(x[i] + static_cast<double>(i));
    const bool finite = std::ranges::all_of(x, [](double v) { return std::isfinite(v); });
    try {
      accelerator.Step(x, image);
      Require(finite);
    } catch (const Error& error) {
      Require(!finite && error.kind() == Error::Kind::kWorkFailed);
      std::ranges::fill(x, 0.25);
    }
  }
}

void TryRandom(Bytes bytes) {
  RandomStream stream(1, "fuzz");
  stream();
  if (!Loads(stream, bytes)) return;
  for (int draw = 0; draw < 9; ++draw) {
    const double u = stream.Uniform();
    Require(u >= 0 && u < 1);
  }
  Require(std::isfinite(stream.Normal()));
  Require(stream.Below(7) < 7);
}

// Each byte of the input calls one reader, whose values come from the bytes after it.
void TryReader(Bytes bytes) {
  ByteReader reader(bytes, "fuzz");
  std::array<double, 3> doubles;
  std::array<float, 3> floats;
  const bool to_the_end = Accepts([&] {
    while (reader.remaining() > 0) {
      const std::uint8_t operation = reader.U8();
      const std::size_t count = operation / 16 % 4;
      switch (operation % 8) {
        case 0:
          reader.U32();
          break;
        case 1:
          reader.U64();
          break;
        case 2:
          reader.I64();
          break;
        case 3:
          reader.F64();
          break;
        case 4:
          reader.Bool();
          break;
        case 5:
          Require(reader.Text(4 * count).size() <= 4 * count);
          break;
        case 6:
          reader.F64s(std::span(doubles).first(count));
          break;
        default:
          reader.F32s(std::span(floats).first(count));
          break;
      }
    }
    reader.ExpectEnd();
  });
  Require(reader.position() + reader.remaining() == bytes.size());
  Require(!to_the_end || reader.remaining() == 0);
}

// The bytes as a file that never reaches a disk.
void TryCheckedFile(Bytes bytes) {
  const Descriptor file(memfd_create("fuzz", 0));
  Require(write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  CheckedFile content;
  if (!Accepts([&] { content = ReadCheckedFile(path, "fuzz", 3); })) return;
  Require(content.version <= 3);
  Require(std::ranges::equal(content.payload, bytes.subspan(28, bytes.size() - 32)));
}

// With the right checksum after them, to reach what it guards.
void TrySealedFile(Bytes bytes) {
  std::vector<std::byte> sealed(bytes.begin(), bytes.end());
  auto crc = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
  for (int i = 0; i < 4; ++i, crc >>= 8) sealed.push_back(static_cast<std::byte>(crc));
  TryCheckedFile(sealed);
}

void Try(std::uint8_t choice, Bytes bytes) {
  // Constructed once, because that takes longer than everything else.
  static Accelerator doubles(3, {.memory = 2, .damping = 0.5});
  static Accelerator floats(3, {.memory = 2, .damping = 0.5, .history = HistoryPrecision::kFloat});
  static Accelerator plain(2, {.memory = 0, .damping = 0.5});
  static Accelerator vanilla(2, {.memory = 3,
                                 .damping = 0.5,
                                 .weights = {.rule = WeightRule::kVanilla},
                                 .restart = RestartRule::kOnGrowth});
  switch (choice % 8) {
    case 0:
      return TryAccelerator(bytes, doubles, 3);
    case 1:
      return TryAccelerator(bytes, floats, 3);
    case 2:
      return TryAccelerator(bytes, plain, 2);
    case 3:
      return TryAccelerator(bytes, vanilla, 2);
    case 4:
      return TryRandom(bytes);
    case 5:
      return TryReader(bytes);
    case 6:
      return TryCheckedFile(bytes);
    default:
      return TrySealedFile(bytes);
  }
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  stableaa::Try(data[0], std::as_bytes(std::span(data, size)).subspan(1));
  return 0;
}
