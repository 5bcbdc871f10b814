"""The command of one job; its definition is in src/causaldq/pipeline/jobs/plant_page.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import plant_page

if __name__ == "__main__":
    command.main(plant_page)
