/* All row movers of one set of vector instructions, by name: _execute.h picks among them. */

#ifndef TESSBED_MOVERS_H
#define TESSBED_MOVERS_H

#include "_transpose.h"
#include "_narrow.h"
#include "_padded.h"
#include "_stage.h"

#if defined(TESSBED_AVX2)
/* The mover of such rows, or NULL; `planes` is a tiled scalar's width. */
static RowsMover *padded_rows_of(const Row *row, i64 planes) {
    const i64 n = row->channels, streams = row->streams_out != 0;
    const int alone = row->stored == 16 && n <= 8;
    if (planes == 1 && alone && row->tiled_step == 16 && row->linear_step == n)
        return streams ? pack_byte_pairs_streamed : pack_byte_pairs_rows;
    if (planes == 1) return streams ? pack_byte_padding_streamed : pack_byte_padding_rows;
    if (alone && row->plane == 16) return streams ? pack_few_words_streamed : pack_few_words_rows;
    return streams ? pack_word_padding_streamed : pack_word_padding_rows;
}
static RowsMover *byte_rows_of(const Row *row, int packs) {
    const i64 n = row->channels;
    if (!packs && n <= 4 && row->stored == 16 && row->tiled_step == 16 && row->linear_step == n) return unpack_four_bytes;
    return n > 16 && n != 32 && n != 64 && n <= 128 ? packs ? pack_byte_rows : unpack_byte_rows : NULL;
}
/* The movers of words, split, joined and widened, up to so many channels; and which of them leave an excess behind a pixel. */
static const struct { i64 most; RowsMover *made[3]; int excess[3]; } WORD_ROWS[] = {
    {8, {NULL, NULL, NULL}, {0, 0, 0}},
    {15, {split_under16, join_under16, widen_under16}, {1, 1, 1}},
    {16, {NULL, NULL, NULL}, {0, 0, 0}}, /* whole registers: the movers of _move.h */
    {31, {split_under32, join_under32, widen_under32}, {1, 0, 0}},
    {32, {NULL, NULL, NULL}, {0, 0, 0}},
    {INT64_MAX, {split_over32, join_over32, widen_over32}, {0, 0, 0}},
};
static RowsMover *word_rows_of(const Row *row, int made, int dense) {
    int i = 0;
    while (row->channels > WORD_ROWS[i].most) i++;
    return WORD_ROWS[i].excess[made] && !dense ? NULL : WORD_ROWS[i].made[made];
}
static RowsMover *rows_of(const Row *row, i64 planes, int packs) {
    const i64 n = row->channels;
    const int dense = packs ? row->tiled_step == 2 * n : row->linear_step == n * row->width;
    const int made = packs ? 0 : row->width == 2 ? 1 : 2;
    if (packs && row->stored != n) return padded_rows_of(row, planes);
    if (row->streams_out) return NULL;
    if (planes == 1) return byte_rows_of(row, packs);
    if (row->group) return (RowsMover *const[]){pack_cross_rows, unpack_cross_rows, widen_cross_rows}[made];
    if (!packs && n <= 4 && dense && row->plane == 16 && row->tiled_step == 32)
        return made == 1 ? join_four_words : widen_four_words;
    return word_rows_of(row, made, dense);
}

/* One row alone. */
static void each_row(const Row *row, u8 *tiled, u8 *linear, i64 pixels) { row->rows(row, tiled, 0, linear, 0, 1, pixels); }
#endif

typedef struct Movers {
    const char *name;
    RowMover *pack_same, *unpack_same, *pack_cross, *unpack_cross, *widen_cross, *pack_bytes, *unpack_bytes;
    RowMover *pack_byte_groups, *unpack_byte_groups, *pack_groups, *unpack_groups, *widen_groups;
    RowMover *pack_words, *unpack_words, *widen_words, *pack_transposed_bytes, *pack_transposed_words;
    RowMover *unpack_transposed_bytes, *unpack_transposed_words, *pack_streams, *unpack_streams;
    RowMover *pack_scalars, *unpack_scalars, *pack_staged, *unpack_staged;
    void (*convert_rows)(const Row *, u8 *, i64, u8 *, i64, i64, i64, int);
#if defined(TESSBED_SSSE3)
    RowMover *pack_relayed, *unpack_relayed, *pack_gathered, *unpack_scattered;
    RowMover *narrow_groups, *narrow_pixels, *each_row; /* NULL without AVX2 */
    RowsMover *(*rows_of)(const Row *, i64, int), *pack_same_rows, *unpack_same_rows;
    void (*staged_rows)(const Row *, u8 *, i64, u8 *, i64, i64, i64, int);
#endif
} Movers;

#if defined(TESSBED_AVX2)
#define WITH_AVX2 narrow_groups, narrow_pixels, each_row, rows_of, pack_same_rows, unpack_same_rows
#else
#define WITH_AVX2 NULL, NULL, NULL, NULL, NULL, NULL
#endif
#if defined(TESSBED_SSSE3)
#define RELAYING , pack_relayed, unpack_relayed, pack_gathered, unpack_scattered, WITH_AVX2, staged_rows
#else
#define RELAYING
#endif

#define MOVERS(name)                                                                                                   \
    {                                                                                                                  \
        name, pack_same, unpack_same, pack_cross, unpack_cross, widen_cross, pack_bytes, unpack_bytes,                 \
            pack_byte_groups, unpack_byte_groups, pack_groups, unpack_groups, widen_groups, pack_words, unpack_words,  \
            widen_words, pack_transposed_bytes, pack_transposed_words, unpack_transposed_bytes,                        \
            unpack_transposed_words, pack_streams, unpack_streams, pack_scalars, unpack_scalars, pack_staged,          \
            unpack_staged, convert_rows RELAYING                                                                       \
    }

#endif
