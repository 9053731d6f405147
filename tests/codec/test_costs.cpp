// The table of costs: what is read, what is refused, what is between measured points.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "codec/cost/costs.hpp"
#include "codec/device_chain.hpp"

using namespace penstock;

namespace {

std::string table_with(const std::string& rows) {
  return R"({"format": "penstock codec costs 1", "origin": "a test", "machine": "none", "date": "today",
             "commit": "0", "nvcomp": "", "rows": [)" +
         rows + "]}";
}

std::string row(const std::string& points, const std::string& by = "device", const std::string& data = "u16") {
  return R"({"codec": "zstd", "by": ")" + by + R"(", "data": ")" + data + R"(", "points": [)" + points + "]}";
}

CostTable table_of(const std::string& rows) { return CostTable::parse(table_with(rows)).value(); }

}  // namespace

TEST(CostTable, ReadsWhatItWrites) {
  const CostTable table = table_of(row("[65536, 1, 1e-4], [65536, 8, 2e-4], [1048576, 1, 1.5e-3]") + "," +
                                   row("[65536, 1, 3e-5]", "core") + "," + row("[65536, 1, 3e-5]", "nvcomp", "labels"));
  const CostTable again = CostTable::parse(table.text()).value();
  EXPECT_EQ(again.text(), table.text());
  EXPECT_EQ(again.machine, "none");
  ASSERT_EQ(again.rows.size(), 3u);
  EXPECT_EQ(again.rows[2].by, DecodedBy::nvcomp);
  EXPECT_DOUBLE_EQ(again.rows[0].points[2].seconds, 1.5e-3);
}

TEST(CostTable, SaysWhereAMistakeIs) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "not JSON"},
      {"[]", "must be a JSON object"},
      {"{}", "format"},
      {R"({"format": "penstock codec costs 2"})", "format: must be 'penstock codec costs 1'"},
      {table_with(R"({"codec": "zstd"})"), "rows[0]: the member \"by\" is missing"},
      {table_with("3"), "rows[0]: must be an object"},
      {table_with(row("[1, 1, 1]", "gpu")), "rows[0]: by: 'gpu' is none of device, nvcomp, core"},
      {table_with(row("")), "rows[0]: points: must be a list of at least one"},
      {table_with(row("[1, 1]")), "rows[0]: points[0]: must be [chunk_bytes, chunks, seconds]"},
      {table_with(row("[0, 1, 1]")), "rows[0]: points[0]: chunk_bytes: 0"},
      {table_with(row("[1, -1, 1]")), "chunks"},
      {table_with(row("[1, 1.5, 1]")), "chunks"},
      {table_with(row("[1, 1, 0]")), "rows[0]: points[0]: seconds: 0"},
      {table_with(row("[1, 1, NaN]")), "rows[0]: points[0]: seconds: nan"},
      {table_with(row(R"([1, 1, "1"])")), "rows[0]: points[0]: seconds: must be a number"},
      {table_with(row("[1, 1, 1e7]")), "rows[0]: points[0]: seconds: 10000000 is not more than 0 and 1000000 at most"},
      {table_with(row("[2, 1, 1], [1, 1, 1]")), "rows[0]: points[1]: must be in order"},
      {table_with(row("[1, 1, 1], [1, 1, 1]")), "rows[0]: points[1]: must be in order"},
      {table_with(row("[1, 2, 1]", "core")), "rows[0]: points[0]: of a core are one chunk each"},
      {table_with(row("[1, 1, 1]") + "," + row("[1, 1, 2]")), "rows[1]: a second row of zstd by device with u16"},
      {table_with(R"({"codec": "a", "by": "core", "data": "", "points": [[1, 1, 1]], "more": 1})"), "more"},
  };
  for (const auto& [text, why] : bad) {
    const auto table = CostTable::parse(text);
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.error().code(), ErrorCode::invalid_argument) << text;
    EXPECT_NE(table.error().message().find(why), std::string::npos) << table.error().message() << " for " << why;
  }
}

TEST(CostTable, MeasuredPointsAreGivenBackAndOthersLieBetween) {
  const CostTable table = table_of(row("[1024, 1, 1e-4], [1024, 100, 1e-2], [4096, 1, 4e-4], [4096, 100, 1e-1]"));
  const auto seconds = [&](std::uint64_t bytes, std::uint64_t chunks) {
    return table.seconds("zstd", DecodedBy::device, bytes, chunks).value();
  };
  EXPECT_NEAR(seconds(1024, 1), 1e-4, 1e-9);
  EXPECT_NEAR(seconds(4096, 100), 1e-1, 1e-6);
  EXPECT_NEAR(seconds(1024, 10), 1e-3, 1e-8);              // half way in logarithms
  EXPECT_NEAR(seconds(2048, 1), 2e-4, 1e-9);               // between the sizes
  EXPECT_NEAR(seconds(1024, 1000), 1e-1, 1e-6);            // beyond: as its bytes
  EXPECT_NEAR(seconds(8192, 1), 8e-4, 1e-8);               // beyond: as its bytes
  EXPECT_NEAR(seconds(256, 40), seconds(1024, 10), 1e-9);  // as many bytes in chunks of the smallest size
  EXPECT_NEAR(seconds(16, 1), 1e-4, 1e-9);                 // a device takes no less than for one of these
  EXPECT_NEAR(seconds(0, 0), 1e-4, 1e-9);
  EXPECT_FALSE(table.seconds("zstd", DecodedBy::core, 1024, 1));
  EXPECT_FALSE(table.seconds("lz4", DecodedBy::device, 1024, 1));
}

