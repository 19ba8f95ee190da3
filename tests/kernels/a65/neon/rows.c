/* The row executor without Python, as functions that an emulator can call. */

#include "_execute.h"

const Movers *tessbed_wide_movers; /* there are none but NEON's */

const char *rows_flaw(const Program *program, i64 bytes) { return flaw(program, bytes); }
void rows_run(const Program *program, u8 *tiled, u8 *linear) { run_program(program, tiled, linear); }
void rows_stream_from(i64 bytes) { stream_bytes = bytes; }
const char *rows_vectors(void) { return movers->name; }
