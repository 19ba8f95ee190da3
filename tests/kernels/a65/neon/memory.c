/* The two functions of the C library that the rows call: there is no library in the emulator. */

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    uint8_t *target = to;
    const uint8_t *source = from;
    for (; n >= 16; n -= 16, target += 16, source += 16) vst1q_u8(target, vld1q_u8(source));
    for (; n; n--) *target++ = *source++;
    return to;
}

void *memset(void *to, int value, size_t n) {
    uint8_t *target = to;
    for (; n >= 16; n -= 16, target += 16) vst1q_u8(target, vdupq_n_u8((uint8_t)value));
    for (; n; n--) *target++ = (uint8_t)value;
    return to;
}
