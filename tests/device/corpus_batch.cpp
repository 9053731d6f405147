// A whole fuzz corpus at once: all its chunks of a format, good ones beside bad ones, in one batch on each device, and
// each by itself on the CPU: the same statuses, the same bytes, and nothing written beside a chunk.
//
//   corpus_batch [--most N] [--largest BYTES] [--scratch BYTES] [--copies N] [--only FORMAT,...] FOLDER...
//
// A folder has the inputs of target NAME in FOLDER/NAME.  Runs on the CPU and, when there is one, on the first CUDA
// device.  For compute-sanitizer: N chunks of a format at most, none that asks for more than BYTES, a batch with so
// many bytes of scratch at least, and only the formats named (deflate_raw, zstd, blosc_zstd: as they are printed).
// With N copies of each chunk a batch is launched in the shapes of large ones.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "codec/blosc/blosclz.hpp"
#include "codec/blosc/device.hpp"
#include "codec/blosc/snappy.hpp"
#include "codec/deflate/device.hpp"
#include "codec/lz/device.hpp"
#include "codec/lz4/device.hpp"
#include "codec/lz4_frame/device.hpp"
#include "codec/tiff_lzw/device.hpp"
#include "codec/zstd/zstd.hpp"
#include "inputs.hpp"
#include "penstock/device.hpp"

using namespace penstock;
using fuzz::Input;

namespace {

constexpr std::size_t kGap = 64;  // bytes around every output, which nobody may touch
constexpr std::uint8_t kSentinel = 0xA5;

/// The chunks of one format and their decoder.
struct Group {
  std::function<std::unique_ptr<DeviceDecoder>()> decoder;
  std::vector<Input> inputs;
};
/// What became of the chunks, and the memory of their outputs with the gaps.
struct Outcome {
  std::vector<ChunkStatus> statuses;
  fuzz::Data outputs;
};

std::map<std::string, Group> groups() {
  std::map<std::string, Group> out;
  out["lz4"].decoder = [] { return lz4::make_device_decoder(lz4::Framing::block); };
  out["lz4_frame"].decoder = lz4_frame::make_device_decoder;
  out["blosclz"].decoder = [] { return std::make_unique<lz::Decoder<blosc::Blosclz>>(blosc::Blosclz{}); };
  out["snappy"].decoder = [] { return std::make_unique<lz::Decoder<blosc::Snappy>>(blosc::Snappy{}); };
  out["zstd"].decoder = make_zstd_device_decoder;
  constexpr const char* kContainers[] = {"raw", "zlib", "gzip"};
  for (const auto c : {deflate::Container::headerless, deflate::Container::zlib, deflate::Container::gzip})
    out["deflate_" + std::string(kContainers[static_cast<int>(c)])].decoder = [c] {
      return deflate::make_device_decoder(c);
    };
  out["lzw"].decoder = [] { return tiff::make_lzw_device_decoder(tiff::LzwVariant::standard); };
  out["lzw_old_style"].decoder = [] { return tiff::make_lzw_device_decoder(tiff::LzwVariant::old_style); };
  for (const char* name : {"blosclz", "lz4", "snappy", "zlib", "zstd"})
    out["blosc_" + std::string(name)].decoder = [name] { return blosc::make_device_decoder(name, 8, 1024, 5); };
  return out;
}

/// Name of the group of an input; empty: of none.
std::string group_of(const std::string& target, const Input& input) {
  constexpr const char* kLz[] = {"lz4", "lz4_frame", "blosclz", "snappy"};
  constexpr const char* kDeflate[] = {"deflate_raw", "deflate_zlib", "deflate_gzip"};
  constexpr const char* kBlosc[] = {"blosc_blosclz", "blosc_lz4", "blosc_snappy", "blosc_zlib", "blosc_zstd"};
  if (target == "lz4" || target == "lz4_frame" || target == "zstd") return target;
  if (target == "zstd_frames") return "zstd";
  if (target == "lzw_made") return "lzw";
  if (target == "tiff_codecs") return input.format == 0 ? "lzw" : input.format == 1 ? "lzw_old_style" : "";
  if (target == "blosc_streams") return kLz[2 + input.format];
  if (target == "lz_made") return kLz[input.format];
  if (target == "deflate" || target == "deflate_made") return kDeflate[input.format];
  if (target == "blosc_made") return kBlosc[input.format];
  if (target != "blosc" || input.bytes.size() < 3 || input.bytes[2] >> 5 > 4) return "";
  return kBlosc[input.bytes[2] >> 5];
}

std::optional<Input> read_input(const std::string& target, const fuzz::Data& file) {
  if (target == "zstd") return fuzz::zstd_input(file.data(), file.size());
  if (target == "zstd_frames") return fuzz::zstd_made_input(file.data(), file.size());
  if (target == "lz_made") return fuzz::lz_made_input(file.data(), file.size());
  if (target == "lzw_made") return fuzz::lzw_made_input(file.data(), file.size());
  if (target == "tiff_codecs") return fuzz::tiff_codecs_input(file.data(), file.size());
  if (target == "deflate_made") return fuzz::deflate_made_input(file.data(), file.size());
  if (target == "blosc_made") return fuzz::blosc_made_input(file.data(), file.size());
  if (target != "lz4" && target != "lz4_frame" && target != "blosc" && target != "blosc_streams" && target != "deflate")
    return std::nullopt;
  return fuzz::plain_input(file.data(), file.size(), target == "deflate" ? 3 : target == "blosc_streams" ? 2 : 1);
}

/// Adds the inputs of a folder, in the order of their names.
void add_folder(const std::filesystem::path& folder, std::size_t most, std::size_t largest,
                std::map<std::string, Group>& to) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& path : files) {
    const std::string target = path.parent_path().filename();
    std::ifstream stream(path, std::ios::binary);
    const fuzz::Data file(std::istreambuf_iterator<char>(stream), {});
    auto input = read_input(target, file);
    if (!input || input->wanted > largest || input->bytes.size() > 4 * largest) continue;
    const auto group = to.find(group_of(target, *input));
    if (group != to.end() && group->second.inputs.size() < most) group->second.inputs.push_back(*std::move(input));
  }
}

