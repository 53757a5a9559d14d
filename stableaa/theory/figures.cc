#include "stableaa/theory/figures.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <system_error>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/process/gnuplot.h"
#include "stableaa/core/error.h"
#include "stableaa/theory/figure_data.h"
#include "stableaa/theory/update_matrix.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

struct Picture : GnuplotPicture {
  std::string csv = {};
};

struct Figure {
  std::string_view name;
  Picture (*make)(std::uint64_t seed);
};

// ---- Writing scripts ----

// The top of panels with a title of their own below the picture's two title lines, as a share of
// its height.
constexpr double kTop = 0.84;

// The style of a curve or point cloud; `colour` as in GnuplotColour.
std::string Line(std::size_t colour, int dash_type, double width = 2) {
  return fmt::format("linecolor rgb '{}' dashtype {} linewidth {}", GnuplotColour(colour),
                     dash_type, width);
}
std::string Marker(std::size_t colour, int type, double size) {
  return fmt::format("linecolor rgb '{}' pointtype {} pointsize {}", GnuplotColour(colour), type,
                     size);
}

// Palette indices by name.
constexpr std::size_t kBlue = 0;
constexpr std::size_t kVermilion = 1;
constexpr std::size_t kGreen = 2;
constexpr std::size_t kPurple = 3;
constexpr std::size_t kOrange = 4;
constexpr std::size_t kSky = 5;
constexpr std::size_t kBlack = 6;

// A data block that `plot $name using 1:2` reads.
template <typename Items, typename Row>
std::string DataBlock(std::string_view name, const Items& items, Row row) {
  std::string block = fmt::format("${} << EOD\n", name);
  for (const auto& item : items) block += fmt::format("{}\n", row(item));
  return block + "EOD\n";
}

// The panel for the next plot, as shares of the picture from the lower left corner.
std::string PanelAt(double left, double right, double bottom, double top) {
  return fmt::format(
      "set lmargin at screen {}\nset rmargin at screen {}\nset bmargin at screen {}\n"
      "set tmargin at screen {}\n",
      left, right, bottom, top);
}

// Panels with a common title; the second line says where the numbers come from.
std::string BeginPanels(std::string_view title, std::string_view source) {
  return fmt::format("set multiplot title \"{}\\n{}\" font title_font\n", title, source);
}

std::string ModelText(std::uint64_t seed) {
  return fmt::format("Garnet model with {} states, {} actions, branching {}, γ = {}, seed {}",
                     kFigureStates, kFigureActions, kFigureBranching, kFigureDiscount, seed);
}

// ---- Residual against backups ----

std::string ResidualLabel(const ResidualCurve& curve, const ResidualCurves& all) {
  const auto plain = all.curves.front().BackupsTo(all.target);
  const auto backups = curve.BackupsTo(all.target);
  std::string label = "VI";
  if (curve.name == "span-vi") label = "VI after the best constant shift, ½ span(TV − V)";
  if (!std::isnan(curve.eta)) {
    label = fmt::format("AA({}) {}, η = {}{}", all.memory, curve.name,
                        curve.eta_formula.empty() ? "" : fmt::format("{} = ", curve.eta_formula),
                        curve.eta);
  }
  if (!backups || !plain) return label;
  label += fmt::format(": {} backups", *backups);
  if (curve.name == "vi") return label;
  label += fmt::format(", {:.3g}×", static_cast<double>(*plain) / static_cast<double>(*backups));
  if (curve.name != "stable") return label;
  return fmt::format("{} (rule: ≤ {:.3g}×)", label, EtaRule(curve.eta, kFigureDiscount));
}

