/* The vector instructions of one source on x86-64, whatever the compiler's options ask for: AVX2 with FMA where it defines
   WANTS_AVX2 before it includes this file, SSSE3 otherwise. Who runs the source asks the CPU first.

   TESSBED_SSSE3 and TESSBED_AVX2 say what may be used, on any machine. The compilers' own macros do not: Clang gives
   instructions to functions, not to a source. So with Clang, a source says END_OF_TARGET behind its last function, and the
   headers of others come before that. */

#ifndef TESSBED_TARGET_H
#define TESSBED_TARGET_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define END_OF_TARGET

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TESSBED_PLAIN)

#include <immintrin.h>
#define TESSBED_SSSE3
#if defined(WANTS_AVX2)
#define TESSBED_AVX2
#endif

#if defined(__clang__)
#undef END_OF_TARGET
#define END_OF_TARGET _Pragma("clang attribute pop")
#if defined(WANTS_AVX2)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma clang attribute push(__attribute__((target("ssse3"))), apply_to = function)
#endif
#elif defined(WANTS_AVX2)
#pragma GCC target("avx2,fma")
#else
#pragma GCC target("ssse3")
#endif

#endif

#endif
