// Typed configuration: a TOML file and `key=value` overrides, read into plain structs of options.
//
// A struct describes its fields once; parsing, range checks, the list of keys, the resolved
// configuration and the documentation all come from that description:
//
//   struct AcceleratorOptions { int memory = 5; double damping = 1; ... };
//
//   void Describe(Config& config, AcceleratorOptions& options) {
//     config.Int("anderson.memory", &options.memory, {0, 100}, "Differences in the window.");
//     config.Real("anderson.damping", &options.damping, {.above = 0, .at_most = 2},
//                 "Step length.");
//     config.Choice("anderson.weights", &options.weights,
//                   {{"stable", WeightRule::kStable}, {"raa", WeightRule::kRaa}}, "Ridge rule.");
//   }
//
//   AcceleratorOptions options;
//   Config config;
//   Describe(config, options);           // the values the fields have now are the defaults
//   config.LoadFile("my.toml");          // `options` holds the file's values ...
//   config.Set("anderson.memory=7");     // ... and later sources win over earlier ones
//
// To inspect a file or an override before applying it, read it into a ConfigSource.
//
// Every user mistake is a BadInput that says where it is: an unknown key (with the key probably
// meant), a wrong type, a value outside its range, bad syntax. A source with one mistake changes no
// field at all. Keys are never ignored.
//
// Declaring a field also checks its current value, so describing a struct validates one filled by
// hand: a value outside its range is BadInput too. Mistakes only a programmer can make (a key
// declared twice) are std::logic_error. Conditions across several fields belong in their struct's
// Validate().
#ifndef STABLEAA_BASE_CONFIG_CONFIG_H_
#define STABLEAA_BASE_CONFIG_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/base/config/schedule.h"
#include "stableaa/core/option_table.h"

namespace stableaa {

// Private to config.cc.
struct ConfigField;
struct ConfigEntry;
struct TomlValue;

struct UnsignedRange {
  std::uint64_t at_least = 0;
  std::uint64_t at_most = std::numeric_limits<std::uint64_t>::max();
};

// One key as text. Values are TOML literals (strings quoted and escaped, reals in the shortest form
// that reads back exactly). Except for `inf`, `-inf` and tables, these are JSON literals too. An
// unsigned value beyond TOML's integers (2^63 and up) is a string of digits.
struct ConfigKey {
  std::string key;  // "anderson.memory"
  // "integer", "real", "schedule", "boolean", "text", "choice", "table", "list of reals"
  std::string type;
  std::string default_value;
  std::string value;
  std::string range;                 // "[0, 100]", "(0, 2]", "stable | raa"; empty for free text
  std::vector<std::string> choices;  // for a choice, in order of declaration
  std::string meaning;
  std::string origin;  // where the value comes from: "default", "my.toml:3", "--set"
};

// A file, text or override that has been read. It is read only once, so it may be a pipe, and can
// be inspected and applied any number of times. Keys and values are checked only in Config::Apply.
class ConfigSource {
 public:
  // A TOML file or a pipe of at most 1 MiB.
  static ConfigSource FromFile(const std::string& path);
  // TOML text; messages and origins call it `name`.
  static ConfigSource FromText(std::string_view text, const std::string& name);
  // "key=value", with optional blanks around both; strings may be bare or quoted. `origin` is the
  // flag the user wrote, for messages and ConfigKey::origin.
  static ConfigSource FromOverride(std::string_view assignment,
                                   const std::string& origin = "--set");
  // A single value that was read elsewhere, at `place`: "my.toml:3".
  static ConfigSource FromValue(const std::string& key, const TomlValue& value,
                                const std::string& place);

  struct Mention {
    std::string key;    // as written; may be below the key of a free-form table
    std::string place;  // for messages: "my.toml:3", "--set anderson.memory=5"
  };
  std::vector<Mention> Mentions() const;

  // Takes out what the source says about itself under a name that is no configuration key. Nothing
  // if it says nothing; BadInput, naming the place, if that is not a string.
  struct Remark {
    std::string text, place;
  };
  std::optional<Remark> TakeRemark(const std::string& name);

