/* The executor: one call runs a whole checked program, and knows nothing of Python.

   For each spatial class, the loops over outer slices and tiles run around one nest of pixel loops per channel part, so
   that all channel tiles of the same pixels follow each other, and a tile's alignment bytes are written right behind it.
   Loops that continue each other on both sides are merged; the innermost one becomes the row. */

#ifndef TESSBED_EXECUTE_H
#define TESSBED_EXECUTE_H

#include "_movers.h"
#include "_program.h"

extern const Movers *tessbed_wide_movers; /* of _rows_avx2.c; NULL where they can not run */
static const Movers base_movers = MOVERS(VEC_NAME);
#define STREAM_BYTES ((i64)3 << 20) /* an output of this size does not stay in the caches */
static const Movers *movers = &base_movers;
static i64 stream_bytes = STREAM_BYTES;

#define MAX_LOOPS 16
#define MOST_GROUPS 16 /* as many streams as a CPU follows */

typedef struct Nest { /* pixel loops of one channel part; `before` leads from the spatial tile to its first pixel */
    Loop loop[MAX_LOOPS];
    int loops;
    i64 tiled, linear;
    Row row;
    RowMover *mover;
    u8 streams[MAX_STREAMS][MAX_STREAMS][16];
    Stage stage; /* of a conversion of values: the row points here, so a nest stays where it was made */
#if defined(TESSBED_SSSE3)
    Relay relay[3]; /* of the row, and of the stage's lanes */
    int narrow_dense;
#endif
} Nest;

static void add_loop(Loop *loop, int *loops, i64 count, i64 tiled, i64 linear) {
    if (count == 1) return;
    Loop *outer = loop + *loops - 1;
    if (*loops && outer->tiled == count * tiled && outer->linear == count * linear) {
        *outer = (Loop){outer->count * count, tiled, linear};
        return;
    }
    loop[(*loops)++] = (Loop){count, tiled, linear};
}

/* The shuffle of a group of pixels; `behind` bytes precede the group in the vector that is read. */
static void cross_table(const Row *row, int packs, i64 behind, u8 *table) {
    memset(table, 0x80, 16);
    for (i64 g = 0; g < row->group; g++)
        for (i64 c = 0; c < row->channels; c++)
            for (i64 half = 0; half < 2; half++) {
                i64 pixel = g * 2 * row->channels;
                u8 tiled = (u8)(pixel + half * row->channels + c), linear = (u8)(pixel + 2 * c + half);
                if (packs) table[tiled] = (u8)(linear + behind);
                else table[linear] = (u8)(tiled + behind);
            }
}

/* Byte p * width + h of a channel's vector is byte (p * width + h) * channels + c of as many vectors of packed pixels. */
static void make_streams(Row *row, u8 (*table)[MAX_STREAMS][16], int packs) {
    i64 n = row->channels;
    memset(table, 0x80, (size_t)n * sizeof *table);
    for (i64 c = 0; c < n; c++)
        for (i64 b = 0; b < 16; b++) {
            i64 at = b * n + c;
            if (packs) table[at / 16][c][at % 16] = (u8)b;
            else table[c][at / 16][b] = (u8)(at % 16);
        }
    row->streams = (const u8(*)[MAX_STREAMS][16])table;
}

#define CHUNK_BYTES 32768 /* of tiles: they stay in a cache while group after group of channels comes by */
static i64 chunk_of(i64 pixel_bytes) {
    i64 pixels = CHUNK_BYTES / pixel_bytes & ~(i64)31;
    return pixels ? pixels : 32;
}

static void set_padding(Row *row, u8 fill) {
    row->fill_byte = fill;
    if (row->stored == row->channels) return;
    for (i64 i = 0; i < 16; i++) {
        row->keep[i] = i < row->channels % 16 ? 0xFF : 0;
        row->fill[i] = (u8)(fill & ~row->keep[i]);
    }
    for (i64 i = 0; i < 32; i++)
        row->spread[i] = i % 16 < row->channels && row->channels <= 8 ? (u8)(i % 16 * 2 + i / 16) : 0x80;
}

/* What a conversion of values makes with a stage, as an index of CONVERTERS, and the conversion of bytes between the
   stage and the tiles; {-1, 0} for a conversion that moves bytes only. */
typedef struct Fused { int values; i64 bytes; } Fused;

static Fused fused_of(i64 conversion) {
    switch (conversion) {
        case NARROW: return (Fused){TO_BF16, SPLIT};
        case QUANTIZE: return (Fused){TO_INT8, COPY};
        case DEQUANTIZE: return (Fused){TO_FP32, COPY};
        default: return (Fused){-1, 0};
    }
}

