// Archives that lie: each is refused with an error that names archive and member.
#include <gtest/gtest.h>
#include <libdeflate.h>

#include <cstring>
#include <functional>

#include "store/zip/directory.hpp"

using namespace penstock;
using zip::Member;

namespace {

class TextSource final : public zip::Source {
 public:
  explicit TextSource(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& name() const override { return name_; }
  std::uint64_t size_bytes() const override { return bytes_.size(); }
  Status read(std::uint64_t offset_bytes, ByteSpan into) const override {
    if (offset_bytes > bytes_.size() || into.size() > bytes_.size() - offset_bytes)
      return Error(ErrorCode::corrupt_data, "the file ends at byte " + std::to_string(bytes_.size()));
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset_bytes, into.size());
    return {};
  }

 private:
  std::string bytes_;
  std::string name_ = "bad.zip";
};

/// A member to be written, and what its two headers say of it.
struct Draft {
  std::string name;
  std::string data;  ///< as it lies in the archive
  Member central;
  Member local;
};

Draft stored(std::string name, std::string data) {
  Draft draft{std::move(name), std::move(data), {}, {}};
  draft.central.size_bytes = draft.central.compressed_bytes = draft.data.size();
  draft.central.crc32 = libdeflate_crc32(0, draft.data.data(), draft.data.size());
  draft.local = draft.central;
  return draft;
}

Draft deflated(std::string name, const std::string& text) {
  std::string data(1000, '\0');
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  data.resize(libdeflate_deflate_compress(compressor, text.data(), text.size(), data.data(), data.size()));
  libdeflate_free_compressor(compressor);
  Draft draft = stored(std::move(name), data);
  draft.central.method = zip::kDeflated;
  draft.central.size_bytes = text.size();
  draft.central.crc32 = libdeflate_crc32(0, text.data(), text.size());
  draft.local = draft.central;
  return draft;
}

/// The archive of the drafts; `edit` may change the end record, `move` where the directory says that a member begins.
std::string archive_of(const std::vector<Draft>& drafts, const std::function<void(zip::EndRecord&)>& edit = {},
                       const std::function<void(Member&)>& move = {}) {
  Bytes out, directory;
  for (const Draft& draft : drafts) {
    Member central = draft.central;
    central.header_offset = out.size();
    if (move) move(central);
    EXPECT_TRUE(zip::append_local_header(out, draft.name, draft.local));
    EXPECT_TRUE(out.append(as_bytes(draft.data)));
    EXPECT_TRUE(zip::append_central_entry(directory, draft.name, central));
  }
  zip::EndRecord end;
  end.members = drafts.size();
  end.directory_bytes = directory.size();
  end.directory_offset = out.size();
  if (edit) edit(end);
  EXPECT_TRUE(out.append(directory));
  EXPECT_TRUE(zip::append_end_records(out, end));
  return std::string(as_text(out));
}

/// "ok", or the first error in reading the directory and every member.
std::string verdict(const std::string& archive) {
  const TextSource source(archive);
  const auto members = zip::read_directory(source);
  if (!members) return members.error().message();
  for (const auto& [name, member] : *members) {
    const auto begin = zip::find_data(source, name, member);
    if (!begin) return begin.error().message();
    Bytes out;
    if (const Status status = zip::read_member(source, name, member, *begin, out); !status)
      return status.error().message();
  }
  return "ok";
}

void expect_refused(const std::string& archive, const std::string& why) {
  const std::string got = verdict(archive);
  EXPECT_EQ(got.substr(0, 8), "bad.zip:") << got;
  EXPECT_NE(got.find(why), std::string::npos) << got;
}

const std::string kText(500, 'a');

}  // namespace

TEST(BadZip, TheDraftsThemselvesAreFine) {
  EXPECT_EQ(verdict(archive_of({stored("a", "one"), deflated("b/c", kText)})), "ok");
  EXPECT_EQ(verdict(archive_of({})), "ok");
}

TEST(BadZip, NamesThatLeaveTheStore) {
  for (const char* name : {"/etc/passwd", "../up", "a/../../b", "a//b", ".", "..", "/", ""})
    expect_refused(archive_of({stored("fine", "x"), stored(name, "x")}), std::string("entry 1 at byte "));
  expect_refused(archive_of({stored("../up", "x")}), "'../up'");
}

TEST(BadZip, SizesThatLie) {
  Draft draft = stored("k", "content");
  draft.central.size_bytes = 8;
  expect_refused(archive_of({draft}), "member 'k': is stored, and yet has 8 bytes in 7");
  draft.central.compressed_bytes = 8;
  expect_refused(archive_of({draft}), "runs into");
  expect_refused(archive_of({draft, stored("next", "x")}), "member 'k': at byte 0 runs into");
  draft = stored("k", "content");
  draft.central.size_bytes = draft.central.compressed_bytes = 6;
  expect_refused(archive_of({draft}), "member 'k': has other sizes in its local header");

  draft = deflated("k", kText);
  draft.central.size_bytes = draft.local.size_bytes = 499;
  expect_refused(archive_of({draft}), "member 'k': holds more than the 499 bytes");
  draft.central.size_bytes = draft.local.size_bytes = 501;
  expect_refused(archive_of({draft}), "member 'k': holds 500 bytes and declares 501");
  draft = deflated("k", kText);
  draft.data += "more";
  draft.central.compressed_bytes = draft.local.compressed_bytes = draft.data.size();
  expect_refused(archive_of({draft}), "member 'k': holds a deflate stream that ends at byte");
}

