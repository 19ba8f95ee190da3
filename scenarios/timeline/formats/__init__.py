"""What a timeline becomes: a trace for Perfetto, waves, JSON lines, a profile in text."""
