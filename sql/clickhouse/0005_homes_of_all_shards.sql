-- Where there are shards: each claim is on one of them, the same one whichever server is asked.
CREATE TABLE project_homes ${ON_CLUSTER} AS ${HOMES}
ENGINE = Distributed('${CLUSTER}', currentDatabase(), ${HOMES}, project_id);

CREATE TABLE home_logs ${ON_CLUSTER} AS ${HOME_LOGS}
ENGINE = Distributed('${CLUSTER}', currentDatabase(), ${HOME_LOGS}, cityHash64(home_id));

CREATE TABLE home_numbers ${ON_CLUSTER} AS ${HOME_NUMBERS}
ENGINE = Distributed('${CLUSTER}', currentDatabase(), ${HOME_NUMBERS}, number);
