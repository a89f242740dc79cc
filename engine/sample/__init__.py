"""The sample lake that is served where no folder is named."""
