#include "format/proj.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <type_traits>

#include "core/json.hpp"

namespace penstock::proj {
namespace {

using Strings = const char* const*;

// The few functions of PROJ 6.2 and later that are called, as its reference documents them (proj.h, "C API for
// ISO-19111").
struct Library {
  void* (*context_create)() = nullptr;
  void* (*context_destroy)(void* context) = nullptr;
  int (*log_level)(void* context, int level) = nullptr;
  void (*log_func)(void* context, void* data, void (*)(void* data, int level, const char* text)) = nullptr;
  void* (*create)(void* context, const char* definition) = nullptr;
  void* (*create_from_database)(void* context, const char* authority, const char* code, int category, int alternative,
                                Strings options) = nullptr;
  void* (*create_from_wkt)(void* context, const char* wkt, Strings options, char*** warnings, char*** errors) = nullptr;
  int (*unit)(void* context, const char* authority, const char* code, const char** name, double* factor,
              const char** category) = nullptr;
  const char* (*as_wkt)(void* context, const void* object, int type, Strings options) = nullptr;
  const char* (*as_json)(void* context, const void* object, Strings options) = nullptr;
  void* (*sub_crs)(void* context, const void* object, int index) = nullptr;
  int (*is_equivalent)(const void* object, const void* other, int criterion) = nullptr;
  void* (*destroy)(void* object) = nullptr;
  void (*string_list_destroy)(char** list) = nullptr;
};
constexpr int kLogErrors = 1;  // PJ_LOG_ERROR

bool find_all(void* handle, Library& proj) {
  const auto find = [handle](const char* function, auto& into) {
    into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(::dlsym(handle, function));
    return into != nullptr;
  };
  return find("proj_context_create", proj.context_create) && find("proj_context_destroy", proj.context_destroy) &&
         find("proj_log_level", proj.log_level) && find("proj_log_func", proj.log_func) &&
         find("proj_create", proj.create) && find("proj_create_from_database", proj.create_from_database) &&
         find("proj_create_from_wkt", proj.create_from_wkt) && find("proj_uom_get_info_from_database", proj.unit) &&
         find("proj_as_wkt", proj.as_wkt) && find("proj_as_projjson", proj.as_json) &&
         find("proj_crs_get_sub_crs", proj.sub_crs) && find("proj_is_equivalent_to", proj.is_equivalent) &&
         find("proj_destroy", proj.destroy) && find("proj_string_list_destroy", proj.string_list_destroy);
}

/// What the dynamic linker of glibc says where memory runs out.
bool is_of_memory(std::string_view why) {
  return why.find("memory") != std::string_view::npos || why.find("shared object descriptor") != std::string_view::npos;
}

Result<Library> load() {
  std::string tried;
  for (const char* const name : {"libproj.so.25", "libproj.so.22", "libproj.so"}) {
    void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", name);
    const char* const why = handle == nullptr ? ::dlerror() : nullptr;
    if (why != nullptr && is_of_memory(why)) return Error(ErrorCode::out_of_memory, "no memory to load PROJ");
    if (handle == nullptr) continue;
    Library proj;
    if (find_all(handle, proj)) return proj;
    ::dlclose(handle);
  }
  return Error(ErrorCode::unsupported, fmt::format("well-known text of a CRS needs PROJ: none of {} is there", tried))
      .set_hint("the package libproj25 (or libproj22) brings it; EPSG codes need none.");
}

/// Kept until the process ends: contexts may outlive statics.
Result<const Library*> library() {
  static std::mutex& mutex = *new std::mutex;
  static std::optional<Library>& loaded = *new std::optional<Library>;
  const std::scoped_lock lock(mutex);
  if (!loaded) {
    PENSTOCK_ASSIGN(loaded, load());
  }
  return &*loaded;
}

/// Only where a Register is open, for which it was loaded.
const Library& loaded() { return **library(); }

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::ellipsoid: return "ellipsoid";
    case Kind::prime_meridian: return "prime meridian";
    case Kind::datum: return "datum";
    case Kind::crs: return "coordinate reference system";
    case Kind::operation: return "projection";
  }
  return "";
}

using Object = std::unique_ptr<void, void* (*)(void*)>;

/// As the C++ and the SQLite that PROJ is made with say it; before it may stand a part of a text that is not ours.
bool tells_of_memory(std::string_view text) { return text.ends_with("bad_alloc") || text.ends_with("out of memory"); }

}  // namespace

Register::Register(void* context)
    : context_(context, [](void* of) { (void)loaded().context_destroy(of); }), said_(std::make_unique<Said>()) {
  (void)loaded().log_level(context, kLogErrors);
  loaded().log_func(context, said_.get(), keep);
}

Result<Register> Register::open() {
  PENSTOCK_ASSIGN(const Library* const proj, library());
  void* const context = proj->context_create();
  if (context == nullptr) return Error(ErrorCode::out_of_memory, "no memory for PROJ");
  return Register(context);
}

void Register::keep(void* into, int /*level*/, const char* text) noexcept {
  Said& said = *static_cast<Said*>(into);
  said.ran_out |= tells_of_memory(text);
  try {
    said.last = text;
  } catch (const std::exception&) {  // PROJ is C: nothing may pass through it
    said.ran_out = true;
  }
}

