// write_corpus.cpp: writes the seeds of corpus/: what a node, a peer, a disk and an
// operator really say. `fuzz_write_corpus DIRECTORY`; then README.md, "Corpora".
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "protocol/state_codec.h"
#include "storage/leveldb/leveldb_crc32c.h"
#include "storage/stored_keys.h"
#include "tests/fuzz/chunks.h"
#include "tests/protocol/messages.h"

namespace quipu::fuzz {
namespace {

namespace fs = std::filesystem;

// Kinds as the targets number them.
constexpr std::uint8_t kFramed = 1;

void write(const fs::path& directory, const std::string& name, std::string_view bytes) {
  fs::create_directories(directory);
  std::ofstream(directory / name, std::ios::binary) << bytes;
}

// A frame's type and payload: its header is the target's to write.
std::string unframed(const std::string& frame) {
  const auto type = static_cast<std::uint16_t>(test::type_of_frame(frame));
  std::string bytes(reinterpret_cast<const char*>(&type), sizeof type);
  return bytes.append(frame, kFrameHeader);
}

Chunk decisions(std::uint8_t kind, std::string bytes) { return {kind, std::move(bytes)}; }

// ---- frames ----

// Without the few that are larger than an input may be.
void write_frames(const fs::path& root) {
  constexpr std::size_t kLongest = 2048;
  for (const test::Sample& sample : test::all_messages()) {
    const std::string frame = test::encoded(sample.message);
    if (frame.size() > kLongest) continue;
    const bool peer = std::holds_alternative<PeerMessage>(sample.message);
    const std::string target = peer ? "peer_frames" : "client_frames";
    const std::string chunk = join({{kFramed, unframed(frame)}});
    write(root / target, sample.name, (peer ? '\3' : '\0') + chunk);
    if (!peer) write(root / target, sample.name + "_of_three", '\1' + chunk);
    if (!peer) write(root / target, sample.name + "_raw", '\0' + join({{0, frame}}));
  }
}

constexpr char kAny = char(245);  // shard: any, followed by whether it has an affinity

// An op: id, kind, key, shard, amount, ack, timeout (2), whether it has a token.
std::string op_of(char kind, char shard, char amount, char ack, const std::string& token = "\0") {
  return std::string{1, kind, 2, shard, amount, ack, 0, 0} + token;
}

void write_client_stories(const fs::path& root) {
  constexpr std::uint8_t kOp = 2, kRead = 3, kList = 4, kTurn = 5, kLater = 6, kDisk = 7,
                         kNamespaces = 8;
  const Chunk turn{kTurn, {}};
  const std::string token = std::string{1, 0, 0, 1, 0};
  const std::vector<std::vector<Chunk>> stories{
      {decisions(kOp, op_of(0, 0, 5, 1)), decisions(kOp, op_of(0, 0, 7, 2)), turn,
       decisions(kRead, {1, 2, 0, 0, 2, 2, 3})},
      {decisions(kOp, op_of(2, 0, 3, 1)), turn, decisions(kOp, op_of(0, 2, 5, 1)),
       decisions(kOp, op_of(0, 1, 5, 0)), turn, decisions(kOp, op_of(1, kAny, 0, 2)),
       decisions(kRead, {1, 2, 0, 0, 1, 2})},
      {decisions(kOp, op_of(3, 0, 0, 1, {1, 0, 0, 0, 0})), turn,
       decisions(kOp, op_of(0, 0, 9, 1, token)), decisions(kOp, op_of(0, 0, 9, 1, token)), turn,
       decisions(kOp, op_of(0, 0, 8, 1, token))},
      {decisions(kDisk, {1}), decisions(kOp, op_of(0, 0, 100, 1)),
       decisions(kOp, op_of(0, 0, 100, 1)), decisions(kLater, {0, 40}), decisions(kDisk, {2}),
       decisions(kOp, op_of(0, 0, 1, 1)), decisions(kDisk, {0})},
      {decisions(kOp, op_of(0, 0, 5, 1)), turn, decisions(kList, {1, 1, 1}),
       decisions(kLater, {0, 20}), decisions(kRead, {2, 1, 0, 1, 1, 2})},
      {decisions(kOp, op_of(2, 0, 3, 1)), turn, decisions(kOp, op_of(0, kAny, 5, 1, {1, 9})),
       decisions(kOp, op_of(0, kAny, 5, 1, {1, 7})), turn, decisions(kRead, {1, 2, 0, 0, 1, 2})},
      // Creates "likes" with shards and a level, adds to it, is strict, drops it, lists.
      {decisions(kNamespaces, {1, 1, 1, 5, 2, 3, 0, 0, 9}), turn, decisions(kLater, {0, 40}),
       decisions(kOp, op_of(0, 0, 5, 3)), turn, decisions(kLater, {0, 40}),
       decisions(kNamespaces, {2, 2, 0, 8, 1, 8, 0, 9}), turn, decisions(kOp, op_of(0, 0, 5, 1)),
       decisions(kNamespaces, {3, 3, 1, 0, 0, 0, 9}), turn, decisions(kNamespaces, {4}), turn},
  };
  for (std::size_t i = 0; i < stories.size(); ++i) {
    const std::string name = "story_" + std::to_string(i);
    write(root / "client_frames", name, '\0' + join(stories[i]));
    write(root / "client_frames", name + "_of_three", '\1' + join(stories[i]));
  }
}

// What the commands are, resp.cpp knows: these are how clients string them together.
void write_resp_stories(const fs::path& root) {
  constexpr std::uint8_t kRaw = 0, kTurn = 2, kDisk = 3, kSwitched = 4;
  const Chunk turn{kTurn, {}};
  const std::vector<std::pair<const char*, std::string>> said{
      {"counts", "*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n"},
      {"inline", "SET a 5\r\nINCRBY \"a\" '-7'\r\nMGET a b\r\nGETDEL a\r\nSTRLEN a\r\n"},
      {"scans", "INCR a\r\nINCR b\r\nSCAN 0 MATCH [a-c]* COUNT 1 TYPE string\r\nKEYS *\r\n"},
      {"resets", "INCR a\r\nDEL a b a\r\nINCR b\r\nFLUSHALL\r\nDBSIZE\r\nRANDOMKEY\r\n"},
      {"greets", "HELLO 3 AUTH default x SETNAME me\r\nCLIENT LIST\r\nRESET\r\nHELLO 2\r\n"},
      {"levels", "QUIPU.ADD a 5 ACK QUORUM\r\nQUIPU.GET a STRONG\r\nQUIPU.RESET a\r\n"},
      {"tells", "COMMAND DOCS get\r\nCOMMAND INFO\r\nCONFIG GET *\r\nINFO\r\nQUIT\r\n"},
      {"browser", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"no_request", "PING\r\n*1\r\n:1\r\n"},
      {"ends",
       "SET a 5 EX 100\r\nEXPIRE a 9 LT\r\nTTL a\r\nGETEX a PERSIST\r\nINCREX a UBOUND 6\r\n"},
      {"databases", "SELECT 1\r\nMSET a 1 b 2\r\nSCAN 0\r\nDBSIZE\r\nFLUSHDB\r\nSELECT 16\r\n"},
      {"overflows", "SET a 9223372036854775807\r\nINCR a\r\nDECRBY a -9223372036854775808\r\n"}};
  for (const auto& [name, bytes] : said) {
    const Chunk raw{kRaw, bytes};
    write(root / "resp", name, join({raw, turn}));
    write(root / "resp", std::string(name) + "_while_the_disk_hangs",
          join({{kDisk, "\1"}, raw, turn, {kSwitched, {}}, raw, turn, {kDisk, std::string(1, 0)}}));
  }
}

// As a peer packs them: the version of the reply, then each word behind its length.
Chunk travelling(const std::vector<std::string>& words) {
  std::string bytes(1, '\2');
  for (const std::string& word : words)
    bytes.append({static_cast<char>(word.size()), '\0'}) += word;
  return {0, bytes};
}

void write_decisions(const fs::path& root) {
  constexpr std::uint8_t kLater = 2, kTrust = 3, kChange = 4;
  const Chunk later{kLater, std::string("\0\1\0\0", 4)};  // 2 s
  const Chunk seal{kChange, std::string{1, 0, 5}};
  const std::vector<std::vector<Chunk>> stories{
      {travelling({"set", "a", "5", "EX", "1"}), travelling({"set", "a", "6", "NX", "GET"}), later,
       travelling({"set", "a", "7", "XX"}), travelling({"setnx", "a", "8"})},
      {seal, travelling({"expire", "a", "1", "NX"}), seal, travelling({"expire", "a", "9", "GT"}),
       travelling({"persist", "a"}), travelling({"pexpireat", "a", "1"}), seal},
      {travelling({"increx", "a", "BYINT", "5", "UBOUND", "7", "SATURATE", "PX", "100", "ENX"}),
       later, travelling({"increx", "a", "LBOUND", "0", "BYINT", "-9", "PERSIST"})},
      {travelling({"psetex", "a", "100", "9223372036854775807"}), seal,
       travelling({"getex", "a", "PERSIST"}), travelling({"getset", "a", "-1"})},
      {{kTrust, std::string(1, '\0')},
       travelling({"setex", "a", "1", "1"}),
       seal,
       travelling({"set", "a", "1", "KEEPTTL"}),
       {kTrust, "\1"},
       travelling({"expire", "a", "5"})},
  };
  for (std::size_t i = 0; i < stories.size(); ++i)
    for (const char how : {'\0', '\1', '\2'})
      write(root / "decisions", "story_" + std::to_string(i) + '_' + std::to_string(int{how}),
            how + join(stories[i]));
}

void write_peer_stories(const fs::path& root) {
  constexpr std::uint8_t kMessage = 2, kAnswer = 3, kHonest = 4, kStrange = 5, kDial = 6, kOp = 7,
                         kRead = 8, kLater = 9, kSecond = 128;
  const Chunk answer{kAnswer, {}}, other_answer{kAnswer | kSecond, {}}, later{kLater, {0, 8}};
  std::vector<std::vector<Chunk>> stories{
      {decisions(kOp, op_of(0, 0, 5, 2)), later, answer, answer, other_answer, other_answer, later,
       answer, other_answer},
      {decisions(kRead, {1, 2, 0, 0, 2, 2, 3}), answer, other_answer, answer, other_answer, answer},
      {decisions(kOp, op_of(2, 0, 3, 1)), answer, other_answer, answer, other_answer, answer,
       other_answer, decisions(kOp, op_of(1, kAny, 0, 2)), answer, other_answer},
      {later, later, answer, other_answer, later, answer, other_answer, answer, other_answer},
      {decisions(kStrange, {0}), decisions(kDial, {0}), decisions(kHonest, {}), later},
      {decisions(kStrange, {12, 0}), later, decisions(kStrange | kSecond, {32, 0, 1, 9}), later},
  };
  for (char kind = 0; kind < 15; ++kind)
    stories.push_back({decisions(kMessage, {1, kind, 3, 2, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1}), later,
                       decisions(kMessage | kSecond, {2, kind, 0, 1, 2, 3, 4, 5, 6, 7}), later});
  for (std::size_t i = 0; i < stories.size(); ++i) {
    write(root / "peer_frames", "story_" + std::to_string(i), '\3' + join(stories[i]));
    write(root / "peer_frames", "unmet_" + std::to_string(i), '\7' + join(stories[i]));
  }
}

// ---- the disk ----

void write_stored(const fs::path& root) {
  constexpr std::size_t kGuard = 8;
  const auto put = [&](const std::string& name, std::uint8_t kind, const std::string& head,
                       const std::string& value) {
    write(root / "stored_state", name, join({{kind, head + value.substr(kGuard)}}));
  };
  Meta meta;
  meta.lineage = {{BootId{1}, Commit{1}}};
  meta.pins = test::sample_pins();
  meta.versions = {{StoreId{1}, BootId{2}, Commit{3}}};
  put("meta", 1, {}, encode_meta("", meta));
  put("record", 3, {1}, encode_record("", {test::sample_delta(), {{Serial{3}, 2, {{4, 5}}}}}));
  const NamespaceDefinition likes = test::largest_definition();
  put("namespace", 11, std::string(1, char(likes.name.size())) + likes.name,
      encode_namespace("", likes));
  put("token", 5, std::string(9, '\1'), encode_token_record("", {Serial{3}, 2, {{4, 5}}}));
  put("state", 4, std::string{6, 0, 0, 0, 'k', 0, 0},
      encode_shard_state("", {{{ActorId{1}, Commit{2}, 3}}, 2, 1}));
  Record gives{Delta(Commit{1})};
  gives.delta.push({"k", 0}, {{{ActorId{1}, Commit{1}, 3}}});
  gives.aliases = {Alias{7}};
  const Record uses{Delta(Commit{2}), {}, {}, {{Alias{7}, 4}}};
  write(root / "stored_state", "aliases",
        join({{3, '\1' + encode_record("", gives).substr(kGuard)},
              {3, '\2' + encode_record("", uses).substr(kGuard)}}));
  // Sound ones: an actor, states, a session's numbers, and records on top.
  const Chunk record_1 = decisions(8, {1, 1, 2, 2, 0, 3, 1, 1, 5, 0, 0, 2, 1, 6});
  const Chunk record_2 = decisions(8, {2, 2, 1, 3, 0, 2, 1, 2, 7, 0, 0, 2, 2, 6});
  const Chunk state = decisions(9, {2, 0, 2, 1, 1, 4, 0, 0, 2, 5, 1});
  const Chunk tokens = decisions(10, {5, 1, 2, 1, 1, 0, 0, 1, 1, 0, 3});
  const Chunk actor = decisions(7, {1, 0, 9});
  write(root / "stored_state", "sound", join({actor, state, tokens, record_1, record_2}));
  write(root / "stored_state", "gap", join({record_2}));
  for (int bit = 0; bit < 8; ++bit) {
    const std::string how{static_cast<char>(1 << bit), 2, 1};
    write(root / "stored_state", "meta_" + std::to_string(bit),
          join({decisions(6, how), record_1, record_2}));
  }
}

// A VersionEdit: comparator, log number, next file, last sequence, a new file.
std::string version_edit() {
  std::string edit{1, 26};
  edit.append("leveldb.BytewiseComparator");
  return edit.append({2, 5, 3, 7, 4, 9, 7, 0, 6, 100, 1, 'a', 1, 'z', 6, 0, 3, 5, 1, 1, 'k', 9, 0});
}

void write_logs(const fs::path& root) {
  constexpr std::uint8_t kRaw = 0, kFragment = 1, kEndOfBlock = 2;
  const Chunk full = decisions(kFragment, '\1' + std::string("a record"));
  const Chunk first = decisions(kFragment, '\2' + std::string("one that"));
  const Chunk middle = decisions(kFragment, '\3' + std::string("goes on"));
  const Chunk last = decisions(kFragment, '\4' + std::string("and ends"));
  const Chunk edit = decisions(kFragment, '\1' + version_edit());
  const Chunk torn = decisions(kRaw, {1, 2, 3});
  const std::vector<std::vector<Chunk>> logs{{full, full},
                                             {first, middle, last, full},
                                             {full, torn},
                                             {full, torn, full},
                                             {full, torn, middle},
                                             {edit},
                                             {first, torn, last},
                                             {first, full},
                                             {decisions(kEndOfBlock, {0}), full},
                                             {decisions(kEndOfBlock, {3}), full},
                                             {full, decisions(kEndOfBlock, {7}), first, last}};
  for (std::size_t i = 0; i < logs.size(); ++i)
    write(root / "store_log", "log_" + std::to_string(i), join(logs[i]));
}

// ---- the rest ----

void write_merges(const fs::path& root) {
  const std::string count{0, 0, 0, 0};
  const std::vector<std::vector<std::string>> all{
      {},
      {{0, 1, 5, 0, 0}, {0, 1, 6, 0, 0}, {0, 2, 6, 1, 5}},
      {{0, 1, 5, 0, 0, 1, 9, 9, 9, 9}, {1, 1, 6, 0, 0}, {3, 2, 100, 1, 101}},
      {{0, char(200), 100, 0, 0}, {0, char(200), 101, char(201), 1}, {}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Chunk> chunks;
    for (const std::string& cells : all[i]) chunks.push_back({0, count + cells});
    write(root / "merge", "states_" + std::to_string(i), join(chunks));
  }
}

void write_settings(const fs::path& root) {
  const std::string members =
      "members = [\n  {name = \"n1\", peer = \"127.0.0.1:7401\", client = \"127.0.0.1:7400\", "
      "zone = \"a\", weight = 1},\n  {name = \"n2\", peer = \"[::1]:7411\"},\n]\n";
  const std::string node =
      "[node]\nname = \"n1\"\ndata_directory = \"/d\"\nclient_address = \"127.0.0.1:0\"\n"
      "peer_address = \"localhost:7401\"\ninsecure = false\ngossip_interval_ms = 100\n"
      "outbox_shards = 10\ncheckpoint_bytes = 65536\nlog_format = \"json\"\nlog_level = "
      "\"debug\"\n";
  const std::string cluster = "[cluster]\nname = \"q\"\nreplication = 2\n";
  const std::vector<std::string> files{
      cluster + members + node,
      node,
      cluster + node + '\0' + "name=n1,peer=127.0.0.1:1,client=h:2;name=n2,peer=h:3,weight=0",
      "[node]\nname = 5\nnmae = \"\"\n",
      "x = [[1, {a = 'b'}], 1979-05-27T07:32:00Z, 1e5, \"\"\"\\u00e9\"\"\"]\n",
      "\"a\\nb\" = 1\n[node]\nname = \"\\n\"\n",
  };
  for (std::size_t i = 0; i < files.size(); ++i)
    write(root / "config_file", "file_" + std::to_string(i), files[i]);
}

// What the kinds are, tls_port.cpp knows.
void write_tls(const fs::path& root) {
  constexpr std::uint8_t kDial = 0, kPass = 1, kSome = 2, kFlip = 3, kCut = 4, kRepeat = 5,
                         kRaw = 6, kRecord = 7, kSay = 8, kEnd = 9, kSecretFile = 10;
  const Chunk pass{kPass, {}};
  for (char meeting = 0; meeting < 8; ++meeting) {
    const std::string name = "meeting_" + std::to_string(meeting);
    const Chunk says = decisions(kSay, {1, 100, 0}), answers = decisions(kSay, {0, 0, 64});
    write(root / "tls_port", name,
          join({decisions(kDial, {meeting, 1}), says, pass, answers, pass, decisions(kEnd, {1}),
                pass}));
    write(root / "tls_port", name + "_attacked",
          join({decisions(kDial, {meeting, 0}), decisions(kSome, {0, 5, 0}),
                decisions(kFlip, {0, 40, 0, 1}), pass}));
  }
  const Chunk met = decisions(kDial, {1, 1});
  const Chunk two = decisions(kSay, {1, 9, 0}), more = decisions(kSay, {1, 0, 8});
  const std::vector<std::vector<Chunk>> stories{
      {met, two, more, decisions(kFlip, {0, 7, 0, 1}), pass},
      {met, two, more, decisions(kCut, {0, 30, 0, 9, 0}), pass},
      {met, two, decisions(kRepeat, {0, 0, 0, 100, 0}), pass},
      {met, two, decisions(kRaw, {0, 0, 0, 23, 3, 3, 0, 1, 0}), pass},
      {met, two, decisions(kRecord, {0, 21, 1, 0}), pass, two, decisions(kEnd, {0})},
      {decisions(kDial, {1, 0}), decisions(kRecord, {0, 20, 1}), pass},
      {decisions(kRecord, {0, 22, 1, 0, 0, 2, 3, 3}), decisions(kRecord, {1, 21, 2, 40}), pass}};
  for (std::size_t i = 0; i < stories.size(); ++i)
    write(root / "tls_port", "story_" + std::to_string(i), join(stories[i]));
  const std::string line(64, 'a');
  write(root / "tls_port", "secret_file", join({{kSecretFile, line + "\r\n\n" + line + ' '}}));
}

}  // namespace
}  // namespace quipu::fuzz

int main(int argc, char** argv) {
  using namespace quipu::fuzz;
  if (argc != 2) return std::fputs("usage: fuzz_write_corpus DIRECTORY\n", stderr), 2;
  const std::filesystem::path root(argv[1]);
  for (const auto write_all :
       {write_frames, write_client_stories, write_resp_stories, write_decisions, write_peer_stories,
        write_stored, write_logs, write_merges, write_settings, write_tls}) {
    write_all(root);
  }
  return 0;
}
