// What one thread needs to move pieces of host memory: memory of its own where blocks are not those of the request.
#pragma once
#include <cstdlib>
#include <memory>

#include "io/request.hpp"

namespace penstock::io {

class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Status move(const Piece& piece);
  /// Gives its memory back.
  void release();

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  Status move_bytes(const Piece& piece);
  Result<ByteSpan> bounce(std::uint64_t bytes);

  std::unique_ptr<std::byte, Free> bounce_;
  std::uint64_t bounce_bytes_ = 0;
};

}  // namespace penstock::io
