#include "node/cores/mail.h"

#include <utility>

#include "protocol/check.h"

namespace quipu {
namespace {

// Room for half of fifty pipelines of 128. Larger memory is not kept.
constexpr std::size_t kKeptItems = 4'096;
constexpr std::size_t kKeptKeys = std::size_t{256} << 10;  // bytes

}  // namespace

void Mail::ask(ClientId client, const Op& op) {
  questions_.push_back({.client = client, .id = op.id});
  ops_.push_back(op);
  keys_.insert(keys_.end(), op.key.begin(), op.key.end());
  keys_.insert(keys_.end(), op.words.begin(), op.words.end());
}

void Mail::ask(ClientId client, const Read& read) {
  QUIPU_CHECK(!read.keys.empty(), "a read names a key");
  questions_.push_back({.client = client,
                        .id = read.id,
                        .keys = static_cast<std::uint32_t>(read.keys.size()),
                        .timeout_ms = read.timeout_ms,
                        .level = read.level});
  for (const std::string_view key : read.keys) {
    lengths_.push_back(static_cast<std::uint32_t>(key.size()));
    keys_.insert(keys_.end(), key.begin(), key.end());
  }
}

void Mail::tell(ClientId client, std::uint64_t id, Done done) {
  replies_.push_back({.client = client, .id = id});
  done.id = id;
  done_.push_back(std::move(done));
}

void Mail::tell(ClientId client, std::uint64_t id, std::span<const Value> values, Asked asked) {
  QUIPU_CHECK(!values.empty(), "a read of a key has a value");
  replies_.push_back({client, id, static_cast<std::uint32_t>(values.size()), asked});
  values_.insert(values_.end(), values.begin(), values.end());
}

void Mail::clear() {
  const auto large = [](const auto&... all) { return ((all.capacity() > kKeptItems) || ...); };
  if (large(questions_, ops_, lengths_, replies_, done_, values_) || keys_.capacity() > kKeptKeys) {
    *this = {};
    return;
  }
  questions_.clear();
  ops_.clear();
  lengths_.clear();
  keys_.clear();
  replies_.clear();
  done_.clear();
  values_.clear();
  awake_ = false;
  read_ = {};
}

std::string_view Mail::next_key(std::size_t length) {
  return {keys_.data() + std::exchange(read_.keys, read_.keys + length), length};
}

// Their keys and words were given with the question.
std::span<Op> Mail::next_ops(std::size_t count) {
  const std::span<Op> ops =
      std::span(ops_).subspan(std::exchange(read_.ops, read_.ops + count), count);
  for (Op& op : ops) {
    op.key = next_key(op.key.size());
    op.words = next_key(op.words.size());
  }
  return ops;
}

void Mail::next_keys(std::size_t count, std::vector<std::string_view>& to) {
  for (std::size_t i = 0; i < count; ++i) to.push_back(next_key(lengths_[read_.lengths++]));
}

std::span<const Value> Mail::next_values(std::size_t count) {
  return std::span(values_).subspan(std::exchange(read_.values, read_.values + count), count);
}

}  // namespace quipu
