// edit.h: a body while it is changed.
//
// A kind changes bytes in place as long as the length stays the same; else it replaces the body. It
// notes the units that it changes, and those that it found as it wants them: its author's change
// rests on both. The owner of the bytes learns of the first change before it is made, since it may
// have to keep what the body was (ShardMap::touch).
//
// What stands beside the body (derived.h) is forgotten with the first change. A kind that can keep
// it up takes it before, and gives it back after its changes.
//
// Invariant: where nothing was changed, the bytes are the same as before, and no unit is noted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "storage/kinds/derived.h"
#include "storage/kinds/units.h"

namespace quipu {

class Edit {
 public:
  // Called before the first change.
  using Touch = void (*)(void* context);

  // Edits these bytes, which must outlive the edit. Empty: there is no body yet.
  explicit Edit(char* bytes = nullptr, std::size_t size = 0, Touch touch = nullptr,
                void* context = nullptr)
      : bytes_(bytes), size_(size), touch_(touch), context_(context) {
    units_.are_of(size);
  }
  Edit(const Edit&) = delete;
  Edit& operator=(const Edit&) = delete;

  [[nodiscard]] std::string_view body() const {
    return replaced_ ? std::string_view(*replaced_) : std::string_view(bytes_, size_);
  }

  // The bytes, to be changed in place. Only for a change that is made: it counts as one.
  [[nodiscard]] char* change() {
    begin();
    return replaced_ ? replaced_->data() : bytes_;
  }
  void replace(std::string body) {
    begin();
    units_.are_of(body.size());
    replaced_ = std::move(body);
  }

  // Changed.
  void note(Unit unit) {
    units_.add(unit);
    rest_on(unit);
  }
  void note_all() {
    units_.add_all();
    rest_on_all();
  }
  // Perhaps not changed.
  void rest_on(Unit unit) {
    if (rests_on_ != nullptr) rests_on_->add(unit);
  }
  void rest_on_all() {
    if (rests_on_ != nullptr) rests_on_->add_all();
  }
  // Collects from now on what the change rests on. Null: not collected.
  void tell_rests_on(Units* to) {
    rests_on_ = to;
    if (to != nullptr) to->are_of(size_);
  }
  [[nodiscard]] const Units& units() const { return units_; }

  void tell_derived(DerivedPlace place) { derived_ = place; }
  // Nothing: not known, or forgotten.
  [[nodiscard]] std::optional<Derived> derived() const { return derived_.get(); }
  // What follows from the body now, which was changed in place.
  void keep_derived(const Derived& kept) { derived_.set(kept); }

  [[nodiscard]] bool changed() const { return changed_; }
  // The new body, if it was not changed in place.
  [[nodiscard]] std::optional<std::string>& replaced() { return replaced_; }

 private:
  void begin() {
    if (std::exchange(changed_, true)) return;
    derived_.forget();
    if (touch_ != nullptr) touch_(context_);
  }

  char* bytes_;
  std::size_t size_;
  Touch touch_;
  void* context_;
  bool changed_ = false;
  std::optional<std::string> replaced_;
  DerivedPlace derived_;
  Units units_;
  Units* rests_on_ = nullptr;
};

}  // namespace quipu
