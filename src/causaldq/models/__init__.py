"""What is known of streams in control: scale, covariance, memory, and rows to draw from."""
