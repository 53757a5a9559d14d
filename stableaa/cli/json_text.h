// A result as the text that --json prints.
#ifndef STABLEAA_CLI_JSON_TEXT_H_
#define STABLEAA_CLI_JSON_TEXT_H_

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "stableaa/base/text/plain_text.h"

namespace stableaa {

// One line. For objects with names of files in them, which need not be UTF-8. What JSON leaves as
// it is and a terminal does not (DEL, U+009B, changes of the text's direction) is escaped too.
inline std::string JsonText(const nlohmann::ordered_json& object) {
  return PlainText(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// null for what JSON has no number for: infinities and NaN.
inline nlohmann::ordered_json JsonNumber(double number) {
  return std::isfinite(number) ? nlohmann::ordered_json(number) : nlohmann::ordered_json();
}

}  // namespace stableaa

#endif  // STABLEAA_CLI_JSON_TEXT_H_
