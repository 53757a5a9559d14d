#include "stableaa/theory/figures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"
#include "stableaa/theory/figure_data.h"
#include "stableaa/theory/update_matrix.h"

namespace stableaa::figures_test {

namespace fs = std::filesystem;

bool HasGnuplot() { return std::system("gnuplot --version >/dev/null 2>&1") == 0; }

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// ---- The numbers ----

TEST(TheoryFigureNumbers, AreTheThreeFixedPointsOfBoltzmannAndTheOneOfMellowmax) {
  const OperatorMaps data = ComputeOperatorMaps();
  ASSERT_EQ(data.maps.size(), 2U);
  ASSERT_EQ(data.maps[0].name, "boltzmann");
  ASSERT_EQ(data.maps[0].fixed_points.size(), 3U);
  const std::array expected = {0.176, 0.258, 1.101};
  for (std::size_t i = 0; i < 3; ++i) {
    const double v = data.maps[0].fixed_points[i].value;
    EXPECT_NEAR(v, expected[i], 5e-4);
    EXPECT_EQ(data.maps[0].fixed_points[i].attracts, i != 1);
    const double a = 0.05 + 0.98 * 0.2 * v;
    const double b = 0.033 + 0.98 * 0.99 * v;
    const double share = 1 / (1 + std::exp(10 * (b - a)));
    EXPECT_NEAR(share * a + (1 - share) * b, v, 1e-14);
  }
  ASSERT_EQ(data.maps[1].name, "mellowmax");
  ASSERT_EQ(data.maps[1].fixed_points.size(), 1U);
  const double v = data.maps[1].fixed_points[0].value;
  const double a = 0.05 + 0.98 * 0.2 * v;
  const double b = 0.033 + 0.98 * 0.99 * v;
  EXPECT_NEAR(std::log((std::exp(10 * a) + std::exp(10 * b)) / 2) / 10, v, 1e-14);
  EXPECT_TRUE(data.maps[1].fixed_points[0].attracts);
}

TEST(TheoryFigureNumbers, NormBoundsAreTheFormulas) {
  EXPECT_DOUBLE_EQ(PrintedNormBound(2, 1), 0);
  EXPECT_DOUBLE_EQ(PrintedNormBound(4, 0.75), 0.25);
  EXPECT_DOUBLE_EQ(RootNormBound(0.0001, 1), 51);
  EXPECT_DOUBLE_EQ(RootNormBound(4, 0.75), 1);
  EXPECT_DOUBLE_EQ(InverseNormBound(4, 0.75), 1);
  EXPECT_DOUBLE_EQ(CorrectedNormBound(0.01, 1), 6);
  EXPECT_DOUBLE_EQ(CorrectedNormBound(100, 1), 1 + (1 + std::sqrt(2.0)) / 200);
}

// ‖G̃‖₂ for the concatenated columns of Δ and H.
double UpdateNorm(std::span<const double> iterates, std::span<const double> residuals,
                  std::size_t columns, double damping, double eta) {
  const auto n = static_cast<Eigen::Index>(iterates.size() / columns);
  const auto m = static_cast<Eigen::Index>(columns);
  const auto matrix = [&](std::span<const double> numbers) -> LongMatrix {
    return Eigen::Map<const Eigen::MatrixXd>(numbers.data(), n, m).cast<long double>();
  };
  return static_cast<double>(stableaa::UpdateNorm(
      {.iterates = matrix(iterates), .residuals = matrix(residuals), .x = {}, .residual = {}},
      damping, eta));
}

TEST(TheoryFigureNumbers, UpdateNormIsThatOfTheMatrixWrittenOut) {
  // Δ = e₁, H = e₂, β = 1, η = 2: G̃ = [[−1, 1/5], [0, −4/5]], and −1 elsewhere.
  const double squares = 1 + 0.04 + 0.64;
  const double norm = std::sqrt((squares + std::sqrt(squares * squares - 4 * 0.64)) / 2);
  EXPECT_NEAR(UpdateNorm(std::array{1.0, 0.0}, std::array{0.0, 1.0}, 1, 1, 2), norm, 1e-15);
  EXPECT_NEAR(norm, 1.047, 5e-4);
  EXPECT_NEAR(UpdateNorm(std::array{1.0, 0.0, 0.0, 0.0}, std::array{0.0, 1.0, 0.0, 0.0}, 1, 1, 2),
              norm, 1e-15);
  EXPECT_GT(norm, PrintedNormBound(2, 1));

  // For scalars: G̃ = −β + (δ+βh)h/(h² + η(δ²+h²)).
  for (const double damping : {0.0, 0.3, 1.0}) {
    for (const double eta : {1e-3, 0.1, 3.0}) {
      const double expected =
          std::abs(-damping + (-2 + damping * 0.5) * 0.5 / (0.25 + eta * (4 + 0.25)));
      EXPECT_NEAR(UpdateNorm(std::array{-2.0}, std::array{0.5}, 1, damping, eta), expected,
                  1e-14 * (1 + expected));
      // In the other dimensions, G̃ is −β.
      EXPECT_NEAR(
          UpdateNorm(std::array{0.0, 0.0, -2.0}, std::array{0.0, 0.0, 0.5}, 1, damping, eta),
          std::max(expected, damping), 1e-14 * (1 + expected));
    }
  }

  // Two orthogonal pairs of parallel columns: the larger of the two numbers, with one ridge for
  // both.
  const double ridge = 0.1 * (1 + 9 + 0.04 + 0.25);
  const double first = std::abs(-1 + (1 - 0.2) * -0.2 / (0.04 + ridge));
  const double second = std::abs(-1 + (-3 + 0.5) * 0.5 / (0.25 + ridge));
  EXPECT_NEAR(
      UpdateNorm(std::array{1.0, 0.0, 0.0, -3.0}, std::array{-0.2, 0.0, 0.0, 0.5}, 2, 1, 0.1),
      std::max(first, second), 1e-14);
}

TEST(TheoryFigureNumbers, BackupsAreCountedFromOne) {
  const ResidualCurve curve{.name = "vi", .residuals = {1, 0.1, 0.2, 0.05}};
  EXPECT_EQ(curve.BackupsTo(1), 1);
  EXPECT_EQ(curve.BackupsTo(0.1), 2);
  EXPECT_EQ(curve.BackupsTo(0.06), 4);
  EXPECT_EQ(curve.BackupsTo(0.01), std::nullopt);
}

TEST(FullTheoryFigureNumbers, ResidualsShowTheEtaRule) {
  const ResidualCurves data = ComputeResidualCurves(7);
  std::map<std::pair<std::string, double>, const ResidualCurve*> runs;
  for (const ResidualCurve& curve : data.curves) {
    runs[{curve.name, std::isnan(curve.eta) ? 0 : curve.eta}] = &curve;
    EXPECT_EQ(curve.BackupsTo(1e-8), std::ssize(curve.residuals)) << curve.name;
  }
  ASSERT_EQ(runs.size(), 7U);
  const std::vector<double>& vi = runs.at({"vi", 0})->residuals;
  const std::vector<double>& span = runs.at({"span-vi", 0})->residuals;
  // The first backup, from zeros, finds the largest reward of each state.
  const Model model =
      GenerateModel({.kind = "garnet", .seed = 7, .states = 1000, .actions = 4, .branching = 5});
  double least = 1;
  double most = 0;
  for (std::size_t s = 0; s < 1000; ++s) {
    const double best = std::ranges::max(model.rewards().subspan(4 * s, 4));
    least = std::min(least, best);
    most = std::max(most, best);
  }
  EXPECT_DOUBLE_EQ(vi[0], most);
  EXPECT_DOUBLE_EQ(span[0], (most - least) / 2);
  // Along the constant vector, a backup contracts by exactly γ.
  EXPECT_NEAR(vi.at(1500) / vi.at(1400), std::pow(0.99, 100), 1e-6);
  ASSERT_LT(span.size(), 50U);
  for (std::size_t i = 0; i < span.size(); ++i) EXPECT_LT(span[i], vi[i]);

  const auto speed_up = [&](const std::string& name, double eta) {
    return static_cast<double>(vi.size()) /
           static_cast<double>(runs.at({name, eta})->residuals.size());
  };
  for (const double eta : {0.1, 0.01, 0.001}) {
    EXPECT_NEAR(speed_up("stable", eta) / (1 + 0.01 / eta), 1, 0.15) << eta;
    EXPECT_DOUBLE_EQ(EtaRule(eta, 0.99), 1 + (1 - 0.99) / eta);
  }
  EXPECT_GT(speed_up("stable", 0.0001), 20);
  EXPECT_GT(speed_up("relative", 1e-10), 20);
}

TEST(FullTheoryFigureNumbers, GainIsAtMostOneInTheTwoNormOnly) {
  const GainCurves data = ComputeGainCurves(7);
  const double root = std::sqrt(1000.0);
  for (const GainCurve& curve : data.curves) {
    double largest = 0;
    ASSERT_GT(curve.steps.size(), 20U);
    for (const GainCurve::Step& step : curve.steps) {
      EXPECT_LE(step.two_norm, 1 + 1e-9);
      EXPECT_GE(step.two_norm, 0);
      // A vector with n entries has ‖·‖∞ ≤ ‖·‖₂ ≤ √n‖·‖∞.
      EXPECT_LE(step.sup_norm, root * step.two_norm);
      EXPECT_GE(step.sup_norm, step.two_norm / root);
      largest = std::max(largest, step.sup_norm);
    }
    EXPECT_GT(largest, 1.2) << curve.memory;
    EXPECT_LE(largest, (1 + root) / 2) << curve.memory;
  }
}

TEST(FullTheoryFigureNumbers, NormsKeepToTheCorrectedBoundsAndNotToThePrintedOne) {
  const StabilityData data = ComputeStabilityData(7);
  for (const auto* points : {&data.random, &data.runs, &data.worst}) {
    int above_printed = 0;
    for (const auto& [eta, norm] : *points) {
      EXPECT_LE(norm, (1 + 1e-9) * (1 + 0.5 / std::sqrt(eta))) << eta;
      EXPECT_LE(norm, (1 + 1e-9) * (1 + (1 + std::sqrt(2.0)) / (2 * eta))) << eta;
      if (norm > 1.001 * std::abs(2 / eta - 1)) ++above_printed;
    }
    EXPECT_GT(points->size(), 50U);
    EXPECT_GT(above_printed, 10);
  }
  for (const auto& [eta, norm] : data.worst) {
    // H = √η·v against Δ = −v is one of the windows; the worst is at least as bad.
    const double h = std::sqrt(eta);
    EXPECT_GE(norm, 0.999 * (1 + (1 - h) * h / (eta + eta * (1 + eta)))) << eta;
    EXPECT_GE(norm, 1) << eta;
  }
}

TEST(FullTheoryFigureNumbers, EigenvaluesLieWithinTheCircleAndComeInConjugatePairs) {
  const EigenvalueClouds data = ComputeEigenvalueClouds(7);
  ASSERT_EQ(data.clouds.size(), 6U);
  int complex_values = 0;
  double largest = 0;  // as a share of the radius
  for (const EigenvalueCloud& cloud : data.clouds) {
    const double radius = 1 + 0.5 / std::sqrt(cloud.eta);
    double imaginary = 0;
    EXPECT_EQ(cloud.values.size() % 5, 0U) << cloud.model;
    EXPECT_GT(cloud.values.size(), 100U) << cloud.model;
    for (const EigenvalueCloud::Value& value : cloud.values) {
      EXPECT_LE(std::abs(value.eigenvalue), radius) << cloud.model;
      largest = std::max(largest, std::abs(value.eigenvalue) / radius);
      imaginary += value.eigenvalue.imag();
      if (std::abs(value.eigenvalue.imag()) > 0.05) ++complex_values;
    }
    EXPECT_NEAR(imaginary, 0, 1e-9) << cloud.model;
  }
  EXPECT_GT(complex_values, 100);
  EXPECT_GT(largest, 0.9);
}

TEST(FullTheoryFigureNumbers, AllFollowTheSeed) {
  EXPECT_NE(ComputeResidualCurves(1).curves[0].residuals[0],
            ComputeResidualCurves(2).curves[0].residuals[0]);
  EXPECT_NE(ComputeGainCurves(1).curves[0].steps[0].sup_norm,
            ComputeGainCurves(2).curves[0].steps[0].sup_norm);
  const StabilityData one = ComputeStabilityData(1);
  const StabilityData two = ComputeStabilityData(2);
  EXPECT_NE(one.random[0].norm, two.random[0].norm);
  const auto largest = [](const std::vector<NormPoint>& points) {
    return std::ranges::max(points, {}, &NormPoint::norm).norm;
  };
  EXPECT_NE(largest(one.runs), largest(two.runs));
  EXPECT_NE(ComputeEigenvalueClouds(1).clouds.back().values[0].eigenvalue,
            ComputeEigenvalueClouds(2).clouds.back().values[0].eigenvalue);
}

TEST(FullTheoryFigureNumbers, EigenvaluesEndWithTheOneOfTheConstantVector) {
  // On a model that mixes fast, the window tends to H = −(1−γ)Δ with constant columns.
  const EigenvalueCloud cloud = ComputeEigenvalueClouds(7).clouds.back();
  ASSERT_EQ(cloud.model, "Garnet");
  ASSERT_EQ(cloud.eta, 0.01);
  std::vector<double> last;
  for (std::size_t i = cloud.values.size() - 5; i < cloud.values.size(); ++i) {
    last.push_back(cloud.values[i].eigenvalue.real());
  }
  std::ranges::sort(last);
  EXPECT_NEAR(last[0], -1 - (1 - 0.01) * 0.01 / (1e-4 + 0.01 * (1 + 1e-4)), 1e-4);
  for (std::size_t i = 1; i < last.size(); ++i) EXPECT_NEAR(last[i], -1, 1e-2);
}

// ---- The files ----

void ExpectWholeSvg(const fs::path& path, const std::string& title) {
  const std::string text = ReadFile(path);
  EXPECT_TRUE(text.starts_with("<?xml")) << path;
  EXPECT_NE(text.find(title), std::string::npos) << path;
  const std::size_t end = text.rfind("</svg>");
  ASSERT_NE(end, std::string::npos) << path;
  EXPECT_EQ(text.find_first_not_of(" \n", end + 6), std::string::npos) << path;
  EXPECT_EQ(text.find("<svg"), text.rfind("<svg")) << path;
  for (const char* broken : {"nan", "NaN", "inf,", "inf "}) {
    EXPECT_EQ(text.find(broken), std::string::npos) << path << ": " << broken;
  }
}

void ExpectWholePng(const fs::path& path) {
  const std::string bytes = ReadFile(path);
  ASSERT_GT(bytes.size(), 10'000U) << path;
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n") << path;
  const auto number = [&](std::size_t at) {
    int value = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      value = 256 * value + static_cast<unsigned char>(bytes[i]);
    }
    return value;
  };
  EXPECT_EQ(number(16), 2000) << path;
  EXPECT_GE(number(20), 1200) << path;
  EXPECT_LE(number(20), 1500) << path;
  EXPECT_EQ(bytes.substr(bytes.size() - 8, 4), "IEND") << path;
}

TEST(FullTheoryFigures, AreAPictureOfTwoKindsAndATableEachAndNothingElse) {
  if (!HasGnuplot()) GTEST_SKIP() << "needs gnuplot";
  const std::vector<std::pair<std::string, std::string>> titles = {
      {"residual", "Backups until the residual"},
      {"gain", "Gain θₖ"},
      {"stability", "Norm of the update matrix G̃"},
      {"eigenvalues", "Eigenvalues of the update matrix"},
      {"boltzmann", "three fixed points"}};
  const TemporaryFolder temporary;
  const fs::path directory = temporary / "made" / "here";
  std::vector<std::string> watched;
  const std::vector<fs::path> paths =
      DrawTheoryFigures(directory, 7, [&](std::string_view name) { watched.emplace_back(name); });

  std::vector<fs::path> expected;
  std::vector<std::string> names;
  for (const auto& [name, title] : titles) {
    names.push_back(name);
    for (const char* extension : {".svg", ".png", ".csv"}) {
      expected.push_back(directory / (name + extension));
    }
    ExpectWholeSvg(directory / (name + ".svg"), title);
    ExpectWholePng(directory / (name + ".png"));
  }
  EXPECT_EQ(watched, names);
  EXPECT_EQ(paths, expected);
  const auto files = fs::directory_iterator(directory);
  EXPECT_EQ(std::distance(begin(files), end(files)), std::ssize(expected));
  EXPECT_NE(ReadFile(directory / "residual.svg").find("seed 7"), std::string::npos);
}

// A file of comma-separated values, row by row.
class Table {
 public:
  explicit Table(const fs::path& path) : file_(path) { std::getline(file_, header_); }
  const std::string& header() const { return header_; }

