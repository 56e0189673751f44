"""What is known of a network and of a run, for people and for programs: text, documents, JSON, pictures."""
