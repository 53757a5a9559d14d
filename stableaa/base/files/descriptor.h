// A POSIX file descriptor with an owner.
#ifndef STABLEAA_BASE_FILES_DESCRIPTOR_H_
#define STABLEAA_BASE_FILES_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace stableaa {

// Closes what it owns. Negative means it owns nothing, as after a failed open().
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }

  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

  // False, with errno set, if a pending write failed; closed either way.
  bool Close() { return !is_open() || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_ = -1;
};

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_DESCRIPTOR_H_
