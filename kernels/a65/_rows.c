/* The native row engine: one call executes a whole prepared plan, without the interpreter's lock.

   A program is an array of 64-bit integers (native_rows.py lays it out): geometry, then the plan's tile classes.
   For each spatial class the loops over outer slices and tiles run around one nest of pixel loops per channel part, so
   that all channel tiles of the same pixels follow each other, and a tile's alignment bytes are written right behind it.
   Loops that continue each other on both sides are merged; the innermost one becomes the row. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SSSE3__) && !defined(TESSBED_PLAIN)
#pragma GCC target("ssse3")
#define __SSSE3__ 1
#endif
#include "_move.h"

#define MAX_LOOPS 16

typedef struct Loop { i64 count, tiled, linear; } Loop;

typedef struct Tiles { /* one class; four-fold fields are in C, D, H, W order */
    i64 counts[4], extents[4], tiled_offset, tiled_steps[4], linear_offset, linear_steps[4], stored, span;
} Tiles;

typedef struct Program {
    i64 packs, cblocked, tiled_width, width, fill, outer, parts[4], strides[4], tiled_bytes, linear_bytes;
    /* followed by `outer` Loops and the product of `parts` Tiles */
} Program;

typedef struct Nest { /* pixel loops of one channel part; `before` leads from the spatial tile to its first pixel */
    Loop loop[MAX_LOOPS];
    int loops;
    i64 tiled, linear;
    Row row;
    RowMover *mover;
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

static vec cross_table(i64 channels, i64 group, int packs) {
    u8 table[16];
    memset(table, 0x80, 16);
    for (i64 g = 0; g < group; g++)
        for (i64 c = 0; c < channels; c++)
            for (i64 half = 0; half < 2; half++) {
                u8 tiled = (u8)(g * 2 * channels + half * channels + c), linear = (u8)(g * 2 * channels + 2 * c + half);
                if (packs) table[tiled] = linear;
                else table[linear] = tiled;
            }
    return load(table);
}

static void set_padding(Row *row, u8 fill) {
    u8 keep[16], put[16];
    for (i64 i = 0; i < 16; i++) {
        keep[i] = i < row->channels % 16 ? 0xFF : 0;
        put[i] = (u8)(fill & ~keep[i]);
    }
    row->keep = load(keep);
    row->fill = load(put);
    row->fill_byte = fill;
}

static RowMover *choose_mover(const Program *program, Row *row) {
    int packs = program->packs != 0;
    i64 n = row->channels, dense = row->linear_step == n * row->width, whole = row->tiled_step == n * program->tiled_width;
    if (n > 1 && row->channel_stride != row->width) {
        if (row->linear_step == row->width) return packs ? pack_transposed : unpack_transposed;
        return packs ? pack_scalars : unpack_scalars;
    }
    if (dense && whole && row->stored == n) {
        if (row->width == 1 || (n == 1 && row->width == 2)) return packs ? pack_same : unpack_same;
        if (n <= 8 && row->plane == n) {
            row->group = 8 / n;
            row->table = cross_table(n, row->group, packs);
            return packs ? pack_cross : row->width == 4 ? widen_cross : unpack_cross;
        }
    }
    if (row->width == 1) return packs ? pack_bytes : unpack_bytes;
    return packs ? pack_words : row->width == 4 ? widen_words : unpack_words;
}

/* Where channels are scattered, the row should run along contiguous pixels. */
static void prefer_contiguous(Nest *nest, i64 width) {
    for (int i = 0; i + 1 < nest->loops; i++)
        if (nest->loop[i].linear == width) {
            Loop row = nest->loop[i];
            for (; i + 1 < nest->loops; i++) nest->loop[i] = nest->loop[i + 1];
            nest->loop[i] = row;
        }
}

static void finish_nest(const Program *program, Nest *nest, i64 channels, i64 stored, i64 plane, const u8 *ends[2]) {
    Row *row = &nest->row;
    if (channels > 1 && program->strides[0] != program->width) prefer_contiguous(nest, program->width);
    if (!nest->loops) nest->loop[nest->loops++] = (Loop){1, stored * program->tiled_width, channels * program->width};
    const Loop *last = nest->loop + nest->loops - 1;
    row->channels = channels;
    row->stored = stored;
    row->plane = plane;
    row->tiled_step = last->tiled;
    row->linear_step = last->linear;
    row->channel_stride = program->strides[0];
    row->width = program->width;
    row->tiled_end = ends[0];
    row->linear_end = ends[1];
    set_padding(row, (u8)program->fill);
    nest->mover = choose_mover(program, row);
}

/* The nests of one channel part: one for pixel-major tiles, up to two for channel blocks. Returns how many. */
static int make_nests(const Program *program, const Tiles *t, const Loop *around, int n, Nest *nest, const u8 *ends[2]) {
    i64 block = program->cblocked ? 16 : t->stored, pixel = block * program->tiled_width;
    i64 depth = t->extents[1], height = t->extents[2], width = t->extents[3], pixels = depth * height * width;
    i64 full = program->cblocked ? t->extents[0] / 16 : 1, rest = program->cblocked ? t->extents[0] % 16 : 0;
    int made = 0;
    for (int tail = 0; tail < 2; tail++) {
        i64 groups = tail ? rest > 0 : full, first = tail ? full : 0;
        i64 channels = !program->cblocked ? t->extents[0] : tail ? rest : 16;
        if (!groups) continue;
        Nest *one = nest + made++;
        memcpy(one->loop, around, (size_t)n * sizeof(Loop));
        one->loops = n;
        one->tiled = first * pixels * pixel;
        one->linear = first * 16 * program->strides[0];
        add_loop(one->loop, &one->loops, t->counts[0], t->tiled_steps[0], t->linear_steps[0]);
        add_loop(one->loop, &one->loops, depth, height * width * pixel, program->strides[1]);
        add_loop(one->loop, &one->loops, height, width * pixel, program->strides[2]);
        add_loop(one->loop, &one->loops, width, pixel, program->strides[3]);
        add_loop(one->loop, &one->loops, groups, pixels * pixel, 16 * program->strides[0]);
        finish_nest(program, one, channels, block, block, ends);
    }
    return made;
}

static void run_nest(const Nest *nest, int depth, u8 *tiled, u8 *linear) {
    const Loop *loop = nest->loop + depth;
    if (depth + 1 == nest->loops) {
        nest->mover(&nest->row, tiled, linear, loop->count);
        return;
    }
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
    int loops, parts;
    Part part[2];
} Spatial;

typedef struct Place { u8 *tiled[2], *linear[2]; } Place; /* where each channel part stands */

static void run_part(const Part *part, u8 *tiled, u8 *linear) {
    for (int i = 0; i < part->nests; i++)
        run_nest(part->nest + i, 0, tiled + part->nest[i].tiled, linear + part->nest[i].linear);
    if (part->gap_bytes)
        for (i64 tile = 0; tile < part->tiles; tile++)
            memset(tiled + tile * part->tile_step + part->gap, 0, (size_t)part->gap_bytes);
}

static void run_spatial(const Spatial *all, int depth, Place at) {
    if (depth == all->loops) {
        for (int i = 0; i < all->parts; i++) run_part(all->part + i, at.tiled[i], at.linear[i]);
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

/* A lone part without gaps needs no loops around it: its nests take them over, to merge them with their own. */
static int take_over(Spatial *all, const Part *part, Loop *around) {
    int loops = 0;
    if (all->parts > 1 || part->gap_bytes) return 0;
    for (int i = 0; i < all->loops; i++)
        add_loop(around, &loops, all->loop[i].count, all->loop[i].tiled[0], all->loop[i].linear);
    all->loops = 0;
    return loops;
}

/* The spatial class of `tiles`; its channel parts lie `apart` classes from each other. */
static void run_class(const Program *program, const Tiles *tiles, i64 apart, u8 *tiled, u8 *linear) {
    const Loop *outer = (const Loop *)(program + 1);
    const u8 *ends[2] = {tiled + program->tiled_bytes, linear + program->linear_bytes};
    const Tiles *other = tiles + (program->parts[0] - 1) * apart;
    Spatial all;
    Place at;
    all.loops = 0;
    all.parts = (int)program->parts[0];
    for (i64 i = 0; i < program->outer; i++)
        add_around(&all, outer[i].count, outer[i].tiled, outer[i].tiled, outer[i].linear);
    for (int i = 1; i < 4; i++)
        add_around(&all, tiles->counts[i], tiles->tiled_steps[i], other->tiled_steps[i], tiles->linear_steps[i]);
    for (int i = 0; i < all.parts; i++) {
        const Tiles *t = i ? other : tiles;
        Part *part = all.part + i;
        Loop around[MAX_LOOPS];
        part->gap = t->extents[1] * t->extents[2] * t->extents[3] * t->stored * program->tiled_width;
        part->gap_bytes = program->packs ? t->span - part->gap : 0;
        part->tiles = t->counts[0];
        part->tile_step = t->tiled_steps[0];
        int loops = take_over(&all, part, around);
        part->nests = make_nests(program, t, around, loops, part->nest, ends);
        at.tiled[i] = tiled + t->tiled_offset;
        at.linear[i] = linear + t->linear_offset;
    }
    run_spatial(&all, 0, at);
}

static void run_program(const Program *program, u8 *tiled, u8 *linear) {
    const Tiles *tiles = (const Tiles *)((const Loop *)(program + 1) + program->outer);
    i64 apart = program->parts[1] * program->parts[2] * program->parts[3];
    for (i64 i = 0; i < apart; i++) run_class(program, tiles + i, apart, tiled, linear);
}

static int fits(const Program *program, Py_ssize_t bytes) {
    if (bytes < (Py_ssize_t)sizeof(Program) || program->outer < 0 || program->outer > 6) return 0;
    i64 classes = 1;
    for (int i = 0; i < 4; i++) {
        if (program->parts[i] < 1 || program->parts[i] > 2) return 0;
        classes *= program->parts[i];
    }
    return bytes == (Py_ssize_t)(sizeof(Program) + (size_t)program->outer * sizeof(Loop) + (size_t)classes * sizeof(Tiles));
}

static PyObject *rows_run(PyObject *module, PyObject *args) {
    const char *bytes;
    Py_ssize_t size;
    unsigned long long tiled, linear;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#KK:run", &bytes, &size, &tiled, &linear)) return NULL;
    const Program *program = (const Program *)bytes;
    if (!fits(program, size)) {
        PyErr_SetString(PyExc_ValueError, "not a row program");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    run_program(program, (u8 *)(uintptr_t)tiled, (u8 *)(uintptr_t)linear);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *rows_span(PyObject *module, PyObject *object) {
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *span = Py_BuildValue("KnO", (unsigned long long)(uintptr_t)view.buf, view.len,
                                   view.readonly ? Py_True : Py_False);
    PyBuffer_Release(&view);
    return span;
}

static PyMethodDef METHODS[] = {
    {"run", rows_run, METH_VARARGS, "run(program, tiled_address, linear_address): executes a program of native_rows."},
    {"span", rows_span, METH_O, "span(buffer): (address, bytes, read-only) of contiguous storage."},
    {NULL, NULL, 0, NULL},
};

static int exec_module(PyObject *module) {
#if defined(__SSSE3__) && (defined(__GNUC__) || defined(__clang__))
    if (!__builtin_cpu_supports("ssse3")) {
        PyErr_SetString(PyExc_ImportError, "the native rows were built for SSSE3, which this CPU lacks");
        return -1;
    }
#endif
    return PyModule_AddStringConstant(module, "VECTORS", VEC_NAME);
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)exec_module}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "tessbed.kernels.a65._rows", "Native row movers of the A65 executor.",
    0, METHODS, SLOTS, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__rows(void) { return PyModuleDef_Init(&MODULE); }
