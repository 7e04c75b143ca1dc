// leveldb_log.h: reads LevelDB's log format, to tell a torn end from damage.
//
//   log      = blocks of 32 KiB
//   block    = fragments, then up to 6 bytes of zeros where no header fits
//   fragment = | masked crc32c u32 | length u16 | type u8 | length bytes |
//   record   = one `full`, or a `first`, any `middle`s and a `last`
//
// Little-endian; the checksum covers type and payload. LevelDB's doc/log_format.md.
//
// Every write is synced before the next one begins, so a power cut can tear only the last
// record. Its blocks reach the disk in any order. So fragments that *continue* a record may
// be intact behind the lost part, but none that *begins* one.
//
//   whole     nothing behind the last record but zeros that were written ahead
//   torn      something, but no record begins in it: it was never acknowledged
//   damaged   a later record begins behind it: it was acknowledged once
//
// Limit: damage to the very last record looks torn, and zeros in its place (in an older
// log, too) look like the end. Commit numbers and peers reveal that one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace quipu {

class LevelDbLog {
 public:
  enum class End { whole, torn, damaged };

  // Borrows the bytes of a log, or of a MANIFEST, which has the same format.
  explicit LevelDbLog(std::string_view bytes) : bytes_(bytes) {}

  // The next record. Nothing at the end, and at the first damage.
  [[nodiscard]] std::optional<std::string> next();

  // The total size of the records that next() returned, in bytes.
  [[nodiscard]] std::size_t good() const { return good_; }

  // What is behind them. REQUIRES: next() returned nothing.
  [[nodiscard]] End end() const;

 private:
  std::string_view bytes_;
  std::size_t good_ = 0;
  std::size_t at_ = 0;  // at the end: where the first thing stands that is not valid
  bool ended_ = false;  // next() has returned nothing
};

}  // namespace quipu
