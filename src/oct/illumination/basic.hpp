// The flat fields of many planes at once, by BaSiC.
//
// T. Peng et al., A BaSiC tool for background and shading correction of optical microscopy images, Nature
// Communications 8 (2017) 14836.  The images of a plane are explained as a smooth field times a number for each image,
// and a remainder that is sparse; an inexact augmented Lagrangian finds them (Z. Lin, M. Chen, Y. Ma,
// arXiv:1009.5055), with the field sparse among cosines.  Then what stood out is given less weight, and so on until the
// field stays the same.  No dark field: tiles padded with zeros would give it all the light.
#pragma once
#include <vector>

#include "ops/operator.hpp"

namespace penstock::oct {

struct BasicOptions {
  double smoothness = 0;  ///< price of a cosine; 0: from the mean image, the sum of its cosines over 800
  std::uint32_t max_iterations = 500;
  double tolerance = 1e-3;  ///< what nothing explains, of all, root of sums of squares
  std::uint32_t max_rounds = 10;
  double round_tolerance = 1e-2;  ///< relative change of the field that ends the rounds
};
struct BasicFit {
  std::vector<float> fields;              ///< (planes, rows, columns), each of mean 1
  std::vector<std::uint32_t> iterations;  ///< of each plane, over all rounds
  std::uint64_t unfinished = 0;           ///< planes whose last round ended at max_iterations
  std::uint64_t dark = 0;                 ///< planes of nothing; their field is 1
};

/// Working memory beside the images.
std::uint64_t basic_bytes(std::uint64_t planes, std::uint64_t tiles, std::uint64_t pixels);

/// `images`: (planes, tiles, rows, columns), float32, finite, C order, on the stream's device.
/// Errors: invalid_argument (options, no images), out_of_memory, cancelled, device_error.
Result<BasicFit> fit_basic(const TensorView& images, const BasicOptions& how, const Workspace& work);

}  // namespace penstock::oct
