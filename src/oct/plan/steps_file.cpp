#include "oct/plan/steps_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/suggest.hpp"
#include "oct/list.hpp"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace penstock::oct {
namespace {

constexpr std::size_t kMostSteps = 200;  // each is compared with those before it

/// Reads one file.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<std::vector<FileStep>> read(std::string_view text) {
    // Not with the path, which it would copy in a constructor that may not throw.
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) return wrong(parsed.error().source().begin.line, std::string(parsed.error().description()));
    const toml::table& file = parsed.table();
    for (const auto& [key, node] : file)
      if (key != "input" && key != "output" && key != "step")
        return wrong(line_of(node), fmt::format("no key '{}' here. Known: input, output, [[step]].", key.str()));
    PENSTOCK_ASSIGN(const std::string input, path_of(file, "input"));
    PENSTOCK_ASSIGN(const std::string output, path_of(file, "output"));
    const toml::node* const list = file.get("step");
    if (list == nullptr) return wrong(1, "there is no [[step]]");
    if (!list->is_array_of_tables()) return wrong(line_of(*list), "steps are written as [[step]]");
    if (list->as_array()->size() > kMostSteps)
      return wrong(line_of(*list), fmt::format("{} steps, at most {}", list->as_array()->size(), kMostSteps));
    std::vector<FileStep> steps;
    for (const toml::node& node : *list->as_array()) {
      PENSTOCK_ASSIGN(FileStep step, read_step(*node.as_table()));
      if (step.call.paths[0].empty()) step.call.paths[0] = steps.empty() ? input : steps.back().out();
      steps.push_back(std::move(step));
    }
    if (steps.front().in().empty()) return wrong(1, "what the first step reads is missing: input = \"NAME.ome.zarr\"");
    if (steps.back().out().empty()) steps.back().call.paths[1] = output;
    if (steps.back().out().empty()) return wrong(1, "what the last step writes is missing: output = \"NAME.ome.zarr\"");
    if (!output.empty() && steps.back().out() != output)
      return wrong(line_of(*file.get("output")), "the last step has another output");
    return steps;
  }

 private:
  [[nodiscard]] static std::uint32_t line_of(const toml::node& node) { return node.source().begin.line; }
  [[nodiscard]] std::string place(std::uint32_t line) const { return fmt::format("{}:{}", path_, line); }
  [[nodiscard]] Error wrong(std::uint32_t line, const std::string& what) const {
    return {ErrorCode::invalid_argument, fmt::format("{}: {}", place(line), what)};
  }

  Result<std::string> path_of(const toml::table& table, std::string_view key) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) return std::string();
    const auto text = node->value_exact<std::string>();
    if (!text || text->empty()) return wrong(line_of(*node), fmt::format("{} is a path: \"NAME.ome.zarr\"", key));
    return *text;
  }

  Result<FileStep> read_step(const toml::table& table) {
    const std::uint32_t line = line_of(table);
    const toml::node* const name = table.get("name");
    const auto text = name == nullptr ? std::nullopt : name->value_exact<std::string>();
    if (!text) return wrong(line, "a step has a name: name = \"resample-mosaic\"");
    FileStep step;
    step.place = place(line);
    PENSTOCK_ASSIGN(step.step, find(*text, line_of(*name)));
    step.call.step = step.step->what.name;
    step.call.paths = {"", ""};
    for (const auto& [key, node] : table) {
      if (key == "name") continue;
      if (key == "input" || key == "output") {
        PENSTOCK_ASSIGN(step.call.paths[key == "input" ? 0 : 1], path_of(table, key.str()));
        continue;
      }
      PENSTOCK_TRY(read_option(step, std::string(key.str()), node));
    }
    // What is wrong with its values is said here, not when steps before it have run.
    OctCall whole = step.call;
    whole.paths = {"in", "out"};
    if (const auto made = StepCall::make(step.step->what, whole, {}); !made)
      return wrong(line, std::string(made.error().message()));
    return step;
  }

  Result<const Step*> find(std::string name, std::uint32_t line) const {
    std::ranges::replace(name, '_', '-');
    std::vector<std::string> known;
    for (const Step& each : steps()) {
      const auto& arguments = each.what.arguments;
      if (arguments.size() != 2 || arguments[0].output || !arguments[1].output) continue;
      if (each.what.name == name) return &each;
      known.push_back(each.what.name);
    }
    if (find_step(name) != nullptr)
      return wrong(line,
                   fmt::format("step {} does not make one thing of one. Known: {}.", name, fmt::join(known, ", ")));
    return wrong(line,
                 fmt::format("no step '{}'.{} Known: {}.", name, did_you_mean(name, known), fmt::join(known, ", ")));
  }

  Status read_option(FileStep& step, std::string key, const toml::node& node) const {
    std::ranges::replace(key, '-', '_');
    std::vector<std::string> known;
    for (const OctOption& option : step.step->what.options) known.push_back(option.name);
    if (std::ranges::find(known, key) == known.end())
      return wrong(line_of(node), fmt::format("step {} has no option '{}'.{} Known: {}.", step.call.step, key,
                                              did_you_mean(key, known), fmt::join(known, ", ")));
    if (step.call.options.contains(key)) return wrong(line_of(node), fmt::format("option {} is given twice", key));
    std::string& text = step.call.options[key];
    if (const auto s = node.value_exact<std::string>()) return text = *s, Status();
    if (const auto b = node.value_exact<bool>()) return text = *b ? "true" : "false", Status();
    if (const auto i = node.value_exact<std::int64_t>()) return text = std::to_string(*i), Status();
    if (const auto d = node.value_exact<double>()) return text = fmt::format("{}", *d), Status();
    return wrong(line_of(node), fmt::format("option {} is a number, a text, true or false", key));
  }

  const std::string& path_;
};

}  // namespace

Result<std::vector<FileStep>> parse_steps(std::string_view text, const std::string& path) {
  return Reader(path).read(text);
}

}  // namespace penstock::oct
