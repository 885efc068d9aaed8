"""What a long-lived process does by itself: jobs in the background, and folders that are watched."""
