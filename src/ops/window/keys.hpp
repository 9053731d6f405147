// Elements as unsigned numbers of the same order, and back: written once for every processor.
#pragma once
#include "ops/dispatch.hpp"
#include "ops/select/kernel.hpp"

namespace penstock::window {

template <class T>
struct ToKeys {
  const T* in;
  select::Key<T>* out;
  PENSTOCK_HD void operator()(std::uint64_t i) const { out[i] = select::key_of(in[i]); }
};
template <class T>
struct FromKeys {
  const select::Key<T>* in;
  T* out;
  PENSTOCK_HD void operator()(std::uint64_t i) const { out[i] = select::value_of<T>(in[i]); }
};

/// Calls f with the pass for elements of this type.
template <class F>
void with_keys(const DType& dtype, const void* in, void* out, bool back, const F& f) {
  with_type(dtype, [&]<class T>(TypeTag<T>) {
    if (back)
      f(FromKeys<T>{static_cast<const select::Key<T>*>(in), static_cast<T*>(out)});
    else
      f(ToKeys<T>{static_cast<const T*>(in), static_cast<select::Key<T>*>(out)});
  });
}

}  // namespace penstock::window
