// The command-line program: subcommands, help, errors, exit codes. Each subcommand has its own
// file, NAME_command.cc, which parses its flags, calls a layer and prints the result.
#ifndef STABLEAA_CLI_PROGRAM_H_
#define STABLEAA_CLI_PROGRAM_H_

namespace CLI {
class App;
}

namespace stableaa {

// Runs the program and returns its exit code: 0 for success; 1 if the work failed, including
// outputs that cannot be written and missing programs (gnuplot, ffmpeg, python); 2 for bad input or
// usage. Results go to stdout; an error is one line on stderr, "stableaa: error: …".
int RunProgram(int argc, char** argv);

// One per subcommand: adds it with its options, its help and the callback that runs it.
void AddBenchCommand(CLI::App& program);
void AddCompletionCommand(CLI::App& program);
void AddConfigCommand(CLI::App& program);
void AddEnvCommand(CLI::App& program);
void AddEvalCommand(CLI::App& program);
void AddExportCommand(CLI::App& program);
void AddMdpCommand(CLI::App& program);
void AddPlayCommand(CLI::App& program);
void AddReportCommand(CLI::App& program);
void AddSolveCommand(CLI::App& program);
void AddSweepCommand(CLI::App& program);
void AddTheoryCommand(CLI::App& program);
void AddTrainCommand(CLI::App& program);

// The parts of `bench`: networks, environments, agents, replay, models.
void AddNetworkBenchCommands(CLI::App& bench);
void AddEnvBenchCommand(CLI::App& bench);
void AddAgentBenchCommands(CLI::App& bench);
void AddReplayBenchCommand(CLI::App& bench);
void AddSolveBenchCommand(CLI::App& bench);

}  // namespace stableaa

#endif  // STABLEAA_CLI_PROGRAM_H_
