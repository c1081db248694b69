"""Fuzz targets of the plain implementation; they share inputs and corpus with those of the engine."""
