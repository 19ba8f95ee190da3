/* Row movers: one row of pixels with their channels, from tiled to linear storage or back.

   A pixel's channels lie in one byte plane (INT8) or two (BF16, low and high) on the tiled side, and `channel_stride`
   apart on the linear side. A mover writes the bytes of its row and no others. A ragged end is written twice, by
   two overlapping stores that both lie inside the run; where the row goes on behind it without a gap, a store may run
   over into the next pixel, which is written afterwards. Reads may run over, but never out of the declared span. */

#ifndef TESSBED_MOVE_H
#define TESSBED_MOVE_H

#include "_vec.h"

#define MAX_STREAMS 8

#if defined(TESSBED_SSSE3)
struct Row;
typedef void RowsMover(const struct Row *row, u8 *tiled, i64 tiled_row, u8 *linear, i64 linear_row, i64 rows, i64 pixels);
#endif

typedef struct Row { /* tables are bytes: the layout must not depend on the vectors that a file is compiled for */
    i64 channels, stored, plane; /* logical and stored channels; from low to high plane */
    i64 tiled_step, linear_step; /* bytes between pixels */
    i64 channel_stride, width;   /* linear side: bytes between channels, bytes of a scalar */
    i64 group;                   /* pixels that one shuffle takes */
    i64 groups, group_tiled, group_linear; /* groups of 16 channels to move with each pixel, bytes between them */
    i64 streams_out;             /* writes past the caches */
    i64 chunk;                   /* pixels that are transposed for all channels before the next ones are */
    i64 segment, segment_jump;   /* of a row that is cut (_transpose.h): pixels, tiled bytes from its end to the next */
    const u8 *tiled_end, *linear_end;
    const u8 (*streams)[MAX_STREAMS][16]; /* shuffles from vectors of channels to pixels or back */
    u8 table[32], last_table[16]; /* shuffle of a group, twice; of a group that ends sixteen bytes */
    u8 spread[32];               /* shuffles few channels into two padded planes */
    u8 keep[16], fill[16];       /* mask and bytes of the padded last group of 16 channels */
    u8 fill_byte;
    const struct Stage *stage;   /* of rows whose values are converted (_stage.h), else NULL */
#if defined(TESSBED_SSSE3)
    struct Relay *relay;         /* of rows that are relayed (_relay.h); NULL in a row of one, which is not again */
    i64 pixels;                  /* of the row, or of a piece of it at most */
    RowsMover *rows;             /* of several rows in one call (_pixels.h), or NULL */
#endif
} Row;

typedef void RowMover(const Row *row, u8 *tiled, u8 *linear, i64 pixels);

static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }

/* Runs of contiguous channels. PIECES(n, piece) covers n channels by pieces of 16, or by two of 8 or of 4. */

#define PIECES(n, P16, P8, P4, P1)                              \
    do {                                                        \
        i64 i = 0;                                              \
        if ((n) >= 16) {                                        \
            for (; i + 16 <= (n); i += 16) { P16; }             \
            if (i < (n)) { i = (n) - 16; P16; }                 \
        } else if ((n) >= 8) {                                  \
            P8;                                                 \
            if ((n) > 8) { i = (n) - 8; P8; }                   \
        } else if ((n) >= 4) {                                  \
            P4;                                                 \
            if ((n) > 4) { i = (n) - 4; P4; }                   \
        } else {                                                \
            for (; i < (n); i++) { P1; }                        \
        }                                                       \
    } while (0)

/* A duo takes runs of 32 and more by pieces of 32; the last one overlaps. */
#ifdef WIDE_DUO
#define BY_DUOS(n, P32)                                         \
    if ((n) >= 32) {                                            \
        i64 i = 0;                                              \
        for (; i + 32 <= (n); i += 32) { P32; }                 \
        if (i < (n)) { i = (n) - 32; P32; }                     \
        return;                                                 \
    }
#else
#define BY_DUOS(n, P32)
#endif

static ALWAYS_INLINE void copy_run(u8 *to, const u8 *from, i64 n) {
    if (n > 128) { memcpy(to, from, (size_t)n); return; }
    BY_DUOS(n, store_duo(to + i, load_duo(from + i)))
    PIECES(n, store(to + i, load(from + i)), store8(to + i, load8(from + i)), store4(to + i, load4(from + i)),
           to[i] = from[i]);
}