/* The movers of one conversion in one direction; NULL where it has none of that kind. `same` is for rows that are the
   same bytes on both sides, which a conversion of words makes of single channels only. */
typedef struct Ways { RowMover *groups, *same, *cross, *runs, *transposed, *streams, *scalars; } Ways;

static Ways ways_of(i64 conversion, i64 packs) {
    const Movers *m = movers;
    switch (conversion) {
        case COPY:
            if (packs)
                return (Ways){m->pack_byte_groups, m->pack_same, NULL, m->pack_bytes,
                              m->pack_transposed_bytes, m->pack_streams, m->pack_scalars};
            return (Ways){m->unpack_byte_groups, m->unpack_same, NULL, m->unpack_bytes,
                          m->unpack_transposed_bytes, m->unpack_streams, m->unpack_scalars};
        case SPLIT:
            return (Ways){m->pack_groups, m->pack_same, m->pack_cross, m->pack_words,
                          m->pack_transposed_words, m->pack_streams, m->pack_scalars};
        case JOIN:
            return (Ways){m->unpack_groups, m->unpack_same, m->unpack_cross, m->unpack_words,
                          m->unpack_transposed_words, m->unpack_streams, m->unpack_scalars};
        default: /* WIDEN: a checked program has no other */
            return (Ways){m->widen_groups, NULL, m->widen_cross, m->widen_words,
                          m->unpack_transposed_words, m->unpack_streams, m->unpack_scalars};
    }
}

/* Rows that are relayed (_relay.h). The modelled A65 has none. */
#if defined(TESSBED_SSSE3)
#define NARROW_BYTES 64 /* of a plane: rows of fewer are not worth whole blocks of their own */
#define NARROW_RUN 32 /* tiled bytes: rows of fewer are mostly not worth a call of their own */
static int narrow(const Program *program, i64 pixels, i64 stored) {
    const i64 width = program->tiled_width;
    return pixels * width < NARROW_BYTES && 16 * stored * width <= RELAY_BYTES;
}
/* Tiled bytes from which on such a row is worth a call of its own: any, where it is copied; where values are converted
   into their places, those of a converter's smaller step. */
static i64 least_run(const Program *program, const Tiles *t) {
    const int in_place = t->stored == t->extents[0] && (t->stored == 1 || program->tiled_width == 1);
    if (!in_place || program->conversion == WIDEN) return NARROW_RUN;
    return fused_of(program->conversion).values < 0 ? 0 : FEW * program->tiled_width;
}
/* Pixels that leave their padding some at a time, many rows in one call (_padded.h). */
static int few_padded(const Tiles *t) { return movers->rows_of && t->extents[0] <= 4 && t->stored == 16; }
/* Short rows of tiles that stand side by side, of pixels that follow each other without a gap across all of them. */
static int narrow_dense(const Program *program, const Tiles *t) {
    const i64 n = t->extents[0];
    return !program->cblocked && program->parts[0] == 1 && t->counts[0] == 1 && t->counts[3] > 1 &&
           (n == 1 || program->strides[0] == program->width) && program->strides[3] == n * program->width &&
           (t->stored == n || fused_of(program->conversion).values >= 0 || (!program->packs && !few_padded(t))) &&
           t->extents[3] * n * program->tiled_width < least_run(program, t) &&
           narrow(program, t->extents[3], t->stored);
}
static int gathers_of(const Row *row) {
    const i64 n = row->channels;
    if (row->linear_step == row->width || (n > 1 && row->channel_stride == row->width)) return NOTHING;
    if (n == 1 || row->linear_step == n * row->channel_stride) return EVERYTHING;
    return row->pixels >= 8 && row->linear_step < row->channel_stride ? ALONG_PIXELS : ALONG_CHANNELS;
}
static int has_places(const Row *row, i64 width) {
    const int together = row->channels == 1 || row->channel_stride == row->width;
    if (row->segment < MOST && (together || row->segment * width % 16 || row->linear_step != row->width)) return 1;
    return !together && row->linear_step == row->width && row->stored < 16 && row->pixels >= 8 &&
           row->tiled_step != row->stored * width;
}
/* How many pixels are relayed at a time: whole blocks, where the row has so many. */
static i64 relayed_pixels(const Row *row, i64 width) {
    const i64 most = least(RELAY_BYTES / (row->stored * width), RELAY_BYTES / (row->channels * row->width));
    return least(row->pixels, most > 16 ? most & ~(i64)15 : most);
}
static int wants_relay(const Row *row, const Program *program) {
    const i64 width = program->tiled_width;
    return row->groups == 1 && (gathers_of(row) || has_places(row, width)) && relayed_pixels(row, width);
}
static RowMover *choose_mover(Row *, u8 (*)[MAX_STREAMS][16], const Program *);

