"""Which versions of a kind exist, which are served, and how a retired one becomes the current form and back."""
