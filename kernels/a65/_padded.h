/* Padded pixels: rows whose pixels end with channels that are no data, all rows of a tile in one call (AVX2).

   Theory. Packing writes the padding with the pixel: whole groups of 16 channels, and the last group as a masked load. Of up
   to 8 channels a shuffle makes both planes of a pixel, or two pixels of bytes, with zeros or the fill behind them.
   Unpacking more than four channels needs nothing of its own: the movers of _pixels.h take planes wherever they are. Up to
   four channels are the first four bytes of each plane: those of eight pixels of bytes, or both planes of four, are
   collected in one register, and written by two stores whose excess the next pixels write over. What is left of a row, where a
   load or a store would leave it, is left to the movers of _move.h. */

#ifndef TESSBED_PADDED_H
#define TESSBED_PADDED_H

#include "_pixels.h"

#if defined(TESSBED_AVX2)

static ALWAYS_INLINE void put_vec(u8 *to, vec v, int streams) {
    if (streams) stream(to, v);
    else store(to, v);
}
static ALWAYS_INLINE void put_duo(u8 *to, duo d, int streams) {
    if (streams) stream_duo(to, d);
    else store_duo(to, d);
}
/* The pixels of a row: `moved` those that may load so many bytes, `rest` the others. */
#define PADDED(bytes, moved, rest)                                                                                     \
    const Pixels s = pixels_of(row);                                                                                   \
    const i64 whole = s.n & ~(i64)15;                                                                                  \
    const vec keep = load(row->keep), fill = load(row->fill);                                                          \
    const u8 *end = row->linear_end;                                                                                   \
    EACH_ROW {                                                                                                         \
        const i64 over = readable(linear, pixels, s.linear_step, bytes, end);                                          \
        u8 *t = tiled, *l = linear;                                                                                    \
        for (i64 p = 0; p < over; p++, t += s.tiled_step, l += s.linear_step) { moved; }                               \
        if (over < pixels) rest(row, t, l, pixels - over);                                                             \
    }
static ALWAYS_INLINE void pack_padded_bytes(ROWS, i64 twos, int streams) {
    PADDED(whole + 16,
           i64 i = 0;
           for (; i + 64 <= 32 * twos; i += 64)
               for (i64 k = i; k < i + 64; k += 32) put_duo(t + k, load_duo(l + k), streams);
           if (i < 32 * twos) { put_duo(t + i, load_duo(l + i), streams); i += 32; }
           if (i < whole) put_vec(t + i, load(l + i), streams);
           put_vec(t + whole, and_or(load(l + whole), keep, fill), streams),
           pack_bytes)
}
static ALWAYS_INLINE void put_words(u8 *low, u8 *high, duo planes, int streams) {
    put_vec(low, low_of(planes), streams);
    put_vec(high, high_of(planes), streams);
}
static ALWAYS_INLINE void pack_padded_words(ROWS, i64 twos, int streams) {
    PADDED(2 * whole + 32,
           i64 i = 0;
           for (; i < 32 * twos; i += 32) {
               const Planes planes = planes32(l + 2 * i);
               put_duo(t + i, planes.low, streams);
               put_duo(t + s.plane + i, planes.high, streams);
           }
           if (i < whole) put_words(t + i, t + s.plane + i, split_words(load_duo(l + 2 * i)), streams);
           const duo planes = split_words(load_duo(l + 2 * whole));
           put_vec(t + whole, and_or(low_of(planes), keep, fill), streams);
           put_vec(t + s.plane + whole, and_or(high_of(planes), keep, fill), streams),
           pack_words)
}
/* Of up to 8 channels, one shuffle makes two pixels of bytes, or one of both planes. */
static ALWAYS_INLINE void pack_byte_pairs(ROWS, int streams) {
    const Pixels s = pixels_of(row);
    const duo fill = duo_twice(load(row->fill));
    const u8 *end = row->linear_end;
    u8 from[32];
    for (i64 i = 0; i < 32; i++) from[i] = i % 16 < s.n ? (u8)(i % 16 + i / 16 * s.n) : 0x80;
    const duo pair = load_duo(from);
    EACH_ROW {
        const i64 over = readable(linear, pixels, s.n, 16, end);
        i64 p = 0;
        for (; p + 2 <= over; p += 2)
            put_duo(tiled + 16 * p, duo_either(spread(load(linear + p * s.n), pair), fill), streams);
        if (p < pixels) pack_bytes(row, tiled + 16 * p, linear + p * s.n, pixels - p);
    }
}
static ALWAYS_INLINE void pack_few_words(ROWS, int streams) {
    const Pixels s = pixels_of(row);
    const duo spreading = load_duo(row->spread);
    const u8 *end = row->linear_end;
    EACH_ROW {
        const i64 over = readable(linear, pixels, s.linear_step, 16, end);
        u8 *t = tiled, *l = linear;
        for (i64 p = 0; p < over; p++, t += s.tiled_step, l += s.linear_step)
            put_duo(t, spread(load(l), spreading), streams);
        if (over < pixels) pack_words(row, t, l, pixels - over);
    }
}
#define STREAMED_ROWS(name)                                                                                            \
    static void name##_rows(ROWS) { name(row, tiled, tiled_row, linear, linear_row, rows, pixels, 0); }                \
    static void name##_streamed(ROWS) { name(row, tiled, tiled_row, linear, linear_row, rows, pixels, 1); }
