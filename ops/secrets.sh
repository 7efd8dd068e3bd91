#!/bin/sh
# The secrets of docker-compose.yml, one file for each, in ./secrets; what is there is kept.
#
#   ops/secrets.sh                        makes those that are missing
#   ops/secrets.sh site NAME DOMAINS      reads the value of the secret NAME from standard input, for {{secret:NAME}} on
#                                         these hosts (shop.example,login.shop.example)
#
# The folder is for its owner alone. The files in it can be read by everybody, as the users in the containers, who are not
# its owner, have to read those that are mounted for them.
set -eu
cd "$(dirname "$0")/.."
umask 077
folder=secrets

random() { # BYTES: so many random bytes as hexadecimal digits
    head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}

keep() { # NAME: standard input becomes a secret, whole or not at all
    cat >"$folder/.draft"
    chmod 444 "$folder/.draft"
    mv -f "$folder/.draft" "$folder/$1"
}

make() { # NAME VALUE: unless it is there
    [ -e "$folder/$1" ] || { printf '%s\n' "$2" | keep "$1" && echo "made $folder/$1"; }
}

sha256() { # of standard input; macOS calls it otherwise
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi
}

key() {
    printf 'k%s:%s' "$(random 3)" "$(head -c 32 /dev/urandom | base64)"
}

add_site() { # NAME DOMAINS
    case $1 in
        '' | *[!A-Z0-9_]*) echo "secrets.sh: $1: a name has capital letters, digits and underscores" >&2; exit 2 ;;
    esac
    keep "sites/$1"
    touch "$folder/sites.env"
    chmod 600 "$folder/sites.env"
    grep -v "^REPLAYWRIGHT_SECRET_$1_\(FILE\|DOMAINS\)=" "$folder/sites.env" >"$folder/.sites" || true
    echo "REPLAYWRIGHT_SECRET_$1_FILE=/run/site-secrets/$1" >>"$folder/.sites"
    echo "REPLAYWRIGHT_SECRET_$1_DOMAINS=$2" >>"$folder/.sites"
    mv -f "$folder/.sites" "$folder/sites.env"
}

mkdir -p "$folder/sites"
chmod 755 "$folder/sites"

case ${1:-} in
    site)
        [ $# -eq 3 ] && [ -n "$3" ] || { echo "usage: ops/secrets.sh site NAME DOMAINS <VALUE" >&2; exit 2; }
        add_site "$2" "$3"
        echo "docker compose up --detach worker-browser   # takes it"
        exit 0
        ;;
    '') ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

make postgres_password "$(random 24)"
make grafana_admin_password "$(random 12)"
make signing_keys "$(key)"
make artifact_keys "$(key)"
if [ ! -e "$folder/redis_url" ] || [ ! -e "$folder/redis_acl" ]; then
    password=$(random 24)
    digest=$(printf '%s' "$password" | sha256 | cut -d ' ' -f 1)
    # Whoever has no password may ask whether Redis is there, for the health check, and nothing else.
    keep redis_acl <<END
user default on nopass nocommands resetkeys resetchannels +ping
user replaywright on #$digest ~* &* +@all -@admin -@dangerous +info +config|get
END
    echo "redis://replaywright:$password@redis-ledger:6379/0" | keep redis_url
    echo "made $folder/redis_url and $folder/redis_acl"
fi
# Empty: that provider is not used. Its key goes into the file.
for provider in openai anthropic; do
    [ -e "$folder/${provider}_api_key" ] || { keep "${provider}_api_key" </dev/null && chmod 644 "$folder/${provider}_api_key"; }
done
# The account of the demonstration's webmail, which everybody knows.
[ -e "$folder/sites/PASSWORD" ] || echo "correct horse battery staple" | add_site PASSWORD http://10.213.77.10:8025
