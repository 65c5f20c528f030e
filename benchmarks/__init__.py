"""What is measured, and how to repeat it: ``make bench``."""
