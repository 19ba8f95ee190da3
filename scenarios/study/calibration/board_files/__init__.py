"""Board files: the table and the setup of a calibration, read and checked; the public bench's output as a table."""
