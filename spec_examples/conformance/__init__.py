"""What every release and runner does, clause by clause: the suite, the recorded results, and the known divergences."""
