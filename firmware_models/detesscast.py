"""DetessCast on the device: the Detess body with a wider output scalar; BF16 becomes the upper half of an FP32 word.

Source: DetessCast document, "Numerical behavior".
"""

from tessbed.firmware_models.detess import sites

__all__ = ["sites"]
