"""What the queue is made of: trees of groups with their members, what is wrong with one, what it waits for, and its place."""
