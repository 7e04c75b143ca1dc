// wire.h: code that all codecs share: builds FlatBuffers tables, and reads them without
// trusting them. Private to protocol/*.cpp. No other code sees FlatBuffers.
//
// FlatBuffers' verifier makes a table safe to walk, no more. It accepts bytes behind the
// message, structs of 8-byte fields at addresses of 4, absent fields, any number in an
// enum, and a vector that a thousand tables share. Reader adds the missing checks.
#pragma once

// Makes the verifier report the end of the message. This changes inline functions, so it
// must be the same everywhere: no other file includes a FlatBuffers header.
#ifdef FLATBUFFERS_VERIFIER_H_
#error "include protocol/wire.h instead of FlatBuffers' own headers"
#endif
#define FLATBUFFERS_TRACK_VERIFIER_BUFFER_SIZE

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/ids.h"
#include "protocol/peer_generated.h"  // includes those of state.fbs and client.fbs
#include "protocol/window.h"
#include "quipu/status.h"

namespace quipu {

static_assert(std::endian::native == std::endian::little,
              "frame and value headers are copied as they stand in memory");

using Builder = flatbuffers::FlatBufferBuilder;
template <class T>
using Offset = flatbuffers::Offset<T>;
template <class T>
using Vector = flatbuffers::Vector<T>;
using Bytes = Vector<std::uint8_t>;

// ---- building: empty things are left out ----

// This thread's builder, emptied. One per thread, so that a hot message allocates
// nothing; a message is finished and copied out before the next one begins.
[[nodiscard]] Builder& fresh_builder();

template <class Table>
[[nodiscard]] std::span<const std::byte> finish(Builder& builder, Offset<Table> root) {
  builder.Finish(root);
  return std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
}

[[nodiscard]] Offset<Bytes> build_bytes(Builder& builder, std::string_view bytes);
[[nodiscard]] Offset<flatbuffers::String> build_text(Builder& builder, std::string_view text);

// Each item as a struct. (Not CreateUninitializedVectorOfStructs: in 2.0.8 it
// misaligns structs whose size is not a power of two.)
template <class Struct, class Items, class Make>
[[nodiscard]] Offset<Vector<const Struct*>> build_structs(Builder& builder, const Items& items,
                                                          Make make) {
  if (items.empty()) return 0;
  const auto fill = [&make](std::size_t i, Struct* to, const Items* from) {
    *to = make((*from)[i]);
  };
  return builder.CreateVectorOfStructs<Struct>(items.size(), fill, &items);
}

// Ids and numbers, as their plain integers.
template <class Scalar, class Item>
[[nodiscard]] Offset<Vector<Scalar>> build_scalars(Builder& builder,
                                                   const std::vector<Item>& items) {
  if (items.empty()) return 0;
  if constexpr (std::is_same_v<Scalar, Item>) return builder.CreateVector(items);
  Scalar* to = nullptr;
  const auto offset = builder.CreateUninitializedVector<Scalar>(items.size(), &to);
  for (const Item& item : items) *to++ = static_cast<Scalar>(item);
  return offset;
}

// Each item as a table, by its build().
template <class Table, class Items, class Build>
[[nodiscard]] Offset<Vector<Offset<Table>>> build_tables(Builder& builder, const Items& items,
                                                         Build build_one) {
  if (items.empty()) return 0;
  std::vector<Offset<Table>> offsets;
  offsets.reserve(items.size());
  for (const auto& item : items) offsets.push_back(build_one(item));
  return builder.CreateVector(offsets);
}

// ---- reading ----

// Reads one message. Keeps the first refusal and goes on harmlessly after it, so that the
// code that reads fields need not branch. result() returns it.
class Reader {
 public:
  // `name` is the name of the message in refusals, `refusal` their code.
  Reader(std::span<const std::byte> bytes, const char* name, Code refusal)
      : bytes_(bytes), name_(name), refusal_(refusal), unpaid_(bytes.size()) {}

