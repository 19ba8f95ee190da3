"""Kernels of one's own: their declaration, arguments, ports and source, and the packets that ask for one."""
