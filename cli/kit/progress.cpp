#include "cli/kit/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "cli/kit/output.hpp"
#include "core/units.hpp"

namespace penstock::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMinCells = 5;  // of the bar

double fraction(const Progress& state) {
  if (state.total == 0) return 1;
  return std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
}

bool in_bytes(const Progress& state) { return state.unit == "B"; }

std::string amount(const Progress& state, std::uint64_t n) {
  return in_bytes(state) ? format_bytes(n) : fmt::format("{} {}", format_count(n), state.unit);
}

std::string rate(const Progress& state, double seconds) {
  if (in_bytes(state)) return format_rate(state.done, seconds);
  const double per_second = seconds > 0 ? static_cast<double>(state.done) / seconds : 0;
  return fmt::format("{} {}/s", format_count(static_cast<std::uint64_t>(per_second)), state.unit);
}

std::string more(const Progress& state) { return state.more.empty() ? "" : fmt::format(", {}", state.more); }

double seconds_between(ProgressView::Clock::time_point a, ProgressView::Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

std::string ProgressView::update(const Progress& state, Clock::time_point now) {
  // A command of several parts counts each of them from 0.  Threads may tell a little less than was told before.
  if (state.what != what_ || state.done < done_ / 2) part_start_ = told_;
  what_ = state.what, done_ = state.done, told_ = now;
  const double seconds = seconds_between(part_start_, now);
  if (style_.terminal) {
    if (now - start_ < 1s || (drawn_ && now - last_ < 100ms && state.done < state.total)) return {};
    last_ = now;
    drawn_ = true;
    return "\r" + bar(state, seconds) + "\x1b[K";
  }
  if (now - last_ < 5s) return {};
  last_ = now;
  return fmt::format("{}: {} of {} ({:.0f}%), {}{}\n", state.what, amount(state, state.done),
                     amount(state, state.total), 100 * fraction(state), rate(state, seconds), more(state));
}

std::string ProgressView::bar(const Progress& state, double seconds) const {
  const double done = fraction(state);
  const std::string left = fmt::format("{:<8} {:>9}  ", state.what, amount(state, state.done));
  const std::string what_else = more(state);
  std::string right = fmt::format("  {:>3.0f}%  {}", 100 * done, rate(state, seconds));
  std::string end = done > 0 && done < 1 ? fmt::format("  {} left", format_seconds(seconds * (1 - done) / done)) : "";
  if (left.size() + right.size() + what_else.size() + end.size() + kMinCells < style_.width) right += what_else;
  right += end;
  const std::size_t taken = left.size() + right.size() + 1;
  const std::size_t cells = std::clamp<std::size_t>(style_.width > taken ? style_.width - taken : 0, kMinCells, 40);
  const auto full = static_cast<std::size_t>(done * static_cast<double>(cells));
  std::string drawn;
  for (std::size_t i = 0; i < cells; ++i) {
    if (style_.utf8)
      drawn += i < full ? "█" : "░";
    else
      drawn += i < full ? '#' : '.';
  }
  return left + colored(drawn, "36", style_.color) + right;
}

std::string ProgressView::finish() {
  if (!drawn_) return {};
  drawn_ = false;
  return "\r\x1b[K";
}

namespace {

std::mutex view_mutex;
std::unique_ptr<ProgressView> view;  // of the work that runs now

void to_stderr(const std::string& text) {
  if (text.empty()) return;
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());  // progress may be lost
}

ProgressView::Style style_of_stderr() {
  ProgressView::Style style;
  style.terminal = isatty(STDERR_FILENO) == 1;
  style.color = use_color(STDERR_FILENO);
  style.utf8 = utf8_locale();
  winsize size = {};
  if (style.terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.width = size.ws_col;
  return style;
}

}  // namespace

ProgressFn progress_to_stderr() {
  const std::scoped_lock lock(view_mutex);
  view = std::make_unique<ProgressView>(style_of_stderr(), ProgressView::Clock::now());
  return [](const Progress& state) {
    const std::scoped_lock inner(view_mutex);
    if (view) to_stderr(view->update(state, ProgressView::Clock::now()));
  };
}

void progress_done() {
  const std::scoped_lock lock(view_mutex);
  if (!view) return;
  to_stderr(view->finish());
  view.reset();
}

}  // namespace penstock::cli
