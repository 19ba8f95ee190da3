/* Row programs: their layout, and the check that one stays inside its storage.

   A program is an array of 64-bit integers that native_rows.py lays out: geometry, loops over outer slices, tile classes.
   `flaw` reads nothing but the program. It follows each class to the last byte that its loops reach on either side, so
   that whoever runs a sound program needs no check of its own: every row lies inside `tiled_bytes` and `linear_bytes`.
   Numbers saturate at MOST instead of overflowing, and MOST is beyond any storage: what saturates is refused. */

#ifndef TESSBED_PROGRAM_H
#define TESSBED_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

typedef int64_t i64;

#define MOST ((i64)1 << 61)
#define MOST_OUTER 6

typedef struct Loop { i64 count, tiled, linear; } Loop;

typedef struct Tiles { /* one class; four-fold fields are in C, D, H, W order */
    i64 counts[4], extents[4], tiled_offset, tiled_steps[4], linear_offset, linear_steps[4], stored, span;
} Tiles;

enum { COPY = 1, SPLIT, JOIN, WIDEN, NARROW, QUANTIZE, DEQUANTIZE }; /* conversions, by the codes of native_rows.py */

typedef struct Program {
    i64 conversion, packs, cblocked, tiled_width, width, fill, outer, parts[4], strides[4], tiled_bytes, linear_bytes;
    i64 scale, zero_point, rounding; /* of a quantization, as a packet has them; else 0 */
    /* followed by `outer` Loops and the product of `parts` Tiles */
} Program;

static inline const Loop *outer_loops(const Program *program) { return (const Loop *)(program + 1); }
static inline const Tiles *tile_classes(const Program *program) {
    return (const Tiles *)(outer_loops(program) + program->outer);
}
static inline i64 spatial_classes(const Program *program) {
    return program->parts[1] * program->parts[2] * program->parts[3];
}

/* Sum and product of two numbers from 0 to MOST. */
static inline i64 plus(i64 a, i64 b) { return a + b < MOST ? a + b : MOST; }
static inline i64 times(i64 a, i64 b) {
#if defined(__GNUC__)
    i64 product;
    return __builtin_mul_overflow(a, b, &product) || product > MOST ? MOST : product;
#else
    return b && a > MOST / b ? MOST : a * b;
#endif
}

static inline i64 at_most(i64 a) { return a < MOST ? a : MOST; }

/* The end of a reach, moved on by the last of `count` steps; MOST where a number makes no sense. */
static inline i64 further(i64 end, i64 count, i64 step) {
    if (count == 1 && step >= 0) return end;
    return count > 1 && step > 0 ? plus(end, times(count - 1, step)) : MOST;
}

/* Every conversion that there are rows for, in each of its directions, with the one pair of widths that it takes:
   nothing is inferred from widths. What is not in this table is refused. */
static const struct { i64 conversion, packs, blocks, tiled_width, width; } KINDS[] = {
    {COPY, 1, 0, 1, 1}, {COPY, 0, 0, 1, 1}, {SPLIT, 1, 0, 2, 2}, {JOIN, 0, 1, 2, 2}, {WIDEN, 0, 1, 2, 4},
    {NARROW, 1, 0, 2, 4}, {QUANTIZE, 1, 0, 1, 4}, {DEQUANTIZE, 0, 1, 1, 4},
};

static inline const char *kind_flaw(const Program *p) {
    const char *found = "its conversion is unknown";
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        if (KINDS[i].conversion != p->conversion) continue;
        found = "no operation moves scalars in this way";
        if (KINDS[i].packs == p->packs && KINDS[i].tiled_width == p->tiled_width && KINDS[i].width == p->width &&
            (p->cblocked == 0 || (p->cblocked == 1 && KINDS[i].blocks)))
            return NULL;
    }
    return found;
}

/* A quantization has a positive finite scale, the byte of a zero point and a rounding mode; nothing else has any. */
static inline const char *quantization_flaw(const Program *p) {
    int calculates = p->conversion == QUANTIZE || p->conversion == DEQUANTIZE;
    if (calculates ? p->scale < 1 || p->scale > 0x7F7FFFFF : p->scale != 0) return "its scale is no positive finite number";
    if (p->zero_point < 0 || p->zero_point > (calculates ? 0xFF : 0)) return "its zero point is no byte";
    if (p->rounding < 0 || p->rounding > (p->conversion == QUANTIZE ? 3 : 0)) return "its rounding mode is unknown";
    return NULL;
}

static inline int stores_its_channels(const Program *p, const Tiles *t) {
    i64 n = t->extents[0];
    if (n < 1 || n >= MOST) return 0;
    return t->stored == (n + 15) / 16 * 16 || (t->stored == n && !p->cblocked);
}

static inline const char *class_flaw(const Program *p, const Tiles *t, const Tiles *first) {
    if (!stores_its_channels(p, t)) return "a pixel stores another number of channels than its format says";
    if (t->tiled_offset < 0 || t->linear_offset < 0 || t->span < 0) return "a tile class starts before its storage";
    i64 payload = times(t->stored, p->tiled_width);
    i64 tiled = plus(at_most(t->tiled_offset), at_most(t->span));
    i64 linear = plus(at_most(t->linear_offset), p->width);
    for (int i = 0; i < 4; i++) {
        if (i && t->extents[i] < 1) return "a tile has no pixels";
        if (i) payload = times(payload, t->extents[i]);
        tiled = further(tiled, t->counts[i], t->tiled_steps[i]);
        linear = further(further(linear, t->counts[i], t->linear_steps[i]), t->extents[i], p->strides[i]);
        if (i && (t->counts[i] != first->counts[i] || (t->counts[i] > 1 && t->linear_steps[i] != first->linear_steps[i])))
            return "channel parts are walked by different loops";
    }
    for (i64 i = 0; i < p->outer; i++) {
        tiled = further(tiled, outer_loops(p)[i].count, outer_loops(p)[i].tiled);
        linear = further(linear, outer_loops(p)[i].count, outer_loops(p)[i].linear);
    }
    if (payload > t->span) return "a tile is larger than its span";
    if (tiled > p->tiled_bytes) return "a tile class leaves the tiled side";
    if (linear > p->linear_bytes) return "a tile class leaves the linear side";
    return NULL;
}

/* Why `bytes` bytes at `program` can not be run, or NULL. */
static inline const char *flaw(const Program *program, i64 bytes) {
    const i64 room = MOST - 1;
    if (bytes < (i64)sizeof(Program)) return "it is shorter than its geometry";
    if (program->outer < 0 || program->outer > MOST_OUTER) return "there are more outer loops than axes";
    i64 classes = 1;
    for (int i = 0; i < 4; i++) {
        if (program->parts[i] < 1 || program->parts[i] > 2) return "an axis has one or two parts";
        classes *= program->parts[i];
    }
    if (bytes != (i64)(sizeof(Program) + (size_t)program->outer * sizeof(Loop) + (size_t)classes * sizeof(Tiles)))
        return "its length does not fit its loops and classes";
    const char *unknown = kind_flaw(program);
    if (unknown) return unknown;
    const char *wrong = quantization_flaw(program);
    if (wrong) return wrong;
    if (program->tiled_bytes < 0 || program->tiled_bytes > room || program->linear_bytes < 0 || program->linear_bytes > room)
        return "no storage is that large";
    const Tiles *tiles = tile_classes(program);
    for (i64 i = 0; i < classes; i++) {
        const char *found = class_flaw(program, tiles + i, tiles + i % spatial_classes(program));
        if (found) return found;
    }
    return NULL;
}

#endif
