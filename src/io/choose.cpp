#include "io/choose.hpp"

#include "io/page_cache.hpp"

namespace penstock::io {
namespace {

/// Below this a request is over before the disk's queue is full, and the next one may want the same pages.
constexpr std::uint64_t kMinDirectBytes = std::uint64_t{4} << 20;

/// Why `automatic` does not go past the page cache; empty: it does.
std::string why_not_direct(const OpenFile& file, Direction direction, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes < kMinDirectBytes) return "less than 4 MiB";
  if (direction == Direction::read && is_warm(file, offset, bytes)) return "warm: the bytes are in the page cache";
  return {};
}

}  // namespace

Result<Choice> choose(OpenFile& file, Direction direction, std::uint64_t offset, std::uint64_t bytes) {
  const bool reading = direction == Direction::read;
  const IoEngine asked = reading ? file.options.reads : file.options.writes;
  std::string passed_over;
  for (const Engine& engine : engines()) {
    if (asked != IoEngine::automatic && asked != engine.kind) continue;
    if (asked == IoEngine::automatic && engine.kind == IoEngine::direct) {
      passed_over = why_not_direct(file, direction, offset, bytes);
      if (passed_over.empty()) passed_over = engine.unasked(file);
      if (!passed_over.empty()) continue;
    }
    const Offer offer = engine.offer(file);
    if (!offer.serves && asked != IoEngine::automatic)
      return Error(ErrorCode::unsupported,
                   file.path + ": not by " + std::string(engine.name) + ": " + std::string(offer.why))
          .set_hint("Leave the choice to penstock, or open the file with another engine.");
    if (!offer.serves) {
      passed_over = "not direct: " + std::string(offer.why);
      continue;
    }
    std::string why = asked != IoEngine::automatic      ? "asked for"
                      : engine.kind == IoEngine::direct ? (reading ? "cold; " : "large; ") + std::string(offer.why)
                                                        : passed_over;
    return Choice{&engine, offer, std::move(why)};
  }
  return Error(ErrorCode::internal, file.path + ": no engine");
}

}  // namespace penstock::io
