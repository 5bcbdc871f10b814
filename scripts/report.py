"""The command of one job; its definition is in src/causaldq/pipeline/jobs/report.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import report

if __name__ == "__main__":
    command.main(report)
