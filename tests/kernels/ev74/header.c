/* Judges packets from standard input by tessbed_packet.h: for each, four bytes of length and so many bytes. Prints the code,
   the field and whether encoding the decoded packet gives its bytes again. */

#include "tessbed_packet.h"

#include <stdio.h>
#include <string.h>

int main(void) {
    static uint8_t bytes[1 << 16];
    uint8_t length[4], again[TESSBED_PACKET_SIZE];
    while (fread(length, 1, 4, stdin) == 4) {
        size_t size = (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
        tessbed_packet packet;
        tessbed_fault fault;
        if (size > sizeof bytes || fread(bytes, 1, size, stdin) != size) return 1;
        fault = tessbed_decode(bytes, size, &packet);
        if (fault.code) {
            printf("%s %s\n", tessbed_code_names[fault.code], tessbed_field_names[fault.field]);
        } else {
            tessbed_encode(&packet, again);
            printf("valid %s\n", memcmp(again, bytes, size) ? "other bytes" : "same bytes");
        }
    }
    return 0;
}
