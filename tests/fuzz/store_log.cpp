// store_log.cpp: LevelDB's logs and MANIFEST, as they are read before LevelDB sees
// them, to tell a torn end from damage.
#include "storage/leveldb/leveldb_crc32c.h"
#include "storage/leveldb/leveldb_log.h"
#include "storage/leveldb/leveldb_manifest.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/chunks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

constexpr std::size_t kBlock = 32768;
constexpr std::size_t kHeader = 7;

// A fragment whose checksum is true; its type need not be.
void append_fragment(std::string& log, std::uint8_t type, std::string_view payload) {
  std::string guarded(1, static_cast<char>(type));
  guarded.append(payload);
  const std::uint32_t crc = masked_crc32c(guarded);
  for (unsigned shift = 0; shift < 32; shift += 8) log += static_cast<char>(crc >> shift);
  log += static_cast<char>(payload.size() & 0xff);
  log += static_cast<char>(payload.size() >> 8);
  log.append(guarded);
}

std::string log_of(std::string_view input) {
  enum Kind : std::uint8_t { raw_bytes, fragment, end_of_block, kKinds };
  std::string log;
  for (const Chunk& chunk : split(input)) {
    Bytes bytes(chunk.bytes);
    switch (chunk.kind % kKinds) {
      case raw_bytes:
        log.append(chunk.bytes);
        break;
      case fragment: {
        const std::uint8_t type = bytes.byte();
        append_fragment(log, type, bytes.rest());
        break;
      }
      case end_of_block: {  // … or a few bytes before it
        const std::size_t before = bytes.byte();
        const std::size_t left = kBlock - log.size() % kBlock;
        if (left > before + kHeader) {
          append_fragment(log, 1, std::string(left - before - kHeader, 'x'));
        }
        break;
      }
    }
  }
  return log;
}

std::vector<std::string> records_of(LevelDbLog& log) {
  std::vector<std::string> records;
  while (auto record = log.next()) {
    (void)parse_version_edit(*record);
    records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  using namespace quipu;
  const std::string bytes = log_of({reinterpret_cast<const char*>(data), size});
  LevelDbLog log(bytes);
  const std::vector<std::string> records = records_of(log);
  const auto end = log.end();
  check(log.good() <= bytes.size(), "records are within the log");
  if (log.good() == bytes.size()) check(end == LevelDbLog::End::whole, "whole is whole");
  if (end == LevelDbLog::End::damaged) return 0;
  // A torn end is cut off.
  const std::string mended = bytes.substr(0, log.good());
  LevelDbLog again(mended);
  check(records_of(again) == records, "a mended log holds the same records");
  check(again.end() == LevelDbLog::End::whole, "a mended log is whole");
  // Zeros may follow, however many.
  const std::string zeros = mended + std::string(bytes.size() % 70'000, '\0');
  LevelDbLog prepared(zeros);
  check(records_of(prepared) == records, "zeros are no records");
  check(prepared.end() == LevelDbLog::End::whole, "zeros are the end");
  // It ends between two records: another one may follow.
  std::string longer = mended;
  const std::size_t left = kBlock - longer.size() % kBlock;
  if (left < kHeader) longer.append(left, '\0');
  append_fragment(longer, 1, {});
  LevelDbLog more(longer);
  check(records_of(more).size() == records.size() + 1, "a mended log can go on");
  return 0;
}
