/* The native row engine for Python: one call executes a whole prepared plan, if it is long without the interpreter's lock.

   A program is checked (_program.h) before it is run (_execute.h). */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_target.h"
#include "_execute.h"

#define SHORT_BYTES 32768 /* a call that moves no more is over before another thread could have taken the lock */
#define KNOWN 64
static PyObject *known[KNOWN]; /* programs that were sound: bytes do not change, so that one check is enough */

/* The program that `object` holds, or NULL with an exception set. */
static const Program *checked(PyObject *object) {
    PyObject **place = known + ((uintptr_t)object >> 5) % KNOWN, *former = *place;
    if (!PyBytes_CheckExact(object)) {
        PyErr_SetString(PyExc_TypeError, "a row program is bytes, which native_rows.compile_plan makes");
        return NULL;
    }
    const Program *program = (const Program *)PyBytes_AsString(object);
    if (former == object) return program;
    const char *found = flaw(program, (i64)PyBytes_Size(object));
    if (found) {
        PyErr_Format(PyExc_ValueError, "not a row program: %s", found);
        return NULL;
    }
    Py_INCREF(object);
    *place = object;
    Py_XDECREF(former);
    return program;
}

static PyObject *rows_run(PyObject *module, PyObject *args) {
    PyObject *bytes;
    unsigned long long tiled, tiled_bytes, linear, linear_bytes;
    (void)module;
    if (!PyArg_ParseTuple(args, "OKKKK:run", &bytes, &tiled, &tiled_bytes, &linear, &linear_bytes)) return NULL;
    const Program *program = checked(bytes);
    if (!program) return NULL;
    if (tiled_bytes < (u64)program->tiled_bytes || linear_bytes < (u64)program->linear_bytes)
        return PyErr_Format(PyExc_ValueError, "got %llu tiled and %llu linear bytes, wanted at least %lld and %lld",
                            tiled_bytes, linear_bytes, (long long)program->tiled_bytes, (long long)program->linear_bytes);
    Py_BEGIN_ALLOW_THREADS
    run_program(program, (u8 *)(uintptr_t)tiled, (u8 *)(uintptr_t)linear);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* Takes the one view of `views` if nothing about it needs a closer look. */
static int take(PyObject *views, int flags, i64 bytes, i64 alignment, Py_buffer *view) {
    PyObject *object;
    if (PyList_CheckExact(views) && PyList_Size(views) == 1) object = PyList_GetItem(views, 0);
    else if (PyTuple_CheckExact(views) && PyTuple_Size(views) == 1) object = PyTuple_GetItem(views, 0);
    else return 0;
    if (PyObject_GetBuffer(object, view, flags | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return 0;
    }
    int plain = !view->format || !strcmp(view->format, "B");
    if (plain && view->buf && view->len >= bytes && (uintptr_t)view->buf % (uintptr_t)alignment == 0) return 1;
    PyBuffer_Release(view);
    return 0;
}

/* The usual call without a detour: runs if both views are surely right, and else leaves the verdict to binding.py. */
static PyObject *rows_attempt(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    Py_buffer source, target;
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "attempt takes a program, inputs and outputs, got %zd arguments", count);
    PyObject *inputs = args[1], *outputs = args[2];
    const Program *program = checked(args[0]);
    if (!program) return NULL;
    i64 tiled_bytes = program->tiled_bytes, linear_bytes = program->linear_bytes;
    int packs = program->packs != 0, done = 0;
    if (!take(inputs, PyBUF_SIMPLE, packs ? linear_bytes : tiled_bytes, packs ? program->width : 16, &source))
        Py_RETURN_FALSE;
    if (take(outputs, PyBUF_WRITABLE, packs ? tiled_bytes : linear_bytes, packs ? 16 : program->width, &target)) {
        u8 *tiled = packs ? target.buf : source.buf, *linear = packs ? source.buf : target.buf;
        done = tiled + tiled_bytes <= linear || linear + linear_bytes <= tiled;
        if (done && tiled_bytes + linear_bytes <= SHORT_BYTES) run_program(program, tiled, linear);
        else if (done) {
            Py_BEGIN_ALLOW_THREADS
            run_program(program, tiled, linear);
            Py_END_ALLOW_THREADS
        }
        PyBuffer_Release(&target);
    }
    PyBuffer_Release(&source);
    return PyBool_FromLong(done);
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

static PyObject *rows_select(PyObject *module, PyObject *args) {
    const char *name;
    long long bytes = STREAM_BYTES;
    (void)module;
    if (!PyArg_ParseTuple(args, "s|L:select", &name, &bytes)) return NULL;
    if (tessbed_wide_movers && !strcmp(name, tessbed_wide_movers->name)) movers = tessbed_wide_movers;
    else if (!strcmp(name, base_movers.name)) movers = &base_movers;
    else return PyErr_Format(PyExc_ValueError, "no %s rows in this build, or not on this CPU", name);
    stream_bytes = bytes;
    Py_RETURN_NONE;
}

static PyObject *rows_selected(PyObject *module, PyObject *args) {
    (void)module;
    (void)args;
    return PyUnicode_FromString(movers->name);
}

static PyMethodDef METHODS[] = {
    {"run", rows_run, METH_VARARGS, 
     "run(program, tiled_address, tiled_bytes, linear_address, linear_bytes): executes a program of native_rows."},
    {"attempt", (PyCFunction)(void (*)(void))rows_attempt, METH_FASTCALL,
     "attempt(program, inputs, outputs): executes it if both views are surely right; whether it did."},
    {"span", rows_span, METH_O, "span(buffer): (address, bytes, read-only) of contiguous storage."},
    {"select", rows_select, METH_VARARGS, "select(name, stream_bytes=3 MiB): uses these vector instructions, streams such outputs, from now on."},
    {"selected", rows_selected, METH_NOARGS, "selected(): the vector instructions in use."},
    {NULL, NULL, 0, NULL},
};

/* The number of these sources, which the caller must know, too: python -m tests.native_sources writes it. */
#define TESSBED_SOURCES 0x2230E916

/* The widest instructions that this build and this CPU have in common. */
static int exec_module(PyObject *module) {
#if defined(TESSBED_SSSE3)
    if (!__builtin_cpu_supports("ssse3")) {
        PyErr_SetString(PyExc_ImportError, "the native rows need SSSE3, which this CPU lacks");
        return -1;
    }
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) tessbed_wide_movers = NULL;
#endif
    if (tessbed_wide_movers) movers = tessbed_wide_movers;
    PyObject *names = Py_BuildValue(tessbed_wide_movers ? "(ss)" : "(s)", base_movers.name,
                                    tessbed_wide_movers ? tessbed_wide_movers->name : NULL);
    int failed = names ? PyModule_AddObjectRef(module, "VECTORS", names) : -1;
    Py_XDECREF(names);
    return failed ? failed : PyModule_AddIntConstant(module, "SOURCES", TESSBED_SOURCES);
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)exec_module}, {0, NULL}};

static struct PyModuleDef DEFINITION = {
    PyModuleDef_HEAD_INIT, "tessbed.kernels.a65._rows", "Native row movers of the A65 executor.",
    0, METHODS, SLOTS, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__rows(void) { return PyModuleDef_Init(&DEFINITION); }

END_OF_TARGET
