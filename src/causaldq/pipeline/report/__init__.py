"""From the tidy table to what people read: LaTeX, figures, the document, the terminal."""
