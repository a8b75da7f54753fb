/** The configuration of a test server: its users, what they may do, and the shards of the cluster. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The cluster's name in `remote_servers`, and the database of everything. */
export const CLUSTER = 'tidemark'
export const DATABASE = 'tidemark'

/** The password of all users of a test server. */
export const PASSWORD = 'test'

const MAKERS = ['GRANT SELECT ON system.*', 'GRANT TABLE ENGINE ON *']
const KILLER = 'GRANT KILL QUERY ON *.*'

/** Users that lack a right of `shipper`, and the grants that they have. */
const LESSER_SHIPPERS: readonly (readonly [name: string, grants: readonly string[]])[] = [
  [
    'no_tables',
    [
      `GRANT SELECT, INSERT, ALTER DELETE, ALTER UPDATE ON ${DATABASE}.*`,
      'GRANT SELECT ON system.*',
    ],
  ],
  ['no_deletes', [`GRANT CREATE TABLE, SELECT, INSERT ON ${DATABASE}.*`, ...MAKERS, KILLER]],
  [
    'no_kills',
    [`GRANT CREATE TABLE, SELECT, INSERT, ALTER DELETE, ALTER UPDATE ON ${DATABASE}.*`, ...MAKERS],
  ],
]

function lesserShipper([name, grants]: (typeof LESSER_SHIPPERS)[number]): string {
  const queries = grants.map((grant) => `<query>${grant}</query>`).join('')
  return `<${name}><password>${PASSWORD}</password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota><grants>${queries}</grants></${name}>`
}

/**
 * Users as a real server would have them. `writer` may do everything, `shipper` has the rights that `docs/clickhouse.md`
 * names, `queries` only reads, with limits it can neither raise nor switch off (a maximum without a minimum lets 0 pass,
 * which means no limit).
 */
const USERS = `<clickhouse>
  <profiles>
    <default/>
    <queries>
      <readonly>2</readonly>
      <max_execution_time>86410</max_execution_time>
      <max_memory_usage>4000000000</max_memory_usage>
      <max_rows_to_read>10000000000</max_rows_to_read>
      <max_result_bytes>4000000000</max_result_bytes>
      <constraints>
        <max_execution_time><min>1</min><max>86410</max></max_execution_time>
        <max_memory_usage><min>1000000</min><max>4000000000</max></max_memory_usage>
        <max_rows_to_read><min>1</min><max>10000000000</max></max_rows_to_read>
        <max_result_bytes><min>1</min><max>4000000000</max></max_result_bytes>
        <allow_ddl><readonly/></allow_ddl>
        <allow_introspection_functions><readonly/></allow_introspection_functions>
        <skip_unavailable_shards><readonly/></skip_unavailable_shards>
      </constraints>
    </queries>
    <no_settings><readonly>1</readonly></no_settings>
  </profiles>
  <quotas><default/></quotas>
  <users>
    <default>
      <no_password/><networks><ip>127.0.0.1</ip><ip>::1</ip></networks>
      <profile>default</profile><quota>default</quota>
    </default>
    <writer>
      <password>${PASSWORD}</password><networks><ip>::/0</ip></networks>
      <profile>default</profile><quota>default</quota>
    </writer>
    <shipper>
      <password>${PASSWORD}</password><networks><ip>::/0</ip></networks>
      <profile>default</profile><quota>default</quota>
      <grants>
        <query>GRANT CREATE TABLE, SELECT, INSERT, ALTER DELETE, ALTER UPDATE ON ${DATABASE}.*</query>
        <query>GRANT SELECT ON system.*</query>
        <query>GRANT TABLE ENGINE ON *</query>
        <query>GRANT KILL QUERY ON *.*</query>
      </grants>
    </shipper>
    ${LESSER_SHIPPERS.map(lesserShipper).join('\n    ')}
    <queries>
      <password>${PASSWORD}</password><networks><ip>::/0</ip></networks>
      <profile>queries</profile><quota>default</quota>
      <grants><query>GRANT SELECT ON ${DATABASE}.*</query></grants>
    </queries>
    <no_settings>
      <password>${PASSWORD}</password><networks><ip>::/0</ip></networks>
      <profile>no_settings</profile><quota>default</quota>
      <grants><query>GRANT SELECT ON ${DATABASE}.*</query></grants>
    </no_settings>
  </users>
</clickhouse>
`

/**
 * The XML of a server. `tcp_ports` are those of the cluster's shards, in order. A server that looks at its memory 20 times a
 * second, as it does by default, takes 2.4 ms of processor time for that while it waits.
 */
export function serverXml(users_path: string, tcp_ports: readonly number[]): string {
  const shards = tcp_ports.map(
    (port) => `<shard><internal_replication>true</internal_replication><replica>
      <host>127.0.0.1</host><port>${port}</port><user>writer</user><password>${PASSWORD}</password>
    </replica></shard>`,
  )
  return `<clickhouse>
  <user_directories><users_xml><path>${users_path}</path></users_xml></user_directories>
  <remote_servers><${CLUSTER}>${shards.join('')}</${CLUSTER}></remote_servers>
  <memory_worker_period_ms>1000</memory_worker_period_ms>
</clickhouse>
`
}

/** Writes the two files into a folder and gives the path of the server's. */
export function writeConfiguration(folder: string, tcp_ports: readonly number[]): string {
  const users = join(folder, 'users.xml')
  const server = join(folder, 'config.xml')
  writeFileSync(users, USERS)
  writeFileSync(server, serverXml(users, tcp_ports))
  return server
}
