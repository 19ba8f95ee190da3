"""The operations: one module each, with Request, Params, Plan and check_inference."""
