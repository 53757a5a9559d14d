// Argument checks shared by the operators and the policies. Internal to this folder.
#ifndef STABLEAA_BELLMAN_ARGUMENTS_H_
#define STABLEAA_BELLMAN_ARGUMENTS_H_

#include <cstddef>
#include <string_view>

namespace stableaa::internal {

// Each throws BadInput with the offending numbers if the condition in its name does not hold.

void RequireActions(std::size_t actions);

// `what` has `size` entries and must have `expected`.
void RequireSize(std::string_view what, std::size_t size, std::size_t expected);

// A row-major batch: `size` numbers in rows of `actions` (at least one), either any number of rows
// or exactly `rows`.
void RequireWholeRows(std::size_t size, std::size_t actions);
void RequireRows(std::size_t size, std::size_t rows, std::size_t actions);

// In [0, infinity]; `name` says whose omega it is.
void RequireOmega(std::string_view name, double omega);

}  // namespace stableaa::internal

#endif  // STABLEAA_BELLMAN_ARGUMENTS_H_
