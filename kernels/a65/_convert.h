/* Value conversions of a run of scalars that lie next to each other: narrow, quantize, dequantize.

   Narrowing is integer work on the bits. Quantizing needs one binary32 product a scalar, dequantizing one quotient of an
   exact integer; both are IEEE operations, rounded to nearest even. So that neither the caller's rounding mode nor its
   flush-to-zero reaches them, and none of their exceptions reaches the caller, they run between enter_default_fp and
   leave_default_fp, which put the whole environment (control and all flags) back as it was.

   Rounding a product y to an integer: cut to -300..300 first, which changes no saturated result since zero points lie in
   -128..127; then (y + 1.5 * 2**23) - 1.5 * 2**23 is y to the nearest integer, ties to even, because binary32 numbers of
   that size have a spacing of one; the other modes step back or on where that overshot. No product may be fused with
   the addition behind it: the build says -ffp-contract=off. */

#ifndef TESSBED_CONVERT_H
#define TESSBED_CONVERT_H

#include <float.h>
#include "_vec.h"

#if FLT_EVAL_METHOD != 0
#error "conversions need binary32 operations that are rounded to binary32"
#endif

#if defined(__SSE2__)
#include <xmmintrin.h>
typedef struct FpState { unsigned control; } FpState;
static inline FpState enter_default_fp(void) {
    FpState state = {_mm_getcsr()};
    _mm_setcsr(0x1F80); /* to nearest, nothing flushed, every exception masked */
    return state;
}
static inline void leave_default_fp(FpState state) { _mm_setcsr(state.control); }
#elif defined(__aarch64__)
typedef struct FpState { uint64_t control, status; } FpState;
static inline FpState enter_default_fp(void) {
    FpState state;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(state.control), "=r"(state.status) : : "memory");
    __asm__ volatile("msr fpcr, xzr" : : : "memory");
    return state;
}
static inline void leave_default_fp(FpState state) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(state.control), "r"(state.status) : "memory");
}
#else
#include <fenv.h>
typedef struct FpState { fenv_t all; } FpState;
static inline FpState enter_default_fp(void) {
    FpState state;
    fegetenv(&state.all);
    fesetenv(FE_DFL_ENV);
    return state;
}
static inline void leave_default_fp(FpState state) { fesetenv(&state.all); }
#endif

enum { TOWARD_ZERO, NEAREST_EVEN, UP, DOWN }; /* rounding modes, by their codes in packets */

typedef struct Quantization {
    float scale;
    int32_t zero_point, rounding;
} Quantization;

static inline uint32_t load_bits(const u8 *p) { uint32_t bits; memcpy(&bits, p, 4); return bits; }
static inline float load_float(const u8 *p) { float value; memcpy(&value, p, 4); return value; }

/* Binary32 to BF16: nearest, ties to even; a NaN keeps sign and upper half, and is made quiet. */
static inline void narrow_run(u8 *to, const u8 *from, i64 n) {
    for (i64 i = 0; i < n; i++) {
        uint32_t bits = load_bits(from + 4 * i), upper = bits >> 16;
        uint32_t rounded = (bits + 0x7FFF + (upper & 1)) >> 16;
        uint16_t word = (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? upper | 0x40 : rounded);
        memcpy(to + 2 * i, &word, 2);
    }
}

#define QUANTIZE(ADJUST)                                                                                               \
    for (i64 i = 0; i < n; i++) {                                                                                      \
        float y = load_float(from + 4 * i) * scale;                                                                    \
        y = y > 300.0f ? 300.0f : y;                                                                                   \
        y = y < -300.0f ? -300.0f : y;                                                                                 \
        float whole = (y + 12582912.0f) - 12582912.0f;                                                                 \
        ADJUST;                                                                                                        \
        int32_t code = y == y ? (int32_t)whole : 0;                                                                    \
        code += zero_point;                                                                                            \
        code = code > 127 ? 127 : code;                                                                                \
        code = code < -128 ? -128 : code;                                                                              \
        to[i] = (u8)code;                                                                                              \
    }

/* Binary32 to INT8 codes; zero_point where the value is no number. Between enter_default_fp and leave_default_fp. */
static inline void quantize_run(u8 *to, const u8 *from, i64 n, const Quantization *q) {
    const float scale = q->scale;
    const int32_t zero_point = q->zero_point;
    switch (q->rounding) {
        case NEAREST_EVEN: QUANTIZE((void)0) break;
        case UP: QUANTIZE(whole += whole < y ? 1.0f : 0.0f) break;
        case DOWN: QUANTIZE(whole -= whole > y ? 1.0f : 0.0f) break;
        default: QUANTIZE(whole += whole < y && y < 0 ? 1.0f : 0.0f; whole -= whole > y && y > 0 ? 1.0f : 0.0f)
    }
}

/* INT8 codes to binary32. Between enter_default_fp and leave_default_fp. */
static inline void dequantize_run(u8 *to, const u8 *from, i64 n, const Quantization *q) {
    const float scale = q->scale;
    const int32_t zero_point = q->zero_point;
    for (i64 i = 0; i < n; i++) {
        float value = (float)((int32_t)(int8_t)from[i] - zero_point) / scale;
        memcpy(to + 4 * i, &value, 4);
    }
}

#endif
