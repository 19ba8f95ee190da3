"""CRC-32 bit by bit, from the polynomial: the independent check of the packet's checksum."""

POLYNOMIAL = 0xEDB88320  # 0x04C11DB7, reflected


def crc32(data: bytes) -> int:
    """The IEEE 802.3 CRC of `data`."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
