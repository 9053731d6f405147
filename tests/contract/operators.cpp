#include "contract/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "contract/guarded.hpp"
#include "ops/dispatch.hpp"
#include "penstock/device.hpp"

namespace penstock::contract {
namespace {

const Shape kShape = {5, 7, 6};

/// Arguments that do something, by operator; several calls of one are a line each.
std::multimap<std::string, std::string> arguments() {
  return {
      {"correlate1d", R"({"weights":[1,2,-1],"axis":1,"mode":"mirror"})"},
      {"gaussian_filter", R"({"sigma":[1.2,0,0.7]})"},
      {"gaussian_filter", R"({"sigma":1,"order":1,"mode":"grid-wrap"})"},
      {"gaussian_filter1d", R"({"sigma":0.8})"},
      {"prewitt", R"({"axis":0,"mode":"wrap"})"},
      {"sobel", R"({"axis":1,"mode":["mirror","nearest","reflect"]})"},
      {"uniform_filter", R"({"size":3,"mode":"constant","cval":2})"},
      {"uniform_filter1d", R"({"size":4})"},
      {"minimum_filter", R"({"size":[1,3,2]})"},
      {"minimum_filter1d", R"({"size":3,"mode":"wrap"})"},
      {"maximum_filter", R"({"size":[2,2],"footprint":[1,0,1,1],"axes":[0,2]})"},
      {"maximum_filter", R"({"size":3,"mode":"mirror"})"},
      {"maximum_filter", R"({"size":[5,3,4],"mode":"constant","cval":50})"},
      {"maximum_filter1d", R"({"size":3,"mode":"nearest"})"},
      {"median_filter", R"({"size":3})"},
      {"percentile_filter", R"({"percentile":30,"size":[2,3,1]})"},
      {"rank_filter", R"({"rank":-2,"size":3,"mode":"constant"})"},
      {"spline_filter", R"({"order":3})"},
      {"spline_filter1d", R"({"order":5,"axis":0,"mode":"reflect"})"},
      {"affine_transform", R"({"matrix":[0.9,0.1,0,-0.1,0.9,0,0,0.2,1],"offset":0.3,"order":1})"},
      {"affine_transform", R"({"matrix":[0.9,0.8,1.1],"mode":"nearest"})"},
      {"shift", R"({"shift":[0.5,-1.2,1],"mode":"grid-wrap"})"},
      {"shift", R"({"shift":[0.5,-1.2,1],"order":0})"},
      {"shift", R"({"shift":[0.5,-1.2,1],"order":1,"mode":"mirror"})"},
      {"zoom", R"({"zoom":[1.5,0.8,1],"order":2,"mode":"reflect"})"},
      {"resize", R"({"scale":0.5})"},
      {"resize", R"({"output_shape":[7,3,6],"align":"corners"})"},
      {"downsample", R"({"factor":[2,3,1]})"},
      {"downsample", R"({"method":"gaussian"})"},
      {"downsample", R"({"factor":3,"method":"mode","axes":[0,2]})"},
      {"downsample", R"({"factor":7,"method":"nearest"})"},
      {"cast", R"({"output":"int16"})"},
      {"add", R"({"value":2.5})"},
      {"subtract", R"({"value":2})"},
      {"multiply", R"({"value":-1.5})"},
      {"divide", R"({"value":3})"},
      {"clip", R"({"min":1,"max":60})"},
      {"scale", R"({"low":0,"high":100})"},
      {"log", R"({"output":"float64"})"},
      {"exp", "{}"},
      {"sqrt", "{}"},
      {"absolute", "{}"},
      {"dct", R"({"norm":"ortho"})"},
      {"dct", R"({"type":3,"axes":[0]})"},
      {"sum", R"({"axes":[1]})"},
      {"sum", "{}"},
      {"mean", R"({"axes":[0,2]})"},
      {"mean", R"({"axes":[1,2]})"},
      {"minimum", R"({"axes":2})"},
      {"maximum", R"({"axes":0})"},
      {"variance", R"({"axes":[0,1]})"},
      {"standard_deviation", R"({"axes":1})"},
  };
}

std::vector<std::byte> values_of(const DType& dtype) {
  std::uint64_t count = 1;
  for (const std::uint64_t n : kShape) count *= n;
  std::vector<std::byte> bytes(count * dtype.size_bytes);
  with_type(dtype, [&]<class T>(TypeTag<T>) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const T v = static_cast<T>(i * 7919 % 61);
      std::memcpy(bytes.data() + i * sizeof(T), &v, sizeof(T));
    }
  });
  return bytes;
}

