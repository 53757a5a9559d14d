#include "stableaa/env/minatar/drawing.h"

#include <array>
#include <cstddef>

#include "stableaa/env/minatar/asterix.h"
#include "stableaa/env/minatar/breakout.h"
#include "stableaa/env/minatar/freeway.h"
#include "stableaa/env/minatar/grid.h"
#include "stableaa/env/minatar/seaquest.h"
#include "stableaa/env/minatar/space_invaders.h"

namespace stableaa::minatar {
namespace {

constexpr Color kGap = {16, 18, 24};
constexpr Color kEmpty = {26, 29, 38};

// The same role has the same colour in all games.
constexpr Color kPlayerGreen = {92, 219, 120};
constexpr Color kEnemyRed = {235, 77, 75};
constexpr Color kTrailGrey = {84, 90, 106};
constexpr Color kGoldYellow = {250, 208, 60};
constexpr Color kShotWhite = {240, 240, 245};
constexpr Color kEnemyShotOrange = {255, 140, 50};

constexpr std::array kAsterixLayers = {
    Layer{Asterix::kTrail, kTrailGrey}, Layer{Asterix::kGold, kGoldYellow},
    Layer{Asterix::kEnemy, kEnemyRed}, Layer{Asterix::kPlayer, kPlayerGreen}};

constexpr std::array kBreakoutLayers = {
    Layer{Breakout::kBrick, {196, 92, 64}}, Layer{Breakout::kTrail, kTrailGrey},
    Layer{Breakout::kBall, kShotWhite}, Layer{Breakout::kPaddle, kPlayerGreen}};

// Marks range from a cold blue for cars that move every other step to a warm rose for the slowest.
constexpr std::array kFreewayLayers = {
    Layer{Freeway::kMark + 4, {150, 62, 92}},  Layer{Freeway::kMark + 3, {138, 92, 52}},
    Layer{Freeway::kMark + 2, {104, 116, 48}}, Layer{Freeway::kMark + 1, {44, 122, 110}},
    Layer{Freeway::kMark, {48, 98, 168}},      Layer{Freeway::kCar, kEnemyRed},
    Layer{Freeway::kChicken, kGoldYellow}};

constexpr std::array kSeaquestLayers = {Layer{Seaquest::kTrail, kTrailGrey},
                                        Layer{Seaquest::kOxygenGauge, {64, 148, 255}},
                                        Layer{Seaquest::kCrewGauge, {205, 160, 20}},
                                        Layer{Seaquest::kDiver, kGoldYellow},
                                        Layer{Seaquest::kFish, {214, 92, 190}},
                                        Layer{Seaquest::kSubmarine, kEnemyRed},
                                        Layer{Seaquest::kEnemyBullet, kEnemyShotOrange},
                                        Layer{Seaquest::kStern, {44, 138, 84}},
                                        Layer{Seaquest::kOwnBullet, kShotWhite},
                                        Layer{Seaquest::kBow, kPlayerGreen}};

// Aliens always have a direction as well; its colour is the visible one.
constexpr std::array kSpaceInvadersLayers = {Layer{SpaceInvaders::kAlien, {150, 150, 160}},
                                             Layer{SpaceInvaders::kLeftward, kEnemyRed},
                                             Layer{SpaceInvaders::kRightward, {190, 90, 220}},
                                             Layer{SpaceInvaders::kEnemyBullet, kEnemyShotOrange},
                                             Layer{SpaceInvaders::kOwnBullet, kShotWhite},
                                             Layer{SpaceInvaders::kCannon, kPlayerGreen}};

Color ColorOf(std::span<const std::uint8_t> cell, std::span<const Layer> layers) {
  for (std::size_t i = layers.size(); i-- > 0;) {
    if (cell[static_cast<std::size_t>(layers[i].channel)] != 0) return layers[i].color;
  }
  return kEmpty;
}

}  // namespace

std::span<const Layer> LayersOf(MinatarGame game) {
  switch (game) {
    case MinatarGame::kAsterix:
      return kAsterixLayers;
    case MinatarGame::kBreakout:
      return kBreakoutLayers;
    case MinatarGame::kFreeway:
      return kFreewayLayers;
    case MinatarGame::kSeaquest:
      return kSeaquestLayers;
    case MinatarGame::kSpaceInvaders:
      break;
  }
  return kSpaceInvadersLayers;
}

void DrawObservation(MinatarGame game, std::span<const std::uint8_t> observation,
                     Picture& picture) {
  const std::span<const Layer> layers = LayersOf(game);
  picture.Resize(kSide * kCellPixels, kSide * kCellPixels);
  picture.Fill(kGap);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int cell = y * kSide + x;
      const std::size_t at = static_cast<std::size_t>(cell) * layers.size();
      const Color color = ColorOf(observation.subspan(at, layers.size()), layers);
      const int left = x * kCellPixels;
      const int top = y * kCellPixels;
      picture.Rectangle(left + 1, top + 1, left + kCellPixels - 1, top + kCellPixels - 1, color);
    }
  }
}

}  // namespace stableaa::minatar
