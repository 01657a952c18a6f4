"""What the real scheduler does to requests, as named scenarios: pages show them, and figures are drawn from them."""
