"""Documentation that runs: pages whose examples are executed, and whose quoted output is what they print."""
