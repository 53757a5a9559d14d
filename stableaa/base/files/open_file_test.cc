#include "stableaa/base/files/open_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::open_file_test {

namespace fs = std::filesystem;

class OpenFileTest : public testing::Test {
 protected:
  fs::path Path(const std::string& name) const { return folder_ / name; }

  std::string RefusalOf(const std::string& name,
                        OpenedFile (*open)(const fs::path&) = OpenRegularFile) const {
    std::string message = MessageOf([&] { open(Path(name)); });
    const std::string prefix = folder_.path().string() + "/";
    const std::size_t at = message.find(prefix);
    return at == message.npos ? message : message.erase(at, prefix.size());
  }

  const TemporaryFolder folder_;
};

TEST_F(OpenFileTest, RegularFilesAreOpenedThroughLinksToo) {
  std::ofstream(Path("f")) << "abc";
  fs::create_symlink("f", Path("link"));
  for (const std::string name : {"f", "link"}) {
    const OpenedFile file = OpenRegularFile(Path(name));
    EXPECT_EQ(file.status.st_size, 3);
    EXPECT_EQ(::fcntl(file.descriptor.get(), F_GETFD), FD_CLOEXEC);
  }
}

TEST_F(OpenFileTest, AllElseIsRefusedByNameAndWithoutWaiting) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", Path("link"));
  fs::create_directory(Path("d"));
  fs::create_symlink("/dev/zero", Path("zero"));
  fs::create_symlink("b", Path("a"));
  fs::create_symlink("a", Path("b"));
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  Path("socket").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);

  EXPECT_EQ(RefusalOf("pipe"), "pipe is a pipe, expected a regular file");
  EXPECT_EQ(RefusalOf("link"), "link is a pipe, expected a regular file");
  EXPECT_EQ(RefusalOf("d"), "d is a directory, expected a file");
  EXPECT_EQ(RefusalOf("zero"), "zero is a device, expected a regular file");
  EXPECT_EQ(RefusalOf("socket"), "socket is a socket, expected a regular file");
  EXPECT_EQ(RefusalOf("a"), "cannot read a: Too many levels of symbolic links");
  EXPECT_EQ(RefusalOf("none"), "none does not exist");
  EXPECT_EQ(RefusalOf("none/f"), "none/f does not exist");

  EXPECT_EQ(RefusalOf("d", OpenAnyFile), "d is a directory, expected a file");
  EXPECT_EQ(RefusalOf("socket", OpenAnyFile), "socket is a socket, expected a regular file");
  EXPECT_EQ(RefusalOf("zero", OpenAnyFile), "no error");
}

TEST_F(OpenFileTest, TooManyOpenFilesIsNotTheFilesFault) {
  std::ofstream(Path("f")) << "abc";
  // UBSan needs descriptors to inspect classes it has not seen yet, so let it see them here.
  fs::create_symlink("itself", Path("itself"));
  EXPECT_NE(RefusalOf("itself", OpenRegularFile), "no error");
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    try {
      OpenRegularFile(Path("f"));
    } catch (const Error& error) {
      const bool right = error.kind() == Error::Kind::kWorkFailed &&
                         std::string(error.what()).ends_with(": Too many open files");
      ::_exit(right ? 7 : 1);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace stableaa::open_file_test