static RowMover *relay_row(Row *row, u8 (*streams)[MAX_STREAMS][16], const Program *program) {
    const i64 width = program->tiled_width, n = row->channels;
    Relay *r = row->relay;
    Row *dense = &r->row;
    *r = (Relay){.row = *row, .gathers = gathers_of(row), .places = has_places(row, width),
                 .pixels = relayed_pixels(row, width), .pixel_bytes = row->stored * width, .buffers = r->buffers};
    r->halves = width == 2 && row->plane != row->stored;
    dense->relay = NULL;
    if (r->places) {
        dense->plane = row->stored;
        dense->tiled_step = r->pixel_bytes;
        dense->segment = MOST;
        dense->segment_jump = 0;
        dense->tiled_end = r->buffers->tiled + sizeof r->buffers->tiled;
    }
    if (r->gathers) {
        int planes = r->gathers == ALONG_PIXELS;
        dense->channel_stride = planes ? r->pixels * row->width : row->width;
        dense->linear_step = planes ? row->width : n * row->width;
        dense->linear_end = r->buffers->linear + sizeof r->buffers->linear;
    }
    if (program->packs ? r->places : r->gathers) dense->streams_out = 0;
    r->mover = choose_mover(dense, streams, program);
    if (r->mover == movers->pack_same || r->mover == movers->unpack_same) r->mover = NULL;
    if (!r->mover && !r->places) return program->packs ? movers->pack_gathered : movers->unpack_scattered;
    return program->packs ? movers->pack_relayed : movers->unpack_relayed;
}
#else
#define narrow(program, pixels, stored) ((void)(stored), 0)
#define narrow_dense(program, tiles) 0
#endif

/* Rows of whole pixels have movers for several of them (_pixels.h); `other` moves those that have not. */
#if defined(TESSBED_SSSE3)
static RowMover *whole_pixels(Row *row, const Program *program, RowMover *other) {
    if (movers->rows_of && (row->relay || !row->group)) row->rows = movers->rows_of(row, program->tiled_width, program->packs != 0);
    return row->rows ? movers->each_row : other;
}
#define WHOLE_PIXELS(row, program, other) whole_pixels(row, program, other)
#else
#define WHOLE_PIXELS(row, program, other) other
#endif

static RowMover *choose_mover(Row *row, u8 (*streams)[MAX_STREAMS][16], const Program *program) {
    const Ways ways = ways_of(program->conversion, program->packs);
#if defined(TESSBED_SSSE3)
    row->rows = NULL;
    row->group = 0;
    if (row->relay && wants_relay(row, program)) return relay_row(row, streams, program);
#endif
    const int packs = program->packs != 0;
    if (row->groups > 1) return ways.groups;
    i64 n = row->channels, compact = row->tiled_step == n * program->tiled_width;
    if (n > 1 && row->channel_stride != row->width) {
        if (row->linear_step != row->width) return ways.scalars;
        row->chunk = chunk_of(row->stored * program->tiled_width);
        if (!compact || n > MAX_STREAMS) return ways.transposed;
        make_streams(row, streams, packs);
        return ways.streams;
    }
    if (compact && row->linear_step == n * row->width && row->stored == n) {
        if (ways.same && (n == 1 || program->conversion == COPY)) {
#if defined(TESSBED_SSSE3)
            row->rows = packs ? movers->pack_same_rows : movers->unpack_same_rows;
#endif
            return ways.same;
        }
        if (ways.cross && n <= 8) {
            row->group = 8 / n;
            cross_table(row, packs, 0, row->table);
            memcpy(row->table + 16, row->table, 16);
            cross_table(row, packs, 16 - row->group * row->tiled_step, row->last_table);
            return WHOLE_PIXELS(row, program, ways.cross);
        }
    }
    return WHOLE_PIXELS(row, program, ways.runs);
}

static int scattered(const Program *program) { return program->strides[0] != program->width; }

/* Where channels are scattered, rows run along contiguous pixels, and loops follow the linear side: then each channel is
   one long stream there. Returns whether there are such rows. */
static int order_loops(Nest *nest, i64 width) {
    for (int i = 1; i < nest->loops; i++)
        for (int k = i; k && nest->loop[k - 1].linear < nest->loop[k].linear; k--) {
            Loop outer = nest->loop[k];
            nest->loop[k] = nest->loop[k - 1];
            nest->loop[k - 1] = outer;
        }
    return nest->loops && nest->loop[nest->loops - 1].linear == width;
}

