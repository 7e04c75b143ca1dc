// ingest_details.h: lists each line that was not counted, with its reason: all of them in the
// report's file, if there is one, and the first few on stderr.
#pragma once

#include <cstdint>
#include <string>

#include "node/cli/ingest_combiner.h"
#include "node/cli/progress.h"
#include "quipu/status.h"

namespace quipu::cli {

class IngestDetails {
 public:
  explicit IngestDetails(Progress& progress) : progress_(progress) {}
  ~IngestDetails();
  IngestDetails(const IngestDetails&) = delete;
  IngestDetails& operator=(const IngestDetails&) = delete;

  // Tab-separated, with a line of headings. `append`: after the rows of an earlier ingest.
  [[nodiscard]] Status open(const std::string& file, bool append);

  // `key` may be empty: the lines belong to no add.
  void tell(const LineRanges& lines, const std::string& key, std::int64_t amount,
            const Status& status);
  // Call it once, at the end. Not ok: the report could not be written.
  [[nodiscard]] Status finish();

 private:
  // A short text for a person.
  static constexpr std::size_t kMostSaid = 20;

  void write(const std::string& text);
  void flush();

  Progress& progress_;
  std::string file_;  // empty: none
  int descriptor_ = -1;
  std::string buffer_;
  int failed_ = 0;  // errno
  std::size_t told_ = 0;
};

}  // namespace quipu::cli
