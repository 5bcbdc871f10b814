#!/usr/bin/env bash
# Run the README's commands on fresh Debians: python3 with venv, make, git, certificates, and no more.
#   tools/fresh.sh [COMMAND]        default: the lines of the README that begin with make, in turn
# SUITES and USERS choose among bookworm (Python 3.11), trixie (3.13), and root, new; FRESH is the folder for
# the machines (6 GB a suite, 12 with torch's CUDA build). The committed state is cloned. Needs root and debootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."
suites=${SUITES:-bookworm trixie}
users=${USERS:-root new}
fresh=${FRESH:-/var/tmp/causaldq-fresh}
command=${*:-$(sed -nE 's/^(make [^#]*[^# ]).*/\1/p' README.md | paste -sd'&' | sed 's/&/ \&\& /g')}
[ "$(id -u)" = 0 ] || { echo "A fresh Debian is made by debootstrap and chroot: run this as root."; exit 1; }
command -v debootstrap >/dev/null || { echo "No debootstrap here: apt-get install debootstrap"; exit 1; }
# The mirror that this machine uses; debootstrap has one of its own where this is no Debian.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m1 '/debian/*$' || true)
# What pip and others are told about the network here holds there, too.
passed=()
while IFS= read -r line; do passed+=("$line"); done \
  < <(env | grep -E '^(PIP_[A-Z_]+|[a-zA-Z]+_(proxy|PROXY))=' || true)

leave() { for place in dev proc; do mountpoint -q "$run/$place" && umount -l "$run/$place"; done; true; }

machine() { # suite: a copy of its base, which is made once
  local base=$fresh/$1
  if [ ! -e "$base.ready" ]; then
    echo "Making a $1 ..."
    rm -rf --one-file-system "$base"; mkdir -p "$base"
    debootstrap --variant=minbase --include=python3,python3-venv,make,git,ca-certificates \
      "$1" "$base" $mirror >"$base.log" 2>&1 || { tail -n 3 "$base.log"; return 1; }
    touch "$base.ready"
  fi
  rm -rf --one-file-system "$run"; cp -a --reflink=auto "$base" "$run"
  for file in /etc/resolv.conf /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    if [ -e "$file" ]; then cp -L "$file" "$run$file"; fi
  done
  local wheels=${PIP_FIND_LINKS:-}
  if [ -d "$wheels" ]; then mkdir -p "$run$wheels"; cp -a "$wheels/." "$run$wheels"; fi
  chroot "$run" useradd --create-home new
  mount -t proc proc "$run/proc"; mount --rbind /dev "$run/dev"; mount --make-rslave "$run/dev"
}

failed=0
for suite in $suites; do for user in $users; do
  run=$fresh/$suite.run; trap leave EXIT
  leave; machine "$suite"
  home=$(chroot "$run" getent passwd "$user" | cut -d: -f6)
  git clone -q . "$run$home/project"; chroot "$run" chown -R "$user:" "$home/project"
  echo "== $suite as $user: $command"; start=$SECONDS; code=0
  chroot "$run" runuser -u "$user" -- env -i HOME="$home" LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
    "${passed[@]}" bash -c "cd ~/project && python3 --version && $command" || code=$?
  echo "== $suite as $user: exit $code after $((SECONDS - start)) s"; [ "$code" = 0 ] || failed=1
  leave
done; done
exit $failed
