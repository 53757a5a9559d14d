#include "stableaa/bellman/arguments.h"

#include "stableaa/core/concat.h"
#include "stableaa/core/error.h"

namespace stableaa::internal {

void RequireActions(std::size_t actions) {
  if (actions == 0) throw BadInput("action values are empty: expected at least one action");
}

void RequireSize(std::string_view what, std::size_t size, std::size_t expected) {
  if (size != expected) {
    throw BadInput(Concat(what, " has ", size, " numbers: expected ", expected));
  }
}

void RequireWholeRows(std::size_t size, std::size_t actions) {
  RequireActions(actions);
  if (size % actions != 0) {
    throw BadInput(Concat("action values have ", size, " numbers: expected a multiple of ", actions,
                          " actions"));
  }
}

void RequireRows(std::size_t size, std::size_t rows, std::size_t actions) {
  RequireWholeRows(size, actions);
  // Divide instead of multiplying: rows * actions could wrap around to the right size.
  if (size / actions != rows) {
    throw BadInput(Concat("action values have ", size, " numbers: expected ", rows, " rows of ",
                          actions, " actions"));
  }
}

void RequireOmega(std::string_view name, double omega) {
  if (!(omega >= 0)) {
    throw BadInput(Concat("omega of ", name, " is ", omega, ": expected a number in [0, inf]"));
  }
}

}  // namespace stableaa::internal
