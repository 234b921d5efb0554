"""The manual, and the script that draws its picture of the project."""