Picture ResidualPicture(std::uint64_t seed) {
  constexpr std::array<std::size_t, 7> kColours = {kBlack,  kPurple,    kSky, kGreen,
                                                   kOrange, kVermilion, kBlue};
  constexpr std::array<int, 7> kDashes = {1, 4, 2, 1, 5, 1, 3};
  const ResidualCurves data = ComputeResidualCurves(seed);
  Picture picture{{.height = 700}, "run,eta,backups,residual\n"};
  std::string plots =
      fmt::format("plot {} with lines linecolor rgb '#808080' dashtype 3 linewidth 1", data.target);
  for (std::size_t c = 0; c < data.curves.size(); ++c) {
    const ResidualCurve& curve = data.curves[c];
    picture.script += fmt::format("$curve{} << EOD\n", c);
    for (std::size_t i = 0; i < curve.residuals.size(); ++i) {
      picture.script += fmt::format("{} {}\n", i + 1, curve.residuals[i]);
      picture.csv +=
          fmt::format("{},{},{},{}\n", curve.name,
                      std::isnan(curve.eta) ? std::string() : fmt::format("{}", curve.eta), i + 1,
                      curve.residuals[i]);
    }
    picture.script += "EOD\n";
    plots += fmt::format(", $curve{} using 1:2 with lines {} title {}", c,
                         Line(kColours[c % kColours.size()], kDashes[c % kDashes.size()], 2.2),
                         GnuplotQuoted(ResidualLabel(curve, data)));
  }
  picture.script += fmt::format(
      "{}{}set logscale y\nset format y '1e%T'\nunset mytics\nset yrange [{}:3]\n"
      "set xlabel 'backups (sweeps over the model)'\nset ylabel 'residual ‖TV − V‖∞'\n",
      kGnuplotStyle,
      BeginPanels(fmt::format("Backups until the residual is {}: value iteration (VI) and Anderson "
                              "acceleration (AA)",
                              data.target),
                  ModelText(seed)),
      data.target / 3);
  picture.script += fmt::format("{}unset key\nset title 'the first 200'\nset xrange [0:200]\n{}\n",
                                PanelAt(0.08, 0.49, 0.35, kTop), plots);
  picture.script += fmt::format(
      "{}set key at screen 0.5, 0.25 center top maxcols 1\nset title 'all'\nset xrange [0:*]\n"
      "unset ylabel\n{}\nunset multiplot\n",
      PanelAt(0.56, 0.97, 0.35, kTop), plots);
  return picture;
}

// ---- The gain θ ----

// One norm's panel, with everything above 1 shaded.
std::string GainPlot(const GainCurves& data, int column) {
  constexpr std::array<std::size_t, 3> kColours = {kSky, kVermilion, kBlue};
  constexpr std::array<int, 3> kMarkers = {6, 5, 9};
  std::string plot =
      "set object 1 rectangle from graph 0, first 1 to graph 1, graph 1 behind "
      "fillcolor rgb '#f6e3d8' fillstyle solid noborder\n"
      "plot 1 with lines linecolor rgb '#000000' linewidth 1.2";
  for (std::size_t c = 0; c < data.curves.size(); ++c) {
    plot += fmt::format(
        ", $gain{} using 1:{} with linespoints linecolor rgb '{}' linewidth 1.6 pointtype {} "
        "pointsize 0.7 title 'memory {}'",
        c, column, GnuplotColour(kColours[c % kColours.size()]), kMarkers[c % kMarkers.size()],
        data.curves[c].memory);
  }
  return plot;
}

Picture GainPicture(std::uint64_t seed) {
  const GainCurves data = ComputeGainCurves(seed);
  Picture picture{{}, "memory,backup,gain_2norm,gain_sup\n"};
  std::int64_t steps = 0;
  std::int64_t above = 0;
  for (std::size_t c = 0; c < data.curves.size(); ++c) {
    const GainCurve& curve = data.curves[c];
    picture.script += DataBlock(fmt::format("gain{}", c), curve.steps, [](const auto& step) {
      return fmt::format("{} {} {}", step.backup, step.two_norm, step.sup_norm);
    });
    for (const GainCurve::Step& step : curve.steps) {
      ++steps;
      if (step.sup_norm > 1) ++above;
      picture.csv +=
          fmt::format("{},{},{},{}\n", curve.memory, step.backup, step.two_norm, step.sup_norm);
    }
  }
  picture.script += fmt::format(
      "{}{}set xrange [0:{}]\n", kGnuplotStyle,
      BeginPanels(fmt::format("Gain θₖ of Anderson mixing: mellowmax backups, ω = {}, no ridge, no "
                              "damping, no safeguard",
                              data.omega),
                  ModelText(seed)),
      data.most_backups);
  picture.script += fmt::format(
      "{}unset key\nset format x ''\nset yrange [*<0.6:1.1]\nset ytics 0.1\n"
      "set ylabel '‖Σαᵢeᵢ‖₂ / ‖eₖ‖₂'\n"
      "set title '2-norm: at most 1, because the weights minimise it'\n{}\n",
      PanelAt(0.08, 0.97, 0.56, kTop), GainPlot(data, 2));
  picture.script += fmt::format(
      "{}set format x '%g'\nset xlabel 'backups k (sweeps over the model)'\n"
      "set yrange [*<0.8:2.2<*]\nset ytics 0.2\nset ylabel '‖Σαᵢeᵢ‖∞ / ‖eₖ‖∞'\n"
      "set title 'sup norm: above 1 (shaded) in {} of {} steps, where the paper has at most 1'\n"
      "set key at screen 0.5, 0.02 center bottom maxrows 1\n{}\nunset multiplot\n",
      PanelAt(0.08, 0.97, 0.17, 0.48), above, steps, GainPlot(data, 3));
  return picture;
}

