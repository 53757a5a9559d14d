#include "stableaa/mdp/solve/passes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "stableaa/mdp/solve/pass_blocks.h"

namespace stableaa {
namespace {

// The sum without the transition to `state`, whose probability is stored in `stay`.
template <typename Column>
double RowSumElsewhere(const RowsView<Column>& view, const double* values, std::uint64_t begin,
                       std::uint64_t end, std::uint64_t state, double& stay) {
  double sum = 0;
  stay = 0;
  for (std::uint64_t k = begin; k < end; ++k) {
    const bool self = view.columns[k] == state;
    const double p = view.probabilities[k];
    stay = self ? p : stay;
    sum += self ? 0 : p * values[view.columns[k]];
  }
  return sum;
}

// What a backup stores besides the values; null: not wanted.
struct BackupExtras {
  std::uint32_t* actions = nullptr;
  float* leads = nullptr;
};

template <bool kFetch, bool kActions, bool kLeads, typename Column>
Differences BackupBlock(const RowsView<Column>& view, double discount, const double* values,
                        double* image, BackupExtras extras, std::uint64_t first,
                        std::uint64_t last) {
  Differences all = kNoDifferences;
  std::uint64_t row = view.state_rows[first];
  std::uint64_t k = view.row_transitions[row];
  for (std::uint64_t s = first; s < last; ++s) {
    const std::uint64_t first_row = row;
    const BestRow best =
        FindBestRow<kFetch>(view, discount, values, row, k, view.state_rows[s + 1]);
    image[s] = best.value;
    if constexpr (kActions) extras.actions[s] = static_cast<std::uint32_t>(best.row - first_row);
    if constexpr (kLeads) extras.leads[s] = RoundedDown(best.lead());
    JoinDifference(all, values[s], best.value);
  }
  return all;
}

template <bool kActions, bool kLeads>
Differences BackupOverBlocks(const Model& model, double discount, std::span<const double> values,
                             std::span<double> image, const BackupExtras& extras, int threads) {
  return model.VisitColumns([&](auto columns) {
    const auto view = ViewOf(model, columns);
    const auto block = [&]<bool kFetch>(std::bool_constant<kFetch>, std::uint64_t first,
                                        std::uint64_t last) {
      return BackupBlock<kFetch, kActions, kLeads>(view, discount, values.data(), image.data(),
                                                   extras, first, last);
    };
    return OverBlocks(view.states, view.transitions, threads,
                      [&](std::uint64_t first, std::uint64_t last) {
                        return MayFetch(view, last) ? block(std::true_type(), first, last)
                                                    : block(std::false_type(), first, last);
                      });
  });
}

template <typename Column>
Differences JacobiBlock(const RowsView<Column>& view, double discount, const double* values,
                        double* image, std::uint64_t first, std::uint64_t last) {
  Differences all = kNoDifferences;
  for (std::uint64_t s = first; s < last; ++s) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::uint64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; ++row) {
      double stay = 0;
      const double sum = RowSumElsewhere(view, values, view.row_transitions[row],
                                         view.row_transitions[row + 1], s, stay);
      best = std::max(best, (view.rewards[row] + discount * sum) / (1 - discount * stay));
    }
    image[s] = best;
    JoinDifference(all, values[s], best);
  }
  return all;
}

template <typename Column>
Differences OperatorBlock(const RowsView<Column>& view, double discount, const Backup& backup,
                          const double* values, double* image, std::uint64_t first,
                          std::uint64_t last) {
  Differences all = kNoDifferences;
  std::vector<double> q;
  for (std::uint64_t s = first; s < last; ++s) {
    q.clear();
    for (std::uint64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; ++row) {
      q.push_back(view.rewards[row] + discount * RowSum<false>(view.columns, view.probabilities,
                                                               values, view.row_transitions[row],
                                                               view.row_transitions[row + 1]));
    }
    image[s] = backup.Value(q);
    JoinDifference(all, values[s], image[s]);
  }
  return all;
}

}  // namespace

Differences BackupPass(const Model& model, double discount, std::span<const double> values,
                       std::span<double> image, std::span<std::uint32_t> actions, int threads) {
  return actions.empty()
             ? BackupOverBlocks<false, false>(model, discount, values, image, {}, threads)
             : BackupOverBlocks<true, false>(model, discount, values, image,
                                             {.actions = actions.data()}, threads);
}

Differences BackupPassWithLeads(const Model& model, double discount, std::span<const double> values,
                                std::span<double> image, std::span<std::uint32_t> actions,
                                std::span<float> leads, int threads) {
  return BackupOverBlocks<true, true>(model, discount, values, image,
                                      {.actions = actions.data(), .leads = leads.data()}, threads);
}

Differences RewardPass(const Model& model, std::span<double> image,
                       std::span<std::uint32_t> actions, int threads) {
  return OverBlocks(
      model.states(), model.rows(), threads, [&](std::uint64_t first, std::uint64_t last) {
        Differences all = kNoDifferences;
        for (std::uint64_t s = first; s < last; ++s) {
          const auto rewards = model.rewards().subspan(model.state_rows()[s], model.actions(s));
          const auto best = std::ranges::max_element(rewards);
          image[s] = *best;
          actions[s] = static_cast<std::uint32_t>(best - rewards.begin());
          JoinDifference(all, 0, *best);
        }
        return all;
      });
}

Differences JacobiPass(const Model& model, double discount, std::span<const double> values,
                       std::span<double> image, int threads) {
  return model.VisitColumns([&](auto columns) {
    const auto view = ViewOf(model, columns);
    return OverBlocks(
        view.states, view.transitions, threads, [&](std::uint64_t first, std::uint64_t last) {
          return JacobiBlock(view, discount, values.data(), image.data(), first, last);
        });
  });
}

Differences OperatorPass(const Model& model, double discount, const Backup& backup,
                         std::span<const double> values, std::span<double> image, int threads) {
  return model.VisitColumns([&](auto columns) {
    const auto view = ViewOf(model, columns);
    return OverBlocks(
        view.states, view.transitions, threads, [&](std::uint64_t first, std::uint64_t last) {
          return OperatorBlock(view, discount, backup, values.data(), image.data(), first, last);
        });
  });
}

Differences DifferencesOf(std::span<const double> before, std::span<const double> after,
                          int threads) {
  return OverBlocks(before.size(), before.size(), threads,
                    [&](std::uint64_t first, std::uint64_t last) {
                      Differences all = kNoDifferences;
                      for (std::uint64_t s = first; s < last; ++s)
                        JoinDifference(all, before[s], after[s]);
                      return all;
                    });
}

std::uint64_t PassBytes(const Model& model) { return model.bytes() + 16 * model.states(); }

std::uint64_t RewardPassBytes(const Model& model) { return 8 * model.rows() + 16 * model.states(); }

}  // namespace stableaa
