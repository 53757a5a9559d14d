// Results as the text that --json prints.
#ifndef STABLEAA_CLI_JSON_TEXT_H_
#define STABLEAA_CLI_JSON_TEXT_H_

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "stableaa/base/text/plain_text.h"

namespace stableaa {

// One line. File names in the object need not be UTF-8. Escapes characters that JSON allows but a
// terminal interprets: DEL, U+009B, changes of text direction.
inline std::string JsonText(const nlohmann::ordered_json& object) {
  return PlainText(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// null for infinities and NaN, which JSON lacks.
inline nlohmann::ordered_json JsonNumber(double number) {
  return std::isfinite(number) ? nlohmann::ordered_json(number) : nlohmann::ordered_json();
}

}  // namespace stableaa

#endif  // STABLEAA_CLI_JSON_TEXT_H_
