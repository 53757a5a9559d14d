// Saved environments from arbitrary bytes: either a BadInput that changes nothing, or a state that
// saves to the same bytes and can be played, drawn and saved again. The first byte chooses the
// environment and whether to prepend a correct header, to reach the code behind it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fuzz/accepts.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/env/classic/classic.h"
#include "stableaa/env/minatar/minatar.h"
#include "stableaa/env/native_environment.h"

namespace stableaa {
namespace {

using Bytes = std::span<const std::byte>;

// Two environments of the same kind, made once. Only the second draws, which takes far longer than
// a step.
struct Pair {
  std::unique_ptr<NativeEnvironment> played, drawn;
};

Pair MakePair(const EnvironmentSpec& spec, const MakeSimulation& make) {
  Pair pair = {std::make_unique<NativeEnvironment>(spec, 1, make),
               std::make_unique<NativeEnvironment>(spec, 1, make, /*render=*/true)};
  pair.drawn->Reset(1);
  return pair;
}

std::vector<Pair> MakePairs() {
  std::vector<Pair> pairs;
  for (const std::string& name : ClassicNames()) {
    pairs.push_back(MakePair(ClassicEnvironmentSpec(name), [name] { return MakeClassic(name); }));
  }
  for (const std::string& name : MinatarNames()) {
    pairs.push_back(MakePair(MinatarEnvironmentSpec(name), [name] { return MakeMinatar(name); }));
  }
  return pairs;
}

std::vector<std::byte> Saved(const Environment& environment) {
  ByteWriter out;
  environment.Save(out);
  return {out.bytes().begin(), out.bytes().end()};
}

// True if the environment loads the bytes. It must then save what it read, or, after a refusal,
// what it held before.
bool Loads(Environment& environment, Bytes bytes) {
  const std::vector<std::byte> before = Saved(environment);
  ByteReader reader(bytes, "fuzz");
  const bool accepted = Accepts([&] { environment.Load(reader); });
  Require(std::ranges::equal(Saved(environment),
                             accepted ? bytes.first(reader.position()) : Bytes(before)));
  return accepted;
}

void Step(Environment& environment, RandomStream& random) {
  const Space& space = environment.spec().action;
  if (space.kind == Space::Kind::kDiscrete) {
    const std::array index = {
        static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(space.n)))};
    environment.Step({.indices = index});
  } else {
    const std::array value = {static_cast<float>(random.Uniform(space.LowOf(0), space.HighOf(0)))};
    environment.Step({.values = value});
  }
}

void RequireSensible(const Observations& observations) {
  Require(std::ranges::all_of(observations.bytes, [](std::uint8_t byte) { return byte <= 1; }));
  Require(std::ranges::all_of(observations.floats, [](float v) { return std::isfinite(v); }));
}

// Id, number, seed and the key of the random stream, as NativeEnvironment::Save writes them,
// followed by the bytes.
std::vector<std::byte> WithHeader(const Environment& environment, Bytes bytes) {
  const std::size_t size = 8 + environment.spec().id.size() + 8 + 8 + 16;
  const std::vector<std::byte> saved = Saved(environment);
  std::vector<std::byte> state(saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(size));
  state.insert(state.end(), bytes.begin(), bytes.end());
  return state;
}

void Try(std::uint8_t choice, Bytes bytes) {
  static const std::vector<Pair> pairs = MakePairs();
  const auto& [played, drawn] = pairs[choice % 128 % pairs.size()];
  played->Reset(1);
  std::vector<std::byte> state;
  if (choice >= 128) {
    state = WithHeader(*played, bytes);
    bytes = state;
  }
  if (!Loads(*played, bytes)) return;
  RequireSensible(played->observations());
  RandomStream random(1, "fuzz");
  for (int step = 0; step < 50; ++step) {
    Step(*played, random);
    Require(std::isfinite(played->rewards()[0]));
    Require(played->terminated()[0] + played->truncated()[0] <= 1);
    RequireSensible(played->observations());
    if (played->ended(0)) RequireSensible(played->final_observations());
    // Another environment can continue from here. After 50 steps, most have begun a new episode.
    if (step == 0 || step == 49) Require(Loads(*drawn, Saved(*played)));
  }
  Require(drawn->frame(0).width() > 0);
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  stableaa::Try(data[0], std::as_bytes(std::span(data, size)).subspan(1));
  return 0;
}
