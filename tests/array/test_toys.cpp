// A format, a store and an index that the library does not know, each handed to its interface and read end to end: what
// src/README.md says of adding one is all that it takes.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "array/model.hpp"
#include "array/state.hpp"
#include "format/list.hpp"
#include "format/node.hpp"
#include "penstock/copy.hpp"
#include "store/blocking_store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

// A toy format.  A file begins with "TOY1", then numbers of 4 bytes, the lowest first: rows, columns, rows of a strip;
// then where each strip begins and how many bytes it has.  Strips are rows of bytes, compressed with zstd; the last has
// the rows that are left.

std::uint32_t number(ByteView bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(bytes[at + i]) << 8 * i;
  return value;
}

constexpr std::size_t kToyHeader = 16;

Result<Dataset> parse_toy(ByteView head, std::string_view key) {
  if (head.size() < kToyHeader) return Error(ErrorCode::corrupt_data, "the file ends in its header");
  Dataset d;
  d.format = {"toy", 1, ""};
  d.shape = {number(head, 4), number(head, 8)};
  d.chunk_shape = {number(head, 12), d.shape[1]};
  if (d.chunk_shape[0] == 0 || d.chunk_shape[1] == 0)
    return Error(ErrorCode::invalid_metadata, "strips without elements");
  d.dtype = DType::uint8();
  d.fill = {std::byte{0}};
  d.nodata = d.fill;
  d.codecs = {{"bytes", "{}"}, zstd_codec()};
  d.dims = {{"y", "meter", 2.0, {}}, {"x", "meter", 0.5, {}}};
  ChunkTable table{std::string(key), {kToyHeader, 4}, {kToyHeader + 4 * d.grid_shape()[0], 4}};
  table.cropped_at_edges = {true, false};
  d.placement = std::move(table);
  return d;
}

Result<std::optional<NodeInfo>> open_toy(Candidate& candidate) {
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr || head->bytes.size() < 4 || std::memcmp(head->bytes.data(), "TOY1", 4) != 0)
    return std::optional<NodeInfo>();
  PENSTOCK_ASSIGN_IN(Dataset dataset, parse_toy(head->bytes, candidate.path()),
                     metadata::where(candidate.store(), candidate.path()));
  return std::optional<NodeInfo>(std::move(dataset));
}

constexpr std::array<std::string_view, 1> kToySuffixes = {".toy"};

/// The list with a line for the toy, before what refuses all other files.
std::vector<FormatEntry> formats_with_toy() {
  std::vector<FormatEntry> formats(format_list().begin(), format_list().end());
  formats.insert(formats.end() - 1, {"toy", nullptr, "toy files", open_toy, kToySuffixes});
  return formats;
}

/// 10 rows of 6: row * 16 + column, in strips of 4.
std::vector<std::byte> toy_file() {
  std::vector<std::byte> file(4);
  std::memcpy(file.data(), "TOY1", 4);
  const auto put = [&](std::uint32_t value) {
    for (int i = 0; i < 4; ++i) file.push_back(static_cast<std::byte>(value >> 8 * i));
  };
  for (const std::uint32_t value : {10, 6, 4}) put(value);
  std::vector<Bytes> strips;
  ScratchBuffers scratch;
  for (std::uint64_t row = 0; row < 10; row += 4) {
    const std::uint64_t rows = std::min<std::uint64_t>(4, 10 - row);
    std::vector<std::byte> values;
    for (std::uint64_t i = 0; i < rows * 6; ++i) values.push_back(static_cast<std::byte>((row + i / 6) * 16 + i % 6));
    const std::vector<CodecSpec> codecs = {{"bytes", "{}"}, zstd_codec()};
    const auto chain = CodecChain::make(codecs, {{rows, 6}, DType::uint8(), {std::byte{0}}}).value();
    EXPECT_TRUE(chain.encode(values, strips.emplace_back(), scratch));
  }
  std::uint32_t at = kToyHeader + 2 * 3 * 4;
  for (const Bytes& strip : strips) {
    put(at);
    at += static_cast<std::uint32_t>(strip.size());
  }
  for (const Bytes& strip : strips) put(static_cast<std::uint32_t>(strip.size()));
  for (Bytes& strip : strips) file.insert(file.end(), strip.span().begin(), strip.span().end());
  return file;
}

