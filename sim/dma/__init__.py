"""The DMA engine on the event queue: pools of channels, arbitration, transfers in flight."""
