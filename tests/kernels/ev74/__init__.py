"""Packets: table, encoding, decoding, rules, disassembly, difference, documents."""
