// Generated models, from 2 states to 10^7 and more, for tests, benchmarks and first steps.
//
//   Model model = GenerateModel({.kind = "grid", .seed = 7, .width = 300, .height = 300});
//
// Equal options give equal bytes on every platform. Each use of randomness has its own named stream
// (base/random.h), and all arithmetic is + − · / in a fixed order. Rows are made in order and go
// straight into the model's arrays: peak memory is little more than the model itself, or twice that
// with `shuffle` and for the kinds from layered on.
//
// The kinds ([default] of each option; GeneratorKinds() gives the ranges):
//
//   garnet       The classic Garnet(S, A, b): each row leads to `branching` distinct random states
//                [5, or all if there are fewer], with the gaps between b−1 uniform cut points of
//                [0, 1] as probabilities, and pays a reward uniform in [0, 1), or nothing with
//                probability 1 − `reward_share` [1]. `states` [1000], `actions` [4]. Mixes fast.
//   grid         `width` [100] × `height` [100] cells, each a wall with probability `walls` [.3];
//                the states are the open cells, row by row. Actions up, right, down, left; with
//                probability `noise` [.2] the move goes to one of its two sides instead, half each;
//                a move into a wall or off the grid stays in place. A step costs 1 (reward −1).
//                The goal absorbs at reward 0. It is the cell in the largest connected region
//                nearest the lower right corner (in steps; the lowest in case of a tie). Other
//                regions stay in the model and never reach it.
//   maze         A lattice of `width` [101] × `height` [101] cells with rooms where both
//                coordinates are even and passages one cell wide between them: a random spanning
//                tree (depth first), then each remaining wall between two rooms is opened with
//                probability `loops` [.05]. Moves and rewards are as in the grid, without noise.
//                The goal is the last room, state 0 the first. The last column of an even width
//                and the last row of an even height are solid.
//   chain        A birth–death chain of `states` [10000], actions left and right; with probability
//                `noise` [.2] the step goes the other way; steps off the ends stay. Going left in
//                the first state pays .01, going right in the last pays 1. The large reward spreads
//                one state per pass and the walk forgets its start in S/(1 − 2·noise) steps: slow.
//   forest       Ages 0 … `states`−1 [10000] of a forest, as in the toolbox example. Waiting makes
//                it older, or a fire makes it young again with probability `fire` [.1]; it pays
//                `wait_reward` [4] at the oldest age. Cutting makes it young and pays `cut_reward`
//                [2] at the oldest age, 1 in between and 0 at age 0.
//   queues       `queues` k [2] with room for `capacity` [315] jobs each, one server. Action i
//                serves queue i. Queue i (from 0) is served at rate μ_i = 1 − i/(2k), gets jobs at
//                rate `load`·μ_i/k [load .9] and loses those that find it full. With n_i jobs in
//                queue i a step pays −Σ (1+i)·n_i/capacity. Uniformised, hence self-loops.
//                (capacity+1)^k states; the last queue's length changes fastest.
//   inventory    Stock 0 … `capacity` [1999] through a year of `seasons` [52]. Orders of 0, 1, 2 …
//                times `lot` [250] arrive at once, up to the available room (so states have
//                different numbers of actions). Then each of `customers` [20] buys one piece, while
//                stock lasts, with the season's probability, which goes from .25 to .75 and back
//                over the year. Reward: 2 per piece sold, −1 per piece and −5 per order,
//                −.002 per piece left over. seasons·(capacity+1) states, the stock changes fastest.
//                Periodic.
//   random-walk  A torus of `dimensions` [2] with equal sides. The action names one of the
//                2·dimensions neighbours; the step goes there with probability `drift` [.1], and
//                otherwise to a uniformly random neighbour. A state pays a reward uniform in
//                [0, 1) with probability `reward_share` [.01], or nothing. `states` [10000]. Needs
//                about side² steps to forget its start.
//
// The remaining kinds look like the explicit models that verification tools build from programs.
// State 0 is the initial state and reaches all others, and states are numbered in the order in
// which a breadth-first search finds them (NumberBreadthFirst in generator_kinds.h).
//
//   layered      A protocol that runs through `layers` [the square root of the states], one per
//                step. The first has one state, each next one at most twice as many, up to a common
//                width; those of the last layer are goals and absorb. A state has one action, or
//                two or three with probability `choices` [.4]; an action leads to one or two
//                states of the next layer. With probability `retries` [.02] an action can fail:
//                then it leads, with probability .1, back to the state's own past, 1 to 8 layers
//                ago. At .02 more than half of the states are components of their own, among
//                others of up to a few thousand; from .04 on, one component holds most. All
//                actions of a state pay 1 with probability `reward_share` [.5], otherwise 0; goals
//                pay 0. `states` [50000].
//   rooms        A building of small rooms, each strongly connected: `smallest` [2] to `largest`
//                [8] states with a passage both ways along a random tree, one action per passage.
//                Doors lead to later rooms only and slip: with probability .1 to some other later
//                room. A share `traps` [.05] of the rooms are single states that absorb; so is the
//                goal, the last room. Every other room has a door that leads on towards the goal.
//                Entering the goal pays 1, all else 0. `states` [50000]; if they do not divide into
//                rooms, the last few are traps.
//   timers       Two stations on one channel, with random back-off (CSMA). In attempt k = 1 …
//                `attempts` [5] each draws one of 2^k slots and counts down, `ticks` per slot, both
//                at once. Who is first sends for a slot; equal slots collide, which starts the next
//                attempt, or the last one again. The other one may wait for its own slot or send at
//                once, which fails with probability 1/2: it then draws again, as in the next
//                attempt. Its frame is lost with probability `noise` [.1], and it draws again as in
//                the last attempt. A tick pays 1, all else 0; both done absorbs. Almost every state
//                is a tick on a long chain. `states` [50000] sets the ticks: the fewest that give
//                as many.
//   cycle        `states` [50000] in a ring. Each moves on to the next with probability 1 − `noise`
//                [.001]; otherwise, a third of the states each, it stays, falls back 1 to 20
//                states, or starts over at state 0. A share `choices` [.1] of the states has a
//                second action, which goes 2 to 10 states ahead, with twice the noise, and pays
//                nothing. The first action pays 1 with probability `reward_share` [.1]. Sweeps
//                carry values one state at a time, but elimination along the ring stays in a
//                narrow band.
//
// `states` also sets the size of kinds with another measure: N means the smallest square grid or
// maze with N cells (counting walls), the smallest capacity with N states, the smallest torus with
// N. Giving both is an error.
#ifndef STABLEAA_MDP_GENERATE_GENERATORS_H_
#define STABLEAA_MDP_GENERATE_GENERATORS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stableaa/core/option_label.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

