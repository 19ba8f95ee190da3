/* Whole pixels: rows of contiguous channels that are no whole registers, all rows of a tile in one call (AVX2).

   Theory. What such a pixel costs is its stores, and the questions about its length. So a row is moved by stores of 16 and
   32 bytes whose number depends on the channels alone, and each range of channels has a loop of its own:
   - to 8, dense on both sides: one shuffle for all the pixels that a register holds (the tables of _execute.h); where those
     are twelve bytes, two such registers are written by one store;
   - 9 to 15: one store of 32 bytes for both planes, or one of 16 for each half of a pixel's words;
   - 17 to 31: planes by one store of 32 bytes each, words by two halves that overlap;
   - more: by 32 channels, and the last 16 or 32, which overlap them. Up to 128, each number of 32s is a loop of its own:
     a loop around so few steps takes as long as they do.
   A store may be longer than what it has to write. Its excess is always written again by the next store of the row: that
   of a plane lies in the next plane, that of a pixel in the next pixel. So stores ascend, pixels follow each other without
   a gap wherever there is an excess behind one, and the last pixel of a row is written exactly, by pieces inside it. A load
   may be longer, too, in as many pixels as `readable` counts; the others are moved exactly.

   Tiles are few pixels wide, so that rows are short and many: a mover takes them all. It keeps what it needs of a Row in
   registers, since any store of bytes might be a store into the row. */

#ifndef TESSBED_PIXELS_H
#define TESSBED_PIXELS_H

#include "_move.h"

#if defined(TESSBED_AVX2)

#define ROWS const Row *row, u8 *tiled, i64 tiled_row, u8 *linear, i64 linear_row, i64 rows, i64 pixels
#define EACH_ROW for (; rows; rows--, tiled += tiled_row, linear += linear_row)

/* A row in registers. */
typedef struct Pixels { i64 n, plane, tiled_step, linear_step; } Pixels;
static ALWAYS_INLINE Pixels pixels_of(const Row *row) {
    return (Pixels){row->channels, row->plane, row->tiled_step, row->linear_step};
}

/* Few channels: `step` bytes of whole pixels a shuffle, which are `made` times as many on the other side. */
static ALWAYS_INLINE void put_cross(u8 *to, vec v, duo table, i64 made) {
    if (made == 2) store_duo(to, spread(v, table));
    else store(to, shuffle(v, low_of(table)));
}
static ALWAYS_INLINE void put_last_cross(u8 *to, vec v, duo table, i64 made, i64 step) {
    if (made == 1) { store_part(to, shuffle(v, low_of(table)), step); return; }
    const duo wide = spread(v, table);
    store(to, low_of(wide));
    store_part(to + 16, high_of(wide), 2 * step - 16);
}
/* Exactly 24 bytes, whose second twelve end the second vector that was read. */
static ALWAYS_INLINE void put_last_twelves(u8 *to, duo read, duo tables) {
    const duo d = duo_twelves(duo_shuffle(read, tables));
    store(to, low_of(d));
    store8(to + 16, high_of(d));
}
static ALWAYS_INLINE void cross_row(u8 *to, const u8 *from, i64 end, i64 step, duo table, duo last, i64 made) {
    i64 at = 0;
    if (made == 1 && step == 16)
        for (; at + 32 <= end; at += 32) store_duo(to + at, duo_shuffle(load_duo(from + at), table));
    if (made == 1 && step == 12) {
        for (; at + 32 <= end; at += 24)
            store_duo(to + at, duo_twelves(duo_shuffle(duo_of(load(from + at), load(from + at + 12)), table)));
        if (end - at == 24) {
            put_last_twelves(to + at, duo_of(load(from + at), load(from + at + 8)), duo_of(low_of(table), low_of(last)));
            return;
        }
    }
    for (; at + 16 <= end; at += step) put_cross(to + made * at, load(from + at), table, made);
    if (at < end) put_last_cross(to + made * (end - step), load(from + end - 16), last, made, step);
}
/* The shuffle of _execute.h for both halves of a duo; of words that become the upper halves of scalars. */
static ALWAYS_INLINE duo cross_shuffle(const u8 *table, i64 made) {
    return made == 1 ? duo_twice(load(table)) : duo_either(widen8(load(table)), _mm256_set1_epi32(0x8080));
}
/* A row of less than sixteen bytes, pixel by pixel. */
static void cross_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, int packs, i64 made) {
    const Pixels s = pixels_of(row);
    for (i64 p = 0; p < pixels; p++, tiled += s.tiled_step, linear += s.linear_step)
        if (packs) split_run(tiled, tiled + s.plane, linear, s.n);
        else if (made == 1) join_run(linear, tiled, tiled + s.plane, s.n);
        else widen_run(linear, tiled, tiled + s.plane, s.n);
}
static ALWAYS_INLINE void cross_rows(ROWS, i64 step, int packs, i64 made) {
    const duo table = cross_shuffle(row->table, made), last = cross_shuffle(row->last_table, made);
    const i64 end = pixels * row->tiled_step;
    EACH_ROW {
        if (end < 16) cross_pixels(row, tiled, linear, pixels, packs, made);
        else if (packs) cross_row(tiled, linear, end, step, table, last, made);
        else cross_row(linear, tiled, end, step, table, last, made);
    }
}
#define BY_STEP(packs, made)                                                                                           \
    switch (row->group * row->tiled_step) {                                                                            \
        case 16: cross_rows(row, tiled, tiled_row, linear, linear_row, rows, pixels, 16, packs, made); break;          \
        case 12: cross_rows(row, tiled, tiled_row, linear, linear_row, rows, pixels, 12, packs, made); break;          \
        default:                                                                                                       \
            cross_rows(row, tiled, tiled_row, linear, linear_row, rows, pixels, row->group * row->tiled_step, packs,   \
                       made);                                                                                          \
    }