/* Rows that continue each other on the linear side become one that is cut, where segments are whole blocks or narrow. */
static void cut_rows(const Program *program, Nest *nest, i64 stored) {
    Loop *outer = nest->loop + nest->loops - 2, *last = outer + 1;
    if (nest->loops < 2 || outer->linear != last->count * last->linear) return;
    if (last->count * program->tiled_width % 16 && !narrow(program, last->count, stored)) return;
    nest->row.segment = last->count;
    nest->row.segment_jump = outer->tiled - last->count * last->tiled;
    *outer = (Loop){outer->count * last->count, last->tiled, last->linear};
    nest->loops--;
}

/* Every address that a nest starts from and every step that it makes, or-ed together: what divides both, divides all. */
typedef struct Steps { u64 tiled, linear; } Steps;

static Steps with(Steps steps, i64 tiled, i64 linear) {
    return (Steps){steps.tiled | (u64)tiled, steps.linear | (u64)linear};
}

static Steps steps_of(const Nest *nest, Steps steps) {
    steps = with(steps, nest->tiled, nest->linear);
    for (int i = 0; i < nest->loops; i++) steps = with(steps, nest->loop[i].tiled, nest->loop[i].linear);
    return nest->row.groups > 1 ? with(steps, nest->row.group_tiled, nest->row.group_linear) : steps;
}

/* Worth it where whole cache lines are written one after the other: tiles always are, pixels where they are dense.
   Possible only where every store hits a multiple of 16: where all steps on the written side are, and groups of 16
   channels and planes follow each other inside a pixel. */
static int streams_out(const Program *program, const Row *row, Steps steps) {
    i64 pixel = row->groups * row->channels * row->width;
    if (program->packs)
        return program->tiled_bytes >= stream_bytes && row->stored % 16 == 0 && steps.tiled % 16 == 0 &&
               (!scattered(program) || row->tiled_step == 16 * program->tiled_width);
    if (row->channels % 16 || program->linear_bytes < stream_bytes || pixel % 64) return 0;
    return pixel == row->linear_step && steps.linear % 16 == 0;
}

typedef struct Ends { /* of the tiled and of the linear side; and where values are staged */
    const u8 *of[2];
    Buffers *buffers;
} Ends;

/* A run of so few pixels is not worth a call of a converter: they are gathered, all channels of each. */
#if defined(TESSBED_SSSE3)
#define FEW_PIXELS(pixels) ((pixels) < 4)
#else
#define FEW_PIXELS(pixels) 0
#endif

/* The linear side's shape, and how many channels and pixels of it a piece takes (_stage.h). */
static void shape_stage(Stage *s, i64 channels, i64 segment, i64 pixels) {
    int contiguous = channels == 1 || s->channel_step == WIDE;
    i64 most = STAGE_SCALARS;
    s->run = contiguous ? channels : 1;
    if (contiguous && s->pixel_step == WIDE * channels) s->shape = DENSE;
    else if (contiguous && channels >= LONG_CHANNELS) s->shape = LONG;
    else if (s->pixel_step == WIDE && !FEW_PIXELS(pixels)) s->shape = PLANES, most = STAGE_SCALARS / 16;
    else s->shape = SCATTERED;
    if (channels > most) {
        if (s->shape == DENSE) s->shape = LONG;
        s->full = (channels - 1) / most;
        s->lane[0].channels = most;
        channels -= s->full * most;
    }
    s->lane[1].channels = channels;
    s->pixels = STAGE_SCALARS / (s->full ? most : channels);
    if (s->pixels > 16) s->pixels &= ~(i64)15;
#if defined(TESSBED_SSSE3)
    s->pixels = least(s->pixels, pixels);
    if (s->pixels >= segment) s->pixels = s->pixels / segment * segment;
#else
    (void)pixels;
    if (s->pixels >= segment) s->pixels = s->full ? segment : s->pixels / segment * segment;
#endif
}

/* The row of one lane between stage and tiles: that of the nest, with the stage in the place of the linear side. */
static void finish_lane(const Program *program, Nest *nest, Lane *lane, int last) {
    const Stage *s = &nest->stage;
    Program bytes = *program;
    Row *row = &lane->row;
    if (!lane->channels) return;
    *row = nest->row;
    bytes.conversion = fused_of(program->conversion).bytes;
    bytes.width = s->width;
    row->width = s->width;
    row->channel_stride = s->shape == PLANES ? s->pixels * s->width : s->width;
    row->linear_step = s->shape == PLANES ? s->width : lane->channels * s->width;
    row->group_linear = row->group_linear / WIDE * s->width;
    if (program->packs) row->linear_end = s->buffers->narrow + sizeof s->buffers->narrow;
    else row->streams_out = 0;
    if (row->groups == 1) {
        row->stored -= last ? s->full * s->lane[0].channels : row->stored - lane->channels;
        row->channels = lane->channels;
    }
    set_padding(row, (u8)program->fill);
#if defined(TESSBED_SSSE3)
    row->relay = nest->relay + 1 + last;
    row->pixels = least(row->pixels, s->pixels);
#endif
    lane->mover = choose_mover(row, nest->streams, &bytes);
}

