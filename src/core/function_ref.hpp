// A call of something that stands elsewhere and outlives it: a std::function without a copy and without memory.
#pragma once
#include <concepts>
#include <type_traits>
#include <utility>

namespace penstock {

template <class Signature>
class FunctionRef;

template <class R, class... Arguments>
class FunctionRef<R(Arguments...)> {
 public:
  template <class F>
    requires(!std::same_as<F, FunctionRef>)
  FunctionRef(const F& f)  // implicit: a lambda is handed over as it stands
      : object_(&f), call_([](const void* object, Arguments... arguments) -> R {
          return (*static_cast<const F*>(object))(std::forward<Arguments>(arguments)...);
        }) {}
  R operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  const void* object_;
  R (*call_)(const void*, Arguments...);
};

}  // namespace penstock
