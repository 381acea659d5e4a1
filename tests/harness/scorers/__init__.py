"""Tests of the scorers."""
