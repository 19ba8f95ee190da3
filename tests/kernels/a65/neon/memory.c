/* The two functions of the C library that the rows call: there is no library in the emulator. As a C library for this
   core does it: 64 bytes a round, then 16, and what is left by two pieces that overlap. */

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

/* Covers n < 16 bytes by two overlapping pieces of 8, 4 or 2, or by one byte. */
#define FEW(n, P8, P4, P2, P1)                                           \
    do {                                                                 \
        if ((n) >= 8) { P8(0); P8((n) - 8); }                            \
        else if ((n) >= 4) { P4(0); P4((n) - 4); }                       \
        else if ((n) >= 2) { P2(0); P2((n) - 2); }                       \
        else if (n) { P1(0); }                                           \
    } while (0)

#define COPY(i, bytes) __builtin_memcpy(target + (i), source + (i), bytes)
#define COPY8(i) COPY(i, 8)
#define COPY4(i) COPY(i, 4)
#define COPY2(i) COPY(i, 2)
#define COPY1(i) COPY(i, 1)

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    uint8_t *target = to;
    const uint8_t *source = from;
    if (n < 16) {
        FEW(n, COPY8, COPY4, COPY2, COPY1);
        return to;
    }
    const uint8x16_t last = vld1q_u8(source + n - 16);
    uint8_t *end = target + n - 16;
    for (; n > 64; n -= 64, target += 64, source += 64) vst1q_u8_x4(target, vld1q_u8_x4(source));
    for (; n > 16; n -= 16, target += 16, source += 16) vst1q_u8(target, vld1q_u8(source));
    vst1q_u8(end, last);
    return to;
}

#define FILL(i, bytes) __builtin_memcpy(target + (i), &eight, bytes)
#define FILL8(i) FILL(i, 8)
#define FILL4(i) FILL(i, 4)
#define FILL2(i) FILL(i, 2)
#define FILL1(i) FILL(i, 1)

void *memset(void *to, int value, size_t n) {
    uint8_t *target = to;
    const uint8x16_t all = vdupq_n_u8((uint8_t)value);
    const uint8x16x4_t line = {{all, all, all, all}};
    const uint64_t eight = vgetq_lane_u64(vreinterpretq_u64_u8(all), 0);
    if (n < 16) {
        FEW(n, FILL8, FILL4, FILL2, FILL1);
        return to;
    }
    uint8_t *end = target + n - 16;
    for (; n > 64; n -= 64, target += 64) vst1q_u8_x4(target, line);
    for (; n > 16; n -= 16, target += 16) vst1q_u8(target, all);
    vst1q_u8(end, all);
    return to;
}