std::string Register::reason() const { return said_->last.empty() ? "PROJ does not say why" : said_->last; }

Error Register::refused(ErrorCode code, std::string_view what, const std::string& why) const {
  if (said_->ran_out || tells_of_memory(why)) return {ErrorCode::out_of_memory, "out of memory, in PROJ"};
  return {code, fmt::format("{}: {}", what, why)};
}

Result<Json> Register::json_of(void* object) const {
  const char* const text = loaded().as_json(context_.get(), object, nullptr);
  if (text == nullptr || said_->ran_out)
    return refused(ErrorCode::unsupported, "PROJ cannot write it as PROJJSON", reason());
  PENSTOCK_ASSIGN_IN(Json json, parse_json(text), "PROJJSON of PROJ");
  json.erase("$schema");  // parts are put together
  // Where the whole has a code, its text has none of its parts.
  if (const auto parts = json.find("components"); parts != json.end() && parts->is_array())
    for (std::size_t i = 0; i < parts->size(); ++i) {
      const Object part(loaded().sub_crs(context_.get(), object, static_cast<int>(i)), loaded().destroy);
      if (part == nullptr) continue;
      PENSTOCK_ASSIGN((*parts)[i], json_of(part.get()));
    }
  return json;
}

Result<Json> Register::entry(Kind kind, std::uint32_t code) const {
  const std::string digits = std::to_string(code);
  const Object found(
      loaded().create_from_database(context_.get(), "EPSG", digits.c_str(), static_cast<int>(kind), 0, nullptr),
      loaded().destroy);
  if (found != nullptr) return json_of(found.get());
  const std::string what = fmt::format("PROJ's database has no {} EPSG:{}, or is not found", name_of(kind), digits);
  if (said_->ran_out) return refused(ErrorCode::out_of_memory, "", "");
  return Error(ErrorCode::not_found, what)
      .set_hint("the package proj-data, or PROJ_DATA in the environment, tells it where proj.db is.");
}

Result<Json> Register::unit(std::uint32_t code, const char* category) const {
  const std::string digits = std::to_string(code);
  const char *name = nullptr, *found = nullptr;
  double factor = 0;
  if (loaded().unit(context_.get(), "EPSG", digits.c_str(), &name, &factor, &found) == 0 || name == nullptr ||
      found == nullptr)
    return Error(ErrorCode::not_found, fmt::format("PROJ's database has no unit EPSG:{}, or is not found", digits))
        .set_hint("the package proj-data, or PROJ_DATA in the environment, tells it where proj.db is.");
  if (std::string_view(found) != category || !std::isfinite(factor) || factor <= 0)
    return Error(ErrorCode::unsupported,
                 fmt::format("unit EPSG:{} ({}) is no {} unit with a factor", digits, name, category));
  return Json{{"type", std::string_view(category) == "linear" ? "LinearUnit" : "AngularUnit"},
              {"name", name},
              {"conversion_factor", factor},
              {"id", {{"authority", "EPSG"}, {"code", code}}}};
}

Result<Json> Register::of_wkt(const std::string& text) const {
  char** errors = nullptr;
  const Object made(loaded().create_from_wkt(context_.get(), text.c_str(), nullptr, nullptr, &errors),
                    loaded().destroy);
  std::string why = errors != nullptr && *errors != nullptr ? *errors : reason();
  loaded().string_list_destroy(errors);
  if (made == nullptr) return refused(ErrorCode::invalid_metadata, "well-known text that PROJ does not take", why);
  return json_of(made.get());
}

Result<Json> Register::of_definition(const std::string& text) const {
  PENSTOCK_ASSIGN(const Object made, object_of(text));
  return json_of(made.get());
}

Result<Object> Register::object_of(const std::string& definition) const {
  Object made(loaded().create(context_.get(), definition.c_str()), loaded().destroy);
  if (made == nullptr || said_->ran_out)
    return refused(ErrorCode::invalid_metadata, "PROJ does not take the system", reason());
  return made;
}

Result<std::string> Register::wkt(const Json& system, Text text) const {
  PENSTOCK_ASSIGN(const Object made, object_of(dump_json(system)));
  const char* const options[] = {"MULTILINE=NO", nullptr};
  const char* const found = loaded().as_wkt(context_.get(), made.get(), static_cast<int>(text), options);
  if (found == nullptr || said_->ran_out)
    return refused(ErrorCode::unsupported, "PROJ has no well-known text of the system", reason());
  return std::string(found);
}

Result<bool> Register::same(const Json& one, const Json& other) const {
  constexpr int kButForAxisOrder = 2;  // PJ_COMP_EQUIVALENT_EXCEPT_AXIS_ORDER_GEOGCRS
  const Result<Object> a = object_of(dump_json(one)), b = object_of(dump_json(other));
  for (const Result<Object>* const made : {&a, &b})
    if (!*made && made->error().code() == ErrorCode::out_of_memory) return made->error();
  if (!a || !b) return false;
  const bool is_same = loaded().is_equivalent(a->get(), b->get(), kButForAxisOrder) != 0;
  if (said_->ran_out) return refused(ErrorCode::out_of_memory, "", "");
  return is_same;
}

}  // namespace penstock::proj
