// PROJ, where it is found: what its database says of systems and their parts, and texts of systems.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "penstock/error.hpp"

namespace penstock::proj {

/// What EPSG's codes are of: they are numbered by kind.  Values as PROJ's PJ_CATEGORY.
enum class Kind : std::uint8_t { ellipsoid, prime_meridian, datum, crs, operation };

/// Which well-known text: WKT2:2019, that of GDAL (WKT 1) or of ESRI.  Values as PROJ's PJ_WKT_TYPE.
enum class Text : std::uint8_t { wkt2 = 2, gdal = 4, esri = 5 };

/// An open database.  Not for two threads at once.  Errors of all of it: out_of_memory, as far as PROJ says so.
class Register {
 public:
  /// Looks for the library when it is first called.  Errors: unsupported (no PROJ: names what was looked for).
  static Result<Register> open();

  /// What has a code of EPSG, as PROJJSON.  Errors: not_found, naming the code.
  [[nodiscard]] Result<Json> entry(Kind kind, std::uint32_t code) const;
  /// A unit of measure with a code of EPSG that is a factor of the metre or the radian, as PROJJSON.  `category`:
  /// "linear" or "angular".  Errors: not_found; unsupported (of another category, or degrees written as minutes and
  /// seconds).
  [[nodiscard]] Result<Json> unit(std::uint32_t code, const char* category) const;
  /// Well-known text of any kind as PROJJSON.  Errors: invalid_metadata, with PROJ's reason.
  [[nodiscard]] Result<Json> of_wkt(const std::string& text) const;
  /// PROJJSON, a string of PROJ or the code of an authority as PROJJSON.  Errors: invalid_metadata, with PROJ's reason.
  [[nodiscard]] Result<Json> of_definition(const std::string& text) const;
  /// Well-known text of PROJJSON.  Errors: invalid_metadata and unsupported, with PROJ's reason.
  [[nodiscard]] Result<std::string> wkt(const Json& system, Text text = Text::wkt2) const;
  /// Whether two systems in PROJJSON are the same but for their names, and for the order of latitude and longitude;
  /// also not where PROJ does not take one of them.  Errors: out_of_memory.
  [[nodiscard]] Result<bool> same(const Json& one, const Json& other) const;

 private:
  explicit Register(void* context);
  static void keep(void* said, int level, const char* text) noexcept;
  [[nodiscard]] Result<Json> json_of(void* object) const;
  [[nodiscard]] Result<std::unique_ptr<void, void* (*)(void*)>> object_of(const std::string& definition) const;
  [[nodiscard]] std::string reason() const;
  [[nodiscard]] Error refused(ErrorCode code, std::string_view what, const std::string& why) const;
  std::unique_ptr<void, void (*)(void*)> context_;
  /// What PROJ would have written to standard error.
  struct Said {
    std::string last;
    bool ran_out = false;  ///< of memory, once: what PROJ made since may lack something
  };
  std::unique_ptr<Said> said_;
};

}  // namespace penstock::proj
