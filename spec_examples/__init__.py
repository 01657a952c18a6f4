"""The executable side of the prefill/decode phase contract: what pages import, and what the gate runs."""
