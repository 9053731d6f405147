#include "codec/scratch.hpp"

#include <utility>
#include <vector>

namespace penstock {
namespace {

constexpr std::size_t kKeepBytes = std::size_t{8} << 20;
constexpr std::size_t kKeepItems = 2;

std::vector<std::unique_ptr<ScratchLease::Item>>& store() {
  thread_local std::vector<std::unique_ptr<ScratchLease::Item>> items;
  return items;
}

}  // namespace

ScratchLease::ScratchLease() {
  auto& items = store();
  items.reserve(kKeepItems);  // here, as the destructor must take no memory
  if (items.empty()) {
    item_ = std::make_unique<Item>();
  } else {
    item_ = std::move(items.back());
    items.pop_back();
  }
}

ScratchLease::~ScratchLease() {
  auto& items = store();
  if (items.size() >= kKeepItems) return;
  for (Bytes* bytes : {&item_->scratch.a, &item_->scratch.b, &item_->chunk, &item_->encoded})
    if (bytes->capacity() > kKeepBytes) bytes->release();
  items.push_back(std::move(item_));
}

}  // namespace penstock
