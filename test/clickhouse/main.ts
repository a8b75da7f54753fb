/** Two ClickHouse shards to try things on, until the input ends or Ctrl-C. `bun run cluster [shards]` */

import { startCluster } from './cluster.ts'
import { DATABASE, PASSWORD } from './configuration.ts'

await using cluster = await startCluster(Number(process.argv[2] ?? '2'))
for (const { url } of cluster.shards)
  process.stdout.write(`${url}/?user=writer&password=${PASSWORD}&database=${DATABASE}\n`)
await new Promise<void>((resolve) => {
  process.once('SIGINT', () => resolve())
  process.once('SIGTERM', () => resolve())
  process.stdin.once('end', () => resolve()).resume()
})
