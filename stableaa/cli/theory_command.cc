// stableaa theory: the paper's claims as experiments, with verdicts and explanations.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/program.h"
#include "stableaa/core/error.h"
#include "stableaa/theory/claims.h"
#include "stableaa/theory/figures.h"
#include "stableaa/theory/trials.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

struct TheoryFlags {
  std::vector<std::string> claims;
  TrialOptions trials;
  bool explain = false;
  std::optional<std::string> figures;
  bool json = false;
};

// ---- One result, in three ways ----

Json InequalityJson(const std::optional<Inequality>& inequality) {
  if (!inequality) return {};
  return {{"left", JsonNumber(static_cast<double>(inequality->left))},
          {"right", JsonNumber(static_cast<double>(inequality->right))}};
}

void AddExplanation(const ClaimResult& result, Json& object) {
  const Claim& claim = *result.claim;
  object["title"] = claim.title;
  object["printed_statement"] = claim.printed;
  object["why"] = claim.why;
  object["corrected_statement"] = claim.corrected;
  object["derivation"] = claim.derivation;
  object["instances"] = Json::array();
  for (std::size_t i = 0; i < result.fixed.size(); ++i) {
    object["instances"].push_back({{"instance", claim.fixed[i].text},
                                   {"printed", InequalityJson(result.fixed[i].printed)},
                                   {"corrected", InequalityJson(result.fixed[i].corrected)}});
  }
}

void PrintJson(const ClaimResult& result, bool explain) {
  Json object = {{"claim", result.claim->id},
                 {"as_printed", Name(result.printed.verdict)},
                 {"corrected", Name(result.corrected.verdict)},
                 {"trials", result.trials},
                 {"worst", JsonNumber(result.corrected.worst)},
                 {"worst_printed", JsonNumber(result.printed.worst)},
                 {"searched", result.searched},
                 {"instance", result.corrected.instance},
                 {"instance_printed", result.printed.instance},
                 {"seconds", result.seconds}};
  if (explain) AddExplanation(result, object);
  fmt::print("{}\n", JsonText(object));
}

constexpr std::string_view kRow = "{:<23} {:<10}  {:<9}  {:>7}  {:>9}  {:>13}  {:>7}\n";

void PrintHeader() {
  fmt::print(kRow, "claim", "as printed", "corrected", "trials", "tightest", "worst printed",
             "seconds");
}

void PrintRow(const ClaimResult& result) {
  const auto ratio = [](double worst) {
    return std::isnan(worst) ? std::string("-") : fmt::format("{:.4g}", worst);
  };
  fmt::print(kRow, result.claim->id, Name(result.printed.verdict), Name(result.corrected.verdict),
             result.trials, ratio(result.corrected.worst), ratio(result.printed.worst),
             fmt::format("{:.2f}", result.seconds));
}

