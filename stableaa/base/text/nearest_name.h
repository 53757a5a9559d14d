// Guesses what a user meant by a name that does not exist.
#ifndef STABLEAA_BASE_TEXT_NEAREST_NAME_H_
#define STABLEAA_BASE_TEXT_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace stableaa {

// The names nearest to `name`, all equally near, at most three; none if nothing is near. A slip is
// a letter omitted, added, replaced, or swapped with its neighbour; one slip is allowed per three
// letters of the last dotted part, up to three. A name of which only the last part is near counts
// if no whole name is: "memory" finds "anderson.memory".
std::vector<std::string> NearestNames(std::string_view name, const std::vector<std::string>& names);

// "; did you mean 'a' or 'b'?" to append to "unknown name 'c'"; empty if nothing is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& names);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TEXT_NEAREST_NAME_H_
