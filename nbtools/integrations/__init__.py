"""Ways to other programs, each an extra that is imported only when it is used."""
