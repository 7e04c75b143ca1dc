// top.h: the kind that tells which items are the most frequent (SpaceSaving).
//
// An exact answer would have to count every item. SpaceSaving (Metwally, Agrawal and El Abbadi
// 2005) counts in m slots. An item that has a slot is counted there. A new item takes a free slot;
// if there is none, it takes the slot with the least count, and goes on from that count. How much
// of its count it may owe to the items before it is the slot's error. Here m is 3, and dan comes:
//
//        before                       after
//   ann  count 9  error 0        ann  count 9  error 0
//   bob  count 4  error 0        bob  count 4  error 0
//   cat  count 2  error 0        dan  count 3  error 2      dan came 1 to 3 times
//
// So an item with a slot came at most `count` times, and at least count − error times. An item
// without a slot came at most `floor` times: the greatest error of all slots. (When an item lost
// its slot, its count became the error there. The counts that were given up never fall, and a slot
// that is given up again gets a greater error.) A floor of 0 means that every item has its slot.
//
// After n increments the least count is at most n / m, so each item that came more often has a
// slot. For a list of k items there are m = max(256, 16 k) slots. The share of the true 50 most
// frequent items that the list of 50 has, where item i of 100,000 comes i^−skew as often as the
// first, after 1,000,000 increments (tests/bench/top_error.cpp):
//
//   skew                     0.9     1.0     1.2
//   SpaceSaving, 16 k        1.00    1.00    1.00    with one actor and with three
//   HeavyKeeper, 8 × 7       0.74    0.78    0.84    as RedisBloom configures it
//
// Counts of several actors are added up, but slots cannot be: an item may have its slot here and
// none there. So each actor has a summary of its own, slots that only it changes, and answers merge
// them (Agarwal et al. 2012, "Mergeable summaries"). An item came at most the sum of its counts
// there, with the floor where it has no slot; and at least the sum of its counts − errors.
//
//   list      the k items with the greatest upper bounds. Equal ones: by item, ascending
//   certain   its lower bound is no less than the upper bound of all that are not on the list
//
// Join: of each slot the greater (count, error, item), and the greater total. Each change of a slot
// makes its count greater, whether it adds to the item or gives the slot to another. So the slot
// with the greater count is the later one.
//
// The bytes (numbers have their lowest bits first)
//
//   body    = 01 k:1 width:4 depth:4 decay:8 summary…   ascending by actor, each once
//   summary = actor:8 total:8 length:4 slot…            ascending by index, each once
//     k width depth decay  the shape. Only k means something; the others are what a Redis client
//             gave, kept to be reported. All 0: an increment began the counter. Then k is 10, and
//             any other shape wins the join
//     length  of all slots, in bytes
//   slot    = index:2 count:n error:n length:1 item     n is 4, or 8 if total is above 2^32 − 1
//
//   Example: actor 7, ann came 3 times, k is 10:
//
//     01 0a  08 00 00 00  07 00 00 00  cd cc cc cc cc cc ec 3f
//        k   width        depth        decay
//     07 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00  0e 00 00 00
//     actor                    total                    length
//     00 00  03 00 00 00  00 00 00 00  03  61 6e 6e
//     index  count        error            ann
//
// error < count ≤ total ≤ 2^63 − 1. An increment that would raise a total above that is refused, so
// no count wraps. Numbers of fixed size let an increment change the body in place.
//
// If a counter is begun in two places at once, the join has the greatest (k, width, depth, decay),
// compared in this order. An actor that has filled its slots may then have more. An item that gets
// one of them may have lost its slot before, so its error is the floor, and it goes on from there.
//
// A copy that has seen only some changes of an actor may have one item in two of its slots. Both
// are valid bounds: the upper one is the greater count, the lower one the greater count − error.
//
// The item that an increment pushes off the list is the last one of the list before, if the list
// was full, and the incremented item was not on it and now comes before that last one.
//
// A unit is a slot together with the total of its summary: mark:21 | index:11. The mark is a hash
// of the actor. Each extract has the shape.
//
// Downsides: nothing can be subtracted. On flat streams, where no item is much more frequent than
// n / m, the list is as good as chance. Each actor that ever added to a counter keeps its slots: at
// 20 bytes an item, 8 KiB for k = 10, and 48 KiB for k = 100.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/top_words.h"
#include "storage/kinds/kind.h"

namespace quipu {

extern const KindRules kTop;

namespace top {

// How many slots each actor has. Part of the format: the number never falls.
[[nodiscard]] constexpr std::uint32_t most_slots(std::uint32_t k) {
  return std::max<std::uint32_t>(256, 16 * k);
}

}  // namespace top
}  // namespace quipu