 private:
  friend class Config;
  ConfigSource() = default;

  // Whether a key below a free-form table changes only that member. Otherwise the members that the
  // source names replace the whole table.
  bool changes_members_ = false;
  std::shared_ptr<const std::vector<ConfigEntry>> entries_;
};

// Holds pointers into the described structs, which must outlive it. Not thread-safe.
class Config : public OptionTable {
 public:
  Config();
  ~Config() override;
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;

  // Declarations, in addition to OptionTable's Choice. Keys are dotted, "agent.weights.refresh",
  // with parts made of a-z, 0-9 and _.
  void Bool(const std::string& key, bool* field, const std::string& meaning) override;
  // Whole reals such as 1e5 count as integers.
  void Int(const std::string& key, int* field, IntRange range, const std::string& meaning) override;
  void Int(const std::string& key, std::int64_t* field, IntRange range, const std::string& meaning);
  // For seeds. TOML's integers end at 2^63 - 1; write larger ones as a string of digits in a file,
  // and plainly in an override.
  void Int(const std::string& key, std::uint64_t* field, UnsignedRange range,
           const std::string& meaning);
  void Real(const std::string& key, double* field, RealRange range,
            const std::string& meaning) override;
  // A number, or text in one of the forms of schedule.h. The range applies to the values of all
  // steps. Without a value, an optional one is the empty string.
  void Scheduled(const std::string& key, Schedule* field, RealRange range,
                 const std::string& meaning);
  void Scheduled(const std::string& key, std::optional<Schedule>* field, RealRange range,
                 const std::string& meaning);
  // `check`, of a text and of lists, throws BadInput for values that make no sense; its message
  // names the key, and gets the place in front.
  void Text(const std::string& key, std::string* field, const std::string& meaning,
            const std::function<void(const std::string&)>& check = {});
  // The range applies to each element. Overrides may omit the brackets: `levels=0.1,0.5`.
  void List(const std::string& key, std::vector<double>* field, RealRange range,
            const std::string& meaning,
            const std::function<void(const std::vector<double>&)>& check = {});
  void List(const std::string& key, std::vector<std::string>* field, const std::string& meaning,
            const std::function<void(const std::vector<std::string>&)>& check = {});
  // A free-form table whose keys the program does not know: strings, numbers, booleans, lists and
  // tables. The field holds a JSON object as text, "{}" if empty, without null. A file gives the
  // whole table; an override does too, `kwargs={size=5}`, or changes one member, `kwargs.size=5`.
  // At most 16 levels and 64 KiB.
  void Table(const std::string& key, std::string* json, const std::string& meaning);

  void Apply(const ConfigSource& source);
  // Read and apply in one step.
  void LoadFile(const std::string& path);
  void LoadText(std::string_view text, const std::string& name);
  void Set(std::string_view assignment, const std::string& origin = "--set");

  // Every key, in order of declaration.
  std::vector<ConfigKey> Keys() const;

  // Every key with its current value, one [table] per prefix. LoadText reads back exactly the same
  // values. With `comments`, each key's meaning and range appear above it.
  std::string ToToml(bool comments = true) const;

  // The keys as a Markdown table: key, type, default, range, meaning.
  std::string KeysAsMarkdown() const;

 private:
  void Add(ConfigField field);
  void AddChoice(const std::string& key, const std::vector<std::string>& names,
                 const std::function<std::size_t()>& get,
                 const std::function<void(std::size_t)>& set, const std::string& meaning) override;
  ConfigField* Find(std::string_view key) const;
  ConfigField* FindTableAbove(std::string_view key) const;
  bool IsTable(std::string_view key) const;
  [[noreturn]] void RefuseKey(const std::string& key, const std::string& found) const;
  std::function<void()> Check(const ConfigEntry& entry) const;

  std::vector<std::unique_ptr<ConfigField>> fields_;
};

}  // namespace stableaa

#endif  // STABLEAA_BASE_CONFIG_CONFIG_H_
