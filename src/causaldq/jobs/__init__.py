"""The pipeline's jobs, one file each: files in, files out.

A job depends on its settings and its input files, and on nothing else.
"""
