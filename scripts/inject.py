"""The command of one job; its definition is in src/causaldq/pipeline/jobs/inject.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import inject

if __name__ == "__main__":
    command.main(inject)