static inline void store_planes(u8 *low, u8 *high, duo planes) {
    if (high - low == 16) { store_duo(low, planes); return; }
    store(low, low_of(planes));
    store(high, high_of(planes));
}
static inline duo load_planes(const u8 *low, const u8 *high) {
    return high - low == 16 ? load_duo(low) : duo_of(load(low), load(high));
}
static inline void split16(u8 *low, u8 *high, const u8 *words) {
    store_planes(low, high, split_words(load_duo(words)));
}
static inline void split8(u8 *low, u8 *high, const u8 *words) {
    vec a = load(words);
#if defined(TESSBED_SSSE3)
    a = shuffle(a, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    store8(low, a);
    store_high8(high, a);
#else
    store8(low, even(a, a));
    store8(high, odd(a, a));
#endif
}
static inline void split4(u8 *low, u8 *high, const u8 *words) {
    vec a = load8(words);
    store4(low, even(a, a));
    store4(high, odd(a, a));
}
#ifdef WIDE_DUO
typedef struct Planes { duo low, high; } Planes; /* of 32 words */
static inline Planes planes32(const u8 *words) {
    const duo a = part_words(duo_of(load(words), load(words + 32)));
    const duo b = part_words(duo_of(load(words + 16), load(words + 48)));
    return (Planes){duo_eights_lo(a, b), duo_eights_hi(a, b)};
}
static inline void split32(u8 *low, u8 *high, const u8 *words) {
    const Planes planes = planes32(words);
    store_duo(low, planes.low);
    store_duo(high, planes.high);
}
/* Words 0 to 7 and 16 to 23 of two planes, and the others. */
typedef struct Zipped { duo first, second; } Zipped;
static inline Zipped zipped(const u8 *low, const u8 *high) {
    const duo a = load_duo(low), b = load_duo(high);
    return (Zipped){duo_zip_lo(a, b), duo_zip_hi(a, b)};
}
static inline void join32(u8 *words, const u8 *low, const u8 *high) {
    const Zipped z = zipped(low, high);
    store_duo(words, lows_of(z.first, z.second));
    store_duo(words + 32, highs_of(z.first, z.second));
}
static inline void widen32(u8 *out, const u8 *low, const u8 *high) {
    const Zipped z = zipped(low, high);
    store_duo(out, widen8(low_of(z.first)));
    store_duo(out + 32, widen8(low_of(z.second)));
    store_duo(out + 64, widen8(high_of(z.first)));
    store_duo(out + 96, widen8(high_of(z.second)));
}
#endif

static ALWAYS_INLINE void split_run(u8 *low, u8 *high, const u8 *words, i64 n) {
    BY_DUOS(n, split32(low + i, high + i, words + 2 * i))
    PIECES(n, split16(low + i, high + i, words + 2 * i), split8(low + i, high + i, words + 2 * i),
           split4(low + i, high + i, words + 2 * i), (low[i] = words[2 * i], high[i] = words[2 * i + 1]));
}

static inline void join16(u8 *words, duo planes) { store_duo(words, join_words(planes)); }
static ALWAYS_INLINE void join_run(u8 *words, const u8 *low, const u8 *high, i64 n) {
    BY_DUOS(n, join32(words + 2 * i, low + i, high + i))
    PIECES(n, join16(words + 2 * i, load_planes(low + i, high + i)),
           store(words + 2 * i, zip_lo(load8(low + i), load8(high + i))),
           store8(words + 2 * i, zip_lo(load4(low + i), load4(high + i))),
           (words[2 * i] = low[i], words[2 * i + 1] = high[i]));
}

static inline void widen16(u8 *out, duo planes) {
    duo words = join_words(planes);
    store_duo(out, widen8(low_of(words)));
    store_duo(out + 32, widen8(high_of(words)));
}
static inline void widen1(u8 *out, u8 low, u8 high) {
    out[0] = 0;
    out[1] = 0;
    out[2] = low;
    out[3] = high;
}
static ALWAYS_INLINE void widen_run(u8 *out, const u8 *low, const u8 *high, i64 n) {
    BY_DUOS(n, widen32(out + 4 * i, low + i, high + i))
    PIECES(n, widen16(out + 4 * i, load_planes(low + i, high + i)),
           store_duo(out + 4 * i, widen8(zip_lo(load8(low + i), load8(high + i)))),
           store(out + 4 * i, wide_lo(zip_lo(load4(low + i), load4(high + i)))), widen1(out + 4 * i, low[i], high[i]));
}

/* How many leading pixels may store `bytes` at their start without leaving a row of `step` bytes a pixel. */
static inline i64 roomy(i64 pixels, i64 step, i64 bytes) {
    i64 room = pixels * step - bytes;
#if defined(TESSBED_SSSE3) /* a short division: the long one is dear beside a short row */
    return room < 0 ? 0 : bytes <= step ? pixels : pixels + 1 - (uint32_t)(bytes + step - 1) / (uint32_t)step;
#else
    return room < 0 ? 0 : least(pixels, room / step + 1);
#endif
}

#if defined(TESSBED_SSSE3)
/* `n` scalars that are `step` bytes apart, to a dense run of them. Bytes are put together in words: stores are dear. Others
   go four at a time: how fast a loop of a load and a store is depends on where it lies in the code. */
static ALWAYS_INLINE void gather_run(u8 *to, const u8 *from, i64 step, i64 n, i64 width) {
    i64 i = 0;
    if (width == 1 && step == 2)
        for (; i + 17 <= n; i += 16) store(to + i, even(load(from + 2 * i), load(from + 2 * i + 16)));
    if (width == 1)
        for (; i + 8 <= n; i += 8) {
            const u8 *at = from + i * step;
            u64 low = at[0] | (u64)at[step] << 8 | (u64)at[2 * step] << 16 | (u64)at[3 * step] << 24;
            at += 4 * step;
            u64 high = at[0] | (u64)at[step] << 8 | (u64)at[2 * step] << 16 | (u64)at[3 * step] << 24;
            low |= high << 32;
            memcpy(to + i, &low, 8);
        }
    to += i * width, from += i * step;
    for (; i + 4 <= n; i += 4, to += 4 * width, from += 4 * step)
        for (i64 k = 0; k < 4; k++) memcpy(to + k * width, from + k * step, (size_t)width);
    for (; i < n; i++, to += width, from += step) memcpy(to, from, (size_t)width);
}
static ALWAYS_INLINE void scatter_run(u8 *to, const u8 *from, i64 step, i64 n, i64 width) {
    i64 i = 0;
    if (width == 1)
        for (; i + 8 <= n; i += 8) {
            u8 *at = to + i * step;
            u64 all;
            memcpy(&all, from + i, 8);
            at[0] = (u8)all, at[step] = (u8)(all >> 8), at[2 * step] = (u8)(all >> 16), at[3 * step] = (u8)(all >> 24);
            at += 4 * step;
            at[0] = (u8)(all >> 32), at[step] = (u8)(all >> 40), at[2 * step] = (u8)(all >> 48), at[3 * step] = (u8)(all >> 56);
        }
    to += i * step, from += i * width;
    for (; i + 4 <= n; i += 4, to += 4 * step, from += 4 * width)
        for (i64 k = 0; k < 4; k++) memcpy(to + k * step, from + k * width, (size_t)width);
    for (; i < n; i++, to += step, from += width) memcpy(to, from, (size_t)width);
}
#endif

/* Rows that are the same bytes on both sides. */
static void pack_same(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    copy_run(tiled, linear, pixels * row->tiled_step);
}
static void unpack_same(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    copy_run(linear, tiled, pixels * row->tiled_step);
}

/* Few channels, dense on both sides: one shuffle for a group of pixels. The last group ends with the row: it is read
   from the row's last sixteen bytes and written in two overlapping pieces. A row shorter than that is left to do. */
#define CROSS(from, PUT, PUT_LAST)                                                                                     \
    i64 bytes = row->tiled_step, step = row->group * bytes, end = pixels * bytes, at = 0;                              \
    const vec table = load(row->table);                                                                                \
    for (; at + 16 <= end; at += step) { vec v = shuffle(load((from) + at), table); PUT; }                        \
    if (end >= 16 && at < end) {                                                                                       \
        vec v = shuffle(load((from) + end - 16), load(row->last_table));                                                     \
        at = end - step;                                                                                               \
        PUT_LAST;                                                                                                      \
        at = end;                                                                                                      \
    }

static void pack_cross(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    CROSS(linear, store(tiled + at, v), store_part(tiled + at, v, step))
    for (; at < end; at += bytes) split_run(tiled + at, tiled + at + row->plane, linear + at, row->channels);
}
static void unpack_cross(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    CROSS(tiled, store(linear + at, v), store_part(linear + at, v, step))
    for (; at < end; at += bytes) join_run(linear + at, tiled + at, tiled + at + row->plane, row->channels);
}
static void widen_cross(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    CROSS(tiled, store_duo(linear + 2 * at, widen8(v)),
          (store(linear + 2 * at, wide_lo(v)), store_part(linear + 2 * at + 16, wide_hi(v), 2 * step - 16)))
    for (; at < end; at += bytes) widen_run(linear + 2 * at, tiled + at, tiled + at + row->plane, row->channels);
}

/* How many leading pixels may load `bytes` at their start without leaving the declared span. */
static inline i64 readable(const u8 *first, i64 pixels, i64 step, i64 bytes, const u8 *end) {
    i64 room = end - first - bytes;
#if defined(TESSBED_SSSE3) /* mostly all can */
    if (room >= (pixels - 1) * step) return pixels;
#endif
    return room < 0 ? 0 : step ? least(pixels, room / step + 1) : pixels;
}

/* Usual widths get loops of their own, in which the compiler knows the number of channels. */
#define BY_WIDTH(loop)                                                                                                 \
    switch (row->channels == row->plane ? row->channels : 0) {                                                         \
        case 16: loop(row, tiled, linear, pixels, 16, 16); break;                                                      \
        case 32: loop(row, tiled, linear, pixels, 32, 32); break;                                                      \
        case 64: loop(row, tiled, linear, pixels, 64, 64); break;                                                      \
        default: loop(row, tiled, linear, pixels, row->channels, row->plane);                                          \
    }
#if defined(TESSBED_SSSE3) /* no step is loaded again behind a store of bytes, which might be a store into the row */
#define PIXELS                                                                                                         \
    for (i64 p = 0, tiled_step = row->tiled_step, linear_step = row->linear_step; p < pixels;                           \
         p++, tiled += tiled_step, linear += linear_step)
#else
#define PIXELS for (i64 p = 0; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step)
#endif

/* Contiguous channels, pixel by pixel. */
static ALWAYS_INLINE void pack_byte_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    (void)plane;
    PIXELS copy_run(tiled, linear, n);
}
static ALWAYS_INLINE void unpack_byte_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    (void)plane;
    PIXELS copy_run(linear, tiled, n);
}
static ALWAYS_INLINE void split_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    PIXELS split_run(tiled, tiled + plane, linear, n);
}
static ALWAYS_INLINE void join_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    PIXELS join_run(linear, tiled, tiled + plane, n);
}
static ALWAYS_INLINE void widen_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    PIXELS widen_run(linear, tiled, tiled + plane, n);
}
/* Past the caches: for outputs that would not stay in them, at addresses that are multiples of 16. */
static inline void stream_duo(u8 *p, duo d) {
    stream(p, low_of(d));
    stream(p + 16, high_of(d));
}
static inline void stream_join16(u8 *words, duo planes) { stream_duo(words, join_words(planes)); }
static inline void stream_widen16(u8 *out, duo planes) {
    duo words = join_words(planes);
    stream_duo(out, widen8(low_of(words)));
    stream_duo(out + 32, widen8(high_of(words)));
}
#define GROUPS_OF_16 for (i64 i = 0; i < n; i += 16)
static ALWAYS_INLINE void stream_pack_byte_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    (void)plane;
    PIXELS GROUPS_OF_16 stream(tiled + i, load(linear + i));
}
static ALWAYS_INLINE void stream_unpack_byte_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    (void)plane;
    PIXELS GROUPS_OF_16 stream(linear + i, load(tiled + i));
}
static ALWAYS_INLINE void stream_split_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    PIXELS GROUPS_OF_16 {
        duo planes = split_words(load_duo(linear + 2 * i));
        stream(tiled + i, low_of(planes));
        stream(tiled + plane + i, high_of(planes));
    }
}
static ALWAYS_INLINE void stream_join_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    PIXELS GROUPS_OF_16 stream_join16(linear + 2 * i, load_planes(tiled + i, tiled + plane + i));
}
static ALWAYS_INLINE void stream_widen_pixels(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 plane) {
    PIXELS GROUPS_OF_16 stream_widen16(linear + 4 * i, load_planes(tiled + i, tiled + plane + i));
}

