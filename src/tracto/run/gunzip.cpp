#include "tracto/run/gunzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>

#include "store/posix.hpp"

namespace penstock::tracto {

struct GunzipFile::State {
  std::FILE* file = nullptr;
  z_stream stream = {};
  bool started = false, ended = false;
  std::array<unsigned char, 256 << 10> input;
};

GunzipFile::GunzipFile(std::string path) : path_(std::move(path)), state_(std::make_unique<State>()) {}

GunzipFile::~GunzipFile() {
  if (state_->started) inflateEnd(&state_->stream);
  if (state_->file != nullptr) std::fclose(state_->file);
}

Result<std::unique_ptr<GunzipFile>> GunzipFile::open(const std::string& path) {
  std::unique_ptr<GunzipFile> out(new GunzipFile(path));
  State& s = *out->state_;
  s.file = std::fopen(path.c_str(), "rb");
  if (s.file == nullptr) return errno_error(errno, path);
  if (inflateInit2(&s.stream, 15 + 16) != Z_OK) return Error(ErrorCode::out_of_memory, path + ": inflate");
  s.started = true;
  return out;
}

Status GunzipFile::read(ByteSpan into) {
  State& s = *state_;
  const auto corrupt = [&](std::string_view what) {
    return Error(ErrorCode::corrupt_data, fmt::format("{}: gzip: {} (after {} bytes of the file, {} of its content)",
                                                      path_, what, file_bytes_, given_bytes_));
  };
  while (!into.empty()) {
    if (s.stream.avail_in == 0) {
      const std::size_t got = std::fread(s.input.data(), 1, s.input.size(), s.file);
      if (got == 0 && std::ferror(s.file) != 0) return errno_error(errno, path_);
      if (got == 0) return corrupt("the file ends before its content does");
      file_bytes_ += got;
      s.stream.next_in = s.input.data();
      s.stream.avail_in = static_cast<uInt>(got);
    }
    if (s.ended) {  // another member follows
      if (inflateReset(&s.stream) != Z_OK) return corrupt("cannot go on");
      s.ended = false;
    }
    const auto room = static_cast<uInt>(std::min<std::size_t>(into.size(), 1u << 30));
    s.stream.next_out = reinterpret_cast<unsigned char*>(into.data());
    s.stream.avail_out = room;
    const int code = inflate(&s.stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return corrupt(s.stream.msg != nullptr ? s.stream.msg : "bad data");
    s.ended = code == Z_STREAM_END;
    given_bytes_ += room - s.stream.avail_out;
    into = into.subspan(room - s.stream.avail_out);
  }
  return {};
}

}  // namespace penstock::tracto
