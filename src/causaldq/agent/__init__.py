"""Causal DQ: the double Q-network, its causal parts, its training and its checkpoints."""
