// Writers killed at any moment: every key holds one whole object, old or new.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "store/store_kinds.hpp"

using namespace penstock;
using penstock::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

constexpr int kKills = 25;
constexpr int kKeys = 4;

/// "GENERATION|" repeated to a length that depends on the generation.
std::string value_of(int generation) {
  std::string text;
  const std::string one = std::to_string(generation) + "|";
  while (text.size() < 20'000 + static_cast<std::size_t>(generation % 7) * 10'000) text += one;
  return text;
}
/// The generation of a whole value, -1 for anything else.
int generation_of(std::string_view text) {
  const int generation = std::atoi(std::string(text.substr(0, 9)).c_str());
  return text == value_of(generation) ? generation : -1;
}
std::string key_of(int i) { return "c/" + std::to_string(i); }

/// Never returns: all keys get the next generation, and again.
[[noreturn]] void write_for_ever(const std::string& url, int generation) {
  const auto store = open_store(url, StoreMode::create);
  if (!store) _exit(2);
  for (;; ++generation) {
    for (int i = 0; i < kKeys; ++i)
      if (!(*store)->set(key_of(i), as_bytes(value_of(generation)))) _exit(3);
    if (!(*store)->flush()) _exit(4);
  }
}

/// Starts a writer and kills it after `delay`.
void write_and_kill(const std::string& url, int generation, std::chrono::microseconds delay) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) write_for_ever(url, generation);
  ::usleep(static_cast<useconds_t>(delay.count()));
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the writer gave up with " << WEXITSTATUS(status);
}

std::vector<int> generations(const Store& store) {
  std::vector<int> all;
  for (int i = 0; i < kKeys; ++i) {
    Bytes out;
    const auto found = store.get(key_of(i), out);
    EXPECT_TRUE(found) << found.error().message();
    if (found && *found) all.push_back(generation_of(as_text(out)));
  }
  return all;
}

/// Kills writers of one store again and again; `check` looks at what stands after each.
void kill_often(const std::string& url, const std::function<void(const std::vector<int>&)>& check) {
  std::mt19937 random(20261121);
  int seen = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    write_and_kill(url, 1 + kill * 100'000, std::chrono::microseconds(1000 + random() % 30'000));
    const auto store = open_store(url, StoreMode::read);
    if (!store) {
      ASSERT_EQ(store.error().code(), ErrorCode::not_found) << store.error().message();
      ASSERT_EQ(seen, 0) << "the store is gone";
      continue;
    }
    const std::vector<int> now = generations(**store);
    if (!now.empty()) ++seen;
    for (const int generation : now) ASSERT_GE(generation, 1) << "half an object";
    check(now);
    ASSERT_EQ((*store)->list("").value().size(), now.size()) << "leftovers are listed";
  }
  EXPECT_GT(seen, kKills / 2) << "the writers got nowhere: the test shows nothing";
}

}  // namespace

TEST(KilledWriter, FilesAreOldOrNew) {
  const TemporaryDirectory scratch;
  kill_often(scratch / "store", [](const std::vector<int>& now) {
    // Keys are written in order: a later one is never newer.
    for (std::size_t i = 1; i < now.size(); ++i) EXPECT_LE(now[i], now[i - 1]);
  });
  const auto store = open_store(scratch / "store", StoreMode::read_write).value();
  ASSERT_TRUE(store->erase_prefix("c"));
  EXPECT_TRUE(fs::is_empty(scratch / "store")) << "what the killed left is cleared";
}

TEST(KilledWriter, AnArchiveIsOneGeneration) {
  const TemporaryDirectory scratch;
  kill_often(scratch / "store.zip", [](const std::vector<int>& now) {
    ASSERT_EQ(now.size(), static_cast<std::size_t>(kKeys));
    for (const int generation : now) EXPECT_EQ(generation, now[0]);
  });
  // The next writer takes over what the last one left.
  const auto store = open_store(scratch / "store.zip", StoreMode::read_write).value();
  ASSERT_TRUE(store->erase_prefix(""));
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1);
}