TEST(BadZip, BombsTakeNoMemory) {
  Draft draft = deflated("bomb", kText);
  draft.central.size_bytes = draft.local.size_bytes = std::uint64_t{1} << 50;
  reset_host_bytes_peak();
  const std::uint64_t before = host_bytes_peak();
  expect_refused(archive_of({draft}), "member 'bomb': cannot hold 1125899906842624 bytes in");
  EXPECT_LT(host_bytes_peak(), before + (1 << 20));
  draft.central.compressed_bytes = draft.local.compressed_bytes = std::uint64_t{1} << 50;
  expect_refused(archive_of({draft}), "member 'bomb': at byte 0 runs into");
  EXPECT_LT(host_bytes_peak(), before + (1 << 20));
}

TEST(BadZip, MembersThatOverlap) {
  const auto all_at_zero = [](Member& member) { member.header_offset = 0; };
  expect_refused(archive_of({stored("a", "x"), stored("a", "x")}, {}, all_at_zero), "member 'a': at byte 0 runs into");
  const auto in_the_directory = [](Member& member) { member.header_offset += 60; };
  expect_refused(archive_of({stored("a", "x")}, {}, in_the_directory), "member 'a': at byte 60 runs into");
  const auto far_out = [](Member& member) { member.header_offset = ~std::uint64_t{0} - 2; };
  expect_refused(archive_of({stored("a", "x")}, {}, far_out), "member 'a'");
  const auto inside = [](Member& member) { member.header_offset += 3; };
  expect_refused(archive_of({stored("a", std::string(90, 'x'))}, {}, inside), "member 'a': no local header stands");
}

TEST(BadZip, HeadersThatDisagree) {
  Draft draft = stored("k", "content");
  draft.local.crc32 ^= 1;
  expect_refused(archive_of({draft}), "member 'k': has another crc32 in its local header");
  draft = stored("k", "content");
  draft.local.method = zip::kDeflated;
  expect_refused(archive_of({draft}), "member 'k': has another compression method");
  std::string archive = archive_of({stored("k", "content")});
  archive[zip::kLocalBytes] = 'x';
  expect_refused(archive, "member 'k': has another name in its local header: 'x'");
}

TEST(BadZip, ContentThatWasChanged) {
  std::string archive = archive_of({stored("k", "content")});
  archive[zip::kLocalBytes + 1] ^= 1;
  expect_refused(archive, "member 'k': has a wrong crc32");
  Draft draft = deflated("k", kText);
  draft.data[0] = '\x07';  // a block type that does not exist
  expect_refused(archive_of({draft}), "member 'k': holds a corrupt deflate stream");
}

TEST(BadZip, EncryptedAndUnknownMethods) {
  Draft draft = stored("secret", "content");
  draft.central.flags = draft.local.flags = zip::kFlagEncrypted;
  expect_refused(archive_of({draft}), "member 'secret': is encrypted");
  draft = stored("k", "content");
  draft.central.method = draft.local.method = 93;
  expect_refused(archive_of({draft}), "member 'k': has compression method 93");
}

TEST(BadZip, DirectoriesThatDoNotAddUp) {
  const std::vector<Draft> drafts = {stored("a", "x"), stored("b", "y")};
  expect_refused(archive_of(drafts, [](zip::EndRecord& end) { end.members = 3; }),
                 "has 2 entries, the end record says 3");
  expect_refused(archive_of(drafts, [](zip::EndRecord& end) { end.members = 1; }),
                 "has 2 entries, the end record says 1");
  expect_refused(archive_of(drafts, [](zip::EndRecord& end) { end.directory_bytes -= 1; }),
                 "central directory, entry 0");
  expect_refused(archive_of(drafts, [](zip::EndRecord& end) { end.directory_bytes += 1; }), "does not fit");
  expect_refused(archive_of(drafts, [](zip::EndRecord& end) { end.directory_bytes = 1 << 30; }), "the archive was cut");
  expect_refused(archive_of(drafts, [](zip::EndRecord& end) { end.directory_offset = std::uint64_t{1} << 62; }),
                 "the archive was cut");
}

TEST(BadZip, EveryTruncationIsRefused) {
  const std::string whole = archive_of({stored("a", "one"), deflated("b/c", kText)});
  for (std::size_t size = 0; size < whole.size(); ++size) expect_refused(whole.substr(0, size), "");
  expect_refused(whole + "x", "no end-of-central-directory record");
}

// A flipped bit is found, or stands where nothing depends on it (versions, dates, attributes).
TEST(BadZip, AFlippedBitNeverChangesContent) {
  const std::string whole = archive_of({stored("a", "one"), deflated("b/c", kText)});
  int refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const TextSource source(damaged);
    const auto members = zip::read_directory(source);
    if (!members) {
      ++refused;
      continue;
    }
    for (const auto& [name, member] : *members) {
      const auto begin = zip::find_data(source, name, member);
      Bytes out;
      if (!begin || !zip::read_member(source, name, member, *begin, out))
        ++refused;
      else
        EXPECT_EQ(as_text(out), name == "a" ? "one" : kText) << "bit " << bit;
    }
  }
  EXPECT_GT(refused, static_cast<int>(whole.size()) * 4);
}
