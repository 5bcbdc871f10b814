"""The command of one job; its definition is in src/causaldq/pipeline/jobs/theory.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import theory

if __name__ == "__main__":
    command.main(theory)
