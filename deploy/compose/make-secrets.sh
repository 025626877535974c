#!/bin/sh
# Creates the secrets of deploy/compose.yaml in deploy/secrets, or in the directory of the first argument. Existing secrets do not change.
set -eu

directory=${1:-$(dirname "$0")/../secrets}
mkdir -p "$directory"
# Only the owner may enter this directory. Containers mount single files of it, so the users of the containers can read these files.
chmod 700 "$directory"
cd "$directory"

# Writes a secret, unless it exists. $1: the name of the file; $2: its content
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
# The store's root key creates the buckets and the key of the service, which may use only these two buckets.
keep s3-root-access-key-id root
keep s3-root-secret-access-key "$(random 24)"
keep s3-access-key-id club-learning
keep s3-secret-access-key "$(random 24)"
# This is the address of the mail catcher in compose.yaml. Replace it by the address of your own mail server.
keep smtp-url smtp://mail:1025
