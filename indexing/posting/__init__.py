"""Reviews where people read them: remarks, records, comments on pull requests."""
