/* Staged rows: a conversion of values and a re-layout of bytes in one pass, a bounded piece of the row at a time.

   The linear side holds four-byte scalars. A piece of them is converted into a stage (packing) or out of one
   (unpacking); the stage holds the same scalars in their tiled width, and one of the movers of _move.h carries them
   between stage and tiles. So each way in which a row can lie is covered by the mover that covers it without a
   conversion, and nothing grows with the tensor: the stage stays in the first cache.

   How the stage is laid out follows the linear side:
   - DENSE: pixels follow each other without a gap. A piece is one run, and so is the stage, pixel after pixel.
     Where the tiles hold the same bytes as the stage, the run goes straight to them (DIRECT).
   - LONG: pixels of many contiguous channels, with gaps between them: a run for each pixel.
   - PLANES: channels are scattered and pixels contiguous: a run for each channel, each in a plane of the stage.
   - SCATTERED: anything else; the piece is first copied, contiguous channels at a time, to or from a dense wide stage.
   Pixels of more channels than a piece holds are cut at multiples of 16 channels. */

#ifndef TESSBED_STAGE_H
#define TESSBED_STAGE_H

#include "_convert.h"
#include "_relay.h"

#define STAGE_SCALARS 2048
#define STAGE_SLACK 64 /* movers may read so far behind what they need */
#if defined(TESSBED_SSSE3) /* those that a converter takes without a detour */
#define LONG_CHANNELS FEW
#else
#define LONG_CHANNELS 16
#endif
#define WIDE 4 /* bytes of a linear scalar */

enum { DIRECT, DENSE, LONG, PLANES, SCATTERED };

typedef void Converter(RUNS);

typedef struct Buffers {
    u8 narrow[2 * STAGE_SCALARS + STAGE_SLACK], wide[WIDE * STAGE_SCALARS];
#if defined(TESSBED_SSSE3)
    RelayBuffers relay;
#endif
} Buffers;

typedef struct Lane { /* some channels of each pixel */
    Row row;          /* between stage and tiles */
    RowMover *mover;
    i64 channels;
} Lane;

typedef struct Stage {
    Lane lane[2]; /* pieces of channels: all that are full, and the last, which has the padding */
    i64 full;     /* how many full ones */
    i64 pixels;   /* pixels of a piece */
    i64 shape, width, channel_step, pixel_step, run; /* bytes of a tiled scalar; linear bytes; contiguous channels */
    i64 conversion;                                  /* index of CONVERTERS */
    Quantization quantization;
    Buffers *buffers; /* of one call */
} Stage;

enum { TO_BF16, TO_INT8, TO_FP32 };
static Converter *const CONVERTERS[] = {narrow_runs, quantize_runs, dequantize_runs};

/* Copies the scalars of a piece between their places and a dense run of them. */
static ALWAYS_INLINE void scatter(const Stage *s, u8 *linear, u8 *dense, i64 pixels, i64 channels, int gathers) {
#if defined(TESSBED_SSSE3)
    if (s->run == 1) {
        const int chain = channels == 1 || s->pixel_step == channels * s->channel_step;
        const Sparse all = chain ? (Sparse){1, pixels * channels, 0, channels == 1 ? s->pixel_step : s->channel_step, 0}
                                 : (Sparse){pixels, channels, s->pixel_step, s->channel_step, WIDE * channels};
        move_sparse(all, linear, dense, WIDE, gathers);
        return;
    }
#endif
    i64 run = s->run, step = run * s->channel_step;
    for (i64 p = 0; p < pixels; p++, linear += s->pixel_step) {
        u8 *at = linear;
        for (i64 c = 0; c < channels; c += run, at += step, dense += WIDE * run)
            if (gathers) copy_run(dense, at, WIDE * run);
            else copy_run(at, dense, WIDE * run);
    }
}

/* The runs of a piece on the linear side, and how far apart they are there and in the stage. */
typedef struct Runs { i64 count, scalars, linear_step, stage_step; } Runs;

static ALWAYS_INLINE Runs runs_of(const Stage *s, const Lane *lane, i64 pixels) {
    const i64 n = lane->channels;
    switch (s->shape) {
        case LONG: return (Runs){pixels, n, s->pixel_step, lane->row.linear_step};
        case PLANES: return (Runs){n, pixels, s->channel_step, lane->row.channel_stride};
        default: return (Runs){1, pixels * n, 0, 0};
    }
}

/* Runs that continue each other on both sides are one. */
#if defined(TESSBED_SSSE3)
static ALWAYS_INLINE Runs joined(const Stage *s, Runs r) {
    if (r.linear_step != WIDE * r.scalars || r.stage_step != s->width * r.scalars) return r;
    return (Runs){1, r.count * r.scalars, 0, 0};
}
#else
#define joined(s, runs) runs
#endif

static void pack_piece(const Stage *s, const Lane *lane, u8 *tiled, u8 *linear, i64 pixels) {
    const Runs runs = joined(s, runs_of(s, lane, pixels));
    u8 *stage = s->shape == DIRECT ? tiled : s->buffers->narrow, *wide = linear;
    if (s->shape == SCATTERED) scatter(s, linear, wide = s->buffers->wide, pixels, lane->channels, 1);
    CONVERTERS[s->conversion](stage, runs.stage_step, wide, runs.linear_step, runs.count, runs.scalars, &s->quantization);
    if (s->shape != DIRECT) lane->mover(&lane->row, tiled, stage, pixels);
}