/* The pixels of a row: `moved` those that may load `bytes` at `from` and have one behind them, `exact` the others. */
#define WITH_EXCESS(from, step, bytes, end, moved, exact)                                                              \
    EACH_ROW {                                                                                                         \
        u8 *t = tiled, *l = linear;                                                                                    \
        i64 over = least(readable(from, pixels, step, bytes, end), pixels - 1);                                        \
        for (i64 p = 0; p < over; p++, t += s.tiled_step, l += s.linear_step) { moved; }                               \
        for (i64 p = over < 0 ? 0 : over; p < pixels; p++, t += s.tiled_step, l += s.linear_step) { exact; }           \
    }
/* All pixels of a row alike. */
#define EXACTLY(moved)                                                                                                 \
    EACH_ROW {                                                                                                         \
        u8 *t = tiled, *l = linear;                                                                                    \
        for (i64 p = 0; p < pixels; p++, t += s.tiled_step, l += s.linear_step) { moved; }                             \
    }

static ALWAYS_INLINE void join_vecs(u8 *words, const u8 *low, const u8 *high) {
    const vec a = load(low), b = load(high);
    store(words, zip_lo(a, b));
    store(words + 16, zip_hi(a, b));
}
static ALWAYS_INLINE void widen_vecs(u8 *out, const u8 *low, const u8 *high) {
    const vec a = load(low), b = load(high);
    store_duo(out, widen8(zip_lo(a, b)));
    store_duo(out + 32, widen8(zip_hi(a, b)));
}

/* The same bytes on both sides. Short rows are two pieces that overlap, in a loop that asks nothing else. */
#define OVERLAPPING(kind, get, put, size)                                                                              \
    for (; rows; rows--, to += to_row, from += from_row) {                                                             \
        const kind first = get(from), last = get(from + n - (size));                                                   \
        put(to, first);                                                                                                \
        put(to + n - (size), last);                                                                                    \
    }
static ALWAYS_INLINE void copy_rows(u8 *to, i64 to_row, const u8 *from, i64 from_row, i64 rows, i64 n) {
    if (n > 64 || n < 4)
        for (; rows; rows--, to += to_row, from += from_row) copy_run(to, from, n);
    else if (n >= 32) OVERLAPPING(duo, load_duo, store_duo, 32)
    else if (n >= 16) OVERLAPPING(vec, load, store, 16)
    else if (n >= 8) OVERLAPPING(vec, load8, store8, 8)
    else OVERLAPPING(vec, load4, store4, 4)
}
static void pack_same_rows(ROWS) { copy_rows(tiled, tiled_row, linear, linear_row, rows, pixels * row->tiled_step); }
static void unpack_same_rows(ROWS) { copy_rows(linear, linear_row, tiled, tiled_row, rows, pixels * row->tiled_step); }

/* 9 to 15 channels. */
static void split_under16(ROWS) {
    static const u8 BYTES[2][8] = {{0, 2, 4, 6, 8, 10, 12, 14}, {1, 3, 5, 7, 9, 11, 13, 15}}; /* low and high ones of words */
    const Pixels s = pixels_of(row);
    const u8 *end = row->linear_end;
    u8 from[2][32]; /* shuffles of the first eight words and of the others into both planes */
    memset(from, 0x80, sizeof from);
    for (int half = 0; half < 2; half++) {
        memcpy(from[0] + half * s.n, BYTES[half], 8);
        memcpy(from[1] + half * s.n + 8, BYTES[half], (size_t)(s.n - 8));
    }
    const duo first = load_duo(from[0]), second = load_duo(from[1]);
    WITH_EXCESS(linear, s.linear_step, 32, end,
                store_duo(t, duo_either(spread(load(l), first), spread(load(l + 16), second))),
                split8(t, t + s.n, l); split8(t + s.n - 8, t + 2 * s.n - 8, l + 2 * s.n - 16))
}
static void join_under16(ROWS) {
    const Pixels s = pixels_of(row);
    const u8 *end = row->tiled_end;
    WITH_EXCESS(tiled, s.tiled_step, s.plane + 16, end, join_vecs(l, t, t + s.plane), join_run(l, t, t + s.plane, s.n))
}
static void widen_under16(ROWS) {
    const Pixels s = pixels_of(row);
    const u8 *end = row->tiled_end;
    WITH_EXCESS(tiled, s.tiled_step, s.plane + 16, end, widen_vecs(l, t, t + s.plane), widen_run(l, t, t + s.plane, s.n))
}

