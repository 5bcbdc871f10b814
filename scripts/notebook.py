"""The command of one job; its definition is in src/causaldq/pipeline/jobs/notebook.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import notebook

if __name__ == "__main__":
    command.main(notebook)