static void finish_stage(const Program *program, Nest *nest, Buffers *buffers) {
    Stage *s = &nest->stage;
    const Row *row = &nest->row;
    *s = (Stage){.width = program->tiled_width, .channel_step = row->channel_stride, .pixel_step = row->linear_step,
                 .conversion = fused_of(program->conversion).values, .buffers = buffers};
    uint32_t bits = (uint32_t)program->scale;
    memcpy(&s->quantization.scale, &bits, sizeof bits);
#if defined(TESSBED_SSSE3)
    s->quantization.reciprocal = reciprocal_of(s->quantization.scale);
#endif
    s->quantization.zero_point = (int8_t)program->zero_point;
    s->quantization.rounding = (int32_t)program->rounding;
    shape_stage(s, row->channels * row->groups, row->segment, nest->loop[nest->loops - 1].count);
    finish_lane(program, nest, s->lane, 0);
    finish_lane(program, nest, s->lane + 1, 1);
    RowMover *same = program->packs ? movers->pack_same : movers->unpack_same;
    if (s->shape == DENSE && s->lane[1].mover == same) s->shape = DIRECT, s->pixels = MOST;
    nest->row.stage = s;
    nest->mover = program->packs ? movers->pack_staged : movers->unpack_staged;
}

#if defined(TESSBED_SSSE3)
/* Rows whose pixels are apart, but less so than their channels: gathered, they may be cut, too. */
static int sparse_rows(const Program *program, const Nest *nest, i64 stored) {
    return nest->loops && nest->loop[nest->loops - 1].linear < program->strides[0] &&
           16 * stored * program->width <= RELAY_BYTES;
}

/* The mover of a row that is narrowed without a stage (_narrow.h), or NULL. */
static RowMover *narrowing(const Program *program, const Row *row) {
    const i64 n = row->channels;
    if (program->conversion != NARROW || row->segment < MOST || row->channel_stride != row->width) return NULL;
    if (row->stored != n || n < 16) return NULL;
    return row->groups > 1 ? movers->narrow_groups : movers->narrow_pixels;
}
#endif

static void finish_nest(const Program *program, Nest *nest, i64 channels, i64 stored, i64 plane, Steps steps,
                        const Ends *ends) {
    Row *row = &nest->row;
    row->segment = MOST;
    row->segment_jump = 0;
    if (row->groups > 1 && program->packs) order_loops(nest, program->width); /* reads are the longer streams */
    if (channels > 1 && scattered(program) && order_loops(nest, program->width)) cut_rows(program, nest, stored);
#if defined(TESSBED_SSSE3)
    else if (channels > 1 && scattered(program) && sparse_rows(program, nest, stored)) cut_rows(program, nest, stored);
    if (nest->narrow_dense && order_loops(nest, channels * program->width)) cut_rows(program, nest, stored);
#endif
    if (!nest->loops) nest->loop[nest->loops++] = (Loop){1, stored * program->tiled_width, channels * program->width};
    const Loop *last = nest->loop + nest->loops - 1;
    row->channels = channels;
    row->stored = stored;
    row->plane = plane;
    row->tiled_step = last->tiled;
    row->linear_step = last->linear;
    row->channel_stride = program->strides[0];
    row->width = program->width;
    row->tiled_end = ends->of[0];
    row->linear_end = ends->of[1];
    row->streams_out = streams_out(program, row, steps_of(nest, steps));
    set_padding(row, (u8)program->fill);
    row->streams = NULL;
    row->stage = NULL;
#if defined(TESSBED_SSSE3)
    for (int i = 0; i < 3; i++) nest->relay[i].buffers = &ends->buffers->relay;
    row->relay = nest->relay;
    row->pixels = last->count;
    row->rows = NULL;
#endif
#if defined(TESSBED_SSSE3)
    if ((nest->mover = narrowing(program, row))) return;
#endif
    if (fused_of(program->conversion).values < 0) nest->mover = choose_mover(row, nest->streams, program);
    else finish_stage(program, nest, ends->buffers);
}