/// Where the outputs begin: at all alignments.
std::vector<std::size_t> places(std::span<const Input> inputs, std::size_t& end) {
  std::vector<std::size_t> at;
  end = kGap;
  for (const Input& input : inputs) {
    at.push_back(end);
    end += input.wanted + kGap + at.size() % 5;
  }
  return at;
}

/// Bytes on a device.
Result<Buffer> upload(Memory& memory, const void* from, std::size_t bytes, const Stream& stream) {
  PENSTOCK_ASSIGN(Buffer buffer, memory.allocate(std::max<std::size_t>(bytes, 1), 256, stream));
  PENSTOCK_TRY(copy_async(buffer.data(), stream.device(), from, {}, bytes, stream));
  return buffer;
}

/// Decodes a batch; `largest`: that of the whole group, which decides how much scratch a chunk has; `min_scratch`:
/// for the batch.
Result<Outcome> decode(const DeviceDecoder& decoder, std::span<const Input> inputs, std::uint64_t largest,
                       std::uint64_t min_scratch, const Stream& stream) {
  const Device device = stream.device();
  PENSTOCK_ASSIGN(const auto memory, Memory::create(device, 0));
  fuzz::Data all;
  std::vector<std::size_t> in_at;
  for (const Input& input : inputs) {
    in_at.push_back(all.size());
    all.insert(all.end(), input.bytes.begin(), input.bytes.end());
    all.resize(all.size() + in_at.size() % 3);
  }
  std::size_t out_bytes = 0;
  const std::vector<std::size_t> out_at = places(inputs, out_bytes);
  Outcome outcome{std::vector<ChunkStatus>(inputs.size()), fuzz::Data(out_bytes, kSentinel)};
  PENSTOCK_ASSIGN(const Buffer in, upload(*memory, all.data(), all.size(), stream));
  PENSTOCK_ASSIGN(const Buffer out, upload(*memory, outcome.outputs.data(), out_bytes, stream));
  std::vector<DecodeTask> tasks;
  BatchSize size{static_cast<std::uint32_t>(inputs.size()), 0, largest};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tasks.push_back({in.data() + in_at[i], inputs[i].bytes.size(), out.data() + out_at[i], inputs[i].wanted});
    size.decoded_bytes += inputs[i].wanted;
  }
  size.decoded_bytes = std::max(size.decoded_bytes, largest);
  PENSTOCK_ASSIGN(const Buffer device_tasks, upload(*memory, tasks.data(), tasks.size() * sizeof(DecodeTask), stream));
  const std::uint64_t status_bytes = outcome.statuses.size() * sizeof(ChunkStatus);
  PENSTOCK_ASSIGN(const Buffer results, upload(*memory, outcome.statuses.data(), status_bytes, stream));
  const std::uint64_t scratch_bytes = std::max({decoder.scratch_bytes(size), min_scratch, std::uint64_t{1}});
  PENSTOCK_ASSIGN(const Buffer scratch, memory->allocate(scratch_bytes, 256, stream));
  PENSTOCK_TRY(decoder.decode(
      {reinterpret_cast<const DecodeTask*>(device_tasks.data()), reinterpret_cast<ChunkStatus*>(results.data()), size},
      {scratch.data(), scratch_bytes}, stream));
  PENSTOCK_TRY(copy_async(outcome.statuses.data(), {}, results.data(), device, status_bytes, stream));
  PENSTOCK_TRY(copy_async(outcome.outputs.data(), {}, out.data(), device, out_bytes, stream));
  fuzz::Data in_after(all.size());
  PENSTOCK_TRY(copy_async(in_after.data(), {}, in.data(), device, all.size(), stream));
  PENSTOCK_TRY(stream.synchronize());
  if (in_after != all) return Error(ErrorCode::internal, "the input was written to");
  return outcome;
}

