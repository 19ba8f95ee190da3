/* Relayed rows: rows that no mover of _move.h or _transpose.h is good at, by way of dense storage (x86-64).

   Theory. Movers are fast on long rows of pixels that lie close together. Two kinds of rows are not like that:
   - Narrow tiles cut a row into segments that are shorter than a block, or no whole blocks, and tiles that are walked
     across their rows have each pixel in a place of its own. Here the mover works between the linear side and a dense
     row of tiled pixels, and copies carry the bytes between that row and their `places`.
   - Scalars that are apart on the linear side in both directions have no vectors. Here they are gathered into a dense row
     of linear scalars (or scattered out of one), and the mover works between that and the tiles.
   The mover is the one that is chosen for the dense row, and knows nothing of all this. Where it would copy, there is
   none. A piece of the row is relayed at a time, so that the dense rows stay in the first cache.

   Scalars are gathered in runs of equal steps: all at once where pixels continue the channels' steps, and else along the
   pixels, channel by channel (planes), or along the channels, pixel by pixel; `gathers` says which. */

#ifndef TESSBED_RELAY_H
#define TESSBED_RELAY_H

#include "_transpose.h"

#if defined(TESSBED_SSSE3)

#define RELAY_BYTES 12288
#define RELAY_SLACK 64 /* movers may read so far behind what they need */

typedef struct RelayBuffers { u8 linear[RELAY_BYTES + RELAY_SLACK], tiled[RELAY_BYTES + RELAY_SLACK]; } RelayBuffers;

enum { NOTHING, EVERYTHING, ALONG_PIXELS, ALONG_CHANNELS };

typedef struct Relay {
    Row row;         /* dense on the sides that are relayed */
    RowMover *mover; /* NULL where both sides of it are the same bytes */
    int gathers, places, halves; /* halves: of some channels of a pixel, whose planes are apart */
    i64 pixels, pixel_bytes; /* of a piece at most; of a tiled pixel */
    RelayBuffers *buffers;   /* of one call */
} Relay;

typedef struct Sparse { i64 runs, scalars, run_step, step, dense_step; } Sparse;

static ALWAYS_INLINE Sparse sparse_of(const Row *row, int gathers, i64 plane, i64 pixels) {
    const i64 n = row->channels, w = row->width;
    switch (gathers) {
        case EVERYTHING: return (Sparse){1, pixels * n, 0, n > 1 ? row->channel_stride : row->linear_step, 0};
        case ALONG_PIXELS: return (Sparse){n, pixels, row->channel_stride, row->linear_step, plane * w};
        default: return (Sparse){pixels, n, row->linear_step, row->channel_stride, n * w};
    }
}
static ALWAYS_INLINE void move_sparse(Sparse s, u8 *sparse, u8 *dense, i64 width, int packs) {
    for (i64 i = 0; i < s.runs; i++, sparse += s.run_step, dense += s.dense_step)
        if (packs) gather_run(dense, sparse, s.step, s.scalars, width);
        else scatter_run(sparse, dense, s.step, s.scalars, width);
}
/* The scalars of some pixels between their places on the linear side and a dense row of them. */
static ALWAYS_INLINE void relay_scalars(const Row *row, u8 *sparse, u8 *dense, i64 pixels, int packs) {
    const Sparse s = sparse_of(row, row->relay->gathers, row->relay->pixels, pixels);
    if (row->width == 1) move_sparse(s, sparse, dense, 1, packs);
    else if (row->width == 2) move_sparse(s, sparse, dense, 2, packs);
    else move_sparse(s, sparse, dense, 4, packs);
}

static ALWAYS_INLINE void copy_way(u8 *place, u8 *dense, i64 bytes, int packs) {
    if (packs) copy_run(place, dense, bytes);
    else copy_run(dense, place, bytes);
}
static ALWAYS_INLINE void move_pixels(u8 *place, i64 step, u8 *dense, i64 bytes, i64 pixels, int packs) {
    for (i64 p = 0; p < pixels; p++) copy_way(place + p * step, dense + p * bytes, bytes, packs);
}
/* The bytes of some pixels between a dense row and their places. Usual pixels get loops of their own. */
static ALWAYS_INLINE void relay_places(const Row *row, Cursor *at, u8 *dense, i64 pixels, int packs) {
    const i64 bytes = row->relay->pixel_bytes, step = row->tiled_step;
    for (i64 count; pixels; pixels -= count, dense += count * bytes) {
        count = least(pixels, at->left);
        u8 *place = next_place(at, row, count);
        if (row->relay->halves)
            for (i64 p = 0; p < count; p++)
                for (i64 half = 0; half < 2; half++)
                    copy_way(place + p * step + half * row->plane, dense + p * bytes + half * row->stored, row->stored, packs);
        else if (step == bytes || count == 1) copy_way(place, dense, count * bytes, packs);
        else
            switch (bytes) {
                case 2: move_pixels(place, step, dense, 2, count, packs); break;
                case 3: move_pixels(place, step, dense, 3, count, packs); break;
                case 4: move_pixels(place, step, dense, 4, count, packs); break;
                case 5: move_pixels(place, step, dense, 5, count, packs); break;
                case 6: move_pixels(place, step, dense, 6, count, packs); break;
                case 8: move_pixels(place, step, dense, 8, count, packs); break;
                case 10: move_pixels(place, step, dense, 10, count, packs); break;
                case 12: move_pixels(place, step, dense, 12, count, packs); break;
                case 16: move_pixels(place, step, dense, 16, count, packs); break;
                case 32: move_pixels(place, step, dense, 32, count, packs); break;
                default: move_pixels(place, step, dense, bytes, count, packs);
            }
    }
}

static ALWAYS_INLINE void relay_piece(const Row *row, Cursor *at, u8 *tiled, u8 *linear, i64 pixels, int packs) {
    const Relay *r = row->relay;
    u8 *near = r->gathers ? r->buffers->linear : linear;
    u8 *far = !r->places ? tiled : r->mover ? r->buffers->tiled : near;
    if (packs) {
        if (r->gathers) relay_scalars(row, linear, near, pixels, 1);
        if (r->mover) r->mover(&r->row, far, near, pixels);
        if (r->places) relay_places(row, at, far, pixels, 1);
    } else {
        if (r->places) relay_places(row, at, far, pixels, 0);
        if (r->mover) r->mover(&r->row, far, near, pixels);
        if (r->gathers) relay_scalars(row, linear, near, pixels, 0);
    }
}
#define RELAYED(packs)                                                                                                 \
    Cursor at = {tiled, least(row->segment, pixels)};                                                                  \
    for (i64 p = 0, count; p < pixels; p += count) {                                                                   \
        count = least(row->relay->pixels, pixels - p);                                                                 \
        relay_piece(row, &at, tiled + p * row->tiled_step, linear + p * row->linear_step, count, packs);               \
    }
static void pack_relayed(const Row *row, u8 *tiled, u8 *linear, i64 pixels) { RELAYED(1) }
static void unpack_relayed(const Row *row, u8 *tiled, u8 *linear, i64 pixels) { RELAYED(0) }

/* Straight between the sides, where the dense row is that of the tile. */
static void pack_gathered(const Row *row, u8 *tiled, u8 *linear, i64 pixels) { relay_scalars(row, linear, tiled, pixels, 1); }
static void unpack_scattered(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    relay_scalars(row, linear, tiled, pixels, 0);
}

#endif

#endif
