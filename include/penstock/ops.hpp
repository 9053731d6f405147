// Operators on elements in memory and on arrays in stores.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/array.hpp"
#include "penstock/bytes.hpp"
#include "penstock/copy_changes.hpp"

namespace penstock {

/// An operator, as it is called.
struct OpCall {
  std::string name;              ///< "gaussian_filter": as scipy.ndimage names it
  std::string arguments = "{}";  ///< JSON object as text: {"sigma": [2, 1, 1], "mode": "nearest"}
  bool operator==(const OpCall&) const = default;
};
/// Reads "gaussian_filter sigma=2,1,1 mode=nearest": numbers, true, false, words, and lists of them with commas.
/// Errors: invalid_argument (syntax).
PENSTOCK_API Result<OpCall> parse_op_call(std::string_view text);

/// What there is to know of an operator.
struct OpInfo {
  std::string name;
  std::string summary;    ///< one line
  std::string arguments;  ///< with their defaults: "sigma, order=0, mode=reflect"
};
/// All operators that a chain can hold.
PENSTOCK_API std::vector<OpInfo> operators();

/// Type and shape of a whole array.
struct ArrayInfo {
  DType dtype;
  Shape shape;
};
/// What comes out of operators.  Errors: those of the calls: invalid_argument, unsupported.
PENSTOCK_API Result<ArrayInfo> result_of(std::span<const OpCall> calls, const ArrayInfo& input);

/// Applies operators one after the other to elements in memory, where they are: on the CPU with Options::threads, on a
/// device in the order of the view's stream.
/// `input`: any shape (n0, ...), bool, whole numbers of 1 to 8 bytes, float32 or float64, any strides.
/// Result: shape and data type that the operators say, C order, in new memory (Options::memory) of the same device.
/// Errors: invalid_argument (names, values, shapes), unsupported (type), out_of_memory, budget_too_small, cancelled,
/// device_error.  Memory: at most Options::budget_bytes between input and result.
PENSTOCK_API Result<Tensor> apply_operators(std::span<const OpCall> calls, const TensorView& input,
                                            const Options& options = {});
/// As above, into memory of the same device, of exactly the result's shape and type, any strides.  It may overlap the
/// input.  Errors: also invalid_argument (it does not fit, or is read-only).
PENSTOCK_API Status apply_operators(std::span<const OpCall> calls, const TensorView& input, const TensorView& output,
                                    const Options& options = {});

/// How values between elements are made.
struct Sampling {
  int order = 1;                  ///< of the spline through the elements: 0 the nearest, 1 linear, 3 cubic; 0 to 5
  std::string mode = "constant";  ///< beyond the ends, as scipy.ndimage names it
  double constant = 0;
  bool prefilter = true;      ///< orders from 2: false: the elements are spline coefficients already
  bool displacement = false;  ///< the coordinates are distances from each output's own indices
  bool in_double = false;     ///< float32 and narrower elements are weighted in float64
};
/// The values at coordinates.
/// `input`: shape (n0, ..., n(r-1)), 1 <= r <= 8, types as `apply_operators`.  `coordinates`: float64, shape (r, m0,
/// ...), in elements; NaN and infinite ones give the constant.  `output`: shape (m0, ...), the input's type;
/// displacement: r dimensions.  Any strides, one device, in the order of the input's stream. Errors: invalid_argument
/// (shapes, types, order), unsupported (type), out_of_memory, device_error, cancelled.
PENSTOCK_API Status map_coordinates(const TensorView& input, const TensorView& coordinates, const TensorView& output,
                                    const Sampling& how, const Options& options = {});

/// How a block of `factor` elements along each axis becomes one (the operator `downsample`, levels of a pyramid):
/// `mean` averages them, `nearest` takes the first, `gaussian` weights them and as many around with a Gaussian of a
/// third of the factor, `mode` takes the one that is there most often (labels).  What is left over at an end is a
/// smaller block.
enum class Downsample : std::uint8_t { mean, nearest, gaussian, mode };

/// An array that is made of a stored one by operators, whenever a part of it is asked for.  Nothing is read before.
class PENSTOCK_API LazyArray {
 public:
  /// Errors: invalid_argument, unsupported: those of the calls.
  static Result<LazyArray> make(const Array& from, std::span<const OpCall> calls);

  [[nodiscard]] const DType& dtype() const;
  [[nodiscard]] const Shape& shape() const;
  /// What `write` would store, unless it is changed: chunks, shards and codecs of the source.  Errors: unsupported.
  [[nodiscard]] Result<Dataset> dataset(const CopyChanges& changes = {}) const;

