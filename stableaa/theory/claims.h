// All claims that `stableaa theory` tests.
#ifndef STABLEAA_THEORY_CLAIMS_H_
#define STABLEAA_THEORY_CLAIMS_H_

#include <span>
#include <string_view>

#include "stableaa/theory/claim.h"

namespace stableaa {

// In the order of the paper.
std::span<const Claim> AllClaims();

// BadInput, listing the known ids, for an unknown one.
const Claim& FindClaim(std::string_view id);

// By group, one file each; AllClaims combines them.
std::span<const Claim> QuasiNewtonClaims();
std::span<const Claim> ConvergenceClaims();
std::span<const Claim> StabilityClaims();
std::span<const Claim> OperatorClaims();
std::span<const Claim> EtaRuleClaims();

}  // namespace stableaa

#endif  // STABLEAA_THEORY_CLAIMS_H_
