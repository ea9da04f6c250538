"""A traced program, operation by operation: which axes carry the batch, functions called, gradients' scale."""
