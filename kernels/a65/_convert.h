/* Value conversions of a run of scalars that lie next to each other: narrow, quantize, dequantize.

   Narrowing is integer work on the bits. Quantizing needs one binary32 product a scalar, dequantizing one quotient of an
   exact integer; both are IEEE operations, rounded to nearest even. So that neither the caller's rounding mode nor its
   flush-to-zero reaches them, and none of their exceptions reaches the caller, they run between enter_default_fp and
   leave_default_fp, which put the whole environment (control and all flags) back as it was.

   Rounding a product y to an integer: cut to -300..300 first, which changes no saturated result since zero points lie in
   -128..127, then to the nearest integer, ties to even; the other modes step back or on where that overshot. In plain C
   the nearest integer is (y + 1.5 * 2**23) - 1.5 * 2**23, because binary32 numbers of that size have a spacing of one: no
   product may be fused with the addition behind it, so the build says -ffp-contract=off. A NaN passes every comparison
   as false; its integer is masked to zero.

   SWEEP cuts a run into blocks that one vector step takes; the last block overlaps the one before it, and a run that is
   shorter than the smallest step goes through a step of its own. Every scalar is converted from its own place alone, so that
   converting one twice changes nothing. */

#ifndef TESSBED_CONVERT_H
#define TESSBED_CONVERT_H

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
#if defined(TESSBED_SSSE3)
    float reciprocal; /* of the scale, where quotients may be made with it; else 0 */
#endif
} Quantization;

#if defined(TESSBED_SSSE3)
/* The range in which no step of a corrected quotient leaves the normal numbers. Between enter_default_fp and leave_default_fp. */
static inline float reciprocal_of(float scale) { return scale > 0x1p-100f && scale < 0x1p100f ? 1.0f / scale : 0.0f; }
#endif

static inline uint32_t load_bits(const u8 *p) { uint32_t bits; memcpy(&bits, p, 4); return bits; }
static inline float load_float(const u8 *p) { float value; memcpy(&value, p, 4); return value; }

#define FEW 8 /* scalars of the smaller step */

/* Converts `runs` runs of n scalars, `to_step` and `from_step` bytes apart: `step` takes a block of scalars of `wide`
   bytes read and `made` bytes written, `few` takes FEW of them where a run is shorter than a block. */
#if defined(TESSBED_AVX2) /* a block of the next run, if there is one: short runs that are apart end before a CPU sees them coming */
#define FETCH(block) (__builtin_prefetch((const void *)(block)), __builtin_prefetch((const void *)((block) + 64)))
#else
#define FETCH(block) (void)0
#endif
#define SWEEP_BY(size, wide, made, step, ...)                                                                          \
    for (i64 r = 0; r < runs; r++, to += to_step, from += from_step) {                                                 \
        i64 i = 0;                                                                                                     \
        for (; i + (size) <= n; i += (size)) {                                                                         \
            if ((wide) == 4) FETCH((uintptr_t)from + (uintptr_t)(from_step + 4 * i));                                  \
            step(to + (made) * i, from + (wide) * i, __VA_ARGS__);                                                     \
        }                                                                                                              \
        if (i < n) step(to + (made) * (n - (size)), from + (wide) * (n - (size)), __VA_ARGS__);                        \
    }
#define SWEEP(wide, made, step, few, ...)                                                                              \
    do {                                                                                                               \
        if (n >= BLOCK_SCALARS) SWEEP_BY(BLOCK_SCALARS, wide, made, step, __VA_ARGS__)                                 \
        else if (n >= FEW) SWEEP_BY(FEW, wide, made, few, __VA_ARGS__)                                                 \
        else                                                                                                           \
            for (i64 r = 0; r < runs; r++, to += to_step, from += from_step) {                                         \
                u8 read[4 * FEW] = {0}, written[4 * FEW];                                                              \
                memcpy(read, from, (size_t)((wide) * n));                                                              \
                few(written, read, __VA_ARGS__);                                                                       \
                memcpy(to, written, (size_t)((made) * n));                                                             \
            }                                                                                                          \
    } while (0)

