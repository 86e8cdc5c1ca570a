"""What compilers know: indexers are run on an exported tree, and their indexes are bound to ours.

Reads top to bottom: `indexers` (which tools there are), `trees` and `projects` (what they are
shown), `sandbox` and `running` (how), `index` and `symbols` (what they write), `binding` (whose
definition and whose reference that is), `answers` (what is kept per content), `refinement` (one
run, start to finish).
"""
