#!/bin/sh
# Makes the secrets that deploy/compose.yaml reads, in the directory `secrets` beside it, or in the one that is given. What is there stays.
set -eu

directory=${1:-$(dirname "$0")/../secrets}
mkdir -p "$directory"
chmod 700 "$directory" # containers get the files by themselves, and read them as users of their own
cd "$directory"

# $1: name of the file; $2: its content
keep() {
  [ -e "$1" ] && return
  printf '%s' "$2" >"$1"
  chmod 644 "$1"
}
random() { head -c "$1" /dev/urandom | od -An -tx1 | tr -d ' \n'; }

keep postgres-password "$(random 24)"
keep database-password "$(random 24)"
keep temporal-database-password "$(random 24)"
keep database-url "postgres://club_learning:$(cat database-password)@postgres:5432/club_learning"
keep master-key "$(head -c 32 /dev/urandom | base64)"
# The store's root key makes buckets and the key of the service, which may use these two buckets and nothing else.
keep s3-root-access-key-id root
keep s3-root-secret-access-key "$(random 24)"
keep s3-access-key-id club-learning
keep s3-secret-access-key "$(random 24)"
# The catcher of compose.yaml; put your own server here.
keep smtp-url smtp://mail:1025
