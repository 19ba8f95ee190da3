/* Sixteen bytes at a time: the few vector operations that rows need, for SSSE3 (or AVX2), for NEON, and in plain C.

   A vec is sixteen bytes. A duo is two of them, the low and the high bytes of sixteen words: one register in AVX2.

   Everything is bytes and words: no floating-point type, register or operation occurs. (Those are in _convert.h.) */

#ifndef TESSBED_VEC_H
#define TESSBED_VEC_H

#include "_target.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the native rows take words apart in little-endian order; without them, numpy moves the rows"
#endif

typedef uint8_t u8;
typedef int64_t i64;
typedef uint64_t u64;

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

#if defined(TESSBED_SSSE3)

#define VEC_NAME "ssse3"
typedef __m128i vec;

static inline vec load(const u8 *p) { return _mm_loadu_si128((const __m128i *)p); }
static inline void store(u8 *p, vec v) { _mm_storeu_si128((__m128i *)p, v); }
#if defined(TESSBED_CHECKED) /* sanitizers do not see a streaming store; this one they do */
static inline void stream(u8 *p, vec v) {
    if ((uintptr_t)p % 16) __builtin_trap();
    store(p, v);
}
#else
static inline void stream(u8 *p, vec v) { _mm_stream_si128((__m128i *)p, v); }
#endif
static inline void stream_end(void) { _mm_sfence(); }
static inline vec load8(const u8 *p) { return _mm_loadl_epi64((const __m128i *)p); }
static inline void store8(u8 *p, vec v) { _mm_storel_epi64((__m128i *)p, v); }
static inline void store_high8(u8 *p, vec v) { _mm_storeh_pi((__m64 *)p, _mm_castsi128_ps(v)); }
static inline vec load4(const u8 *p) { int word; memcpy(&word, p, 4); return _mm_cvtsi32_si128(word); }
static inline void store4(u8 *p, vec v) { int word = _mm_cvtsi128_si32(v); memcpy(p, &word, 4); }
static inline vec shuffle(vec v, vec from) { return _mm_shuffle_epi8(v, from); }
static inline vec and_or(vec v, vec keep, vec put) { return _mm_or_si128(_mm_and_si128(v, keep), put); }
static inline vec either(vec a, vec b) { return _mm_or_si128(a, b); }
static inline vec zip_lo(vec a, vec b) { return _mm_unpacklo_epi8(a, b); }
static inline vec zip_hi(vec a, vec b) { return _mm_unpackhi_epi8(a, b); }
static inline vec wide_lo(vec words) { return _mm_unpacklo_epi16(_mm_setzero_si128(), words); }
static inline vec wide_hi(vec words) { return _mm_unpackhi_epi16(_mm_setzero_si128(), words); }
static inline vec even(vec a, vec b) {
    const vec low = _mm_set1_epi16(0x00FF);
    return _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
}
static inline vec odd(vec a, vec b) { return _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8)); }
static inline vec fours(vec a, vec b, vec c, vec d) { /* the first four bytes of each */
    return _mm_unpacklo_epi64(_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(TESSBED_PLAIN)

#define TESSBED_NEON
#include <arm_neon.h>
#define VEC_NAME "neon"
typedef uint8x16_t vec;

static inline vec load(const u8 *p) { return vld1q_u8(p); }
static inline void store(u8 *p, vec v) { vst1q_u8(p, v); }
static inline void stream(u8 *p, vec v) { vst1q_u8(p, v); }
static inline void stream_end(void) {}
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
static inline vec either(vec a, vec b) { return vorrq_u8(a, b); }
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
static inline void stream(u8 *p, vec v) { store(p, v); }
static inline void stream_end(void) {}
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
static inline vec either(vec a, vec b) {
    for (int i = 0; i < 16; i++) a.byte[i] |= b.byte[i];
    return a;
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

#if defined(TESSBED_AVX2)

typedef __m256i duo;

static inline duo duo_of(vec low, vec high) { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); }
static inline vec low_of(duo d) { return _mm256_castsi256_si128(d); }
static inline vec high_of(duo d) { return _mm256_extracti128_si256(d, 1); }
static inline duo load_duo(const u8 *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline void store_duo(u8 *p, duo d) { _mm256_storeu_si256((__m256i *)p, d); }
/* The words of each half, as eight low bytes and eight high ones. */
static inline duo part_words(duo words) {
    return _mm256_shuffle_epi8(words, _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,
                                                       0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
}
static inline duo split_words(duo words) { return _mm256_permute4x64_epi64(part_words(words), 0xD8); }
static inline duo duo_eights_lo(duo a, duo b) { return _mm256_unpacklo_epi64(a, b); }
static inline duo duo_eights_hi(duo a, duo b) { return _mm256_unpackhi_epi64(a, b); }
static inline duo duo_fours_lo(duo a, duo b) { return _mm256_unpacklo_epi32(a, b); }
/* The four-byte words of both halves in turns; the middle eight-byte ones exchanged. */
static inline duo duo_halves_zip(duo d) { return _mm256_permutevar8x32_epi32(d, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)); }
/* The first twelve bytes of both halves, one after the other. */
static inline duo duo_twelves(duo d) { return _mm256_permutevar8x32_epi32(d, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7)); }
static inline duo duo_eights_swapped(duo d) { return _mm256_permute4x64_epi64(d, 0xD8); }
static inline duo join_words(duo planes) {
    const duo from = _mm256_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15,
                                      0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    return _mm256_shuffle_epi8(_mm256_permute4x64_epi64(planes, 0xD8), from);
}
static inline duo widen8(vec words) { return _mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16); }
static inline duo spread(vec v, duo from) { return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(v), from); }
static inline duo duo_shuffle(duo d, duo from) { return _mm256_shuffle_epi8(d, from); }
static inline duo duo_twice(vec v) { return _mm256_broadcastsi128_si256(v); }
static inline duo duo_either(duo a, duo b) { return _mm256_or_si256(a, b); }
#define WIDE_DUO 1
static inline duo duo_zip_lo(duo a, duo b) { return _mm256_unpacklo_epi8(a, b); }
static inline duo duo_zip_hi(duo a, duo b) { return _mm256_unpackhi_epi8(a, b); }
/* The low halves of two duos, and their high halves. */
static inline duo lows_of(duo a, duo b) { return _mm256_permute2x128_si256(a, b, 0x20); }
static inline duo highs_of(duo a, duo b) { return _mm256_permute2x128_si256(a, b, 0x31); }

