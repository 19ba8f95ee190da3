/* The row movers once more, for CPUs with AVX2; _rows.c asks the CPU before it uses them. */

#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(TESSBED_PLAIN)
#pragma GCC target("avx2")
#include "_movers.h"

#if defined(__AVX2__)
static const Movers wide_movers = MOVERS("avx2");
const Movers *tessbed_wide_movers = &wide_movers;
#define FOUND
#endif
#endif

#ifndef FOUND
const void *tessbed_wide_movers = NULL;
#endif
