// Network weights in safetensors files, the format that PyTorch and its tools read and write.
//
//   WriteWeights("run/model.safetensors", parameters, {{"stableaa.steps", "50000"}});
//   const WeightsFile file = ReadWeights("run/model.safetensors");
//   ReadWeightsInto("from_pytorch.safetensors", parameters);
//
// On disk:
//
//   offset  bytes
//        0      8  length n of the header, u64, little-endian
//        8      n  header: a JSON object, {"layers.0.weight": {"dtype": "F32",
//                  "shape": [512, 3136], "data_offsets": [begin, end]}, ...}, offsets into the data
//    8 + n         data: the tensors, one after the other, row-major, little-endian
//
// The header's "__metadata__" maps names to texts. Ours are "format", always "pt" (which PyTorch's
// loaders ask for), "stableaa.spec", the network as written by ToText, and "stableaa.version", the
// library's version. Tensors have the names, shapes and order of ParameterTensors and are F32. Data
// begin at a multiple of 8. Equal parameters and metadata give equal bytes.
//
// Files are not trusted. A file that breaks the format, holds other tensors than the network, types
// other than F32 or a number that is not finite causes a BadInput with the file's name, what was
// expected and what was found. Nothing changes until everything has been checked, and memory is
// reserved only in proportion to the file, whatever it claims.
#ifndef STABLEAA_NN_SAFETENSORS_H_
#define STABLEAA_NN_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stableaa/nn/parameters.h"

namespace stableaa {

using WeightsMetadata = std::map<std::string, std::string>;

struct WeightsFile {
  Parameters parameters;
  WeightsMetadata metadata;
};

// Writes atomically, using AtomicFile. `extra` goes into the metadata; it must be UTF-8 without NUL
// and must not use the three names above (BadInput). Throws WorkFailed, naming the tensor, if a
// parameter is not finite: no reader would accept the file.
void WriteWeights(const std::filesystem::path& path, const Parameters& parameters,
                  const WeightsMetadata& extra = {});

// Reads the network that the file itself describes. Throws BadInput if it describes none, as with
// files from other programs.
WeightsFile ReadWeights(const std::filesystem::path& path);

// For a known network. The file need not describe a network, but if it does, it must be this one.
// Returns the metadata. Changes nothing if it throws.
WeightsMetadata ReadWeightsInto(const std::filesystem::path& path, Parameters& parameters);

// The format alone: any tensors, in memory. foreign_weights.h matches them with a network whose names
// differ.

struct SafetensorsTensor {
  std::string dtype;  // "F32"
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  // exactly the bytes that dtype and shape require
};

struct Safetensors {
  std::string name;  // the file's, for messages
  std::map<std::string, SafetensorsTensor> tensors;
  WeightsMetadata metadata;
};

// The result borrows `bytes`. As the format requires, the tensors must tile the data without gaps
// or overlaps. Types smaller than a byte are not supported. Duplicate names are a BadInput too.
Safetensors ParseSafetensors(std::span<const std::byte> bytes, const std::string& name);

// A file, read and parsed.
class SafetensorsFile {
 public:
  // Throws BadInput as ParseSafetensors does, and for anything but a regular file.
  explicit SafetensorsFile(const std::filesystem::path& path);
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const Safetensors& content() const { return content_; }

 private:
  const std::string bytes_;
  Safetensors content_;  // borrows bytes_
};

// Whether the metadata say which network it is of. Files of other programs do not.
bool DescribesNetwork(const Safetensors& file);

WeightsFile ReadWeights(const Safetensors& file);
void ReadWeightsInto(const Safetensors& file, Parameters& parameters);

}  // namespace stableaa

#endif  // STABLEAA_NN_SAFETENSORS_H_