#else

typedef struct { vec low, high; } duo;

static inline duo duo_of(vec low, vec high) { return (duo){low, high}; }
static inline vec low_of(duo d) { return d.low; }
static inline vec high_of(duo d) { return d.high; }
static inline duo load_duo(const u8 *p) { return (duo){load(p), load(p + 16)}; }
static inline void store_duo(u8 *p, duo d) { store(p, d.low); store(p + 16, d.high); }
static inline duo split_words(duo w) { return (duo){even(w.low, w.high), odd(w.low, w.high)}; }
static inline duo join_words(duo p) { return (duo){zip_lo(p.low, p.high), zip_hi(p.low, p.high)}; }
static inline duo widen8(vec words) { return (duo){wide_lo(words), wide_hi(words)}; }
static inline duo spread(vec v, duo from) { return (duo){shuffle(v, from.low), shuffle(v, from.high)}; }
static inline duo duo_zip_lo(duo a, duo b) { return (duo){zip_lo(a.low, b.low), zip_lo(a.high, b.high)}; }
static inline duo duo_zip_hi(duo a, duo b) { return (duo){zip_hi(a.low, b.low), zip_hi(a.high, b.high)}; }

#endif

/* The first `n` of sixteen bytes; reads them all where they lie before `end`. */
static inline vec load_part(const u8 *p, i64 n, const u8 *end) {
    if (end - p >= 16) return load(p);
    u8 b[16] = {0};
    memcpy(b, p, (size_t)n);
    return load(b);
}

/* Writes the first `n` bytes of `v`, no more, in two overlapping pieces. */
#if defined(TESSBED_SSSE3)
static inline void store_part(u8 *p, vec v, i64 n) {
    static const u8 FROM[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; /* from byte i on: at FROM + i */
    if (n >= 16) store(p, v);
    else if (n >= 8) { store8(p, v); store8(p + n - 8, shuffle(v, load(FROM + n - 8))); }
    else if (n >= 4) { store4(p, v); store4(p + n - 4, shuffle(v, load(FROM + n - 4))); }
    else {
        int word = _mm_cvtsi128_si32(v);
        for (i64 i = 0; i < n; i++, word >>= 8) p[i] = (u8)word;
    }
}
#else
static inline void store_part(u8 *p, vec v, i64 n) {
    u8 b[16];
    if (n >= 16) { store(p, v); return; }
    store(b, v);
    if (n >= 8) { memcpy(p, b, 8); memcpy(p + n - 8, b + n - 8, 8); }
    else if (n >= 4) { memcpy(p, b, 4); memcpy(p + n - 4, b + n - 4, 4); }
    else for (i64 i = 0; i < n; i++) p[i] = b[i];
}
#endif

#endif
