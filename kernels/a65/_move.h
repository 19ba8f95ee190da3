/* Row movers: one row of pixels with their channels, from tiled to linear storage or back.

   A pixel's channels lie in one byte plane (INT8) or two (BF16, low and high) on the tiled side, and `channel_stride`
   apart on the linear side. A mover writes the bytes of its row and no others. A ragged end is written twice, by
   two overlapping stores that both lie inside the run; where the row goes on behind it without a gap, a store may run
   over into the next pixel, which is written afterwards. Reads may run over, but never out of the declared span. */

#ifndef TESSBED_MOVE_H
#define TESSBED_MOVE_H

#include "_vec.h"

typedef struct Row {
    i64 channels, stored, plane; /* logical and stored channels; from low to high plane */
    i64 tiled_step, linear_step; /* bytes between pixels */
    i64 channel_stride, width;   /* linear side: bytes between channels, bytes of a scalar */
    i64 group;                   /* pixels that one shuffle takes */
    vec table, keep, fill;       /* shuffle; mask and bytes of the padded last group */
    u8 fill_byte;
    const u8 *tiled_end, *linear_end;
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

static inline void copy_run(u8 *to, const u8 *from, i64 n) {
    if (n > 128) { memcpy(to, from, (size_t)n); return; }
    PIECES(n, store(to + i, load(from + i)), store8(to + i, load8(from + i)), store4(to + i, load4(from + i)),
           to[i] = from[i]);
}

static inline void split16(u8 *low, u8 *high, const u8 *words) {
    vec a = load(words), b = load(words + 16);
    store(low, even(a, b));
    store(high, odd(a, b));
}
static inline void split8(u8 *low, u8 *high, const u8 *words) {
    vec a = load(words);
    store8(low, even(a, a));
    store8(high, odd(a, a));
}
static inline void split4(u8 *low, u8 *high, const u8 *words) {
    vec a = load8(words);
    store4(low, even(a, a));
    store4(high, odd(a, a));
}
static inline void split_run(u8 *low, u8 *high, const u8 *words, i64 n) {
    PIECES(n, split16(low + i, high + i, words + 2 * i), split8(low + i, high + i, words + 2 * i),
           split4(low + i, high + i, words + 2 * i), (low[i] = words[2 * i], high[i] = words[2 * i + 1]));
}

static inline void join16(u8 *words, vec low, vec high) {
    store(words, zip_lo(low, high));
    store(words + 16, zip_hi(low, high));
}
static inline void join_run(u8 *words, const u8 *low, const u8 *high, i64 n) {
    PIECES(n, join16(words + 2 * i, load(low + i), load(high + i)),
           store(words + 2 * i, zip_lo(load8(low + i), load8(high + i))),
           store8(words + 2 * i, zip_lo(load4(low + i), load4(high + i))),
           (words[2 * i] = low[i], words[2 * i + 1] = high[i]));
}

static inline void widen8(u8 *out, vec words) {
    store(out, wide_lo(words));
    store(out + 16, wide_hi(words));
}
static inline void widen16(u8 *out, vec low, vec high) {
    widen8(out, zip_lo(low, high));
    widen8(out + 32, zip_hi(low, high));
}
static inline void widen1(u8 *out, u8 low, u8 high) {
    out[0] = 0;
    out[1] = 0;
    out[2] = low;
    out[3] = high;
}
static inline void widen_run(u8 *out, const u8 *low, const u8 *high, i64 n) {
    PIECES(n, widen16(out + 4 * i, load(low + i), load(high + i)),
           widen8(out + 4 * i, zip_lo(load8(low + i), load8(high + i))),
           store(out + 4 * i, wide_lo(zip_lo(load4(low + i), load4(high + i)))), widen1(out + 4 * i, low[i], high[i]));
}

/* How many leading pixels may store `bytes` at their start without leaving a row of `step` bytes a pixel. */
static inline i64 roomy(i64 pixels, i64 step, i64 bytes) {
    i64 room = pixels * step - bytes;
    return room < 0 ? 0 : least(pixels, room / step + 1);
}

/* Rows that are the same bytes on both sides. */
static void pack_same(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    memcpy(tiled, linear, (size_t)(pixels * row->tiled_step));
}
static void unpack_same(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    memcpy(linear, tiled, (size_t)(pixels * row->tiled_step));
}

/* Few channels, dense on both sides: one shuffle for a group of pixels, a plain loop for the last ones. */
static void pack_cross(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 bytes = row->tiled_step, step = row->group * bytes, end = pixels * bytes, at = 0;
    for (; at + 16 <= end; at += step) store(tiled + at, shuffle(load(linear + at), row->table));
    for (; at < end; at += bytes) split_run(tiled + at, tiled + at + row->plane, linear + at, row->channels);
}
static void unpack_cross(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 bytes = row->tiled_step, step = row->group * bytes, end = pixels * bytes, at = 0;
    for (; at + 16 <= end; at += step) store(linear + at, shuffle(load(tiled + at), row->table));
    for (; at < end; at += bytes) join_run(linear + at, tiled + at, tiled + at + row->plane, row->channels);
}
static void widen_cross(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 bytes = row->tiled_step, step = row->group * bytes, end = pixels * bytes, at = 0;
    for (; at + 16 <= end; at += step) widen8(linear + 2 * at, shuffle(load(tiled + at), row->table));
    for (; at < end; at += bytes) widen_run(linear + 2 * at, tiled + at, tiled + at + row->plane, row->channels);
}

/* Contiguous channels, pixel by pixel. */
static void pack_bytes(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 n = row->channels, whole = n & ~(i64)15;
    for (i64 p = 0; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step) {
        if (row->stored == n) { copy_run(tiled, linear, n); continue; }
        copy_run(tiled, linear, whole);
        store(tiled + whole, and_or(load_part(linear + whole, n - whole, row->linear_end), row->keep, row->fill));
    }
}
static void unpack_bytes(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 n = row->channels, p = 0;
    if (n < 16 && row->linear_step == n && row->stored >= 16)
        for (i64 over = roomy(pixels, n, 16); p < over; p++)
            store(linear + p * n, load(tiled + p * row->tiled_step));
    for (; p < pixels; p++) copy_run(linear + p * row->linear_step, tiled + p * row->tiled_step, n);
}
static void pack_words(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 n = row->channels, whole = n & ~(i64)15, rest = n - whole, plane = row->plane;
    if (row->stored == n) {
        for (i64 p = 0; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step)
            split_run(tiled, tiled + plane, linear, n);
        return;
    }
    for (i64 p = 0; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step) {
        for (i64 i = 0; i < whole; i += 16) split16(tiled + i, tiled + plane + i, linear + 2 * i);
        const u8 *words = linear + 2 * whole;
        vec a = load_part(words, least(2 * rest, 16), row->linear_end);
        vec b = rest > 8 ? load_part(words + 16, 2 * rest - 16, row->linear_end) : a;
        store(tiled + whole, and_or(even(a, b), row->keep, row->fill));
        store(tiled + plane + whole, and_or(odd(a, b), row->keep, row->fill));
    }
}
static void unpack_words(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 n = row->channels, plane = row->plane, p = 0;
    if (n < 16 && row->linear_step == 2 * n && plane == 16)
        for (i64 over = roomy(pixels, 2 * n, 32); p < over; p++) {
            const u8 *low = tiled + p * row->tiled_step;
            join16(linear + p * 2 * n, load(low), load(low + 16));
        }
    tiled += p * row->tiled_step;
    linear += p * row->linear_step;
    for (; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step)
        join_run(linear, tiled, tiled + plane, n);
}
static void widen_words(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 n = row->channels, plane = row->plane, p = 0;
    if (n < 16 && row->linear_step == 4 * n && plane == 16)
        for (i64 over = roomy(pixels, 4 * n, 64); p < over; p++) {
            const u8 *low = tiled + p * row->tiled_step;
            widen16(linear + p * 4 * n, load(low), load(low + 16));
        }
    tiled += p * row->tiled_step;
    linear += p * row->linear_step;
    for (; p < pixels; p++, tiled += row->tiled_step, linear += row->linear_step)
        widen_run(linear, tiled, tiled + plane, n);
}

/* Scattered channels whose pixels are contiguous: blocks of 16 channels by 16 pixels, transposed in registers. */
static inline vec load_words(const u8 *p, i64 bytes, const u8 *end, vec *second) {
    *second = bytes > 16 ? load_part(p + 16, bytes - 16, end) : load_part(p, 0, p);
    return load_part(p, least(bytes, 16), end);
}
static void pack_transposed(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 width = row->width, single = row->stored < 16 && row->tiled_step == row->stored * width ? row->tiled_step * pixels : 0;
    u8 fill[16];
    memset(fill, row->fill_byte, 16);
    for (i64 p0 = 0; p0 < pixels; p0 += 16)
        for (i64 c0 = 0; c0 < row->channels; c0 += 16) {
            vec low[16], high[16];
            i64 np = least(16, pixels - p0), nc = least(16, row->channels - c0), ns = least(16, row->stored - c0);
            for (i64 k = 0; k < 16; k++) {
                const u8 *from = linear + p0 * width + (c0 + k) * row->channel_stride;
                if (k >= nc) low[k] = high[k] = load(fill);
                else if (width == 1) low[k] = load_part(from, np, row->linear_end);
                else {
                    vec b, a = load_words(from, 2 * np, row->linear_end, &b);
                    low[k] = even(a, b);
                    high[k] = odd(a, b);
                }
            }
            transpose16(low);
            if (width == 2) transpose16(high);
            for (i64 p = 0; p < np; p++) {
                i64 at = (p0 + p) * row->tiled_step + c0, last = at + (width == 2 ? row->plane : 0);
                i64 bytes = last + 16 <= single ? 16 : ns;
                store_part(tiled + at, low[p], bytes);
                if (width == 2) store_part(tiled + last, high[p], bytes);
            }
        }
}
static inline void store_parts(u8 *to, const vec *v, i64 bytes) {
    for (; bytes > 0; bytes -= 16, to += 16) store_part(to, *v++, least(bytes, 16));
}
static void unpack_transposed(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    i64 width = row->width;
    for (i64 p0 = 0; p0 < pixels; p0 += 16)
        for (i64 c0 = 0; c0 < row->channels; c0 += 16) {
            vec low[16], high[16], out[4];
            i64 np = least(16, pixels - p0), nc = least(16, row->channels - c0);
            for (i64 p = 0; p < 16; p++) {
                const u8 *from = tiled + (p0 + least(p, np - 1)) * row->tiled_step + c0;
                low[p] = load_part(from, nc, row->tiled_end);
                if (width > 1) high[p] = load_part(from + row->plane, nc, row->tiled_end);
            }
            transpose16(low);
            if (width > 1) transpose16(high);
            for (i64 k = 0; k < nc; k++) {
                out[0] = low[k];
                if (width > 1) { out[0] = zip_lo(low[k], high[k]); out[1] = zip_hi(low[k], high[k]); }
                if (width > 2) {
                    out[3] = wide_hi(out[1]);
                    out[2] = wide_lo(out[1]);
                    out[1] = wide_hi(out[0]);
                    out[0] = wide_lo(out[0]);
                }
                store_parts(linear + p0 * width + (c0 + k) * row->channel_stride, out, np * width);
            }
        }
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
