"""Record batches in temporary files: written once, read by position as often as wanted, removed with their handle."""
