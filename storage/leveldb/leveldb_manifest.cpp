#include "storage/leveldb/leveldb_manifest.h"

#include <cstddef>
#include <optional>

#include "protocol/varint.h"

namespace quipu {
namespace {

enum Tag : std::uint64_t {
  kComparator = 1,
  kLogNumber = 2,
  kNextFile = 3,
  kLastSequence = 4,
  kCompactPointer = 5,
  kDeletedFile = 6,
  kNewFile = 7,
  kPreviousLog = 9,
};

// Takes fields from the front. Once one is malformed, so are all that follow.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] bool good() const { return good_; }

  std::uint64_t varint() {
    const std::optional<std::uint64_t> number = take_varint(rest_);
    good_ = good_ && number;
    return number.value_or(0);
  }

  void skip_varints(int count) {
    while (count-- > 0) varint();
  }

  void skip_strings(int count) {
    while (count-- > 0) {
      const std::uint64_t length = varint();
      good_ = good_ && length <= rest_.size();
      if (good_) rest_.remove_prefix(static_cast<std::size_t>(length));
    }
  }

  void fail() { good_ = false; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void take_field(Fields& fields, VersionEdit& edit) {
  switch (fields.varint()) {
    case kLogNumber:
      edit.log_number = fields.varint();
      break;
    case kComparator:
      fields.skip_strings(1);
      break;
    case kNextFile:
    case kLastSequence:
    case kPreviousLog:
      fields.skip_varints(1);
      break;
    case kDeletedFile:
      fields.skip_varints(2);
      break;               // level, number
    case kCompactPointer:  // level, key
      fields.skip_varints(1);
      fields.skip_strings(1);
      break;
    case kNewFile:  // level, number, size, smallest, largest
      fields.skip_varints(3);
      fields.skip_strings(2);
      break;
    default:
      fields.fail();
  }
}

}  // namespace

std::optional<VersionEdit> parse_version_edit(std::string_view record) {
  VersionEdit edit;
  Fields fields(record);
  while (fields.good() && !fields.empty()) take_field(fields, edit);
  if (!fields.good()) return std::nullopt;
  return edit;
}

}  // namespace quipu
