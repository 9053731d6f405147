// Archives as Python's zipfile makes them, and ours as zipfile reads them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>

#include <fstream>
#include <thread>

#include "forbid.hpp"
#include "in_child.hpp"
#include "open_object.hpp"
#include "store/zip/directory.hpp"
#include "store/zip/writer.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::open_object;
using penstock::test::TemporaryDirectory;

namespace {

namespace fs = std::filesystem;

/// What a command prints; its exit status must be 0.
std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot run " + command;
  char piece[4096];
  while (const std::size_t n = std::fread(piece, 1, sizeof piece, pipe)) out.append(piece, n);
  EXPECT_EQ(::pclose(pipe), 0) << command << '\n' << out;
  return out;
}
std::string make_zips(const std::string& arguments) {
  return output_of(std::string(PENSTOCK_PYTHON) + " " + PENSTOCK_MAKE_ZIPS + " " + arguments + " 2>&1");
}

std::string text_of(const Store& store, std::string_view key) {
  Bytes out;
  const auto found = store.get(key, out);
  if (!found) return "error: " + found.error().message();
  return *found ? std::string(as_text(out)) : "absent";
}

std::string deflated_text() {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "penstock ";
  return text;
}
std::string all_bytes() {
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  return text;
}

class PythonZip : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = std::make_unique<TemporaryDirectory>();
    make_zips("small " + scratch_->path().string());
    make_zips("large " + scratch_->path().string());
  }
  static void TearDownTestSuite() { scratch_.reset(); }
  static std::shared_ptr<Store> open(const std::string& name) {
    auto store = open_store(*scratch_ / (name + ".zip"), StoreMode::read);
    EXPECT_TRUE(store) << store.error().message();
    return store ? *store : nullptr;
  }
  static std::unique_ptr<TemporaryDirectory> scratch_;
};
std::unique_ptr<TemporaryDirectory> PythonZip::scratch_;

}  // namespace

TEST_F(PythonZip, StoredAndDeflatedMembersAreRead) {
  // one_way: sizes behind the data.  comment, full_comment: the end record is not the last 22 bytes.  in_front: offsets
  // are moved by what stands before the archive.
  for (const char* name : {"plain", "one_way", "comment", "full_comment", "in_front"}) {
    const auto store = open(name);
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(text_of(*store, "zarr.json"), R"({"zarr_format": 3})") << name;
    EXPECT_EQ(text_of(*store, "a/c/0/0"), deflated_text()) << name;
    EXPECT_EQ(text_of(*store, "a/c/0/1"), all_bytes()) << name;
    EXPECT_EQ(text_of(*store, "a/empty"), "") << name;
    EXPECT_EQ(text_of(*store, "a/empty deflated"), "") << name;
    EXPECT_EQ(store->list("").value(),
              (std::vector<std::string>{"a/c/0/0", "a/c/0/1", "a/empty", "a/empty deflated", "zarr.json"}));
  }
}

TEST_F(PythonZip, RangesOfStoredAndDeflatedMembers) {
  const auto store = open("plain");
  for (const auto& [key, whole] : {std::pair("a/c/0/0", deflated_text()), std::pair("a/c/0/1", all_bytes())}) {
    const auto object = open_object(*store, key).value();
    ASSERT_EQ(object->size_bytes(), whole.size());
    std::string part(7, '-');
    ASSERT_TRUE(object->read(100, std::as_writable_bytes(std::span(part))));
    EXPECT_EQ(part, whole.substr(100, 7));
    const Status status = object->read(whole.size() - 3, std::as_writable_bytes(std::span(part)));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::corrupt_data);
    EXPECT_NE(status.error().message().find(key), std::string::npos);
  }
}

TEST_F(PythonZip, OddArchives) {
  EXPECT_EQ(open("names")->list("").value(), (std::vector<std::string>{"d/back\\slash", "d/ü 中"}));
  EXPECT_EQ(text_of(*open("twice"), "k"), "newer") << "the later entry counts, as for zipfile";
  EXPECT_EQ(text_of(*open("zip64"), "stored"), deflated_text());
  EXPECT_EQ(text_of(*open("zip64"), "deflated"), deflated_text());
  EXPECT_TRUE(open("empty")->list("").value().empty());
  EXPECT_EQ(text_of(*open("bzip2"), "s"), "fine") << "other members of an archive with one that we cannot read";
  const auto bzip2 = open_object(*open("bzip2"), "b");
  ASSERT_FALSE(bzip2);
  EXPECT_EQ(bzip2.error().code(), ErrorCode::unsupported);
  EXPECT_NE(bzip2.error().message().find("member 'b': has compression method 12"), std::string::npos)
      << bzip2.error().message();
}

