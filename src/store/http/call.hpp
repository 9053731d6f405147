// Requests that are waited for: what lists, writes and removes.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "store/http/origin.hpp"

namespace penstock::http {

/// A request, and what is made of its answers.
struct Call {
  /// The request of an attempt.
  std::function<Result<Request>()> request;
  /// What follows an answer: over without an error when it is the one that was wanted.
  std::function<Next(const Head& head, const std::string& body, Detour& detour)> judge;
  std::string where;  ///< for messages
  std::uint64_t max_body_bytes = std::uint64_t{64} << 20;
};

/// The answer that was wanted.
struct Reply {
  Head head;
  std::string body;
};

/// Carries out all of them at once and waits.
std::vector<Result<Reply>> carry_out(std::span<const Call> calls, const CancelToken& cancel, const Patience& patience);
Result<Reply> carry_out(const Call& call, const CancelToken& cancel, const Patience& patience);

}  // namespace penstock::http