  // The verified table; nullptr if there is none.
  template <class Table>
  [[nodiscard]] const Table* root() {
    if (!admissible()) return refuse("message", "is empty, misaligned or too long"), nullptr;
    flatbuffers::Verifier::Options options;
    options.max_depth = 16;
    // Even an empty table takes 8 bytes, including the offset to it.
    options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes_.size() / 8);
    const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes_.data());
    flatbuffers::Verifier verifier(data, bytes_.size(), options);
    if (!verifier.VerifyBuffer<Table>(nullptr)) return refuse("message", "is malformed"), nullptr;
    if (!only_padding(verifier.GetComputedSize())) {
      return refuse("message", "is followed by extra bytes"), nullptr;
    }
    return flatbuffers::GetRoot<Table>(data);
  }

  void refuse(const char* field, std::string_view problem);
  [[nodiscard]] bool ok() const { return problem_.empty(); }

  // Returns the value, so that it can stand in an initialiser.
  template <class Number>
  Number within(const char* field, Number value, Number low, Number high) {
    if (value < low || value > high) refuse_range(field, value, low, high);
    return value;
  }
  // Wire enums count from 0 without gaps.
  template <class Enum, class WireEnum>
  [[nodiscard]] Enum one_of(const char* field, WireEnum value) {
    static_assert(static_cast<unsigned>(WireEnum::MIN) == 0);
    within<unsigned>(field, static_cast<unsigned>(value), 0, static_cast<unsigned>(WireEnum::MAX));
    return static_cast<Enum>(value);
  }
  Partition partition(const char* field, std::uint16_t value) {
    return Partition{within<std::uint16_t>(field, value, 0, kPartitions - 1)};
  }
  // A shard of a counter of any kind, but not of a window.
  ShardIndex shard(const char* field, std::uint16_t value) {
    if (is_window(value) || !is_known(kind_of(value))) refuse(field, "is of no known kind");
    return value;
  }
  Kind kind(const char* field, std::uint8_t value) {
    if (is_known(Kind{value})) return Kind{value};
    refuse(field, "is no known kind");
    return Kind::sum;
  }
  // Checks a shard's name where no user supplied it, so a bad one is a protocol error.
  void name(const char* field, const ShardRef& ref) {
    if (!is_name(ref)) refuse(field, "name no shard that there can be");
  }
  std::size_t key_length(const char* field, std::size_t value) {
    return within<std::size_t>(field, value, 1, kMaxKey);
  }

  // Borrows; absent is empty.
  [[nodiscard]] static std::string_view view(const Bytes* from);
  [[nodiscard]] std::string text(const char* field, const flatbuffers::String* from);

  // Appends make(element) for each element of a vector of scalars or structs, or
  // of tables.
  template <class To, class Element, class Make>
  void copy(const char* field, const Vector<Element>* from, std::vector<To>& to, Make make) {
    if (!payable(field, from)) return;
    to.reserve(to.size() + from->size());
    for (flatbuffers::uoffset_t i = 0; i < from->size(); ++i) to.push_back(make(from->Get(i)));
  }
  // The same for ids and numbers. Copies them as a whole if they are stored as in memory.
  template <class To, class Scalar>
  void copy(const char* field, const Vector<Scalar>* from, std::vector<To>& to) {
    if constexpr (std::is_same_v<To, Scalar>) {
      if (payable(field, from)) to.insert(to.end(), from->data(), from->data() + from->size());
    } else {
      copy(field, from, to, [](Scalar value) { return To{value}; });
    }
  }

  // Each copied byte must be paid for with a byte of the message. Else a thousand tables that
  // share a long text would cost a thousand copies of it.
  [[nodiscard]] bool pay(const char* field, std::size_t bytes);

  template <class Message>
  [[nodiscard]] Result<Message> result(Message&& message) {
    if (!ok()) return {refusal_, std::move(problem_)};
    return std::forward<Message>(message);
  }

 private:
  [[nodiscard]] bool admissible() const;
  [[nodiscard]] bool only_padding(std::size_t from) const;
  // Whether there is anything to copy, and copying it is allowed.
  template <class Element>
  [[nodiscard]] bool payable(const char* field, const Vector<Element>* from) {
    using Stored = std::remove_cv_t<std::remove_pointer_t<Element>>;
    if (from == nullptr || from->size() == 0) return false;  // builders leave empty ones unaligned
    return aligned(field, from->Data(), alignof(Stored)) &&
           pay(field, from->size() * sizeof(Stored));
  }
  [[nodiscard]] bool aligned(const char* field, const void* data, std::size_t alignment);
  template <class Number>
  void refuse_range(const char* field, Number value, Number low, Number high) {
    refuse(field, "is " + std::to_string(value) + ": must be " + std::to_string(low) + " to " +
                      std::to_string(high));
  }

  std::span<const std::byte> bytes_;
  const char* name_;
  Code refusal_;
  std::size_t unpaid_;
  std::string problem_;
};

// A whole message: its table, verified, read by read_table(in, table, message).
template <class Table, class Message, class ReadTable>
[[nodiscard]] Result<Message> read_message(std::span<const std::byte> bytes, Code refusal,
                                           const char* name, ReadTable read_table) {
  Reader in(bytes, name, refusal);
  Message message{};
  if (const Table* table = in.root<Table>()) read_table(in, *table, message);
  return in.result(std::move(message));
}

// Splits keys that lie one after the other.
class KeyCutter {
 public:
  KeyCutter(Reader& in, const char* field, const Bytes* keys)
      : in_(in), field_(field), left_(Reader::view(keys)) {}

  [[nodiscard]] std::string_view next(std::size_t length) {
    if (length > left_.size()) {
      in_.refuse(field_, "has fewer bytes than its lengths add up to");
      length = left_.size();
    }
    const std::string_view key = left_.substr(0, length);
    left_.remove_prefix(length);
    return key;
  }
  void end() {
    if (!left_.empty()) in_.refuse(field_, "has more bytes than its lengths add up to");
  }

 private:
  Reader& in_;
  const char* field_;
  std::string_view left_;
};

}  // namespace quipu