std::shared_ptr<Store> memory_store() { return open_store("memory://", StoreMode::create).value(); }

// A toy store, of which nothing is kept anywhere: it holds an array of 4 x 6 bytes in chunks of 2 x 3, all of whose
// elements are the number of their chunk, and makes up its objects when it is asked.

const Region kAll = {{0, 4, 1}, {0, 6, 1}};

class MadeUpStore final : public BlockingStore {
 public:
  std::string url() const override { return "made-up"; }
  std::string path_taken() const override { return "made up"; }
  bool writable() const override { return false; }
  Result<std::unique_ptr<Object>> open(std::string_view key) const override {
    auto bytes = make(key);
    return bytes ? std::make_unique<Made>(*std::move(bytes)) : std::unique_ptr<Object>();
  }
  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override {
    if (prefix.empty()) return std::vector<StoreEntry>{{"c", true}, {"zarr.json", false}};
    return std::vector<StoreEntry>();
  }
  Status set(std::string_view, ByteView) override {
    return Error(ErrorCode::permission_denied, "made-up is read only");
  }
  Status erase(std::string_view) override { return Error(ErrorCode::permission_denied, "made-up is read only"); }

 private:
  class Made final : public Object {
   public:
    explicit Made(std::string bytes) : bytes_(std::move(bytes)) {}
    std::uint64_t size_bytes() const override { return bytes_.size(); }
    Status read(std::uint64_t offset, ByteSpan into) const override {
      if (offset > bytes_.size() || into.size() > bytes_.size() - offset)
        return Error(ErrorCode::corrupt_data, "the object ends before the range");
      std::memcpy(into.data(), bytes_.data() + offset, into.size());
      return {};
    }

   private:
    std::string bytes_;
  };
  static std::optional<std::string> make(std::string_view key) {
    if (key == "zarr.json")
      return R"({"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"uint8","fill_value":0,
                 "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,3]}},
                 "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}],"attributes":{}})";
    if (key.size() == 5 && key.starts_with("c/") && key[3] == '/')
      return std::string(6, static_cast<char>((key[2] - '0') * 2 + key[4] - '0'));
    return std::nullopt;
  }
};

// A toy index: square chunks of one byte each behind one another, those of a diagonal together.

class Diagonals final : public ChunkIndex {
 public:
  explicit Diagonals(std::uint64_t side) : side_(side) {}
  Status locate(const ChunkIds& chunks, Fetcher& /*fetcher*/, std::span<ChunkRef> out) const override {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      out[i].holder = holder_;
      out[i].inner = place_of(chunks[i][0], chunks[i][1]);
      if (chunks[i][0] == chunks[i][1]) continue;  // the first diagonal is not stored
      out[i].state = ChunkRef::State::stored;
      out[i].offset_bytes = *out[i].inner;
      out[i].size_bytes = 1;
    }
    return {};
  }
  [[nodiscard]] std::uint64_t place_of(std::uint64_t y, std::uint64_t x) const {
    return (x + side_ - y) % side_ * side_ + y;
  }

 private:
  std::uint64_t side_;
  std::shared_ptr<const ChunkHolder> holder_ = std::make_shared<const ChunkHolder>(ChunkHolder{"all", {}, {}});
};

}  // namespace

