// The labels of PRISM's explicit files (prism_format.h): the .lab.
#ifndef STABLEAA_MDP_FORMATS_PRISM_LABELS_H_
#define STABLEAA_MDP_FORMATS_PRISM_LABELS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/mdp/formats/text_writer.h"
#include "stableaa/mdp/model/annotations.h"

namespace stableaa {

// Sets labels and initial states from PRISM's or Storm's form of the file. `name` is used in
// messages.
void ParsePrismLabels(std::string_view text, const std::string& name, std::uint64_t states,
                      ModelAnnotations& annotations);

// Prints PRISM's form. Returns what it cannot hold.
std::vector<std::string> WritePrismLabels(const ModelAnnotations& annotations, std::uint64_t states,
                                          TextWriter& out);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_PRISM_LABELS_H_
