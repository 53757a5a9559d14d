// A claim of the paper as a test that can fail.
//
// Most claims are inequalities, left ≤ right, over some class of instances (windows of Anderson
// mixing, runs of accelerated value iteration, vectors of action values). A claim has two forms,
// the one printed in the paper and the corrected one, and a generator that makes an instance and
// compares both sides of each form. trials.h draws instances, searches for worse ones, and gives
// verdicts.
//
// One file per group of claims: quasi_newton_claim.cc (Proposition 1), convergence_claims.cc
// (Theorems 1 and 2, the gain), stability_claims.cc (Theorem 3, Proposition 2, the ridge),
// operator_claims.cc (mellowmax and Boltzmann), eta_rule_claim.cc. claims.h has the list.
#ifndef STABLEAA_THEORY_CLAIM_H_
#define STABLEAA_THEORY_CLAIM_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stableaa/theory/choices.h"

namespace stableaa {

// left ≤ right, on one instance. An equality A = B becomes left = ‖A − B‖, right = 0.
struct Inequality {
  long double left = 0;
  long double right = 0;
  // How far rounding can move left − right. An excess counts only above a thousand times this.
  long double allowance = 0;
  // A part of the right side that the left side can reach on its own in uninteresting cases. It is
  // subtracted from both sides before the comparison, as it would hide how tight the rest is.
  long double common = 0;

  // (left − common) / (right − common + 1000·allowance): above 1 if the inequality is violated.
  // Infinity if a number is not finite, so that a broken computation shows.
  double Ratio() const;
};

// Both forms on one instance; a form that does not apply to it is empty.
struct TrialOutcome {
  std::optional<Inequality> printed = {};
  std::optional<Inequality> corrected = {};
};

// Keeps the one with the larger ratio, for instances with many inequalities, such as runs.
void KeepWorse(std::optional<Inequality>& worst, const Inequality& inequality);

// Makes an instance from the choices and compares. Unless `description` is null, also describes the
// instance there ("n = 7, m = 2, damping 0.31"), and nothing that the comparison does not need.
using Trial = TrialOutcome (*)(Choices& choices, std::string* description);

// A known instance, mostly a counterexample to the printed form.
struct FixedInstance {
  std::string_view text;  // the numbers that define it
  TrialOutcome (*evaluate)();
};

struct Claim {
  std::string_view id;          // "thm1", for the command line
  std::string_view title = {};  // "Theorem 1: …", one line

  // Plain-text formulas, in lines of at most 90 columns.
  std::string_view printed = {};     // as in the paper; empty if not in the paper
  std::string_view why = {};         // what is wrong with it; empty if nothing is
  std::string_view corrected = {};   // the true form; empty if the printed one is true
  std::string_view derivation = {};  // why the corrected form is true, in a few lines

  Trial trial = nullptr;
  std::span<const FixedInstance> fixed = {};

  // True: the printed form says that *some* instance has left > right.
  bool printed_is_existence = false;

  // Instances searched per instance drawn; less than 1 if each takes long.
  double search_share = 4;
};

}  // namespace stableaa

#endif  // STABLEAA_THEORY_CLAIM_H_
