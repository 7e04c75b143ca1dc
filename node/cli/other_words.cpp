#include "node/cli/other_words.h"

#include <algorithm>
#include <cctype>

#include "node/base/spelling.h"

namespace quipu::cli {
namespace {

struct OtherName {
  std::string_view other, ours;
};

// The names that other programs use for our commands.
constexpr OtherName kOtherNames[] = {
    {"incr", "add"},
    {"incrby", "add"},
    {"increment", "add"},
    {"inc", "add"},
    {"decr", "add"},
    {"decrby", "add"},
    {"count", "add"},
    {"read", "get"},
    {"mget", "get"},
    {"show", "get"},
    {"value", "get"},
    {"pfadd", "distinct add"},
    {"pfcount", "distinct count"},
    {"unique", "distinct count"},
    {"del", "reset"},
    {"delete", "reset"},
    {"rm", "reset"},
    {"remove", "reset"},
    {"clear", "reset"},
    {"unlink", "reset"},
    {"shard", "shards"},
    {"spread", "shards"},
    {"list", "ls"},
    {"keys", "ls"},
    {"scan", "ls"},
    {"import", "ingest"},
    {"load", "ingest"},
    {"namespaces", "namespace ls"},
    {"ns", "namespace"},
    {"create", "namespace create"},
    {"drop", "namespace drop"},
    {"status", "cluster status"},
    {"info", "cluster status"},
    {"nodes", "cluster status"},
    {"members", "cluster status"},
    {"ping", "cluster status"},
    {"settings", "config show"},
    {"benchmark", "bench"},
};

constexpr OtherName kOtherNamespaceNames[] = {
    {"add", "create"},  {"new", "create"},  {"define", "create"}, {"change", "set"},
    {"update", "set"},  {"delete", "drop"}, {"del", "drop"},      {"rm", "drop"},
    {"remove", "drop"}, {"get", "show"},    {"info", "show"},     {"list", "ls"},
};

std::optional<std::string> meant_by(std::string_view word, std::span<const OtherName> others,
                                    std::span<const std::string> commands) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto at = std::ranges::find(others, lower, &OtherName::other);
  return at == others.end() ? similar_word(lower, commands) : std::string(at->ours);
}

}  // namespace

std::optional<std::string> meant_command(std::string_view word,
                                         std::span<const std::string> commands) {
  return meant_by(word, kOtherNames, commands);
}

std::optional<std::string> meant_namespace_command(std::string_view word,
                                                   std::span<const std::string> commands) {
  return meant_by(word, kOtherNamespaceNames, commands);
}

std::optional<std::string> similar_word(std::string_view word, std::span<const std::string> known) {
  const std::size_t slips = word.size() <= 3 ? 1 : 2;
  return nearest_word(word, known, slips);
}

}  // namespace quipu::cli
