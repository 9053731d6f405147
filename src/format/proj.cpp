// Well-known text of coordinate reference systems, by PROJ where it is found.
#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <mutex>

#include "penstock/raster_info.hpp"

namespace penstock {
namespace {

// The few functions of PROJ 6 and later that are called, as its reference documents them (proj.h, "C API for
// ISO-19111").
struct Proj {
  void* (*context_create)() = nullptr;
  void* (*context_destroy)(void* context) = nullptr;
  void* (*create_from_database)(void* context, const char* authority, const char* code, int category, int alternative,
                                const char* const* options) = nullptr;
  const char* (*as_wkt)(void* context, const void* object, int type, const char* const* options) = nullptr;
  void* (*destroy)(void* object) = nullptr;
};
constexpr int kCategoryCrs = 3, kWkt2_2019 = 2;  // PJ_CATEGORY_CRS, PJ_WKT2_2019

Result<Proj> load() {
  std::string tried;
  for (const char* const name : {"libproj.so.25", "libproj.so.22", "libproj.so"}) {
    void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", name);
    if (handle == nullptr) continue;
    Proj proj;
    const auto find = [handle](const char* function, auto& into) {
      into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(::dlsym(handle, function));
      return into != nullptr;
    };
    if (find("proj_context_create", proj.context_create) && find("proj_context_destroy", proj.context_destroy) &&
        find("proj_create_from_database", proj.create_from_database) && find("proj_as_wkt", proj.as_wkt) &&
        find("proj_destroy", proj.destroy))
      return proj;
    ::dlclose(handle);
  }
  return Error(ErrorCode::unsupported, fmt::format("well-known text of a CRS needs PROJ: none of {} is there", tried))
      .set_hint("the package libproj25 (or libproj22) brings it; EPSG codes need none.");
}

Result<Proj> library() {
  static std::mutex& mutex = *new std::mutex;
  static std::optional<Proj>& loaded = *new std::optional<Proj>;
  const std::scoped_lock lock(mutex);
  if (!loaded) {
    PENSTOCK_ASSIGN(loaded, load());
  }
  return *loaded;
}

}  // namespace

Result<std::string> crs_wkt(const Crs& crs) {
  if (!crs.epsg)
    return Error(ErrorCode::unsupported,
                 fmt::format("the CRS{} has no EPSG code: it is defined by parameters, which are not read",
                             crs.name.empty() ? "" : " \"" + crs.name + "\""));
  PENSTOCK_ASSIGN(const Proj proj, library());
  const std::unique_ptr<void, void* (*)(void*)> context(proj.context_create(), proj.context_destroy);
  if (context == nullptr) return Error(ErrorCode::out_of_memory, "no memory for PROJ");
  const std::string code = std::to_string(*crs.epsg);
  const std::unique_ptr<void, void* (*)(void*)> found(
      proj.create_from_database(context.get(), "EPSG", code.c_str(), kCategoryCrs, 0, nullptr), proj.destroy);
  if (found == nullptr)
    return Error(ErrorCode::not_found, fmt::format("PROJ's database has no EPSG:{}, or is not found", code))
        .set_hint("the package proj-data, or PROJ_DATA in the environment, tells it where proj.db is.");
  const char* const text = proj.as_wkt(context.get(), found.get(), kWkt2_2019, nullptr);
  if (text == nullptr) return Error(ErrorCode::unsupported, fmt::format("EPSG:{} has no well-known text", code));
  return std::string(text);
}

}  // namespace penstock
