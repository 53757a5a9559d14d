// Results for people on stdout. A name from a file, an argument or another program can neither
// control the terminal nor fake another line.
#ifndef STABLEAA_CLI_PRINT_PLAIN_H_
#define STABLEAA_CLI_PRINT_PLAIN_H_

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "stableaa/base/text/plain_text.h"

namespace stableaa {

template <typename T>
inline constexpr bool kIsText = std::is_convertible_v<const T&, std::string_view>;

// What fmt gets: text as PlainText shows it, everything else unchanged.
template <typename T>
using PlainArgument = std::conditional_t<kIsText<T>, std::string, const T&>;

template <typename T>
PlainArgument<T> Plain(const T& argument) {
  if constexpr (kIsText<T>) {
    return PlainText(argument);
  } else {
    return argument;
  }
}

// Like fmt::print. Newlines in the format are kept; callers of fmt::join must make its text plain.
template <typename... T>
void PrintPlain(fmt::format_string<PlainArgument<T>...> format, const T&... arguments) {
  const auto print = [&format](const auto&... plain) {
    fmt::vprint(format, fmt::make_format_args(plain...));
  };
  print(Plain(arguments)...);
}

}  // namespace stableaa

#endif  // STABLEAA_CLI_PRINT_PLAIN_H_
