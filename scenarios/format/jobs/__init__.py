"""The keys of one [[jobs]] table, and the way from them to a ScenarioJob or a KernelJob."""
