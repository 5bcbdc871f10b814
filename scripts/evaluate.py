"""The command of one job; its definition is in src/causaldq/pipeline/jobs/evaluate.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import evaluate

if __name__ == "__main__":
    command.main(evaluate)
