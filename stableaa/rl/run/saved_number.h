// Reading numbers of a checkpoint that are not trusted: one that cannot be is a BadInput that says
// what was expected and what was found.
#ifndef STABLEAA_RL_RUN_SAVED_NUMBER_H_
#define STABLEAA_RL_RUN_SAVED_NUMBER_H_

#include <cstdint>
#include <string_view>

namespace stableaa {

class ByteReader;

// A count of 0 to `most`: "expected 0 to 20 episodes, found 21".
std::int64_t LoadCount(ByteReader& in, std::string_view what, std::int64_t most);

// A finite number of at least `least`: "expected 0 seconds or more, found -1".
double LoadNumber(ByteReader& in, std::string_view what, double least);

// For what has been read: "expected 5 mixing weights, found 4".
void ExpectCount(const ByteReader& in, std::string_view what, std::uint64_t expected,
                 std::uint64_t found);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_SAVED_NUMBER_H_
