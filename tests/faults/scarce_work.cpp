// Work of the library in which one allocation or thread after another fails (scarce.cpp, loaded before this):
//   scarce_work WORK allocation|thread THREADS
// Exit code 0: it ended with success; 71: with the error out_of_memory.  Else what it says is wrong: it threw, it left
// an object neither old nor new, or the same work does not succeed when nothing fails any more.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "array/device/read.hpp"
#include "array/device/write.hpp"
#include "array/model.hpp"
#include "core/guard.hpp"
#include "penstock/copy.hpp"
#include "penstock/ops.hpp"
#include "penstock/pyramid.hpp"
#include "store/store_kinds.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr std::uint64_t kEdge = 64, kObjects = 4;  // 4 x 4 objects
const Shape kShape = {kObjects * kEdge, kObjects* kEdge};
constexpr int kWrong = 3;

/// What is made before anything fails.
struct Scene {
  TemporaryDirectory scratch;
  std::shared_ptr<Store> store, other;
  Array array, raw;
  std::optional<Group> group;
  std::vector<std::byte> before, after, out;
  Target part;  // where a write takes kPart from
  PyramidOptions levels;
  Options options;
};

std::vector<std::byte> values_of(unsigned seed) {
  std::vector<std::byte> values(kShape[0] * kShape[1] * 2);
  for (std::size_t i = 0; i < values.size(); i += 2) {
    values[i] = static_cast<std::byte>(i * seed >> 6 | 1);
    values[i + 1] = static_cast<std::byte>(seed);
  }
  return values;
}

Target memory(std::vector<std::byte>& values) {
  Target target;
  target.data = values.data();
  return target;
}

const Region kAll = whole(kShape);
const Region kPart = {{3, kObjects* kEdge - 6, 1}, {5, kObjects* kEdge - 9, 1}};

Status written(const Result<Report>& report) { return report ? Status() : Status(report.error()); }

/// Of the part of `after` that kPart is.
const Strides kStrides = {static_cast<std::int64_t>(kShape[1] * 2), 2};

/// A part of the array from host or device memory: every object changes, those at the rim in part.
Status write(Scene& s, Array& array, bool from_device) {
  return written(from_device ? guarded([&] { return write_from_device(array, kPart, s.part, s.options, 1 << 16); })
                             : array.write(kPart, s.part, s.options));
}

Status as_before(const Scene& s, const Result<Report>& read) {
  if (read && s.out != s.before) return Error(ErrorCode::internal, "success, but other elements were read");
  return written(read);
}

Status read_in_waves(Scene& s) {
  return as_before(s, guarded([&] { return read_device({{ReadItem{&s.array, kAll, memory(s.out)}}}, s.options); }));
}

Status copy_all(Scene& s) {
  CopyChanges changes;
  return written(copy(s.array, s.other, "copy", changes, Array::IfExists::overwrite, Resume::no, s.options));
}

Status pyramid(Scene& s) {
  return written(write_pyramid(s.array, s.other, "image", s.levels, Array::IfExists::overwrite, s.options));
}

Status project(Scene& s) {
  const std::size_t axes[] = {0};
  const auto made = reduce_array(s.array, "maximum", axes, {}, s.options);
  return made ? Status() : Status(made.error());
}

using Work = Status (*)(Scene&);
const std::map<std::string, Work> kWorks = {
    {"read", [](Scene& s) { return as_before(s, s.array.read(kAll, memory(s.out), s.options)); }},
    {"read-in-waves", read_in_waves},
    {"verify", [](Scene& s) { return written(s.array.verify(s.options)); }},
    {"write", [](Scene& s) { return write(s, s.array, false); }},
    {"write-raw", [](Scene& s) { return write(s, s.raw, false); }},
    {"write-from-device", [](Scene& s) { return write(s, s.array, true); }},
    {"write-raw-from-device", [](Scene& s) { return write(s, s.raw, true); }},
    {"copy", copy_all},
    {"pyramid", pyramid},
    {"project", project},
    {"resize", [](Scene& s) { return s.array.resize(kShape); }},
    {"group-attributes", [](Scene& s) { return s.group->set_attributes(R"({"a":[1,{"b":null}]})"); }},
    {"attributes", [](Scene& s) { return s.array.set_attributes(R"({"a":[1,{"b":null}]})"); }},
};