#define RUNS u8 *to, i64 to_step, const u8 *from, i64 from_step, i64 runs, i64 n, const Quantization *q

#if defined(TESSBED_AVX2)

#define BLOCK_SCALARS 32
/* Sixteen scalars of two registers as words a0 b0 a1 b1 ...: upper halves as they are, and rounded where the scalar is a
   number. An upper half is increased where the lower one, with one more if the upper one is odd, exceeds 0x8000. That is where
   its mean with 0x7FFE or 0x7FFF is 0x8000 or more: negative, as a signed word. */
typedef struct Narrowed { __m256i upper, rounded; } Narrowed;
static ALWAYS_INLINE Narrowed narrow16(__m256i a, __m256i b) {
    const __m256i lower = _mm256_blend_epi16(a, _mm256_slli_epi32(b, 16), 0xAA);
    const __m256i upper = _mm256_blend_epi16(_mm256_srli_epi32(a, 16), b, 0xAA);
    const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi16(1));
    const __m256i mean = _mm256_avg_epu16(lower, _mm256_or_si256(odd, _mm256_set1_epi16(0x7FFE)));
    return (Narrowed){upper, _mm256_sub_epi16(upper, _mm256_cmpgt_epi16(_mm256_setzero_si256(), mean))};
}
static ALWAYS_INLINE __m256i load_floats(const u8 *from) { return _mm256_loadu_si256((const __m256i *)from); }
/* Whether any upper half is that of an infinity or of no number. */
static ALWAYS_INLINE int any_special(__m256i upper, __m256i others) {
    const __m256i twice = _mm256_max_epu16(_mm256_add_epi16(upper, upper), _mm256_add_epi16(others, others));
    const __m256i beyond = _mm256_subs_epu16(twice, _mm256_set1_epi16((short)0xFEFF));
    return !_mm256_testz_si256(beyond, beyond);
}
static ALWAYS_INLINE __m256i with_nans(Narrowed n, __m256i a, __m256i b) {
    const __m256i all = _mm256_set1_epi32(0x7FFFFFFF), infinity = _mm256_set1_epi32(0x7F800000);
    const __m256i nan_a = _mm256_cmpgt_epi32(_mm256_and_si256(a, all), infinity);
    const __m256i nan_b = _mm256_cmpgt_epi32(_mm256_and_si256(b, all), infinity);
    const __m256i quiet = _mm256_or_si256(n.upper, _mm256_set1_epi16(0x40));
    return _mm256_blendv_epi8(n.rounded, quiet, _mm256_blend_epi16(nan_a, nan_b, 0xAA));
}
/* Sixteen scalars from each of two places, narrowed; their words in that order. */
typedef struct Words32 { __m256i first, second; } Words32;
static ALWAYS_INLINE Words32 narrow_words(const u8 *first, const u8 *second) {
    const __m256i a = load_floats(first), b = load_floats(first + 32), c = load_floats(second), d = load_floats(second + 32);
    Narrowed ab = narrow16(a, b), cd = narrow16(c, d);
    if (any_special(ab.upper, cd.upper)) ab.rounded = with_nans(ab, a, b), cd.rounded = with_nans(cd, c, d);
    return (Words32){ab.rounded, cd.rounded};
}
static ALWAYS_INLINE __m256i in_order(__m256i words) {
    const __m256i from = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,
                                          0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(words, from), 0xD8);
}
/* Eight scalars from each of two places as words in their order. */
static ALWAYS_INLINE __m256i narrow_eights(const u8 *first, const u8 *second) {
    const __m256i a = load_floats(first), b = load_floats(second);
    Narrowed n = narrow16(a, b);
    if (any_special(n.upper, n.upper)) n.rounded = with_nans(n, a, b);
    return in_order(n.rounded);
}
static ALWAYS_INLINE void narrow_block(u8 *to, const u8 *from, int unused) {
    const Words32 words = narrow_words(from, from + 64);
    (void)unused;
    _mm256_storeu_si256((__m256i *)to, in_order(words.first));
    _mm256_storeu_si256((__m256i *)(to + 32), in_order(words.second));
}
static ALWAYS_INLINE void narrow_few(u8 *to, const u8 *from, int unused) {
    (void)unused;
    store(to, _mm256_castsi256_si128(narrow_eights(from, from)));
}
static ALWAYS_INLINE __m256 product8(const u8 *from, const Quantization *q) {
    return _mm256_mul_ps(_mm256_loadu_ps((const float *)from), _mm256_set1_ps(q->scale));
}
static ALWAYS_INLINE __m256 without_nans(__m256 y) { return _mm256_and_ps(y, _mm256_cmp_ps(y, y, _CMP_ORD_Q)); }
/* Integers of numbers. What is too small becomes the smallest integer, and saturates where codes become narrower. */
static ALWAYS_INLINE __m256i whole8(__m256 y, int rounding) {
    y = _mm256_min_ps(y, _mm256_set1_ps(300.0f));
    if (rounding == UP || rounding == DOWN) y = _mm256_max_ps(y, _mm256_set1_ps(-300.0f));
    const __m256i whole = rounding == TOWARD_ZERO ? _mm256_cvttps_epi32(y) : _mm256_cvtps_epi32(y);
    const __m256 nearest = _mm256_cvtepi32_ps(whole);
    if (rounding == UP) return _mm256_sub_epi32(whole, _mm256_castps_si256(_mm256_cmp_ps(nearest, y, _CMP_LT_OQ)));
    if (rounding == DOWN) return _mm256_add_epi32(whole, _mm256_castps_si256(_mm256_cmp_ps(nearest, y, _CMP_GT_OQ)));
    return whole;
}
static ALWAYS_INLINE __m256i codes16(__m256 a, __m256 b, const Quantization *q, int rounding) {
    const __m256i whole = _mm256_packs_epi32(whole8(a, rounding), whole8(b, rounding));
    return _mm256_adds_epi16(whole, _mm256_set1_epi16((short)q->zero_point));
}
static ALWAYS_INLINE void quantize_block(u8 *to, const u8 *from, const Quantization *q, int rounding) {
    __m256 a = product8(from, q), b = product8(from + 32, q), c = product8(from + 64, q), d = product8(from + 96, q);
    if (_mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), _mm256_cmp_ps(c, d, _CMP_UNORD_Q))))
        a = without_nans(a), b = without_nans(b), c = without_nans(c), d = without_nans(d);
    const __m256i codes = _mm256_packs_epi16(codes16(a, b, q, rounding), codes16(c, d, q, rounding));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(codes, order));
}
static ALWAYS_INLINE void quantize_few(u8 *to, const u8 *from, const Quantization *q, int rounding) {
    const __m256 y = without_nans(product8(from, q));
    const __m256i pairs = codes16(y, y, q, rounding);
    const vec low = _mm256_castsi256_si128(pairs), high = _mm256_extracti128_si256(pairs, 1);
    store8(to, _mm_packs_epi16(_mm_unpacklo_epi64(low, high), low));
}
/* A quotient is the product with the reciprocal, corrected by what that leaves: rounded as a division rounds it, for all
   integers of nine bits and all scales that have a reciprocal (tests/kernels/a65/quotients.c tries them). */
