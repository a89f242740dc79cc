"""The doors to what formats of tables plan and write by themselves."""