/// "" where every object of both arrays holds only old or only new elements inside kPart, and old ones outside.
std::string judge(const Scene& s) {
  for (const Array* array : {&s.array, &s.raw}) {
    std::vector<std::byte> now(s.before.size());
    const auto done = array->read(whole(kShape), memory(now), threads(1));
    if (!done) return done.error().message();
    for (std::uint64_t object = 0; object < kObjects * kObjects; ++object) {
      bool old = false, fresh = false;
      for (std::uint64_t i = 0; i < kEdge * kEdge; ++i) {
        const std::uint64_t y = object / kObjects * kEdge + i / kEdge, x = object % kObjects * kEdge + i % kEdge;
        const std::size_t at = (y * kShape[1] + x) * 2;
        const bool inside = y >= 3 && y < 3 + kPart[0].count && x >= 5 && x < 5 + kPart[1].count;
        const bool is_old = std::memcmp(&now[at], &s.before[at], 2) == 0;
        const bool is_new = inside && std::memcmp(&now[at], &s.after[at], 2) == 0;
        if (!is_old && !is_new) return "an element is neither old nor new";
        if (inside) (is_old ? old : fresh) = true;
      }
      if (old && fresh) return "object " + std::to_string(object) + " is partly old and partly new";
    }
  }
  return "";
}

int wrong(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return kWrong;
}

struct Run {
  Scene* scene;
  Work work;
  void (*end)();
};

int run(void* given) {
  const Run& r = *static_cast<Run*>(given);
  int code = 0;
  std::string text;
  try {
    const Status done = r.work(*r.scene);
    r.end();
    if (!done) {
      code = error_exit_code(done.error().code());
      text = done.error().message();
      if (done.error().code() != ErrorCode::out_of_memory) return wrong("not out of memory: " + text);
    }
  } catch (...) {
    r.end();
    return wrong("the library threw");
  }
  if (const std::string judged = judge(*r.scene); !judged.empty()) return wrong(judged);
  const Status again = r.work(*r.scene);
  if (!again) return wrong("afterwards: " + again.error().message());
  if (const std::string judged = judge(*r.scene); !judged.empty()) return wrong("afterwards: " + judged);
  for (Array* array : {&r.scene->array, &r.scene->raw})  // for the next one
    if (!array->write(whole(kShape), memory(r.scene->before), threads(1))) return wrong("cannot be put back");
  return code;
}

Array make(const std::shared_ptr<Store>& store, const std::string& path, std::vector<CodecSpec> codecs,
           std::vector<std::byte>& values) {
  Array array =
      Array::create(store, path, dataset(kShape, {kEdge, kEdge}, std::move(codecs)), Array::IfExists::fail).value();
  (void)array.write(whole(kShape), memory(values), threads(1)).value();
  return array;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("PENSTOCK_PINNED", "8MiB", 1);
  setenv("PENSTOCK_DECODE", "device", 1);
  setenv("PENSTOCK_ENCODE", "device", 1);
  using Each = int(const char*, int (*)(void*), void*);
  auto* const each = reinterpret_cast<Each*>(::dlsym(RTLD_DEFAULT, "scarce_each"));
  auto* const end = reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "scarce_end"));
  if (argc != 4 || each == nullptr) return wrong("scarce_work WORK WHAT THREADS, with scarce.cpp loaded before it");
  Scene s;
  s.store = open_store(s.scratch / "a.zarr", StoreMode::create).value();
  s.other = open_store(s.scratch / "b.zarr", StoreMode::create).value();
  s.before = values_of(3);
  s.after = values_of(5);
  s.out.resize(s.before.size());
  s.array = make(s.store, "sharded", {sharding("[32,32]")}, s.before);
  s.raw = make(s.store, "raw", {bytes_codec()}, s.before);
  s.group = Group::create(s.store, "group", {}, Array::IfExists::fail).value();
  s.part = memory(s.after);
  s.part.data = s.after.data() + (3 * kShape[1] + 5) * 2;
  s.part.strides = kStrides;
  s.levels.levels = 2;
  s.options = threads(static_cast<std::uint64_t>(std::atoi(argv[3])));
  s.options.budget_bytes = std::uint64_t{64} << 20;
  Run r{&s, kWorks.at(argv[1]), end};
  return each(argv[2], run, &r);
}