static ALWAYS_INLINE void dequantize8(u8 *to, const u8 *from, const Quantization *q, int divides) {
    const __m256i integer = _mm256_sub_epi32(_mm256_cvtepi8_epi32(load8(from)), _mm256_set1_epi32(q->zero_point));
    const __m256 value = _mm256_cvtepi32_ps(integer), scale = _mm256_set1_ps(q->scale);
    const __m256 reciprocal = _mm256_set1_ps(q->reciprocal), near = _mm256_mul_ps(value, reciprocal);
    const __m256 rest = _mm256_fnmadd_ps(near, scale, value);
    _mm256_storeu_ps((float *)to, divides ? _mm256_div_ps(value, scale) : _mm256_fmadd_ps(rest, reciprocal, near));
}
static ALWAYS_INLINE void dequantize_few(u8 *to, const u8 *from, const Quantization *q, int divides) {
    dequantize8(to, from, q, divides);
}
static ALWAYS_INLINE void dequantize_block(u8 *to, const u8 *from, const Quantization *q, int divides) {
    for (int k = 0; k < 4; k++) dequantize8(to + 32 * k, from + 8 * k, q, divides);
}

#elif defined(TESSBED_SSSE3)

#define BLOCK_SCALARS 16
static inline __m128i narrow4(const u8 *from) {
    const __m128i bits = load(from), upper = _mm_srli_epi32(bits, 16);
    const __m128i odd = _mm_and_si128(upper, _mm_set1_epi32(1));
    const __m128i sum = _mm_add_epi32(_mm_add_epi32(bits, _mm_set1_epi32(0x7FFF)), odd);
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7FFFFFFF));
    const __m128i is_nan = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7F800000));
    const __m128i quiet = _mm_slli_epi32(_mm_or_si128(upper, _mm_set1_epi32(0x40)), 16);
    return _mm_srai_epi32(_mm_or_si128(_mm_andnot_si128(is_nan, sum), _mm_and_si128(is_nan, quiet)), 16);
}
static inline void narrow_block(u8 *to, const u8 *from, int unused) {
    (void)unused;
    for (int half = 0; half < 2; half++)
        store(to + 16 * half, _mm_packs_epi32(narrow4(from + 32 * half), narrow4(from + 32 * half + 16)));
}
static inline void narrow_few(u8 *to, const u8 *from, int unused) {
    (void)unused;
    store(to, _mm_packs_epi32(narrow4(from), narrow4(from + 16)));
}
static ALWAYS_INLINE __m128i quantize4(const u8 *from, const Quantization *q, int rounding) {
    __m128 y = _mm_mul_ps(_mm_loadu_ps((const float *)from), _mm_set1_ps(q->scale));
    y = _mm_max_ps(_mm_set1_ps(-300.0f), _mm_min_ps(_mm_set1_ps(300.0f), y)); /* the second operand where one is no number */
    __m128i whole = rounding == TOWARD_ZERO ? _mm_cvttps_epi32(y) : _mm_cvtps_epi32(y);
    const __m128 nearest = _mm_cvtepi32_ps(whole);
    if (rounding == UP) whole = _mm_sub_epi32(whole, _mm_castps_si128(_mm_cmplt_ps(nearest, y)));
    if (rounding == DOWN) whole = _mm_add_epi32(whole, _mm_castps_si128(_mm_cmpgt_ps(nearest, y)));
    whole = _mm_and_si128(whole, _mm_castps_si128(_mm_cmpord_ps(y, y)));
    return _mm_add_epi32(whole, _mm_set1_epi32(q->zero_point));
}
static ALWAYS_INLINE void quantize_block(u8 *to, const u8 *from, const Quantization *q, int rounding) {
    const __m128i ab = _mm_packs_epi32(quantize4(from, q, rounding), quantize4(from + 16, q, rounding));
    const __m128i cd = _mm_packs_epi32(quantize4(from + 32, q, rounding), quantize4(from + 48, q, rounding));
    store(to, _mm_packs_epi16(ab, cd));
}
static ALWAYS_INLINE void quantize_few(u8 *to, const u8 *from, const Quantization *q, int rounding) {
    const vec pairs = _mm_packs_epi32(quantize4(from, q, rounding), quantize4(from + 16, q, rounding));
    store8(to, _mm_packs_epi16(pairs, pairs));
}
static ALWAYS_INLINE void dequantize_codes(u8 *to, vec codes, const Quantization *q, int fours) {
    const __m128i zero = _mm_setzero_si128(), zero_point = _mm_set1_epi32(q->zero_point);
    const __m128i pairs[2] = {_mm_unpacklo_epi8(zero, codes), _mm_unpackhi_epi8(zero, codes)};
    for (int k = 0; k < fours; k++) {
        const __m128i upper = k % 2 ? _mm_unpackhi_epi16(zero, pairs[k / 2]) : _mm_unpacklo_epi16(zero, pairs[k / 2]);
        const __m128 value = _mm_cvtepi32_ps(_mm_sub_epi32(_mm_srai_epi32(upper, 24), zero_point));
        _mm_storeu_ps((float *)(to + 16 * k), _mm_div_ps(value, _mm_set1_ps(q->scale)));
    }
}
static ALWAYS_INLINE void dequantize_block(u8 *to, const u8 *from, const Quantization *q, int unused) {
    (void)unused;
    dequantize_codes(to, load(from), q, 4);
}
static ALWAYS_INLINE void dequantize_few(u8 *to, const u8 *from, const Quantization *q, int unused) {
    (void)unused;
    dequantize_codes(to, load8(from), q, 2);
}