// ---- The update matrix and its bounds ----

Picture StabilityPicture(std::uint64_t seed) {
  const StabilityData data = ComputeStabilityData(seed);
  Picture picture{{}, "window,eta,norm,bound_printed,bound_root,bound_inverse\n"};
  const auto add = [&](std::string_view name, const std::vector<NormPoint>& points) {
    picture.script += DataBlock(name, points, [](const NormPoint& point) {
      return fmt::format("{} {}", point.eta, point.norm);
    });
    for (const NormPoint& point : points) {
      picture.csv += fmt::format("{},{},{},{},{},{}\n", name, point.eta, point.norm,
                                 PrintedNormBound(point.eta, data.damping),
                                 RootNormBound(point.eta, data.damping),
                                 InverseNormBound(point.eta, data.damping));
    }
  };
  add("random", data.random);
  add("runs", data.runs);
  add("worst", data.worst);
  picture.script += fmt::format(
      "{}beta = {}\nprinted(eta) = abs(2/eta - beta)\n"
      "set title \"Norm of the update matrix G̃ with the stable ridge, and its bounds (β = {})\\n"
      "{} random windows, seed {}; runs of AA({}) on generated models with γ = {}\" font "
      "title_font\n"
      "set logscale xy\nset samples 3000\nset xrange [{}:{}]\nset yrange [0.1:300]\n"
      "set format '%g'\nset xlabel 'strength η of the ridge'\nset ylabel 'norm ‖G̃‖₂'\n"
      "set label 'zero at η = 2/β' at 3.2/beta, 0.2 left textcolor rgb '{}'\n",
      kGnuplotStyle, data.damping, data.damping, data.random.size(), seed, data.memory,
      kFigureDiscount, data.worst.front().eta / 1.2, data.worst.back().eta * 1.2,
      GnuplotColour(kVermilion));
  picture.script +=
      PanelAt(0.08, 0.97, 0.28, 0.88) + "set key at screen 0.5, 0.17 center top maxrows 4\n";
  picture.script += fmt::format(
      "plot $random with points linecolor rgb '#a8a8a8' pointtype 7 pointsize 0.25 "
      "title 'random window', "
      "$random using 1:($2 > printed($1) ? $2 : NaN) with points {} "
      "title 'random window above the printed bound', "
      "$runs with points {} title 'window of a run', "
      "$worst with linespoints {} pointtype 6 pointsize 0.6 title 'worst window of one column', "
      "printed(x) with lines {} title 'bound as printed, |2/η − β|', "
      "beta + 1/(2*sqrt(x)) with lines {} title 'corrected bound, β + 1/(2√η)', "
      "beta + (beta + sqrt(1 + beta**2))/(2*x) with lines {} "
      "title 'corrected bound, β + (β + √(1+β²))/(2η)'\n",
      Marker(kPurple, 7, 0.35), Marker(kOrange, 2, 0.45), Line(kBlack, 1, 1.3),
      Line(kVermilion, 2, 2.5), Line(kBlue, 1, 2.5), Line(kGreen, 4, 2.5));
  return picture;
}

// The clouds for one η, and the circles that contain them.
std::string EigenvaluePanel(const EigenvalueClouds& data, double eta) {
  constexpr std::array<std::size_t, 3> kColours = {kOrange, kBlue, kGreen};
  constexpr std::array<int, 3> kMarkers = {7, 2, 4};
  const double corrected = CorrectedNormBound(eta, data.damping);
  const double reach = 1.12 * corrected;
  std::string panel = fmt::format(
      "set title 'η = {}: corrected bound {:.3g}, printed bound {:.5g}'\n"
      "set xrange [{}:{}]\nset yrange [{}:{}]\n"
      "plot {}*cos(t), {}*sin(t) with lines {} title 'radius: the corrected bound', "
      "beta*cos(t), beta*sin(t) with lines {} title 'radius: β'",
      eta, corrected, PrintedNormBound(eta, data.damping), -reach, reach, -reach, reach, corrected,
      corrected, Line(kBlack, 1), Line(kBlack, 2, 1.2));
  std::size_t shown = 0;
  for (std::size_t c = 0; c < data.clouds.size(); ++c) {
    if (data.clouds[c].eta != eta) continue;
    panel += fmt::format(
        ", $cloud{} with points {} title 'eigenvalue, {}'", c,
        Marker(kColours[shown % kColours.size()], kMarkers[shown % kMarkers.size()], 0.4),
        data.clouds[c].model);
    ++shown;
  }
  return fmt::format("{}, $rest with points {} title '−β, all other eigenvalues'\n", panel,
                     Marker(kVermilion, 1, 1.4));
}

