"""The causal graph of the streams, found without interventions."""
