"""One job: its states, its bound storage, what it needs, what it holds, how it ended."""