Result<std::vector<double>> numbers_of(const Tensor& tensor) {
  PENSTOCK_ASSIGN(const Tensor here, tensor.to(Stream()));
  PENSTOCK_ASSIGN(const Tensor packed, here.contiguous());
  PENSTOCK_ASSIGN(const std::uint64_t count, packed.view().elements());
  std::vector<double> numbers(count);
  with_type(packed.view().dtype, [&]<class T>(TypeTag<T>) {
    for (std::uint64_t i = 0; i < count; ++i)
      numbers[i] = static_cast<double>(static_cast<const T*>(packed.view().data)[i]);
  });
  return numbers;
}

/// The first difference in words; empty: none.
std::string difference(const std::vector<double>& made, const std::vector<double>& wanted, double slack) {
  if (made.size() != wanted.size()) return fmt::format("{} elements, not {}", made.size(), wanted.size());
  double largest = 1;
  for (const double v : wanted) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const bool same = made[i] == wanted[i] || (std::isnan(made[i]) && std::isnan(wanted[i]));
    if (!same && !(std::abs(made[i] - wanted[i]) <= slack * largest))
      return fmt::format("element {} is {}, not {}", i, made[i], wanted[i]);
  }
  return "";
}

/// The elements in memory that is twice as large in two dimensions, the last dimension backwards.
Result<Tensor> scattered(const DType& dtype, const Shape& shape) {
  Shape large = shape;
  if (large.empty()) return Tensor::empty(dtype, shape);
  large.front() *= 2;
  if (shape.size() > 1) large.back() *= 2;
  PENSTOCK_ASSIGN(const Tensor memory, Tensor::empty(dtype, large));
  std::vector<Index> part(large.size(), Slice{});
  part.back() = Slice{{}, {}, -2};
  part.front() = Slice{{}, {}, 2};
  return memory.slice(part);
}

/// The calls of one check, and what they must give.
struct Trial {
  std::vector<OpCall> calls;
  DType dtype;
  std::vector<std::byte> values;
  TensorView input;
  ArrayInfo info;
  std::vector<double> wanted;
  bool whole_numbers = false;

  [[nodiscard]] Status same(std::string_view what, const Tensor& made, double slack) const {
    PENSTOCK_ASSIGN(const std::vector<double> numbers, numbers_of(made));
    const std::string text = difference(numbers, wanted, slack);
    if (text.empty()) return {};
    return Error(ErrorCode::internal, fmt::format("{}: {}", what, text));
  }

