/* Rows whose channels lie apart and whose pixels are contiguous: channel-first, width-first and the like.

   Theory. Sixteen channels by sixteen bytes of each are a matrix, one channel a line of it, and tiles want its columns.
   A scalar of two bytes is two columns: of its low and of its high byte. So column b is plane b % width of pixel
   b / width; BF16 needs no other network than INT8, no step that takes words apart, and packing and unpacking are the same
   transposition with the addresses of its lines and columns exchanged.

   Transposing is four rounds of zips. A zip of lines i and i + 8 interleaves them; after rounds with distances 8, 4, 2 and
   1, line c holds column c with its bytes in the order of the lines. The first round's low halves hold columns 0 to 7, its
   high halves columns 8 to 15, and the rounds behind it never bring the two together again. So a block is moved as two
   halves of eight columns, each in eight registers, and the lines are loaded for both: loads are cheaper than the stores
   and loads of registers that do not suffice. A duo has two matrices side by side; its zips work on both.

   Blocks cover a row in this way:
   - pixels: by blocks of 16 / width, two at once in a duo; the last block ends with the row and overlaps the one before.
     A row that is shorter than a block is an edge.
   - channels: by groups of 16; a compact pixel of more than 16 ends with a group that overlaps the one before. What is
     left, a padded rest or a pixel of less than 16, is an edge.
   - an edge is a block some of whose lines are missing, and some of whose columns are not written.
   Bytes that are covered twice are written twice, with the same values. No input is an output, so that is harmless.

   Cut rows. Tiles side by side continue the same linear rows. So a row may be cut into segments of as many pixels, whose
   tiled places are `segment_jump` from each other's ends: then each channel is read, or written, as one long stream. Segments are multiples
   of a block; only the row as a whole has an end to overlap, and only where it has one segment.

   Few channels (to 8, in padding-free pixels) need no network: 16 / width pixels are as many vectors as there are channels
   on either side, and each vector is put together from those of the other side by one shuffle of each. */

#ifndef TESSBED_TRANSPOSE_H
#define TESSBED_TRANSPOSE_H

#include "_move.h"

/* Columns of eight lines that are zips of the lines i and i + 8 of a block: rounds with distances 4, 2 and 1. */
#define COLUMNS(V, zip_low, zip_high)                                                                                  \
    do {                                                                                                               \
        V b0 = zip_low(m[0], m[4]), b1 = zip_low(m[1], m[5]), b2 = zip_low(m[2], m[6]), b3 = zip_low(m[3], m[7]);      \
        V b4 = zip_high(m[0], m[4]), b5 = zip_high(m[1], m[5]), b6 = zip_high(m[2], m[6]), b7 = zip_high(m[3], m[7]);  \
        V c0 = zip_low(b0, b2), c1 = zip_low(b1, b3), c2 = zip_high(b0, b2), c3 = zip_high(b1, b3);                    \
        V c4 = zip_low(b4, b6), c5 = zip_low(b5, b7), c6 = zip_high(b4, b6), c7 = zip_high(b5, b7);                    \
        m[0] = zip_low(c0, c1), m[1] = zip_high(c0, c1), m[2] = zip_low(c2, c3), m[3] = zip_high(c2, c3);              \
        m[4] = zip_low(c4, c5), m[5] = zip_high(c4, c5), m[6] = zip_low(c6, c7), m[7] = zip_high(c6, c7);              \
    } while (0)

#define EIGHT(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)

