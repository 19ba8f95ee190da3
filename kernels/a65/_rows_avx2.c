/* The row movers once more, for CPUs with AVX2; _rows.c asks the CPU before it uses them. */

#define WANTS_AVX2
#include "_target.h"

#if defined(TESSBED_AVX2)
#include "_movers.h"

static const Movers wide_movers = MOVERS("avx2");
const Movers *tessbed_wide_movers = &wide_movers;
#else
const void *tessbed_wide_movers = NULL;
#endif

END_OF_TARGET
