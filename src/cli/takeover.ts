/** `takeover`: makes a standby the server, whether it runs or not. */
import type { Command } from 'commander'
import { readDataDir } from '../config.ts'
import type { Takeover } from '../standby/take-over.ts'
import { findRunning, takeLock } from '../storage/process/lock.ts'
import {
  addStoreOptions,
  type DataFolderOptions,
  printResult,
  requireOwnFolder,
} from './options.ts'

/** Folding the logs into the databases takes seconds. */
const TIMEOUT_MS = 300_000

const HELP = `
Run it on the standby's machine when its primary is lost. Stop the primary first if it still runs: two servers would each
take events that the other does not have. Then let clients reach this one: a name in the DNS, or the proxy's address.
A running standby becomes the server at once, under its own address; otherwise start it with "tidemark serve".`

/** Adds the command. */
export function addTakeoverCommand(program: Command): void {
  addStoreOptions(program.command('takeover'))
    .description('Make a standby (TIDEMARK_REPLICA_OF) the server.')
    .addHelpText('after', HELP)
    .action(async (options: DataFolderOptions) => {
      const data_dir = readDataDir(options.dataDir)
      const taken = (await takeOverRunning(data_dir)) ?? (await takeOverStopped(data_dir))
      printResult(
        options,
        { ...taken, data_dir },
        `${data_dir} has taken over: it has everything that its primary had at ${taken.equal_at}`,
      )
    })
}

/** Asks the standby that runs on the folder; null when none does. */
async function takeOverRunning(data_dir: string): Promise<Takeover | null> {
  const holder = findRunning(data_dir)
  if (holder === null) return null
  const { local_url: url, operator_key } = holder
  if (url === null) throw new Error(`the process that uses ${data_dir} does not answer`)
  const answer = await fetch(`${url}/_standby/takeover`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${operator_key ?? ''}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    // The certificate names the address that clients use, not that of this machine.
    tls: { rejectUnauthorized: false },
  })
  if (answer.status === 404) throw new Error(`the server at ${url} is no standby`)
  const body: Takeover & { readonly detail?: string } = JSON.parse(await answer.text())
  if (!answer.ok) throw new Error(body.detail ?? `the standby answered ${answer.status}`)
  return body
}

async function takeOverStopped(data_dir: string): Promise<Takeover> {
  requireOwnFolder(data_dir, 'run the command as that user')
  const { takeOver } = await import('../standby/take-over.ts')
  const lock = takeLock(data_dir, process.pid, new Date())
  try {
    return takeOver(data_dir)
  } finally {
    lock.release()
  }
}