TEST_F(PythonZip, ManyMembersAndFarOnes) {
  const auto many = open("many");
  EXPECT_EQ(many->list("c").value().size(), 70'000u);
  EXPECT_EQ(text_of(*many, "c/69999"), "69999");
  const auto far = open("far");
  EXPECT_EQ(text_of(*far, "near"), "near");
  EXPECT_EQ(text_of(*far, "far"), all_bytes());
  EXPECT_EQ(text_of(*far, "far deflated"), deflated_text());
}

TEST_F(PythonZip, ManyThreadsReadOneObjectAndOneStore) {
  const auto store = open("plain");
  const std::shared_ptr<Object> deflated = open_object(*store, "a/c/0/0").value();
  std::atomic<int> bad{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          std::string part(9, '-');
          if (!deflated->read(9, std::as_writable_bytes(std::span(part))) || part != "penstock ") ++bad;
          if (text_of(*store, "a/c/0/1") != all_bytes()) ++bad;
        }
      });
  }
  EXPECT_EQ(bad, 0);
}

TEST_F(PythonZip, AChangedArchiveKeepsWhatItHad) {
  for (const char* name : {"plain", "one_way", "in_front", "zip64", "bzip2"}) {
    const std::string path = *scratch_ / (std::string(name) + "-changed.zip");
    fs::copy_file(*scratch_ / (std::string(name) + ".zip"), path);
    const auto store = open_store(path, StoreMode::read_write).value();
    const auto before = store->list("").value();
    const Status status = store->set("new/one", as_bytes("added"));
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(open_store(path, StoreMode::read).value()->list("").value(), before) << "nothing is seen before flush()";
    ASSERT_TRUE(store->flush());
    const std::string read_back = make_zips("check " + path);
    EXPECT_NE(read_back.find("new/one 5"), std::string::npos) << read_back;
    EXPECT_EQ(std::count(read_back.begin(), read_back.end(), '\n'), static_cast<long>(before.size()) + 1);
  }
}

TEST(Zip, PythonReadsOurArchives) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "dir/ours.zip";
  const auto store = open_store(path, StoreMode::create).value();
  ASSERT_TRUE(store->set("zarr.json", as_bytes("{}")));
  ASSERT_TRUE(store->set("c/0", as_bytes("first")));
  ASSERT_TRUE(store->set("c/0", as_bytes("replaced")));
  ASSERT_TRUE(store->set("ü", as_bytes("")));
  ASSERT_TRUE(store->set("gone", as_bytes("x")));
  ASSERT_TRUE(store->erase("gone"));
  EXPECT_FALSE(fs::exists(path)) << "what is not flushed does not look finished";
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(make_zips("check " + path), "c/0 8\nzarr.json 2\nü 0\n");

  ASSERT_TRUE(store->set("c/0", as_bytes("replaced again")));
  EXPECT_EQ(make_zips("check " + path), "c/0 8\nzarr.json 2\nü 0\n");
  EXPECT_EQ(text_of(*store, "c/0"), "replaced again") << "the writer reads what it wrote";
  EXPECT_EQ(text_of(*store, "zarr.json"), "{}");
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(make_zips("check " + path), "c/0 14\nzarr.json 2\nü 0\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path() / "dir"), {}), 1) << "no temporary file stays";
}

TEST(Zip, PythonReadsOurZip64) {
  const TemporaryDirectory scratch;
  const auto store = open_store(scratch / "many.zip", StoreMode::create).value();
  for (int i = 0; i < 66'000; ++i) {
    const std::string text = std::to_string(i);
    ASSERT_TRUE(store->set("c/" + text, as_bytes(text)));
  }
  ASSERT_TRUE(store->flush());
  const std::string listed = make_zips("check " + scratch / "many.zip");
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 66'000);

  // A member behind 5 GiB, with the records that our writer makes of it; the file is sparse.
  const std::string far = scratch / "far.zip";
  constexpr std::uint64_t kFar = std::uint64_t{5} << 30;
  zip::Member member;
  member.header_offset = kFar;
  Bytes bytes;
  ASSERT_TRUE(zip::append_local_header(bytes, "far", member));
  zip::EndRecord end;
  end.members = 1;
  end.directory_offset = kFar + bytes.size();
  const std::size_t header_bytes = bytes.size();
  ASSERT_TRUE(zip::append_central_entry(bytes, "far", member));
  end.directory_bytes = bytes.size() - header_bytes;
  ASSERT_TRUE(zip::append_end_records(bytes, end));
  const ByteView part = bytes;
  const FileDescriptor fd = open_at(AT_FDCWD, far.c_str(), O_WRONLY | O_CREAT);
  ASSERT_TRUE(write_at(fd.get(), kFar, {&part, 1}, far));
  EXPECT_EQ(make_zips("check " + far), "far 0\n");
  EXPECT_EQ(text_of(*open_store(far, StoreMode::read).value(), "far"), "");
}

