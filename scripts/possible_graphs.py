"""The command of one job; its definition is in src/causaldq/pipeline/jobs/possible_graphs.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import possible_graphs

if __name__ == "__main__":
    command.main(possible_graphs)
