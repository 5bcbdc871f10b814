"""One network for all problems: weights shared over streams, trained on a mixture of problems."""
