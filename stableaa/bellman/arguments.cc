#include "stableaa/bellman/arguments.h"

#include <fmt/format.h>

#include "stableaa/core/error.h"

namespace stableaa::internal {

void RequireActions(std::size_t actions) {
  if (actions == 0) throw BadInput("action values are empty: expected at least one action");
}

void RequireSize(std::string_view what, std::size_t size, std::size_t expected) {
  if (size != expected) {
    throw BadInput(fmt::format("{} has {} numbers: expected {}", what, size, expected));
  }
}

void RequireWholeRows(std::size_t size, std::size_t actions) {
  RequireActions(actions);
  if (size % actions != 0) {
    throw BadInput(fmt::format("action values have {} numbers: expected a multiple of {} actions",
                               size, actions));
  }
}

void RequireRows(std::size_t size, std::size_t rows, std::size_t actions) {
  RequireWholeRows(size, actions);
  // By division: rows * actions could wrap around to the right size.
  if (size / actions != rows) {
    throw BadInput(fmt::format("action values have {} numbers: expected {} rows of {} actions",
                               size, rows, actions));
  }
}

void RequireOmega(std::string_view name, double omega) {
  if (!(omega >= 0)) {
    throw BadInput(fmt::format("omega of {} is {}: expected a number in [0, inf]", name, omega));
  }
}

}  // namespace stableaa::internal
