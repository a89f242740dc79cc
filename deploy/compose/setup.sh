#!/bin/sh
# Creates the secrets, the user admin and the token of Prometheus, as `setup` in deploy/compose.yaml; what exists stays.
# SECRETS and STATE are the folders for it. Each file is readable by the user of its container only.
set -eu
umask 077
secrets=${SECRETS:-/secrets} state=${STATE:-/var/lib/delta-gateway}
gateway=10001 prometheus=65534 grafana=472

new_password() {
    python -c 'import secrets; print(secrets.token_urlsafe(24))'
}

give_to() { # file or folder, user
    if [ "$(id -u)" -eq 0 ]; then chown -R "$2:$2" "$1"; fi
}

for name in minio-password grafana-password; do
    [ -e "$secrets/$name" ] || new_password > "$secrets/$name"
done
give_to "$secrets/minio-password" "$gateway"
give_to "$secrets/grafana-password" "$grafana"

if [ ! -e "$state/users" ]; then
    password=$(new_password)
    echo "$password" | delta-gateway users add admin --password-file "$state/users"
    echo "The password of the user admin is $password (shown only now)."
fi
if [ ! -e "$secrets/prometheus-token" ]; then
    # With a group: no password file has this user.
    delta-gateway tokens create prometheus --groups monitoring --read-only --days 365 --token-file "$state/tokens" \
        > "$secrets/prometheus-token"
fi
give_to "$secrets/prometheus-token" "$prometheus"
give_to "$state" "$gateway" # the lock files of users and tokens too
echo "Grafana's user admin has the password in deploy/compose/secrets/grafana-password."
