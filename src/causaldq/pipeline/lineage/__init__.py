"""Where a number comes from: records of what made each file, and questions asked of them."""
