// stableaa completion bash: a completion script generated from the actual commands and keys.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"

namespace stableaa {
namespace {

constexpr char kHead[] = R"(# bash completion for stableaa, written by 'stableaa completion bash'
_stableaa() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local path='' word words=''
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path/$word" in
)";

constexpr char kMiddle[] = R"(        path="$path/$word" ;;
    esac
  done
  if [ "$previous" = --set ]; then
    compopt -o nospace
    COMPREPLY=($(compgen -S = -W "$_stableaa_keys" -- "$current"))
    return
  fi
  case "$path" in
)";

constexpr char kTail[] = R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _stableaa stableaa
)";

struct Entry {
  std::string path;   // "/bench/anderson"
  std::string words;  // subcommands and long options
};

void Collect(const CLI::App& app, const std::string& path, std::vector<Entry>& entries) {
  Entry entry{path, ""};
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) entry.words += command->get_name() + ' ';
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) entry.words += "--" + name + ' ';
  }
  entry.words.pop_back();  // every command has at least --help
  entries.push_back(entry);
  for (const CLI::App* command : commands) {
    Collect(*command, path + '/' + command->get_name(), entries);
  }
}

void PrintBash(const CLI::App& program) {
  std::vector<Entry> entries;
  Collect(program, "", entries);
  std::string known;
  std::string cases;
  for (const Entry& entry : entries) {
    if (!entry.path.empty()) known += (known.empty() ? "" : "|") + entry.path;
    cases += fmt::format("    '{}') words='{}' ;;\n", entry.path, entry.words);
  }
  Settings settings;
  Config config;
  Describe(config, settings);
  std::string keys;
  for (const ConfigKey& key : config.Keys()) keys += (keys.empty() ? "" : " ") + key.key;
  fmt::print("_stableaa_keys='{}'\n{}      {})\n{}{}{}", keys, kHead, known, kMiddle, cases, kTail);
}

}  // namespace

void AddCompletionCommand(CLI::App& program) {
  CLI::App* completion = program.add_subcommand("completion", "Print a shell completion script");
  completion->require_subcommand(1);
  completion->footer("Example: source <(stableaa completion bash)\n");
  CLI::App* bash = completion->add_subcommand("bash", "For bash");
  bash->footer("Example: source <(stableaa completion bash)\n");
  bash->callback([&program] { PrintBash(program); });
}

}  // namespace stableaa
