"""What expressions of rules, defaults and conditions are asked before a table gets them."""