TEST(Zip, AMemberOf4GiBSaysSoIn64Bits) {
  zip::Member member;
  member.size_bytes = member.compressed_bytes = 0xffffffff;
  member.header_offset = std::uint64_t{1} << 40;
  member.crc32 = 7;
  Bytes local, central;
  ASSERT_TRUE(zip::append_local_header(local, "k", member));
  zip::LocalHeader header = zip::parse_local_header(local).value();
  ASSERT_EQ(local.size(), zip::kLocalBytes + header.name_bytes + header.extra_bytes);
  ASSERT_TRUE(zip::apply_zip64(header.member, local.view().subspan(zip::kLocalBytes + header.name_bytes)));
  EXPECT_EQ(header.member.size_bytes, 0xffffffffu);
  EXPECT_EQ(header.member.compressed_bytes, 0xffffffffu);
  ASSERT_TRUE(zip::append_central_entry(central, "k", member));
  const zip::CentralEntry entry = zip::parse_central_entry(central).value();
  EXPECT_EQ(entry.entry_bytes, central.size());
  EXPECT_EQ(entry.name, "k");
  EXPECT_EQ(entry.member.size_bytes, 0xffffffffu);
  EXPECT_EQ(entry.member.header_offset, std::uint64_t{1} << 40);
}

TEST(Zip, OneWriterAtATimeAndNoneOfAnOldVersion) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "a.zip";
  const auto first = open_store(path, StoreMode::create).value();
  const auto second = open_store(path, StoreMode::create);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::already_exists);
  ASSERT_TRUE(first->set("k", as_bytes("1")));
  ASSERT_TRUE(first->flush());

  const auto third = open_store(path, StoreMode::read_write).value();
  ASSERT_TRUE(first->set("k", as_bytes("2")));
  EXPECT_EQ(third->set("k", as_bytes("3")).error().code(), ErrorCode::already_exists) << "another is writing";
  ASSERT_TRUE(first->flush());
  const Status late = third->set("k", as_bytes("3"));
  ASSERT_FALSE(late) << "would bring back the members of an archive that is gone";
  EXPECT_NE(late.error().message().find("open it again"), std::string::npos) << late.error().message();
  EXPECT_EQ(text_of(*open_store(path, StoreMode::read).value(), "k"), "2");
}

TEST(Zip, AWriterThatIsDroppedLeavesNothing) {
  const TemporaryDirectory scratch;
  {
    const auto store = open_store(scratch / "a.zip", StoreMode::create).value();
    ASSERT_TRUE(store->set("k", as_bytes("1")));
  }
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(Zip, IsKnownByNameAndByContent) {
  const TemporaryDirectory scratch;
  ASSERT_TRUE(open_store(scratch / "a.ozx", StoreMode::create).value()->flush());
  fs::rename(scratch / "a.ozx", scratch / "no_ending");
  EXPECT_EQ(open_store(scratch / "no_ending", StoreMode::read).value()->path_taken(), "zip, buffered");
  EXPECT_EQ(open_store(scratch / "absent.zip", StoreMode::read).error().code(), ErrorCode::not_found);
  fs::create_directory(scratch / "directory.zip");
  EXPECT_EQ(open_store(scratch / "directory.zip", StoreMode::read).value()->path_taken(), "file, buffered");
}

TEST(Zip, NoHiddenFileStaysWhenItCannotBeBegun) {
  const TemporaryDirectory scratch;
  const std::vector<std::vector<test::Forbidden>> failing{
      {{SYS_ftruncate, EIO}}, {{SYS_fstat, EIO}, {SYS_newfstatat, EIO, AT_EMPTY_PATH}}, {{SYS_flock, ENOLCK}}};
  for (const auto& calls : failing)
    EXPECT_EQ(test::in_child([&]() -> std::string {
                if (!test::forbid(calls)) return "no filter";
                const auto store = open_store(scratch / "a.zip", StoreMode::create);
                return store ? "opened" : store.error().message().substr(store.error().message().rfind('('));
              }),
              calls[0].errno_value == EIO ? "(errno 5)" : "(errno 37)");
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}