/* A block: LINE(i) loads a line, PUT(b, v) takes column b. */
#define BLOCK(V, zip_low, zip_high, LINE, PUT)                                                                         \
    do {                                                                                                               \
        V m[8];                                                                                                        \
        m[0] = zip_low(LINE(0), LINE(8)), m[1] = zip_low(LINE(1), LINE(9)), m[2] = zip_low(LINE(2), LINE(10));         \
        m[3] = zip_low(LINE(3), LINE(11)), m[4] = zip_low(LINE(4), LINE(12)), m[5] = zip_low(LINE(5), LINE(13));       \
        m[6] = zip_low(LINE(6), LINE(14)), m[7] = zip_low(LINE(7), LINE(15));                                          \
        COLUMNS(V, zip_low, zip_high);                                                                                 \
        PUT(0)                                                                                                         \
        m[0] = zip_high(LINE(0), LINE(8)), m[1] = zip_high(LINE(1), LINE(9)), m[2] = zip_high(LINE(2), LINE(10));      \
        m[3] = zip_high(LINE(3), LINE(11)), m[4] = zip_high(LINE(4), LINE(12)), m[5] = zip_high(LINE(5), LINE(13));    \
        m[6] = zip_high(LINE(6), LINE(14)), m[7] = zip_high(LINE(7), LINE(15));                                        \
        COLUMNS(V, zip_low, zip_high);                                                                                 \
        PUT(8)                                                                                                         \
    } while (0)

/* Where column b of a block belongs on the tiled side: plane b % planes of pixel b / planes. */
#define COLUMN(tiled, b) ((tiled) + (b) / planes * step + (b) % planes * plane)

static ALWAYS_INLINE void pack_block(const Row *row, u8 *tiled, const u8 *linear, i64 planes) {
    const i64 step = row->tiled_step, plane = row->plane, apart = row->channel_stride;
#define LINE(i) load(linear + (i) * apart)
#define ONE(k) store(COLUMN(tiled, first + k), m[k]);
#define STREAMED(k) stream(COLUMN(tiled, first + k), m[k]);
#define PUT(number) { const i64 first = number; if (row->streams_out) { EIGHT(STREAMED) } else { EIGHT(ONE) } }
    BLOCK(vec, zip_lo, zip_hi, LINE, PUT);
#undef LINE
#undef ONE
#undef STREAMED
#undef PUT
}
static ALWAYS_INLINE void put_line(u8 *to, vec v, i64 width) {
    if (width == 4) store_duo(to, widen8(v));
    else store(to, v);
}
static ALWAYS_INLINE void unpack_block(const Row *row, const u8 *tiled, u8 *linear, i64 planes, i64 width) {
    const i64 step = row->tiled_step, plane = row->plane, apart = row->channel_stride;
#define LINE(i) load(COLUMN(tiled, i))
#define ONE(k) put_line(linear + (first + k) * apart, m[k], width);
#define PUT(number) { const i64 first = number; EIGHT(ONE) }
    BLOCK(vec, zip_lo, zip_hi, LINE, PUT);
#undef LINE
#undef ONE
#undef PUT
}
static ALWAYS_INLINE void put_part(u8 *to, vec v, i64 bytes, i64 width) {
    if (width < 4) { store_part(to, v, bytes); return; }
    store_part(to, wide_lo(v), least(bytes, 16));
    if (bytes > 16) store_part(to + 16, wide_hi(v), bytes - 16);
}
#ifdef WIDE_DUO /* the two blocks of a duo have tiled places of their own */
static ALWAYS_INLINE void pack_duo_block(const Row *row, u8 *tiled, u8 *other, const u8 *linear, i64 planes) {
    const i64 step = row->tiled_step, plane = row->plane, apart = row->channel_stride;
#define LINE(i) load_duo(linear + (i) * apart)
#define LOW(k) store(COLUMN(tiled, first + k), low_of(m[k]));
#define HIGH(k) store(COLUMN(other, first + k), high_of(m[k]));
#define LOW_STREAMED(k) stream(COLUMN(tiled, first + k), low_of(m[k]));
#define HIGH_STREAMED(k) stream(COLUMN(other, first + k), high_of(m[k]));
#define PUT(number) {                                                                                                  \
        const i64 first = number;                                                                                      \
        if (row->streams_out) { EIGHT(LOW_STREAMED) EIGHT(HIGH_STREAMED) } else { EIGHT(LOW) EIGHT(HIGH) }             \
    }
    BLOCK(duo, duo_zip_lo, duo_zip_hi, LINE, PUT);
