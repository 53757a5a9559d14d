#include "stableaa/cli/program.h"

int main(int argc, char** argv) { return stableaa::RunProgram(argc, argv); }
