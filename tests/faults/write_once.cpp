// write_once URL none|metadata|all: adds one to the elements of an array of u2 but for its first row and column.
#include <cstdio>
#include <vector>

#include "core/settings.hpp"
#include "penstock/array.hpp"

using namespace penstock;

namespace {

Status run(const std::string& url, const std::string& durable) {
  StoreOptions how;
  PENSTOCK_ASSIGN(how.durable, parse_durable(durable));
  PENSTOCK_ASSIGN(Node node, open(url, StoreMode::read_write, how));
  Array& array = std::get<Array>(node);
  Region region = whole(array.dataset().shape);
  for (std::size_t d = 0; d < 2; ++d) region[d] = {1, region[d].count - 1, 1};
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(region)));
  std::vector<std::uint16_t> elements(count);
  const Target memory{elements.data(), {}, {}, {}};
  PENSTOCK_TRY(array.read(region, memory, {}));
  for (std::uint16_t& element : elements) ++element;
  PENSTOCK_TRY(array.write(region, memory, {}));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const Status done = argc == 3 ? run(argv[1], argv[2]) : Error(ErrorCode::invalid_argument, "two arguments");
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
