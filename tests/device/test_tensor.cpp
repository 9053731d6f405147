// Views by slices, ownership, and copies, with the CPU as the device.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "counting_memory.hpp"
#include "penstock/tensor.hpp"

using namespace penstock;

namespace {

/// 0, 1, 2, ... as int32 in C order.
Tensor numbers(const Shape& shape) {
  Tensor tensor = Tensor::empty(DType::int32(), shape).value();
  auto* at = static_cast<std::int32_t*>(tensor.view().data);
  std::iota(at, at + tensor.view().elements().value(), 0);
  return tensor;
}

/// The elements of a view, one after the other.
std::vector<std::int32_t> values(const TensorView& view) {
  const std::uint64_t count = view.elements().value();
  std::vector<std::int32_t> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* at = static_cast<const std::byte*>(view.data);
    std::uint64_t rest = i;
    for (std::size_t d = view.shape.size(); d-- > 0; rest /= view.shape[d])
      at += static_cast<std::int64_t>(rest % view.shape[d]) * view.strides_bytes[d];
    out.push_back(0);
    std::memcpy(&out.back(), at, sizeof(std::int32_t));
  }
  return out;
}

using Numbers = std::vector<std::int32_t>;

}  // namespace

TEST(TensorView, SlicesAsNumPyDoes) {
  const Tensor t = numbers({3, 4, 5});
  const auto row = t.slice({1, -1}).value();
  EXPECT_EQ(row.view().shape, Shape{5});
  EXPECT_EQ(values(row.view()), (Numbers{35, 36, 37, 38, 39}));
  const auto stepped = t.slice({Slice{0, {}, 2}, 0, Slice{{}, {}, -2}}).value();
  EXPECT_EQ(stepped.view().shape, (Shape{2, 3}));
  EXPECT_EQ(stepped.view().strides_bytes, (Strides{160, -8}));
  EXPECT_EQ(values(stepped.view()), (Numbers{4, 2, 0, 44, 42, 40}));
  const auto twice = stepped.slice({1, Slice{1, 100}}).value();
  EXPECT_EQ(values(twice.view()), (Numbers{42, 40}));
  const auto scalar = t.slice({2, 3, 4}).value();
  EXPECT_TRUE(scalar.view().shape.empty());
  EXPECT_EQ(values(scalar.view()), Numbers{59});
  const auto nothing = t.slice({Slice{2, 1}}).value();
  EXPECT_EQ(nothing.view().shape, (Shape{0, 4, 5}));
  EXPECT_TRUE(nothing.view().check());
  EXPECT_EQ(t.slice({3}).error().message(), "index 3 is outside dimension 0 of extent 3");
  EXPECT_EQ(t.slice({0, 0, 0, 0}).error().message(), "4 indices for 3 dimensions");
  EXPECT_EQ(t.slice({Slice{{}, {}, 0}}).error().code(), ErrorCode::invalid_argument);
}

TEST(TensorView, KnowsWhetherItsElementsFollowEachOther) {
  const Tensor t = numbers({3, 4, 5});
  EXPECT_TRUE(t.view().is_contiguous());
  EXPECT_TRUE(t.slice({1})->view().is_contiguous());
  EXPECT_TRUE(t.slice({Slice{1, 2}, Slice{2, 4}})->view().is_contiguous()) << "one row, two columns";
  EXPECT_FALSE(t.slice({Slice(), Slice{2, 4}})->view().is_contiguous());
  EXPECT_FALSE(t.slice({Slice{{}, {}, -1}})->view().is_contiguous());
  EXPECT_TRUE(t.slice({Slice{0, 0}, Slice{{}, {}, 2}})->view().is_contiguous()) << "no elements";
}

TEST(TensorView, RefusesWhatCannotBe) {
  TensorView view = numbers({2, 3}).view();
  view.strides_bytes.pop_back();
  EXPECT_EQ(view.check().error().message(), "1 strides for 2 dimensions");
  view = TensorView::packed(nullptr, DType::int32(), {2}).value();
  EXPECT_EQ(view.check().error().message(), "there are elements, but no memory");
  view.data = &view;
  view.strides_bytes = {std::numeric_limits<std::int64_t>::min()};
  EXPECT_EQ(view.check().error().code(), ErrorCode::out_of_range);
  view.strides_bytes = {4};
  view.device = {Device::Type::cuda, 0};
  EXPECT_EQ(view.check().error().message(), "memory of cuda:0 with a stream of cpu");
  EXPECT_EQ(TensorView::packed(nullptr, DType::int32(), {1u << 31, 1u << 31, 16}).error().code(),
            ErrorCode::out_of_range);
}

TEST(Tensor, IsFreedWithItsLastSlice) {
  const auto memory = std::make_shared<test::CountingMemory>();
  Tensor t = Tensor::empty(DType::uint8(), {1000}, {}, memory).value();
  EXPECT_EQ(memory->in_use_bytes(), 1000u);
  Tensor part = t.slice({Slice{10, 20}}).value();
  t = Tensor();
  EXPECT_EQ(memory->in_use_bytes(), 1000u);
  part = Tensor();
  EXPECT_EQ(memory->in_use_bytes(), 0u);
  const Device other{Device::Type::cuda, 0};
  memory->pretend_to_be(other);
  EXPECT_EQ(Tensor::empty(DType::uint8(), {1}, {}, memory).error().message(),
            "memory of cuda:0 was given for elements on cpu");
}

TEST(Tensor, ContiguousCopiesOnlyWhereItMust) {
  const Tensor t = numbers({3, 4, 5});
  EXPECT_EQ(t.contiguous()->view().data, t.view().data);
  const Tensor part = t.slice({Slice{{}, {}, -1}, 2, Slice{1, {}, 3}}).value();
  const auto memory = std::make_shared<test::CountingMemory>();
  const Tensor packed = part.contiguous(memory).value();
  EXPECT_EQ(memory->in_use_bytes(), 24u);
  EXPECT_TRUE(packed.view().is_contiguous());
  EXPECT_EQ(values(packed.view()), (Numbers{51, 54, 31, 34, 11, 14}));
  EXPECT_EQ(t.to(Stream())->view().data, t.view().data) << "there already";
}

TEST(Tensor, CopiesBetweenViews) {
  const Tensor from = numbers({2, 3}), to = numbers({3, 2});
  const TensorView turned = to.slice({Slice(), Slice()}).value().view();
  TensorView transposed = turned;
  transposed.shape = {2, 3};
  transposed.strides_bytes = {4, 8};
  ASSERT_TRUE(copy_elements(from.view(), transposed));
  EXPECT_EQ(values(to.view()), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(copy_elements(from.view(), to.view()).error().message(), "source of shape [2, 3], target of [3, 2]");
  TensorView locked = transposed;
  locked.access = Access::read_only;
  EXPECT_EQ(copy_elements(from.view(), locked).error().message(), "the target is read-only");
  TensorView floats = transposed;
  floats.dtype = DType::float32();
  EXPECT_EQ(copy_elements(from.view(), floats).error().message(), "source of int32, target of float32");
}
