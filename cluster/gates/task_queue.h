// task_queue.h: work that the parts of a core leave for each other until the current event
// is handled: a round's result for its askers, a message to this node itself.
//
// Invariant: tasks run in the order in which they were added, never within the call that
// adds them. So no part is entered again while it is at work.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "protocol/check.h"
#include "protocol/instant.h"

namespace quipu {

class TaskQueue {
 public:
  using Task = std::function<void(Instant now)>;

  void add(Task task) {
    QUIPU_CHECK(task != nullptr, "a task does something", tasks_.size());
    tasks_.push_back(std::move(task));
  }

  // Runs until none is left, including tasks that are added meanwhile. This ends because each
  // task uses up something: an answer, a message, a step of an operation.
  void run(Instant now) {
    QUIPU_CHECK(!running_, "a task runs no others, so that no part is entered again",
                tasks_.size());
    running_ = true;
    while (!tasks_.empty()) {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      task(now);
    }
    running_ = false;
  }

 private:
  std::deque<Task> tasks_;
  bool running_ = false;
};

}  // namespace quipu
