"""Which files a diff probably forgot: ranked, each with its reason and a calibrated probability.

`values` (what is asked and answered), `words` (where identifiers of the diff stand), `together`
(what past commits changed together), `names` (whose paths are alike), `ranking` (the weights and
the probability), `reasons` (a sentence each): pure. `knowledge` reads what they need, `finding` is
the whole of it.
"""