// A heading with its text indented; nothing if the text is empty.
void PrintSection(std::string_view heading, std::string_view text) {
  if (text.empty()) return;
  fmt::print("\n{}\n", heading);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    fmt::print("  {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string InequalityText(std::string_view form, const std::optional<Inequality>& inequality) {
  if (!inequality) return {};
  return fmt::format("\n  {:<10}  {:.6g} {} {:.6g}", form, inequality->left,
                     inequality->Ratio() > 1 ? ">" : "≤", inequality->right);
}

// Wraps words into lines of at most `width` columns.
std::vector<std::string> Wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    lines.back() += fmt::format("{}{}", lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

std::string FormText(std::string_view form, const FormResult& result) {
  if (result.verdict == Verdict::kNone) return {};
  std::string text = fmt::format("\n{:<10}  {}, left/right at most {:.6g}, at", form,
                                 Name(result.verdict), result.worst);
  for (const std::string& line : Wrapped(result.instance, 80)) {
    text += fmt::format("\n{:<10}  {}", "", line);
  }
  return text;
}

void PrintExplanation(const ClaimResult& result) {
  const Claim& claim = *result.claim;
  fmt::print("{}\n{}\n", claim.id, claim.title);
  PrintSection("As printed", claim.printed.empty() ? "The paper does not say it." : claim.printed);
  PrintSection("Why it fails", claim.why);
  for (std::size_t i = 0; i < claim.fixed.size(); ++i) {
    PrintSection(i == 0 ? "For example" : "Or",
                 fmt::format("{}{}{}", claim.fixed[i].text,
                             InequalityText("as printed", result.fixed[i].printed),
                             InequalityText("corrected", result.fixed[i].corrected)));
  }
  PrintSection("Corrected", claim.corrected);
  PrintSection("Because", claim.derivation);
  PrintSection(
      "Tried",
      fmt::format(
          "{} random instances, {} more in a search for worse ones, {:.2f} s{}{}", result.trials,
          result.searched, result.seconds, FormText("as printed", result.printed),
          claim.corrected.empty() ? std::string() : FormText("corrected", result.corrected)));
}

void PrintConclusion(const std::vector<ClaimResult>& results) {
  const auto violated = [&](FormResult ClaimResult::*form) {
    return std::ranges::count_if(results, [form](const ClaimResult& result) {
      return (result.*form).verdict == Verdict::kViolated;
    });
  };
  fmt::print(
      "\n{} {}: {} false as printed, {} as corrected. Tightest and worst printed are the largest\n"
      "left/right that was found, rounding allowed for: above 1 an inequality is violated, and\n"
      "boltzmann-expansive says that one is. 'stableaa theory --explain thm1' explains a claim.\n",
      results.size(), results.size() == 1 ? "claim" : "claims", violated(&ClaimResult::printed),
      violated(&ClaimResult::corrected));
}

// ---- The run ----

std::vector<const Claim*> ChosenClaims(const TheoryFlags& flags) {
  std::vector<const Claim*> chosen;
  for (const std::string& id : flags.claims) chosen.push_back(&FindClaim(id));
  if (chosen.empty()) {
    std::ranges::transform(AllClaims(), std::back_inserter(chosen),
                           [](const Claim& claim) { return &claim; });
  }
  return chosen;
}

void DrawFigures(const TheoryFlags& flags, const InterruptGuard& interrupt) {
  const auto paths =
      DrawTheoryFigures(*flags.figures, flags.trials.seed, [&](std::string_view name) {
        interrupt.ThrowIfRequested();
        LogInfo(fmt::format("drawing {}", name));
      });
  LogInfo(fmt::format("{} files in {}", paths.size(), *flags.figures));
}

// The line on the terminal is gone when this returns.
ClaimResult TestShowingProgress(const Claim& claim, const std::string& label, TrialOptions options,
                                const InterruptGuard& interrupt) {
  Progress progress({.label = label, .unit = "instances"});
  options.watch = [&](std::int64_t done, std::int64_t) {
    interrupt.ThrowIfRequested();
    progress.Set(static_cast<std::uint64_t>(done));
  };
  return TestClaim(claim, options);
}

void RunTheory(const TheoryFlags& flags) {
  flags.trials.Validate();
  const std::vector<const Claim*> claims = ChosenClaims(flags);
  const InterruptGuard interrupt;
  if (flags.figures) DrawFigures(flags, interrupt);
  if (!flags.json && !flags.explain) PrintHeader();
  std::vector<ClaimResult> results;
  for (const Claim* claim : claims) {
    const std::string label =
        fmt::format("{} ({} of {})", claim->id, results.size() + 1, claims.size());
    results.push_back(TestShowingProgress(*claim, label, flags.trials, interrupt));
    if (flags.json) {
      PrintJson(results.back(), flags.explain);
    } else if (flags.explain) {
      if (results.size() > 1) fmt::print("\n\n");
      PrintExplanation(results.back());
    } else {
      PrintRow(results.back());
    }
    std::fflush(stdout);
  }
  if (!flags.json && !flags.explain) PrintConclusion(results);

  CheckCorrected(results);
}

std::string ClaimList() {
  std::string list;
  for (const Claim& claim : AllClaims())
    list += fmt::format("  {:<22} {}\n", claim.id, claim.title);
  return list;
}

}  // namespace

void AddTheoryCommand(CLI::App& program) {
  auto flags = std::make_shared<TheoryFlags>();
  CLI::App* theory =
      program.add_subcommand("theory", "Test the paper's claims, as printed and as corrected");
  theory->add_option("CLAIM", flags->claims, "Claims to test (default: all, listed below)");
  theory
      ->add_option("--trials", flags->trials.trials,
                   "Random instances per claim; fixed ones and a search come on top "
                   "(default: 1000)")
      ->transform(WholeBetween(1, kMostTrials))
      ->type_name("N in [1, 10^12]");
  AddSeedFlag(*theory, &flags->trials.seed, "Seed of all instances (default: 1)");
  theory->add_flag("--explain", flags->explain,
                   "Statement, counterexample, correction and derivation of the claims");
  theory
      ->add_option("--figures", flags->figures,
                   "Draw the theory's figures first, as SVG, PNG and CSV (needs gnuplot)")
      ->type_name("DIR");
  theory->add_flag("--json", flags->json, "One JSON object per claim");
  theory->footer(std::string());  // otherwise CLI11 adds the program's
  theory->footer([] {
    return fmt::format(
        "{}"
        "Exit code 1 if a corrected statement is violated. docs/paper.md has all derivations.\n"
        "Examples: stableaa theory\n"
        "          stableaa theory thm1 thm2 --trials 20000 --seed 7\n"
        "          stableaa theory --explain thm3a\n",
        ClaimList());
  });
  theory->callback([flags] { RunTheory(*flags); });
}

}  // namespace stableaa
