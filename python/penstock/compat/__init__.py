"""Stand-ins for other packages, over penstock."""