/* Several groups of 16 channels a pixel, each in a tile or block of its own, but side by side on the linear side. Two and
   four groups get loops of their own, which the compiler unrolls. */
#if defined(TESSBED_SSSE3) /* no step is loaded again here, either */
#define GROUPS(MOVE)                                                                                                   \
    const i64 tiled_apart = row->group_tiled, linear_apart = row->group_linear;                                        \
    PIXELS for (i64 g = 0; g < groups; g++) MOVE(tiled + g * tiled_apart, linear + g * linear_apart);
#else
#define GROUPS(MOVE)                                                                                                   \
    for (i64 p = 0; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step)                             \
        for (i64 g = 0; g < groups; g++) MOVE(tiled + g * row->group_tiled, linear + g * row->group_linear);
#endif
/* Past the caches a group's lines are written one after the other, before the next group's. */
#define STREAM_GROUPS(MOVE)                                                                                            \
    for (i64 g = 0; g < row->groups; g++)                                                                              \
        for (i64 p = 0; p < pixels; p++)                                                                               \
            MOVE(tiled + g * row->group_tiled + p * row->tiled_step,                                                   \
                 linear + g * row->group_linear + p * row->linear_step);
#define BY_GROUPS(MOVE)                                                                                                \
    if (row->groups == 4) { const i64 groups = 4; GROUPS(MOVE) }                                                       \
    else if (row->groups == 2) { const i64 groups = 2; GROUPS(MOVE) }                                                  \
    else { const i64 groups = row->groups; GROUPS(MOVE) }
