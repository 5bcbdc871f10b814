"""Speed, as ratios measured side by side in one run: machines differ, ratios less so."""
