"""The command of one job; its definition is in src/causaldq/pipeline/jobs/tables.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import tables

if __name__ == "__main__":
    command.main(tables)