#elif defined(TESSBED_NEON)

/* Each rounding mode is an instruction of its own; they make the nearest 32-bit integer of a product beyond those, and zero
   of a NaN. Codes saturate where the zero point is added and where they become narrower. */
#define BLOCK_SCALARS 16
static ALWAYS_INLINE uint16x4_t narrow4(const u8 *from) {
    const uint32x4_t bits = vreinterpretq_u32_u8(load(from));
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t sum = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7FFF)));
    const uint32x4_t magnitude = vandq_u32(bits, vdupq_n_u32(0x7FFFFFFF));
    const uint32x4_t is_nan = vcgtq_u32(magnitude, vdupq_n_u32(0x7F800000));
    return vshrn_n_u32(vbslq_u32(is_nan, vorrq_u32(bits, vdupq_n_u32(0x00400000)), sum), 16);
}
static ALWAYS_INLINE void narrow_few(u8 *to, const u8 *from, int unused) {
    (void)unused;
    store(to, vreinterpretq_u8_u16(vcombine_u16(narrow4(from), narrow4(from + 16))));
}
static ALWAYS_INLINE void narrow_block(u8 *to, const u8 *from, int unused) {
    narrow_few(to, from, unused);
    narrow_few(to + 16, from + 32, unused);
}
static ALWAYS_INLINE int16x4_t quantize4(const u8 *from, const Quantization *q, int rounding) {
    const float32x4_t y = vmulq_n_f32(vreinterpretq_f32_u8(load(from)), q->scale);
    int32x4_t whole;
    switch (rounding) {
        case NEAREST_EVEN: whole = vcvtnq_s32_f32(y); break;
        case UP: whole = vcvtpq_s32_f32(y); break;
        case DOWN: whole = vcvtmq_s32_f32(y); break;
        default: whole = vcvtq_s32_f32(y);
    }
    return vqmovn_s32(vqaddq_s32(whole, vdupq_n_s32(q->zero_point)));
}
static ALWAYS_INLINE int8x8_t quantize8(const u8 *from, const Quantization *q, int rounding) {
    return vqmovn_s16(vcombine_s16(quantize4(from, q, rounding), quantize4(from + 16, q, rounding)));
}
static ALWAYS_INLINE void quantize_few(u8 *to, const u8 *from, const Quantization *q, int rounding) {
    vst1_s8((int8_t *)to, quantize8(from, q, rounding));
}
static ALWAYS_INLINE void quantize_block(u8 *to, const u8 *from, const Quantization *q, int rounding) {
    vst1q_s8((int8_t *)to, vcombine_s8(quantize8(from, q, rounding), quantize8(from + 32, q, rounding)));
}
static ALWAYS_INLINE void dequantize8(u8 *to, int8x8_t codes, const Quantization *q) {
    const int16x8_t exact = vsubq_s16(vmovl_s8(codes), vdupq_n_s16((int16_t)q->zero_point));
    const int32x4_t fours[2] = {vmovl_s16(vget_low_s16(exact)), vmovl_s16(vget_high_s16(exact))};
    for (int k = 0; k < 2; k++)
        store(to + 16 * k, vreinterpretq_u8_f32(vdivq_f32(vcvtq_f32_s32(fours[k]), vdupq_n_f32(q->scale))));
}
static ALWAYS_INLINE void dequantize_few(u8 *to, const u8 *from, const Quantization *q, int unused) {
    (void)unused;
    dequantize8(to, vld1_s8((const int8_t *)from), q);
}
static ALWAYS_INLINE void dequantize_block(u8 *to, const u8 *from, const Quantization *q, int unused) {
    dequantize_few(to, from, q, unused);
    dequantize_few(to + 32, from + 8, q, unused);
}

