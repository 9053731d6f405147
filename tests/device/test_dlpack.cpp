// DLPack both ways, and what a careless or hostile producer may hand over.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "counting_memory.hpp"
#include "device/dlpack_abi.hpp"
#include "penstock/tensor.hpp"

using namespace penstock;

namespace {

/// A tensor of another library: 2 x 3 float32 in host memory; counts how often it is given back.
struct Foreign {
  std::vector<float> memory = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::int64_t> shape = {2, 3}, strides = {3, 1};
  int given_back = 0;
  DLManagedTensorVersioned managed{};
  DLManagedTensor old{};

  Foreign() {
    managed.version = {1, 0};
    managed.manager_ctx = old.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* m) { static_cast<Foreign*>(m->manager_ctx)->given_back += 1; };
    old.deleter = [](DLManagedTensor* m) { static_cast<Foreign*>(m->manager_ctx)->given_back += 1; };
    managed.dl_tensor = {memory.data(), {1, 0}, 2, {2, 32, 1}, shape.data(), strides.data(), 0};
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  DLTensor& tensor() { return managed.dl_tensor; }
};

/// The error of importing it, which must leave it with its producer, in both forms alike.
Error refused(Foreign& foreign) {
  auto versioned = Tensor::from_dlpack(&foreign.managed);
  foreign.old.dl_tensor = foreign.tensor();
  const auto plain = Tensor::from_dlpack(&foreign.old);
  EXPECT_EQ(foreign.given_back, 0);
  if (versioned || plain) return {ErrorCode::internal, "was taken"};
  EXPECT_EQ(versioned.error().message(), plain.error().message());
  return std::move(versioned).error();
}

template <class Change>
std::string refused_with(const Change& change) {
  Foreign foreign;
  change(foreign);
  return refused(foreign).message();
}

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(), kMin = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST(DlpackImport, SharesTheMemoryAndGivesItBackOnce) {
  Foreign foreign;
  {
    const Tensor t = Tensor::from_dlpack(&foreign.managed).value();
    EXPECT_EQ(t.view().data, foreign.memory.data());
    EXPECT_EQ(t.view().shape, (Shape{2, 3}));
    EXPECT_EQ(t.view().strides_bytes, (Strides{12, 4}));
    EXPECT_EQ(t.view().dtype, DType::float32());
    EXPECT_EQ(t.view().device, Device{});
    EXPECT_EQ(t.view().access, Access::read_write);
    const Tensor part = t.slice({1}).value();
    EXPECT_EQ(part.view().data, &foreign.memory[3]);
    EXPECT_EQ(foreign.given_back, 0);
  }
  EXPECT_EQ(foreign.given_back, 1);
  foreign.old.dl_tensor = foreign.tensor();
  {
    const Tensor t = Tensor::from_dlpack(&foreign.old).value();
  }
  EXPECT_EQ(foreign.given_back, 2);
  foreign.managed.deleter = nullptr;  // allowed: nothing to give back
  EXPECT_TRUE(Tensor::from_dlpack(&foreign.managed));
}

TEST(DlpackImport, UnderstandsOffsetsStridesAndFlags) {
  Foreign foreign;
  foreign.tensor().byte_offset = 8;
  foreign.strides = {-1, 3};  // from element 2 on
  foreign.shape = {3, 2};
  foreign.managed.flags = 1;
  foreign.managed.version.minor = 9;  // a later one of the same layout
  const Tensor t = Tensor::from_dlpack(&foreign.managed).value();
  EXPECT_EQ(t.view().data, &foreign.memory[2]);
  EXPECT_EQ(t.view().strides_bytes, (Strides{-4, 12}));
  EXPECT_EQ(t.view().access, Access::read_only);

  Foreign plain;
  plain.tensor().strides = nullptr;
  EXPECT_EQ(Tensor::from_dlpack(&plain.managed)->view().strides_bytes, (Strides{12, 4}));

  Foreign scalar;
  scalar.tensor().ndim = 0;
  scalar.tensor().shape = scalar.tensor().strides = nullptr;
  EXPECT_EQ(Tensor::from_dlpack(&scalar.managed)->view().elements().value(), 1u);

  Foreign empty;
  empty.shape = {0, kMax};
  empty.strides = {kMax, kMin};
  empty.tensor().data = nullptr;
  empty.tensor().byte_offset = ~std::uint64_t{0};
  EXPECT_EQ(Tensor::from_dlpack(&empty.managed)->view().elements().value(), 0u);

  Foreign pinned;
  pinned.tensor().device = {3, 0};
  EXPECT_EQ(Tensor::from_dlpack(&pinned.managed)->view().device, Device{}) << "pinned memory is host memory";
}

TEST(DlpackImport, KnowsTheDataTypes) {
  const std::vector<std::pair<DLDataType, DType>> known = {
      {{0, 8, 1}, DType::int8()},       {{0, 64, 1}, DType::int64()},       {{1, 16, 1}, DType::uint16()},
      {{2, 16, 1}, DType::float16()},   {{2, 64, 1}, DType::float64()},     {{4, 16, 1}, DType::bfloat16()},
      {{5, 64, 1}, DType::complex64()}, {{5, 128, 1}, DType::complex128()}, {{6, 8, 1}, DType::boolean()}};
  for (const auto& [given, wanted] : known) {
    Foreign foreign;
    foreign.shape = {1, 1};
    foreign.tensor().dtype = given;
    EXPECT_EQ(Tensor::from_dlpack(&foreign.managed)->view().dtype, wanted) << wanted.name();
  }
  // Vectors, bits of a byte, opaque handles, float8, float4, float128, numbers of no bits, unknown codes.
  for (const DLDataType given : {DLDataType{2, 32, 4},
                                 {2, 32, 0},
                                 {1, 1, 1},
                                 {1, 4, 1},
                                 {3, 64, 1},
                                 {10, 8, 1},
                                 {17, 4, 1},
                                 {2, 128, 1},
                                 {2, 8, 1},
                                 {0, 0, 1},
                                 {0, 24, 1},
                                 {6, 1, 1},
                                 {99, 8, 1}}) {
    Foreign foreign;
    foreign.tensor().dtype = given;
    EXPECT_EQ(refused(foreign).code(), ErrorCode::unsupported) << int{given.code} << " " << int{given.bits};
  }
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().dtype = {2, 32, 4}; }),
            "DLPack: data type (code 2, 32 bits) in vectors of 4");
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().dtype = {10, 8, 1}; }), "DLPack: data type (code 10, 8 bits)");
}

