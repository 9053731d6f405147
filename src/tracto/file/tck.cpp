#include "tracto/file/tck.hpp"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "tracto/file/object_file.hpp"

namespace penstock::tracto {
namespace {

constexpr std::size_t kHeaderBytes = 128;

class TckWriter final : public TractogramWriter {
 public:
  explicit TckWriter(ObjectFile file) : file_(std::move(file)) {}

  Status begin() { return file_.writer->append(as_bytes(header())); }

  Status append(const StreamlineBatch& batch) override {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::array<float, 3>> out;
    out.reserve(batch.points.size() + batch.lengths.size());
    std::size_t at = 0;
    for (const std::uint32_t length : batch.lengths) {
      const auto points = batch.points.subspan(at, length);
      out.insert(out.end(), points.begin(), points.end());
      out.push_back({kNan, kNan, kNan});
      at += length;
    }
    count_ += batch.lengths.size();
    return file_.writer->append(std::as_bytes(std::span(out)));
  }

  Status finish(const std::function<Status()>& check) override {
    constexpr float kEnd = std::numeric_limits<float>::infinity();
    const std::array<float, 3> end = {kEnd, kEnd, kEnd};
    PENSTOCK_TRY(check());
    PENSTOCK_TRY(file_.writer->append(std::as_bytes(std::span(end))));
    PENSTOCK_TRY(file_.writer->write_at(0, as_bytes(header())));
    return file_.writer->commit();
  }

  [[nodiscard]] std::string_view format() const override { return "TCK"; }

 private:
  /// The same size whatever the count: it is written again at the end.
  [[nodiscard]] std::string header() const {
    std::string text =
        fmt::format("mrtrix tracks\ndatatype: Float32LE\ncount: {:012}\nfile: . {}\nEND\n", count_, kHeaderBytes);
    text.resize(kHeaderBytes, '\0');
    return text;
  }

  ObjectFile file_;
  std::uint64_t count_ = 0;
};

}  // namespace

Result<std::unique_ptr<TractogramWriter>> begin_tck(const std::string& path) {
  PENSTOCK_ASSIGN(ObjectFile file, ObjectFile::begin(path));
  auto writer = std::make_unique<TckWriter>(std::move(file));
  PENSTOCK_TRY(writer->begin());
  return std::unique_ptr<TractogramWriter>(std::move(writer));
}

}  // namespace penstock::tracto
