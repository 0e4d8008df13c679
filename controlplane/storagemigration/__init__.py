"""Writing the objects of a resource anew in the form that the server stores now."""
