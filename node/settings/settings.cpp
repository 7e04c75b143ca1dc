#include "node/settings/settings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "node/base/duration_text.h"
#include "node/base/level_names.h"
#include "node/base/one_line.h"
#include "node/base/tier_text.h"
#include "node/net/address.h"
#include "node/reactor/node_plan.h"
#include "node/settings/raw_settings.h"
#include "node/settings/setting_table.h"
#include "protocol/namespace.h"

namespace quipu {
namespace {

using Type = RawSetting::Type;

constexpr const char* kMembersVariable = "QUIPU_CLUSTER_MEMBERS";

std::string unknown_key(const std::string& key) {
  const std::string table = key.substr(0, key.find('.') + 1);
  std::string known = table == "cluster." ? "members" : "";
  for (const SettingRow& row : setting_table()) {
    if (table.empty() || !row.key.starts_with(table)) continue;
    known.append(known.empty() ? "" : ", ").append(row.name());
  }
  if (known.empty())
    return "unknown key \"" + key +
           "\": there are [cluster], [node], [admin], [client], [tls] and [[namespace]]";
  return "unknown key \"" + key + "\": [" + table.substr(0, table.size() - 1) + "] has " + known;
}

// An empty section is useless, but must be one of ours.
bool is_section(const RawSetting& raw) {
  return raw.type == Type::section &&
         std::ranges::any_of(setting_table(),
                             [&](const SettingRow& row) { return row.table() == raw.key; });
}

const char* written_as(Type type) {
  switch (type) {
    case Type::text:
      return "a text in quotes";
    case Type::number:
      return "a number, without quotes";
    case Type::yes_no:
      return "true or false, without quotes";
    default:
      return "something else";
  }
}

// Why `raw` cannot be a `wanted`. Nothing if it can.
std::string mistyped(const RawSetting& raw, Type wanted) {
  if (raw.type == Type::any || raw.type == wanted) return {};
  return std::string("must be ") + written_as(wanted);
}

void apply(const RawSetting& raw, LoadedSettings& loaded) {
  if (is_section(raw)) return;
  const auto table = setting_table();
  const auto row = std::find_if(table.begin(), table.end(), [&](const SettingRow& candidate) {
    return candidate.key == raw.key;
  });
  if (row == table.end()) {
    loaded.errors.push_back(raw.where + ": " + unknown_key(raw.key));
    return;
  }
  std::string why = mistyped(raw, row->type);
  if (why.empty()) why = row->set(loaded.settings, raw.text);
  if (!why.empty()) loaded.errors.push_back(raw.where + ": " + raw.key + " " + why);
}

// Why an address cannot be dialed. Nothing if it can.
std::string undialable(const std::string& text) {
  const Result<Address> address = parse_address(text);
  if (!address.ok()) return "is no address: " + address.status().detail();
  return address->port != 0 ? "" : "has port 0, which nobody can dial: write the port";
}

std::string set_field(NodeMember& member, const RawSetting& field) {
  if (field.key == "weight") {
    std::uint64_t weight = 0;
    std::string why = mistyped(field, Type::number);
    if (why.empty()) why = read_number(kMemberWeight, field.text, weight);
    if (why.empty()) member.weight = static_cast<std::uint32_t>(weight);
    return why;
  }
  std::string* const to = field.key == "name"     ? &member.name
                          : field.key == "peer"   ? &member.peer_address
                          : field.key == "client" ? &member.client_address
                          : field.key == "zone"   ? &member.zone
                                                  : nullptr;
  if (to == nullptr) return "is unknown: a member has name, peer, client, zone and weight";
  if (std::string why = mistyped(field, Type::text); !why.empty()) return why;
  *to = field.text;
  const bool dialed = field.key == "peer" || (field.key == "client" && !field.text.empty());
  return dialed ? undialable(field.text) : "";
}

const RawSetting* find(const RawItem& member, std::string_view key) {
  const auto field = std::find_if(member.fields.begin(), member.fields.end(),
                                  [key](const RawSetting& one) { return one.key == key; });
  return field == member.fields.end() ? nullptr : &*field;
}

// What `member` shares with an earlier one, though it must not.
std::string doubled(const std::vector<NodeMember>& before, const NodeMember& member) {
  for (const NodeMember& other : before) {
    if (other.name == member.name) return "two members are named \"" + member.name + '"';
    if (other.peer_address == member.peer_address) {
      return "two members have peer address \"" + member.peer_address + '"';
    }
  }
  return {};
}

void apply_members(const std::vector<RawItem>& members, LoadedSettings& loaded) {
  std::vector<NodeMember>& all = loaded.settings.node.members;
  all.clear();
  for (const RawItem& raw : members) {
    const std::size_t errors = loaded.errors.size();
    NodeMember member;
    for (const RawSetting& field : raw.fields) {
      const std::string why = set_field(member, field);
      if (!why.empty())
        loaded.errors.push_back(field.where + ": the member's " + field.key + " " + why);
    }
    for (const char* const needed : {"name", "peer"}) {
      if (find(raw, needed) == nullptr)
        loaded.errors.push_back(raw.where + ": a member has no " + needed);
    }
    const bool sound = errors == loaded.errors.size();
    const std::string twice = sound ? doubled(all, member) : "";
    if (!twice.empty()) loaded.errors.push_back(raw.where + ": " + twice);
    all.push_back(std::move(member));
  }
}

// ---- namespaces ----

template <class Level>
std::string set_level(const RawSetting& field, std::optional<Level>& to) {
  if (std::string why = mistyped(field, Type::text); !why.empty()) return why;
  to = level_named<Level>(field.text);
  if (to) return {};
  std::string known;
  for (const std::string_view name : level_names(Level{}))
    known.append(known.empty() ? "" : ", ").append(name);
  return "is \"" + field.text + "\": choose one of " + known;
}

std::string set_duration(const RawSetting& field, std::optional<std::chrono::milliseconds>& to) {
  if (std::string why = mistyped(field, Type::text); !why.empty()) return why;
  to = to_duration(field.text, kMaxTtl);
  if (to) return {};
  return "is \"" + field.text + "\": write a duration above 0 and up to " + to_text(kMaxTtl) +
         ", such as \"30s\", \"12h\" or \"7d\"";
}

std::string set_field(Namespace& one, const RawSetting& field) {
  if (field.key == "ack") return set_level(field, one.policy.ack);
  if (field.key == "read") return set_level(field, one.policy.read);
  if (field.key == "shards") {
    std::uint64_t shards = 0;
    std::string why = mistyped(field, Type::number);
    if (why.empty()) why = read_number({1, kMaxShards}, field.text, shards);
    if (why.empty()) one.policy.shards = static_cast<std::uint16_t>(shards);
    return why;
  }
  if (field.key == "ttl") return set_duration(field, one.policy.ttl);
  if (field.key == "tiers") {
    if (std::string why = mistyped(field, Type::text); !why.empty()) return why;
    const auto tiers = to_tiers(field.text);
    if (!tiers) return "is \"" + field.text + "\": write such as \"" + kTiersExample + "\"";
    one.policy.tiers = *tiers;
    return {};
  }
  if (field.key == "late") return set_duration(field, one.policy.late);
  if (field.key == "decide") return set_level(field, one.policy.decide);
  if (field.key == "strict") {
    one.policy.strict = field.text == "true";
    return mistyped(field, Type::yes_no);
  }
  if (field.key == "kind" || field.key == "precision")
    return "is fixed by quipu namespace create alone";
  if (field.key != "name")
    return "is unknown: a namespace has name, ack, read, shards, ttl, decide, tiers, late and "
           "strict";
  one.name = field.text;
  return mistyped(field, Type::text);
}

void apply_namespaces(const std::vector<RawItem>& namespaces, LoadedSettings& loaded) {
  std::vector<Namespace>& all = loaded.settings.node.namespaces;
  for (const RawItem& raw : namespaces) {
    const std::size_t errors = loaded.errors.size();
    Namespace one;
    for (const RawSetting& field : raw.fields) {
      const std::string why = set_field(one, field);
      if (!why.empty())
        loaded.errors.push_back(field.where + ": the namespace's " + field.key + " " + why);
    }
    if (errors != loaded.errors.size()) continue;
    std::string why = objection(one.name, one.policy);
    if (find(raw, "name") == nullptr) why = "a namespace has no name";
    if (std::ranges::find(all, one.name, &Namespace::name) != all.end())
      why = "two namespaces are named \"" + one.name + '"';
    if (!why.empty()) loaded.errors.push_back(raw.where + ": " + why);
    loaded.places.emplace("namespace." + one.name, raw.where);
    all.push_back(std::move(one));
  }
}

void apply(const RawSettings& raw, LoadedSettings& loaded) {
  loaded.errors.insert(loaded.errors.end(), raw.errors.begin(), raw.errors.end());
  for (const RawSetting& setting : raw.settings) apply(setting, loaded);
  if (raw.members) apply_members(*raw.members, loaded);
  apply_namespaces(raw.namespaces, loaded);
}

RawSettings read_environment(const SettingSources& sources) {
  RawSettings raw;
  if (!sources.environment) return raw;
  if (const auto members = sources.environment(kMembersVariable)) {
    raw = read_member_list(*members, kMembersVariable);
  }
  for (const SettingRow& row : setting_table()) {
    if (auto text = sources.environment(row.variable)) {
      raw.settings.push_back({std::string(row.key), std::move(*text), row.variable, Type::any});
    }
  }
  return raw;
}

RawSettings read_flags(const SettingSources& sources) {
  RawSettings raw;
  for (const auto& [flag, text] : sources.flags) {
    for (const SettingRow& row : setting_table()) {
      if (row.flag == flag) raw.settings.push_back({std::string(row.key), text, flag, Type::any});
    }
  }
  return raw;
}

// Everything in the sources. The last source takes precedence.
class Layers {
 public:
  explicit Layers(std::vector<RawSettings> layers) : layers_(std::move(layers)) {}

