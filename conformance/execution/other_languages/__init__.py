"""Workers in other languages than Python."""
