"""Planned launches: from loop nests, or band by band, to an outline and to what the exact engine takes."""
