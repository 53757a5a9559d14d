// Sweeps by a program that trains the runs itself, as one with environments of its own must: it
// starts itself again for every run.
//
//   int main(int argc, char** argv) {
//     RegisterEnvironment(...);  // env/registry.h
//     if (const auto exit_code = TrainIfAsked(argc, argv)) return *exit_code;
//
//     const Suite suite = ReadSuite("corridor.toml");
//     Sweep sweep(suite, {.train = TrainByThisProgram, .out = "runs/corridor"});
//     sweep.Open();
//     sweep.Run([] { return false; });
//   }
//
// examples/own_environment is such a program.
#ifndef STABLEAA_EXPERIMENT_SWEEP_OWN_PROGRAM_H_
#define STABLEAA_EXPERIMENT_SWEEP_OWN_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

#include "stableaa/experiment/sweep/training_process.h"

namespace stableaa {

// A TrainingCommand: this very program, even if its file has been replaced since, with arguments
// for TrainIfAsked. Only for the children of this process.
std::vector<std::string> TrainByThisProgram(const TrainTask& task);

// Does what a TrainingCommand's process has to do, and returns its exit code; nothing, at once, if
// the arguments are not from TrainByThisProgram. Call it after registering environments and before
// anything else, as the arguments mean nothing to the rest of the program.
std::optional<int> TrainIfAsked(int argc, const char* const* argv);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_OWN_PROGRAM_H_
