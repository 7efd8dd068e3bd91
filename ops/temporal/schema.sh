#!/bin/sh
# Temporal's databases in PostgreSQL: made when they are not there, and brought up to this version when they are older.
# Each of these commands does nothing where nothing is to be done.
set -eu

SQL_PASSWORD=$(cat /run/secrets/postgres_password)
export SQL_PASSWORD

for database in temporal temporal_visibility; do
    schema=/etc/temporal/schema/postgresql/v12/${database#temporal_}/versioned
    temporal-sql-tool --db "$database" create-database
    temporal-sql-tool --db "$database" setup-schema -v 0.0
    temporal-sql-tool --db "$database" update-schema -d "$schema"
done
