-- Which home has a project: the row with the highest version. A row is a claim, written under a deduplication token of its
-- project and version, so that of claims made at one moment the server keeps the first.
CREATE TABLE ${HOMES} ${ON_CLUSTER} (
  project_id UInt32,
  version UInt32,
  home_id String,
  claimed_at DateTime64(6, 'UTC')
) ENGINE = ${CLAIMS_ENGINE}
ORDER BY (project_id, version)
SETTINGS ${DEDUPLICATION_WINDOW};

-- Which copy of a home's folder is the living one: that with this log id. A restored folder begins a new one.
CREATE TABLE ${HOME_LOGS} ${ON_CLUSTER} (
  home_id String,
  version UInt32,
  log_id String,
  claimed_at DateTime64(6, 'UTC')
) ENGINE = ${CLAIMS_ENGINE}
ORDER BY (home_id, version)
SETTINGS ${DEDUPLICATION_WINDOW};

-- The number of each home, from which its blocks of numbers follow.
CREATE TABLE ${HOME_NUMBERS} ${ON_CLUSTER} (
  number UInt32,
  home_id String,
  claimed_at DateTime64(6, 'UTC')
) ENGINE = ${CLAIMS_ENGINE}
ORDER BY number
SETTINGS ${DEDUPLICATION_WINDOW};
