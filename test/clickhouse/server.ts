/**
 * A ClickHouse server as a process of its own: `clickhouse-local` out of libchdb, which can listen. Its arguments are
 * those of this file; it ends when its standard input does. `cluster.ts` starts it.
 */

import { dlopen, ptr } from 'bun:ffi'
import { findLibrary } from './library.ts'

const library = findLibrary()
if (library === null) throw new Error('chdb is not installed: bun run chdb')
const { symbols } = dlopen(library, {
  chdb_query_cmdline: { args: ['i32', 'ptr'], returns: 'ptr' },
})
const args = ['clickhouse-local', ...process.argv.slice(2)].map((arg) => Buffer.from(`${arg}\0`))
const argv = new BigUint64Array([...args.map((arg) => BigInt(ptr(arg))), 0n])
symbols.chdb_query_cmdline(args.length, ptr(argv))
