#include "stableaa/theory/claims.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {

std::span<const Claim> AllClaims() {
  static const std::vector<Claim> claims = [] {
    std::vector<Claim> all;
    for (const auto group :
         {QuasiNewtonClaims, ConvergenceClaims, StabilityClaims, OperatorClaims, EtaRuleClaims}) {
      all.insert(all.end(), group().begin(), group().end());
    }
    return all;
  }();
  return claims;
}

const Claim& FindClaim(std::string_view id) {
  std::vector<std::string> names;
  for (const Claim& claim : AllClaims()) {
    if (claim.id == id) return claim;
    names.emplace_back(claim.id);
  }
  const std::string name(id);
  throw BadInput(fmt::format("expected claims among {}; found '{}'{}", fmt::join(names, ", "),
                             Shorten(name), DidYouMean(name, names)));
}

}  // namespace stableaa
