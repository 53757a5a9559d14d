// Counts every allocation of heap memory in a program. Include it in one source of the program: it
// replaces malloc.
//
//   const long before = allocations;
//   Step();
//   EXPECT_EQ(allocations - before, 0);
#ifndef STABLEAA_TESTING_ALLOCATIONS_H_
#define STABLEAA_TESTING_ALLOCATIONS_H_

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

// The sanitizers bring their own allocator; glibc's can be replaced.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STABLEAA_COUNTS_ALLOCATIONS

namespace stableaa {
inline std::atomic<long> allocations = 0;
}

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* pointer, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++stableaa::allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++stableaa::allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t size) {
  ++stableaa::allocations;
  return __libc_realloc(pointer, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++stableaa::allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** pointer, std::size_t alignment, std::size_t size) {
  ++stableaa::allocations;
  *pointer = __libc_memalign(alignment, size);
  return *pointer != nullptr ? 0 : ENOMEM;
}
}

#endif

#endif  // STABLEAA_TESTING_ALLOCATIONS_H_
