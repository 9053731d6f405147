#include "cli/look/elements.hpp"

#include <fmt/format.h>

#include <cstring>

#include "cli/look/datetime.hpp"
#include "penstock/fill.hpp"

namespace penstock::cli {
namespace {

/// Numbers that JSON has no word for are quoted there; people read them without.
bool quotes_are_noise(const DType& dtype) { return dtype.kind == Kind::floating || dtype.kind == Kind::bfloat; }

/// The shortest text that is this float32 and no other; JSON has the digits of the double that is equal to it.
std::string float32_text(const std::byte* element) {
  float value = 0;
  std::memcpy(&value, element, sizeof value);
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// A time as people write it; a span of time is a number of units, or none.
std::string time_text(const DType& dtype, const std::byte* element) {
  std::int64_t value = 0;
  std::memcpy(&value, element, sizeof value);
  if (dtype.kind == Kind::datetime) return datetime_text(dtype, value);
  return value == INT64_MIN ? "NaT" : std::to_string(value);
}

Result<std::string> element_json(const DType& dtype, const std::byte* element) {
  if (!dtype.is_vlen()) return fill_to_json(dtype, {element, dtype.size_bytes});
  VlenRef value;
  std::memcpy(&value, element, sizeof value);
  return fill_to_json(dtype, {value.data, static_cast<std::size_t>(value.size)});
}

}  // namespace

ElementWriter::ElementWriter(Output& out, Layout layout, DType dtype, Shape shape)
    : out_(out), layout_(layout), dtype_(std::move(dtype)), shape_(std::move(shape)), index_(shape_.size(), 0) {
  for (const std::uint64_t n : shape_) empty_ = empty_ || n == 0;
}

Status ElementWriter::write(ByteView elements) {
  const std::size_t size = dtype_.size_bytes;
  for (std::size_t at = 0; at + size <= elements.size(); at += size) {
    PENSTOCK_ASSIGN(const std::string value, text_of(elements.data() + at));
    before();
    out_.print(value);
    after();
    PENSTOCK_TRY(out_.status());
  }
  return {};
}

Result<std::string> ElementWriter::text_of(const std::byte* element) const {
  if (layout_ != Layout::lines && (dtype_.kind == Kind::datetime || dtype_.kind == Kind::timedelta)) {
    const std::string time = time_text(dtype_, element);
    const bool number = dtype_.kind == Kind::timedelta && time != "NaT";
    return layout_ == Layout::text || number ? time : "\"" + time + "\"";
  }
  PENSTOCK_ASSIGN(std::string value, element_json(dtype_, element));
  if (layout_ != Layout::text) return value;
  if (quotes_are_noise(dtype_) && value.size() > 2 && value.front() == '"') return value.substr(1, value.size() - 2);
  if (dtype_ == DType::float32()) return float32_text(element);
  return value;
}

void ElementWriter::before() {
  if (layout_ != Layout::json) return;
  std::size_t opened = 0;  // axes that begin here
  while (opened < index_.size() && index_[index_.size() - 1 - opened] == 0) ++opened;
  if (opened < index_.size()) out_.print(opened > 0 ? ",\n" : ", ");
  out_.print(std::string(opened, '['));
}

void ElementWriter::after() {
  std::size_t closed = 0;  // axes that end here
  for (std::size_t d = index_.size(); d-- > 0; ++closed) {
    if (++index_[d] < shape_[d]) break;
    index_[d] = 0;
  }
  if (layout_ == Layout::json) out_.print(std::string(closed, ']'));
  if (layout_ == Layout::lines) out_.print("\n");
  if (layout_ == Layout::text) {
    if (closed == 0 && !index_.empty()) return out_.print(" ");
    out_.print("\n");
    if (closed > 1 && closed < index_.size()) out_.print("\n");
  }
}

void ElementWriter::finish() {
  if (layout_ != Layout::json) return;
  out_.print(empty_ ? "[]\n" : "\n");
}

}  // namespace penstock::cli
