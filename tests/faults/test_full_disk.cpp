// A disk that is full: an error that says so, the old object, and no litter.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "penstock/ops.hpp"
#include "store/in_child.hpp"
#include "store/posix.hpp"
#include "store/store_kinds.hpp"

using namespace penstock;
using penstock::test::in_child;
using penstock::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kDiskBytes = 1 << 20;

/// The same by a writer of parts.
std::string fill_bit_by_bit(Store& store) {
  const auto writer = store.writer("k");
  if (!writer) return "writer: " + writer.error().message();
  const std::string piece(100'000, 'n');
  Status status;
  for (std::size_t done = 0; status && done < 2 * kDiskBytes; done += piece.size())
    status = (*writer)->append(as_bytes(piece));
  if (status) return "2 MiB fit on a disk of 1 MiB, bit by bit";
  if (status.error().code() != ErrorCode::no_space) return "not no_space: " + status.error().message();
  if (status.error().message().find("k") == std::string::npos) return "no key: " + status.error().message();
  if ((*writer)->commit()) return "a writer that failed is committed";
  Bytes out;
  const auto found = store.get("k", out);
  return found && *found && out.size() == 1000 ? "" : "the old object is lost to a writer";
}

/// Fills until it fails.  "" when everything is as it must be, else what is wrong.
std::string fill(const std::string& url, const fs::path& directory) {
  const auto opened = open_store(url, StoreMode::create);
  if (!opened) return "open: " + opened.error().message();
  const auto& store = *opened;
  const std::string old_text(1000, 'o'), large(2 * kDiskBytes, 'n');
  if (!store->set("k", as_bytes(old_text))) return "the first write fails";
  const Status full = store->set("k", as_bytes(large));
  if (full) return "2 MiB fit on a disk of 1 MiB";
  if (full.error().code() != ErrorCode::no_space) return "not no_space: " + full.error().message();
  if (full.error().message().find("k") == std::string::npos) return "does not name the key: " + full.error().message();
  Bytes out;
  const auto found = store->get("k", out);
  if (!found || !*found || as_text(out) != old_text) return "the old object is lost";
  if (const std::string wrong = fill_bit_by_bit(*store); !wrong.empty()) return wrong;
  const Status again = store->set("small", as_bytes(old_text));
  if (!again) return "what fits is refused afterwards: " + again.error().message();
  const Status flushed = store->flush();
  if (!flushed) return "flush: " + flushed.error().message();
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.path().filename().string().starts_with(".")) return "litter: " + entry.path().string();
  const auto reopened = open_store(url, StoreMode::read);
  if (!reopened) return "reopen: " + reopened.error().message();
  const auto listed = (*reopened)->list("");
  if (!listed || listed->size() != 2) return "not two keys";
  return "";
}

/// Filters an array whose result does not fit.  "" when everything is as it must be.
std::string filter_onto(const std::string& url, const fs::path& directory) {
  const auto memory = open_store("memory://", StoreMode::create);
  if (!memory) return "memory: " + memory.error().message();
  Dataset dataset;
  dataset.shape = {64, 128, 128};
  dataset.chunk_shape = {8, 32, 64};
  dataset.dtype = DType::float32();
  dataset.codecs = {{"bytes", R"({"endian":"little"})"}};
  dataset.fill.assign(4, std::byte{0});
  auto from = Array::create(*memory, "a", dataset, Array::IfExists::fail);
  if (!from) return "source: " + from.error().message();
  std::vector<float> values(64 * 128 * 128, 1.5f);
  if (!from->write(whole(dataset.shape), Target{values.data(), {}, {}, {}}, {})) return "the source is not written";
  const OpCall call{"gaussian_filter", R"({"sigma":1})"};
  const auto lazy = LazyArray::make(*from, {&call, 1});
  if (!lazy) return "lazy: " + lazy.error().message();
  const auto store = open_store(url, StoreMode::create);
  if (!store) return "open: " + store.error().message();
  Options options;
  options.budget_bytes = 2 << 20;
  options.threads = 1;
  const auto full = lazy->write(*store, "b", {}, Array::IfExists::fail, Device(), options);
  if (full) return "4 MiB fit on a disk of 1 MiB";
  if (full.error().code() != ErrorCode::no_space) return "not no_space: " + full.error().message();
  if (Array::open(*store, "b")) return "half of the result opens";
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.path().filename().string().starts_with(".")) return "litter: " + entry.path().string();
  return "";
}

/// A file system of 1 MiB at `directory`, for this process only.  False where the system does not let us.
bool mount_small(const fs::path& directory) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return ::mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=1m") == 0;
}

class FullDisk : public testing::TestWithParam<const char*> {};

}  // namespace

// EFBIG, which every user can bring about.
TEST_P(FullDisk, LimitOfFileSize) {
  const TemporaryDirectory scratch;
  EXPECT_EQ(in_child([&]() -> std::string {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{kDiskBytes, kDiskBytes};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return "no limit";
              return fill(scratch / GetParam(), scratch.path());
            }),
            "");
}

// ENOSPC.  Where mounting is forbidden the kernel's always-full device stands for the disk.
TEST_P(FullDisk, SmallFileSystem) {
  const TemporaryDirectory scratch;
  EXPECT_EQ(in_child([&]() -> std::string {
              if (mount_small(scratch.path())) return fill(scratch / GetParam(), scratch.path());
              const FileDescriptor full = open_at(AT_FDCWD, "/dev/full", O_WRONLY);
              const ByteView bytes = as_bytes("x");
              const Status status = write_at(full.get(), 0, {&bytes, 1}, "/dev/full");
              if (status || status.error().system_errno() != ENOSPC) return "/dev/full is not full";
              return status.error().code() == ErrorCode::no_space ? "" : status.error().message();
            }),
            "");
}

TEST(FullDisk, AnOperatorLeavesNothingThatOpens) {
  const TemporaryDirectory scratch;
  EXPECT_EQ(in_child([&]() -> std::string {
              if (!mount_small(scratch.path())) return "";  // the limit of a file's size says nothing of many
              return filter_onto(scratch / "store", scratch.path());
            }),
            "");
}

INSTANTIATE_TEST_SUITE_P(Every, FullDisk, testing::Values("store", "store.zip"),
                         [](const auto& one) { return std::string(one.index == 0 ? "file" : "zip"); });