/* 17 to 31 channels. */
static void split_under32(ROWS) {
    const Pixels s = pixels_of(row);
    const i64 rest = s.n - 16;
    const u8 *end = row->linear_end;
    WITH_EXCESS(linear, s.linear_step, 64, end, split32(t, t + s.n, l),
                split16(t, t + s.n, l); split16(t + rest, t + s.n + rest, l + 2 * rest))
}
static void join_under32(ROWS) {
    const Pixels s = pixels_of(row);
    const i64 rest = s.n - 16;
    EXACTLY(join_vecs(l, t, t + s.plane); join_vecs(l + 2 * rest, t + rest, t + s.plane + rest))
}
static void widen_under32(ROWS) {
    const Pixels s = pixels_of(row);
    const i64 rest = s.n - 16;
    EXACTLY(widen_vecs(l, t, t + s.plane); widen_vecs(l + 4 * rest, t + rest, t + s.plane + rest))
}

/* 33 channels and more. */
#define BY_32(move32, move16)                                                                                          \
    i64 i = 0;                                                                                                         \
    for (; i + 32 <= s.n; i += 32) { move32; }                                                                         \
    if (i + 16 < s.n) { i = s.n - 32; move32; }                                                                        \
    else if (i < s.n) { i = s.n - 16; move16; }
/* Behind `whole` times 32, which the compiler unrolls, the last 16 or 32. */
#define WHOLE(whole, move32) i64 i = 0; for (; i < 32 * (whole); i += 32) { move32; }
#define WHOLE_AND_LAST(whole, move32, move16)                                                                          \
    if (s.n - 32 * (whole) > 16) EXACTLY(WHOLE(whole, move32) i = s.n - 32; move32)                                    \
    else EXACTLY(WHOLE(whole, move32) i = s.n - 16; move16)
#define BY_NUMBER(move32, move16)                                                                                      \
    if (s.n <= 64) WHOLE_AND_LAST(1, move32, move16)                                                                   \
    else if (s.n <= 96) WHOLE_AND_LAST(2, move32, move16)                                                              \
    else if (s.n <= 128) WHOLE_AND_LAST(3, move32, move16)                                                             \
    else EXACTLY(BY_32(move32, move16))
/* The usual 64 have addresses that are known, too. */
#define OVER_32(move32, move16)                                                                                        \
    Pixels s = pixels_of(row);                                                                                         \
    if (s.n == 64 && s.plane == 64) {                                                                                  \
        s.n = s.plane = 64;                                                                                            \
        EXACTLY(BY_32(move32, move16))                                                                                 \
    }                                                                                                                  \
    else { BY_NUMBER(move32, move16) }
static void split_over32(ROWS) {
    OVER_32(split32(t + i, t + s.plane + i, l + 2 * i), split16(t + i, t + s.plane + i, l + 2 * i))
}
static void join_over32(ROWS) {
    OVER_32(join32(l + 2 * i, t + i, t + s.plane + i), join_vecs(l + 2 * i, t + i, t + s.plane + i))
}
static void widen_over32(ROWS) {
    OVER_32(widen32(l + 4 * i, t + i, t + s.plane + i), widen_vecs(l + 4 * i, t + i, t + s.plane + i))
}

static void pack_cross_rows(ROWS) { BY_STEP(1, 1) }
static void unpack_cross_rows(ROWS) { BY_STEP(0, 1) }
static void widen_cross_rows(ROWS) { BY_STEP(0, 2) }

/* Bytes of 17 channels and more, which lie alike on both sides but for gaps or padding. */
static ALWAYS_INLINE void copy_pixels(ROWS, int packs) {
    const Pixels s = pixels_of(row);
#define TO (packs ? t : l)
#define FROM (packs ? l : t)
    if (s.n < 32) EXACTLY(store(TO, load(FROM)); store(TO + s.n - 16, load(FROM + s.n - 16)))
    else { BY_NUMBER(store_duo(TO + i, load_duo(FROM + i)), store(TO + i, load(FROM + i))) }
#undef TO
#undef FROM
}
static void pack_byte_rows(ROWS) { copy_pixels(row, tiled, tiled_row, linear, linear_row, rows, pixels, 1); }
static void unpack_byte_rows(ROWS) { copy_pixels(row, tiled, tiled_row, linear, linear_row, rows, pixels, 0); }

#endif

#endif