/// Compares a batch with its chunks alone; how many differ.
int compare(const std::string& where, std::span<const Input> inputs, const Outcome& batch,
            const std::vector<Outcome>& alone) {
  int wrong = 0;
  std::size_t end = 0;
  const std::vector<std::size_t> at = places(inputs, end);
  std::vector<bool> inside(end, false);
  const auto say = [&](std::size_t i, const char* what) {
    ++wrong;
    if (wrong < 20) std::printf("%s: chunk %zu of %zu bytes: %s\n", where.c_str(), i, inputs[i].bytes.size(), what);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(at[i]), inputs[i].wanted, true);
    const ChunkStatus &a = batch.statuses[i], &b = alone[i].statuses[0];
    const std::uint8_t* const made = batch.outputs.data() + at[i];
    if (!fuzz::same(a, b)) say(i, "another status than alone on the CPU");
    if (a.status == DecodeStatus::not_run) say(i, "was not decoded");
    if (a.status != DecodeStatus::ok) continue;
    if (std::memcmp(made, alone[i].outputs.data() + kGap, inputs[i].wanted) != 0) say(i, "other bytes");
  }
  for (std::size_t k = 0; k < end; ++k)
    if (!inside[k] && batch.outputs[k] != kSentinel) {
      ++wrong;
      std::printf("%s: byte %zu beside the outputs was written\n", where.c_str(), k);
      break;
    }
  return wrong;
}

