#include "storage/store.h"

#include <iterator>

namespace quipu {

std::size_t Batch::bytes() const {
  std::size_t total = 0;
  for (const Put& put : puts) total += put.key.size() + put.value.size();
  for (const std::string& key : deletes) total += key.size();
  return total;
}

void Batch::append(Batch&& other) {
  puts.insert(puts.end(), std::make_move_iterator(other.puts.begin()),
              std::make_move_iterator(other.puts.end()));
  deletes.insert(deletes.end(), std::make_move_iterator(other.deletes.begin()),
                 std::make_move_iterator(other.deletes.end()));
}

}  // namespace quipu
