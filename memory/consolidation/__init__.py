"""The five cycles that keep memories useful, each with a report, a rehearsal and a way back."""
