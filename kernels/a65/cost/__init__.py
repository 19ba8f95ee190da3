"""The A65's modelled duration: what a call executes, as counts of steps, and what each step costs."""
