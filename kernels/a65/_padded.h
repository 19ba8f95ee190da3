/* Padded pixels: rows whose pixels end with channels that are no data, all rows of a tile in one call (AVX2).

   Theory. Packing writes the padding with the pixel: whole groups of 16 channels, and the last group as a masked load. Of up
   to 8 channels a shuffle makes both planes of a pixel, or two pixels of bytes, with zeros or the fill behind them.
   Unpacking more than four channels needs nothing of its own: the movers of _pixels.h take planes wherever they are. Up to
   four channels are the first four bytes of each plane: those of eight pixels of bytes, or both planes of four, are
   collected in one register and written exactly, then those of half as many, then one by one. Pixels whose load would leave
   the linear side are left to the movers of _move.h. */

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
/* The shuffle that makes two padded pixels of so many bytes. */
static ALWAYS_INLINE duo pair_of(i64 n) {
    const vec each = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), all = _mm_set1_epi8((char)n);
    const vec beyond = _mm_cmpgt_epi8(each, _mm_sub_epi8(all, _mm_set1_epi8(1)));
    return duo_either(duo_of(each, _mm_add_epi8(each, all)), duo_twice(beyond));
}
/* Of up to 8 channels, one shuffle makes two pixels of bytes, or one of both planes. */
static ALWAYS_INLINE void pack_byte_pairs(ROWS, int streams) {
    const Pixels s = pixels_of(row);
    const duo fill = duo_twice(load(row->fill));
    const u8 *end = row->linear_end;
    const duo pair = pair_of(s.n);
    EACH_ROW {
        const i64 over = readable(linear, pixels, s.n, 16, end);
        i64 p = 0;
        for (; p + 2 <= over; p += 2)
            put_duo(tiled + 16 * p, duo_either(spread(load(linear + p * s.n), pair), fill), streams);
        for (; p < over; p++)
            put_vec(tiled + 16 * p, either(shuffle(load(linear + p * s.n), low_of(pair)), low_of(fill)), streams);
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
/* Of four bytes of each of four pixels, the first one to four; of the four bytes of both planes of two pixels, as words.
   (What lies behind is never stored.) */
static const u8 FIRST_BYTES[4][16] = {
    {0, 4, 8, 12},
    {0, 1, 4, 5, 8, 9, 12, 13},
    {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
};
static const u8 FIRST_WORDS[4][16] = {
    {0, 8, 4, 12},
    {0, 8, 1, 9, 4, 12, 5, 13},
    {0, 8, 1, 9, 2, 10, 4, 12, 5, 13, 6, 14},
    {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15},
};
/* Exactly so many of a duo's first bytes: a number the compiler knows. */
static ALWAYS_INLINE void put_exactly(u8 *to, duo d, i64 bytes) {
    const vec v = low_of(d);
    switch (bytes) {
        case 4: store4(to, v); break;
        case 8: store8(to, v); break;
        case 12: store8(to, v); store4(to + 8, _mm_srli_si128(v, 8)); break;
        case 16: store(to, v); break;
        case 24: store(to, v); store8(to + 16, high_of(d)); break;
        default: store_duo(to, d);
    }
}
static ALWAYS_INLINE void put_widened(u8 *to, duo words, i64 bytes) {
    put_exactly(to, widen8(low_of(words)), least(2 * bytes, 32));
    if (bytes > 16) put_exactly(to + 32, widen8(high_of(words)), 2 * (bytes - 16));
}
/* The first 4n bytes of both halves, one after the other. */
static ALWAYS_INLINE duo dense_halves(duo d, i64 n) {
    return n == 4 ? d : n == 3 ? duo_twelves(d) : n == 2 ? duo_eights_swapped(d) : duo_halves_zip(d);
}
static ALWAYS_INLINE void unpack_four_bytes_of(ROWS, i64 n) {
    const duo dense = duo_twice(load(FIRST_BYTES[n - 1]));
    (void)row;
    EACH_ROW {
        u8 *t = tiled, *l = linear;
        i64 left = pixels;
        for (; left >= 8; left -= 8, t += 128, l += 8 * n)
            put_exactly(l, dense_halves(duo_shuffle(duo_halves_zip(first_fours(t)), dense), n), 8 * n);
        if (left >= 4) {
            const vec four = shuffle(fours(load(t), load(t + 16), load(t + 32), load(t + 48)), low_of(dense));
            put_exactly(l, duo_twice(four), 4 * n);
            left -= 4, t += 64, l += 4 * n;
        }
        for (; left; left--, t += 16, l += n)
            for (i64 c = 0; c < n; c++) l[c] = t[c];
    }
}
static ALWAYS_INLINE void put_words_of(u8 *to, duo words, i64 bytes, i64 width) {
    if (width == 4) put_widened(to, words, bytes);
    else put_exactly(to, words, bytes);
}
static ALWAYS_INLINE void unpack_four_words_of(ROWS, i64 n, i64 width) {
    const duo joined = duo_twice(load(FIRST_WORDS[n - 1]));
    (void)row;
    EACH_ROW {
        u8 *t = tiled, *l = linear;
        i64 left = pixels;
        for (; left >= 4; left -= 4, t += 128, l += 4 * n * width)
            put_words_of(l, dense_halves(duo_shuffle(duo_eights_swapped(first_fours(t)), joined), n), 8 * n, width);
        if (left >= 2) {
            const vec two = shuffle(fours(load(t), load(t + 32), load(t + 16), load(t + 48)), low_of(joined));
            put_words_of(l, duo_twice(two), 4 * n, width);
            left -= 2, t += 64, l += 2 * n * width;
        }
        if (left && width == 4) widen_run(l, t, t + 16, n);
        else if (left) join_run(l, t, t + 16, n);
    }
}
#define ONE_TO_FOUR(name, ...)                                                                                         \
    switch (row->channels) {                                                                                           \
        case 1: name(row, tiled, tiled_row, linear, linear_row, rows, pixels, 1 __VA_ARGS__); break;                   \
        case 2: name(row, tiled, tiled_row, linear, linear_row, rows, pixels, 2 __VA_ARGS__); break;                   \
        case 3: name(row, tiled, tiled_row, linear, linear_row, rows, pixels, 3 __VA_ARGS__); break;                   \
        default: name(row, tiled, tiled_row, linear, linear_row, rows, pixels, 4 __VA_ARGS__);                         \
    }
static void unpack_four_bytes(ROWS) { ONE_TO_FOUR(unpack_four_bytes_of) }
static void join_four_words(ROWS) { ONE_TO_FOUR(unpack_four_words_of, , 2) }
static void widen_four_words(ROWS) { ONE_TO_FOUR(unpack_four_words_of, , 4) }

#endif

#endif
