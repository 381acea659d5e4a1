"""Tests of importing what somebody else recorded."""
