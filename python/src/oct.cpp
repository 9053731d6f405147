#include "oct.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "jobs.hpp"
#include "penstock/oct.hpp"

namespace penstock::python {
namespace {

std::string kind_name(const OctOption& option) {
  switch (option.kind) {
    case OctOption::Kind::number: return "number";
    case OctOption::Kind::count: return "count";
    case OctOption::Kind::path: return "path";
    case OctOption::Kind::flag: return "flag";
    default: return "text";
  }
}

}  // namespace

void bind_oct(nb::module_& m) {
  nb::class_<OctOption>(m, "OctOption", "An option of a step of the reconstruction.")
      .def_ro("name", &OctOption::name)
      .def_prop_ro("kind", &kind_name)
      .def_ro("default", &OctOption::fallback)
      .def_ro("help", &OctOption::help)
      .def_ro("required", &OctOption::required)
      .def_ro("choices", &OctOption::choices);
  nb::class_<OctArgument>(m, "OctArgument", "A file or folder that a step reads or writes.")
      .def_ro("name", &OctArgument::name)
      .def_ro("help", &OctArgument::help)
      .def_ro("output", &OctArgument::output);
  nb::class_<OctStep>(m, "OctStep", "A step of the reconstruction.")
      .def_ro("name", &OctStep::name)
      .def_ro("summary", &OctStep::summary)
      .def_ro("about", &OctStep::about)
      .def_ro("arguments", &OctStep::arguments)
      .def_ro("options", &OctStep::options);
  nb::class_<OctResult>(m, "OctResult", "What a step gave.")
      .def_ro("text", &OctResult::text)
      .def_ro("metrics_json", &OctResult::metrics)
      .def_ro("good", &OctResult::good);
  m.def("oct_steps", [] { return oct_steps(); });
  m.def(
      "run_oct",
      [](const std::string& step, const std::vector<std::string>& paths,
         const std::map<std::string, std::string>& options, const std::string& device, bool force,
         const JobOptions& job) {
        OctCall call{step, paths, options, unwrap(Device::parse(device), "device"), force};
        OctResult result;
        static_cast<void>(unwrap(run_job(job,
                                         [&](const Options& o) -> Result<Report> {
                                           PENSTOCK_ASSIGN(result, run_oct(call, o));
                                           return Report();
                                         }),
                                 ""));
        return result;
      },
      nb::arg("step"), nb::arg("paths"), nb::arg("options"), nb::arg("device"), nb::arg("force"), nb::arg("job"));
}

}  // namespace penstock::python