TEST(DlpackImport, RefusesWhatCannotBe) {
  EXPECT_EQ(Tensor::from_dlpack(static_cast<DLManagedTensor*>(nullptr)).error().message(),
            "DLPack: there is no tensor");
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().ndim = -1; }), "DLPack: -1 dimensions; 0 to 32 are understood");
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().ndim = 33; }), "DLPack: 33 dimensions; 0 to 32 are understood");
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().shape = nullptr; }), "DLPack: there are dimensions, but no shape");
  EXPECT_EQ(refused_with([](Foreign& f) { f.shape[1] = -3; }), "DLPack: dimension 1 has extent -3");
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().data = nullptr; }), "DLPack: there are elements, but no memory");
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().byte_offset = ~std::uint64_t{0}; }),
            "DLPack: the byte offset does not fit in the address space");
  EXPECT_EQ(refused_with([](Foreign& f) { f.strides[0] = kMax; }), "DLPack: a stride does not fit in 63 bits");
  EXPECT_EQ(refused_with([](Foreign& f) { f.strides[0] = kMax / 4; }),
            "DLPack: the elements do not fit in the address space");
  EXPECT_EQ(refused_with([](Foreign& f) { f.strides[0] = kMin / 4; }),
            "DLPack: the elements do not fit in the address space");
  EXPECT_EQ(refused_with([](Foreign& f) { f.shape = {kMax, kMax}; }), "DLPack: a size does not fit in 64 bits");
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().device = {4, 0}; }),
            "DLPack: device type 4; known are the CPU and CUDA");
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().device = {2, -1}; }), "DLPack: device number -1");
  EXPECT_EQ(refused_with([](Foreign& f) { f.tensor().device = {2, 0}; }),
            "DLPack: memory of cuda:0 with a stream of cpu");
  Foreign later;
  later.managed.version = {2, 0};
  EXPECT_EQ(Tensor::from_dlpack(&later.managed).error().message(), "DLPack: version 2.0; version 1 is understood");
  EXPECT_EQ(later.given_back, 0);
}

TEST(DlpackExport, KeepsTheMemoryUntilItIsGivenBack) {
  const auto memory = std::make_shared<test::CountingMemory>();
  for (const bool versioned : {true, false}) {
    Tensor t = Tensor::empty(DType::uint16(), {4, 5}, {}, memory).value();
    Tensor part = t.slice({Slice{{}, {}, -2}, Slice{1, 4}}).value();
    const void* first = part.view().data;
    DLManagedTensorVersioned* now = versioned ? part.to_dlpack().value() : nullptr;
    DLManagedTensor* old = versioned ? nullptr : part.to_dlpack_unversioned().value();
    t = part = Tensor();
    const DLTensor& out = versioned ? now->dl_tensor : old->dl_tensor;
    EXPECT_EQ(out.data, first);
    EXPECT_EQ(out.ndim, 2);
    EXPECT_EQ(std::vector(out.shape, out.shape + 2), (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(std::vector(out.strides, out.strides + 2), (std::vector<std::int64_t>{-10, 1}));
    EXPECT_EQ(std::tuple(out.dtype.code, out.dtype.bits, out.dtype.lanes), std::tuple(1, 16, 1));
    EXPECT_EQ(out.device.device_type, 1);
    EXPECT_EQ(out.byte_offset, 0u);
    EXPECT_EQ(memory->in_use_bytes(), 40u);
    if (versioned) {
      EXPECT_EQ(now->version.major, 1u);
      EXPECT_EQ(now->flags, 0u);
      now->deleter(now);
    } else {
      old->deleter(old);
    }
    EXPECT_EQ(memory->in_use_bytes(), 0u);
  }
}

TEST(DlpackExport, SaysWhatDlpackDoesNotHave) {
  Foreign foreign;
  foreign.managed.flags = 1;
  const Tensor locked = Tensor::from_dlpack(&foreign.managed).value();
  DLManagedTensorVersioned* out = locked.to_dlpack().value();
  EXPECT_EQ(out->flags, 1u);
  out->deleter(out);
  EXPECT_EQ(locked.to_dlpack_unversioned().error().code(), ErrorCode::unsupported);
  DType time{Kind::datetime, 8, "ns", 1, {}};
  EXPECT_EQ(Tensor::empty(time, {2})->to_dlpack().error().message(),
            "DLPack: there is no data type for datetime64[ns]");
  TensorView odd = TensorView::packed(foreign.memory.data(), DType::uint16(), {3}).value();
  odd.strides_bytes = {3};
  EXPECT_EQ(Tensor::share(nullptr, odd).to_dlpack().error().message(),
            "DLPack: a stride of 3 bytes is no multiple of the 2 of an element");
}
