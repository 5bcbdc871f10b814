"""A real Slurm of one node, made of daemons that live in one folder."""

import ctypes
import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

READY = ("idle", "mixed", "allocated")
# Without accounting, a job can be asked about for MinJobAge seconds after its end.
# A job that takes more memory than it asked for is killed, as on a cluster with limits.
CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
MinJobAge=86400
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def adopt_orphans() -> None:
    """Make this process the parent of whatever its descendants leave behind.

    Slurm's daemons detach what they start; so it can still be found, and ended.
    """
    set_child_subreaper = 36
    if ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0):
        sys.exit("prctl: this system cannot adopt orphaned processes; Linux 3.4 or later can")


def kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, 20)


class Cluster:
    """Start it, use it with its environment, stop it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = environment | {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{folder / 'bin'}{os.pathsep}{environment['PATH']}",
        }

    def start(self, cpus: int = 2, memory: int = 8000) -> None:
        adopt_orphans()
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(
                folder=self.folder,
                user=getpass.getuser(),
                controller_port=free_port(),
                node_port=free_port(),
                cpus=cpus,
                memory=memory,
            )
        )
        self._lend_configuration("srun")
        self._start_munge()
        self._start("slurmctld", "-D")
        self.start_node()

    def _lend_configuration(self, command: str) -> None:
        """The executor calls srun without SLURM_CONF; other clusters have theirs in /etc."""
        shim = self.folder / "bin" / command
        configuration = self.environment["SLURM_CONF"]
        shim.write_text(
            f'#!/bin/sh\nSLURM_CONF={configuration} exec {shutil.which(command)} "$@"\n'
        )
        shim.chmod(0o755)

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        places = {"key": key, "socket": self.folder / "munge.socket"}
        places |= {kind: self.folder / f"munged.{kind}" for kind in ("pid", "log", "seed")}
        options = [
            f"--{kind}{'' if kind == 'socket' else '-file'}={path}" for kind, path in places.items()
        ]
        # Force: the folder is ours alone, where munge would like others to reach its socket.
        self._start("munged", "--foreground", "--force", *options)
        self._wait("munge's socket", lambda: places["socket"].exists())

    def _start(self, daemon: str, *options: str) -> None:
        # Debian keeps daemons where only root's path leads.
        found = shutil.which(daemon, path=f"{self.environment['PATH']}:/usr/sbin")
        with (self.folder / f"{daemon}.log").open("ab") as log:
            self.daemons[daemon] = subprocess.Popen(
                [found or daemon, *options],
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def start_node(self) -> None:
        self._start("slurmd", "-D", "-N", "localhost")
        self._wait("the node to be ready", lambda: self.ask("sinfo", "-h", "-o", "%T") in READY)

    def fail_node(self) -> None:
        """What a power cut does: the daemon and all that runs on the node end at once."""
        steps = [p for p in psutil.Process().children() if p.name() == "slurmstepd"]
        kill(
            [
                psutil.Process(self.daemons["slurmd"].pid),
                *steps,
                *(child for step in steps for child in step.children(recursive=True)),
            ]
        )

    def stop(self) -> None:
        # Some may be starting others while they are looked for.
        while left := psutil.Process().children(recursive=True):
            kill(left)

    def ask(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return done.stdout.strip()

    def _wait(self, what: str, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 300
        while not happened():
            if time.monotonic() > deadline:
                logs = "\n".join(p.read_text()[-2000:] for p in self.folder.glob("*.log"))
                raise TimeoutError(f"Slurm: waited in vain for {what}\n{logs}")
            time.sleep(0.2)
