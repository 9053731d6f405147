#include "store/http/pace.hpp"

#include <algorithm>

namespace penstock::http {
namespace {

constexpr double kNearUs = 8000;  // object stores of a cloud take longer
constexpr std::uint64_t kNearBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kAlways = 4;
constexpr double kForget = 1.02;  // the quickest answer counts for some dozens
constexpr std::size_t kMaxServers = 256;

}  // namespace

std::optional<Pace::Ticket> Pace::begin(const void* place, std::optional<std::uint64_t> bytes) {
  if (servers_.size() > kMaxServers) std::erase_if(servers_, [](const auto& one) { return one.second.under_way == 0; });
  Server& server = servers_[place];
  if (place == nullptr) bytes = 0;
  const std::uint64_t expected = bytes.value_or(static_cast<std::uint64_t>(server.body_bytes));
  const bool near = server.quickest_us && *server.quickest_us < kNearUs;
  if (near && server.under_way >= kAlways && server.under_way_bytes + expected > kNearBytes) return std::nullopt;
  server.under_way += 1;
  server.under_way_bytes += expected;
  return Ticket{place, expected};
}

void Pace::end(const Ticket& ticket, std::optional<std::chrono::microseconds> first_byte, std::uint64_t body_bytes) {
  const auto found = servers_.find(ticket.server);
  if (found == servers_.end()) return;
  Server& server = found->second;
  server.under_way -= 1;
  server.under_way_bytes -= ticket.bytes;
  if (!first_byte) return;
  const auto took = static_cast<double>(first_byte->count());
  server.quickest_us = std::min(took, server.quickest_us.value_or(took) * kForget);
  server.body_bytes += (static_cast<double>(body_bytes) - server.body_bytes) / 2;
}

}  // namespace penstock::http
