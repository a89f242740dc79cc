"""Results until they are fetched, and links to them."""