#if defined(TESSBED_SSSE3)
/* Rows of which a stage holds several. */
static int short_rows(const Stage *s, i64 pixels) {
    return !s->full && s->pixels >= pixels && 2 * s->pixels * s->lane[1].channels <= STAGE_SCALARS;
}
static int takes_rows(const Nest *nest) {
    const Row *row = &nest->row;
    return row->rows || (row->stage && nest->stage.shape != DIRECT && short_rows(&nest->stage, row->pixels));
}
/* A mover of many rows is called for few pixels where tiles are small: then it takes the rows of tiles side by side, whose
   bytes stay in the second cache until the next row of theirs. */
#define SMALL_PIXELS 64
#define BESIDE_BYTES ((i64)1 << 17)
static void turn_rows(Nest *nest) {
    if (nest->loops < 3 || !takes_rows(nest) || nest->row.streams_out) return;
    Loop *rows = nest->loop + nest->loops - 2, *tiles = rows - 1;
    const Loop kept = *rows;
    if (rows->count * rows[1].count > SMALL_PIXELS || tiles->count <= rows->count) return;
    if (tiles->tiled <= 0 || tiles->tiled > BESIDE_BYTES / tiles->count) return;
    *rows = *tiles;
    *tiles = kept;
}
#endif

/* Groups of 16 channels that lie in tiles or blocks of their own, but side by side on the linear side. */
static Loop channel_groups(const Program *program, const Tiles *t, i64 pixels) {
    if (program->cblocked && t->extents[0] >= 32)
        return (Loop){t->extents[0] / 16, pixels * 16 * program->tiled_width, 16 * program->strides[0]};
    return (Loop){t->counts[0], t->tiled_steps[0], t->linear_steps[0]};
}

static int moves_groups(const Program *program, i64 channels, i64 block, Loop groups) {
    if (fused_of(program->conversion).values >= 0 && groups.linear != 16 * program->strides[0])
        return 0; /* a stage holds them side by side */
    return channels == 16 && block == 16 && program->strides[0] == program->width && groups.count > 1 &&
           groups.count <= MOST_GROUPS;
}

/* The nests of one channel part: one for pixel-major tiles, up to two for channel blocks. Returns how many. */
static int make_nests(const Program *program, const Tiles *t, const Loop *around, int n, Nest *nest, Steps steps,
                      const Ends *ends) {
    i64 block = program->cblocked ? 16 : t->stored, pixel = block * program->tiled_width;
    i64 depth = t->extents[1], height = t->extents[2], width = t->extents[3], pixels = depth * height * width;
    i64 full = program->cblocked ? t->extents[0] / 16 : 1, rest = program->cblocked ? t->extents[0] % 16 : 0;
    Loop groups = channel_groups(program, t, pixels), tail_groups = {1, 0, 0};
    int made = 0;
    for (int tail = 0; tail < 2; tail++) {
        i64 first = tail ? full : 0, channels = !program->cblocked ? t->extents[0] : tail ? rest : 16;
        if (tail ? !rest : !full) continue;
        Loop group = program->cblocked && tail ? tail_groups : groups;
        int inner = moves_groups(program, channels, block, group);
        Nest *one = nest + made++;
        memcpy(one->loop, around, (size_t)n * sizeof(Loop));
        one->loops = n;
        one->tiled = first * pixels * pixel;
        one->linear = first * 16 * program->strides[0];
        int of_tiles = group.count == t->counts[0] && group.tiled == t->tiled_steps[0];
        if (!of_tiles) add_loop(one->loop, &one->loops, t->counts[0], t->tiled_steps[0], t->linear_steps[0]);
        else if (!inner) add_loop(one->loop, &one->loops, group.count, group.tiled, group.linear);
        add_loop(one->loop, &one->loops, depth, height * width * pixel, program->strides[1]);
        add_loop(one->loop, &one->loops, height, width * pixel, program->strides[2]);
        add_loop(one->loop, &one->loops, width, pixel, program->strides[3]);
        if (!of_tiles && !inner) add_loop(one->loop, &one->loops, group.count, group.tiled, group.linear);
        one->row.groups = inner ? group.count : 1;
#if defined(TESSBED_SSSE3)
        one->narrow_dense = narrow_dense(program, t);
#endif
        one->row.group_tiled = group.tiled;
        one->row.group_linear = group.linear;
        finish_nest(program, one, channels, block, block, steps, ends);
#if defined(TESSBED_SSSE3)
        turn_rows(one);
#endif
    }
    return made;
}

