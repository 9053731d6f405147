#include "oct/list.hpp"

#include <algorithm>

#include "oct/align/common_space.hpp"
#include "oct/align/z_overlap.hpp"
#include "oct/focal/fix.hpp"
#include "oct/graph.hpp"
#include "oct/illumination/fix.hpp"
#include "oct/interface/crop.hpp"
#include "oct/interface/map.hpp"
#include "oct/mosaic/aip.hpp"
#include "oct/mosaic/aip_png.hpp"
#include "oct/mosaic/create.hpp"
#include "oct/mosaic/resample.hpp"
#include "oct/normalize/normalize.hpp"
#include "oct/plan/plan.hpp"
#include "oct/pyramid/pyramid.hpp"
#include "oct/report/report.hpp"
#include "oct/score/score.hpp"
#include "oct/simulate/simulate.hpp"
#include "oct/stack/stack.hpp"
#include "oct/stitch/stitch.hpp"
#include "oct/transform/estimate.hpp"

namespace penstock::oct {

std::span<const Step> steps() {
  static const std::vector<Step> list = {
      simulate_step(),             //
      reconstruct_step(),          //
      run_steps_step(),            //
      explain_steps_step(),        //
      mosaic_step(),               //
      resample_step(),             //
      fix_focal_curvature_step(),  //
      fix_illumination_step(),     //
      aip_step(),                  //
      aip_png_step(),              //
      estimate_transform_step(),   //
      stitch_step(),               //
      tissue_interface_step(),     //
      crop_step(),                 //
      normalize_step(),            //
      common_space_step(),         //
      find_z_overlap_step(),       //
      stack_step(),                //
      pyramid_step(),              //
      report_step(),               //
      score_step(),                //
  };
  return list;
}

const Step* find_step(std::string_view name) {
  const auto all = steps();
  const auto it = std::ranges::find_if(all, [&](const Step& step) { return step.what.name == name; });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace penstock::oct
