#include "errors.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <string>
#include <tuple>
#include <vector>

#include "penstock/store_options.hpp"

namespace penstock::python {
namespace {

/// errno that stands for a code whose Error carries none.
int default_errno(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return ENOENT;
    case ErrorCode::is_directory: return EISDIR;
    case ErrorCode::already_exists: return EEXIST;
    case ErrorCode::no_space: return ENOSPC;
    case ErrorCode::timed_out: return ETIMEDOUT;
    case ErrorCode::permission_denied: return EACCES;
    default: return EIO;
  }
}

/// The exception type that the table names.
nb::object exception_type(ErrorCode code) {
  const std::string name(error_python_type(code));
  const auto dot = name.find('.');
  if (dot == std::string::npos) return nb::module_::import_("builtins").attr(name.c_str());
  return nb::module_::import_("penstock._errors").attr(name.c_str() + dot + 1);
}

/// The message without the file's name in front: an OSError that knows the name prints it behind.
std::string without_name(const std::string& message, const std::string& filename) {
  for (const std::string& prefix : {filename + ": ", "./" + filename + ": "}) {
    if (message.starts_with(prefix)) return message.substr(prefix.size());
  }
  return message;
}

/// A hint in the words of the module, where options are keyword arguments.
std::string in_python(std::string hint) {
  const std::string option = "allow overwriting";
  const auto at = hint.find(option);
  return at == std::string::npos ? hint : hint.insert(at + option.size(), " (overwrite=True)");
}

/// Messages quote what was read, which need not be UTF-8.
nb::str text_of(const std::string& message) {
  PyObject* text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace");
  if (text == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

}  // namespace

void raise(const Error& told, const std::string& url) {
  const Error error = redacted(told);
  const std::string filename = redacted(url);
  nb::object type = exception_type(error.code());
  nb::object value;
  if (PyObject_IsSubclass(type.ptr(), PyExc_OSError) == 1) {
    const int number = error.system_errno() ? error.system_errno() : default_errno(error.code());
    value = filename.empty() ? type(number, text_of(error.message()))
                             : type(number, text_of(without_name(error.message(), filename)), filename);
  } else {
    value = type(text_of(error.message()));
  }
  value.attr("code") = std::string(error_name(error.code()));
  if (!error.hint().empty()) value.attr("add_note")(text_of(in_python(error.hint())));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())), value.ptr());
  throw nb::python_error();
}

void bind_errors(nb::module_& m) {
  m.def(
      "redacted", [](const std::string& text) { return redacted(text); }, nb::arg("text"),
      "A URL or message without what may be a secret.");
  m.def(
      "error_table",
      [] {
        std::vector<std::tuple<std::string, std::string, std::string, int>> rows;
#define PENSTOCK_ERROR(name, meaning, python, exit_code) rows.emplace_back(#name, meaning, python, exit_code);
#include "penstock/error_codes.def"
#undef PENSTOCK_ERROR
        return rows;
      },
      "All kinds of error: (name, meaning, Python exception, exit code of the command).");
  m.def(
      "raise_error",
      [](const std::string& name, const std::string& message, const std::string& hint, int number,
         const std::string& filename) {
#define PENSTOCK_ERROR(row, meaning, python, exit_code) \
  if (name == #row) raise(Error(ErrorCode::row, message).set_hint(hint).set_errno(number), filename);
#include "penstock/error_codes.def"
#undef PENSTOCK_ERROR
        throw nb::value_error("no such error");
      },
      nb::arg("name"), nb::arg("message"), nb::arg("hint") = "", nb::arg("number") = 0, nb::arg("filename") = "",
      "Raises the exception of a row of the table, as the library would.");
}

}  // namespace penstock::python