static void run_rows(const Nest *nest, const Loop *loop, u8 *tiled, u8 *linear) {
    RowMover *mover = nest->mover;
    i64 pixels = loop[1].count, bytes = pixels * nest->row.tiled_step;
#if defined(TESSBED_SSSE3)
    if (nest->row.rows) nest->row.rows(&nest->row, tiled, loop->tiled, linear, loop->linear, loop->count, pixels);
    else
#endif
    if (mover == movers->pack_same)
        for (i64 i = 0; i < loop->count; i++) copy_run(tiled + i * loop->tiled, linear + i * loop->linear, bytes);
    else if (mover == movers->unpack_same)
        for (i64 i = 0; i < loop->count; i++) copy_run(linear + i * loop->linear, tiled + i * loop->tiled, bytes);
    else if (nest->row.stage && nest->stage.shape == DIRECT)
        movers->convert_rows(&nest->row, tiled, loop->tiled, linear, loop->linear, loop->count, pixels,
                             mover == movers->pack_staged);
#if defined(TESSBED_SSSE3)
    else if (nest->row.stage && short_rows(&nest->stage, pixels))
        movers->staged_rows(&nest->row, tiled, loop->tiled, linear, loop->linear, loop->count, pixels,
                            mover == movers->pack_staged);
#endif
    else
        for (i64 i = 0; i < loop->count; i++) mover(&nest->row, tiled + i * loop->tiled, linear + i * loop->linear, pixels);
}

static void run_nest(const Nest *nest, int depth, u8 *tiled, u8 *linear) {
    const Loop *loop = nest->loop + depth;
    int below = nest->loops - depth - 1;
    if (below == 0) nest->mover(&nest->row, tiled, linear, loop->count);
    else if (below == 1) run_rows(nest, loop, tiled, linear);
    else
        for (i64 i = 0; i < loop->count; i++, tiled += loop->tiled, linear += loop->linear)
            run_nest(nest, depth + 1, tiled, linear);
}

typedef struct Part { /* the tiles of one channel part, under a spatial tile */
    int nests;
    Nest nest[2];
    i64 gap, gap_bytes, tiles, tile_step; /* alignment bytes: where behind a tile's start, how many */
} Part;

typedef struct Around { i64 count, tiled[2], linear; } Around;

typedef struct Spatial { /* one spatial class: loops over slices and tiles around its one or two channel parts */
    Around loop[MAX_LOOPS];
    int loops, parts, taken; /* the nests have taken the loops over: around them only gaps are left to fill */
    int small;               /* else they have those from this one on, which are around small tiles (x86-64) */
    Part part[2];
} Spatial;

typedef struct Place { u8 *tiled[2], *linear[2]; } Place; /* where each channel part is */

static void move_part(const Part *part, u8 *tiled, u8 *linear) {
    for (int i = 0; i < part->nests; i++)
        run_nest(part->nest + i, 0, tiled + part->nest[i].tiled, linear + part->nest[i].linear);
}

static ALWAYS_INLINE void clear(u8 *gap, i64 bytes) {
#if defined(TESSBED_SSSE3)
    if (bytes < 16) { store_part(gap, _mm_setzero_si128(), bytes); return; }
#endif
    memset(gap, 0, (size_t)bytes);
}

static void fill_gaps(const Part *part, u8 *tiled) {
    if (part->gap_bytes)
        for (i64 tile = 0; tile < part->tiles; tile++)
            clear(tiled + tile * part->tile_step + part->gap, part->gap_bytes);
}

/* Small tiles would be moved in many short rows. Nests take over the innermost loops as long as all their tiles are still in
   the first cache when the gaps are filled behind them. (The modelled A65 has no such loops.) */
#if defined(TESSBED_SSSE3)
#define SMALL_BYTES 16384
#define WALKED(all) ((all)->taken ? (all)->loops : (all)->small)

static int first_small(const Spatial *all, const Tiles *const *of) {
    int first = all->loops;
    i64 bytes = 0;
    for (int i = 0; i < all->parts; i++) bytes += of[i]->counts[0] * of[i]->span;
    for (; first && bytes <= SMALL_BYTES / all->loop[first - 1].count; first--) bytes *= all->loop[first - 1].count;
    return first;
}
#define FIND_SMALL(all, of) all.small = all.taken ? 0 : first_small(&all, of);
#define TAKE_SMALL(all, part, around) take_over(&all, all.small, part, around)
static void fill_gaps_from(const Spatial *all, int part, int depth, u8 *tiled) {
    if (depth == all->loops) fill_gaps(all->part + part, tiled);
    else
        for (i64 n = 0; n < all->loop[depth].count; n++, tiled += all->loop[depth].tiled[part])
            fill_gaps_from(all, part, depth + 1, tiled);
}
#else
#define FIND_SMALL(all, of)
#define TAKE_SMALL(all, part, around) 0
#define WALKED(all) ((all)->loops)
#define fill_gaps_from(all, number, depth, tiled) fill_gaps((all)->part + (number), tiled)
#endif