  /// Makes a region (steps are 1) on the stream's device, in C order, complete on return.
  /// Errors: out_of_range, those of reading and of `apply_operators`.  Memory: the result and at most
  /// Options::budget_bytes.
  [[nodiscard]] Result<Tensor> read(const Region& region, const Options& options = {}, const Stream& stream = {},
                                    Report* report = nullptr) const;
  /// Makes all of it, tile by tile, on `device`, and writes it to `to`, which has its shape and type.  Reading, work
  /// and writing overlap.  Errors: invalid_argument (shape or type of `to`), budget_too_small (how much one object of
  /// the output needs), those of reading and writing.  Memory: at most Options::budget_bytes.
  Result<Report> write(Array& to, Device device, const Options& options) const;
  /// As above, into a new array at `path` of a store; its metadata come last, so that a write that is stopped leaves
  /// none.  Errors: also already_exists, invalid_argument (it is the source).
  Result<Report> write(const std::shared_ptr<Store>& to_store, std::string_view path, const CopyChanges& changes,
                       Array::IfExists if_exists, Device device, const Options& options) const;
  /// What `write` would do: operators, tiles, halos, bytes read twice, memory.  Reads no chunks.
  [[nodiscard]] Result<std::string> explain(const Dataset& to, Device device, const Options& options) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Which statistics are wanted.
struct StatisticsRequest {
  std::vector<double> percentiles;                 ///< 0 to 100, at most 31; between two as NumPy's `linear`
  std::uint32_t bins = 0;                          ///< of a histogram; 0: none
  std::optional<std::pair<double, double>> range;  ///< of the histogram; default: from the least to the largest
  bool otsu = false;                               ///< Otsu's threshold
  /// Least, largest, mean, deviation and the number of NaNs.  Where nobody wants them they are not found, unless a
  /// histogram or a threshold needs them: that spares a pass.
  bool summary = true;
};
/// What they are.  NaNs are counted, and left out of all but the percentiles, which one of them makes NaN.
struct Statistics {
  std::uint64_t elements = 0, nans = 0;
  double min = 0, max = 0, mean = 0;
  double deviation = 0;  ///< root of the mean square distance from the mean
  std::vector<double> percentiles;
  std::vector<std::uint64_t> histogram;
  double histogram_low = 0, histogram_high = 0;
  /// Of whole numbers of 1 or 2 bytes each value is a bin, of others 256 between least and largest; elements above it
  /// are the bright class.
  std::optional<double> otsu;
};
/// Statistics of elements in memory, exact, without a sort; any strides, types as `apply_operators`.
/// Errors: invalid_argument (no elements, values), unsupported (type), device_error, cancelled.
PENSTOCK_API Result<Statistics> statistics(const TensorView& elements, const StatisticsRequest& request,
                                           const Options& options = {});
/// Statistics of an array in a store, tile by tile on `device`: one pass over it for elements of up to 16 bits, two for
/// 32, four for 64.  Errors: those of reading, too.  Memory: at most Options::budget_bytes.
PENSTOCK_API Result<Statistics> statistics(const Array& array, const StatisticsRequest& request, Device device,
                                           const Options& options, Report* report = nullptr);

/// How images are compared.
struct PhaseCorrelationOptions {
  int upsample = 1;    ///< the shift is found to 1 / upsample of an element
  bool whiten = true;  ///< only phases count; false: amplitudes too
};
/// By how much `moving` must be shifted to lie on `reference`.
struct PhaseCorrelation {
  std::vector<double> shift;  ///< elements, one for each axis
  double error = 0;           ///< root of 1 - the square of the normalised correlation there
  double phase = 0;           ///< radians, of the correlation there
};
/// Compares two images by the Fourier transform of their correlation, as scikit-image's phase_cross_correlation.
/// `reference`, `moving`: the same shape (n0, ...), any strides, one device, types as `apply_operators`; computed in
/// float32 where both are held by it.  In the order of the reference's stream; complete on return.  Lengths with large
/// prime factors are slow.  Errors: invalid_argument (shapes, devices, upsample), unsupported (type),
/// budget_too_small (how much is needed), out_of_memory, device_error, cancelled.
PENSTOCK_API Result<PhaseCorrelation> phase_correlation(const TensorView& reference, const TensorView& moving,
                                                        const PhaseCorrelationOptions& how = {},
                                                        const Options& options = {});

/// Sums and extremes of an array in a store along axes, tile by tile on `device`.
/// `what`: sum, mean, minimum, maximum, variance or standard_deviation.  `from`: shape (d0, ..., d(n-1)), types as
/// `apply_operators`.  `axes`: those that go away; empty: all.
/// Result: C order, host memory.  Sums of whole numbers are of 64 bits and wrap, means and variances (over the number
/// of elements) float64, of float32 elements float32; extremes keep the type, and a NaN makes them NaN, as in NumPy.
/// Variances read the array twice.  Errors: invalid_argument (names, axes, nothing to reduce), unsupported (type),
/// no_device, budget_too_small, those of reading.  Memory: the result and at most Options::budget_bytes.
PENSTOCK_API Result<Tensor> reduce_array(const Array& from, std::string_view what, std::span<const std::size_t> axes,
                                         Device device, const Options& options, Report* report = nullptr);

}  // namespace penstock
