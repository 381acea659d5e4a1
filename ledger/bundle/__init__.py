"""Evidence bundles: what is behind a number, in one zip that a stranger checks without the ledger and without our code."""
