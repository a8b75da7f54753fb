-- Where there are shards: the events of all of them. A question asks this table and each shard answers its part.
CREATE TABLE events ${ON_CLUSTER} AS ${EVENTS}
ENGINE = Distributed('${CLUSTER}', currentDatabase(), ${EVENTS}, cityHash64(person_id));
