#include "node/api/namespaces.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "node/base/clock.h"

namespace quipu {
namespace {

using std::chrono::milliseconds;

// One step: drop the definition, if it is the first ─▶ list a page ─▶ reset its counters. So where
// undefined namespaces are refused, no counter is new while the steps go on. Each request keeps
// the step alive, and gets what is left of the step's time. The backend calls back on one thread,
// or at once.
class Drop : public std::enable_shared_from_this<Drop> {
 public:
  Drop(std::shared_ptr<CounterBackend> backend, std::string name, ListCursor from,
       milliseconds timeout, std::function<void(NamespaceDrop)> done)
      : backend_(std::move(backend)),
        name_(std::move(name)),
        from_(from),
        timeout_(std::min(timeout, kLongestTimeout)),
        deadline_(NodeClock::now() + timeout_),
        done_(std::move(done)) {}

  void begin() {
    if (name_.empty())
      return end({Code::invalid_argument, "the default namespace cannot be dropped"});
    if (from_ >= ListCursor::end)
      return end({Code::invalid_argument, "no counter is behind ListCursor::end: begin anew"});
    if (from_ != ListCursor::begin) return list();
    NamespaceQuestion drop{.action = NamespaceAction::drop, .name = name_, .timeout = timeout_};
    backend_->begin(NamespaceCall{
        std::move(drop),
        [step = shared_from_this()](NamespaceReply reply) { step->on_dropped(std::move(reply)); }});
  }

 private:
  // Nothing: there is none, and the step has ended.
  std::optional<milliseconds> time_left() {
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - NodeClock::now());
    if (left > milliseconds(0)) return left;
    stop({Code::unavailable, "the step took longer than its timeout"});
    return std::nullopt;
  }

  void on_dropped(NamespaceReply reply) {
    if (reply.code != Code::ok) return end({reply.code, std::move(reply.detail)});
    absent_ = std::move(reply.absent);
    list();
  }

  void list() {
    const auto left = time_left();
    if (!left) return;
    ListQuestion page{.prefix = name_ + ':',
                      .cursor = static_cast<std::uint32_t>(from_),
                      .limit = kDropPage,
                      .timeout = *left};
    backend_->begin(ListCall{std::move(page), [step = shared_from_this()](ListPage found) {
                               step->on_page(std::move(found));
                             }});
  }

  void on_page(ListPage page) {
    if (!page.status.ok()) return stop(page.status);
    next_ = page.next;
    open_ = page.keys.size();
    if (open_ == 0) return after_resets();
    const auto left = time_left();
    if (!left) return;
    std::vector<CounterCall> calls;
    calls.reserve(page.keys.size());
    for (std::string& key : page.keys) {
      CounterChange reset{
          .kind = OpKind::reset, .key = std::move(key), .ack = Ack::by_default, .timeout = *left};
      calls.emplace_back(ChangeCall(std::move(reset), [step = shared_from_this()](Status status) {
        step->on_reset(std::move(status));
      }));
    }
    backend_->begin(std::span(calls));
  }

  // Refused resets are answered on the thread that began them.
  void on_reset(Status status) {
    {
      const std::lock_guard lock(mutex_);
      if (status.ok()) ++reset_;
      if (status.outcome() > worst_.outcome()) worst_ = std::move(status);
      if (--open_ > 0) return;
    }
    after_resets();
  }

  void after_resets() {
    if (!worst_.ok()) return stop(worst_);
    done_({.status = {}, .reset = reset_, .next = next_, .absent = std::move(absent_)});
  }

  // Nothing was done yet.
  void end(Status why) { done_({.status = std::move(why), .reset = 0, .next = from_}); }

  // The definition is dropped, and not all counters of this step are reset.
  void stop(const Status& why) {
    std::string detail(describe(why.code()).name);
    if (!why.detail().empty()) detail += ": " + std::string(why.detail());
    done_({.status = {Code::in_doubt,
                      "the namespace is dropped, and some of its counters are not reset yet (" +
                          detail + ")"},
           .reset = reset_,
           .next = from_,
           .absent = std::move(absent_)});
  }

  const std::shared_ptr<CounterBackend> backend_;
  const std::string name_;
  const ListCursor from_;
  const milliseconds timeout_;
  const Instant deadline_;
  const std::function<void(NamespaceDrop)> done_;
  std::vector<std::string> absent_;
  ListCursor next_ = ListCursor::end;
  std::mutex mutex_;  // for the following
  std::size_t open_ = 0;
  std::uint64_t reset_ = 0;
  Status worst_;
};

}  // namespace

void begin_drop(const std::shared_ptr<CounterBackend>& backend, std::string name, ListCursor from,
                milliseconds timeout, std::function<void(NamespaceDrop)> done) {
  std::make_shared<Drop>(backend, std::move(name), from, timeout, std::move(done))->begin();
}

}  // namespace quipu
