// Arrays to and from tensors, and the options that come with them: memory, deadline.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "array/device/read.hpp"
#include "array/device/write.hpp"
#include "array/model.hpp"
#include "device/counting_memory.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;
using namespace std::chrono_literals;

namespace {

Array make_array(const Dataset& d) {
  return Array::create(open_store("memory://", StoreMode::create).value(), "", d, Array::IfExists::fail).value();
}

/// An array of random values beside its model.
struct Filled {
  Dataset d;
  Array array = make_array(d);
  Model model{d};
  explicit Filled(Dataset dataset) : d(std::move(dataset)) {
    std::mt19937_64 random(3);
    const auto values = random_values(whole(d.shape), model.item, random);
    model.write(whole(d.shape), values);
    EXPECT_TRUE(test::write(array, whole(d.shape), values));
  }
};

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const Tensor packed = tensor.contiguous().value();
  const auto* at = static_cast<const std::byte*>(packed.view().data);
  return {at, at + packed.view().bytes().value()};
}

}  // namespace

TEST(ReadTensor, IsWhatTheArrayHolds) {
  const Filled f(dataset({20, 13, 17}, {7, 4, 5}));
  std::mt19937_64 random(4);
  for (int round = 0; round < 20; ++round) {
    const Region region = random_region(f.d.shape, random);
    Report report;
    const Tensor got = f.array.read(region, threads(2), {}, &report).value();
    EXPECT_EQ(got.view().shape, shape_of(region));
    EXPECT_EQ(got.view().dtype, f.d.dtype);
    EXPECT_EQ(bytes_of(got), f.model.read(region)) << to_string(region);
    EXPECT_EQ(report.operation, "read");
  }
  EXPECT_EQ(f.array.read({{0, 21, 1}, {0, 1, 1}, {0, 1, 1}}).error().code(), ErrorCode::out_of_range);
}

TEST(ReadTensor, GoesIntoAViewOfAnyStrides) {
  const Filled f(dataset({20, 13}, {7, 4}));
  const Tensor room = Tensor::empty(f.d.dtype, {13, 40}).value();
  const Region region = {{2, 10, 1}, {12, 13, -1}};
  TensorView turned = room.slice({Slice(), Slice{{}, 20, 2}}).value().view();  // 13 x 10
  std::swap(turned.shape[0], turned.shape[1]);
  std::swap(turned.strides_bytes[0], turned.strides_bytes[1]);
  ASSERT_TRUE(f.array.read(region, turned, threads(2)));
  EXPECT_EQ(bytes_of(Tensor::share(room.owner(), turned)), f.model.read(region));
}

TEST(ReadTensor, MemoryMustFit) {
  const Filled f(dataset({20, 13}, {7, 4}));
  const Region region = {{0, 4, 1}, {0, 3, 1}};
  const auto why = [&](const TensorView& view) { return f.array.read(region, view, {}).error().message(); };
  EXPECT_EQ(why(Tensor::empty(DType::int16(), {4, 3})->view()),
            "the memory holds int16, the array uint16: they must be the same");
  const Tensor turned = Tensor::empty(f.d.dtype, {3, 4}).value();
  EXPECT_EQ(why(turned.view()), "the memory has shape [3, 4], the region [4, 3]");
  const Tensor fits = Tensor::empty(f.d.dtype, {4, 3}).value();
  TensorView view = fits.view();
  view.access = Access::read_only;
  EXPECT_EQ(why(view), "the memory is read-only");
  EXPECT_TRUE(Array(f.array).write(region, view, {})) << "as a source it may be";
  view = fits.view();
  view.strides_bytes[1] = 0;
  EXPECT_EQ(why(view), "the 3 elements of dimension 1 share one place: their stride is 0");
  EXPECT_EQ(Array(f.array).write(region, turned.view(), {}).error().message(),
            "the memory has shape [3, 4], the region [4, 3]");
}

TEST(WriteTensor, TakesViewsOfAnyStrides) {
  Filled f(dataset({20, 13}, {7, 4}, {sharding("[7,2]")}));
  const Filled other(dataset({20, 13}, {20, 13}));
  const Tensor source = other.array.read(whole(other.d.shape)).value().slice({Slice{{}, {}, -1}, Slice{0, 8}}).value();
  const Region region = {{0, 20, 1}, {5, 8, 1}};
  ASSERT_TRUE(f.array.write(region, source.view(), threads(2)));
  f.model.write(region, other.model.read({{19, 20, -1}, {0, 8, 1}}));
  EXPECT_EQ(test::read(f.array, whole(f.d.shape)).value(), f.model.data);
  TensorView repeated = source.view();  // one row again and again: a source may be that
  repeated.strides_bytes[0] = 0;
  EXPECT_TRUE(f.array.write(region, repeated, threads(2)));
}