Result<int> run_group(const std::string& name, const Group& group, std::uint64_t min_scratch,
                      const std::vector<Stream>& streams) {
  const auto decoder = group.decoder();
  std::uint64_t largest = 0;
  for (const Input& input : group.inputs) largest = std::max<std::uint64_t>(largest, input.wanted);
  std::vector<Outcome> alone;
  std::size_t good = 0;
  int wrong = 0;
  for (const Input& input : group.inputs) {
    PENSTOCK_ASSIGN(Outcome outcome, decode(*decoder, {&input, 1}, largest, 0, {}));
    const DecodeStatus status = outcome.statuses[0].status;
    good += status == DecodeStatus::ok;
    // What a maker made and nobody damaged is right.
    if (input.made && status != DecodeStatus::ok && !needs_cpu(status) && !input.bytes.empty()) {
      ++wrong;
      std::printf("%s: a made chunk is refused: %s\n", name.c_str(), std::string(decode_status_text(status)).c_str());
    }
    const bool known = input.made && status == DecodeStatus::ok && !name.starts_with("blosc_");
    if (known && !std::equal(input.content.begin(), input.content.end(), outcome.outputs.begin() + kGap)) {
      ++wrong;
      std::printf("%s: a made chunk is not its content\n", name.c_str());
    }
    alone.push_back(std::move(outcome));
  }
  std::printf("%-14s %5zu chunks, %5zu good;", name.c_str(), alone.size(), good);
  for (const Stream& stream : streams) {
    const auto begin = std::chrono::steady_clock::now();
    PENSTOCK_ASSIGN(const Outcome batch, decode(*decoder, group.inputs, largest, min_scratch, stream));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    const int here = compare(name + " on " + stream.device().name(), group.inputs, batch, alone);
    std::printf("  %s %d wrong, %.1f ms", stream.device().name().c_str(), here, took.count());
    wrong += here;
  }
  std::printf("\n");
  return wrong;
}

/// Puts the inputs `copies` times into the batch.
void repeat(std::vector<Input>& inputs, std::size_t copies) {
  const std::size_t once = inputs.size();
  inputs.reserve(once * copies);
  for (std::size_t i = once; i < once * copies; ++i) inputs.push_back(inputs[i - once]);
}

/// Leaves those that are named in `list`, separated by commas; false when one of them is none.
bool keep_only(std::string list, std::map<std::string, Group>& all) {
  std::map<std::string, Group> kept;
  for (list += ','; !list.empty(); list.erase(0, list.find(',') + 1)) {
    auto named = all.extract(list.substr(0, list.find(',')));
    if (!named) {
      std::printf("no such format: %s\n", list.substr(0, list.find(',')).c_str());
      return false;
    }
    kept.insert(std::move(named));
  }
  all = std::move(kept);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t most = ~std::size_t{0}, largest = 1 << 20, scratch = 0, copies = 1;
  auto all = groups();
  std::vector<std::string> folders;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--most" && i + 1 < argc)
      most = std::stoul(argv[++i]);
    else if (word == "--largest" && i + 1 < argc)
      largest = std::stoul(argv[++i]);
    else if (word == "--scratch" && i + 1 < argc)
      scratch = std::stoul(argv[++i]);
    else if (word == "--copies" && i + 1 < argc)
      copies = std::stoul(argv[++i]);
    else if (word != "--only" || i + 1 == argc)
      folders.push_back(word);
    else if (!keep_only(argv[++i], all))
      return 2;
  }
  for (const std::string& folder : folders) add_folder(folder, most, largest, all);
  for (auto& [name, group] : all) repeat(group.inputs, copies);
  std::vector<Stream> streams = {{}};
  if (const std::string reason = cuda_unavailable_reason(); reason.empty())
    streams.push_back(Stream::create({Device::Type::cuda, 0}).value());
  else
    std::printf("no CUDA device, %s: only the CPU\n", reason.c_str());
  int wrong = 0;
  for (const auto& [name, group] : all) {
    if (group.inputs.empty()) {
      std::printf("%s: no chunks\n", name.c_str());
      ++wrong;
      continue;
    }
    auto done = run_group(name, group, scratch, streams);
    if (!done) std::printf("%s: %s\n", name.c_str(), done.error().message().c_str());
    wrong += done ? *done : 1;
  }
  std::printf("%s\n", wrong == 0 ? "all as they are alone on the CPU" : "WRONG");
  return wrong == 0 ? 0 : 1;
}
