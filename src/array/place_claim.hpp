// A place in a store that one writer has for itself while it makes an array there.
#pragma once
#include <memory>
#include <string>

#include "penstock/array.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// An archive shows nothing of what is written to it until it is complete.
bool is_archive(const Store& store);

/// Two writers in one place would mix their chunks, and each would take them for its own.  The claim is an object in
/// the place, which is taken away when the claim ends; a writer that is killed leaves it.  A copy's marker is one, too.
class PlaceClaim {
 public:
  /// With IfExists::overwrite it takes the place over from whoever has it.  An archive needs none.  Errors:
  /// already_exists (another writer has begun there), those of the store.
  static Result<PlaceClaim> take(std::shared_ptr<Store> store, std::string_view path, Array::IfExists if_exists,
                                 const CancelToken& cancel);
  PlaceClaim(PlaceClaim&&) noexcept = default;
  PlaceClaim& operator=(PlaceClaim&&) = delete;
  ~PlaceClaim();

  /// Errors: already_exists (somebody took the place over).
  [[nodiscard]] Status check() const;

 private:
  PlaceClaim(std::shared_ptr<Store> store, std::string path, std::string name)
      : store_(std::move(store)), path_(std::move(path)), name_(std::move(name)) {}
  [[nodiscard]] Result<bool> is_ours() const;
  std::shared_ptr<Store> store_;  // null: there is nothing to take away
  std::string path_, name_;
};

}  // namespace penstock