Picture EigenvaluePicture(std::uint64_t seed) {
  const EigenvalueClouds data = ComputeEigenvalueClouds(seed);
  Picture picture{{}, "model,eta,backup,real,imaginary\n"};
  for (std::size_t c = 0; c < data.clouds.size(); ++c) {
    const EigenvalueCloud& cloud = data.clouds[c];
    picture.script += DataBlock(fmt::format("cloud{}", c), cloud.values, [](const auto& value) {
      return fmt::format("{} {}", value.eigenvalue.real(), value.eigenvalue.imag());
    });
    for (const EigenvalueCloud::Value& value : cloud.values) {
      picture.csv += fmt::format("{},{},{},{},{}\n", cloud.model, cloud.eta, value.backup,
                                 value.eigenvalue.real(), value.eigenvalue.imag());
    }
  }
  picture.script += fmt::format(
      "{}{}$rest << EOD\n{} 0\nEOD\nbeta = {}\nset parametric\nset trange [0:2*pi]\n"
      "set samples 400\nset size ratio -1\nset border 15\nset zeroaxis linecolor rgb '#909090'\n"
      "set xlabel 'real part'\nset ylabel 'imaginary part'\n",
      kGnuplotStyle,
      BeginPanels("Eigenvalues of the update matrix G̃ with the stable ridge",
                  fmt::format("all windows of the first {} backups of AA({}), β = {}, on a Garnet "
                              "model, a maze and a forest, γ = {}, seed {}",
                              data.most_backups, data.memory, data.damping, kFigureDiscount, seed)),
      -data.damping, data.damping);
  picture.script += PanelAt(0.07, 0.47, 0.24, kTop) + "unset key\n" +
                    EigenvaluePanel(data, data.clouds.front().eta);
  picture.script += PanelAt(0.57, 0.97, 0.24, kTop) +
                    "set key at screen 0.5, 0.12 center top maxrows 2\nunset ylabel\n" +
                    EigenvaluePanel(data, data.clouds.back().eta) + "unset multiplot\n";
  return picture;
}

// ---- An operator with three fixed points ----

// Column 2 of the blocks is the image, 3 the image less v.
std::string OperatorPlot(int column) {
  return fmt::format(
      "plot {} with lines linecolor rgb '#707070' dashtype 3 linewidth 1.5 title 'image = v', "
      "$boltzmann using 1:{} with lines {} title 'Boltzmann', "
      "$mellowmax using 1:{} with lines {} title 'mellowmax', "
      "$attracting using 1:{} with points {} title 'attracting fixed point', "
      "$repelling using 1:{} with points {} title 'repelling fixed point'\n",
      column == 2 ? "x" : "0", column, Line(kVermilion, 1, 2.5), column, Line(kBlue, 2, 2.5),
      column, Marker(kBlack, 7, 0.9), column, Marker(kBlack, 6, 1.2));
}

