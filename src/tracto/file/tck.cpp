#include "tracto/file/tck.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "tracto/file/object_file.hpp"

namespace penstock::tracto {
namespace {

constexpr std::size_t kHeaderBytes = 128, kPointBytes = 12;

class TckWriter final : public TractogramWriter {
 public:
  explicit TckWriter(ObjectFile file) : file_(std::move(file)) {}

  Status begin() { return file_.writer->append(as_bytes(header())); }

  Result<std::unique_ptr<PointSink>> begin(const StreamlineBatch& batch) override {
    auto sink = std::make_unique<Sink>(*file_.writer, end_, batch.lengths);
    count_ += batch.lengths.size();
    for (const std::uint32_t length : batch.lengths) end_ += (std::uint64_t{length} + 1) * kPointBytes;
    return std::unique_ptr<PointSink>(std::move(sink));
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
  /// A point that is no number behind each streamline.
  class Sink final : public PointSink {
   public:
    Sink(ObjectWriter& file, std::uint64_t at, std::span<const std::uint32_t> lengths)
        : file_(file), at_(at), lengths_(lengths.begin(), lengths.end()) {}
    Status write(ByteView points, PointType) override {
      out_.clear();
      std::array<float, 3> point = {};
      for (std::size_t at = 0; at < points.size(); at += sizeof point) {
        std::memcpy(point.data(), points.data() + at, sizeof point);
        if (done_ == 0) end_lines_without_points();
        out_.push_back(point);
        if (++done_ == lengths_[line_]) end_line();
      }
      return put();
    }
    Status end() override {
      out_.clear();
      end_lines_without_points();
      return put();
    }

   private:
    void end_line() {
      constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
      out_.push_back({kNan, kNan, kNan});
      ++line_;
      done_ = 0;
    }
    void end_lines_without_points() {
      while (line_ < lengths_.size() && lengths_[line_] == 0) end_line();
    }
    Status put() {
      const ByteView bytes = std::as_bytes(std::span(out_));
      const std::uint64_t at = std::exchange(at_, at_ + bytes.size());
      return file_.write_at(at, bytes);
    }
    ObjectWriter& file_;
    std::uint64_t at_;
    std::vector<std::uint32_t> lengths_;
    std::size_t line_ = 0;    ///< the streamline that comes
    std::uint32_t done_ = 0;  ///< points of it
    std::vector<std::array<float, 3>> out_;
  };

  /// The same size whatever the count: it is written again at the end.
  [[nodiscard]] std::string header() const {
    std::string text =
        fmt::format("mrtrix tracks\ndatatype: Float32LE\ncount: {:012}\nfile: . {}\nEND\n", count_, kHeaderBytes);
    text.resize(kHeaderBytes, '\0');
    return text;
  }

  ObjectFile file_;
  std::uint64_t count_ = 0, end_ = kHeaderBytes;
};

}  // namespace

Result<std::unique_ptr<TractogramWriter>> begin_tck(const std::string& path) {
  PENSTOCK_ASSIGN(ObjectFile file, ObjectFile::begin(path));
  auto writer = std::make_unique<TckWriter>(std::move(file));
  PENSTOCK_TRY(writer->begin());
  return std::unique_ptr<TractogramWriter>(std::move(writer));
}

}  // namespace penstock::tracto
