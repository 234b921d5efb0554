"""What is drawn: one script per table or figure of the paper, a pure function of stored results."""
