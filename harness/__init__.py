"""Acts: asks models, captures what crosses the wire, reads, confirms and scores."""
