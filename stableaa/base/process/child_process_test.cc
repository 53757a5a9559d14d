#include "stableaa/base/process/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/process/process_test.h"
#include "stableaa/core/error.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/testing/message.h"

namespace stableaa::child_process_test {

ChildProcess::Options Shell(const std::string& command,
                            std::vector<ChildProcess::Given> descriptors = {}) {
  return {.program = "sh", .arguments = {"-c", command}, .descriptors = std::move(descriptors)};
}

// Captures what a child writes, in a file in memory.
class Paper {
 public:
  int get() const { return file_.get(); }
  std::string Text() const {
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(::pread(get(), text.data(), text.size(), 0)));
    return text;
  }

 private:
  Descriptor file_{::memfd_create("paper", MFD_CLOEXEC)};
};

TEST(ChildProcess, TellsHowItEnded) {
  ChildProcess three(Shell("exit 3"));
  EXPECT_TRUE(three.Wait(10));
  EXPECT_EQ(three.exit_code(), 3);
  EXPECT_EQ(three.End(), "ended with exit code 3");
  ChildProcess killed(Shell("kill -9 $$"));
  EXPECT_TRUE(killed.Wait(10));
  EXPECT_FALSE(killed.exit_code());
  EXPECT_EQ(killed.End(), "was killed by signal 9 (Killed)");
}

TEST(ChildProcess, WaitingHasALimit) {
  const Stopwatch stopwatch;
  ChildProcess sleeper(Shell("sleep 100"));
  EXPECT_FALSE(sleeper.Wait(.05));
  EXPECT_LT(stopwatch.Seconds(), 60);
  sleeper.Kill();
  EXPECT_EQ(sleeper.End(), "was killed");
  sleeper.Kill();
  EXPECT_TRUE(sleeper.Wait(0));
}

TEST(ChildProcess, GetsWhatItIsGivenAndNothingElse) {
  const Paper a, b;
  const int other = ::dup(a.get());  // not close-on-exec
  ChildProcess child(
      Shell("echo one >&3; echo two >&4; ls /proc/self/fd | tr '\\n' ' ' >&3; "
            "readlink /proc/self/fd/0 >&4",
            {{a.get(), 3}, {b.get(), 4}}));
  EXPECT_TRUE(child.Wait(10));
  ::close(other);
  EXPECT_EQ(a.Text(), "one\n0 1 2 3 4 5 ");  // 5: the folder that ls is reading
  EXPECT_EQ(b.Text(), "two\n/dev/null\n");
}

TEST(ChildProcess, NumbersMayCross) {
  const Paper a, b;
  ChildProcess child(
      Shell("echo x >&" + std::to_string(a.get()), {{a.get(), b.get()}, {b.get(), a.get()}}));
  EXPECT_TRUE(child.Wait(10));
  EXPECT_EQ(a.Text(), "");
  EXPECT_EQ(b.Text(), "x\n");
}

TEST(ChildProcess, EnvironmentIsAddedToOurs) {
  ::setenv("STABLEAA_TEST_A", "ours", 1);
  ::setenv("STABLEAA_TEST_B", "ours", 1);
  const Paper paper;
  ChildProcess child(
      {.program = "sh",
       .arguments = {"-c", "echo $STABLEAA_TEST_A $STABLEAA_TEST_B $STABLEAA_TEST_C"},
       .descriptors = {{paper.get(), STDOUT_FILENO}},
       .environment = {"STABLEAA_TEST_B=its", "STABLEAA_TEST_C=new"}});
  EXPECT_TRUE(child.Wait(10));
  EXPECT_EQ(paper.Text(), "ours its new\n");
}

TEST(ChildProcess, SignalsAreAsInANewProcess) {
  ::signal(SIGUSR1, SIG_IGN);
  ChildProcess child(Shell("kill -USR1 $$; exit 0"));
  EXPECT_TRUE(child.Wait(10));
  ::signal(SIGUSR1, SIG_DFL);
  EXPECT_NE(child.End().find("signal 10"), std::string::npos) << child.End();
}

TEST(ChildProcess, TakesItsGroupAlong) {
  for (const std::string end : {"exit 0", "sleep 100"}) {
    const Paper paper;
    {
      ChildProcess child(Shell("sleep 100 & echo $!; " + end, {{paper.get(), STDOUT_FILENO}}));
      while (paper.Text().find('\n') == std::string::npos) ::usleep(1000);
      EXPECT_EQ(child.Wait(end == "exit 0" ? 10 : 0), end == "exit 0");
    }
    EXPECT_TRUE(DiesWithin(std::stoi(paper.Text()), 60)) << end;
  }
}

TEST(ChildProcess, EndsEvenIfItHasLeftItsGroup) {
  const Paper paper;
  pid_t pid = 0;
  {
    ChildProcess child({.program = "setsid",
                        .arguments = {"--wait", "sh", "-c", "echo $$; exec sleep 100"},
                        .descriptors = {{paper.get(), STDOUT_FILENO}}});
    while (paper.Text().find('\n') == std::string::npos) ::usleep(1000);
    pid = child.pid();
  }
  EXPECT_FALSE(IsAlive(pid));
  ::kill(std::stoi(paper.Text()), SIGKILL);  // out of reach, since it left the group
}

TEST(ChildProcess, ProgramsThatCannotBeStartedAreWorkThatFails) {
  for (const std::string program : {"no-such-program", "/no/such/program", "/etc/passwd", "/"}) {
    const std::string message =
        MessageOf([&] { ChildProcess child({.program = program}); }, Error::Kind::kWorkFailed);
    EXPECT_NE(message.find(program), std::string::npos) << message;
  }
}

// A process that starts a shell with a child of its own and is killed as soon as both run. The
// shell's child ignores every signal that can be ignored.
TEST(ChildProcess, EndsWithUsWithItsGroup) {
  const Paper paper;
  const pid_t us = ::fork();
  if (us == 0) {
    ChildProcess::Options options =
        Shell("trap '' TERM HUP INT PIPE; sleep 100 & echo $! $$; wait; sleep 100",
              {{paper.get(), STDOUT_FILENO}});
    options.ends_with_us = true;
    const ChildProcess child(options);
    while (paper.Text().find('\n') == std::string::npos) ::usleep(1000);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(us, &status, 0), us);
  EXPECT_TRUE(WIFSIGNALED(status));
  std::istringstream pids(paper.Text());
  for (pid_t pid = 0; pids >> pid;) EXPECT_TRUE(DiesWithin(pid, 60)) << pid;
}

// Unlike prctl's mechanism, this does not depend on the thread.
TEST(ChildProcess, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<ChildProcess> child;
  std::thread([&] {
    child = std::make_unique<ChildProcess>(
        ChildProcess::Options{.program = "sleep", .arguments = {"100"}, .ends_with_us = true});
  }).join();
  EXPECT_FALSE(child->Wait(0.2)) << child->End();
}

TEST(InterruptGuard, RemembersTheFirstSignal) {
  {
    const InterruptGuard guard;
    EXPECT_FALSE(guard.requested());
    guard.ThrowIfRequested();
    ::raise(SIGTERM);
    EXPECT_TRUE(guard.requested());
    EXPECT_THROW(guard.ThrowIfRequested(), Error);
  }
  const InterruptGuard another;
  EXPECT_FALSE(another.requested());
}

TEST(InterruptGuardDeathTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        ::raise(SIGINT);
        ::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace stableaa::child_process_test
