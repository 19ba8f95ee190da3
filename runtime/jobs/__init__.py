"""One job: its states, its bound storage, the capabilities it needs, the resources it holds, its outcome."""
