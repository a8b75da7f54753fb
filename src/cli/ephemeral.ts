/** `serve --ephemeral`: a server for tests, with a folder and keys that live as long as its standard input. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Log } from '../logs.ts'
import type { Server } from '../serve/listening.ts'
import { loadServer } from '../serve/load-server.ts'
import { nativeFolder } from '../storage/duckdb/duckdb-native.ts'

/** The folder of the data, `tidemark-ephemeral-…` in the system's folder for temporary files. */
const FOLDER_PREFIX = 'tidemark-ephemeral-'

/**
 * Serves from a new folder until standard input ends or a signal comes, and removes the folder. Prints one line of JSON
 * when it listens: `url`, `project_id`, `project_token`, `personal_api_key` (scope "*") and `data_dir`. Resolves with
 * the exit code.
 */
export async function serveEphemerally(
  settings: Config,
  openLog: (config: Config) => Log,
): Promise<number> {
  const data_dir = mkdtempSync(join(tmpdir(), FOLDER_PREFIX))
  const config = { ...settings, data_dir }
  try {
    shareNativeFolder(data_dir)
    const { serve, data_worker } = await loadServer(config)
    const ended = endOfInput()
    const options = { data_worker, is_clock_settable: true, makes_first_things: true, ended }
    return await serve(config, openLog(config), (server) => printKeys(server, config), options)
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

/** Links the folder of unpacked libraries to the user's cache: an executable would write 70 MB for each server. */
function shareNativeFolder(data_dir: string): void {
  try {
    const shared = join(homedir(), '.cache', 'tidemark', 'native')
    mkdirSync(shared, { recursive: true, mode: 0o700 })
    symlinkSync(shared, nativeFolder(data_dir))
  } catch {
    // No home folder, or a read-only one: the server unpacks into its own.
  }
}

function printKeys({ url, first }: Server, { data_dir }: Config): void {
  if (first === null) throw new Error('a new folder has an organization already')
  const { project_id, api_token, personal_api_key } = first
  const keys = { url, project_id, project_token: api_token, personal_api_key, data_dir }
  process.stdout.write(`${JSON.stringify(keys)}\n`)
}

/** Resolves when standard input ends: the parent has closed it, or has ended. */
async function endOfInput(): Promise<void> {
  const reader = Bun.stdin.stream().getReader()
  while (!(await reader.read()).done);
}
