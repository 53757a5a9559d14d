// The library's only exception type.
//
// An Error says in one sentence what was expected, what was found and where ("file:line" for parsed
// input), and can be shown to a user as is. Only the command-line program catches it.
#ifndef STABLEAA_CORE_ERROR_H_
#define STABLEAA_CORE_ERROR_H_

#include <stdexcept>
#include <string>

namespace stableaa {

class Error : public std::runtime_error {
 public:
  enum class Kind {
    kBadInput,    // the caller passed something wrong: an option, a file, an argument
    kWorkFailed,  // the input was fine, the work was not: diverged, disk full, a process died
  };

  Error(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

  // The program's exit code: 2 for bad input or usage, 1 for work that failed.
  int exit_code() const { return kind_ == Kind::kBadInput ? 2 : 1; }

 private:
  Kind kind_;
};

// For `throw BadInput(...)` and `throw WorkFailed(...)`.
Error BadInput(const std::string& message);
Error WorkFailed(const std::string& message);

// WorkFailed with the system's text for `errno_value` appended:
// "cannot write runs/a/metrics.csv: No space left on device".
Error SystemError(const std::string& message, int errno_value);

}  // namespace stableaa

#endif  // STABLEAA_CORE_ERROR_H_
