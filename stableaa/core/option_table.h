// A struct of options describes its fields once: key, range, meaning. Everything else follows from
// that description.
//
//   struct AcceleratorOptions { int memory = 5; double damping = 1; ... };
//
//   void Describe(OptionTable& table, AcceleratorOptions& options) {
//     table.Int("anderson.memory", &options.memory, {0, 100}, "Differences in the window.");
//     table.Real("anderson.damping", &options.damping, {.above = 0, .at_most = 2},
//                "Step length.");
//   }
//
// The table in base/config reads TOML files and overrides into the fields. RangeCheck below only
// checks the fields' current values.
#ifndef STABLEAA_CORE_OPTION_TABLE_H_
#define STABLEAA_CORE_OPTION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/error.h"

namespace stableaa {

// Both ends are included. The limits of the field's type apply too.
struct IntRange {
  std::int64_t at_least = std::numeric_limits<std::int64_t>::min();
  std::int64_t at_most = std::numeric_limits<std::int64_t>::max();
};

// Closed ends: at_least, at_most. Open ends: above, below. {.above = 0, .at_most = 2} is (0, 2].
// Infinities are refused unless `infinite` is set; nan always is.
struct RealRange {
  double at_least = -std::numeric_limits<double>::infinity();
  double above = -std::numeric_limits<double>::infinity();
  double at_most = std::numeric_limits<double>::infinity();
  double below = std::numeric_limits<double>::infinity();
  bool infinite = false;

  bool Contains(double value) const;
  std::string Text() const;  // "(0, 2]"
};

// The shortest literal that reads back exactly and is recognisably real: 5.0, 0.1, 1e+100, nan.
std::string RealLiteral(double value);

// BadInput: "anderson.memory = -1 is outside its range [0, 100]".
Error OutOfRange(const std::string& key, const std::string& literal, const std::string& range);

class OptionTable {
 public:
  virtual ~OptionTable() = default;

  // Each throws BadInput if the field's current value is outside its range. `meaning` is one or two
  // sentences for the user.
  virtual void Bool(const std::string& key, bool* field, const std::string& meaning) = 0;
  virtual void Int(const std::string& key, int* field, IntRange range,
                   const std::string& meaning) = 0;
  virtual void Real(const std::string& key, double* field, RealRange range,
                    const std::string& meaning) = 0;
  template <typename Enum>
  void Choice(const std::string& key, Enum* field,
              const std::vector<std::pair<std::string, Enum>>& choices, const std::string& meaning);

 protected:
  // `get` returns the index of the field's value in `names`; `set` stores a value by its index.
  virtual void AddChoice(const std::string& key, const std::vector<std::string>& names,
                         const std::function<std::size_t()>& get,
                         const std::function<void(std::size_t)>& set,
                         const std::string& meaning) = 0;
};

// Checks the values and stores nothing; for use in a Validate():
//
//   AcceleratorOptions copy = *this;
//   RangeCheck check;
//   Describe(check, copy);
class RangeCheck final : public OptionTable {
 public:
  void Bool(const std::string& key, bool* field, const std::string& meaning) override;
  void Int(const std::string& key, int* field, IntRange range, const std::string& meaning) override;
  void Real(const std::string& key, double* field, RealRange range,
            const std::string& meaning) override;

 private:
  void AddChoice(const std::string& key, const std::vector<std::string>& names,
                 const std::function<std::size_t()>& get,
                 const std::function<void(std::size_t)>& set, const std::string& meaning) override;
};

template <typename Enum>
void OptionTable::Choice(const std::string& key, Enum* field,
                         const std::vector<std::pair<std::string, Enum>>& choices,
                         const std::string& meaning) {
  std::vector<std::string> names;
  std::vector<Enum> values;
  for (const auto& [name, value] : choices) {
    names.push_back(name);
    values.push_back(value);
  }
  const auto get = [field, values] {
    std::size_t i = 0;
    while (i < values.size() && values[i] != *field) ++i;
    return i;
  };
  const auto set = [field, values](std::size_t i) { *field = values[i]; };
  AddChoice(key, names, get, set, meaning);
}

}  // namespace stableaa

#endif  // STABLEAA_CORE_OPTION_TABLE_H_
