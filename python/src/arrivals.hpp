// Requests that have ended, told to an event loop of Python.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

namespace penstock::python {

/// Threads of the library add numbers without the GIL; the loop watches the descriptor and takes all there are at once.
class Arrivals {
 public:
  Arrivals();
  ~Arrivals();
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  [[nodiscard]] int descriptor() const { return fd_; }
  void add(std::uint64_t number);
  std::vector<std::uint64_t> take();

 private:
  const int fd_;  ///< eventfd
  std::mutex mutex_;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace penstock::python