TEST(ReadTensor, KeepsVariableLengthElementsAlive) {
  Dataset d = dataset({3}, {2}, {{"vlen-utf8", "{}"}}, parse_dtype_name("string").value());
  d.fill = {};
  Array array = make_array(d);
  const std::vector<std::string> words = {"one", "", "a longer word than fits anywhere"};
  std::vector<VlenRef> refs;
  for (const std::string& word : words) refs.push_back({as_bytes(word).data(), word.size()});
  ASSERT_TRUE(array.write(whole(d.shape), TensorView::packed(refs.data(), d.dtype, {3}).value(), {}));
  Tensor part = array.read(whole(d.shape)).value().slice({Slice{{}, {}, -2}}).value().contiguous().value();
  const auto* got = static_cast<const VlenRef*>(part.view().data);
  EXPECT_EQ(as_text({got[0].data, got[0].size}), words[2]);
  EXPECT_EQ(as_text({got[1].data, got[1].size}), words[0]);
}

TEST(MemoryOption, ResultsAndWorkingMemoryComeFromIt) {
  const Filled f(dataset({64, 64}, {16, 16}));
  const auto memory = std::make_shared<CountingMemory>();
  Options options = threads(2);
  options.memory = memory;
  {
    const Tensor got = f.array.read(whole(f.d.shape), options).value();
    EXPECT_EQ(memory->in_use_bytes(), 64u * 64 * 2);
    EXPECT_EQ(memory->allocations(), 1u) << "nothing else, for the host";
  }
  EXPECT_EQ(memory->in_use_bytes(), 0u);
  // Waves of chunks, with the CPU as the device.
  options.decode = CodecPlace::device;
  std::vector<std::byte> out(f.model.data.size());
  ASSERT_TRUE(read_device({{ReadItem{&f.array, whole(f.d.shape), Target{out.data(), {}, {}, {}}}}}, options));
  EXPECT_EQ(out, f.model.data);
  EXPECT_GT(memory->allocations(), 2u);
  EXPECT_EQ(memory->in_use_bytes(), 0u) << "all of it went back";
  const std::uint64_t before = memory->allocations();
  options.encode = CodecPlace::device;
  ASSERT_TRUE(write_from_device(f.array, whole(f.d.shape), Target{out.data(), {}, {}, {}}, options));
  EXPECT_GT(memory->allocations(), before);
  EXPECT_EQ(memory->in_use_bytes(), 0u);
  EXPECT_EQ(test::read(f.array, whole(f.d.shape)).value(), f.model.data);

  memory->pretend_to_be({Device::Type::cuda, 1});
  const std::string wrong = "memory of cuda:1 was given for elements on cpu";
  EXPECT_EQ(f.array.read(whole(f.d.shape), options).error().message(), wrong);
  EXPECT_EQ(
      read_device({{ReadItem{&f.array, whole(f.d.shape), Target{out.data(), {}, {}, {}}}}}, options).error().message(),
      wrong);
}

TEST(DeadlineOption, EndsEveryOperation) {
  Filled f(dataset({64, 64}, {16, 16}));
  Options options = threads(2);
  options.deadline = std::chrono::steady_clock::now() - 1s;
  const Region all = whole(f.d.shape);
  std::vector<std::byte> out(f.model.data.size());
  const auto why = [](const auto& result) {
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().code(), ErrorCode::timed_out);
    return result.error().message();
  };
  EXPECT_EQ(why(f.array.read(all, options)), "read was not done by its deadline");
  EXPECT_EQ(why(f.array.verify(options)), "verify was not done by its deadline");
  EXPECT_EQ(why(read_device({{ReadItem{&f.array, all, Target{out.data(), {}, {}, {}}}}}, options)).substr(0, 4),
            "read");
  EXPECT_EQ(why(f.array.write(all, TensorView::packed(out.data(), f.d.dtype, f.d.shape).value(), options)),
            "write was not done by its deadline");
  EXPECT_EQ(test::read(f.array, all).value(), f.model.data) << "nothing was changed";
  options.on_error = OnError::fill;
  EXPECT_EQ(why(f.array.read(all, options)), "read was not done by its deadline") << "no chunk is at fault";
  options.deadline = std::chrono::steady_clock::now() + 1h;
  EXPECT_TRUE(f.array.read(all, options));
}

TEST(DeadlineOption, PassesWhileTheWorkGoesOn) {
  const Filled f(dataset({64, 64}, {4, 64}));
  Options options = threads(2);
  options.deadline = std::chrono::steady_clock::now() + 100ms;
  std::uint64_t done = 0;
  options.progress = [&](const Progress& p) {
    done = p.done;
    std::this_thread::sleep_until(*options.deadline);
  };
  const auto got = f.array.read(whole(f.d.shape), options);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::timed_out);
  EXPECT_GT(done, 0u);
  EXPECT_LT(done, f.model.data.size());
}