// An unset option has its kind's default; an option its kind does not have must not be set.
struct GeneratorOptions {
  std::string kind = {};
  std::uint64_t seed = 1;
  bool shuffle = false;                 // number the states at random
  std::optional<double> discount = {};  // stored in the model; in [0, 1)

  std::optional<std::uint64_t> states = {};
  std::optional<std::uint64_t> actions = {};
  std::optional<std::uint64_t> branching = {};
  std::optional<double> reward_share = {};
  std::optional<std::uint64_t> width = {};
  std::optional<std::uint64_t> height = {};
  std::optional<double> walls = {};
  std::optional<double> noise = {};
  std::optional<double> loops = {};
  std::optional<double> fire = {};
  std::optional<double> wait_reward = {};
  std::optional<double> cut_reward = {};
  std::optional<std::uint64_t> queues = {};
  std::optional<std::uint64_t> capacity = {};
  std::optional<double> load = {};
  std::optional<std::uint64_t> seasons = {};
  std::optional<std::uint64_t> lot = {};
  std::optional<std::uint64_t> customers = {};
  std::optional<std::uint64_t> dimensions = {};
  std::optional<double> drift = {};
  std::optional<std::uint64_t> layers = {};
  std::optional<double> choices = {};
  std::optional<double> retries = {};
  std::optional<std::uint64_t> smallest = {};
  std::optional<std::uint64_t> largest = {};
  std::optional<double> traps = {};
  std::optional<std::uint64_t> attempts = {};

  OptionLabel label = NameAsLabel;  // what errors call the options
};

// The field of GeneratorOptions that an option sets: one of the two is null.
struct GeneratorField {
  std::string_view name;  // "reward_share"
  std::optional<std::uint64_t> GeneratorOptions::*integer = nullptr;
  std::optional<double> GeneratorOptions::*real = nullptr;
};

// Every option of any kind, once.
std::span<const GeneratorField> GeneratorFields();

// How a kind uses one of them.
struct GeneratorOption {
  std::string_view name;
  std::optional<double> default_value;  // none: follows from other options
  double least;                         // both ends are included
  double most;
  std::string_view meaning;
};

struct GeneratorKind {
  std::string_view name;
  std::string_view description;  // one line
  std::span<const GeneratorOption> options;
};

// All kinds, in the order of the list above.
std::span<const GeneratorKind> GeneratorKinds();

// Throws BadInput for an unknown kind, an option that the kind does not have or that is out of
// range ("garnet: branching: expected 1 to 1000, found 2000") and a discount outside [0, 1);
// WorkFailed, before anything is allocated, for a model that does not fit in memory.
Model GenerateModel(const GeneratorOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_MDP_GENERATE_GENERATORS_H_
