"""The HTTP front end: statement API, health and the page for people."""
