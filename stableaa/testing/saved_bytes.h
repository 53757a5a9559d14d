// For testing objects with Save(ByteWriter&) and Load(ByteReader&).
#ifndef STABLEAA_TESTING_SAVED_BYTES_H_
#define STABLEAA_TESTING_SAVED_BYTES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "stableaa/core/binary_io.h"

namespace stableaa {

template <typename Object>
std::vector<std::byte> SavedBytes(const Object& object) {
  ByteWriter out;
  object.Save(out);
  return {out.bytes().begin(), out.bytes().end()};
}

// Throws as Load does, and BadInput if it leaves some of the bytes.
template <typename Object>
void LoadBytes(Object& object, std::span<const std::byte> bytes) {
  ByteReader in(bytes, "state");
  object.Load(in);
  in.ExpectEnd();
}

}  // namespace stableaa

#endif  // STABLEAA_TESTING_SAVED_BYTES_H_
