#include "storage/kinds/frequency.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <tuple>
#include <utility>

#include "protocol/check.h"
#include "protocol/varint.h"

namespace quipu {
namespace frequency {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they are stored");

using Count = std::uint64_t;
constexpr Count kMostCount = std::numeric_limits<std::int64_t>::max();
constexpr Count kMostNarrow = std::numeric_limits<std::uint32_t>::max();  // of a cell of 4 bytes

struct Cell {
  std::uint32_t index = 0;
  Count count = 0;
};

enum class Form : std::uint8_t { sparse = 0, narrow = 4, wide = 8 };  // dense: the bytes of a cell

constexpr char kFormat = 1;       // a body's first byte
constexpr std::size_t kHead = 2;  // … and its slice
constexpr std::size_t kHash = sizeof(std::uint64_t);

// Where a matrix has what.
constexpr std::size_t kWidthAt = 8, kDepthAt = 12, kFormAt = 13, kTotalAt = 14, kCellsAt = 22;
constexpr std::size_t kMostEntry = 2 + 9;  // bytes, of the sparse form
constexpr std::size_t kLength = 2;         // bytes, before the entries of a sparse matrix

constexpr unsigned kCellBits = 14;
static_assert(kMostCells == 1U << kCellBits);
static_assert(kMostSlices < 128 && kMostSlices < kMaxShards);
static_assert(sparse_limit({kMostCells, 1}) < 1U << 8 * kLength);
static_assert(kCellsAt + 8 * std::size_t{kMostCells} <= kMaxShare);
// What canonical forms rely on: a gap takes no more than two bytes.
static_assert(varint_size(kMostCells) <= 3 && varint_size(kMostCells - 1) == 2);

template <class Number>
Number load(const char* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}
template <class Number>
void store(char* at, Number number) {
  std::memcpy(at, &number, sizeof number);
}

// REQUIRES: both are at most kMostCount.
Count plus(Count a, Count b) { return std::min(a + b, kMostCount); }

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t mix(std::uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // SplitMix64's step

// The cell of an element in a row. A row's column is the next output of a SplitMix64 that the hash
// seeds. So two elements meet in one row as rarely as in another. (Double hashing takes fewer
// operations, but then elements that meet in two rows meet in all.) Part of the format.
std::uint32_t cell_of(std::uint64_t hash, std::uint32_t row, std::uint32_t width) {
  const std::uint64_t high = mix(hash + (row + 1) * kGolden) >> 32;
  return row * width + static_cast<std::uint32_t>(high * width >> 32);
}

// The slice of an element. Slice 0 is the counter's first shard: it has all cells of a matrix that
// is not cut. Of one that is, it has the total alone. Part of the format.
std::uint32_t slice_of(std::uint64_t hash, Size size) {
  const std::uint32_t slices = slice_count(size);
  return slices == 0 ? 0 : 1 + static_cast<std::uint32_t>((mix(hash) >> 32) * slices >> 32);
}

// ---- a matrix in a body ----

// REQUIRES: it is not empty.
std::uint32_t slice_of(std::string_view body) { return static_cast<std::uint8_t>(body[1]); }

// Borrows: valid until the body changes its length.
struct Matrix {
  ActorId actor{};
  Size size{};
  Form form = Form::sparse;
  Count total = 0;
  std::size_t at = 0;        // in the body
  std::string_view cells{};  // dense: the counts; sparse: the entries

  [[nodiscard]] std::size_t cells_at() const {
    return at + kCellsAt + (form == Form::sparse ? kLength : 0);
  }
  [[nodiscard]] std::size_t end() const { return cells_at() + cells.size(); }
  [[nodiscard]] auto order() const { return std::tuple(raw(actor), size.width, size.depth); }
};

constexpr bool is_form(std::uint8_t form) { return form == 0 || form == 4 || form == 8; }

std::size_t dense_bytes(Size size, Form form) {
  return std::size_t{cell_count(size)} * static_cast<std::size_t>(form);
}

// Reads any bytes, but judges no cells. Nothing: there is none, or it is cut off.
std::optional<Matrix> matrix_at(std::string_view body, std::size_t at) {
  const std::string_view rest = body.substr(at);
  if (rest.size() < kCellsAt) return std::nullopt;
  Matrix matrix{.actor = ActorId{load<std::uint64_t>(rest.data())},
                .size = {load<std::uint32_t>(rest.data() + kWidthAt),
                         static_cast<std::uint8_t>(rest[kDepthAt])},
                .total = load<std::uint64_t>(rest.data() + kTotalAt),
                .at = at};
  const auto form = static_cast<std::uint8_t>(rest[kFormAt]);
  if (!is_size(matrix.size) || !is_form(form)) return std::nullopt;
  matrix.form = Form{form};
  std::size_t begin = kCellsAt, bytes = dense_bytes(matrix.size, matrix.form);
  if (matrix.form == Form::sparse) {
    begin += kLength;
    if (rest.size() < begin) return std::nullopt;
    bytes = load<std::uint16_t>(rest.data() + kCellsAt);
  }
  if (rest.size() - begin < bytes) return std::nullopt;
  matrix.cells = rest.substr(begin, bytes);
  return matrix;
}

// The matrices of a body, in order. If next() returned nothing and at_end() is false, the body is
// not sound.
class Matrices {
 public:
  explicit Matrices(std::string_view body) : body_(body) {}
  std::optional<Matrix> next() {
    std::optional<Matrix> matrix = matrix_at(body_, at_);
    if (matrix) at_ = matrix->end();
    return matrix;
  }
  [[nodiscard]] bool at_end() const { return at_ == body_.size(); }

 private:
  std::string_view body_;
  std::size_t at_ = kHead;
};

template <class Visitor>
void for_each_matrix(std::string_view body, Visitor visit) {
  Matrices matrices(body);
  while (const std::optional<Matrix> matrix = matrices.next()) visit(*matrix);
  QUIPU_CHECK(matrices.at_end(), "only a sound body is read", body.size());
}

Unit mark_of(const Matrix& matrix) {
  const std::uint64_t size = std::uint64_t{matrix.size.width} << 8 | matrix.size.depth;
  return static_cast<Unit>(mix(raw(matrix.actor) + size * kGolden) >> (32 + kCellBits))
         << kCellBits;
}

// ---- cells ----

// Each reader visits the cells that are not 0, ascending.

// Reads any bytes. It ends at the first entry that no writer makes.
class SparseReader {
 public:
  SparseReader(std::string_view entries, Size size) : rest_(entries), cells_(cell_count(size)) {}

  std::optional<Cell> next() {
    const std::optional<Cell> cell = peek();
    if (cell) drop();
    return cell;
  }
  // The next entry, which stays.
  [[nodiscard]] std::optional<Cell> peek() {
    if (rest_.size() >= 2 && is_short(rest_[0]) && is_short(rest_[1])) [[likely]] {
      return entry({static_cast<std::uint8_t>(rest_[0]), static_cast<std::uint8_t>(rest_[1]), 2});
    }
    std::string_view rest = rest_;
    const std::optional<std::uint64_t> gap = take_varint(rest), count = take_varint(rest);
    const std::size_t size = rest_.size() - rest.size();
    if (!gap || !count || size != varint_size(*gap) + varint_size(*count)) return std::nullopt;
    return entry({*gap, *count, size});
  }
  // REQUIRES: peek() returned an entry.
  void drop() {
    begin_ = peeked_end_;
    rest_.remove_prefix(peeked_size_);
  }

  // Leaves out the entries before this cell, and returns their bytes. REQUIRES: a sound matrix.
  std::string_view skip_to(std::uint32_t index) {
    const std::string_view before = rest_;
    skip_fours(index);
    for (std::optional<Cell> cell = peek(); cell && cell->index < index; cell = peek()) drop();
    return before.substr(0, before.size() - rest_.size());
  }

  // The first cell after the last entry that was read.
  [[nodiscard]] std::uint32_t begin() const { return begin_; }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  struct Entry {
    std::uint64_t gap, count;
    std::size_t size;
  };

  static bool is_short(char varint) { return static_cast<std::uint8_t>(varint) < 0x80; }

  std::optional<Cell> entry(const Entry& read) {
    if (read.gap >= cells_ - begin_ || read.count == 0) return std::nullopt;
    const auto index = static_cast<std::uint32_t>(begin_ + read.gap);
    peeked_end_ = index + 1;
    peeked_size_ = read.size;
    return Cell{index, read.count};
  }

  // Four entries at once, as long as each has two bytes. Most have, and an increment would
  // otherwise decode all that come before its last cell.
  void skip_fours(std::uint32_t index) {
    constexpr std::size_t kFour = 8;
    constexpr std::uint64_t kLong = 0x8080808080808080, kGaps = 0x00ff00ff00ff00ff,
                            kSum = 0x0001000100010001;
    while (rest_.size() >= kFour) {
      const auto four = load<std::uint64_t>(rest_.data());
      if ((four & kLong) != 0) return;
      const std::uint64_t end = begin_ + 4 + ((four & kGaps) * kSum >> 48);
      if (end > index) return;
      begin_ = static_cast<std::uint32_t>(end);
      rest_.remove_prefix(kFour);
    }
  }

  std::string_view rest_;
  std::uint32_t begin_ = 0;
  std::uint32_t cells_;
  std::uint32_t peeked_end_ = 0;
  std::size_t peeked_size_ = 0;
};

Count dense_count(const char* cells, Form form, std::uint32_t index) {
  const char* at = cells + std::size_t{index} * static_cast<std::size_t>(form);
  return form == Form::narrow ? load<std::uint32_t>(at) : load<std::uint64_t>(at);
}

void set_dense_count(char* cells, Form form, const Cell& set) {
  char* at = cells + std::size_t{set.index} * static_cast<std::size_t>(form);
  if (form == Form::wide) return store<std::uint64_t>(at, set.count);
  QUIPU_CHECK(set.count <= kMostNarrow, "a matrix is widened first", set.count);
  store<std::uint32_t>(at, static_cast<std::uint32_t>(set.count));
}

class DenseReader {
 public:
  explicit DenseReader(const Matrix& matrix)
      : cells_(matrix.cells.data()), form_(matrix.form), end_(cell_count(matrix.size)) {}
  std::optional<Cell> next() {
    while (at_ < end_) {
      const Cell cell{at_, dense_count(cells_, form_, at_)};
      ++at_;
      if (cell.count > 0) return cell;
    }
    return std::nullopt;
  }

 private:
  const char* cells_;
  Form form_;
  std::uint32_t at_ = 0;
  std::uint32_t end_;
};

// Reads a list, which may have counts of 0.
class ListReader {
 public:
  explicit ListReader(std::span<const Cell> list) : rest_(list) {}
  std::optional<Cell> next() {
    while (!rest_.empty()) {
      const Cell front = rest_.front();
      rest_ = rest_.subspan(1);
      if (front.count > 0) return front;
    }
    return std::nullopt;
  }

 private:
  std::span<const Cell> rest_;
};

template <class Use>
auto with_reader(const Matrix& matrix, Use use) {
  return matrix.form == Form::sparse ? use(SparseReader(matrix.cells, matrix.size))
                                     : use(DenseReader(matrix));
}

class SparseWriter {
 public:
  explicit SparseWriter(std::size_t bytes = 0) { entries_.reserve(bytes); }

  // REQUIRES: ascending indexes, counts above 0.
  void add(const Cell& cell) {
    QUIPU_CHECK(cell.index >= begin_, "entries ascend", cell.index, begin_);
    append_varint(entries_, cell.index - begin_);
    append_varint(entries_, cell.count);
    begin_ = cell.index + 1;
  }
  // The entries of a reader before this cell.
  void add_before(std::uint32_t index, SparseReader& from) {
    // Where a cell was inserted, the next one has another gap.
    if (begin_ != from.begin()) {
      const std::optional<Cell> next = from.peek();
      if (!next || next->index >= index) return;
      add(*next);
      from.drop();
    }
    entries_ += from.skip_to(index);
    begin_ = from.begin();
  }
  void add_rest(SparseReader& from) {
    if (begin_ != from.begin()) {
      const std::optional<Cell> next = from.next();
      if (!next) return;
      add(*next);
    }
    entries_ += from.rest();
  }
  [[nodiscard]] const std::string& entries() const { return entries_; }

 private:
  std::string entries_;
  std::uint32_t begin_ = 0;  // the first cell after the last entry
};

// ---- whole matrices ----

// The bytes of a matrix up to its cells.
std::string head_of(const Matrix& matrix, Form form, Count total) {
  std::string head(kCellsAt, '\0');
  store(head.data(), raw(matrix.actor));
  store(head.data() + kWidthAt, matrix.size.width);
  head[kDepthAt] = static_cast<char>(matrix.size.depth);
  head[kFormAt] = static_cast<char>(form);
  store(head.data() + kTotalAt, total);
  return head;
}

std::string sparse_matrix(const Matrix& matrix, Count total, const std::string& entries) {
  std::string bytes = head_of(matrix, Form::sparse, total);
  bytes.resize(kCellsAt + kLength);
  store(bytes.data() + kCellsAt, static_cast<std::uint16_t>(entries.size()));
  return bytes += entries;
}

// With the greater of these cells and the matrix's own.
template <class Reader>
std::string dense_matrix(const Matrix& matrix, Form form, Count total, Reader cells) {
  std::string bytes = head_of(matrix, form, total);
  bytes.resize(kCellsAt + dense_bytes(matrix.size, form));
  char* const to = bytes.data() + kCellsAt;
  const auto raise_to = [&](auto reader) {
    while (const std::optional<Cell> cell = reader.next())
      if (dense_count(to, form, cell->index) < cell->count) set_dense_count(to, form, *cell);
  };
  with_reader(matrix, raise_to);
  raise_to(cells);
  return bytes;
}

template <class Reader>
bool any_wide(Reader cells) {
  while (const std::optional<Cell> cell = cells.next())
    if (cell->count > kMostNarrow) return true;
  return false;
}

// A matrix with these cells. REQUIRES: they ascend.
std::string pack(const Matrix& named, std::span<const Cell> cells) {
  SparseWriter writer;
  ListReader reader(cells);
  while (const std::optional<Cell> cell = reader.next()) writer.add(*cell);
  if (writer.entries().size() <= sparse_limit(named.size))
    return sparse_matrix(named, named.total, writer.entries());
  const Form form = any_wide(ListReader(cells)) ? Form::wide : Form::narrow;
  return dense_matrix({.actor = named.actor, .size = named.size}, form, named.total,
                      ListReader(cells));
}

// ---- changes of a body ----

// What takes the place of some bytes of a body, and the units that it changes.
struct Patch {
  std::size_t at = 0;
  std::size_t size = 0;  // of what was there
  std::string bytes{};
  std::vector<Unit> units{};
};

// REQUIRES: ascending, without overlaps.
void commit(Edit& into, std::span<const Patch> patches) {
  if (patches.empty()) return;
  const bool in_place =
      std::ranges::all_of(patches, [](const Patch& p) { return p.bytes.size() == p.size; });
  if (in_place) {
    char* const bytes = into.change();
    for (const Patch& patch : patches)
      std::memcpy(bytes + patch.at, patch.bytes.data(), patch.size);
  } else {
    const std::string_view before = into.body();
    std::size_t size = before.size();
    for (const Patch& patch : patches) size += patch.bytes.size() - patch.size;
    std::string after;
    after.reserve(size);
    std::size_t copied = 0;
    for (const Patch& patch : patches) {
      after.append(before, copied, patch.at - copied).append(patch.bytes);
      copied = patch.at + patch.size;
    }
    after.append(before, copied);
    into.replace(std::move(after));
  }
  for (const Patch& patch : patches)
    for (const Unit unit : patch.units) into.note(unit);
}

// Some cells and a total that a matrix is raised to.
template <class Reader>
struct Raise {
  Raise(Count its_total, Reader its_cells) : total(its_total), cells(its_cells) {}
  Count total;
  Reader cells;
};

// The functions below return what must take the place of the matrix; nothing, if that is none.

template <class Reader>
std::optional<Patch> raise_sparse(const Matrix& held, const Raise<Reader>& to) {
  const Unit mark = mark_of(held);
  Patch patch{.at = held.at, .size = held.end() - held.at};
  SparseReader own(held.cells, held.size);
  Reader offered = to.cells;
  SparseWriter writer(held.cells.size() + kMostDepth * kMostEntry);
  while (std::optional<Cell> cell = offered.next()) {
    writer.add_before(cell->index, own);
    const std::optional<Cell> met = own.peek();
    const bool meets = met && met->index == cell->index;
    if (meets) own.drop();
    if (!meets || met->count < cell->count)
      patch.units.push_back(mark | cell->index);
    else
      cell = met;
    writer.add(*cell);
  }
  writer.add_rest(own);
  if (to.total > held.total && patch.units.empty()) patch.units.push_back(mark);
  if (patch.units.empty()) return std::nullopt;
  const Count total = std::max(held.total, to.total);
  if (writer.entries().size() <= sparse_limit(held.size)) {
    patch.bytes = sparse_matrix(held, total, writer.entries());
  } else {
    const bool wide = any_wide(SparseReader(held.cells, held.size)) || any_wide(to.cells);
    patch.bytes = dense_matrix(held, wide ? Form::wide : Form::narrow, total, to.cells);
  }
  return patch;
}

template <class Reader>
std::vector<Unit> raised_units(const Matrix& held, const Raise<Reader>& to) {
  const Unit mark = mark_of(held);
  std::vector<Unit> units;
  Reader cells = to.cells;
  while (const std::optional<Cell> cell = cells.next())
    if (dense_count(held.cells.data(), held.form, cell->index) < cell->count)
      units.push_back(mark | cell->index);
  if (to.total > held.total && units.empty()) units.push_back(mark);
  return units;
}

// In place, unless its cells must become wider.
template <class Reader>
std::optional<Patch> raise_dense(Edit& into, const Matrix& held, const Raise<Reader>& to) {
  // No cell is greater than the total.
  if (held.form == Form::narrow && to.total > kMostNarrow && any_wide(to.cells))
    return Patch{.at = held.at,
                 .size = held.end() - held.at,
                 .bytes = dense_matrix(held, Form::wide, std::max(held.total, to.total), to.cells),
                 .units = raised_units(held, to)};
  const Unit mark = mark_of(held);
  char* changing = nullptr;  // until the first change
  const auto change = [&](Unit unit) {
    if (changing == nullptr) changing = into.change();
    into.note(unit);
  };
  Reader cells = to.cells;
  while (const std::optional<Cell> cell = cells.next()) {
    if (dense_count(into.body().data() + held.cells_at(), held.form, cell->index) >= cell->count)
      continue;
    change(mark | cell->index);
    set_dense_count(changing + held.cells_at(), held.form, *cell);
  }
  if (to.total > held.total) {
    if (changing == nullptr) change(mark);
    store(changing + held.at + kTotalAt, to.total);
  }
  return std::nullopt;
}

template <class Reader>
std::optional<Patch> raise(Edit& into, const Matrix& held, const Raise<Reader>& to) {
  return held.form == Form::sparse ? raise_sparse(held, to) : raise_dense(into, held, to);
}

// ---- the join ----

std::optional<Patch> join_matrix(Edit& into, const Matrix& held, const Matrix& from) {
  if (held.total == from.total && held.form == from.form && held.cells == from.cells)
    return std::nullopt;
  return with_reader(from, [&](auto cells) { return raise(into, held, Raise(from.total, cells)); });
}

Patch insertion(std::size_t at, const Matrix& matrix, std::string bytes) {
  Patch patch{.at = at, .bytes = std::move(bytes)};
  const Unit mark = mark_of(matrix);
  patch.units.push_back(mark);  // there may be no other
  with_reader(matrix, [&](auto cells) {
    while (const std::optional<Cell> cell = cells.next()) patch.units.push_back(mark | cell->index);
  });
  return patch;
}

void join(Edit& into, std::string_view from) {
  if (into.body().empty()) {
    into.replace(std::string(from));
    into.note_all();
    return;
  }
  // Bodies of different slices never meet, since is_sound() looks at their names. Still, this is a
  // join: the lower slice wins.
  if (slice_of(into.body()) != slice_of(from)) {
    if (slice_of(into.body()) < slice_of(from)) return;
    into.replace(std::string(from));
    into.note_all();
    return;
  }
  std::vector<Patch> patches;
  Matrices own(into.body());
  std::optional<Matrix> held = own.next();
  std::size_t end = kHead;  // of the matrices that come before
  const auto pass = [&] {
    end = held->end();
    held = matrix_at(into.body(), end);
  };
  for_each_matrix(from, [&](const Matrix& theirs) {
    while (held && held->order() < theirs.order()) pass();
    if (!held || held->order() != theirs.order()) {
      std::string bytes(from.substr(theirs.at, theirs.end() - theirs.at));
      return patches.push_back(insertion(end, theirs, std::move(bytes)));
    }
    if (std::optional<Patch> patch = join_matrix(into, *held, theirs))
      patches.push_back(std::move(*patch));
    pass();
  });
  commit(into, patches);
}

// ---- samples ----

// The counts of all cells of some elements in one matrix.
class Sample {
 public:
  Sample(const Matrix& matrix, std::span<const std::uint64_t> hashes) : size_(matrix.size) {
    cells_.reserve(hashes.size() * size_.depth);
    for (const std::uint64_t hash : hashes)
      for (std::uint32_t row = 0; row < size_.depth; ++row)
        cells_.push_back({cell_of(hash, row, row_width(size_))});
    if (hashes.size() > 1) sort();  // those of one element ascend
    fill(matrix);
  }

  [[nodiscard]] Count least(std::uint64_t hash) const {
    Count least = kMostCount;
    for (std::uint32_t row = 0; row < size_.depth; ++row)
      least = std::min(least, cells_[find(hash, row)].count);
    return least;
  }
  // Conservative update. Returns the new least count.
  Count add(std::uint64_t hash, Count count) {
    const Count to = least(hash) + count;
    for (std::uint32_t row = 0; row < size_.depth; ++row) {
      Count& cell = cells_[find(hash, row)].count;
      cell = std::max(cell, to);
    }
    return to;
  }
  // Ascending; also those of 0.
  [[nodiscard]] std::span<const Cell> cells() const { return cells_; }

 private:
  void sort() {
    std::ranges::sort(cells_, {}, &Cell::index);
    const auto same_index = [](const Cell& a, const Cell& b) { return a.index == b.index; };
    cells_.erase(std::unique(cells_.begin(), cells_.end(), same_index), cells_.end());
  }
  void fill(const Matrix& matrix) {
    if (matrix.form != Form::sparse) {
      for (Cell& cell : cells_)
        cell.count = dense_count(matrix.cells.data(), matrix.form, cell.index);
      return;
    }
    SparseReader reader(matrix.cells, size_);
    for (Cell& cell : cells_) {
      reader.skip_to(cell.index);
      const std::optional<Cell> held = reader.peek();
      if (held && held->index == cell.index) cell.count = held->count;
    }
  }
  [[nodiscard]] std::size_t find(std::uint64_t hash, std::uint32_t row) const {
    if (cells_.size() == size_.depth) {
      const std::uint32_t expected = cell_of(hash, row, row_width(size_));
      if (cells_[row].index == expected) return row;  // the usual sample, of one element
    }
    const auto at =
        std::ranges::lower_bound(cells_, cell_of(hash, row, row_width(size_)), {}, &Cell::index);
    QUIPU_CHECK(at != cells_.end(), "a sample has the cells of its elements", row);
    return static_cast<std::size_t>(at - cells_.begin());
  }

  Size size_;
  std::vector<Cell> cells_;
};

// ---- ops ----

bool is_smaller(Size a, Size b) {
  return std::tuple(a.width * a.depth, a.width) < std::tuple(b.width * b.depth, b.width);
}

// The matrices of a body, as an actor sees them.
struct View {
  std::optional<Matrix> own{};
  std::vector<Matrix> others{};
  std::size_t place = kHead;  // where its own would be
  Size largest{};             // of all; 0: there are none
};

// Its own is the largest that it has, or the one of a size. REQUIRES: the body is empty or sound.
View view_of(std::string_view body, ActorId actor, std::optional<Size> wanted = {}) {
  View view;
  if (body.empty()) return view;
  const auto place =
      std::tuple(raw(actor), wanted.value_or(Size{}).width, wanted.value_or(Size{}).depth);
  for_each_matrix(body, [&](const Matrix& matrix) {
    if (matrix.order() < place) view.place = matrix.end();
    if (is_smaller(view.largest, matrix.size)) view.largest = matrix.size;
    if (matrix.actor != actor) return view.others.push_back(matrix);
    const bool is_own =
        wanted ? matrix.size == *wanted : !view.own || is_smaller(view.own->size, matrix.size);
    if (!is_own) return view.others.push_back(matrix);
    if (view.own) view.others.push_back(*view.own);
    view.own = matrix;
  });
  return view;
}

// The size of the matrix that an actor's adds go to: its own, or the one that it begins.
Size size_for(const View& first, std::string_view like, ActorId actor) {
  if (first.own) return first.own->size;
  if (first.largest != Size{}) return first.largest;
  const View model = view_of(like, actor);
  if (model.own) return model.own->size;
  return model.largest == Size{} ? kUsualSize : model.largest;
}

// A matrix that begins, with these cells, in a body that may begin, too.
void begin(Edit& into, ShardIndex slice, const View& view, const Matrix& named,
           std::span<const Cell> cells) {
  Patch patch{.at = view.place, .bytes = pack(named, cells)};
  if (into.body().empty()) {
    into.replace(std::string{kFormat, static_cast<char>(slice)} + patch.bytes);
    into.note_all();
    return;
  }
  const Unit mark = mark_of(named);
  patch.units.push_back(mark);
  for (const Cell& cell : cells)
    if (cell.count > 0) patch.units.push_back(mark | cell.index);
  commit(into, {&patch, 1});
}

Code begin_counter(Edit& into, ActorId actor, std::string_view words, std::string& reply) {
  const std::optional<std::uint64_t> width = take_varint(words), depth = take_varint(words);
  if (!width || !depth || !words.empty()) return Code::invalid_argument;
  if (*width > kMostWidth || *depth > kMostDepth) return Code::out_of_range;
  const Size size{static_cast<std::uint32_t>(*width), static_cast<std::uint32_t>(*depth)};
  if (!is_size(size)) return Code::out_of_range;
  const View view = view_of(into.body(), actor);
  const bool exists = view.largest != Size{};
  if (!exists) begin(into, 0, view, {.actor = actor, .size = size}, {});
  reply.assign(1, exists ? '\0' : '\1');
  return Code::ok;
}

struct Increments {
  std::vector<std::uint64_t> hashes{};
  std::vector<Count> counts{};
  Count total = 0;
};

// The increments of these words, on a matrix that has counted `total`.
Code read_increments(std::string_view words, Count total, Increments& read) {
  read.total = total;
  while (!words.empty()) {
    if (words.size() < kHash) return Code::invalid_argument;
    read.hashes.push_back(load<std::uint64_t>(words.data()));
    words.remove_prefix(kHash);
    const std::optional<std::uint64_t> count = take_varint(words);
    if (!count) return Code::invalid_argument;
    read.counts.push_back(*count);
  }
  for (const Count count : read.counts) {
    if (count > kMostCount - read.total) return Code::out_of_range;
    read.total += count;
  }
  return Code::ok;
}

// Raises the own matrix, or begins it. `own`: with the new total.
void raise_own(Edit& into, const KindOp& op, const View& view, const Matrix& own,
               std::span<const Cell> cells) {
  if (!view.own) {
    if (own.total > 0 || into.body().empty()) begin(into, op.slice, view, own, cells);
    return;
  }
  into.rest_on(mark_of(own));
  for (const Cell& cell : cells) into.rest_on(mark_of(own) | cell.index);
  const std::optional<Patch> patch = raise(into, *view.own, Raise(own.total, ListReader(cells)));
  if (patch) commit(into, {&*patch, 1});
}

Code add(Edit& into, const KindOp& op, std::string_view words, std::string& reply) {
  const bool is_first = op.slice == 0;
  const Size size =
      size_for(view_of(is_first ? into.body() : op.like, op.actor), op.like, op.actor);
  const View view =
      is_first ? view_of(into.body(), op.actor) : view_of(into.body(), op.actor, size);
  Matrix own = view.own.value_or(Matrix{.actor = op.actor, .size = size});
  if (!is_first && slice_count(size) < op.slice) return Code::invalid_argument;
  Increments increments;
  if (const Code code = read_increments(words, own.total, increments); code != Code::ok)
    return code;
  own.total = increments.total;
  reply.clear();
  if (is_first && slice_count(size) > 0) {  // the reply is told once its slices have counted
    raise_own(into, op, view, own, {});
    return Code::ok;
  }
  Sample sample(own, increments.hashes);
  std::vector<Sample> others;
  others.reserve(view.others.size());
  for (const Matrix& other : view.others) others.emplace_back(other, increments.hashes);
  for (const std::string_view body : op.others) {
    for_each_matrix(body,
                    [&](const Matrix& other) { others.emplace_back(other, increments.hashes); });
  }
  for (std::size_t i = 0; i < increments.hashes.size(); ++i) {
    Count estimate = sample.add(increments.hashes[i], increments.counts[i]);
    for (const Sample& other : others) estimate = plus(estimate, other.least(increments.hashes[i]));
    append_varint(reply, estimate);
  }
  raise_own(into, op, view, own, sample.cells());
  return Code::ok;
}

Code apply(Edit& into, const KindOp& op, std::string& reply) {
  QUIPU_CHECK(op.actor != ActorId{}, "a matrix has an actor");
  if (op.words.empty()) return Code::invalid_argument;
  const std::string_view rest = op.words.substr(1);
  if (op.words.front() == kBegin) return begin_counter(into, op.actor, rest, reply);
  if (op.words.front() == kAdd) return add(into, op, rest, reply);
  return Code::invalid_argument;
}

// ---- the other rules ----

bool has_sound_cells(const Matrix& matrix) {
  Count greatest = 0;
  std::size_t entries = 0;  // what they take, or would take, in the sparse form
  std::uint32_t begin = 0;
  const auto see = [&](auto& cells) {
    while (const std::optional<Cell> cell = cells.next()) {
      greatest = std::max(greatest, cell->count);
      entries += varint_size(cell->index - begin) + varint_size(cell->count);
      begin = cell->index + 1;
    }
    return greatest <= matrix.total;
  };
  if (matrix.form == Form::sparse) {
    SparseReader cells(matrix.cells, matrix.size);
    return see(cells) && cells.rest().empty() && entries <= sparse_limit(matrix.size);
  }
  DenseReader cells(matrix);
  return see(cells) && entries > sparse_limit(matrix.size) &&
         (matrix.form == Form::wide) == (greatest > kMostNarrow);
}

// The first shard has the totals of matrices in slices, and the slices have their cells.
bool belongs(const Matrix& matrix, std::uint32_t slice) {
  const std::uint32_t slices = slice_count(matrix.size);
  if (slice > 0) return slice <= slices;
  return slices == 0 || matrix.cells.empty();
}

bool sound(std::string_view body) {
  if (body.size() < kHead || body.front() != kFormat) return false;
  Matrices matrices(body);
  std::optional<Matrix> before;
  while (std::optional<Matrix> matrix = matrices.next()) {
    if (matrix->actor == ActorId{} || matrix->total > kMostCount) return false;
    if (before && before->order() >= matrix->order()) return false;
    if (!belongs(*matrix, slice_of(body)) || !has_sound_cells(*matrix)) return false;
    before = matrix;
  }
  return matrices.at_end();
}

// These cells of a matrix. REQUIRES: ascending units, all of its mark.
std::vector<Cell> some_cells(const Matrix& matrix, std::span<const Unit> units) {
  std::vector<Cell> some;
  const std::uint32_t end = cell_count(matrix.size);
  const auto index_of = [](Unit unit) { return unit & (kMostCells - 1); };
  if (matrix.form != Form::sparse) {
    for (const Unit unit : units)
      if (index_of(unit) < end)
        some.push_back(
            {index_of(unit), dense_count(matrix.cells.data(), matrix.form, index_of(unit))});
    return some;
  }
  SparseReader reader(matrix.cells, matrix.size);
  for (const Unit unit : units) {
    reader.skip_to(index_of(unit));
    const std::optional<Cell> cell = reader.peek();
    if (cell && cell->index == index_of(unit)) some.push_back(*cell);
  }
  return some;
}

std::string extract(std::string_view body, std::span<const Unit> units) {
  std::vector<Unit> wanted(units.begin(), units.end());
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::string some(body.substr(0, kHead));
  for_each_matrix(body, [&](const Matrix& matrix) {
    const Unit mark = mark_of(matrix);
    const auto begin = std::ranges::lower_bound(wanted, mark);
    const auto end = std::ranges::upper_bound(wanted, mark | (kMostCells - 1));
    if (begin != end) some += pack(matrix, some_cells(matrix, {begin, end}));
  });
  return some;
}

std::string share(std::string_view body, ActorId actor) {
  std::string own;
  for_each_matrix(body, [&](const Matrix& matrix) {
    if (matrix.actor != actor) return;
    if (own.empty()) own = body.substr(0, kHead);
    own += body.substr(matrix.at, matrix.end() - matrix.at);
  });
  return own;
}

// ---- answers ----

// By how much an estimate of a matrix may be too high.
Count bound_of(const Matrix& matrix) {
  const double bound =
      std::ceil(std::numbers::e / row_width(matrix.size) * static_cast<double>(matrix.total));
  return bound < static_cast<double>(kMostCount) ? static_cast<Count>(bound) : kMostCount;
}

// What the bodies of first shards say together.
struct Sums {
  Count total = 0;
  Size largest{};
  Count bound = 0;                // but for what is in slices
  std::uint32_t least_depth = 0;  // 0: there is no matrix

  void add(const Matrix& matrix) {
    total = plus(total, matrix.total);
    if (is_smaller(largest, matrix.size)) largest = matrix.size;
    if (least_depth == 0 || matrix.size.depth < least_depth) least_depth = matrix.size.depth;
    if (slice_count(matrix.size) == 0) bound = plus(bound, bound_of(matrix));
  }
};

std::vector<std::uint64_t> read_hashes(std::string_view bytes) {
  std::vector<std::uint64_t> hashes;
  for (std::size_t at = 0; at < bytes.size(); at += kHash)
    hashes.push_back(load<std::uint64_t>(bytes.data() + at));
  return hashes;
}

struct Estimate {
  Count count = 0;
  Count bound = 0;  // of what is in slices
};

// Adds to each estimate what this matrix, in this slice, has counted of its element.
void add_estimates(const Matrix& matrix, std::uint32_t slice, std::span<const std::uint64_t> hashes,
                   std::vector<Estimate>& estimates) {
  if (slice == 0 && slice_count(matrix.size) > 0) return;
  std::vector<std::uint64_t> here;
  for (const std::uint64_t hash : hashes)
    if (slice_of(hash, matrix.size) == slice) here.push_back(hash);
  const Sample sample(matrix, here);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (slice_of(hashes[i], matrix.size) != slice) continue;
    estimates[i].count = plus(estimates[i].count, sample.least(hashes[i]));
    if (slice > 0) estimates[i].bound = plus(estimates[i].bound, bound_of(matrix));
  }
}

std::vector<Estimate> estimates_of(std::span<const std::string_view> bodies,
                                   std::span<const std::uint64_t> hashes) {
  std::vector<Estimate> estimates(hashes.size());
  for (const std::string_view body : bodies) {
    for_each_matrix(body, [&](const Matrix& matrix) {
      add_estimates(matrix, slice_of(body), hashes, estimates);
    });
  }
  return estimates;
}

Code answer(std::span<const std::string_view> bodies, std::string_view question,
            std::string& reply) {
  const bool about = !question.empty() && question.front() == kAbout;
  if (about && (question.size() - 1) % kHash != 0) return Code::invalid_argument;
  if (!about && question != kTotalQuestion && question != kInfoQuestion)
    return Code::invalid_argument;
  Sums sums;
  for (const std::string_view body : bodies)
    if (slice_of(body) == 0) for_each_matrix(body, [&](const Matrix& matrix) { sums.add(matrix); });
  reply.clear();
  if (about) {
    const auto estimates = estimates_of(bodies, read_hashes(question.substr(1)));
    Count in_slices = 0;
    for (const Estimate& each : estimates) in_slices = std::max(in_slices, each.bound);
    append_varint(reply, plus(sums.bound, in_slices));
    append_varint(reply, sums.least_depth);
    for (const Estimate& each : estimates) append_varint(reply, each.count);
    return Code::ok;
  }
  if (question == kInfoQuestion) {
    append_varint(reply, sums.largest.width);
    append_varint(reply, sums.largest.depth);
  }
  append_varint(reply, sums.total);
  return Code::ok;
}

// ---- slices ----

std::uint32_t slice_of_body(std::string_view body) { return slice_of(body); }

std::uint32_t slices_of(std::span<const std::string_view> firsts) {
  std::uint32_t most = 0;
  for (const std::string_view body : firsts) {
    for_each_matrix(body,
                    [&](const Matrix& matrix) { most = std::max(most, slice_count(matrix.size)); });
  }
  return most;
}

// Nothing: these are no increments.
std::optional<Increments> increments_of(std::string_view words) {
  Increments increments;
  const bool adds = !words.empty() && words.front() == kAdd &&
                    read_increments(words.substr(1), 0, increments) == Code::ok;
  return adds ? std::optional(std::move(increments)) : std::nullopt;
}

std::vector<SliceWords> split(std::string_view first, const KindOp& op) {
  const Size size = size_for(view_of(first, op.actor), op.like, op.actor);
  const auto increments = slice_count(size) > 0 ? increments_of(op.words) : std::nullopt;
  if (!increments) return {};
  std::map<std::uint32_t, std::vector<Increment>> by_slice;
  for (std::size_t i = 0; i < increments->hashes.size(); ++i) {
    const std::uint64_t hash = increments->hashes[i];
    by_slice[slice_of(hash, size)].push_back({hash, increments->counts[i]});
  }
  std::vector<SliceWords> split;
  split.reserve(by_slice.size());
  for (const auto& [slice, some] : by_slice)
    split.push_back({static_cast<ShardIndex>(slice), words_to_add(some)});
  return split;
}

std::vector<ShardIndex> asked(std::span<const std::string_view> firsts, std::string_view question) {
  std::vector<std::uint64_t> hashes;
  if (auto increments = increments_of(question)) {
    hashes = std::move(increments->hashes);
  } else if (!question.empty() && question.front() == kAbout && question.size() % kHash == 1) {
    hashes = read_hashes(question.substr(1));
  }
  std::set<std::uint32_t> slices;
  for (const std::string_view body : firsts) {
    for_each_matrix(body, [&](const Matrix& matrix) {
      if (slice_count(matrix.size) == 0) return;
      for (const std::uint64_t hash : hashes) slices.insert(slice_of(hash, matrix.size));
    });
  }
  return {slices.begin(), slices.end()};
}

std::string tell(std::span<const std::string_view> bodies, std::string_view words) {
  std::string reply;
  if (const auto increments = increments_of(words))
    for (const Estimate& each : estimates_of(bodies, increments->hashes))
      append_varint(reply, each.count);
  return reply;
}

}  // namespace

}  // namespace frequency

const SliceRules kSlices{frequency::slice_of_body, frequency::slices_of, frequency::split,
                         frequency::asked, frequency::tell};

const KindRules kFrequency{"frequency",        frequency::sound, frequency::join,
                           frequency::extract, frequency::apply, frequency::answer,
                           frequency::share,   &kSlices};

}  // namespace quipu
