"""Memories on their way out and in: an archive that loses nothing, and forms that people edit.

`records` says what an archive's lines are, `reading` makes them of rows, `restoring` rows of them;
`exporting` and `importing` carry whole files. `tables` is the CSV form, `vault` the Markdown one.
"""
