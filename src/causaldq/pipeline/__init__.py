"""The pipeline: from settings and data to tables, figures, pages, and the record of each number."""
