"""The command of one job; its definition is in src/causaldq/pipeline/jobs/cards.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import cards

if __name__ == "__main__":
    command.main(cards)
