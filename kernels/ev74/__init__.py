"""EV74 packets: their format, their encoders and their disassembly."""
