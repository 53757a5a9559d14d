// Tests the process alone, with other programs instead of Python; the bridge's tests use Python.

#include "stableaa/env/gymnasium/worker_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::worker_process_test {

// A program that never answers; its output is not an answer.
WorkerProcess::Options Silent() {
  return {.name = "x/y", .python = "/usr/bin/yes", .shared_memory = STDERR_FILENO};
}

template <typename Work>
std::string FailureOf(const Work& work) {
  return MessageOf(work, Error::Kind::kWorkFailed);
}

TEST(WorkerProcess, OnlyThePythonThatDoesNotStartIsToldHowToGetOne) {
  WorkerProcess::Options options = Silent();
  options.python = "/no-such-python";
  EXPECT_EQ(FailureOf([&] { WorkerProcess worker(options); }),
            "x/y: cannot start '/no-such-python': No such file or directory; env.python names the "
            "Python to use, scripts/atari makes one with all that is needed");
  options = Silent();
  options.shared_memory = -1;  // as if the process may open no more
  EXPECT_EQ(FailureOf([&] { WorkerProcess worker(options); }),
            "cannot copy a descriptor: Bad file descriptor");
}

// Like the limit set by `ulimit -f`; the first part of the worker's source fits.
TEST(WorkerProcess, ALimitOnTheSizeOfFilesIsNamed) {
  rlimit former = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &former), 0);
  rlimit small = former;
  small.rlim_cur = 512;
  const auto former_handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = FailureOf([] { WorkerProcess worker(Silent()); });
  ::setrlimit(RLIMIT_FSIZE, &former);
  ::signal(SIGXFSZ, former_handler);
  EXPECT_EQ(message, "cannot write a file in memory: File too large");
}

TEST(WorkerProcess, SilenceNamesTheKeyOnlyIfItIsTheLimit) {
  for (const double most : {.2, .5}) {
    WorkerProcess::Options options = Silent();
    options.timeout_seconds = .3;
    WorkerProcess worker(options);
    worker.set_most_seconds(most);
    const std::string message = FailureOf([&] { worker.ReceiveByte(); });
    const std::string expected =
        most < .3
            ? "x/y: its worker has not answered for 0.2 s; it was killed"
            : "x/y: its worker has not answered for 0.3 s (env.timeout_seconds); it was killed";
    EXPECT_TRUE(message.starts_with(expected)) << message;
  }
}

}  // namespace stableaa::worker_process_test