Picture BoltzmannPicture(std::uint64_t /*seed*/) {
  const OperatorMaps data = ComputeOperatorMaps();
  Picture picture{{.height = 620}, "operator,v,image,fixed_point\n"};
  std::string attracting = "$attracting << EOD\n";
  std::string repelling = "$repelling << EOD\n";
  std::string labels;
  for (const OperatorMap& map : data.maps) {
    picture.script += fmt::format("${} << EOD\n", map.name);
    for (std::size_t i = 0; i < map.values.size(); ++i) {
      picture.script +=
          fmt::format("{} {} {}\n", map.values[i], map.images[i], map.images[i] - map.values[i]);
      picture.csv += fmt::format("{},{},{},0\n", map.name, map.values[i], map.images[i]);
    }
    picture.script += "EOD\n";
    // Above Boltzmann's curve and below mellowmax's, where there is room.
    const std::string_view place =
        map.name == "boltzmann" ? "right offset -0.9, 0.5" : "left offset 0.9, -0.6";
    for (const OperatorMap::FixedPoint& point : map.fixed_points) {
      (point.attracts ? attracting : repelling) +=
          fmt::format("{} {} 0\n", point.value, point.value);
      labels += fmt::format("set label '{:.3f}' at {}, {} {}\n", point.value, point.value,
                            point.value, place);
      picture.csv += fmt::format("{},{},{},1\n", map.name, point.value, point.value);
    }
  }
  picture.script += fmt::format("{}EOD\n{}EOD\n", attracting, repelling);
  picture.script += fmt::format(
      "{}{}set xlabel 'value v of the state'\nset xrange [0:{}]\n", kGnuplotStyle,
      BeginPanels("The Boltzmann backup has three fixed points, the mellowmax backup has one",
                  fmt::format("one state, γ = 0.98, ω = {}; action a pays 0.05 and stays with "
                              "probability 0.2, b pays 0.033 and stays with 0.99",
                              data.omega)),
      data.largest_value);
  picture.script += fmt::format(
      "{}{}set key at screen 0.5, 0.13 center top maxrows 2\nset yrange [0:{}]\n"
      "set ylabel 'image of v'\n{}unset label\nunset key\n",
      PanelAt(0.09, 0.46, 0.25, 0.88), labels, data.largest_value, OperatorPlot(2));
  const std::vector<OperatorMap::FixedPoint>& points = data.maps.front().fixed_points;
  picture.script += fmt::format(
      "{}set yrange [-0.01:0.045]\nset ylabel 'image of v, less v'\n"
      "set object 1 rectangle from 0.13, -0.0015 to 0.31, 0.003 fillstyle empty "
      "border linecolor rgb '#707070' linewidth 1\n"
      "set label '{:.3f}' at {}, 0 left offset 0.7, 0.6\n{}unset object\nunset label\n",
      PanelAt(0.57, 0.97, 0.25, 0.88), points.back().value, points.back().value, OperatorPlot(3));
  // The contents of the frame, enlarged in the free corner.
  picture.script += fmt::format(
      "{}set object 2 rectangle from graph 0, 0 to graph 1, 1 behind fillcolor rgb '#ffffff' "
      "fillstyle solid noborder\n"
      "set xrange [0.13:0.31]\nset yrange [-0.0015:0.003]\nunset xlabel\nunset ylabel\n"
      "set border 15 linecolor rgb '#707070'\nset xtics 0.05\nset ytics 0.001\n"
      "set label '{:.3f}' at {}, 0 right offset -0.7, -0.7\n"
      "set label '{:.3f}' at {}, 0 left offset 0.7, -0.7\n{}unset multiplot\n",
      PanelAt(0.72, 0.96, 0.56, 0.87), points[0].value, points[0].value, points[1].value,
      points[1].value, OperatorPlot(3));
  return picture;
}

// ---- Files ----

constexpr auto kFigures = std::to_array<Figure>({{"residual", ResidualPicture},
                                                 {"gain", GainPicture},
                                                 {"stability", StabilityPicture},
                                                 {"eigenvalues", EigenvaluePicture},
                                                 {"boltzmann", BoltzmannPicture}});

void MakeDirectory(const fs::path& directory) {
  std::error_code failure;
  if (fs::exists(directory, failure) && !fs::is_directory(directory, failure)) {
    throw WorkFailed(
        fmt::format("expected a directory for the figures, found a file: {}", directory.string()));
  }
  fs::create_directories(directory, failure);
  if (failure) {
    throw WorkFailed(fmt::format("cannot make the directory '{}' for the figures: {}",
                                 directory.string(), failure.message()));
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    throw WorkFailed(
        fmt::format("expected a directory for the figures that can be written to, found "
                    "{}",
                    directory.string()));
  }
}

}  // namespace

std::vector<fs::path> DrawTheoryFigures(const fs::path& directory, std::uint64_t seed,
                                        const std::function<void(std::string_view)>& watch) {
  CheckGnuplot();
  MakeDirectory(directory);
  std::vector<fs::path> paths;
  const auto write = [&](std::string_view name, std::string_view extension,
                         std::string_view content) {
    const fs::path path = directory / fmt::format("{}.{}", name, extension);
    WriteTextFile(path, content);
    paths.push_back(path);
  };
  for (const Figure& figure : kFigures) {
    if (watch) watch(figure.name);
    const Picture picture = figure.make(seed);
    write(figure.name, "svg", GnuplotSvg(picture));
    write(figure.name, "png", GnuplotPng(picture));
    write(figure.name, "csv", picture.csv);
  }
  return paths;
}

}  // namespace stableaa
