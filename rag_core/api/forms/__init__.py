"""What every face shows: the JSON of answers and reports, and what a terminal may be sent."""