#undef LINE
#undef LOW
#undef HIGH
#undef LOW_STREAMED
#undef HIGH_STREAMED
#undef PUT
}
static ALWAYS_INLINE void put_duo_line(u8 *to, duo d, i64 width) {
    if (width != 4) { store_duo(to, d); return; }
    store_duo(to, widen8(low_of(d)));
    store_duo(to + 32, widen8(high_of(d)));
}
static ALWAYS_INLINE void unpack_duo_block(const Row *row, const u8 *tiled, const u8 *other, u8 *linear, i64 planes,
                                           i64 width) {
    const i64 step = row->tiled_step, plane = row->plane, apart = row->channel_stride;
#define LINE(i) duo_of(load(COLUMN(tiled, i)), load(COLUMN(other, i)))
#define ONE(k) put_duo_line(linear + (first + k) * apart, m[k], width);
#define PUT(number) { const i64 first = number; EIGHT(ONE) }
    BLOCK(duo, duo_zip_lo, duo_zip_hi, LINE, PUT);
#undef LINE
#undef ONE
#undef PUT
}
#endif

#ifdef WIDE_DUO
/* A pair is two groups of channels, side by side in each pixel: a column of it is 32 bytes. The first `columns` are moved. */
static ALWAYS_INLINE void pack_pair(const Row *row, u8 *tiled, const u8 *linear, i64 planes, i64 columns) {
    const i64 step = row->tiled_step, plane = row->plane, apart = row->channel_stride;
#define LINE(i) duo_of(load(linear + (i) * apart), load(linear + ((i) + 16) * apart))
#define ONE(k) if (first + k < columns) store_duo(COLUMN(tiled, first + k), m[k]);
#define PUT(number) { const i64 first = number; EIGHT(ONE) }
    BLOCK(duo, duo_zip_lo, duo_zip_hi, LINE, PUT);
#undef LINE
#undef ONE
#undef PUT
}
static ALWAYS_INLINE void unpack_pair(const Row *row, const u8 *tiled, u8 *linear, i64 planes, i64 width, i64 bytes) {
    const i64 step = row->tiled_step, plane = row->plane, apart = row->channel_stride;
#define LINE(i) load_duo(COLUMN(tiled, i))
#define ONE(k)                                                                                                         \
    put_part(linear + (first + k) * apart, low_of(m[k]), bytes, width);                                                \
    put_part(linear + (first + k + 16) * apart, high_of(m[k]), bytes, width);
#define PUT(number) { const i64 first = number; EIGHT(ONE) }
    BLOCK(duo, duo_zip_lo, duo_zip_hi, LINE, PUT);
#undef LINE
#undef ONE
#undef PUT
}
#endif

#if defined(TESSBED_SSSE3)
/* A block of a row that is shorter: of its columns, or of each channel, the first so many bytes are moved. Lines are read whole. */
static ALWAYS_INLINE void pack_part(const Row *row, u8 *tiled, const u8 *linear, i64 planes, i64 columns) {
    const i64 step = row->tiled_step, plane = row->plane, apart = row->channel_stride;
#define LINE(i) load(linear + (i) * apart)
#define ONE(k) if (first + k < columns) store(COLUMN(tiled, first + k), m[k]);
#define PUT(number) { const i64 first = number; EIGHT(ONE) }
    BLOCK(vec, zip_lo, zip_hi, LINE, PUT);
#undef LINE
#undef ONE
#undef PUT
}
static ALWAYS_INLINE void unpack_part(const Row *row, const u8 *tiled, u8 *linear, i64 planes, i64 width, i64 bytes) {
    const i64 step = row->tiled_step, plane = row->plane, apart = row->channel_stride;
#define LINE(i) load(COLUMN(tiled, i))
#define ONE(k) put_part(linear + (first + k) * apart, m[k], bytes, width);
#define PUT(number) { const i64 first = number; EIGHT(ONE) }
    BLOCK(vec, zip_lo, zip_hi, LINE, PUT);
#undef LINE
#undef ONE
#undef PUT
}
/* Where a block's last line ends. */
static ALWAYS_INLINE const u8 *packed_lines_end(const Row *row, const u8 *linear) {
    return linear + 15 * row->channel_stride + 16;
}
static ALWAYS_INLINE const u8 *unpacked_lines_end(const Row *row, const u8 *tiled, i64 planes) {
    return tiled + (16 / planes - 1) * row->tiled_step + (planes - 1) * row->plane + 16;
}
#define OR_PART(read, end, move) else if ((read) <= (end)) move;
#else
#define OR_PART(read, end, move)
#endif

