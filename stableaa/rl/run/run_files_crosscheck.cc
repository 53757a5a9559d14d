// run_files_crosscheck DIR: writes the files of a run that other programs read, with content that
// run_files_crosscheck.py knows:
//   events.out.tfevents.1   scalars of steps 10, 20, ..., 3000; cut back once on the way
//   arrays.npz              arrays of all types and several shapes
//   nature.safetensors, mlp.safetensors, and the same tensors in .npz
//
// run_files_crosscheck DIR FILE.safetensors: reads a file that the script wrote, with names of its
// own, into the network of mlp.safetensors and writes what it has read to DIR/foreign.npz.

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "stableaa/base/files/npz.h"
#include "stableaa/nn/foreign_weights.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/nn/spec.h"
#include "stableaa/rl/run/tensorboard_log.h"

namespace stableaa {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void AddSteps(TensorboardLog& log, int part, std::int64_t first, std::int64_t last) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array<double, 8> kOdd = {kInfinity, -kInfinity, kNaN, 0, -0.0, 1e300, 1e-50, 0.1};
  for (std::int64_t i = first; i <= last; ++i) {
    const auto x = static_cast<double>(i);
    log.Add(10 * i, 1.7e9 + 0.5 * x,
            std::vector<Scalar>{{"train/loss", 1 / x},
                                {"eval/return_mean", 1000 * part + x},
                                {"odd", kOdd[static_cast<std::size_t>(i) % kOdd.size()]}});
  }
  log.Sync();
}

void WriteEvents(const std::filesystem::path& path) {
  LogRows checkpoint;
  {
    TensorboardLog log(path);
    AddSteps(log, 1, 1, 150);
    checkpoint = log.records();
    AddSteps(log, 1, 151, 200);
  }
  TensorboardLog log(path, checkpoint);
  AddSteps(log, 2, 151, 300);
}

template <typename T>
std::vector<T> Range(std::size_t size, T first) {
  std::vector<T> values(size);
  std::iota(values.begin(), values.end(), first);
  return values;
}

void WriteArrays(const std::filesystem::path& path) {
  NpzWriter out(path);
  out.Add("bytes", {256}, Range<std::uint8_t>(256, 0));
  out.Add("floats", {2, 3, 4}, Range<float>(24, -11.5f));
  out.Add("doubles", {5, 7}, Range<double>(35, 0.1));
  out.Add("ints", {9}, Range<std::int32_t>(9, -4));
  out.Add("longs", {3, 1}, Range<std::int64_t>(3, std::int64_t{1} << 60));
  out.Add("scalar", {}, std::vector<double>{kNaN});
  out.Add("empty", {0}, std::vector<float>());
  out.Add("empty rows", {4, 0, 2}, std::vector<std::int64_t>());
  out.Add("names/\u03b3", {1}, std::vector<float>{0.99f});
  constexpr std::size_t kRows = 1000;
  out.AddStream("stream", {kRows, 84}, "|u1", [](const NpzWriter::Sink& sink) {
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::vector<std::uint8_t> pixels(84, static_cast<std::uint8_t>(row % 256));
      sink(std::as_bytes(std::span(pixels)));
    }
  });
  out.Finish();
}

// Element k of tensor t is ((1000003 t + 7919 k) mod 65521) / 65536 − 1/2, without any rounding.
void WriteNetwork(const std::filesystem::path& directory, const std::string& name,
                  const NetworkSpec& spec) {
  Parameters parameters(std::make_shared<const Plan>(MakePlan(spec)));
  NpzWriter out(directory / (name + ".npz"));
  std::uint64_t t = 0;
  for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    std::vector<float> values(tensor.size());
    for (std::uint64_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>((1000003 * t + 7919 * k) % 65521) / 65536 - 0.5f;
    }
    parameters.Set(tensor, values);
    parameters.Get(tensor, values);
    out.Add(tensor.name, {tensor.shape.begin(), tensor.shape.end()}, values);
    ++t;
  }
  out.Finish();
  WriteWeights(directory / (name + ".safetensors"), parameters, {{"stableaa.steps", "50000"}});
}

NetworkSpec SmallNetwork() { return MlpSpec({.inputs = 4, .hidden = {64, 33}, .actions = 3}); }

void ReadForeign(const std::filesystem::path& directory, const std::filesystem::path& file) {
  Parameters parameters(std::make_shared<const Plan>(MakePlan(SmallNetwork())));
  ReadMatchingWeightsInto(SafetensorsFile(file).content(), parameters);
  NpzWriter out(directory / "foreign.npz");
  for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    std::vector<float> values(tensor.size());
    parameters.Get(tensor, values);
    out.Add(tensor.name, {tensor.shape.begin(), tensor.shape.end()}, values);
  }
  out.Finish();
}

}  // namespace
}  // namespace stableaa

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s DIR [FILE.safetensors]\n", argv[0]);
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  if (argc == 3) {
    stableaa::ReadForeign(directory, argv[2]);
    return 0;
  }
  stableaa::WriteEvents(directory / "events.out.tfevents.1");
  stableaa::WriteArrays(directory / "arrays.npz");
  stableaa::WriteNetwork(directory, "nature",
                         stableaa::NatureSpec({.actions = 6, .dueling = true}));
  stableaa::WriteNetwork(directory, "mlp", stableaa::SmallNetwork());
}
