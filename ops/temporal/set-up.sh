#!/bin/sh
# The namespace, and the search attributes that runs have: both are made when they are not there.
# From TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, RETENTION and SEARCH_ATTRIBUTES ("Name=Type Name=Type …").
set -eu

echo "waiting for Temporal at $TEMPORAL_ADDRESS"
tries=0
until temporal operator cluster health >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -ge 60 ]; then
        temporal operator cluster health # says why
        exit 1
    fi
    sleep 1
done

if ! temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi

set --
for attribute in $SEARCH_ATTRIBUTES; do
    set -- "$@" --name "${attribute%%=*}" --type "${attribute#*=}"
done
# A namespace that has just been made is known to every part of the server some seconds later.
tries=0
until temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" "$@"; do
    tries=$((tries + 1))
    [ "$tries" -lt 30 ] || exit 1
    sleep 1
done
echo "the namespace $TEMPORAL_NAMESPACE knows the search attributes"