/* What a block at an edge covers: its channels and pixels, the bytes that are written of each plane of a pixel (or 16 where
   they end at `over` or before, since the next plane or pixel is written afterwards). */
typedef struct Edge { i64 channels, pixels, stored; const u8 *over; } Edge;

/* The lines of an edge, or bytes of `blank` where there are none; lines that can not be read whole are copied. */
static ALWAYS_INLINE void edge_lines(const u8 **line, i64 lines, i64 bytes, const u8 *end, const u8 *blank, u8 (*copy)[16]) {
    for (i64 i = lines; i < 16; i++) line[i] = blank;
    for (i64 i = lines - 1; i >= 0 && end - line[i] < 16; i--) {
        memcpy(copy[i], line[i], (size_t)bytes);
        line[i] = copy[i];
    }
}
static ALWAYS_INLINE void pack_edge(const Row *row, u8 *tiled, const u8 *linear, i64 planes, Edge edge) {
    const i64 step = row->tiled_step, plane = row->plane, columns = edge.pixels * planes;
    const u8 *line[16];
    u8 copy[16][16], blank[16];
    memset(blank, row->fill_byte, sizeof blank);
    for (i64 i = 0; i < edge.channels; i++) line[i] = linear + i * row->channel_stride;
    edge_lines(line, edge.channels, columns, row->linear_end, blank, copy);
#define LINE(i) load(line[i])
#define ONE(k)                                                                                                         \
    if (first + k < columns) {                                                                                         \
        u8 *to = COLUMN(tiled, first + k);                                                                             \
        if (edge.stored == 16 || to + 16 <= edge.over) store(to, m[k]);                                                \
        else store_part(to, m[k], edge.stored);                                                                        \
    }
#define PUT(number) { const i64 first = number; EIGHT(ONE) }
    BLOCK(vec, zip_lo, zip_hi, LINE, PUT);
#undef LINE
#undef ONE
#undef PUT
}
static ALWAYS_INLINE void unpack_edge(const Row *row, const u8 *tiled, u8 *linear, i64 planes, i64 width, Edge edge) {
    const i64 step = row->tiled_step, plane = row->plane, bytes = edge.pixels * width;
    const u8 *line[16];
    u8 copy[16][16], blank[16] = {0};
    for (i64 b = 0; b < edge.pixels * planes; b++) line[b] = COLUMN(tiled, b);
    edge_lines(line, edge.pixels * planes, edge.channels, row->tiled_end, blank, copy);
#define LINE(i) load(line[i])
#define ONE(k)                                                                                                         \
    if (first + k < edge.channels) {                                                                                   \
        u8 *to = linear + (first + k) * row->channel_stride;                                                           \
        put_part(to, m[k], bytes, width);                                                                              \
    }
#define PUT(number) { const i64 first = number; EIGHT(ONE) }
    BLOCK(vec, zip_lo, zip_hi, LINE, PUT);
#undef LINE
#undef ONE
#undef PUT
}

