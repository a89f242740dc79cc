"""What a session and one run of a statement carry: settings, context, locks, profile, results."""
