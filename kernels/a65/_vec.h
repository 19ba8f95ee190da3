/* Sixteen bytes at a time: the few vector operations that rows need, for SSSE3, for NEON, and in plain C.

   Everything is bytes and words: no floating-point type, register or operation occurs. */

#ifndef TESSBED_VEC_H
#define TESSBED_VEC_H

#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef int64_t i64;

#if defined(__SSSE3__)

#include <tmmintrin.h>
#define VEC_NAME "ssse3"
typedef __m128i vec;

static inline vec load(const u8 *p) { return _mm_loadu_si128((const __m128i *)p); }
static inline void store(u8 *p, vec v) { _mm_storeu_si128((__m128i *)p, v); }
static inline vec load8(const u8 *p) { return _mm_loadl_epi64((const __m128i *)p); }
static inline void store8(u8 *p, vec v) { _mm_storel_epi64((__m128i *)p, v); }
static inline vec load4(const u8 *p) { int word; memcpy(&word, p, 4); return _mm_cvtsi32_si128(word); }
static inline void store4(u8 *p, vec v) { int word = _mm_cvtsi128_si32(v); memcpy(p, &word, 4); }
static inline vec shuffle(vec v, vec from) { return _mm_shuffle_epi8(v, from); }
static inline vec and_or(vec v, vec keep, vec put) { return _mm_or_si128(_mm_and_si128(v, keep), put); }
static inline vec zip_lo(vec a, vec b) { return _mm_unpacklo_epi8(a, b); }
static inline vec zip_hi(vec a, vec b) { return _mm_unpackhi_epi8(a, b); }
static inline vec wide_lo(vec words) { return _mm_unpacklo_epi16(_mm_setzero_si128(), words); }
static inline vec wide_hi(vec words) { return _mm_unpackhi_epi16(_mm_setzero_si128(), words); }
static inline vec even(vec a, vec b) {
    const vec low = _mm_set1_epi16(0x00FF);
    return _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
}
static inline vec odd(vec a, vec b) { return _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8)); }

#elif defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>
#define VEC_NAME "neon"
typedef uint8x16_t vec;

static inline vec load(const u8 *p) { return vld1q_u8(p); }
static inline void store(u8 *p, vec v) { vst1q_u8(p, v); }
static inline vec load8(const u8 *p) { return vcombine_u8(vld1_u8(p), vdup_n_u8(0)); }
static inline void store8(u8 *p, vec v) { vst1_u8(p, vget_low_u8(v)); }
static inline vec load4(const u8 *p) {
    uint32_t word;
    memcpy(&word, p, 4);
    return vreinterpretq_u8_u32(vsetq_lane_u32(word, vdupq_n_u32(0), 0));
}
static inline void store4(u8 *p, vec v) {
    uint32_t word = vgetq_lane_u32(vreinterpretq_u32_u8(v), 0);
    memcpy(p, &word, 4);
}
static inline vec shuffle(vec v, vec from) { return vqtbl1q_u8(v, from); }
static inline vec and_or(vec v, vec keep, vec put) { return vorrq_u8(vandq_u8(v, keep), put); }
static inline vec zip_lo(vec a, vec b) { return vzip1q_u8(a, b); }
static inline vec zip_hi(vec a, vec b) { return vzip2q_u8(a, b); }
static inline vec wide_lo(vec words) {
    return vreinterpretq_u8_u32(vshll_n_u16(vget_low_u16(vreinterpretq_u16_u8(words)), 16));
}
static inline vec wide_hi(vec words) {
    return vreinterpretq_u8_u32(vshll_n_u16(vget_high_u16(vreinterpretq_u16_u8(words)), 16));
}
static inline vec even(vec a, vec b) { return vuzp1q_u8(a, b); }
static inline vec odd(vec a, vec b) { return vuzp2q_u8(a, b); }

#else

#define VEC_NAME "plain"
typedef struct { u8 byte[16]; } vec;

static inline vec load(const u8 *p) { vec v; memcpy(v.byte, p, 16); return v; }
static inline void store(u8 *p, vec v) { memcpy(p, v.byte, 16); }
static inline vec load8(const u8 *p) { vec v = {{0}}; memcpy(v.byte, p, 8); return v; }
static inline void store8(u8 *p, vec v) { memcpy(p, v.byte, 8); }
static inline vec load4(const u8 *p) { vec v = {{0}}; memcpy(v.byte, p, 4); return v; }
static inline void store4(u8 *p, vec v) { memcpy(p, v.byte, 4); }
static inline vec shuffle(vec v, vec from) {
    vec out;
    for (int i = 0; i < 16; i++) out.byte[i] = from.byte[i] < 16 ? v.byte[from.byte[i]] : 0;
    return out;
}
static inline vec and_or(vec v, vec keep, vec put) {
    for (int i = 0; i < 16; i++) v.byte[i] = (u8)((v.byte[i] & keep.byte[i]) | put.byte[i]);
    return v;
}
static inline vec zip_at(vec a, vec b, int first) {
    vec out;
    for (int i = 0; i < 8; i++) { out.byte[2 * i] = a.byte[first + i]; out.byte[2 * i + 1] = b.byte[first + i]; }
    return out;
}
static inline vec zip_lo(vec a, vec b) { return zip_at(a, b, 0); }
static inline vec zip_hi(vec a, vec b) { return zip_at(a, b, 8); }
static inline vec wide_at(vec words, int first) {
    vec out = {{0}};
    for (int i = 0; i < 4; i++) memcpy(out.byte + 4 * i + 2, words.byte + first + 2 * i, 2);
    return out;
}
static inline vec wide_lo(vec words) { return wide_at(words, 0); }
static inline vec wide_hi(vec words) { return wide_at(words, 8); }
static inline vec unzip_at(vec a, vec b, int first) {
    vec out;
    for (int i = 0; i < 8; i++) { out.byte[i] = a.byte[2 * i + first]; out.byte[8 + i] = b.byte[2 * i + first]; }
    return out;
}
static inline vec even(vec a, vec b) { return unzip_at(a, b, 0); }
static inline vec odd(vec a, vec b) { return unzip_at(a, b, 1); }

#endif

/* The first `n` of sixteen bytes; reads them all where they lie before `end`. */
static inline vec load_part(const u8 *p, i64 n, const u8 *end) {
    if (end - p >= 16) return load(p);
    u8 b[16] = {0};
    memcpy(b, p, (size_t)n);
    return load(b);
}

/* Writes the first `n` bytes of `v`, no more, in two overlapping pieces. */
static inline void store_part(u8 *p, vec v, i64 n) {
    u8 b[16];
    if (n >= 16) { store(p, v); return; }
    store(b, v);
    if (n >= 8) { memcpy(p, b, 8); memcpy(p + n - 8, b + n - 8, 8); }
    else if (n >= 4) { memcpy(p, b, 4); memcpy(p + n - 4, b + n - 4, 4); }
    else for (i64 i = 0; i < n; i++) p[i] = b[i];
}

/* Interleaves two halves of a 16-row matrix; four such rounds transpose 16x16 bytes. */
static inline void transpose16(vec m[16]) {
    vec t[16];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 8; i++) { t[2 * i] = zip_lo(m[i], m[i + 8]); t[2 * i + 1] = zip_hi(m[i], m[i + 8]); }
        for (int i = 0; i < 8; i++) { m[2 * i] = zip_lo(t[i], t[i + 8]); m[2 * i + 1] = zip_hi(t[i], t[i + 8]); }
    }
}

#endif
