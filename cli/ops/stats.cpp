// penstock stats
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/table.hpp"
#include "cli/nodes/walk.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "penstock/ops.hpp"

namespace penstock::cli {
namespace {

/// "1,50,99.5"
Result<std::vector<double>> parse_numbers(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const auto value = parse_json(word);
    if (!value || !value->is_number())
      return Error(ErrorCode::invalid_argument, fmt::format("'{}' is no number; write e.g. 1,50,99.5", word));
    numbers.push_back(value->get<double>());
    at = end + 1;
  }
  return numbers;
}

class Stats : public Command {
  std::string from_;
  std::optional<std::string> percentiles_, histogram_, range_, device_;
  bool otsu_ = false, json_ = false;
  StoreWords words_;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Prints how many elements an array has, the least, the largest, their mean and deviation, and what is asked "
        "for besides. Percentiles are exact. The array is read once for elements of up to 16 bits, twice for 32, four "
        "times for 64.");
    usage.argument("STORE", from_, "array");
    usage.option("--percentiles", "LIST", percentiles_, "numbers from 0 to 100, e.g. 1,50,99.5");
    usage.option("--histogram", "BINS", histogram_, "counts in so many equal bins");
    usage.option("--range", "LOW,HIGH", range_, "of the histogram; default from the least to the largest element");
    usage.flag("--otsu", otsu_, "Otsu's threshold");
    usage.option("--device", "D", device_, "where the elements are counted: cpu, cuda, cuda:1 or auto; default auto");
    words_.declare(usage);
    usage.flag("--json", json_, "print JSON");
    resources_.declare(usage);
    usage.example("penstock stats vol.zarr/0 --percentiles 1,50,99.5 --otsu", "where to cut intensities");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const StatisticsRequest request, asked());
    PENSTOCK_ASSIGN(const Array array, open_array(from_, how));
    PENSTOCK_ASSIGN_IN(const Device device, Device::parse(device_.value_or("auto")), "--device");
    PENSTOCK_ASSIGN(const Statistics made, statistics(array, request, device, options));
    if (json_)
      session.out.json(document(made, request));
    else
      print(session, made, request);
    return 0;
  }

 private:
  [[nodiscard]] Result<StatisticsRequest> asked() const {
    StatisticsRequest request;
    request.otsu = otsu_;
    if (percentiles_) {
      PENSTOCK_ASSIGN_IN(request.percentiles, parse_numbers(*percentiles_), "--percentiles");
    }
    if (histogram_) {
      PENSTOCK_ASSIGN_IN(const std::uint64_t bins, parse_count(*histogram_), "--histogram");
      if (bins < 1 || bins > UINT32_MAX) return Error(ErrorCode::invalid_argument, "--histogram: 1 or more bins");
      request.bins = static_cast<std::uint32_t>(bins);
    }
    if (!range_) return request;
    PENSTOCK_ASSIGN_IN(const std::vector<double> ends, parse_numbers(*range_), "--range");
    if (ends.size() != 2) return Error(ErrorCode::invalid_argument, "--range: write two numbers, LOW,HIGH");
    if (!histogram_) return Error(ErrorCode::invalid_argument, "--range goes with --histogram");
    request.range = {ends[0], ends[1]};
    return request;
  }

  static Json document(const Statistics& made, const StatisticsRequest& request) {
    Json json = {{"elements", made.elements}, {"nans", made.nans}, {"min", made.min},
                 {"max", made.max},           {"mean", made.mean}, {"deviation", made.deviation}};
    if (!request.percentiles.empty()) json["percentiles"] = Json::array();
    for (std::size_t i = 0; i < request.percentiles.size(); ++i)
      json["percentiles"].push_back({{"percent", request.percentiles[i]}, {"value", made.percentiles[i]}});
    if (made.otsu) json["otsu"] = *made.otsu;
    if (request.bins > 0)
      json["histogram"] = {{"low", made.histogram_low}, {"high", made.histogram_high}, {"counts", made.histogram}};
    return json;
  }

  static void print(Session& session, const Statistics& made, const StatisticsRequest& request) {
    Table table("lr");
    table.row({"elements", format_count(made.elements)});
    if (made.nans > 0) table.row({"NaN", format_count(made.nans)});
    table.row({"min", fmt::format("{:.9g}", made.min)});
    table.row({"max", fmt::format("{:.9g}", made.max)});
    table.row({"mean", fmt::format("{:.9g}", made.mean)});
    table.row({"deviation", fmt::format("{:.9g}", made.deviation)});
    for (std::size_t i = 0; i < request.percentiles.size(); ++i)
      table.row({fmt::format("{:g}%", request.percentiles[i]), fmt::format("{:.9g}", made.percentiles[i])});
    if (made.otsu) table.row({"Otsu", fmt::format("{:.9g}", *made.otsu)});
    session.out.print(table.text());
    if (request.bins == 0) return;
    Table bins("rrr");
    const double step = (made.histogram_high - made.histogram_low) / request.bins;
    for (std::uint32_t i = 0; i < request.bins; ++i)
      bins.row(
          {fmt::format("{:.9g}", made.histogram_low + i * step),
           fmt::format("{:.9g}", i + 1 == request.bins ? made.histogram_high : made.histogram_low + (i + 1) * step),
           format_count(made.histogram[i])});
    session.out.print("\n" + bins.text());
  }
};

}  // namespace

std::unique_ptr<Command> make_stats() { return std::make_unique<Stats>(); }

}  // namespace penstock::cli
