"""Training of the Q-networks: episodes, rewards, replay, the double Q update, checkpoints."""