TEST(Toys, AFormat) {
  const auto store = memory_store();
  ASSERT_TRUE(store->set("scans/a.toy", toy_file()));
  EXPECT_EQ(read_node(*store, "scans/a.toy").error().code(), ErrorCode::unsupported) << "no format of the list";
  const auto node = read_node(*store, "scans/a.toy", formats_with_toy());
  ASSERT_TRUE(node) << node.error().message();
  const auto& dataset = std::get<Dataset>(*node);
  EXPECT_EQ(format_title(dataset.format), "toy 1");
  Array array = Array::with_metadata(store, "scans/a.toy", dataset).value();
  EXPECT_EQ(array.plan(whole(dataset.shape), {}, threads(1)).value().decoded_bytes, 60u);
  std::vector<std::byte> wanted;
  for (unsigned i = 0; i < 60; ++i) wanted.push_back(static_cast<std::byte>(i / 6 * 16 + i % 6));
  EXPECT_EQ(read(array, whole(dataset.shape)).value(), wanted);
  EXPECT_EQ(read(array, {{9, 1, 1}, {5, 2, -1}}).value(), (std::vector{std::byte{0x95}, std::byte{0x94}}));
  EXPECT_TRUE(array.verify(threads(2)).value().problems.empty());
  // It becomes zarr by a copy, and is not written itself.
  const auto to = memory_store();
  ASSERT_TRUE(copy(array, to, "", {}, Array::IfExists::fail, Resume::no, threads(1)));
  EXPECT_EQ(read(Array::open(to, "").value(), whole(dataset.shape)).value(), wanted);
  EXPECT_EQ(array.set_attributes("{}").error().code(), ErrorCode::unsupported);
  EXPECT_EQ(write_node(*store, "b.toy", dataset).error().code(), ErrorCode::unsupported);
}

TEST(Toys, AFormatThatSaysYesAndCannotBeRead) {
  const auto store = memory_store();
  auto file = toy_file();
  ASSERT_TRUE(store->set("short.toy", ByteView(file).first(10)));
  const auto node = read_node(*store, "short.toy", formats_with_toy());
  ASSERT_FALSE(node);
  EXPECT_NE(node.error().message().find("short.toy: the file ends in its header"), std::string::npos)
      << node.error().message();
  ASSERT_TRUE(store->set("cut.toy", ByteView(file).first(kToyHeader + 6)));
  const auto cut = std::get<Dataset>(read_node(*store, "cut.toy", formats_with_toy()).value());
  EXPECT_FALSE(read(Array::with_metadata(store, "cut.toy", cut).value(), whole(cut.shape)));
}

TEST(Toys, AStore) {
  const auto store = std::make_shared<MadeUpStore>();
  Array array = Array::open(store, "").value();
  std::vector<std::byte> wanted;
  for (unsigned i = 0; i < 24; ++i) wanted.push_back(static_cast<std::byte>(i / 12 * 2 + i % 6 / 3));
  EXPECT_EQ(read(array, kAll).value(), wanted);
  EXPECT_NE(array.plan(kAll, {}, threads(1)).value().text().find("made up"), std::string::npos);
  EXPECT_EQ(array.verify(threads(2)).value().chunks, 4u);
  EXPECT_EQ(test::write(array, kAll, wanted).error().code(), ErrorCode::permission_denied);
  const auto to = memory_store();
  ASSERT_TRUE(copy(array, to, "", {}, Array::IfExists::fail, Resume::no, threads(1)));
  EXPECT_EQ(read(Array::open(to, "").value(), kAll).value(), wanted);
}

TEST(Toys, AnIndex) {
  const auto store = memory_store();
  constexpr std::uint64_t kSide = 7;
  const Diagonals places(kSide);
  std::vector<std::byte> object(kSide * kSide), wanted;
  for (std::uint64_t y = 0; y < kSide; ++y)
    for (std::uint64_t x = 0; x < kSide; ++x) {
      const auto value = static_cast<std::byte>(10 * y + x);
      object[places.place_of(y, x)] = value;
      wanted.push_back(x == y ? std::byte{42} : value);
    }
  ASSERT_TRUE(store->set("all", object));
  const Dataset d = dataset({kSide, kSide}, {1, 1}, {{"bytes", "{}"}}, DType::uint8());
  const Array array = ArrayAccess::with_index(store, "", d, std::make_unique<Diagonals>(kSide)).value();
  EXPECT_EQ(read(array, whole(d.shape)).value(), wanted);
  const Plan plan = array.plan(whole(d.shape), {}, threads(1)).value();
  EXPECT_EQ(plan.chunks, kSide * kSide);
  const Report report = array.verify(threads(1)).value();
  EXPECT_EQ(report.absent_chunks, kSide);
}
