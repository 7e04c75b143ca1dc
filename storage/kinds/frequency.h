// frequency.h: the kind that estimates how often each element came (Count-Min sketch).
//
// An exact answer would have to keep every element with its count. A Count-Min sketch (Cormode and
// Muthukrishnan 2005) keeps a matrix of counts. In each row, the hash of an element chooses one
// cell, and every row chooses anew. Here ann came 3 times, and bob 5 times:
//
//              column 0    1    2    3    4
//   row 0             .    3    .    5    .      ann: 1   bob: 3
//   row 1             .    .    8    .    .      ann: 2   bob: 2   they share this cell
//   row 2             5    .    .    .    3      ann: 4   bob: 0
//
// Each cell of ann has counted ann, and maybe others. So the estimate is the least of her cells,
// which is 3. It is never too low. Let `total` be all that was ever added. With the probability 1 −
// e^−depth, an estimate is too high by no more than the bound, e / width × total.
//
//   width × depth    dense    bound            holds with
//     272 × 5        5 KiB    1.00% of total   99.3%
//   2,000 × 7       55 KiB    0.14%            99.91%   the usual size
//   2,340 × 7       64 KiB    0.12%            99.91%
//  20,000 × 7      547 KiB    0.014%           99.91%   in 9 slices
//
// Conservative update (Estan and Varghese 2002): an increment by n makes the estimate rise by n, so
// it raises only those cells of the element that are less than its estimate + n, and only to that.
// A cell that others have raised higher stays as it is. So cells are mostly less than in a plain
// sketch, and never more. In the picture, the shared cell would be 5.
//
// Such cells must never be added up. Assume that two matrices of one row have counted ann 3 times
// each. A sum of them is right. But a cell that conservative update left alone has counted an
// increment only by being great enough already, and two of them may not be great enough together.
// Therefore
//
//   * each actor has a matrix of its own, and only that actor raises it. Join: of each cell the
//     greater count, and the greater total. Of two copies one is the later, and the join is that
//   * an estimate is the sum over the matrices of the least cell in each. That is no more than the
//     least of the sums would be, so the bound holds as if there were one matrix (if all have one
//     size; else for the matrices of each size)
//
// Slices (kind.h). A matrix of more than 16,384 cells is cut into slices of equal width, and the
// hash of an element chooses one. So a slice is a matrix with the elements that chose it: its
// estimates and its bound, e / its width × its total, are those of any matrix. The first shard has
// no cells of it. It has the total of all, with which it says that the counter exists, and how
// large it is.
//
// The bytes (numbers have their lowest bits first)
//
//   body    = 01 slice:1 matrix…        ascending by (actor, width, depth), each once, or none
//   matrix  = actor:8 width:4 depth:1 form:1 total:8 cells     width: of all slices together
//   form    = 0 sparse | 4 dense, cells of 4 bytes | 8 dense, cells of 8 bytes
//   cells   dense    width × depth counts, row by row
//           sparse   length:2 entry…    length: of all entries, in bytes
//   entry   = gap count                 of each cell that is not 0, ascending; both are varints
//     gap     how many cells of 0 come before this one
//
//   Example: 5 × 3, actor 7, ann came 3 times (cells 1, 7 and 14):
//
//     01 00   07 00 00 00 00 00 00 00   05 00 00 00   03      00       03 00 00 00 00 00 00 00
//     slice   actor                     width         depth   sparse   total
//
//             06 00    01 03   05 03   06 03
//             length   three entries
//
// No count of a cell is above the total of its matrix, and no total is above 2^63 − 1. An increment
// that would make it so is refused, so a cell never wraps.
//
// If a counter is begun in two places at once, its matrices may have different sizes, also two of
// one actor. All stay, and are summed. An actor goes on with the largest of its own.
//
// An increment on a counter in which its actor has no matrix begins one. It has the size of the
// largest one that is there, or the usual size.
//
// Canonical: the counts alone decide the form. A matrix is sparse while its entries have at most
// sparse_limit() bytes; else its cells have 4 bytes, or 8 once one count needs it. A greater count
// or one more cell never makes the entries shorter: to cut a gap of two bytes in two saves no byte,
// and the new count takes at least one. So a join never leads back to an earlier form.
//
// A unit is a cell together with the total of its matrix: mark:18 | cell:14. The mark is a hash of
// (actor, width, depth). Where two matrices have one mark, an extract has the cells of both, which
// does no harm.
//
// Downsides: nothing can be subtracted, and no elements can be listed. Rare elements among many are
// overestimated. Each actor that ever added to a counter adds the bytes of a matrix.
#pragma once

#include <cstddef>

#include "protocol/frequency_words.h"
#include "storage/kinds/kind.h"

namespace quipu {

extern const KindRules kFrequency;

namespace frequency {

// The most bytes of a sparse matrix's entries: an eighth of the dense form. An increment reads all
// entries before its last cell, so more would take it longer than the memory is worth. Part of the
// format: it never changes.
[[nodiscard]] constexpr std::size_t sparse_limit(Size size) {
  return std::size_t{cell_count(size)} / 2;
}

}  // namespace frequency
}  // namespace quipu
