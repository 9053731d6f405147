#include "arrivals.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace penstock::python {

Arrivals::Arrivals() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Arrivals::~Arrivals() {
  if (fd_ >= 0) ::close(fd_);
}

void Arrivals::add(std::uint64_t number) {
  bool is_first = false;
  {
    const std::scoped_lock lock(mutex_);
    is_first = numbers_.empty();
    numbers_.push_back(number);
  }
  if (!is_first) return;  // who came before has called
  const std::uint64_t once = 1;
  (void)!::write(fd_, &once, sizeof once);
}

std::vector<std::uint64_t> Arrivals::take() {
  std::uint64_t calls = 0;
  (void)!::read(fd_, &calls, sizeof calls);
  const std::scoped_lock lock(mutex_);
  return std::exchange(numbers_, {});
}

}  // namespace penstock::python
