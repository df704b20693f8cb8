#!/bin/bash
# bare_root.sh [--as-user] [TEST_STEP...]: makes a Debian 12 with only its base system below a temporary
# folder, clones the committed tree into it, and runs the README's two commands there, each twice: as root, or as a
# user with sudo. Steps narrow tools/test down, and --all widens it (tools/test --list). Needs root; takes what the
# network of this machine needs (name lookup, apt's settings, certificates) along.
set -euo pipefail

cd "$(dirname "$0")/../.."
[ "$(id -u)" -eq 0 ] || { echo "bare_root: chroot needs root" >&2; exit 2; }
tools/install-packages debootstrap
user=root
if [ "${1:-}" = --as-user ]; then
  user=newcomer
  shift
fi

root=$(mktemp -d)
chmod 755 "$root" # not only for root
clean_up() {
  mountpoint --quiet "$root/dev/pts" && umount "$root/dev/pts"
  mountpoint --quiet "$root/dev/shm" && umount "$root/dev/shm"
  mountpoint --quiet "$root/proc" && umount "$root/proc"
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT

mirror=$(apt-cache policy base-files | sed -n 's/^ *[0-9]* \(http[^ ]*\) bookworm\/main .*/\1/p' | head -n 1)
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || { tail "$root.log" >&2; exit 1; }
rm "$root.log"
cp /etc/hosts /etc/resolv.conf "$root/etc/"
cp -r /etc/apt/apt.conf.d /etc/apt/sources.list.d "$root/etc/apt/"
rm -f "$root/etc/apt/sources.list" "$root/etc/apt/apt.conf.d/"docker*
if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
  mkdir -p "$root/usr/local/share/ca-certificates"
  cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
fi
mount -t proc proc "$root/proc"
# The few devices that debootstrap made are enough; this machine's own stay out of reach, its terminals among them.
mount -t tmpfs tmpfs "$root/dev/shm"
mkdir -p "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
ln -sf pts/ptmx "$root/dev/ptmx"

inside() { # runs a command in the bare root, with a newcomer's environment
  chroot "$root" env -i HOME="$home" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}
home=/root
inside apt-get update -qq
git clone --quiet --no-hardlinks . "$root/root/jpeer"
as=()
if [ "$user" != root ]; then
  inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends sudo >/dev/null
  inside useradd --create-home "$user"
  echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user"
  mv "$root/root/jpeer" "$root/home/$user/jpeer"
  inside chown -R "$user:" "/home/$user/jpeer"
  home=/home/$user
  as=(setpriv "--reuid=$user" "--regid=$user" --init-groups)
fi
failed=0
for command in tools/demo tools/demo "tools/test $*" "tools/test $*"; do
  start=$SECONDS
  echo "---- $command, as $user"
  inside "${as[@]}" sh -c "cd ~/jpeer && $command" 2>&1 | tail -n 40 || failed=$((failed + 1))
  echo "---- $((SECONDS - start)) s"
done
echo "bare_root: $((4 - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
