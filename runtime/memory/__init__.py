"""Storage at device addresses: heap, allocations, views, CPU cache and coherency."""