TEST(CostTable, ACoreTakesLessForLessAndKindsOfDataHaveOneMean) {
  const CostTable table = table_of(row("[1024, 1, 1e-4]", "core") + "," + row("[1024, 1, 4e-4]", "core", "labels"));
  EXPECT_NEAR(table.seconds("zstd", DecodedBy::core, 1024, 1).value(), 2e-4, 1e-9);
  EXPECT_NEAR(table.seconds("zstd", DecodedBy::core, 512, 1).value(), 1e-4, 1e-9);
  EXPECT_NEAR(table.seconds("zstd", DecodedBy::core, 4096, 1).value(), 8e-4, 1e-9);
}

TEST(CodecCosts, TheBuiltInTableIsWhole) {
  const CostTable& table = built_in_costs();
  EXPECT_FALSE(table.machine.empty());
  for (const char* codec : {"zstd",          "lz4",
                            "gzip",          "zlib",
                            "blosc(lz4)",    "blosc(zstd)",
                            "blosc(zlib)",   "blosc(blosclz)",
                            "blosc(snappy)", "crc32",
                            "crc32c",        "adler32",
                            "fletcher32",    "unshuffle",
                            "delta",         "delta of floats",
                            "astype",        "fixedscaleoffset",
                            "quantize",      "packbits"})
    for (const DecodedBy by : {DecodedBy::device, DecodedBy::core})
      EXPECT_TRUE(table.seconds(codec, by, 1 << 20, 1)) << codec;
}

struct UserCosts : ::testing::Test {
  void use(const std::string& name, const std::string& text) {
    const std::string path = ::testing::TempDir() + name;
    std::ofstream(path) << text;
    ::setenv("PENSTOCK_CODEC_COSTS", path.c_str(), 1);
  }
  void SetUp() override { ::setenv("PENSTOCK_CONFIG", "", 1); }
  void TearDown() override {
    ::unsetenv("PENSTOCK_CODEC_COSTS");
    ::unsetenv("PENSTOCK_CONFIG");
  }
};

TEST_F(UserCosts, GoBeforeWhatIsBuiltIn) {
  ASSERT_FALSE(codec_costs().value().user);
  const double built_in = codec_costs()->seconds("lz4", DecodedBy::core, 1 << 20, 1).value();
  use("costs-user.json", table_with(row("[1048576, 1, 7]", "core")));
  const CodecCosts costs = codec_costs().value();
  EXPECT_NEAR(costs.seconds("zstd", DecodedBy::core, 1 << 20, 1).value(), 7, 1e-9);
  EXPECT_EQ(costs.seconds("lz4", DecodedBy::core, 1 << 20, 1).value(), built_in);
  EXPECT_EQ(costs.seconds("no such", DecodedBy::device, 1, 1).error().message(),
            "there is no measured cost of no such on a device");
  EXPECT_NE(costs.text().find("costs-user.json"), std::string::npos);
}

TEST_F(UserCosts, AMistakeNamesTheFile) {
  use("costs-bad.json", "{}");
  const auto bad = codec_costs();
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message().find("costs-bad.json: the member \"format\" is missing"), std::string::npos)
      << bad.error().message();
  ::setenv("PENSTOCK_CODEC_COSTS", "/nowhere/costs.json", 1);
  EXPECT_EQ(codec_costs().error().code(), ErrorCode::not_found);
  ::setenv("PENSTOCK_CODEC_COSTS", "", 1);
  EXPECT_FALSE(codec_costs().value().user);
}

TEST_F(UserCosts, AChainTakesWhatItsStepsTake) {
  const ChunkSpec chunk{{1 << 19}, DType::uint16(), {}};
  const std::vector<CodecSpec> specs = {{"bytes", R"({"endian":"little"})"}, {"zstd", "{}"}, {"crc32c", "{}"}};
  const auto chain = DeviceChain::make(CodecChain::make(specs, chunk).value()).value();
  const std::string crc = R"({"codec": "crc32c", "by": "core", "data": "", "points": [[1048576, 1, 1]]},
                             {"codec": "crc32c", "by": "device", "data": "", "points": [[1048576, 1, 3]]})";
  use("costs-chain.json",
      table_with(crc + "," + row("[1048576, 1, 2]", "core") + "," + row("[1048576, 1, 5], [1048576, 64, 10]")));
  const CodecCosts costs = codec_costs().value();
  EXPECT_NEAR(chain.device_seconds(costs, 1).value(), 8, 1e-9);
  EXPECT_NEAR(chain.device_seconds(costs, 64).value(), 3 * 64 + 10, 1e-9);
  EXPECT_NEAR(chain.cpu_seconds(costs, 1, 16).value(), 3, 1e-9);
  EXPECT_NEAR(chain.cpu_seconds(costs, 64, 16).value(), 12, 1e-9);
}
