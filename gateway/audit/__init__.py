"""The audit trail: who did what from where, in lines that cannot be changed without a trace."""