  void apply(LoadedSettings& loaded) const {
    for (const RawSettings& layer : layers_) quipu::apply(layer, loaded);
  }
  // Where a setting was written. Nothing if it was not.
  [[nodiscard]] std::optional<std::string> place(std::string_view key) const {
    std::optional<std::string> where;
    for (const RawSettings& layer : layers_) {
      for (const RawSetting& setting : layer.settings) {
        if (setting.key == key) where = setting.where;
      }
    }
    return where;
  }
  // The same for the first member. Nothing if there is none.
  [[nodiscard]] std::optional<std::string> place_of_members() const {
    std::optional<std::string> where;
    for (const RawSettings& layer : layers_) {
      if (layer.members) where.reset();
      if (layer.members && !layer.members->empty()) where = layer.members->front().where;
    }
    return where;
  }
  // The same for a member's field. Empty: nowhere.
  [[nodiscard]] std::string place(const std::string& member, std::string_view key) const {
    std::string where;
    for (const RawSettings& layer : layers_) {
      if (!layer.members) continue;
      for (const RawItem& raw : *layer.members) {
        const RawSetting* const name = find(raw, "name");
        const RawSetting* const field = find(raw, key);
        if (name != nullptr && name->text == member && field != nullptr) where = field->where;
      }
    }
    return where;
  }

