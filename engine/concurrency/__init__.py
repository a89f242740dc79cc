"""What statements that run at once need of each other: cancelling, locks, and what happens after a lost race."""
