/* All row movers of one set of vector instructions, by name: _execute.h picks among them. */

#ifndef TESSBED_MOVERS_H
#define TESSBED_MOVERS_H

#include "_transpose.h"
#include "_narrow.h"
#include "_pixels.h"
#include "_stage.h"

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
