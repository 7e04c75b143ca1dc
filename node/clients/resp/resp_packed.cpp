#include "node/clients/resp/resp_packed.h"

namespace quipu {
namespace {

constexpr std::uint8_t kVersionBits = 0x0f;
constexpr std::size_t kCountBytes = 2, kLengthBytes = 4;
static_assert(kMaxPackedWords < std::size_t{1} << (8 * kCountBytes));
static_assert(kMaxRespRequest < std::uint64_t{1} << (8 * kLengthBytes));

void append(std::string& to, std::size_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    to.push_back(static_cast<char>((number >> (8 * i)) & 0xff));
}

}  // namespace

bool PackedCommands::add(std::span<const std::string_view> words) {
  if (words.empty() || words.size() > kMaxPackedWords - words_) return false;
  append(bytes_, words.size(), kCountBytes);
  for (const std::string_view word : words) {
    append(bytes_, word.size(), kLengthBytes);
    bytes_.append(word);
  }
  words_ += words.size();
  ++commands_;
  return true;
}

PackedReader::PackedReader(std::string_view bytes) : rest_(bytes) {
  if (rest_.empty()) return;
  const auto first = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  form_ = static_cast<PackedForm>(first & ~kVersionBits);
  version_ = static_cast<RespWriter::Version>(first & kVersionBits);
  sound_ = (version_ == RespWriter::Version::resp2 || version_ == RespWriter::Version::resp3) &&
           (first >> 4) <= (static_cast<unsigned>(PackedForm::read_only_script) >> 4);
}

std::size_t PackedReader::number(std::size_t bytes) {
  std::size_t number = 0;
  if (rest_.size() < bytes) {
    sound_ = false;
    return 0;
  }
  for (std::size_t i = 0; i < bytes; ++i)
    number |= std::size_t{static_cast<std::uint8_t>(rest_[i])} << (8 * i);
  rest_.remove_prefix(bytes);
  return number;
}

bool PackedReader::next(std::vector<std::string_view>& words) {
  words.clear();
  if (!sound_ || rest_.empty()) return false;
  const std::size_t count = number(kCountBytes);
  sound_ = sound_ && count > 0 && count <= left_;
  for (std::size_t i = 0; sound_ && i < count; ++i) {
    const std::size_t length = number(kLengthBytes);
    sound_ = sound_ && length <= rest_.size();
    if (!sound_) break;
    words.push_back(rest_.substr(0, length));
    rest_.remove_prefix(length);
  }
  if (sound_) left_ -= count;
  return sound_;
}

}  // namespace quipu
