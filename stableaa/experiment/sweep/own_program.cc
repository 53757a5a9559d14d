#include "stableaa/experiment/sweep/own_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "stableaa/base/process/child_process.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/sweep/run_error.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/rl/run/trainer.h"

namespace stableaa {
namespace {

constexpr char kAsked[] = "--stableaa-train-run";
constexpr std::size_t kWords = 7;  // after it

template <typename Number>
Number NumberIn(std::string_view word) {
  Number number = {};
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end) {
    throw BadInput(fmt::format("{}: expected a number, found '{}'", kAsked, Shorten(word)));
  }
  return number;
}

struct Asked {
  TrainTask task;
  std::int64_t parent = 0;  // the sweep's process
};

std::vector<std::string> ToWords(const Asked& asked) {
  const TrainTask& task = asked.task;
  return {task.run.string(),
          task.config.string(),
          std::to_string(task.steps),
          std::to_string(task.threads),
          std::to_string(static_cast<int>(task.trust)),
          task.enough_return ? fmt::format("{}", *task.enough_return) : "",
          std::to_string(asked.parent)};
}

Asked FromWords(std::span<const char* const> words) {
  if (words.size() != kWords) {
    throw BadInput(fmt::format("{}: expected {} words, found {}", kAsked, kWords, words.size()));
  }
  Asked asked{.task = {.run = words[0],
                       .config = words[1],
                       .steps = NumberIn<std::int64_t>(words[2]),
                       .threads = NumberIn<int>(words[3]),
                       .trust = NumberIn<int>(words[4]) != 0},
              .parent = NumberIn<std::int64_t>(words[6])};
  const std::string_view enough = words[5];
  if (!enough.empty()) asked.task.enough_return = NumberIn<double>(enough);
  return asked;
}

std::unique_ptr<Trainer> MakeTrainer(const TrainTask& task) {
  if (!task.config.empty()) return Trainer::Start(task.run, ReadRunOptions(task.config));
  return Trainer::Resume(task.run,
                         {.steps = task.steps, .threads = task.threads, .trust = task.trust});
}

void Train(const TrainTask& task) {
  const std::unique_ptr<Trainer> trainer = MakeTrainer(task);
  if (!trainer) return;  // all steps were made
  const TrainOptions& train = trainer->options().train;
  LogInfo(fmt::format("training {} on {}, seed {}, from step {}", train.preset, train.env,
                      train.seed, trainer->step()));
  const InterruptGuard interrupt;
  const bool complete = trainer->Run({.stop = [&interrupt] { return interrupt.requested(); },
                                      .enough_return = task.enough_return});
  LogInfo(fmt::format("{} in step {}", complete ? "done" : "stopped", trainer->step()));
}

int Fail(int exit_code, std::string_view message) {
  ReportError("", message);
  return exit_code;
}

}  // namespace

std::vector<std::string> TrainByThisProgram(const TrainTask& task) {
  std::vector<std::string> words = {"/proc/self/exe", kAsked};
  for (std::string& word : ToWords({.task = task, .parent = ::getpid()})) {
    words.push_back(std::move(word));
  }
  return words;
}

std::optional<int> TrainIfAsked(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != kAsked) return std::nullopt;
  try {
    const Asked asked = FromWords({argv + 2, argv + argc});
    EndWithParent(asked.parent);
    Train(asked.task);
    return 0;
  } catch (const Error& error) {
    return Fail(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return Fail(1, "out of memory");
  } catch (const std::exception& error) {
    return Fail(1, error.what());
  }
}

}  // namespace stableaa
