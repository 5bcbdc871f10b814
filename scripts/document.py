"""The command of one job; its definition is in src/causaldq/pipeline/jobs/document.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import document

if __name__ == "__main__":
    command.main(document)