#else

#define BLOCK_SCALARS FEW
#define narrow_few narrow_block
#define quantize_few quantize_block
#define dequantize_few dequantize_block
static inline void narrow_block(u8 *to, const u8 *from, int unused) {
    (void)unused;
    for (i64 i = 0; i < BLOCK_SCALARS; i++) {
        uint32_t bits = load_bits(from + 4 * i), upper = bits >> 16;
        uint32_t rounded = (bits + 0x7FFF + (upper & 1)) >> 16;
        uint16_t word = (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? upper | 0x40 : rounded);
        memcpy(to + 2 * i, &word, 2);
    }
}
static ALWAYS_INLINE void quantize_block(u8 *to, const u8 *from, const Quantization *q, int rounding) {
    for (i64 i = 0; i < BLOCK_SCALARS; i++) {
        float y = load_float(from + 4 * i) * q->scale;
        y = y > 300.0f ? 300.0f : y;
        y = y < -300.0f ? -300.0f : y;
        float whole = (y + 12582912.0f) - 12582912.0f;
        if (rounding == UP || (rounding == TOWARD_ZERO && y < 0)) whole += whole < y ? 1.0f : 0.0f;
        if (rounding == DOWN || (rounding == TOWARD_ZERO && y > 0)) whole -= whole > y ? 1.0f : 0.0f;
        int32_t code = (y == y ? (int32_t)whole : 0) + q->zero_point;
        code = code > 127 ? 127 : code;
        code = code < -128 ? -128 : code;
        to[i] = (u8)code;
    }
}
static ALWAYS_INLINE void dequantize_block(u8 *to, const u8 *from, const Quantization *q, int unused) {
    (void)unused;
    for (i64 i = 0; i < BLOCK_SCALARS; i++) {
        float value = (float)((int32_t)(int8_t)from[i] - q->zero_point) / q->scale;
        memcpy(to + 4 * i, &value, 4);
    }
}

