#include "stableaa/base/process/interrupt.h"

#include <cstddef>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t interrupted = 0;

void Remember(int /*signal*/) { interrupted = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = Remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (std::size_t i = 0; i < 3; ++i) {
    ::sigaction(kSignals[i], nullptr, &former_[i]);
    if (former_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < 3; ++i) ::sigaction(kSignals[i], &former_[i], nullptr);
}

bool InterruptRequested() { return interrupted != 0; }

bool InterruptGuard::requested() const { return InterruptRequested(); }

void InterruptGuard::ThrowIfRequested() const {
  if (requested()) throw WorkFailed("interrupted");
}

}  // namespace stableaa