static void pack_byte_edge(const Row *row, u8 *tiled, const u8 *linear, Edge edge) { pack_edge(row, tiled, linear, 1, edge); }
static void pack_word_edge(const Row *row, u8 *tiled, const u8 *linear, Edge edge) { pack_edge(row, tiled, linear, 2, edge); }
static void unpack_byte_edge(const Row *row, const u8 *tiled, u8 *linear, Edge edge) {
    unpack_edge(row, tiled, linear, 1, 1, edge);
}
static void unpack_word_edge(const Row *row, const u8 *tiled, u8 *linear, Edge edge) {
    if (row->width == 2) unpack_edge(row, tiled, linear, 2, 2, edge);
    else unpack_edge(row, tiled, linear, 2, 4, edge);
}

/* The tiled place of the next pixel of a cut row, and how many pixels follow in its segment. */
typedef struct Cursor { u8 *place; i64 left; } Cursor;

static ALWAYS_INLINE u8 *next_place(Cursor *at, const Row *row, i64 pixels) {
    u8 *place = at->place;
    at->left -= pixels;
    at->place += pixels * row->tiled_step;
    if (at->left) return place;
    at->place += row->segment_jump;
    at->left = row->segment;
    return place;
}

/* Whole groups of channels, `last` being where the last one starts, and the rest behind them. */
typedef struct Groups { i64 last, rest, rest_at, stored; } Groups;

static ALWAYS_INLINE Groups groups_of(const Row *row) {
    const i64 n = row->channels, whole = n & ~(i64)15;
    if (row->stored == n && n >= 16) return (Groups){n - 16, 0, 0, 0};
    return (Groups){whole - 16, n - whole, whole, row->stored == n ? n : 16};
}
#define EACH_GROUP for (i64 c = 0; c <= g.last; c = c < g.last && c + 16 > g.last ? g.last : c + 16)

/* How far stores of a dense pixel of less than 16 channels may run over: to the end of its segment. */
static ALWAYS_INLINE const u8 *over_end(const Row *row, Cursor at, i64 planes) {
    return row->tiled_step == row->stored * planes ? at.place + at.left * row->tiled_step : NULL;
}

#ifdef WIDE_DUO
/* The channels of whole groups, pair by pair; the last pair overlaps the one before. */
#define EACH_PAIR for (i64 c = 0, last = g.last - 16; c <= last; c = c < last && c + 32 > last ? last : c + 32)

/* Packs the whole groups of a row by pairs, if there are two or more and each line can be read whole. Returns whether it did. */
static ALWAYS_INLINE int pack_pairs(const Row *row, Groups g, u8 *tiled, u8 *linear, i64 pixels, i64 planes) {
    const i64 block = 16 / planes, chunk = row->chunk, apart = row->channel_stride;
    if (g.last < 16) return 0;
    if (pixels < block) {
        if (packed_lines_end(row, linear + g.last * apart) > row->linear_end) return 0;
        EACH_PAIR pack_pair(row, tiled + c, linear + c * apart, planes, pixels * planes);
        return 1;
    }
    Cursor start = {tiled, least(row->segment, pixels)}, at = start;
    for (i64 p0 = 0; p0 < pixels; p0 += chunk, start = at) {
        const i64 end = least(pixels, p0 + chunk);
        EACH_PAIR {
            at = start;
            for (i64 p = p0; p < end; p += block) {
                if (end - p < block) p = pixels - block, at = (Cursor){tiled + p * row->tiled_step, block};
                pack_pair(row, next_place(&at, row, block) + c, linear + p * planes + c * apart, planes, 16);
            }
        }
    }
    return 1;
}
/* Unpacks a row that is shorter than a block in the same way. */
static ALWAYS_INLINE int unpack_pairs(const Row *row, Groups g, u8 *tiled, u8 *linear, i64 pixels, i64 planes, i64 width) {
    const i64 block = 16 / planes;
    if (g.last < 16 || pixels >= block) return 0;
    if (unpacked_lines_end(row, tiled + g.last, planes) > row->tiled_end) return 0;
    EACH_PAIR unpack_pair(row, tiled + c, linear + c * row->channel_stride, planes, width, pixels * width);
    return 1;
}
#endif

