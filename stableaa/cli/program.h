// The command-line program: subcommands, help, errors, exit codes. Each subcommand has a file of
// its own, NAME_command.cc, which parses its options and calls the library; no logic lives here.
#ifndef STABLEAA_CLI_PROGRAM_H_
#define STABLEAA_CLI_PROGRAM_H_

namespace CLI {
class App;
}

namespace stableaa {

// Runs the program and returns its exit code: 0 done; 1 the work failed, which includes outputs
// that cannot be written and missing programs (gnuplot, ffmpeg, python); 2 bad input or usage.
// Results go to stdout; an error is one line on stderr, "stableaa: error: …".
int RunProgram(int argc, char** argv);

// One per subcommand: adds it with its options, its help and the callback that runs it.
void AddBenchCommand(CLI::App& program);
void AddCompletionCommand(CLI::App& program);
void AddConfigCommand(CLI::App& program);
void AddEnvCommand(CLI::App& program);
void AddEvalCommand(CLI::App& program);
void AddMdpCommand(CLI::App& program);
void AddPlayCommand(CLI::App& program);
void AddReportCommand(CLI::App& program);
void AddSolveCommand(CLI::App& program);
void AddSweepCommand(CLI::App& program);
void AddTheoryCommand(CLI::App& program);
void AddTrainCommand(CLI::App& program);

// The parts of `bench` that are about networks.
void AddNetworkBenchCommands(CLI::App& bench);

// The part that is about environments.
void AddEnvBenchCommand(CLI::App& bench);

// The parts that are about agents.
void AddAgentBenchCommands(CLI::App& bench);
void AddReplayBenchCommand(CLI::App& bench);

// The part that is about models.
void AddSolveBenchCommand(CLI::App& bench);

}  // namespace stableaa

#endif  // STABLEAA_CLI_PROGRAM_H_
