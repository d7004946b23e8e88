"""The interface that adapters implement, and the building blocks that they share."""