/* Each number of two groups has a loop of its own, as in _pixels.h. */
#define BY_TWOS(name, streams)                                                                                         \
    switch (row->channels / 32) {                                                                                      \
        case 0: name(row, tiled, tiled_row, linear, linear_row, rows, pixels, 0, streams); break;                      \
        case 1: name(row, tiled, tiled_row, linear, linear_row, rows, pixels, 1, streams); break;                      \
        case 2: name(row, tiled, tiled_row, linear, linear_row, rows, pixels, 2, streams); break;                      \
        default: name(row, tiled, tiled_row, linear, linear_row, rows, pixels, row->channels / 32, streams);           \
    }
static ALWAYS_INLINE void pack_byte_padding(ROWS, int streams) { BY_TWOS(pack_padded_bytes, streams) }
static ALWAYS_INLINE void pack_word_padding(ROWS, int streams) { BY_TWOS(pack_padded_words, streams) }
STREAMED_ROWS(pack_byte_padding)
STREAMED_ROWS(pack_word_padding)
STREAMED_ROWS(pack_byte_pairs)
STREAMED_ROWS(pack_few_words)

/* The first four bytes of each half of four duos. */
static ALWAYS_INLINE duo first_fours(const u8 *pixels) {
    const duo ab = duo_fours_lo(load_duo(pixels), load_duo(pixels + 32));
    return duo_eights_lo(ab, duo_fours_lo(load_duo(pixels + 64), load_duo(pixels + 96)));
}
static void unpack_four_bytes(ROWS) {
    const i64 n = row->channels;
    u8 from[16];
    memset(from, 0x80, sizeof from);
    for (i64 i = 0; i < 4 * n; i++) from[i] = (u8)(i / n * 4 + i % n);
    const duo dense = duo_twice(load(from));
    EACH_ROW {
        i64 p = 0;
        for (; (p + 4) * n + 16 <= pixels * n; p += 8) {
            const duo eight = duo_shuffle(duo_halves_zip(first_fours(tiled + 16 * p)), dense);
            store(linear + p * n, low_of(eight));
            store(linear + (p + 4) * n, high_of(eight));
        }
        unpack_bytes(row, tiled + 16 * p, linear + p * n, pixels - p);
    }
}
static ALWAYS_INLINE void unpack_four_words(ROWS, i64 width) {
    const i64 n = row->channels, bytes = n * width;
    u8 from[16];
    memset(from, 0x80, sizeof from);
    for (i64 i = 0; i < 4 * n; i++) from[i] = (u8)(i / (2 * n) * 4 + i % (2 * n) / 2 + i % 2 * 8);
    const duo joined = duo_twice(load(from));
    EACH_ROW {
        i64 p = 0;
        for (; (p + 2) * bytes + 8 * width <= pixels * bytes; p += 4) {
            const duo four = duo_shuffle(duo_eights_swapped(first_fours(tiled + 32 * p)), joined);
            u8 *to = linear + p * bytes;
            if (width == 4) store_duo(to, widen8(low_of(four))), store_duo(to + 2 * bytes, widen8(high_of(four)));
            else store(to, low_of(four)), store(to + 2 * bytes, high_of(four));
        }
        if (p < pixels) (width == 4 ? widen_words : unpack_words)(row, tiled + 32 * p, linear + p * bytes, pixels - p);
    }
}
static void join_four_words(ROWS) { unpack_four_words(row, tiled, tiled_row, linear, linear_row, rows, pixels, 2); }
static void widen_four_words(ROWS) { unpack_four_words(row, tiled, tiled_row, linear, linear_row, rows, pixels, 4); }

#endif

#endif