/* Goes through a row by chunks of pixels, groups of channels and blocks of pixels: `duo` and `whole` move blocks of the group
   at channel c, `edge` what is no whole block. */
#define TRANSPOSED(planes, width, PAIRS, DUO, WHOLE, PART, EDGE)                                                                \
    const i64 block = 16 / (planes), chunk = row->chunk, apart = row->channel_stride;                                  \
    Groups g = groups_of(row);                                                                                         \
    if (PAIRS) g.last = -1;                                                                                            \
    Cursor start = {tiled, least(row->segment, pixels)};                                                               \
    for (i64 p0 = 0; p0 < pixels; p0 += chunk) {                                                                       \
        const i64 end = least(pixels, p0 + chunk);                                                                     \
        Cursor at = start;                                                                                             \
        EACH_GROUP {                                                                                                   \
            i64 p = p0;                                                                                                \
            at = start;                                                                                                \
            DUO                                                                                                        \
            for (; p < end; p += block) {                                                                              \
                if (end - p < block && pixels >= block) {                                                              \
                    p = pixels - block;                                                                                \
                    at = (Cursor){tiled + p * row->tiled_step, block};                                                 \
                }                                                                                                      \
                const i64 count = least(block, end - p);                                                               \
                u8 *const first = next_place(&at, row, count) + c, *const line = linear + p * (width) + c * apart;     \
                if (count == block) WHOLE;                                                                             \
                PART                                                                                                   \
                else EDGE(((Edge){16, count, 16, NULL}));                                                              \
            }                                                                                                          \
        }                                                                                                              \
        if (g.rest) {                                                                                                  \
            at = start;                                                                                                \
            for (i64 p = p0; p < end; p += block) {                                                                    \
                if (end - p < block && pixels >= block) {                                                              \
                    p = pixels - block;                                                                                \
                    at = (Cursor){tiled + p * row->tiled_step, block};                                                 \
                }                                                                                                      \
                const Edge edge = {g.rest, least(block, end - p), g.stored, over_end(row, at, planes)};                \
                u8 *const first = next_place(&at, row, edge.pixels) + g.rest_at;                                       \
                u8 *const line = linear + p * (width) + g.rest_at * apart;                                             \
                EDGE(edge);                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
        start = at;                                                                                                    \
    }
#ifdef WIDE_DUO
#define DUOS(width, MOVE)                                                                                              \
    for (; p + 2 * block <= end; p += 2 * block) {                                                                     \
        u8 *const first = next_place(&at, row, block) + c, *const other = next_place(&at, row, block) + c;             \
        u8 *const line = linear + p * (width) + c * apart;                                                             \
        MOVE;                                                                                                          \
    }
#define PAIRS(moved) moved
#else
#define DUOS(width, MOVE)
#define PAIRS(moved) 0
#endif

static ALWAYS_INLINE void pack_transposed(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 planes) {
#define EDGE(edge) (planes == 1 ? pack_byte_edge : pack_word_edge)(row, first, line, edge)
    TRANSPOSED(planes, planes, PAIRS(pack_pairs(row, g, tiled, linear, pixels, planes)), DUOS(planes, pack_duo_block(row, first, other, line, planes)),
               pack_block(row, first, line, planes),
               OR_PART(packed_lines_end(row, line), row->linear_end, pack_part(row, first, line, planes, count * planes)),
               EDGE)
#undef EDGE
}
static void pack_transposed_bytes(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    pack_transposed(row, tiled, linear, pixels, 1);
}
static void pack_transposed_words(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    pack_transposed(row, tiled, linear, pixels, 2);
}
static ALWAYS_INLINE void unpack_transposed(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 planes, i64 width) {
#define EDGE(edge) (planes == 1 ? unpack_byte_edge : unpack_word_edge)(row, first, line, edge)
    TRANSPOSED(planes, width, PAIRS(unpack_pairs(row, g, tiled, linear, pixels, planes, width)), DUOS(width, unpack_duo_block(row, first, other, line, planes, width)),
               unpack_block(row, first, line, planes, width),
               OR_PART(unpacked_lines_end(row, first, planes), row->tiled_end,
                       unpack_part(row, first, line, planes, width, count * width)),
               EDGE)
#undef EDGE
}
static void unpack_transposed_bytes(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    unpack_transposed(row, tiled, linear, pixels, 1, 1);
}
static void unpack_transposed_words(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    if (row->width == 2) unpack_transposed(row, tiled, linear, pixels, 2, 2);
    else unpack_transposed(row, tiled, linear, pixels, 2, 4);
}

/* Few channels: vector `to` of one side from all those of the other. A duo holds two such sets of vectors, each with places
   of its own; a last block alone is put in both. */
#ifdef WIDE_DUO
typedef duo Set;
#define SET_BLOCKS 2
static ALWAYS_INLINE Set load_set(const u8 *first, const u8 *other) { return duo_of(load(first), load(other)); }
static ALWAYS_INLINE Set weave(Set s, const u8 *table) { return duo_shuffle(s, duo_twice(load(table))); }
static ALWAYS_INLINE Set both(Set a, Set b) { return duo_either(a, b); }
static ALWAYS_INLINE void store_set(u8 *first, u8 *other, Set s, i64 width) {
    put_line(first, low_of(s), width);
    put_line(other, high_of(s), width);
}
#else
typedef vec Set;
#define SET_BLOCKS 1
static ALWAYS_INLINE Set load_set(const u8 *first, const u8 *other) { (void)other; return load(first); }
static ALWAYS_INLINE Set weave(Set s, const u8 *table) { return shuffle(s, load(table)); }
static ALWAYS_INLINE Set both(Set a, Set b) { return either(a, b); }
static ALWAYS_INLINE void store_set(u8 *first, u8 *other, Set s, i64 width) { (void)other; put_line(first, s, width); }
#endif

static ALWAYS_INLINE Set woven(const Row *row, const Set *from, i64 to, i64 n) {
    Set s = weave(from[0], row->streams[to][0]);
    for (i64 k = 1; k < n; k++) s = both(s, weave(from[k], row->streams[to][k]));
    return s;
}
static ALWAYS_INLINE void pack_few_sets(const Row *row, u8 *first, u8 *other, const u8 *linear, i64 jump, i64 n) {
    Set from[MAX_STREAMS];
    for (i64 c = 0; c < n; c++, linear += row->channel_stride) from[c] = load_set(linear, linear + jump);
    for (i64 k = 0; k < n; k++) store_set(first + 16 * k, other + 16 * k, woven(row, from, k, n), 1);
}
static ALWAYS_INLINE void unpack_few_sets(const Row *row, u8 *first, u8 *other, u8 *linear, i64 jump, i64 n, i64 width) {
    Set from[MAX_STREAMS];
    for (i64 k = 0; k < n; k++) from[k] = load_set(first + 16 * k, other + 16 * k);
    for (i64 c = 0; c < n; c++, linear += row->channel_stride)
        store_set(linear, linear + jump, woven(row, from, c, n), width);
}
/* Walks a row that is no shorter than a block; `move` takes (row, first, other, linear, jump). */
#define FEW_CHANNELS(planes, move, ...)                                                                                         \
    const i64 block = 16 / (planes), width = row->width;                                                               \
    Cursor at = {tiled, least(row->segment, pixels)};                                                                  \
    i64 p = 0;                                                                                                         \
    for (; SET_BLOCKS == 2 && p + 2 * block <= pixels; p += 2 * block) {                                               \
        u8 *first = next_place(&at, row, block), *other = next_place(&at, row, block);                                 \
        move(row, first, other, linear + p * width, block * width, __VA_ARGS__);                                       \
    }                                                                                                                  \
    for (; p < pixels; p += block) {                                                                                   \
        if (pixels - p < block) p = pixels - block, at = (Cursor){tiled + p * row->tiled_step, block};                 \
        u8 *place = next_place(&at, row, block);                                                                       \
        move(row, place, place, linear + p * width, 0, __VA_ARGS__);                                                   \
    }
static ALWAYS_INLINE void pack_few(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 planes) {
    FEW_CHANNELS(planes, pack_few_sets, n)
}
static ALWAYS_INLINE void unpack_few(const Row *row, u8 *tiled, u8 *linear, i64 pixels, i64 n, i64 planes, i64 wide) {
    FEW_CHANNELS(planes, unpack_few_sets, n, wide)
}
/* Two to four channels get loops of their own, which the compiler unrolls. */
#define BY_CHANNELS(loop, ...)                                                                                         \
    switch (row->channels) {                                                                                           \
        case 2: loop(row, tiled, linear, pixels, 2, __VA_ARGS__); break;                                               \
        case 3: loop(row, tiled, linear, pixels, 3, __VA_ARGS__); break;                                               \
        case 4: loop(row, tiled, linear, pixels, 4, __VA_ARGS__); break;                                               \
        default: loop(row, tiled, linear, pixels, row->channels, __VA_ARGS__);                                         \
    }
/* A row that is shorter than a block: vectors of all channels, as far as they are the row's. Returns 0 where a read would leave
   the declared span. */
#if defined(TESSBED_SSSE3)
static ALWAYS_INLINE vec woven_vec(const Row *row, const vec *from, i64 to) {
    vec v = shuffle(from[0], load(row->streams[to][0]));
    for (i64 k = 1; k < row->channels; k++) v = either(v, shuffle(from[k], load(row->streams[to][k])));
    return v;
}
static inline int pack_short(const Row *row, u8 *tiled, const u8 *linear, i64 pixels) {
    const i64 n = row->channels, apart = row->channel_stride, bytes = pixels * row->tiled_step;
    vec from[MAX_STREAMS];
    if (row->linear_end - (linear + (n - 1) * apart) < 16) return 0;
    for (i64 c = 0; c < n; c++) from[c] = load(linear + c * apart);
    for (i64 k = 0; 16 * k < bytes; k++) store_part(tiled + 16 * k, woven_vec(row, from, k), bytes - 16 * k);
    return 1;
}
static inline int unpack_short(const Row *row, const u8 *tiled, u8 *linear, i64 pixels) {
    const i64 n = row->channels, bytes = pixels * row->width;
    vec from[MAX_STREAMS];
    if (row->tiled_end - tiled < 16 * n) return 0;
    for (i64 k = 0; k < n; k++) from[k] = load(tiled + 16 * k);
    for (i64 c = 0; c < n; c++) put_part(linear + c * row->channel_stride, woven_vec(row, from, c), bytes, row->width);
    return 1;
}
#else
static inline int pack_short(const Row *row, u8 *tiled, const u8 *linear, i64 pixels) {
    (void)row, (void)tiled, (void)linear, (void)pixels;
    return 0;
}
static inline int unpack_short(const Row *row, const u8 *tiled, u8 *linear, i64 pixels) {
    (void)row, (void)tiled, (void)linear, (void)pixels;
    return 0;
}
#endif

static void pack_streams(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    if (pixels * row->width < 16) {
        if (!pack_short(row, tiled, linear, pixels)) pack_scalars(row, tiled, linear, pixels);
    }
    else if (row->width == 1) BY_CHANNELS(pack_few, 1)
    else BY_CHANNELS(pack_few, 2)
}
static void unpack_streams(const Row *row, u8 *tiled, u8 *linear, i64 pixels) {
    if (pixels * least(row->width, 2) < 16) {
        if (!unpack_short(row, tiled, linear, pixels)) unpack_scalars(row, tiled, linear, pixels);
    }
    else if (row->width == 1) BY_CHANNELS(unpack_few, 1, 1)
    else if (row->width == 2) BY_CHANNELS(unpack_few, 2, 2)
    else BY_CHANNELS(unpack_few, 2, 4)
}

#endif
