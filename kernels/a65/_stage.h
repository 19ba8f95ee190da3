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
#include "_move.h"

#define STAGE_SCALARS 2048
#define STAGE_SLACK 64 /* movers may read so far behind what they need */
#define LONG_CHANNELS 16
#define WIDE 4 /* bytes of a linear scalar */

enum { DIRECT, DENSE, LONG, PLANES, SCATTERED };

typedef void Converter(u8 *to, const u8 *from, i64 n, const Quantization *q);

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
} Stage;

enum { TO_BF16, TO_INT8, TO_FP32 };
static Converter *const CONVERTERS[] = {narrow_run, quantize_run, dequantize_run};

/* Copies the scalars of a piece between their places and a dense run of them. */
static ALWAYS_INLINE void scatter(const Stage *s, u8 *linear, u8 *dense, i64 pixels, i64 channels, int gathers) {
    i64 run = s->run, step = run * s->channel_step;
    for (i64 p = 0; p < pixels; p++, linear += s->pixel_step) {
        u8 *at = linear;
        for (i64 c = 0; c < channels; c += run, at += step, dense += WIDE * run)
            if (gathers) copy_run(dense, at, WIDE * run);
            else copy_run(at, dense, WIDE * run);
    }
}

static void pack_piece(const Stage *s, const Lane *lane, u8 *tiled, u8 *linear, i64 pixels) {
    u8 stage[2 * STAGE_SCALARS + STAGE_SLACK], wide[WIDE * STAGE_SCALARS];
    Converter *convert = CONVERTERS[s->conversion];
    const Quantization *q = &s->quantization;
    i64 n = lane->channels;
    Row row = lane->row;
    row.linear_end = stage + sizeof stage;
    switch (s->shape) {
        case DIRECT: convert(tiled, linear, pixels * n, q); return;
        case DENSE: convert(stage, linear, pixels * n, q); break;
        case LONG:
            for (i64 p = 0; p < pixels; p++) convert(stage + p * row.linear_step, linear + p * s->pixel_step, n, q);
            break;
        case PLANES:
            for (i64 c = 0; c < n; c++) convert(stage + c * row.channel_stride, linear + c * s->channel_step, pixels, q);
            break;
        default:
            scatter(s, linear, wide, pixels, n, 1);
            convert(stage, wide, pixels * n, q);
    }
    lane->mover(&row, tiled, stage, pixels);
}

static void unpack_piece(const Stage *s, const Lane *lane, u8 *tiled, u8 *linear, i64 pixels) {
    u8 stage[2 * STAGE_SCALARS + STAGE_SLACK], wide[WIDE * STAGE_SCALARS];
    Converter *convert = CONVERTERS[s->conversion];
    const Quantization *q = &s->quantization;
    const Row *row = &lane->row;
    i64 n = lane->channels;
    if (s->shape == DIRECT) {
        convert(linear, tiled, pixels * n, q);
        return;
    }
    lane->mover(row, tiled, stage, pixels);
    switch (s->shape) {
        case DENSE: convert(linear, stage, pixels * n, q); break;
        case LONG:
            for (i64 p = 0; p < pixels; p++) convert(linear + p * s->pixel_step, stage + p * row->linear_step, n, q);
            break;
        case PLANES:
            for (i64 c = 0; c < n; c++) convert(linear + c * s->channel_step, stage + c * row->channel_stride, pixels, q);
            break;
        default:
            convert(wide, stage, pixels * n, q);
            scatter(s, linear, wide, pixels, n, 0);
    }
}

/* Piece by piece along the pixels; a pixel that is cut has its pieces of channels one after the other. */
#define STAGED(move)                                                                                                   \
    const Stage *s = row->stage;                                                                                       \
    for (i64 p = 0; p < pixels; p += s->pixels) {                                                                      \
        i64 count = least(s->pixels, pixels - p);                                                                      \
        u8 *to = tiled + p * row->tiled_step, *from = linear + p * s->pixel_step;                                      \
        for (i64 k = 0; k < s->full; k++, to += s->lane[0].channels, from += s->lane[0].channels * s->channel_step)    \
            move(s, s->lane, to, from, count);                                                                         \
        move(s, s->lane + 1, to, from, count);                                                                         \
    }
static void pack_staged(const Row *row, u8 *tiled, u8 *linear, i64 pixels) { STAGED(pack_piece) }
static void unpack_staged(const Row *row, u8 *tiled, u8 *linear, i64 pixels) { STAGED(unpack_piece) }

#endif