#define STREAMED_OR_NOT(STREAM, MOVE)                                                                                  \
    if (row->streams_out) { BY_GROUPS(STREAM) } else { BY_GROUPS(MOVE) }

#define SPLIT_GROUP(t, l) store_duo(t, split_words(load_duo(l)))
#define STREAM_SPLIT_GROUP(t, l) stream_duo(t, split_words(load_duo(l)))
#define PACK_GROUP(t, l) store(t, load(l))
#define STREAM_PACK_GROUP(t, l) stream(t, load(l))
#define UNPACK_GROUP(t, l) store(l, load(t))
#define STREAM_UNPACK_GROUP(t, l) stream(l, load(t))
#define JOIN_GROUP(t, l) join16(l, load_duo(t))
#define STREAM_JOIN_GROUP(t, l) stream_join16(l, load_duo(t))
#define WIDEN_GROUP(t, l) widen16(l, load_duo(t))
#define STREAM_WIDEN_GROUP(t, l) stream_widen16(l, load_duo(t))

#ifdef WIDE_DUO
/* Bytes of two pixels, which follow each other in a tile, or of two groups, which do so in a pixel, are one duo. Returns how many
   pixels were moved. */
static ALWAYS_INLINE i64 pack_duo_pixels(const Row *row, u8 *tiled, const u8 *linear, i64 pixels, i64 groups) {
    const i64 next = row->linear_step, apart = row->group_linear, tiled_apart = row->group_tiled;
    i64 p = 0;
    if (row->tiled_step != 16) return 0;
    for (; p + 2 <= pixels; p += 2, tiled += 32, linear += 2 * next)
        for (i64 g = 0; g < groups; g++) {
            const u8 *from = linear + g * apart;
            store_duo(tiled + g * tiled_apart, duo_of(load(from), load(from + next)));
        }
    return p;
}
static ALWAYS_INLINE i64 unpack_duo_groups(const Row *row, const u8 *tiled, u8 *linear, i64 pixels, i64 groups) {
    const i64 apart = row->group_tiled;
    if (row->group_linear != 16 || groups % 2) return 0;
    PIXELS
        for (i64 g = 0; g < groups; g += 2)
            store_duo(linear + 16 * g, duo_of(load(tiled + g * apart), load(tiled + (g + 1) * apart)));
    return pixels;
}
#define BYTE_DUOS(move)                                                                                                \
    const i64 done = row->streams_out ? 0                                                                              \
                     : row->groups == 4 ? move(row, tiled, linear, pixels, 4)                                          \
                     : row->groups == 2 ? move(row, tiled, linear, pixels, 2)                                          \
                                        : move(row, tiled, linear, pixels, row->groups);                               \
    tiled += done * row->tiled_step, linear += done * row->linear_step, pixels -= done;
