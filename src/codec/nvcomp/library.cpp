#include "codec/nvcomp/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <mutex>

namespace penstock::nvcomp {
namespace {

constexpr std::uint32_t kMajor = 6;

/// nvcompProperties_t
struct Properties {
  std::uint32_t version = 0;  ///< 1000 major + 100 minor + patch
  std::uint32_t cudart_version = 0;
};
using GetProperties = Outcome (*)(Properties*);

Error unusable(std::string why) {
  return Error(ErrorCode::unsupported, std::move(why))
      .set_hint(
          "`pip install nvidia-libnvcomp-cu13` brings nvCOMP 6; PENSTOCK_NVCOMP_LIBRARY names its libnvcomp.so.6.");
}

template <class Function>
Status find(void* library, const std::string& name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name.c_str()));
  if (function == nullptr) return unusable("it has no " + name);
  return {};
}

Result<Library> open(const std::string& file) {
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return unusable(::dlerror());
  Library library;
  library.file = file;
  const auto load = [&]() -> Status {
    GetProperties get_properties = nullptr;
    PENSTOCK_TRY(find(handle, "nvcompGetProperties", get_properties));
    Properties properties;
    if (get_properties(&properties) != kSuccess) return unusable("it does not tell its version");
    const std::uint32_t v = properties.version;
    library.version = fmt::format("{}.{}.{}", v / 1000, v % 1000 / 100, v % 100);
    if (v / 1000 != kMajor) return unusable(fmt::format("nvCOMP {}, but {}.x is needed", library.version, kMajor));
    constexpr const char* kNames[] = {"Zstd", "LZ4", "Gzip"};  // as in Format
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      const std::string prefix = std::string("nvcompBatched") + kNames[i] + "Decompress";
      PENSTOCK_TRY(find(handle, prefix + "GetTempSize", library.functions[i].temp_size));
      PENSTOCK_TRY(find(handle, prefix + "Async", library.functions[i].decompress));
    }
    return {};
  };
  Status loaded = load();
  if (loaded) return library;
  ::dlclose(handle);
  loaded.error().add_context(file);
  return std::move(loaded).error();
}

}  // namespace

Result<std::shared_ptr<const Library>> load(const std::string& file) {
  static std::mutex& mutex = *new std::mutex;
  static auto& loaded = *new std::map<std::string, std::shared_ptr<const Library>>;
  const std::scoped_lock lock(mutex);
  auto& library = loaded[file];
  if (!library) {
    PENSTOCK_ASSIGN_IN(Library found, open(file.empty() ? fmt::format("libnvcomp.so.{}", kMajor) : file), "nvCOMP");
    library = std::make_shared<const Library>(std::move(found));
  }
  return library;
}

}  // namespace penstock::nvcomp