static void unpack_piece(const Stage *s, const Lane *lane, u8 *tiled, u8 *linear, i64 pixels) {
    const Runs runs = joined(s, runs_of(s, lane, pixels));
    u8 *stage = s->shape == DIRECT ? tiled : s->buffers->narrow, *wide = s->shape == SCATTERED ? s->buffers->wide : linear;
    if (s->shape != DIRECT) lane->mover(&lane->row, tiled, stage, pixels);
    CONVERTERS[s->conversion](wide, runs.linear_step, stage, runs.stage_step, runs.count, runs.scalars, &s->quantization);
    if (s->shape == SCATTERED) scatter(s, linear, wide, pixels, lane->channels, 0);
}

/* Piece by piece along the pixels, of a cut row some segments or a part of one at a time; a pixel that is cut has its pieces of channels one after the other. */
#if defined(TESSBED_SSSE3) /* a division is dear beside a short row */
#define CUTS(p, segment) ((p) < (segment) ? 0 : (p) / (segment))
#define WITHIN(p, segment) ((p) < (segment) ? (p) : (p) % (segment))
#else
#define CUTS(p, segment) ((p) / (segment))
#define WITHIN(p, segment) ((p) % (segment))
#endif
#define STAGED(move)                                                                                                   \
    const Stage *s = row->stage;                                                                                       \
    for (i64 p = 0, count; p < pixels; p += count) {                                                                   \
        i64 cuts = CUTS(p, row->segment), left = row->segment - WITHIN(p, row->segment);                               \
        count = least(s->pixels < row->segment ? least(s->pixels, left) : s->pixels, pixels - p);                      \
        u8 *to = tiled + p * row->tiled_step + cuts * row->segment_jump, *from = linear + p * s->pixel_step;           \
        for (i64 k = 0; k < s->full; k++, to += s->lane[0].channels, from += s->lane[0].channels * s->channel_step)    \
            move(s, s->lane, to, from, count);                                                                         \
        move(s, s->lane + 1, to, from, count);                                                                         \
    }
static void pack_staged(const Row *row, u8 *tiled, u8 *linear, i64 pixels) { STAGED(pack_piece) }
static void unpack_staged(const Row *row, u8 *tiled, u8 *linear, i64 pixels) { STAGED(unpack_piece) }

#if defined(TESSBED_SSSE3)
static ALWAYS_INLINE void convert(const Stage *s, Runs r, u8 *stage, u8 *linear, int packs) {
    Converter *runs = CONVERTERS[s->conversion];
    if (packs) runs(stage, r.stage_step, linear, r.linear_step, r.count, r.scalars, &s->quantization);
    else runs(linear, r.linear_step, stage, r.stage_step, r.count, r.scalars, &s->quantization);
}
static void scatter_rows(const Stage *s, u8 *linear, i64 linear_step, i64 rows, i64 pixels, int gathers) {
    const i64 n = s->lane[1].channels;
    u8 *wide = s->buffers->wide;
    for (; rows; rows--, linear += linear_step, wide += WIDE * pixels * n) scatter(s, linear, wide, pixels, n, gathers);
}
/* Short rows, as many of them at a time as the stage holds: bytes that were stored a moment ago are loaded with delay. */
static ALWAYS_INLINE void convert_staged(const Stage *s, u8 *stage, u8 *linear, i64 linear_step, i64 rows, i64 bytes,
                                         i64 pixels, int packs) {
    const i64 n = pixels * s->lane[1].channels;
    if (s->shape == DENSE) convert(s, (Runs){rows, n, linear_step, bytes}, stage, linear, packs);
    else if (s->shape == SCATTERED) {
        if (packs) scatter_rows(s, linear, linear_step, rows, pixels, 1);
        convert(s, (Runs){1, rows * n, 0, 0}, stage, s->buffers->wide, packs);
        if (!packs) scatter_rows(s, linear, linear_step, rows, pixels, 0);
    } else {
        const Runs row = joined(s, runs_of(s, s->lane + 1, pixels));
        for (; rows; rows--, stage += bytes, linear += linear_step) convert(s, row, stage, linear, packs);
    }
}
static ALWAYS_INLINE void move_staged(const Lane *lane, u8 *tiled, i64 tiled_step, u8 *stage, i64 rows, i64 bytes, i64 pixels) {
    if (lane->row.rows) lane->row.rows(&lane->row, tiled, tiled_step, stage, bytes, rows, pixels);
    else
        for (i64 i = 0; i < rows; i++, tiled += tiled_step, stage += bytes) lane->mover(&lane->row, tiled, stage, pixels);
}
static void staged_rows(const Row *row, u8 *tiled, i64 tiled_step, u8 *linear, i64 linear_step, i64 rows, i64 pixels,
                        int packs) {
    const Stage *s = row->stage;
    const Lane *lane = s->lane + 1;
    const i64 bytes = s->pixels * lane->channels * s->width, most = STAGE_SCALARS / (s->pixels * lane->channels);
    u8 *stage = s->buffers->narrow;
    for (i64 count; rows; rows -= count, tiled += count * tiled_step, linear += count * linear_step) {
        count = least(rows, most);
        if (packs) convert_staged(s, stage, linear, linear_step, count, bytes, pixels, 1);
        move_staged(lane, tiled, tiled_step, stage, count, bytes, pixels);
        if (!packs) convert_staged(s, stage, linear, linear_step, count, bytes, pixels, 0);
    }
}
#endif

/* Rows that are one run on both sides each: all of them in one go. */
static void convert_rows(const Row *row, u8 *tiled, i64 tiled_step, u8 *linear, i64 linear_step, i64 rows, i64 pixels,
                         int packs) {
    const Stage *s = row->stage;
    const i64 n = pixels * s->lane[1].channels;
    if (packs) CONVERTERS[s->conversion](tiled, tiled_step, linear, linear_step, rows, n, &s->quantization);
    else CONVERTERS[s->conversion](linear, linear_step, tiled, tiled_step, rows, n, &s->quantization);
}

#endif
