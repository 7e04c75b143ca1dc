// distinct.h: the kind that counts how many different elements it was given (HyperLogLog).
//
// An exact count would have to keep every element. HyperLogLog (Flajolet, Fusy, Gandouet and
// Meunier 2007) keeps only maxima. It hashes each element to 64 bits and reads two numbers from
// the hash, here at precision p = 14:
//
//    63            50 49                        0
//   [ register index | 0 0 0 1 x x x x x … x x x ]
//                      └──┬──┘
//                      rank = position of the first 1, here 4; 65 − p if there is no 1
//
// Each of the 2^p registers keeps the greatest rank of its elements; 0: it has had none. Only one
// element in 2^r has the rank r, so high ranks mean many different elements. An element that comes
// again changes nothing.
//
//   precision   registers    dense body   standard error, 1.04 / √(registers)
//          10       1,024         769 B   3.25%
//          11       2,048       1,537 B   2.30%
//          14      16,384      12,289 B   0.81%   the usual one
//          16      65,536      49,153 B   0.41%
//
// Join: of each register, the greater rank. So adds need no actor and no token, and every node may
// execute them. A register is a unit, named by its index at precision 16: that survives a fold.
//
// Fold: bodies of different precisions are joined at the lesser one. A register of the coarser
// body stands for 2^d neighbours of the finer one (d = the difference). The lowest d bits of a
// neighbour's index become the first bits of the rank:
//
//   all d bits are 0:   the new rank is d + the old rank (or 0, if the old one is 0)
//   else:               the new rank is the position of the first 1 in the d bits
//
// Both are what the coarser body would have read from the hash itself. Both never fall when the old
// rank rises, and the greatest new rank wins, so it does not matter whether bodies are first joined
// or first folded.
//
// The bytes (in each byte, the highest bits first)
//
//   body    = head registers
//   head    = form:1 | precision:7            form: 1 dense, 0 sparse
//
//   dense   = 6 bits for each register, the lowest bits first: 4 registers (a b c d) in 3 bytes
//
//               byte 0     byte 1     byte 2
//               bbaaaaaa   ccccbbbb   ddddddcc
//
//   sparse  = an entry for each register that is not 0, ascending
//   entry   = rank:3 | gap:5   [gap − 31, in 1 to 3 bytes]   [byte: rank]
//     gap     how many registers of rank 0 come before this one; 31: it does not fit, and follows
//     rank    0: a rank above 7 does not fit, and follows
//     gap − 31   below 240     the byte itself
//                below 4,080   240 + n / 256, n % 256, where n = gap − 31 − 240
//                else          255, then 16 bits, the lowest first
//
//   Example: precision 14, register 2 has rank 3 and register 40 has rank 9:
//
//     0e    62              1f                        06          09
//     14    rank 3, gap 2   rank and gap do not fit   gap − 31    rank 9
//
// The idea of a sparse form is from Heule, Nunkesser and Hall 2013 ("HyperLogLog in practice").
// Theirs keeps hashes at a higher precision. Ours keeps the same registers as the dense form, so
// that the form never matters to a join or an estimate.
//
// Words, replies and answers are in protocol/distinct_words.h, since clients make and read them.
//
// Canonical: the registers alone decide the form. A body's weight is the number of its registers
// that are not 0; those with a rank above 7 count twice. A body is sparse if its weight is at most
// weight_limit(). A join only adds to the weight, so a dense body never becomes sparse again (a
// fold may do that, for a dense body of a higher precision).
//
// The estimate is Ertl's improved raw estimator (2017, "New cardinality estimation algorithms for
// HyperLogLog sketches"). It needs no table of corrections and no other method for small counts.
//
// Downsides: no element can be taken away, and none can be listed. An element can never be
// counted by its old hash and by a new one as the same element, so element_salt() never changes
// in the life of a cluster.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "protocol/distinct_words.h"
#include "quipu/namespace.h"
#include "storage/kinds/kind.h"

namespace quipu {

extern const KindRules kDistinct;

namespace distinct {

[[nodiscard]] constexpr std::size_t register_count(unsigned precision) {
  return std::size_t{1} << precision;
}
[[nodiscard]] constexpr std::size_t dense_size(unsigned precision) {
  return 1 + register_count(precision) * 6 / 8;
}

// No sparse body is longer. A longer one would take too long to scan for each add.
inline constexpr std::size_t kMostSparse = 3072;

// The most weight of a sparse body. Part of the format: it never changes.
//
// A sparse body has one byte for the head, as many bytes as its weight, and those of its long gaps.
// Each byte of a long gap stands for 32 registers or more (with the register after the gap). So all
// of them together are at most register_count / 32 bytes, and the body is not longer than
// kMostSparse or the dense form.
[[nodiscard]] constexpr std::size_t weight_limit(unsigned precision) {
  return std::min(kMostSparse, dense_size(precision)) - 1 - register_count(precision) / 32;
}

}  // namespace distinct
}  // namespace quipu
