// Errors as values.  Error carries what went wrong, and on the way up each caller adds where: a store, a key, a codec.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace penstock {

/// Kinds of error; the rows are in error_codes.def.
enum class ErrorCode : std::uint8_t {
#define PENSTOCK_ERROR(name, meaning, python, exit_code) name,
#include "penstock/api.hpp"
#include "penstock/error_codes.def"
#undef PENSTOCK_ERROR
};

/// Name of the code as written in error_codes.def, e.g. "corrupt_data".
[[nodiscard]] PENSTOCK_API std::string_view error_name(ErrorCode code);
/// What the code means, e.g. "corrupt data".
[[nodiscard]] PENSTOCK_API std::string_view error_meaning(ErrorCode code);
/// Python exception that the bindings raise for the code, e.g. "penstock.CorruptDataError".
[[nodiscard]] PENSTOCK_API std::string_view error_python_type(ErrorCode code);
/// Exit code of the command `penstock` for the code.
[[nodiscard]] PENSTOCK_API int error_exit_code(ErrorCode code);

/// One failure: a code, a message, and the context added on the way up, outermost first.
class PENSTOCK_API Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] ErrorCode code() const { return code_; }
  /// The message with its context: "vol.zarr/c/0/3/7: codec zstd: literals run past the block at byte 4711".
  [[nodiscard]] const std::string& message() const { return message_; }
  /// Second line for the person: what to do.  Empty when there is nothing to say.
  [[nodiscard]] const std::string& hint() const { return hint_; }
  /// errno of the system call that failed, 0 if none.
  [[nodiscard]] int system_errno() const { return errno_; }

  /// Puts `where` in front of the message.
  Error& add_context(std::string_view where);
  Error& set_hint(std::string hint) {
    hint_ = std::move(hint);
    return *this;
  }
  Error& set_errno(int value) {
    errno_ = value;
    return *this;
  }

 private:
  ErrorCode code_;
  int errno_ = 0;
  std::string message_;
  std::string hint_;
};

/// Thrown by Result<T>::value() only; the library itself never throws on purpose.
class PENSTOCK_API Exception : public std::runtime_error {
 public:
  explicit Exception(Error error) : std::runtime_error(error.message()), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
};

/// Either a T or an Error; the members are spelled as those of C++23 std::expected<T, Error>.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }
  /// The value, or throws Exception.
  T& value() & {
    check();
    return **this;
  }
  const T& value() const& {
    check();
    return **this;
  }
  /// By value, unlike std::expected: `for (auto& x : f().value())` holds on to what it walks over.
  T value() && {
    check();
    return std::move(**this);
  }
  T value_or(T other) && { return has_value() ? std::move(**this) : std::move(other); }

 private:
  void check() const {
    if (!has_value()) throw Exception(error());
  }
  std::variant<T, Error> state_;
};

/// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }
  void value() const {
    if (!has_value()) throw Exception(error());
  }

 private:
  std::variant<std::monostate, Error> state_;
};

/// Success or an Error, where there is no value to give.
using Status = Result<void>;

}  // namespace penstock

#define PENSTOCK_CAT_(a, b) a##b
#define PENSTOCK_CAT(a, b) PENSTOCK_CAT_(a, b)
/// Evaluates a Result; on error returns it from the enclosing function.
#define PENSTOCK_TRY(expr)                                              \
  do {                                                                  \
    if (auto penstock_result_ = (expr); !penstock_result_) [[unlikely]] \
      return std::move(penstock_result_).error();                       \
  } while (false)
/// `PENSTOCK_ASSIGN(auto x, f())`: declares x from the value of f(), or returns its error.
#define PENSTOCK_ASSIGN(decl, expr) PENSTOCK_ASSIGN_(PENSTOCK_CAT(penstock_r_, __LINE__), decl, expr)
#define PENSTOCK_ASSIGN_(tmp, decl, expr) \
  auto tmp = (expr);                      \
  if (!tmp) [[unlikely]]                  \
    return std::move(tmp).error();        \
  decl = *std::move(tmp)
/// The same, with context put in front of the error: `PENSTOCK_ASSIGN_IN(auto x, f(), key)`.
#define PENSTOCK_ASSIGN_IN(decl, expr, where) \
  PENSTOCK_ASSIGN_IN_(PENSTOCK_CAT(penstock_r_, __LINE__), decl, expr, where)
#define PENSTOCK_ASSIGN_IN_(tmp, decl, expr, where)              \
  auto tmp = (expr);                                             \
  if (!tmp) [[unlikely]]                                         \
    return std::move(std::move(tmp).error().add_context(where)); \
  decl = *std::move(tmp)
#define PENSTOCK_TRY_IN(expr, where)                                            \
  do {                                                                          \
    if (auto penstock_result_ = (expr); !penstock_result_) [[unlikely]]         \
      return std::move(std::move(penstock_result_).error().add_context(where)); \
  } while (false)
