#include "node/cli/ingest_details.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "node/cli/output.h"

namespace quipu::cli {
namespace {

constexpr std::size_t kReportBuffer = std::size_t{64} << 10;

std::string what_became(const Status& status) {
  switch (status.outcome()) {
    case Outcome::applied:
      return "counted";
    case Outcome::not_applied:
      return "not counted";
    case Outcome::unknown:
      break;
  }
  return "may or may not be counted";
}

// Without advice for lines in doubt: that comes at the end.
std::string reason(const Status& status) {
  if (status.ok()) return {};
  if (status.outcome() != Outcome::unknown) return message_of(status);
  return std::string(describe(status.code()).name) + ": " + status.detail();
}

}  // namespace

IngestDetails::~IngestDetails() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status IngestDetails::open(const std::string& file, bool append) {
  file_ = file;
  const int how = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC);
  descriptor_ = ::open(file.c_str(), how, 0666);
  if (descriptor_ < 0)
    return {Code::invalid_argument, printable(file) + ": " + std::strerror(errno)};
  if (::lseek(descriptor_, 0, SEEK_END) == 0 || !append)
    write("lines\toutcome\tcode\tkey\tamount\tmessage\n");
  return {};
}

void IngestDetails::write(const std::string& text) {
  if (descriptor_ < 0) return;
  buffer_ += text;
  if (buffer_.size() >= kReportBuffer) flush();
}

void IngestDetails::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && failed_ == 0) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) failed_ = errno;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void IngestDetails::tell(const LineRanges& lines, const std::string& key, std::int64_t amount,
                         const Status& status) {
  const std::string total = std::to_string(amount);
  write(lines.text(std::numeric_limits<std::size_t>::max()) + '\t' + what_became(status) + '\t' +
        std::string(describe(status.code()).name) + '\t' + printable(key) + '\t' +
        (key.empty() ? "" : total) + '\t' + printable(reason(status)) + '\n');
  if (status.ok() || ++told_ > kMostSaid) return;
  progress_.clear();
  complain((lines.lines() == 1 ? "line " : "lines ") + lines.text() +
           (key.empty() ? "" : " (" + printable(key) + ", " + total + " in all)") + ": " +
           what_became(status) + ": " +
           (key.empty() ? status.detail() : printable(reason(status))));
}

Status IngestDetails::finish() {
  if (told_ > kMostSaid) {
    progress_.clear();
    complain("... and " + for_people(std::uint64_t{told_ - kMostSaid}) + " more such reasons; " +
             (file_.empty() ? "--report FILE names them all" : printable(file_) + " has them all"));
  }
  flush();
  if (failed_ == 0) return {};
  return {Code::in_doubt, printable(file_) + ": " + std::strerror(failed_)};
}

}  // namespace quipu::cli