  [[nodiscard]] Status between_sentinels() const {
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(info.shape));
    Guarded out(count * info.dtype.size_bytes, std::byte{0x5a});
    PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(out.span().data(), info.dtype, info.shape, {}));
    PENSTOCK_TRY(apply_operators(calls, input, view, Options()));
    if (!out.intact()) return Error(ErrorCode::internal, "wrote beside its output");
    return same("into memory", Tensor::share(nullptr, view), 0);
  }
  [[nodiscard]] Status on_views() const {
    PENSTOCK_ASSIGN(const Tensor in, scattered(dtype, kShape));
    PENSTOCK_TRY(copy_elements(input, in.view()));
    PENSTOCK_ASSIGN(const Tensor out, scattered(info.dtype, info.shape));
    PENSTOCK_TRY(apply_operators(calls, in.view(), out.view(), Options()));
    return same("on views", out, 0);
  }
  [[nodiscard]] Status in_little_memory() const {
    Options options;
    options.budget_bytes = 6000;
    const auto made = apply_operators(calls, input, options);
    if (!made) return made.error().code() == ErrorCode::budget_too_small ? Status() : Status(made.error());
    return same("in little memory", *made, 1e-6);
  }
  [[nodiscard]] Status on_a_stored_array() const {
    PENSTOCK_ASSIGN(auto store, open_store("memory://", StoreMode::create));
    Dataset d;
    d.shape = kShape;
    d.chunk_shape = {2, 4, 3};
    d.dtype = dtype;
    d.codecs = {{"bytes", R"({"endian":"little"})"}};
    d.fill.assign(dtype.size_bytes, std::byte{0});
    PENSTOCK_ASSIGN(Array array, Array::create(store, "a", d, Array::IfExists::fail));
    PENSTOCK_TRY(array.write(whole(kShape), input, {}));
    PENSTOCK_ASSIGN(const LazyArray lazy, LazyArray::make(array, calls));
    PENSTOCK_ASSIGN(const Tensor made, lazy.read(whole(lazy.shape())));
    PENSTOCK_TRY(same("of a stored array", made, 1e-6));
    PENSTOCK_TRY(lazy.write(store, "b", {}, Array::IfExists::fail, {}, {}));
    PENSTOCK_ASSIGN(const Array written, Array::open(store, "b"));
    PENSTOCK_ASSIGN(const Tensor back, written.read(whole(lazy.shape())));
    return same("written", back, 1e-6);
  }
  [[nodiscard]] Status on_a_device() const {
    const auto device = Device::parse("cuda");
    if (!device) return {};
    PENSTOCK_ASSIGN(const Stream stream, Stream::create(*device));
    PENSTOCK_ASSIGN(const Tensor there, Tensor::share(nullptr, input).to(stream));
    PENSTOCK_ASSIGN(const Tensor made, apply_operators(calls, there.view(), Options()));
    return same("on a device", made, whole_numbers ? 3.0 / 61 : 2e-5);
  }
};

}  // namespace

std::vector<OperatorCase> operator_cases() {
  const auto calls = arguments();
  std::vector<OperatorCase> cases;
  for (const OpInfo& op : operators()) {
    const auto [first, last] = calls.equal_range(op.name);
    if (first == last) cases.push_back({{op.name, "{}"}, true});
    for (auto it = first; it != last; ++it) cases.push_back({{op.name, it->second}, false});
  }
  return cases;
}

std::vector<DType> operator_dtypes() {
  return {DType::boolean(), DType::uint8(),  DType::int8(),  DType::uint16(),  DType::int16(),   DType::uint32(),
          DType::int32(),   DType::uint64(), DType::int64(), DType::float32(), DType::float64(), DType::complex64()};
}

bool is_lazy(const OperatorCase& c) {
  Dataset d;
  d.shape = d.chunk_shape = kShape;
  d.dtype = DType::float32();
  d.codecs = {{"bytes", R"({"endian":"little"})"}};
  d.fill.assign(4, std::byte{0});
  auto store = open_store("memory://", StoreMode::create);
  if (!store) return false;
  const auto array = Array::create(*store, "", d, Array::IfExists::fail);
  return array && LazyArray::make(*array, std::span(&c.call, 1));
}

Check check_operator(const OperatorCase& c, const DType& dtype) {
  if (c.is_missing) return {Outcome::failed, "no case in the harness"};
  Trial trial;
  trial.calls = {c.call};
  trial.dtype = dtype;
  const auto info = result_of(trial.calls, {dtype, kShape});
  if (!info)
    return {info.error().code() == ErrorCode::unsupported ? Outcome::not_supported : Outcome::failed,
            info.error().message()};
  trial.info = *info;
  trial.whole_numbers = info->dtype.kind != Kind::floating;
  trial.values = values_of(dtype);
  trial.input = TensorView::packed(trial.values.data(), dtype, kShape, {}).value();
  const auto made = apply_operators(trial.calls, trial.input, Options());
  if (!made) return {Outcome::failed, made.error().message()};
  if (made->view().shape != info->shape || made->view().dtype != info->dtype)
    return {Outcome::failed, "type or shape are not what was said"};
  trial.wanted = numbers_of(*made).value();
  for (const auto check : {&Trial::between_sentinels, &Trial::on_views, &Trial::in_little_memory,
                           &Trial::on_a_stored_array, &Trial::on_a_device})
    if (const Status status = (trial.*check)(); !status) return {Outcome::failed, status.error().message()};
  if (trial.values != values_of(dtype)) return {Outcome::failed, "the input has changed"};
  return {Outcome::passed, ""};
}

}  // namespace penstock::contract
