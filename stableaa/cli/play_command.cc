// stableaa play: watch a saved agent, and what it thinks its actions are worth.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/cli/agent_flags.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/core/error.h"
#include "stableaa/env/terminal_view.h"
#include "stableaa/env/video.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/run/saved_agent.h"
#include "stableaa/rl/run/value_picture.h"

namespace stableaa {
namespace {

struct PlayFlags {
  AgentFlags agent;
  std::optional<std::string> gif, video;
  bool terminal = false;
  std::optional<std::int64_t> steps;
};

// Everything the games are shown on. Constructed before the first step, so that an unwritable path
// is reported before any work.
class Screens {
 public:
  Screens(const EnvironmentSpec& spec, const PlayFlags& flags, bool terminal)
      : spec_(spec), picture_(spec) {
    const VideoOptions video{.frames_per_second = spec.frames_per_second, .scale = 1};
    if (flags.gif) videos_.push_back(std::make_unique<VideoWriter>(*flags.gif, video));
    if (flags.video) videos_.push_back(std::make_unique<VideoWriter>(*flags.video, video));
    if (terminal) {
      view_.emplace(stdout, TerminalViewOptions{.frames_per_second = spec.frames_per_second});
    }
  }

  void Show(const EvaluationStep& step) {
    if (!videos_.empty()) {
      const Picture& picture = picture_.Draw(step);
      for (const auto& video : videos_) video->Add(picture);
    }
    if (view_) view_->Show(*step.frame, ValueLines(spec_, step));
  }

  void Finish() {
    for (const auto& video : videos_) video->Finish();
  }

 private:
  const EnvironmentSpec spec_;
  ValuePicture picture_;
  std::vector<std::unique_ptr<VideoWriter>> videos_;
  std::optional<TerminalView> view_;
};

struct EnoughSteps {};  // ends the games early

// One line per game, printed after the show.
class Scores {
 public:
  void Add(const EvaluationStep& step) {
    ended_ = step.game_ended;
    line_ = fmt::format("game {}: return {:g}, {} steps", step.game + 1, step.return_so_far,
                        step.step + 1);
    if (ended_) lines_.push_back(line_ + (step.truncated ? ", cut at the limit" : ""));
  }

  void Print() const {
    for (const std::string& line : lines_) fmt::print("{}\n", line);
    if (!ended_) fmt::print("{}, not finished\n", line_);
  }

 private:
  std::vector<std::string> lines_;
  std::string line_;
  bool ended_ = true;
};

// The progress bar is gone when this returns.
void Play(const PlayFlags& flags, const SavedAgent& agent, bool terminal, Environment& environment,
          Screens& screens, Scores& scores, const InterruptGuard& interrupt) {
  using Mode = ProgressOptions::Mode;
  Progress progress({.label = environment.spec().id,
                     .unit = "steps",
                     .total = static_cast<std::uint64_t>(flags.steps.value_or(0)),
                     .mode = terminal ? Mode::kSilent : Mode::kAuto});
  const auto player = agent.MakePlayer(environment);
  std::int64_t left = flags.steps.value_or(std::numeric_limits<std::int64_t>::max());
  const auto show = [&](const EvaluationStep& step) {
    interrupt.ThrowIfRequested();
    screens.Show(step);
    scores.Add(step);
    progress.Advance();
    if (--left == 0) throw EnoughSteps();
  };
  try {
    Evaluate(environment, *player, agent.parameters(), flags.agent.episodes.value_or(1),
             agent.options().eval.epsilon, flags.agent.seed, show);
  } catch (const EnoughSteps&) {
    // as asked for
  }
}

void RunPlay(const PlayFlags& flags) {
  CheckEnding(flags.gif, "--gif", ".gif");
  flags.agent.RequireOutputs({{"--gif", flags.gif}, {"--video", flags.video}});
  const bool writes = flags.gif || flags.video;
  const bool terminal = flags.terminal || (!writes && ::isatty(STDOUT_FILENO) == 1);
  if (!terminal && !writes) {
    throw BadInput(
        "there is nothing to show the games on: give --video FILE.mp4 or --gif FILE.gif, or run it "
        "in a terminal");
  }
  const SavedAgent agent = flags.agent.Load();
  const auto environment = agent.MakeEnvironment(1, /*render=*/true);
  const InterruptGuard interrupt;  // an unfinished video is removed
  Screens screens(environment->spec(), flags, terminal);
  Scores scores;
  Play(flags, agent, terminal, *environment, screens, scores, interrupt);
  screens.Finish();
  PrintPlain("{}, weights {}\n", environment->spec().id, agent.WeightsText());
  scores.Print();
}

}  // namespace

void AddPlayCommand(CLI::App& program) {
  auto flags = std::make_shared<PlayFlags>();
  CLI::App* play =
      program.add_subcommand("play", "Watch a trained agent and the values it gives its actions");
  flags->agent.AddTo(
      *play, "1",
      {.used = {"env.", "eval.", "network.", "agent.head", "agent.algorithm"},
       .except = {{{"eval.interval_steps", "eval.episodes", "eval.parallel", "env.num_envs"},
                   "--episodes says how many games are played, one by one"}}});
  flags->agent.AddAtTo(*play);
  play->add_option("--gif", flags->gif,
                   "Animated picture of all steps, with a bar for the value of each action (needs "
                   "ffmpeg)")
      ->type_name("FILE.gif");
  play->add_option("--video", flags->video, "Video of all steps, likewise")
      ->type_name("FILE.mp4|FILE.gif");
  play->add_flag("--terminal", flags->terminal,
                 "Watch in the terminal, at the usual speed (default without --gif and --video)");
  play->add_option("--steps", flags->steps, "Stop after N steps (default: when the games are over)")
      ->transform(WholeBetween(1, std::uint64_t{1} << 40))
      ->type_name("N in [1, 2^40]");
  play->footer(
      "Actions are random with probability eval.epsilon of the run; --set eval.epsilon=0 for "
      "none.\n"
      "Examples: stableaa play runs/minatar-breakout-stable-aa-1 --video breakout.mp4\n"
      "          stableaa play runs/minatar-breakout-stable-aa-1 --weights best --gif best.gif\n");
  play->callback([flags] { RunPlay(*flags); });
}

}  // namespace stableaa
