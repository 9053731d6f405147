#include "foreign_memory.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <utility>

#include "penstock/device.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

/// Memory from two Python functions: allocate(bytes, stream) gives (address, object that holds it), free(address,
/// object, bytes, stream).  Most allocators take memory back in the order of the stream that it was allocated on.
class ForeignMemory final : public Memory {
 public:
  ForeignMemory(Device device, nb::object allocate, nb::object free)
      : device_(device), allocate_(std::move(allocate)), free_(std::move(free)) {}
  ~ForeignMemory() override {
    nb::gil_scoped_acquire gil;
    allocate_.reset();
    free_.reset();
  }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] std::uint64_t in_use_bytes() const override {
    const std::scoped_lock lock(mutex_);
    return in_use_;
  }
  [[nodiscard]] std::uint64_t peak_bytes() const override {
    const std::scoped_lock lock(mutex_);
    return peak_;
  }

 protected:
  Result<void*> do_allocate(std::uint64_t bytes, std::size_t alignment, const Stream& stream) override {
    nb::gil_scoped_acquire gil;
    try {
      const auto made = nb::cast<nb::tuple>(allocate_(bytes, handle_of(stream)));
      Block block{nb::object(made[1]), stream};
      void* const data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(made[0]));
      if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % alignment != 0) {
        free_(made[0], block.holder, bytes, handle_of(stream));
        return Error(ErrorCode::out_of_memory,
                     "the memory option gave no address at a multiple of " + std::to_string(alignment));
      }
      const std::scoped_lock lock(mutex_);
      blocks_.emplace(data, std::move(block));
      in_use_ += bytes;
      peak_ = std::max(peak_, in_use_);
      return data;
    } catch (nb::python_error& error) {
      return Error(ErrorCode::out_of_memory, std::string("the memory option's allocator: ") + describe(error));
    } catch (const std::bad_cast&) {
      return Error(ErrorCode::invalid_argument, "the memory option's allocator gave no address");
    }
  }
  void do_free(void* data, std::uint64_t bytes, const Stream& stream) noexcept override {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    Block block;
    {
      const std::scoped_lock lock(mutex_);
      const auto at = blocks_.find(data);
      block = std::move(at->second);
      blocks_.erase(at);
      in_use_ -= bytes;
    }
    if (stream.native() != block.stream.native()) wait(stream, block.stream);
    try {
      free_(reinterpret_cast<std::uintptr_t>(data), block.holder, bytes, handle_of(block.stream));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("penstock: the memory option's allocator");
    }
  }

 private:
  struct Block {
    nb::object holder;
    Stream stream;
  };
  static std::uintptr_t handle_of(const Stream& stream) { return reinterpret_cast<std::uintptr_t>(stream.native()); }
  static std::string describe(const nb::python_error& error) {
    return nb::cast<std::string>(nb::str(error.type().attr("__name__"))) + ": " +
           nb::cast<std::string>(nb::str(error.value()));
  }
  /// Later work of the allocating stream comes after what is in `stream`; without that it would be used again too
  /// early.
  static void wait(const Stream& stream, const Stream& allocating) noexcept {
    const auto mark = Event::record(stream);
    if (!mark || !mark->wait_on(allocating)) (void)stream.synchronize();
  }

  Device device_;
  nb::object allocate_, free_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
  std::uint64_t in_use_ = 0, peak_ = 0;
};

}  // namespace

void bind_foreign_memory(nb::module_& m) {
  nb::class_<Memory>(m, "Memory", "Where memory comes from.")
      .def_prop_ro("in_use_bytes", &Memory::in_use_bytes)
      .def_prop_ro("peak_bytes", &Memory::peak_bytes);
  m.def(
      "foreign_memory",
      [](bool is_cuda, int index, nb::object allocate, nb::object free) -> std::shared_ptr<Memory> {
        const Device device{is_cuda ? Device::Type::cuda : Device::Type::cpu, index};
        return std::make_shared<ForeignMemory>(device, std::move(allocate), std::move(free));
      },
      nb::arg("is_cuda"), nb::arg("index"), nb::arg("allocate"), nb::arg("free"),
      "allocate(bytes, stream) -> (address, holder); free(address, holder, bytes, stream).");
}

}  // namespace penstock::python
