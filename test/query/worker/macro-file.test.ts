/** The file of macros: the same macros as its statements make, made again when it is damaged or old, never needed. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { createMacros, findMacroFile } from '../../../src/query/worker/macro-file.ts'
import { makeMacroFile } from '../../../src/query/worker/make-macro-file.ts'
import { registerScalars } from '../../../src/query/worker/scalar-functions.ts'
import { openInstance } from '../../../src/storage/duckdb/duckdb.ts'

function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'tidemark-macros-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

async function inInstance<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  using spill = temporaryFolder()
  const instance = await openInstance({ memory_mb: 128, threads: 1, spill_dir: spill.path })
  const connection = await instance.connect()
  try {
    registerScalars(connection)
    return await work(connection)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

async function rows(connection: DuckDBConnection, sql: string): Promise<unknown> {
  return (await connection.runAndReadAll(sql)).getRowsJson()
}

/** Every macro of a new instance with its schema, parameters and body, and the names of its databases. */
const macrosFrom = (macro_file: string | null) =>
  inInstance(async (connection) => {
    await createMacros(connection, macro_file)
    return {
      macros: await rows(
        connection,
        `select database_name, schema_name, function_name, function_type, parameters, macro_definition
         from duckdb_functions() where not internal and function_type like '%macro' order by all`,
      ),
      databases: await rows(
        connection,
        'select database_name from duckdb_databases() where not internal order by all',
      ),
      answer: await rows(
        connection,
        'select ch_readable_size(123456), ch_array_compact([1, 1, 2])',
      ),
    }
  })

test('an instance has the same macros from the file as from the statements, and no second database', async () => {
  using folder = temporaryFolder()
  await makeMacroFile([folder.path])
  const file = findMacroFile([folder.path])
  expect(file).not.toBeNull()
  const by_statements = await macrosFrom(null)
  expect(await macrosFrom(file)).toEqual(by_statements)
  expect(by_statements.macros).toBeArray()
  expect(by_statements.databases).toEqual([['memory']])
  expect(by_statements.answer).toEqual([['120.56 KiB', [1, 2]]])
})

test('a damaged file is not used, and is made again; files of other versions are removed', async () => {
  using folder = temporaryFolder()
  await makeMacroFile([folder.path])
  const file = findMacroFile([folder.path]) ?? ''
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.with(bytes.length >> 1, 1 ^ (bytes[bytes.length >> 1] ?? 0)))
  writeFileSync(join(folder.path, 'macros-0123456789abcdef-0123456789abcdef.duckdb'), 'old')
  expect(findMacroFile([folder.path])).toBeNull()
  await makeMacroFile([folder.path])
  const remade = findMacroFile([folder.path]) ?? ''
  expect(readdirSync(folder.path)).toEqual([basename(remade)])
  expect(await macrosFrom(remade)).toEqual(await macrosFrom(null))
})

test('where no folder can be written or the file cannot be read, the statements run', async () => {
  using folder = temporaryFolder()
  const blocked = join(folder.path, 'file')
  writeFileSync(blocked, 'not a folder')
  await makeMacroFile([join(blocked, 'native')])
  expect(findMacroFile([join(blocked, 'native')])).toBeNull()
  expect(await macrosFrom(blocked)).toEqual(await macrosFrom(null))
})