static void run_spatial(const Spatial *all, int depth, Place at) {
    if (depth == WALKED(all)) {
        for (int i = 0; i < all->parts; i++) {
            if (!all->taken) move_part(all->part + i, at.tiled[i], at.linear[i]);
            fill_gaps_from(all, i, depth, at.tiled[i]);
        }
        return;
    }
    const Around *loop = all->loop + depth;
    for (i64 n = 0; n < loop->count; n++) {
        run_spatial(all, depth + 1, at);
        for (int i = 0; i < all->parts; i++) {
            at.tiled[i] += loop->tiled[i];
            at.linear[i] += loop->linear;
        }
    }
}

static void add_around(Spatial *all, i64 count, i64 tiled, i64 other, i64 linear) {
    if (count != 1) all->loop[all->loops++] = (Around){count, {tiled, other}, linear};
}

/* The loops around a part, for its nests to merge them with their own. */
static int take_over(const Spatial *all, int from, int part, Loop *around) {
    int loops = 0;
    for (int i = from; i < all->loops; i++)
        add_loop(around, &loops, all->loop[i].count, all->loop[i].tiled[part], all->loop[i].linear);
    return loops;
}

/* Where a part starts, and the steps of the loops around it. */
static Steps steps_around(const Spatial *all, int part, Place at) {
    Steps steps = {(u64)(uintptr_t)at.tiled[part], (u64)(uintptr_t)at.linear[part]};
    for (int i = 0; i < all->loops; i++) steps = with(steps, all->loop[i].tiled[part], all->loop[i].linear);
    return steps;
}

/* Where a part's gaps are. Returns whether it has any to fill. */
static int set_gaps(const Program *program, const Tiles *t, Part *part) {
    part->gap = t->extents[1] * t->extents[2] * t->extents[3] * t->stored * program->tiled_width;
    part->gap_bytes = program->packs ? t->span - part->gap : 0;
    part->tiles = t->counts[0];
    part->tile_step = t->tiled_steps[0];
    return part->gap_bytes != 0;
}

/* The spatial class of `tiles`; its channel parts lie `apart` classes from each other.

   Nests take over the loops around a lone part without gaps, which need none, and those around scattered channels, which
   are read and written in the order of the linear side. Else they take over loops around small tiles. */
static void run_class(const Program *program, const Tiles *tiles, i64 apart, u8 *tiled, u8 *linear, Buffers *buffers) {
    const Loop *outer = outer_loops(program);
    const Ends ends = {{tiled + program->tiled_bytes, linear + program->linear_bytes}, buffers};
    const Tiles *of[2] = {tiles, tiles + (program->parts[0] - 1) * apart};
    int gaps = 0;
    Spatial all;
    Place at;
    all.loops = 0;
    all.parts = (int)program->parts[0];
    for (i64 i = 0; i < program->outer; i++)
        add_around(&all, outer[i].count, outer[i].tiled, outer[i].tiled, outer[i].linear);
    for (int i = 1; i < 4; i++)
        add_around(&all, tiles->counts[i], tiles->tiled_steps[i], of[1]->tiled_steps[i], tiles->linear_steps[i]);
    for (int i = 0; i < all.parts; i++) gaps |= set_gaps(program, of[i], all.part + i);
    all.taken = scattered(program) || (all.parts == 1 && !gaps) || narrow_dense(program, tiles);
    FIND_SMALL(all, of)
    for (int i = 0; i < all.parts; i++) {
        Loop around[MAX_LOOPS];
        int loops = all.taken ? take_over(&all, 0, i, around) : TAKE_SMALL(all, i, around);
        at.tiled[i] = tiled + of[i]->tiled_offset;
        at.linear[i] = linear + of[i]->linear_offset;
        all.part[i].nests = make_nests(program, of[i], around, loops, all.part[i].nest, steps_around(&all, i, at), &ends);
        if (all.taken) move_part(all.part + i, at.tiled[i], at.linear[i]);
    }
    if (!all.taken || gaps) run_spatial(&all, 0, at);
}

static void run_program(const Program *program, u8 *tiled, u8 *linear) {
    const Tiles *tiles = tile_classes(program);
    const int calculates = fused_of(program->conversion).values >= TO_INT8;
    i64 apart = spatial_classes(program);
    FpState state;
    Buffers buffers;
    if (calculates) state = enter_default_fp();
    for (i64 i = 0; i < apart; i++) run_class(program, tiles + i, apart, tiled, linear, &buffers);
    if (calculates) leave_default_fp(state);
    stream_end();
}

#endif