 private:
  std::vector<RawSettings> layers_;
};

const NodeMember* find_self(const NodeOptions& node) {
  const auto self =
      std::find_if(node.members.begin(), node.members.end(),
                   [&](const NodeMember& member) { return member.name == node.name; });
  return self == node.members.end() ? nullptr : &*self;
}

// Where clients dial this member, unless a source says where to listen.
void default_client_address(const Layers& layers, NodeOptions& node) {
  if (layers.place("node.client_address")) return;
  const NodeMember* const self = find_self(node);
  const bool told = self != nullptr && !self->client_address.empty();
  node.client_address = told ? self->client_address : kDefaultClientAddress;
}

// Where this node listens, and where that was written.
struct Listening {
  const char* what;
  std::string address;
  std::string where;
  std::string lacks{};  // see exposed()
};

std::vector<Listening> listenings(const Layers& layers, const NodeOptions& node) {
  const auto client = layers.place("node.client_address");
  std::vector<Listening> all{{"client", node.client_address,
                              client ? *client : layers.place(node.name, "client"),
                              client_port_lacks(node)}};
  const NodeMember* const self = find_self(node);
  if (self == nullptr || node.members.size() < 2) return all;  // no peers
  if (node.peer_address.empty()) {
    all.push_back(
        {"peer", self->peer_address, layers.place(node.name, "peer"), peer_port_lacks(node)});
  } else {
    all.push_back({"peer", node.peer_address, layers.place("node.peer_address").value_or(""),
                   peer_port_lacks(node)});
  }
  return all;
}

std::string admin_port_lacks(const Settings& settings) {
  std::vector<std::string> missing;
  if (settings.node.tls_certificate.empty()) missing.emplace_back("tls.certificate");
  if (settings.node.tls_key.empty()) missing.emplace_back("tls.key");
  if (settings.node.users_file.empty() && !settings.open_metrics)
    missing.emplace_back("client.users_file (or admin.open_metrics = true)");
  return in_words(missing);
}

void check_reach(const Layers& layers, LoadedSettings& loaded) {
  if (loaded.settings.node.insecure) return;
  std::vector<Listening> all = listenings(layers, loaded.settings.node);
  all.push_back({"admin", loaded.settings.admin_address, layers.place("admin.address").value_or(""),
                 admin_port_lacks(loaded.settings)});
  for (const Listening& one : all) {
    const Result<Address> address = parse_address(one.address);
    const std::string why = address.ok() ? exposed(one.what, *address, one.lacks) : "";
    if (!why.empty()) loaded.errors.push_back(one.where + ": " + why);
  }
}

// Two ports of this node cannot listen on one address.
void check_admin(const Layers& layers, LoadedSettings& loaded) {
  const Result<Address> admin = parse_address(loaded.settings.admin_address);
  if (!admin.ok() || admin->port == 0) return;
  for (const Listening& one : listenings(layers, loaded.settings.node)) {
    if (one.address != loaded.settings.admin_address) continue;
    loaded.errors.push_back(layers.place("admin.address").value_or("") + ": admin.address is " +
                            one.address + ", where this node listens for " + one.what +
                            "s: choose another port");
  }
}

// This member listens for clients where they dial it, unless a source says otherwise.
void note_places(const Layers& layers, LoadedSettings& loaded) {
  const auto note = [&loaded](std::string_view key, std::string where) {
    if (!where.empty()) loaded.places.emplace(key, std::move(where));
  };
  note(kMembersKey, layers.place_of_members().value_or(""));
  for (const SettingRow& row : setting_table()) note(row.key, layers.place(row.key).value_or(""));
  note("node.client_address", layers.place(loaded.settings.node.name, "client"));
  for (auto& [key, where] : loaded.places) where = one_line(where);
}

// Settings without a value or a default, and contradictions. Not after a part could not be read:
// these errors would only be consequences.
void check_whole(const Layers& layers, const std::string& file, LoadedSettings& loaded) {
  if (!loaded.errors.empty()) return;
  const NodeOptions& node = loaded.settings.node;
  if (node.name.empty()) {
    loaded.errors.emplace_back(
        "node.name is not set: set it in the file, as QUIPU_NODE_NAME, or with --name");
  }
  if (node.data_directory.empty()) {
    loaded.errors.emplace_back(
        "node.data_directory is not set: set it in the file, as QUIPU_DATA_DIRECTORY, or with "
        "--data");
  }
  check_reach(layers, loaded);
  check_admin(layers, loaded);
  if (!loaded.errors.empty()) return;
  const Result<NodePlan> plan = plan_node(node);
  if (plan.ok()) return;
  loaded.errors.push_back((file.empty() ? "" : file + ": ") + plan.status().detail());
}

}  // namespace

Settings::Settings() { node.name.clear(); }

LoadedSettings load_settings(const SettingSources& sources) {
  LoadedSettings loaded;
  std::vector<RawSettings> read;
  if (!sources.file.empty()) read.push_back(read_settings_file(sources.file));
  read.push_back(read_environment(sources));
  read.push_back(read_flags(sources));
  const Layers layers(std::move(read));
  layers.apply(loaded);
  default_client_address(layers, loaded.settings.node);
  loaded.settings.node.rebuild = sources.rebuild;
  note_places(layers, loaded);
  check_whole(layers, sources.file.string(), loaded);
  for (std::string& error : loaded.errors) error = one_line(error);
  return loaded;
}

std::vector<SettingFlag> setting_flags() {
  std::vector<SettingFlag> flags;
  for (const SettingRow& row : setting_table()) {
    if (!row.flag.empty())
      flags.push_back({row.flag, row.variable, row.help, row.type != Type::yes_no});
  }
  return flags;
}

std::vector<std::string> setting_variables() {
  std::vector<std::string> variables{kMembersVariable};
  for (const SettingRow& row : setting_table()) variables.emplace_back(row.variable);
  return variables;
}

}  // namespace quipu
