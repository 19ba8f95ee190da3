/* Rows of contiguous binary32 channels that become BF16 planes on the way: no stage, no second load (AVX2).

   Narrowing (_convert.h) leaves the words of two registers interleaved, and a shuffle has to put them in order in any
   case: here it puts them into planes instead. Thirty-two scalars are taken at a time, sixteen from each of two places, so
   that a run of 16 to 31 channels is two overlapping halves, and pairs of groups or pixels of 16 are one step. */

#ifndef TESSBED_NARROW_H
#define TESSBED_NARROW_H

#include "_convert.h"
#include "_move.h"

#if defined(TESSBED_AVX2)

/* The planes of sixteen scalars each: 16 low bytes, 16 high ones. */
typedef struct Narrow32 { duo first, second; } Narrow32;

static ALWAYS_INLINE duo planes_of(__m256i words) {
    const duo from = _mm256_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15,
                                      0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15);
    return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(words, from), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
static ALWAYS_INLINE Narrow32 narrow32(const u8 *first, const u8 *second) {
    const Words32 words = narrow_words(first, second);
    return (Narrow32){planes_of(words.first), planes_of(words.second)};
}

/* Groups of 16 channels in tiles of their own, in pairs; the last pair of an odd number overlaps. */
static ALWAYS_INLINE void narrow_pair(u8 *tiled, i64 apart, const u8 *linear, i64 group, int streams) {
    const Narrow32 n = narrow32(linear + 64 * group, linear + 64 * group + 64);
    u8 *to = tiled + group * apart;
    if (streams) {
        stream_duo(to, n.first);
        stream_duo(to + apart, n.second);
    } else {
        store_duo(to, n.first);
        store_duo(to + apart, n.second);
    }
}
static ALWAYS_INLINE void narrow_pairs(const Row *row, u8 *tiled, const u8 *linear, i64 pixels, i64 groups) {
    const i64 apart = row->group_tiled;
    PIXELS for (i64 g = 0; g < groups; g += 2) narrow_pair(tiled, apart, linear, least(g, groups - 2), 0);
}
static void narrow_groups(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    const i64 groups = row->groups, apart = row->group_tiled, step = row->tiled_step, next = row->linear_step;
    if (row->streams_out)
        for (i64 g = 0; g < groups; g += 2)
            for (i64 p = 0; p < pixels; p++)
                narrow_pair(tiled + p * step, apart, linear + p * next, least(g, groups - 2), 1);
    else if (groups == 4) narrow_pairs(row, tiled, linear, pixels, 4);
    else if (groups == 2) narrow_pairs(row, tiled, linear, pixels, 2);
    else narrow_pairs(row, tiled, linear, pixels, groups);
}

/* Runs of 16 channels and more in a compact pixel. */
static ALWAYS_INLINE void put_planes(u8 *low, u8 *high, Narrow32 n, int streams) {
    const duo lows = lows_of(n.first, n.second), highs = highs_of(n.first, n.second);
    if (streams) stream_duo(low, lows), stream_duo(high, highs);
    else store_duo(low, lows), store_duo(high, highs);
}
static ALWAYS_INLINE void narrow_runs_of(const Row *row, u8 *tiled, const u8 *linear, i64 pixels, i64 n, int streams) {
    PIXELS
        for (i64 i = 0; i < n; i += 32) {
            const i64 at = least(i, n - 32);
            put_planes(tiled + at, tiled + n + at, narrow32(linear + 4 * at, linear + 4 * at + 64), streams);
        }
}
static ALWAYS_INLINE void narrow_at(u8 *low, u8 *high, const u8 *linear, i64 i) {
    put_planes(low + i, high + i, narrow32(linear + 4 * i, linear + 4 * i + 64), 0);
}
/* `whole` times 32, which the compiler unrolls, and the last 16 or 32. */
static ALWAYS_INLINE void narrow_and_last(const Row *row, u8 *tiled, const u8 *linear, i64 pixels, i64 whole) {
    const i64 n = row->channels;
    if (n - 32 * whole > 16)
        PIXELS {
            for (i64 i = 0; i < 32 * whole; i += 32) narrow_at(tiled, tiled + n, linear, i);
            narrow_at(tiled, tiled + n, linear, n - 32);
        }
    else
        PIXELS {
            for (i64 i = 0; i < 32 * whole; i += 32) narrow_at(tiled, tiled + n, linear, i);
            const u8 *last = linear + 4 * (n - 16);
            store_planes(tiled + n - 16, tiled + 2 * n - 16, narrow32(last, last).first);
        }
}
static ALWAYS_INLINE void narrow_halves(const Row *row, u8 *tiled, const u8 *linear, i64 pixels) {
    const i64 n = row->channels, rest = n - 16;
    PIXELS {
        const Narrow32 two = narrow32(linear, linear + 4 * rest);
        store_planes(tiled, tiled + n, two.first);
        store_planes(tiled + rest, tiled + n + rest, two.second);
    }
}
static ALWAYS_INLINE void narrow_sixteens(const Row *row, u8 *tiled, const u8 *linear, i64 pixels) {
    for (i64 p = 0; p < pixels; p += 2) {
        const i64 at = least(p, pixels - 2), next = at < 0 ? 0 : at + 1, first = at < 0 ? 0 : at;
        const Narrow32 two = narrow32(linear + first * row->linear_step, linear + next * row->linear_step);
        u8 *to = tiled + first * row->tiled_step, *behind = tiled + next * row->tiled_step;
        if (row->streams_out) stream_duo(to, two.first), stream_duo(behind, two.second);
        else store_duo(to, two.first), store_duo(behind, two.second);
    }
}
static void narrow_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    const i64 n = row->channels;
    if (n == 16) narrow_sixteens(row, tiled, linear, pixels);
    else if (n < 32) narrow_halves(row, tiled, linear, pixels);
    else if (row->streams_out) narrow_runs_of(row, tiled, linear, pixels, n, 1);
    else if (n == 64) narrow_runs_of(row, tiled, linear, pixels, 64, 0);
    else if (n <= 64) narrow_and_last(row, tiled, linear, pixels, 1);
    else if (n <= 96) narrow_and_last(row, tiled, linear, pixels, 2);
    else narrow_runs_of(row, tiled, linear, pixels, n, 0);
}

#endif

#endif
