// Builds message text from parts:
//
//   throw WorkFailed(Concat("step ", step, ": the iterate is ", x[i], " at component ", i));
//
// Reals print in the shortest form that reads back exactly: 0.1, 100000, 1e+16, nan, -inf.
#ifndef STABLEAA_CORE_CONCAT_H_
#define STABLEAA_CORE_CONCAT_H_

#include <concepts>
#include <string>
#include <string_view>

namespace stableaa {

std::string RealText(double value);

namespace internal {

inline void AppendPart(std::string& text, std::string_view part) { text += part; }
inline void AppendPart(std::string& text, char part) { text += part; }
inline void AppendPart(std::string& text, double part) { text += RealText(part); }
template <std::integral Integer>
void AppendPart(std::string& text, Integer part) {
  text += std::to_string(part);
}

}  // namespace internal

template <typename... Parts>
std::string Concat(const Parts&... parts) {
  std::string text;
  (internal::AppendPart(text, parts), ...);
  return text;
}

}  // namespace stableaa

#endif  // STABLEAA_CORE_CONCAT_H_
