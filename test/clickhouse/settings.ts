/** The settings of a server whose events are in a test cluster. */

import type { ClickHouseServer } from './cluster.ts'
import { CLUSTER, DATABASE, PASSWORD } from './configuration.ts'

export function clickhouseEnvironment({
  shards,
}: {
  readonly shards: readonly Pick<ClickHouseServer, 'url'>[]
}): Readonly<Record<string, string>> {
  return {
    TIDEMARK_CLICKHOUSE_URL: shards.map(({ url }) => url).join(','),
    TIDEMARK_CLICKHOUSE_DATABASE: DATABASE,
    TIDEMARK_CLICKHOUSE_USER: 'shipper',
    TIDEMARK_CLICKHOUSE_PASSWORD: PASSWORD,
    TIDEMARK_CLICKHOUSE_READ_USER: 'queries',
    TIDEMARK_CLICKHOUSE_READ_PASSWORD: PASSWORD,
    ...(shards.length > 1 ? { TIDEMARK_CLICKHOUSE_CLUSTER: CLUSTER } : {}),
  }
}
