"""Where streams come from: simulated ones here, recorded ones beside them."""
