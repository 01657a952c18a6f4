"""From each clause to what stands behind it: its sentence, examples, tests, judge, and the defects that it catches.

Everything is read: the pages, the tests' source, and the recorded catches. Nothing is run.
"""

from spec_examples.traceability.cover import Cover, Evidence, Wrong, covers, evidence, gone, wrong

__all__ = ["Cover", "Evidence", "Wrong", "covers", "evidence", "gone", "wrong"]