#endif

/* Binary32 to BF16: nearest, ties to even; a NaN keeps sign and upper half, and is made quiet. */
static void narrow_runs(RUNS) {
    (void)q;
#if defined(TESSBED_AVX2)
    if (n >= 16 && n < BLOCK_SCALARS) { /* two halves that overlap */
        for (i64 r = 0; r < runs; r++, to += to_step, from += from_step) {
            const Words32 words = narrow_words(from, from + 4 * (n - 16));
            _mm256_storeu_si256((__m256i *)to, in_order(words.first));
            _mm256_storeu_si256((__m256i *)(to + 2 * (n - 16)), in_order(words.second));
        }
        return;
    }
#endif
    SWEEP(4, 2, narrow_block, narrow_few, 0);
}

#if defined(TESSBED_AVX2) /* a copy stays in registers: stores of bytes may be stores into *q */
#define OWN(q) const Quantization own = *q; q = &own;
#else
#define OWN(q)
#endif

/* Binary32 to INT8 codes; zero_point where the value is no number. Between enter_default_fp and leave_default_fp. */
static void quantize_runs(RUNS) {
    OWN(q)
    switch (q->rounding) {
        case NEAREST_EVEN: SWEEP(4, 1, quantize_block, quantize_few, q, NEAREST_EVEN); break;
        case UP: SWEEP(4, 1, quantize_block, quantize_few, q, UP); break;
        case DOWN: SWEEP(4, 1, quantize_block, quantize_few, q, DOWN); break;
        default: SWEEP(4, 1, quantize_block, quantize_few, q, TOWARD_ZERO);
    }
}

/* INT8 codes to binary32. Between enter_default_fp and leave_default_fp. */
static void dequantize_runs(RUNS) {
    OWN(q)
#if defined(TESSBED_AVX2)
    if (q->reciprocal != 0.0f) { SWEEP(1, 4, dequantize_block, dequantize_few, q, 0); return; }
#endif
    SWEEP(1, 4, dequantize_block, dequantize_few, q, 1);
}

#endif
