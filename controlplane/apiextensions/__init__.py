"""Custom resources: the kind that defines them, and the resources that definitions make."""
