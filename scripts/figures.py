"""The command of one job; its definition is in src/causaldq/pipeline/jobs/figures.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import figures

if __name__ == "__main__":
    command.main(figures)
