"""Tables and setups of a calibration as files, and what is wrong with them."""