  // The next row's cells; none at the end.
  std::vector<std::string> Next() {
    std::string line;
    if (!std::getline(file_, line)) return {};
    std::vector<std::string> cells(1);
    for (const char c : line) {
      if (c == ',') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    return cells;
  }

 private:
  std::ifstream file_;
  std::string header_;
};

// Text or a number; numbers must read back bit for bit.
struct Cell {
  Cell(const std::string& given) : text(given) {}
  Cell(const char* given) : text(given) {}
  Cell(double given) : number(given) {}
  bool Is(const std::string& found) const {
    return number ? std::stod(found) == *number : text == found;
  }
  std::string text = {};
  std::optional<double> number = {};
};

void ExpectNext(Table& table, const std::vector<Cell>& cells) {
  const std::vector<std::string> found = table.Next();
  ASSERT_EQ(found.size(), cells.size()) << table.header();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    ASSERT_TRUE(cells[i].Is(found[i])) << table.header() << ": " << found[i];
  }
}

TEST(FullTheoryFigures, TablesHaveTheNumbersOfTheSeedInPlaceOfTheFormerOnes) {
  if (!HasGnuplot()) GTEST_SKIP() << "needs gnuplot";
  const TemporaryFolder directory;
  std::ofstream(directory / "residual.csv") << "former";
  DrawTheoryFigures(directory.path(), 7);

  Table residual(directory / "residual.csv");
  EXPECT_EQ(residual.header(), "run,eta,backups,residual");
  for (const ResidualCurve& curve : ComputeResidualCurves(7).curves) {
    for (std::size_t i = 0; i < curve.residuals.size(); ++i) {
      ExpectNext(residual, {curve.name, std::isnan(curve.eta) ? Cell("") : Cell(curve.eta),
                            static_cast<double>(i + 1), curve.residuals[i]});
    }
  }
  EXPECT_TRUE(residual.Next().empty());

  Table gain(directory / "gain.csv");
  EXPECT_EQ(gain.header(), "memory,backup,gain_2norm,gain_sup");
  for (const GainCurve& curve : ComputeGainCurves(7).curves) {
    for (const GainCurve::Step& step : curve.steps) {
      ExpectNext(gain, {static_cast<double>(curve.memory), static_cast<double>(step.backup),
                        step.two_norm, step.sup_norm});
    }
  }
  EXPECT_TRUE(gain.Next().empty());

  Table stability(directory / "stability.csv");
  EXPECT_EQ(stability.header(), "window,eta,norm,bound_printed,bound_root,bound_inverse");
  const StabilityData norms = ComputeStabilityData(7);
  const std::vector<std::pair<std::string, const std::vector<NormPoint>*>> kinds = {
      {"random", &norms.random}, {"runs", &norms.runs}, {"worst", &norms.worst}};
  for (const auto& [name, points] : kinds) {
    for (const auto& [eta, norm] : *points) {
      ExpectNext(stability, {name, eta, norm, PrintedNormBound(eta, 1), RootNormBound(eta, 1),
                             InverseNormBound(eta, 1)});
    }
  }
  EXPECT_TRUE(stability.Next().empty());

  Table eigenvalues(directory / "eigenvalues.csv");
  EXPECT_EQ(eigenvalues.header(), "model,eta,backup,real,imaginary");
  for (const EigenvalueCloud& cloud : ComputeEigenvalueClouds(7).clouds) {
    for (const EigenvalueCloud::Value& value : cloud.values) {
      ExpectNext(eigenvalues, {cloud.model, cloud.eta, static_cast<double>(value.backup),
                               value.eigenvalue.real(), value.eigenvalue.imag()});
    }
  }
  EXPECT_TRUE(eigenvalues.Next().empty());

  Table boltzmann(directory / "boltzmann.csv");
  EXPECT_EQ(boltzmann.header(), "operator,v,image,fixed_point");
  for (const OperatorMap& map : ComputeOperatorMaps().maps) {
    for (std::size_t i = 0; i < map.values.size(); ++i) {
      ExpectNext(boltzmann, {map.name, map.values[i], map.images[i], 0.0});
    }
    for (const OperatorMap::FixedPoint& point : map.fixed_points) {
      ExpectNext(boltzmann, {map.name, point.value, point.value, 1.0});
    }
  }
  EXPECT_TRUE(boltzmann.Next().empty());
}

// ---- What cannot be drawn ----

// The error message of DrawTheoryFigures, which must not have started anything.
std::string Refusal(const fs::path& directory) {
  return MessageOf(
      [&] {
        DrawTheoryFigures(directory, 1, [](std::string_view name) {
          throw std::runtime_error("has begun with " + std::string(name));
        });
      },
      Error::Kind::kWorkFailed);
}

TEST(TheoryFigures, NeedADirectory) {
  if (!HasGnuplot()) GTEST_SKIP() << "needs gnuplot";
  const TemporaryFolder directory;
  const fs::path file = directory / "file";
  std::ofstream(file) << "content";
  EXPECT_EQ(Refusal(file), "expected a directory for the figures, found a file: " + file.string());
  EXPECT_NE(Refusal(file / "below").find("cannot make the directory"), std::string::npos);
  EXPECT_EQ(ReadFile(file), "content");
  EXPECT_NE(Refusal("/proc/figures").find("cannot make the directory '/proc/figures'"),
            std::string::npos);
}

TEST(TheoryFigures, NeedADirectoryThatCanBeWrittenTo) {
  if (!HasGnuplot()) GTEST_SKIP() << "needs gnuplot";
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryFolder directory;
  fs::permissions(directory.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_NE(Refusal(directory.path()).find("can be written to"), std::string::npos);
  fs::permissions(directory.path(), fs::perms::owner_all);
}

TEST(TheoryFigures, NeedGnuplotBeforeAnythingIsComputedOrMade) {
  const TemporaryFolder directory;
  const char* former = std::getenv("PATH");
  const std::string path = former == nullptr ? "" : former;
  setenv("PATH", directory.path().c_str(), 1);
  const std::string refusal = Refusal(directory / "figures");
  setenv("PATH", path.c_str(), 1);
  EXPECT_NE(refusal.find("a plot needs gnuplot (Debian: gnuplot-nox)"), std::string::npos)
      << refusal;
  EXPECT_FALSE(fs::exists(directory / "figures"));
}

TEST(TheoryFigures, StopWhenTheWatcherThrows) {
  if (!HasGnuplot()) GTEST_SKIP() << "needs gnuplot";
  const TemporaryFolder directory;
  EXPECT_THROW(DrawTheoryFigures(directory.path(), 1,
                                 [](std::string_view) { throw std::runtime_error("stop"); }),
               std::runtime_error);
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

}  // namespace stableaa::figures_test
