-- psql runs this once, when Postgres starts with an empty volume. It creates a role and databases for the service and for Temporal.
\set service `cat /run/secrets/database-password`
\set temporal `cat /run/secrets/temporal-database-password`
CREATE ROLE club_learning LOGIN PASSWORD :'service';
CREATE DATABASE club_learning OWNER club_learning;
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
