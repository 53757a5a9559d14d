// Reading numbers of a saved game that are not trusted: each has its range, and one outside of it
// is a BadInput that says so.
#ifndef STABLEAA_ENV_MINATAR_SAVED_NUMBER_H_
#define STABLEAA_ENV_MINATAR_SAVED_NUMBER_H_

#include <string_view>

namespace stableaa {

class ByteReader;
class ByteWriter;

namespace minatar {

// One byte, for numbers of 0 to 255.
void SaveSmall(ByteWriter& out, int value);
int LoadSmall(ByteReader& in, std::string_view what, int low, int high);

// Eight bytes, for those that can be larger or negative.
int LoadNumber(ByteReader& in, std::string_view what, int low, int high);

}  // namespace minatar
}  // namespace stableaa

#endif  // STABLEAA_ENV_MINATAR_SAVED_NUMBER_H_
