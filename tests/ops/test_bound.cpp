// Operators that are prepared once: the same as those that are prepared for a call, and only for what they are bound
// to.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "penstock/bound_operators.hpp"

using namespace penstock;

namespace {

const OpCall kCalls[] = {{"gaussian_filter", R"({"sigma":1.5})"}, {"resize", R"({"scale":0.5})"}};

TensorView view_of(std::vector<float>& values, const Shape& shape) {
  return TensorView::packed(values.data(), DType::float32(), shape, {}).value();
}

}  // namespace

TEST(BoundOperators, MakeTheSameEveryTime) {
  const Shape shape = {9, 14};
  std::vector<float> in(9 * 14);
  std::iota(in.begin(), in.end(), 1.0f);
  const BoundOperators bound = BoundOperators::make(kCalls, {DType::float32(), shape}).value();
  const Tensor want = apply_operators(kCalls, view_of(in, shape), Options()).value();
  ASSERT_EQ(bound.result().shape, want.view().shape);
  ASSERT_EQ(bound.result().dtype, want.view().dtype);
  const std::size_t count = want.view().elements().value();
  const auto* const wanted = static_cast<const float*>(want.view().data);
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<float> out(count, -1.0f);
    ASSERT_TRUE(bound.apply(view_of(in, shape), view_of(out, bound.result().shape)));
    EXPECT_EQ(out, std::vector<float>(wanted, wanted + count));
  }
}

TEST(BoundOperators, RefuseWhatTheyAreNotBoundTo) {
  const BoundOperators bound = BoundOperators::make(kCalls, {DType::float32(), {9, 14}}).value();
  std::vector<float> in(9 * 14), out(200);
  const auto code = [&](const TensorView& from, const Shape& to) {
    return bound.apply(from, view_of(out, to)).error().code();
  };
  EXPECT_EQ(code(view_of(in, {14, 9}), bound.result().shape), ErrorCode::invalid_argument);
  EXPECT_EQ(code(TensorView::packed(in.data(), DType::int32(), {9, 14}, {}).value(), bound.result().shape),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code(view_of(in, {9, 14}), {9, 14}), ErrorCode::invalid_argument);
  // Memory and stream of two devices: said before anything is touched.
  TensorView elsewhere = view_of(in, {9, 14});
  elsewhere.device = {Device::Type::cuda, 1};
  const Error error = bound.apply(elsewhere, view_of(out, bound.result().shape)).error();
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_NE(error.message().find("memory of cuda:1 with a stream of cpu"), std::string::npos) << error.message();
  const OpCall unknown{"gausian_filter", "{}"};
  EXPECT_EQ(BoundOperators::make({&unknown, 1}, {DType::float32(), {9, 14}}).error().code(),
            ErrorCode::invalid_argument);
}
