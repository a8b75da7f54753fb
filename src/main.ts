#!/usr/bin/env bun
/** The entry of every process: a hidden command runs a child process, any other one the command line. */

/** The hidden commands of child processes, which run the same executable. */
const CHILDREN: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  'query-process': async (args) => (await import('./query/worker/main.ts')).runQueryProcess(args),
  'query-confinement-probe': async (args) =>
    (await import('./query/worker/limits/confinement-probe.ts')).runConfinementProbe(args),
  'shipping-process': async (args) =>
    (await import('./shipping/writer/process.ts')).runShippingProcess(args),
  'snapshot-process': async (args) =>
    (await import('./snapshots/writer/process.ts')).runSnapshotProcess(args),
}

/** Files of this process, its threads and its children have no rights for group and others. */
const UMASK = 0o077

async function main(argv: readonly string[]): Promise<void> {
  process.umask(UMASK)
  const [command = '', ...args] = argv
  const runChild = CHILDREN[command]
  if (runChild !== undefined) return runChild(args)
  const { runCommandLine } = await import('./cli/program.ts')
  process.exit(await runCommandLine(argv))
}

void main(process.argv.slice(2))
