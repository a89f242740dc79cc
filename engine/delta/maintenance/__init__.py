"""What follows a commit: checkpoints, checksums, clean-up of the log."""
