/** An import begins again where nothing says how far it came. */
import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importFiles } from '../../src/backup/import.ts'
import { listImportFiles } from '../../src/backup/import-files.ts'

test.each([[''], ['{"file":0,"rec'], ['null'], ['{}']])(
  'what is left of the progress is %p: every event is sent',
  async (left) => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-import-'))
    const [path, progress_path] = [join(folder, 'events.jsonl'), join(folder, 'progress')]
    writeFileSync(path, '{"event":"a","distinct_id":"d"}\n{"event":"b","distinct_id":"d"}\n')
    writeFileSync(progress_path, left)
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{}') })
    const files = listImportFiles([path])
    const to = { url: `http://127.0.0.1:${server.port}`, api_token: 'token' }
    const imported = await importFiles({ ...to, files, progress_path, tell: () => undefined })
    expect(imported).toEqual({ events: 2, records_skipped: 0 })
    expect(existsSync(progress_path)).toBe(false)
    await server.stop(true)
    rmSync(folder, { recursive: true })
  },
)
