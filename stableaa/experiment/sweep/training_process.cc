#include "stableaa/experiment/sweep/training_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/sweep/run_error.h"

namespace stableaa {

TrainingProcess::TrainingProcess(const TrainingCommand& command, const TrainTask& task, Files files)
    : files_(std::move(files)) {
  std::vector<std::string> words = command ? command(task) : std::vector<std::string>();
  if (words.empty()) throw BadInput("expected a command that trains a run, found none");
  const Descriptor log(
      open(files_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666));
  if (!log.is_open())
    throw SystemError(fmt::format("cannot open {}", ShownPath(files_.log)), errno);
  ClearRunError(files_.error);
  process_.emplace(ChildProcess::Options{
      .program = words.front(),
      .arguments = {words.begin() + 1, words.end()},
      .descriptors = {{log.get(), STDOUT_FILENO}, {log.get(), STDERR_FILENO}},
      .environment = {fmt::format("{}={}", kErrorFileVariable, files_.error.string())}});
}

void TrainingProcess::TellToEnd() {
  if (!std::exchange(told_to_end_, true)) ::kill(process_->pid(), SIGTERM);
}

std::string TrainingProcess::Failure() const { return ReadRunError(files_.error); }

}  // namespace stableaa
