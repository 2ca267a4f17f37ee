#include "engine/draft_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace parlance {

namespace {

// Means follow the machine, and single slow steps move them little.
constexpr double kNewShareOfCost = 0.15;
constexpr double kMostCostChange = 1.5;

// The first times something is computed are slow; the best of them counts.
constexpr int64_t kFirstTimes = 3;

// What one more than was ever noted costs: this share of what one did on average, and of the only one that
// was noted.
constexpr double kShareOfSlope = 0.7, kShareOfOnly = 0.1;

// Of a change, what is the whole machine's.
constexpr double kCommonShare = 0.1;

constexpr int64_t kShallow = 256;  // tokens that weigh nothing beside the weights

}  // namespace

size_t CostCurve::clamped(int64_t n) {
  return static_cast<size_t>(std::clamp<int64_t>(n, 0, kNumbers - 1));
}

bool CostCurve::is_sure_of(int64_t n) const {
  return points_[clamped(n)].n_noted >= kFirstTimes;
}

void CostCurve::note(int64_t n, double cost) {
  Point& point = points_[clamped(n)];
  is_empty_ = false;
  if (point.n_noted == 0) {
    point.cost = cost;
  } else if (point.n_noted < kFirstTimes) {
    point.cost = std::min(point.cost, cost);
  } else {
    const double near = std::clamp(cost, point.cost / kMostCostChange, point.cost * kMostCostChange);
    point.cost += kNewShareOfCost * (near - point.cost);
  }
  ++point.n_noted;
}

double CostCurve::at(int64_t n, const CostCurve* shape) const {
  const size_t wanted = clamped(n);
  size_t below = wanted + 1, above = wanted;
  while (below > 0 && points_[below - 1].n_noted == 0) --below;
  while (above < kNumbers && points_[above].n_noted == 0) ++above;
  if (below == 0 && above == kNumbers) return 0;
  if (below > 0 && above < kNumbers) {
    const Point &low = points_[--below], &high = points_[above];
    if (above == below) return low.cost;
    return low.cost +
           (high.cost - low.cost) * static_cast<double>(wanted - below) / static_cast<double>(above - below);
  }
  const size_t known = below > 0 ? below - 1 : above;
  const double cost = points_[known].cost;
  const double as_known = shape ? shape->at(static_cast<int64_t>(known)) : 0;
  if (as_known > 0) return cost * shape->at(n) / as_known;
  return known < wanted ? cost + one_more(known) * static_cast<double>(wanted - known) : cost;
}

// Beyond `known`, the most that was noted.
double CostCurve::one_more(size_t known) const {
  const auto noted = [](const Point& point) { return point.n_noted > 0; };
  const auto first = static_cast<size_t>(std::ranges::find_if(points_, noted) - points_.begin());
  if (first == known) return kShareOfOnly * points_[known].cost;
  const double slope = (points_[known].cost - points_[first].cost) / static_cast<double>(known - first);
  return kShareOfSlope * std::max(slope, 0.0);
}

size_t DraftCosts::class_of(int64_t depth) {
  const auto width =
      static_cast<size_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(depth, 0) / kShallow)));
  return std::min(width, kDepths - 1);
}

// The nearest depth at which something was measured, the lesser of two.
const CostCurve* DraftCosts::neighbour_of(size_t depth_class) const {
  for (size_t distance = 1; distance < kDepths; ++distance) {
    if (depth_class >= distance && !steps_[depth_class - distance].empty())
      return &steps_[depth_class - distance];
    if (depth_class + distance < kDepths && !steps_[depth_class + distance].empty())
      return &steps_[depth_class + distance];
  }
  return nullptr;
}

void DraftCosts::note_step(const StepSize& size, double ms) {
  if (size.n_rows < 1 || !(ms > 0)) return;
  if (size.has_branches) {
    const double as_chain = step_ms({size.n_rows, size.depth});
    if (as_chain > 0) branches_.note(size.n_rows, ms / as_chain);
    return;
  }
  if (size.n_rows > 1) ++n_chains_;
  CostCurve& curve = steps_[class_of(size.depth)];
  if (curve.is_sure_of(size.n_rows)) {
    const double change =
        std::clamp(ms / (level_ * curve.at(size.n_rows)), 1 / kMostCostChange, kMostCostChange);
    level_ *= std::pow(change, kCommonShare);
  }
  curve.note(size.n_rows, ms / level_);
  knows_steps_ = true;
}

double DraftCosts::step_ms(const StepSize& size) const {
  if (size.has_branches && !branches_.empty())
    return branches_.at(size.n_rows) * step_ms({size.n_rows, size.depth});
  const size_t depth_class = class_of(size.depth);
  const CostCurve& own = steps_[depth_class];
  const CostCurve* const neighbour = neighbour_of(depth_class);
  if (own.empty()) return neighbour ? level_ * neighbour->at(size.n_rows) : 0;
  return level_ * own.at(size.n_rows, neighbour);
}

}  // namespace parlance
