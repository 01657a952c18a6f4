"""The site around the pages: what a build takes in, and what it adds to each page as built."""
