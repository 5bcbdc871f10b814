"""The command of one job; its definition is in src/causaldq/pipeline/jobs/summarise_training.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import summarise_training

if __name__ == "__main__":
    command.main(summarise_training)
