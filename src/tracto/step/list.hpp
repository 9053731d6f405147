// The methods: what each is called, and its step.
#pragma once
#include "penstock/tracto.hpp"
#include "tracto/step/boot.hpp"
#include "tracto/step/closest.hpp"
#include "tracto/step/det.hpp"
#include "tracto/step/prob.hpp"
#include "tracto/step/ptt.hpp"

namespace penstock::tracto {

/// Calls run(Step()) with the step of a method.
template <class Run>
auto with_step(TrackMethod method, const Run& run) -> decltype(run(ProbStep())) {
  switch (method) {
    case TrackMethod::det: return run(DetStep());
    case TrackMethod::closest: return run(ClosestStep());
    case TrackMethod::boot: return run(BootStep());
    case TrackMethod::ptt: return run(PttStep());
    case TrackMethod::prob: break;
  }
  return run(ProbStep());
}

}  // namespace penstock::tracto