#else
#define BYTE_DUOS(move)
#endif

static void pack_groups(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    if (row->streams_out) { STREAM_GROUPS(STREAM_SPLIT_GROUP) } else { BY_GROUPS(SPLIT_GROUP) }
}
static void pack_byte_groups(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    BYTE_DUOS(pack_duo_pixels)
    if (row->streams_out) { STREAM_GROUPS(STREAM_PACK_GROUP) } else { BY_GROUPS(PACK_GROUP) }
}
static void unpack_byte_groups(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    BYTE_DUOS(unpack_duo_groups)
    STREAMED_OR_NOT(STREAM_UNPACK_GROUP, UNPACK_GROUP)
}
static void unpack_groups(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    STREAMED_OR_NOT(STREAM_JOIN_GROUP, JOIN_GROUP)
}
static void widen_groups(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    STREAMED_OR_NOT(STREAM_WIDEN_GROUP, WIDEN_GROUP)
}

static void pack_bytes(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 n = row->channels, whole = n & ~(i64)15;
    if (row->stored == n) {
        if (row->streams_out) BY_WIDTH(stream_pack_byte_pixels)
        else BY_WIDTH(pack_byte_pixels)
        return;
    }
    const vec keep = load(row->keep), fill = load(row->fill);
    if (!whole)
        for (i64 wide = readable(linear, pixels, row->linear_step, 16, row->linear_end); wide > 0; wide--, pixels--) {
            vec pixel = and_or(load(linear), keep, fill);
            if (row->streams_out) stream(tiled, pixel);
            else store(tiled, pixel);
            tiled += row->tiled_step;
            linear += row->linear_step;
        }
    PIXELS {
        copy_run(tiled, linear, whole);
        store(tiled + whole, and_or(load_part(linear + whole, n - whole, row->linear_end), keep, fill));
    }
}
#if defined(TESSBED_SSSE3)
/* Padded pixels of up to four bytes, four at a time, as far as a store stays in the row. Returns how many were moved. */
static inline i64 unpack_fours(const u8 *tiled, i64 step, u8 *linear, i64 pixels, i64 n) {
    static const u8 FROM[4][16] = {{0, 4, 8, 12},
                                   {0, 1, 4, 5, 8, 9, 12, 13},
                                   {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14},
                                   {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
    const vec from = load(FROM[n - 1]);
    i64 p = 0;
    for (; p * n + 16 <= pixels * n; p += 4, tiled += 4 * step)
        store(linear + p * n,
              shuffle(fours(load4(tiled), load4(tiled + step), load4(tiled + 2 * step), load4(tiled + 3 * step)), from));
    return p;
}
#endif
static void unpack_bytes(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 n = row->channels, p = 0;
#if defined(TESSBED_SSSE3)
    if (n == 1 && row->linear_step == 1) { gather_run(linear, tiled, row->tiled_step, pixels, 1); return; }
    if (n < 5 && row->linear_step == n && row->stored >= 16) p = unpack_fours(tiled, row->tiled_step, linear, pixels, n);
#endif
    if (n < 16 && row->linear_step == n && row->stored >= 16)
        for (i64 over = roomy(pixels, n, 16); p < over; p++)
            store(linear + p * n, load(tiled + p * row->tiled_step));
    tiled += p * row->tiled_step;
    linear += p * n;
    pixels -= p;
    if (row->streams_out) BY_WIDTH(stream_unpack_byte_pixels)
    else BY_WIDTH(unpack_byte_pixels)
}
static void pack_words(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 n = row->channels, whole = n & ~(i64)15, rest = n - whole, plane = row->plane;
    if (row->stored == n) {
        if (row->streams_out) BY_WIDTH(stream_split_pixels)
        else BY_WIDTH(split_pixels)
        return;
    }
    const vec keep = load(row->keep), fill = load(row->fill);
    const duo spreading = load_duo(row->spread);
    if (n <= 8 && plane == 16)
        for (i64 wide = readable(linear, pixels, row->linear_step, 16, row->linear_end); wide > 0; wide--, pixels--) {
            duo pixel = spread(load(linear), spreading);
            if (row->streams_out) stream_duo(tiled, pixel);
            else store_duo(tiled, pixel);
            tiled += row->tiled_step;
            linear += row->linear_step;
        }
    PIXELS {
        for (i64 i = 0; i < whole; i += 16) split16(tiled + i, tiled + plane + i, linear + 2 * i);
        const u8 *words = linear + 2 * whole;
        vec a = load_part(words, least(2 * rest, 16), row->linear_end);
        vec b = rest > 8 ? load_part(words + 16, 2 * rest - 16, row->linear_end) : a;
        store(tiled + whole, and_or(even(a, b), keep, fill));
        store(tiled + plane + whole, and_or(odd(a, b), keep, fill));
    }
}
#if defined(TESSBED_SSSE3)
/* Pixels of one channel, which lie together on the linear side. */
static ALWAYS_INLINE void join_single(const Row *row, const u8 *tiled, u8 *linear, i64 pixels, i64 width) {
    for (i64 p = 0; p < pixels; p++, tiled += row->tiled_step, linear += width) {
        const uint32_t word = tiled[0] | (uint32_t)tiled[row->plane] << 8, wide = word << 16;
        if (width == 4) memcpy(linear, &wide, 4);
        else memcpy(linear, &word, 2);
    }
}
#endif

#if defined(TESSBED_SSSE3)
/* Padded pixels of up to four channels, each written four wide. */
static inline i64 join_fours(const Row *row, const u8 *tiled, u8 *linear, i64 pixels) {
    for (i64 p = 0; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step) {
        const vec words = zip_lo(load4(tiled), load4(tiled + 16));
        if (row->width == 4) store(linear, wide_lo(words));
        else store8(linear, words);
    }
    return pixels;
}
#endif

/* A padded pixel of less than 16 channels is written 16 wide where the row goes on behind it. Returns how many were. */
static inline i64 join_over(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 bytes = row->channels * row->width, p = 0;
#if defined(TESSBED_SSSE3)
    if (row->channels == 1 && row->linear_step == bytes) {
        if (bytes == 4) join_single(row, tiled, linear, pixels, 4);
        else join_single(row, tiled, linear, pixels, 2);
        return pixels;
    }
#endif
    if (row->channels >= 16 || row->linear_step != bytes || row->plane != 16) return 0;
#if defined(TESSBED_SSSE3)
    if (row->channels <= 4) return join_fours(row, tiled, linear, roomy(pixels, bytes, 4 * row->width));
#endif
    for (i64 over = roomy(pixels, bytes, 16 * row->width); p < over; p++) {
        duo planes = load_duo(tiled + p * row->tiled_step);
        if (row->width == 4) widen16(linear + p * bytes, planes);
        else join16(linear + p * bytes, planes);
    }
    return p;
}
static void unpack_words(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 done = join_over(row, tiled, linear, pixels);
    tiled += done * row->tiled_step;
    linear += done * row->linear_step;
    pixels -= done;
    if (row->streams_out) BY_WIDTH(stream_join_pixels)
    else BY_WIDTH(join_pixels)
}
static void widen_words(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 done = join_over(row, tiled, linear, pixels);
    tiled += done * row->tiled_step;
    linear += done * row->linear_step;
    pixels -= done;
    if (row->streams_out) BY_WIDTH(stream_widen_pixels)
    else BY_WIDTH(widen_pixels)
}

/* Everything else, scalar by scalar. */
static void pack_scalars(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    for (i64 p = 0; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step) {
        for (i64 c = 0; c < row->channels; c++) {
            const u8 *from = linear + c * row->channel_stride;
            tiled[c] = from[0];
            if (row->width == 2) tiled[row->plane + c] = from[1];
        }
        for (i64 c = row->channels; c < row->stored; c++) {
            tiled[c] = row->fill_byte;
            if (row->width == 2) tiled[row->plane + c] = row->fill_byte;
        }
    }
}
static void unpack_scalars(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    for (i64 p = 0; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step)
        for (i64 c = 0; c < row->channels; c++) {
            u8 *to = linear + c * row->channel_stride;
            if (row->width == 4) widen1(to, tiled[c], tiled[row->plane + c]);
            else to[0] = tiled[c];
            if (row->width == 2) to[1] = tiled[row->plane + c];
        }
}

#endif
