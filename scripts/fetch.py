"""The command of one job; its definition is in src/causaldq/pipeline/jobs/fetch.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import fetch

if __name__ == "__main__":
    command.main(fetch)
