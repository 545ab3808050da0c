#include "capacity_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plot.hpp"
#include "table.hpp"

namespace rapt::cli {
namespace {

using Size = std::ptrdiff_t;

struct Interval {
  double least, most;
};

/// The tokens where the picture ends: four times all that it marks, or before the bytes leave 64 bits.
Size end_of(const CapacityQuestion& question, const std::vector<Plan>& plans) {
  const Size asked = question.tokens.value_or(1);
  const Size fit = question.memory ? plans.back().allocated_tokens(*question.memory) : 0;
  constexpr Size least = 4096;
  Size end = std::max(least, 4 * std::min(std::max(asked, fit), std::numeric_limits<Size>::max() / 4));
  while (end > asked && !plans.front().fits(end, std::numeric_limits<Size>::max()))
    end = std::max(asked, end / 2);
  return end;
}

/// The plan's line: a point every 2 %, hence every number of tokens where the steps of blocks can be seen, of
/// which those inside a level are left out.
std::string points_of(const Plan& plan, Size first, Size end) {
  std::string points;
  Size before = 0, here = plan.allocated(first);
  for (Size tokens = first; tokens < end;) {
    const Size next = tokens + std::max<Size>(1, std::min(end - tokens, tokens / 50));
    const Size after = plan.allocated(next);
    if (here != before || here != after) points += fmt::format("{} {}\n", tokens, here);
    before = here;
    here = after;
    tokens = next;
  }
  return points + fmt::format("{} {}\n", end, here);
}

/// A range of a logarithmic axis, with tics at powers of 4, 16, 64 ... so that there are twelve at most.
std::string axis(char name, const Interval& range, const char* unit) {
  static constexpr std::array<const char*, 7> prefixes{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  const int least = static_cast<int>(std::ceil(std::log2(range.least)));
  const int most = static_cast<int>(std::floor(std::log2(range.most)));
  int apart = 2;
  while (most - least > 12 * apart) apart += 2;
  std::string tics;
  for (int power = (least + apart - 1) / apart * apart; power <= most; power += apart) {
    const std::size_t thousands =
        std::min<std::size_t>(static_cast<std::size_t>(power) / 10, prefixes.size() - 1);
    tics += fmt::format("{}'{:.0f}{}{}{}' {:.0f}", tics.empty() ? "" : ", ",
                        std::ldexp(1.0, power - 10 * static_cast<int>(thousands)), *unit == 0 ? "" : " ",
                        prefixes[thousands], unit, std::ldexp(1.0, power));
  }
  return fmt::format("set {0}range [{1}:{2}]\nset {0}tics ({3})\n", name, range.least, range.most, tics);
}

/// A point on a line, and beside it what it tells; `place` is gnuplot's, relative to the point.
std::string mark(Size tokens, Size bytes, const std::string& words, const char* place, const char* paint) {
  return fmt::format(
      "set label {0} at {1},{2} {3} front boxed tc rgb '{4}'\n"
      "set label '' at {1},{2} front point pt 7 ps 0.9 lc rgb '{4}'\n",
      quoted_for_gnuplot(words), tokens, bytes, place, paint);
}

/// Where the plan's line meets what was asked.
std::string marks_on(const Plan& plan, const CapacityQuestion& question, Size first, Size end,
                     const char* paint) {
  std::string text;
  if (question.tokens) {
    const Size bytes = plan.allocated(*question.tokens);
    const bool at_edge = *question.tokens / 4 < first;
    text += mark(*question.tokens, bytes, shown_bytes(bytes),
                 at_edge ? "left offset 1,0.6" : "right offset -1,0.6", paint);
  }
  const Size fit = question.memory ? plan.allocated_tokens(*question.memory) : 0;
  if (fit > 0 && fit <= end)
    text += mark(fit, *question.memory, fmt::format("{} fit", fit), "left offset 0.6,-0.8", paint);
  return text;
}

/// The asked tokens and the asked memory, each a line across the picture, named where it ends.
std::string asked_lines(const CapacityQuestion& question) {
  std::string text;
  if (question.tokens)
    text += fmt::format(
        "set arrow from {0}, graph 0 to {0}, graph 1 nohead dt 2 lc rgb '#555555'\n"
        "set label '{0} tokens' at {0}, graph 1 center offset 0,0.6\n",
        *question.tokens);
  if (question.memory.value_or(0) > 0)
    text += fmt::format(
        "set arrow from graph 0, first {0} to graph 1, first {0} nohead dt 2 lc rgb '#555555'\n"
        "set label {1} at graph 1, first {0} left offset 0.6,0\n",
        *question.memory, quoted_for_gnuplot(question.memory_words));
  return text;
}

std::string title(const CapacityQuestion& question) {
  const std::string model = question.model.empty() ? "" : question.model + ": ";
  return "set title 'rapt capacity: bytes that the KV cache allocates'.\"\\n\"." +
         quoted_for_gnuplot(model + shape_in_words(question)) + " offset 0,0.8\n";
}

}  // namespace

std::string plot_commands(const CapacityQuestion& question, const std::string& file) {
  const std::vector<Plan> plans = plans_of(question);
  const Size first = std::min<Size>(16, question.tokens.value_or(16)), end = end_of(question, plans);
  Interval bytes{static_cast<double>(plans.back().allocated(first)),
                 static_cast<double>(plans.front().allocated(end))};
  if (question.memory.value_or(0) > 0) {
    bytes.least = std::min(bytes.least, static_cast<double>(*question.memory));
    bytes.most = std::max(bytes.most, static_cast<double>(*question.memory));
  }
  std::string text = plot_beginning(file, 1000, 500) + title(question) +
                     axis('x', {static_cast<double>(first), static_cast<double>(end)}, "") +
                     axis('y', {bytes.least / 2, bytes.most * 2}, "B") + asked_lines(question) +
                     "set xlabel 'tokens of each sequence'\nunset key\nset rmargin 18\nset tmargin 5\n"
                     "set style textbox opaque noborder fillcolor 'white' margins 0.3,0.3\n";
  std::string lines;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Plan& plan = plans[i];
    const char* const paint = plot_colours[i];
    text += fmt::format(
        "$line{} << END\n{}END\nset label '{}, {} KV head{}' at graph 1, first {} left offset 0.6,0 tc rgb "
        "'{}'\n",
        i, points_of(plan, first, end), plan.kind(), plan.kv_heads(), plan.kv_heads() == 1 ? "" : "s",
        plan.allocated(end), paint);
    text += marks_on(plan, question, first, end, paint);
    lines += fmt::format("{}$line{} with lines lw 2 lc rgb '{}'", i == 0 ? "plot " : ", ", i, paint);
  }
  return text + lines + "\n";
}

}  // namespace rapt::cli
