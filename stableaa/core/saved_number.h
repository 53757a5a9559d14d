// Reads numbers from saved state that is not trusted: an impossible value is a BadInput that says
// what was expected and what was found.
#ifndef STABLEAA_CORE_SAVED_NUMBER_H_
#define STABLEAA_CORE_SAVED_NUMBER_H_

#include <cstdint>
#include <string_view>

namespace stableaa {

class ByteReader;
class ByteWriter;

// A whole number from `low` to `high`: "expected a move timer of 0 to 5, found 6". Stored in one
// byte (0 to 255) or in eight.
void SaveSmall(ByteWriter& out, int value);
int LoadSmall(ByteReader& in, std::string_view what, int low, int high);
int LoadWhole(ByteReader& in, std::string_view what, int low, int high);

// A count from 0 to `most`, in eight bytes: "expected 0 to 20 episodes, found 21".
std::int64_t LoadCount(ByteReader& in, std::string_view what, std::int64_t most);

// A finite number of at least `least`: "expected 0 seconds or more, found -1".
double LoadNumber(ByteReader& in, std::string_view what, double least);

// Checks a count already read: "expected 5 mixing weights, found 4".
void ExpectCount(const ByteReader& in, std::string_view what, std::uint64_t expected,
                 std::uint64_t found);

}  // namespace stableaa

#endif  // STABLEAA_CORE_SAVED_NUMBER_H_
