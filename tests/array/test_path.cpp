// Where the chunks of a read into device memory are decoded, and why: by the table of costs, or as one was told.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "array/model.hpp"
#include "array/plan/device_path.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

class Path : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"PENSTOCK_CODEC_COSTS", "PENSTOCK_NVCOMP_LIBRARY"}) unsetenv(name);
  }
  /// Seconds of a chunk of 4 KiB on a device and on a core.
  static void costs(const std::string& name, const std::string& device, const std::string& core) {
    const std::string path = ::testing::TempDir() + name;
    const auto row = [](const std::string& by, const std::string& seconds) {
      return R"({"codec": "zstd", "by": ")" + by + R"(", "data": "", "points": [[4096, 1, )" + seconds + "]]}";
    };
    std::ofstream(path) << R"({"format": "penstock codec costs 1", "origin": "", "machine": "", "date": "",
                               "commit": "", "nvcomp": "", "rows": [)"
                        << row("device", device) << "," << row("core", core) << "]}";
    setenv("PENSTOCK_CODEC_COSTS", path.c_str(), 1);
  }
  static Result<DevicePath> path(const CodecSpec& codec, std::optional<CodecPlace> decode = {}) {
    const Dataset d = dataset({64, 2048}, {1, 2048}, {bytes_codec(), codec});
    const CodecChain chain = CodecChain::make(d.codecs, {d.chunk_shape, d.dtype, d.fill}).value();
    return device_path(d, chain, {}, 8, 4, decode);
  }
};

}  // namespace

TEST_F(Path, TheTableDecides) {
  costs("slow-device.json", "2e-3", "1e-3");
  const DevicePath cpu = path(zstd_codec()).value();
  EXPECT_EQ(cpu.decode, DevicePath::Decode::on_cpu);
  EXPECT_TRUE(cpu.reason.starts_with("about 16 ms on the device, 2 ms on 4 CPU threads (costs of /")) << cpu.reason;
  costs("quick-device.json", "2e-4", "1e-3");
  const DevicePath device = path(zstd_codec()).value();
  EXPECT_EQ(device.decode, DevicePath::Decode::on_device);
  EXPECT_EQ(device.text, "cpu, zstd (own)");
  EXPECT_NE(device.reason.find("quick-device.json)"), std::string::npos) << device.reason;
  setenv("PENSTOCK_CODEC_COSTS", "", 1);
  EXPECT_NE(path(zstd_codec())->reason.find("(costs built in)"), std::string::npos) << path(zstd_codec())->reason;
}

TEST_F(Path, WhoIsToldDoesNotLookAtTheTable) {
  setenv("PENSTOCK_CODEC_COSTS", "/nowhere/costs.json", 1);
  EXPECT_EQ(path(zstd_codec()).error().code(), ErrorCode::not_found);
  const DevicePath cpu = path(zstd_codec(), CodecPlace::cpu).value();
  EXPECT_EQ(cpu.decode, DevicePath::Decode::on_cpu);
  EXPECT_EQ(cpu.reason, "decode=cpu");
  const DevicePath device = path(zstd_codec(), CodecPlace::device).value();
  EXPECT_EQ(device.decode, DevicePath::Decode::on_device);
  EXPECT_EQ(device.reason, "decode=device");
}

TEST_F(Path, NvcompThatIsNotThereIsAnError) {
  setenv("PENSTOCK_NVCOMP_LIBRARY", "/nowhere/libnvcomp.so.6", 1);
  const auto absent = path(zstd_codec(), CodecPlace::nvcomp);
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().message().find("decode=nvcomp: nvCOMP: /nowhere/libnvcomp.so.6"), std::string::npos)
      << absent.error().message();
  EXPECT_NE(absent.error().hint().find("pip install"), std::string::npos);
}
