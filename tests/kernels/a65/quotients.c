/* Prints in how many quotients the rows for AVX2 and a division differ: all codes by scales of every significand, and by
   scales of every exponent, subnormal ones among them. Zero points -128 and 127 make every integer from -255 to 255. */

#define WANTS_AVX2
#include "_target.h"
#include "_convert.h"

#include <stdio.h>

#define CODES 256

static unsigned long long differing(uint32_t scale_bits, int32_t zero_point) {
    u8 codes[CODES], quotients[4 * CODES];
    unsigned long long found = 0;
    Quantization q = {.zero_point = zero_point};
    memcpy(&q.scale, &scale_bits, sizeof scale_bits);
    q.reciprocal = reciprocal_of(q.scale);
    for (int i = 0; i < CODES; i++) codes[i] = (u8)i;
    dequantize_runs(quotients, 0, codes, 0, 1, CODES, &q);
    for (int i = 0; i < CODES; i++) {
        const float wanted = (float)((int32_t)(int8_t)codes[i] - zero_point) / q.scale;
        found += memcmp(&wanted, quotients + 4 * i, sizeof wanted) != 0;
    }
    return found;
}

int main(void) {
    unsigned long long found = 0, reached = 0;
    for (uint32_t significand = 0; significand < 1u << 23; significand++, reached++)
        found += differing(0x3F800000 | significand, significand % 2 ? 127 : -128);
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (uint32_t n = 0; n < 1000; n++, reached++)
            found += differing(exponent << 23 | (n * 2654435761u >> 9) | !exponent, n % 2 ? 127 : -128);
    printf("%llu of %llu scales\n", found, reached);
    return 0;
}

END_OF_TARGET
