"""The command of one job; its definition is in src/causaldq/pipeline/jobs/metrics.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import metrics

if __name__ == "__main__":
    command.main(metrics)
